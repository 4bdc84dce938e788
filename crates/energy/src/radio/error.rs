//! The errors of radio profiles: unknown names, unreadable files, and files that are not profiles.

use std::fmt;

use airwatt_base::settings::SettingError;

use super::Radio;

/// The reason why a radio is not available. Its display is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioError {
    /// There is no shipped profile of this name.
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The profile has no such mode of the host.
    UnknownMode {
        /// The profile.
        radio: String,
        /// The requested mode.
        mode: String,
        /// The modes that it has.
        modes: Vec<String>,
    },
    /// The file cannot be read.
    Unreadable {
        /// The path of the file.
        file: String,
        /// The error of the operating system.
        reason: String,
    },
    /// The file is not a profile.
    Invalid {
        /// The path of the file.
        file: String,
        /// The line, counted from one, if the parser reports it.
        line: Option<usize>,
        /// The key, what is expected and what was found.
        error: SettingError,
    },
}

impl fmt::Display for RadioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let names: Vec<&str> = Radio::shipped().iter().map(|radio| radio.name.as_str()).collect();
                write!(f, "expected {} or the path of a .toml file, got {name:?}", names.join(", "))?;
                match nearest(name) {
                    Some(near) => write!(f, "; hint: {near:?} is similar"),
                    None => Ok(()),
                }
            }
            Self::UnknownMode { radio, mode, modes } if modes.is_empty() => {
                write!(
                    f,
                    "{radio}: expected no mode after the colon, since the profile has none, got {mode:?}"
                )
            }
            Self::UnknownMode { radio, mode, modes } => {
                write!(f, "{radio}: expected one of {} after the colon, got {mode:?}", modes.join(", "))
            }
            Self::Unreadable { file, reason } => write!(f, "{file}: {reason}"),
            Self::Invalid { file, line: Some(line), error } => write!(f, "{file}:{line}: {error}"),
            Self::Invalid { file, line: None, error } => write!(f, "{file}: {error}"),
        }
    }
}

impl std::error::Error for RadioError {}

/// The shipped name most similar to `name`: the one with the fewest edits, at most a third of the length of `name`.
fn nearest(name: &str) -> Option<&'static str> {
    let limit = name.chars().count().div_ceil(3);
    let distances = Radio::shipped().iter().map(|radio| (edits(name, &radio.name), radio.name.as_str()));
    distances.min().filter(|(distance, _)| *distance <= limit).map(|(_, name)| name)
}

/// The least number of inserted, deleted and replaced characters between two words (Levenshtein), without regard to case.
pub(super) fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}
