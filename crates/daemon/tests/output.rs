//! Results that cannot be written.

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
