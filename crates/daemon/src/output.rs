//! Standard output has results, standard error has progress, warnings and errors.
//!
//! A reader that goes away is no error.

use std::io::Write;

use serde::Serialize;

/// Writes a result to standard output.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a result to standard output: one JSON document, or what `table` makes of it.
pub(crate) fn print_document<T: Serialize>(document: &T, json: bool, table: impl FnOnce(&T) -> String) {
    print(&if json {
        serde_json::to_string_pretty(document).expect("documents have strings as keys") + "\n"
    } else {
        table(document)
    });
}

/// Writes a line about what is being done to standard error.
pub(crate) fn progress(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes a warning or an error to standard error: one line, with the program's name.
pub(crate) fn error(line: &str) {
    progress(&format!("airwattd: {}", line.replace('\n', " ")));
}

/// A value of a document for people.
pub(crate) fn word(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}
