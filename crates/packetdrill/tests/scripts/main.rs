//! The scripts of `tests/packetdrill`: each passes with the machine, and with the kernel of this host where a long test may ask it.

mod kernel;

use std::fs;
use std::path::{Path, PathBuf};

use airwatt_packetdrill::simulated::Simulated;
use airwatt_packetdrill::{Problem, ScriptResult, Stack, Tolerance, parse, run};

/// How often a script may fail with the kernel before it counts as wrong.
const ATTEMPTS: usize = 5;

fn scripts() -> Vec<PathBuf> {
    fn find(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder of scripts") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                find(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill"), &mut found);
    found.sort();
    found
}

fn verdict(path: &Path, stack: &mut impl Stack, tolerance: Tolerance) -> ScriptResult {
    let text = fs::read_to_string(path).expect("a script");
    match parse(&text) {
        Ok(script) => run(&script, stack, tolerance),
        Err(problem) => ScriptResult::Not(problem),
    }
}

/// Lines about the scripts that did not pass, of all that there are.
fn failures(mut run: impl FnMut(&Path) -> ScriptResult) -> Vec<String> {
    let scripts = scripts();
    assert!(scripts.len() > 20, "the scripts are there");
    let name =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    scripts
        .iter()
        .filter_map(|path| match run(path) {
            ScriptResult::Passed => None,
            verdict => Some(format!("{}: {verdict}", name(path))),
        })
        .collect()
}

#[test]
fn the_machine_passes_its_scripts_within_a_millisecond() {
    let failed = failures(|path| verdict(path, &mut Simulated::default(), Tolerance::TICK));
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
}

/// Whether the script is of AccECN and this kernel has no switch for it (Linux 6.18 has none).
fn lacks_accecn(path: &Path, verdict: &ScriptResult) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    folder.is_some_and(|folder| folder == "accecn")
        && matches!(verdict, ScriptResult::Not(Problem::Unsupported { text, .. }) if text.contains("tcp_ecn"))
}

#[test]
#[ignore = "needs root, TUN devices and an idle host, and takes the scripts' own time: make test-long"]
fn the_kernel_passes_the_same_scripts() {
    if !kernel::is_reachable() {
        return eprintln!("skipped: this needs root and TUN devices");
    }
    let chosen = std::env::var("AIRWATT_SCRIPT").unwrap_or_default();
    let failed = failures(|path| {
        if !path.to_string_lossy().contains(&chosen) {
            return ScriptResult::Passed;
        }
        // A loaded host is late now and then. A wrong script fails each time.
        let attempt = || kernel::on_a_host_of_its_own(|kernel| verdict(path, kernel, Tolerance::ORIGINAL));
        let ends = |verdict: &ScriptResult| *verdict == ScriptResult::Passed || lacks_accecn(path, verdict);
        let verdict = (0..ATTEMPTS).map(|_| attempt()).find(ends).unwrap_or_else(attempt);
        if lacks_accecn(path, &verdict) {
            eprintln!("skipped: {}: {verdict}", path.display());
            return ScriptResult::Passed;
        }
        verdict
    });
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
}

fn of_text(text: &str) -> ScriptResult {
    match parse(text) {
        Ok(script) => run(&script, &mut Simulated::default(), Tolerance::TICK),
        Err(problem) => ScriptResult::Not(problem),
    }
}

/// A connection over which the application has written one segment.
const BEGIN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 1000 <mss 1000,sackOK>\n\
    +0 > S. 0:0(0) ack 1 <...>\n\
    +.1 < . 1:1(0) ack 1 win 10000\n\
    +0 accept(3, ..., ...) = 4\n\
    +0 write(4, ..., 1000) = 1000\n";

/// The machine keeps what BEGIN begins.
#[test]
fn failures_name_the_line_and_both_packets() {
    let cases = [
        ("+0 > P. 1:1001(1000) ack 1", "passed"),
        ("+0 > . 1:1001(1000) ack 1", "passed but for PSH (line 9)"),
        (
            "+0 > P. 1:901(900) ack 1",
            "failed: line 9: sequence numbers: expected > P. 1:901(900) ack 1 at 0.100000 s, \
             got 0.100000 s > P. 1:1001(1000) ack 1 win 64240",
        ),
        (
            "+.2 > P. 1:1001(1000) ack 1",
            "failed: line 9: time: expected > P. 1:1001(1000) ack 1 at 0.300000 s, \
             got 0.100000 s > P. 1:1001(1000) ack 1 win 64240",
        ),
        (
            "+0 > P. 1:1001(1000) ack 1\n+0 > . 1001:2001(1000) ack 1",
            "failed: line 10: expected > . 1001:2001(1000) ack 1, got no packet until 0.101000 s",
        ),
        (
            "+0 %{ assert tcpi_snd_cwnd == 9 }%",
            "failed: line 9: assert tcpi_snd_cwnd == 9 (tcpi_snd_cwnd = 10)",
        ),
        ("+0 read(4, ..., 1) = 1", "failed: line 9: read blocks, expected it to return at once"),
        ("+0 epoll_create(1) = 5", "line 9: not supported: the call epoll_create"),
        ("+0 < U. 1:1(0) ack 1 win 1 <md5 secret>", "line 9: not supported: the TCP option `md5`"),
        (
            "+0 < . 1:2(0) ack 1",
            "failed: line 9: expected a length that is the difference of the sequence numbers, got \". 1:2(0) ack 1\"",
        ),
        ("+0 nonsense", "failed: line 9: expected a packet, a call, a command or code, got \"nonsense\""),
        ("+0 write(4, ..., 5) = -1 EPIPE (Broken pipe)", "failed: line 9: write: expected -1 EPIPE, got 5"),
    ];
    for (text, expected) in cases {
        assert_eq!(of_text(&format!("{BEGIN}{text}")).to_string(), expected, "{text}");
    }
}
