//! A request to the operating system that failed, with what it was for.

use std::fmt;
use std::io;

use airwatt_base::reason_of;

/// What was attempted, and the system's answer.
#[derive(Debug)]
pub struct Error {
    what: String,
    source: io::Error,
}

impl Error {
    /// The error `source` of the attempt `what`.
    pub fn new(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self { what: what.into(), source: source.into() }
    }

    /// An error that the operating system has no number for.
    pub fn other(what: impl Into<String>, why: &str) -> Self {
        Self::new(what, io::Error::other(why.to_owned()))
    }

    /// The system's answer.
    pub fn io(&self) -> &io::Error {
        &self.source
    }

    /// Returns a function for `map_err` that adds `what`.
    pub fn of<E: Into<io::Error>>(what: &str) -> impl FnOnce(E) -> Self + '_ {
        move |source| Self::new(what, source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, reason_of(&self.source))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
