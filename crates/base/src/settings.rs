//! Settings of mechanisms: what checks them, how they are read, and what is said about those that cannot be.
//!
//! A mechanism's settings are one serde type beside its machine. Scenario files, `--set`, Python and the daemons all read
//! that type through [`read`], so that an error has one form everywhere: a [`SettingError`] with the full key, what was
//! expected and what was found. Where a mechanism is one of several kinds, its settings are a table with a tag
//! (`policy = "uapsd"`), declared row by row with [`kinds!`](crate::kinds).
//!
//! Left out: files, lines and flags. Whoever has the text adds the place to the error.

mod defaults;
mod error;
mod kinds;
#[cfg(feature = "serde")]
mod value;

#[cfg(test)]
mod tests;

use std::fmt::Display;

pub use self::error::{SettingError, SettingProblem, one_of};
#[cfg(feature = "serde")]
pub use self::kinds::{Choice, explain_unknown, split_choice, take_kind};
pub use self::kinds::{KindInfo, NoSettings};
#[cfg(feature = "serde")]
pub use self::value::{Value, bytes, fields_of, into_serde_error, read, refused_form};

/// The settings of one mechanism.
pub trait Settings {
    /// Checks every value against its range, and values against each other.
    ///
    /// # Errors
    /// The first setting that is not allowed. Its key is relative to these settings.
    fn check(&self) -> Result<(), SettingError>;
}

/// Checks that a value lies in `least..=most`.
///
/// # Errors
/// [`SettingError::out_of_range`] otherwise, and for a value that has no order, such as NaN.
pub fn in_range<T: PartialOrd + Display>(key: &str, value: T, least: T, most: T) -> Result<(), SettingError> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(SettingError::out_of_range(key, value, format!("{least} to {most}")))
}
