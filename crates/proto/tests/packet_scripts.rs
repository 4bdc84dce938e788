//! Packet scripts: what one end of a connection sends, segment by segment, under a peer that the script plays.
//!
//! `script/mod.rs` describes the language. Every `.pkt` file in `scripts/` is run; a failure names its file and line.

mod script;

use std::path::{Path, PathBuf};

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(&folder).expect("the folder of scripts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pkt"));
    paths.sort();
    paths
}

#[test]
fn every_script_holds() {
    let paths = scripts();
    assert!(!paths.is_empty(), "the scripts are there");
    let run = |path: &PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        script::run(&name, &std::fs::read_to_string(path).expect("a text")).err()
    };
    let failures: Vec<String> = paths.iter().filter_map(run).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// What is wrong with a script is said with file and line.
#[test]
fn errors_name_file_and_line() {
    for (text, expected) in [
        ("+0 write 1000\n+0 wrote 1000", "x.pkt:2: \"wrote\" is not a command"),
        ("\n\nset speed=3", "x.pkt:3: \"speed\" is not a setting"),
        ("set mss=lots", "x.pkt:1: \"lots\" is not a number"),
        (
            "set transport=sctp",
            "x.pkt:1: expected one of tahoe, reno, newreno, sack, cubic, westwood, veno, jersey, got \"sctp\"",
        ),
        ("+0 write 1000\nset mss=3", "x.pkt:2: settings come before the first event"),
        ("write 1000", "x.pkt:1: \"write\" is not a time, as in +20ms"),
        ("+0 < 1:1001(9)", "x.pkt:1: \"1:1001(9)\" is not a range, as in 1:1001(1000)"),
        (
            "+0 write 1000\n+0 > 1:901(900)",
            "x.pkt:2: expected 1:901(900), but P. 1:1001(1000) ack 1 win 100000 came",
        ),
        ("set mss=1000\n+0 write 1000\n+5ms > data 1", "x.pkt:3: expected at 5ms, but it came at 0ns"),
        (
            "+0 write 1000\n+0 assert cwnd=1",
            "x.pkt:2: nobody expected P. 1:1001(1000) ack 1 win 100000 at 0ns",
        ),
        ("+0 assert cwnd=3", "x.pkt:1: cwnd is 10, not 3"),
        ("+0 assert speed=3", "x.pkt:1: \"speed\" is not something to assert"),
        ("+0 write 1000", "x.pkt:1: nobody expected"),
        ("+0 > data 1", "x.pkt:1: expected 1:1001(1000) ack 1, but nothing came"),
    ] {
        let error = script::run("x.pkt", text).expect_err(text);
        assert!(error.starts_with(expected), "\n{text}\ngave {error}");
    }
}
