//! Standard output has results, standard error has progress, warnings and errors.
//!
//! A reader that goes away is no error. A result that could not be written otherwise, as on a full disk, is one: [`status`] says so at the
//! end of the program.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use airwatt_base::{Printable, reason_of};

use airwatt_proto::session::UNANSWERED_AFTER;
use serde::Serialize;

/// Why a result did not reach standard output.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes a result to standard output.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = LOST.set(reason_of(&error));
        }
        _ => {}
    }
}

/// The exit status of a program that has done its work with `status`: 1, with a line, if a result could not be written.
pub(crate) fn status(status: ExitCode) -> ExitCode {
    match LOST.get() {
        None => status,
        Some(reason) => {
            error(&format!("standard output: {reason}"));
            ExitCode::FAILURE
        }
    }
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

/// Writes a warning or an error to standard error: one line, with the program's name. What it quotes of a file may hold control
/// characters, which a terminal would obey.
pub(crate) fn error(line: &str) {
    progress(&format!("airwattd: {}", Printable(&line.replace('\n', " "))));
}

/// The width of a terminal that lines are made for, in columns.
const WIDTH: usize = 80;
/// The column at which the values of facts begin.
const VALUES: usize = 17;

/// A fact by its name. A value that is too long for a line continues below where it began.
pub(crate) fn fact(name: &str, value: &str) -> String {
    fold(&format!("{name:<width$} ", width = VALUES - 1), value, VALUES) + "\n"
}

/// A text whose lines have [`WIDTH`] columns at most. One that is longer continues below the last of its columns, which two spaces
/// separate; without columns it continues behind its own indentation and `hanging` spaces more. Words are not divided.
pub(crate) fn folded(text: &str, hanging: usize) -> String {
    let fold_line = |line: &str| {
        let content = line.trim_start();
        let indentation = line.len() - content.len();
        let column = content.find("  ").map(|end| {
            let gap = content[end..].len() - content[end..].trim_start().len();
            indentation + end + gap
        });
        let begins = column.unwrap_or(indentation);
        let (head, rest) = line.split_at(begins);
        let below = if column.is_some() { head.chars().count() } else { indentation + hanging };
        fold(head, rest, below)
    };
    text.split('\n')
        .map(|line| if line.chars().count() > WIDTH { fold_line(line) } else { line.to_owned() })
        .collect::<Vec<_>>()
        .join("\n")
}

/// The words of a text behind `head`, in lines of [`WIDTH`] columns; those after the first begin at the column `below`.
fn fold(head: &str, text: &str, below: usize) -> String {
    let mut lines = head.to_owned();
    let mut column = head.chars().count();
    for (number, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && column + 1 + length > WIDTH {
            lines.push('\n');
            lines.push_str(&" ".repeat(below));
            column = below;
        } else if number > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

/// A number of a document, times a factor; a dash for one that is not there.
pub(crate) fn number(value: &serde_json::Value, factor: f64, digits: usize) -> String {
    value.as_f64().map_or_else(|| "-".to_owned(), |value| format!("{:.digits$}", value * factor))
}

/// A number that is known within a band, times a factor.
pub(crate) fn band(value: &serde_json::Value, factor: f64, digits: usize) -> String {
    if value.is_null() {
        return "-".to_owned();
    }
    let of = |key: &str| number(&value[key], factor, digits);
    let (low, likely, high) = (of("low"), of("likely"), of("high"));
    if low == high { likely } else { format!("{likely} ({low} to {high})") }
}

/// A value of a document for people.
pub(crate) fn word(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Why the handshakes with a peer may fail. A peer answers nothing that is not from a key that it knows.
pub(crate) const UNANSWERED: &str = "the peer is not reachable at its address, or does not run, or the keys of the two ends do not fit each other";

/// The line of a log about a peer that has answered a handshake after [`UNANSWERED`].
pub(crate) const ANSWERS_AGAIN: &str = "the peer answers handshakes again";

/// The lines of a report about a peer that has answered none of some handshakes; `None` for others.
pub(crate) fn unanswered_line(peer: &serde_json::Value) -> Option<String> {
    let count = peer["unanswered"].as_u64().filter(|count| *count >= UNANSWERED_AFTER.into())?;
    Some(format!(
        "  no answer to the last {count} handshakes: the peer is not reachable there,\n    or does not run, or the keys of the two ends do not fit"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_continue_below_their_values() {
        assert_eq!(fact("interface", "wlan1"), "interface        wlan1\n");
        assert_eq!(fact("", "-> connect it"), "                 -> connect it\n");
        let exact = ["seven77"; 8].join(" ");
        assert_eq!(exact.len(), WIDTH - VALUES);
        assert_eq!(fact("triggers", &exact), format!("triggers         {exact}\n"));
        assert_eq!(
            fact("triggers", &format!("{exact} more")),
            format!("triggers         {exact}\n                 more\n")
        );
        let long = "x".repeat(70);
        assert_eq!(fact("access point", &long), format!("access point     {long}\n"));
    }

    #[test]
    fn long_lines_continue_below_their_last_column() {
        let words = ["seven77"; 12].join(" ");
        let option = folded(&format!("Options:\n      --option <N>  {words}\n"), 0);
        let below = format!("\n{}{}\n", " ".repeat(20), ["seven77"; 5].join(" "));
        assert!(option.ends_with(&below) && option.lines().all(|line| line.len() <= WIDTH), "{option}");
        let sentence = folded(&format!("  {words}"), 4);
        assert!(sentence.ends_with("\n      seven77 seven77 seven77"), "{sentence}");
        assert_eq!(folded(&words[..WIDTH - 1], 4), words[..WIDTH - 1], "a line that fits stays");
    }
}
