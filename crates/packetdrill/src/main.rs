//! Runs packetdrill scripts against the machine of the profile `linux`: `airwatt-packetdrill [--tick] PATH...`.
//!
//! Paths are scripts (`*.pkt`) or folders, which are searched. There is one line for each script, and counts at the end. With
//! `--tick`, times may differ by one millisecond only. The exit code is 1 if a script failed, and 2 for a wrong call.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airwatt_packetdrill::simulated::Simulated;
use airwatt_packetdrill::{Problem, ScriptResult, Tolerance, parse, run};

/// How scripts are called.
const USAGE: &str = "usage: airwatt-packetdrill [--tick] PATH...";

fn main() -> ExitCode {
    let mut tolerance = Tolerance::ORIGINAL;
    let mut scripts = Vec::new();
    for argument in std::env::args().skip(1) {
        if argument == "--tick" {
            tolerance = Tolerance::TICK;
        } else if argument.starts_with('-') {
            return refuse(&format!("expected a path or --tick, got {argument}; {USAGE}"));
        } else if let Err(error) = find(Path::new(&argument), &mut scripts) {
            return refuse(&format!("{argument}: {error}"));
        }
    }
    if scripts.is_empty() {
        return refuse(&format!("no scripts (*.pkt); {USAGE}"));
    }
    scripts.sort();
    match report(&scripts, tolerance) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has gone: there is nobody to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("standard output: {error}")),
    }
}

fn refuse(text: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "airwatt-packetdrill: {text}");
    ExitCode::from(2)
}

/// Adds the scripts at a path: the file itself, or those under the folder.
fn find(path: &Path, scripts: &mut Vec<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        scripts.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?.path();
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "pkt") {
            find(&entry, scripts)?;
        }
    }
    Ok(())
}

/// Runs the scripts and prints a line for each. Returns whether none failed.
fn report(scripts: &[PathBuf], tolerance: Tolerance) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let (mut passed, mut but_push, mut failed, mut unsupported) = (0, 0, 0, 0);
    for script in scripts {
        let verdict = fs::read_to_string(script).map(|text| verdict(&text, tolerance));
        match &verdict {
            Ok(ScriptResult::Passed) => passed += 1,
            Ok(ScriptResult::PassedButPush(_)) => but_push += 1,
            Ok(ScriptResult::Not(Problem::Unsupported { .. })) => unsupported += 1,
            Ok(ScriptResult::Not(_)) | Err(_) => failed += 1,
        }
        match verdict {
            Ok(verdict) => writeln!(out, "{}: {verdict}", script.display())?,
            Err(error) => writeln!(out, "{}: failed: {error}", script.display())?,
        }
    }
    writeln!(out, "{passed} passed, {but_push} but for PSH, {failed} failed, {unsupported} not supported")?;
    Ok(failed == 0)
}

fn verdict(text: &str, tolerance: Tolerance) -> ScriptResult {
    match parse(text) {
        Ok(script) => run(&script, &mut Simulated::default(), tolerance),
        Err(problem) => ScriptResult::Not(problem),
    }
}
