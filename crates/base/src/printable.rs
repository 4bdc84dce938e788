//! Texts of others in messages: a file's name or content may hold what a terminal obeys.

use std::fmt::{self, Write as _};

/// A text that is shown without control characters: they are escaped, as in `\u{1b}` and `\n`.
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_no_text() {
        assert_eq!(
            Printable("got \u{1b}[31mX\u{9b}2J\ttwo\nlines of \u{b5}s").to_string(),
            "got \\u{1b}[31mX\\u{9b}2J\\ttwo\\nlines of \u{b5}s"
        );
    }
}
