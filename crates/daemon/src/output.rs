//! What goes to standard output and to standard error: results to the one, progress and complaints to the other.
//!
//! A reader that goes away is no error.

use std::io::Write;

/// Writes a result to standard output.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says on standard error what is being done.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Says on standard error what is wrong: one line, with the program's name.
pub(crate) fn complain(line: &str) {
    say(&format!("airwattd: {}", line.replace('\n', " ")));
}
