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

/// Without care the kernel ends a process by a signal that writes beyond its limit.
#[test]
fn a_file_at_its_limit_is_an_error_as_a_full_disk_is() {
    let path = std::env::temp_dir().join(format!("airwatt-limit-{}", std::process::id()));
    let limited = |arguments: &str, blocks: u32| {
        let line = format!("ulimit -f {blocks}; exec \"$0\" {arguments} > \"$1\"");
        let done = Command::new("sh").args(["-c", &line, DAEMON]).arg(&path).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for (arguments, blocks) in [("genkey", 0), ("completion bash", 1), ("--version", 0)] {
        let said = "airwattd: standard output: File too large\n".to_owned();
        assert_eq!(limited(arguments, blocks), (Some(1), said), "{arguments}");
    }
    // What is said into a file at its limit is lost; the status is the same.
    assert_eq!(limited("genkye 2>&1", 0), (Some(2), String::new()));
    std::fs::remove_file(path).unwrap();
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

/// The words of a command that is misspelt are no configuration of the command above it.
#[test]
fn a_misspelt_command_is_refused_with_the_nearest_one() {
    let unrecognized = |wrong, near| {
        format!("unrecognized subcommand '{wrong}'; hint: a similar subcommand exists: '{near}'")
    };
    for (arguments, says) in [
        ("station doctr", unrecognized("doctr", "doctor")),
        ("station doctr --explain", unrecognized("doctr", "doctor")),
        (
            "station mesure --minutes 3",
            "unrecognized subcommand 'mesure'; hint: some similar subcommands exist: 'restore', 'measure'".to_owned(),
        ),
        ("station --verbose statuss", unrecognized("statuss", "status")),
        ("tunnel shwo", unrecognized("shwo", "show")),
        ("gateway stauts --all", unrecognized("stauts", "status")),
        ("cc lod --interface wlan0", unrecognized("lod", "load")),
        ("genkye", unrecognized("genkye", "genkey")),
        ("cc zzz", "unrecognized subcommand 'zzz'; hint: --help lists them".to_owned()),
        ("station zzz", "unrecognized subcommand 'zzz'; hint: --help lists them".to_owned()),
        ("station zzz.toml", "zzz.toml: No such file or directory".to_owned()),
        ("station ./doctr", "./doctr: No such file or directory".to_owned()),
        ("station run doctr", "doctr: No such file or directory".to_owned()),
        (
            "cc load --algoritm ackloss",
            "unexpected argument '--algoritm' found; hint: a similar argument exists: '--algorithm'".to_owned(),
        ),
        (
            "tunnel example cliennt",
            "invalid value 'cliennt' for '[END]' [possible values: client, concentrator]; hint: a similar value exists: \
             'client'"
                .to_owned(),
        ),
    ] {
        let done = Command::new(DAEMON).args(arguments.split(' ')).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), format!("airwattd: {says}\n"), "{arguments}");
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{arguments}");
    }
}
