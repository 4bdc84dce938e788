//! Why a setting is refused.

use std::fmt;

use crate::units::{ParseQuantityError, Span};

/// What an error expects of a setting that is any text.
pub(super) const TEXT: &str = "text";

/// Why a setting is refused. The display is one line that begins with the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The dotted path of the setting, relative to whoever reports the error; [`SettingError::under`] makes it absolute on the way up.
    pub key: String,
    /// What is wrong with the setting.
    pub problem: SettingProblem,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingProblem {
    /// The value has the right form and is out of range.
    OutOfRange {
        /// The value.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// There is no such key.
    Unknown {
        /// The keys that exist beside it.
        known: Vec<String>,
    },
    /// The key exists, and nothing that is configured uses it.
    NoEffect {
        /// What is configured instead.
        because: String,
        /// The choice that uses the key, as its user writes it.
        belongs_to: String,
    },
    /// The key had this name in earlier versions.
    Renamed {
        /// What to write now.
        new: String,
    },
    /// Two settings exclude each other.
    Conflict {
        /// The other setting.
        with: String,
        /// Why they exclude each other.
        why: String,
    },
    /// The value has the wrong form, or its text cannot be read.
    Syntax {
        /// The form that is expected.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A setting without a default has no value.
    Missing {
        /// What is expected there.
        expected: String,
    },
    /// The value was refused by the parser of its type.
    Refused {
        /// What the parser says.
        why: String,
    },
}

impl SettingProblem {
    /// The error with this problem of a setting.
    pub fn at(self, key: impl Into<String>) -> SettingError {
        SettingError { key: key.into(), problem: self }
    }
}

impl SettingError {
    /// A value outside what is allowed.
    pub fn out_of_range(key: &str, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        SettingProblem::OutOfRange { value: value.to_string(), allowed: allowed.into() }.at(key)
    }

    /// Two settings that exclude each other.
    pub fn conflict(key: &str, with: impl Into<String>, why: impl Into<String>) -> Self {
        SettingProblem::Conflict { with: with.into(), why: why.into() }.at(key)
    }

    /// A key that nothing configured uses.
    pub fn no_effect(key: &str, because: impl Into<String>, belongs_to: impl Into<String>) -> Self {
        SettingProblem::NoEffect { because: because.into(), belongs_to: belongs_to.into() }.at(key)
    }

    /// A value in the wrong form.
    pub fn syntax(key: &str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        SettingProblem::Syntax { expected: expected.into(), got: got.into() }.at(key)
    }

    /// A setting without a value.
    pub fn missing(key: &str, expected: impl Into<String>) -> Self {
        SettingProblem::Missing { expected: expected.into() }.at(key)
    }

    /// A value that the parser of its type refuses.
    pub fn refused(key: &str, why: impl Into<String>) -> Self {
        SettingProblem::Refused { why: why.into() }.at(key)
    }

    /// The key of the setting.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether a text is expected where something else was found.
    pub fn wants_text(&self) -> bool {
        matches!(&self.problem, SettingProblem::Syntax { expected, .. } if expected == TEXT)
    }

    /// The same error with its key below `parent`.
    #[must_use]
    pub fn under(self, parent: impl fmt::Display) -> Self {
        let key = if self.key.is_empty() { parent.to_string() } else { format!("{parent}.{}", self.key) };
        self.at(key)
    }

    /// The same error with another key.
    #[must_use]
    pub fn at(self, key: impl Into<String>) -> Self {
        self.problem.at(key)
    }

    /// What is wrong, without the key: for a place that already names it.
    pub fn message(&self) -> String {
        match &self.problem {
            SettingProblem::OutOfRange { value, allowed } => {
                format!("expected {}, got {}", spoken(allowed), spoken(value))
            }
            SettingProblem::Unknown { known } if known.is_empty() => {
                "unknown key; hint: this table has no keys".to_owned()
            }
            SettingProblem::Unknown { known } => format!("unknown key; hint: expected {}", one_of(known)),
            SettingProblem::NoEffect { because, belongs_to } => {
                format!("no effect with {because}; hint: it belongs to {belongs_to}")
            }
            SettingProblem::Renamed { new } => format!("renamed; hint: write {new}"),
            SettingProblem::Conflict { with, why } => format!("not with {with}: {why}"),
            SettingProblem::Syntax { expected, got } => format!("expected {expected}, got {got}"),
            SettingProblem::Missing { expected } => format!("expected {expected}, got nothing"),
            SettingProblem::Refused { why } => why.clone(),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message())
    }
}

impl std::error::Error for SettingError {}

impl From<ParseQuantityError> for SettingError {
    fn from(error: ParseQuantityError) -> Self {
        Self::syntax("", error.expected(), format!("{:?}", error.text()))
    }
}

/// A text whose zeros and long times are in the units that people use. Shorter ones stay as they are: `0.8us` is a word of a mode's name.
fn spoken(text: &str) -> String {
    let known =
        |word: &str| word.parse().ok().filter(|span| *span == Span::ZERO || *span >= Span::from_secs(60));
    let words = text.split(' ').map(|word| known(word).map_or_else(|| word.to_owned(), Span::spoken));
    words.collect::<Vec<_>>().join(" ")
}

/// The names as an enumeration in a sentence.
pub fn one_of(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
