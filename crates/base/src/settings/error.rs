//! Why a setting is refused.

use std::fmt;

use crate::units::{ParseQuantityError, Span};

/// What an error expects of a setting that is any text.
pub(super) const TEXT: &str = "text";

/// Why a setting is refused. `key` is the dotted path of the setting, relative to whoever reports the error;
/// [`SettingError::under`] makes it absolute on the way up. The display is one line that begins with the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// The value has the right form and is out of range.
    OutOfRange {
        /// The setting.
        key: String,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// There is no such key.
    Unknown {
        /// The key.
        key: String,
        /// The keys that exist beside it.
        known: Vec<String>,
    },
    /// The key exists, and nothing that is configured uses it.
    NoEffect {
        /// The key.
        key: String,
        /// What is configured instead.
        because: String,
        /// The choice that uses the key, as its user writes it.
        belongs_to: String,
    },
    /// The key had this name in earlier versions.
    Renamed {
        /// The key as it was.
        key: String,
        /// What to write now.
        new: String,
    },
    /// Two settings exclude each other.
    Conflict {
        /// The setting that is refused.
        key: String,
        /// The other setting.
        with: String,
        /// Why they exclude each other.
        why: String,
    },
    /// The value has the wrong form, or its text cannot be read.
    Syntax {
        /// The setting.
        key: String,
        /// The form that is expected.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A setting without a default has no value.
    Missing {
        /// The setting.
        key: String,
        /// What is expected there.
        expected: String,
    },
    /// The value was refused by the parser of its type.
    Refused {
        /// The setting.
        key: String,
        /// What the parser says.
        why: String,
    },
}

impl SettingError {
    /// A value outside what is allowed.
    pub fn out_of_range(key: &str, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self::OutOfRange { key: key.to_owned(), value: value.to_string(), allowed: allowed.into() }
    }

    /// Two settings that exclude each other.
    pub fn conflict(key: &str, with: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Conflict { key: key.to_owned(), with: with.into(), why: why.into() }
    }

    /// A key that nothing configured uses.
    pub fn no_effect(key: &str, because: impl Into<String>, belongs_to: impl Into<String>) -> Self {
        Self::NoEffect { key: key.to_owned(), because: because.into(), belongs_to: belongs_to.into() }
    }

    /// A value in the wrong form.
    pub fn syntax(key: &str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::Syntax { key: key.to_owned(), expected: expected.into(), got: got.into() }
    }

    /// A setting without a value.
    pub fn missing(key: &str, expected: impl Into<String>) -> Self {
        Self::Missing { key: key.to_owned(), expected: expected.into() }
    }

    /// The key of the setting.
    pub fn key(&self) -> &str {
        match self {
            Self::OutOfRange { key, .. }
            | Self::Unknown { key, .. }
            | Self::NoEffect { key, .. }
            | Self::Renamed { key, .. }
            | Self::Conflict { key, .. }
            | Self::Syntax { key, .. }
            | Self::Missing { key, .. }
            | Self::Refused { key, .. } => key,
        }
    }

    /// Whether a text is expected where something else was found.
    pub fn wants_text(&self) -> bool {
        matches!(self, Self::Syntax { expected, .. } if expected == TEXT)
    }

    /// The same error with its key below `parent`.
    #[must_use]
    pub fn under(self, parent: impl fmt::Display) -> Self {
        let key = if self.key().is_empty() { parent.to_string() } else { format!("{parent}.{}", self.key()) };
        self.at(key)
    }

    /// The same error with another key.
    #[must_use]
    pub fn at(mut self, new_key: impl Into<String>) -> Self {
        let (Self::OutOfRange { key, .. }
        | Self::Unknown { key, .. }
        | Self::NoEffect { key, .. }
        | Self::Renamed { key, .. }
        | Self::Conflict { key, .. }
        | Self::Syntax { key, .. }
        | Self::Missing { key, .. }
        | Self::Refused { key, .. }) = &mut self;
        *key = new_key.into();
        self
    }

    /// What is wrong, without the key: for a place that already names it.
    pub fn message(&self) -> String {
        match self {
            Self::OutOfRange { value, allowed, .. } => {
                format!("expected {}, got {}", spoken(allowed), spoken(value))
            }
            Self::Unknown { known, .. } if known.is_empty() => {
                "unknown key; hint: this table has no keys".to_owned()
            }
            Self::Unknown { known, .. } => format!("unknown key; hint: expected {}", one_of(known)),
            Self::NoEffect { because, belongs_to, .. } => {
                format!("no effect with {because}; hint: it belongs to {belongs_to}")
            }
            Self::Renamed { new, .. } => format!("renamed; hint: write {new}"),
            Self::Conflict { with, why, .. } => format!("not with {with}: {why}"),
            Self::Syntax { expected, got, .. } => format!("expected {expected}, got {got}"),
            Self::Missing { expected, .. } => format!("expected {expected}, got nothing"),
            Self::Refused { why, .. } => why.clone(),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key().is_empty() {
            write!(f, "{}: ", self.key())?;
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

/// A text whose times are in the units that people use.
fn spoken(text: &str) -> String {
    let words = text.split(' ').map(|word| word.parse().map_or_else(|_| word.to_owned(), Span::spoken));
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
