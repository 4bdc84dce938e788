//! Where the events of a program go: to standard error, one line each.
//!
//! The service manager adds the time of a daemon's lines; those of a simulation carry simulated time. Where standard error is systemd's
//! journal, a line begins with its priority as sd-daemon(3) has it, which the journal takes off and keeps. Levels are by
//! consequence: an error ends the program or a part of it, a warning may change a result or a connection, information is
//! what an operator wants to read once, the rest is for debugging. Releases have no level below `debug`.

use std::io;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// The environment variable with the levels.
pub const VARIABLE: &str = "AIRWATT_LOG";

/// Writes events to standard error: of `debug` and above, say, or of levels by module as in `info,airwatt_sim=debug`. A
/// second call changes nothing.
///
/// # Errors
/// If `levels` is something else: one line.
pub fn to_stderr(levels: &str) -> Result<(), String> {
    let targets: Targets = levels.parse().map_err(|_| {
        let expected = "expected error, warn, info or debug, also by module as in info,airwatt_sim=debug";
        format!("{VARIABLE}: {expected}, got {levels:?}")
    })?;
    let lines = fmt::layer().without_time().with_ansi(false);
    let registry = tracing_subscriber::registry();
    // Fails if a subscriber is there already, which then stays.
    let _ = if is_journal(std::env::var("JOURNAL_STREAM").ok().as_deref()) {
        let lines = lines.with_level(false).with_target(false).with_writer(Journal).with_filter(targets);
        registry.with(lines).try_init()
    } else {
        registry.with(lines.with_writer(io::stderr).with_filter(targets)).try_init()
    };
    Ok(())
}

/// Whether standard error is the stream whose device and inode systemd names (`JOURNAL_STREAM`, systemd.exec(5)).
fn is_journal(stream: Option<&str>) -> bool {
    let own = rustix::fs::fstat(io::stderr()).map(|file| format!("{}:{}", file.st_dev, file.st_ino));
    own.is_ok_and(|own| stream == Some(&own))
}

/// The journal, with the priority of each line.
struct Journal;

/// A line of the journal.
struct Line(&'static str);

impl<'a> MakeWriter<'a> for Journal {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line("")
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Line {
        Line(priority(*meta.level()))
    }
}

/// The priority of syslog(3) as a prefix.
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

/// A line is one call, so that those of two threads do not mix.
impl io::Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(&[self.0.as_bytes(), line].concat())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Writes the events of a daemon to standard error: warnings, with one `-v` information, with two everything, or what
/// [`VARIABLE`] says.
///
/// # Errors
/// As [`to_stderr`].
pub fn of_daemon(verbosity: u8) -> Result<(), String> {
    match std::env::var(VARIABLE) {
        Ok(levels) if !levels.is_empty() => to_stderr(&levels),
        _ => to_stderr(["warn", "info", "debug"][usize::from(verbosity.min(2))]),
    }
}

#[cfg(test)]
mod tests;
