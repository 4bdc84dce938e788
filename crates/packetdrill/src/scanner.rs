//! The scanner under the parser: a position in the text, white space and comments, words and numbers.

use crate::Problem;

/// A position in a text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The line of the position, from 1.
    pub(crate) fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// A syntax error here.
    pub(crate) fn wrong(&self, expected: &str) -> Problem {
        let found: String = self.rest().chars().take_while(|each| *each != '\n').take(40).collect();
        Problem::Syntax { line: self.line(), text: format!("expected {expected}, got {found:?}") }
    }

    /// A construct that this runner does not have.
    pub(crate) fn unsupported(&self, what: &str) -> Problem {
        Problem::Unsupported { line: self.line(), text: what.to_owned() }
    }

    /// Skips white space and comments.
    pub(crate) fn skip(&mut self) {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.text.len() - rest.len();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }

    /// The next character after white space.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    /// Takes `what` if it is next.
    pub(crate) fn take(&mut self, what: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(what);
        self.at += if found { what.len() } else { 0 };
        found
    }

    /// Takes `what`, or fails.
    pub(crate) fn need(&mut self, what: &str) -> Result<(), Problem> {
        if self.take(what) { Ok(()) } else { Err(self.wrong(&format!("`{what}`"))) }
    }

    /// Takes the word `what` if it is next.
    pub(crate) fn take_word(&mut self, what: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(what)
            && !self.rest()[what.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        self.at += if found { what.len() } else { 0 };
        found
    }

    /// Takes the characters that fit, which may be none.
    pub(crate) fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|each| !fits(each)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Takes everything up to `end`, and `end` itself.
    pub(crate) fn take_until(&mut self, end: &str) -> Result<&'a str, Problem> {
        let rest = self.rest();
        let Some(length) = rest.find(end) else { return Err(self.wrong(&format!("a closing `{end}`"))) };
        self.at += length + end.len();
        Ok(&rest[..length])
    }

    /// A name of letters, digits and underscores.
    pub(crate) fn word(&mut self) -> &'a str {
        self.take_while(|each| each.is_alphanumeric() || each == '_')
    }

    /// A number: decimal, hexadecimal, with a sign.
    pub(crate) fn number(&mut self) -> Result<i64, Problem> {
        self.skip();
        let before = self.clone();
        let negative = self.take("-");
        let digits = self.word();
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        match parsed {
            Ok(number) => Ok(if negative { -number } else { number }),
            Err(_) => Err(before.wrong("a number")),
        }
    }

    /// A number that fits into the type.
    pub(crate) fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, Problem> {
        let before = self.clone();
        T::try_from(self.number()?).map_err(|_| before.wrong("a number within its field"))
    }
}
