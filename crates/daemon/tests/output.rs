//! Results that cannot be written, and files that cannot be read.

#![allow(missing_docs, reason = "tests")]

use std::fs::File;
use std::process::Command;

const DAEMON: &str = env!("CARGO_BIN_EXE_airwattd");

#[test]
fn a_full_disk_is_an_error() {
    for arguments in [
        "genkey",
        "--version",
        "cc --help",
        "completion bash",
        "tunnel example",
        "gateway example base",
        "station unit",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = Command::new(DAEMON).args(arguments.split(' ')).stdout(full).output().unwrap();
        let message = "airwattd: standard output: No space left on device\n";
        assert_eq!(String::from_utf8_lossy(&done.stderr), message, "{arguments}");
        assert_eq!(done.status.code(), Some(1), "{arguments}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = Command::new(DAEMON).args(["tunnel", "example"]).stdout(writer).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
}

/// A device never ends, and its text may hold what a terminal obeys.
#[test]
fn configurations_are_regular_files_and_errors_are_one_plain_line() {
    let hostile = std::env::temp_dir().join(format!("airwatt-escape-{}.toml", std::process::id()));
    std::fs::write(&hostile, "mode = \"\\u001b[31mX\"\ninterface = \"\\u001b[31mX\"\n").unwrap();
    for command in [vec!["tunnel", "up"], vec!["gateway", "up"], vec!["station"]] {
        for (file, says) in
            [("/dev/zero", "expected a regular file, got a device"), (hostile.to_str().unwrap(), "")]
        {
            let done = Command::new(DAEMON).args(&command).args([file, "--check"]).output().unwrap();
            let error = String::from_utf8_lossy(&done.stderr);
            assert_eq!((done.status.code(), error.lines().count()), (Some(2), 1), "{command:?}: {error}");
            assert!(error.contains(says) && !error.contains('\u{1b}'), "{command:?}: {error:?}");
        }
    }
    std::fs::remove_file(hostile).unwrap();
}
