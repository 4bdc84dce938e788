//! Names of nodes in a scenario: one, a group, a range, or a list of them.

use std::fmt;
use std::path::Path;

use airwatt_base::settings::SettingError;
use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names of nodes: text for one, otherwise a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl Names {
    /// One name.
    pub fn one(name: impl Into<String>) -> Self {
        Self(vec![name.into()])
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "{one:?}"),
            names => write!(f, "{names:?}"),
        }
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            names => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrList;
        impl<'de> Visitor<'de> for OneOrList {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a node or a list of names")
            }
            fn visit_str<E>(self, name: &str) -> Result<Names, E> {
                Ok(Names::one(name))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(OneOrList)
    }
}

impl JsonSchema for Names {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Names of nodes: one, a group, a range such as `station1..station3`, or a list of them.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

/// Checks the form of a name: letters, digits, `-`, `_` and `/`, so that a dotted key can contain it; and no number, which would
/// be a place in a list.
///
/// # Errors
/// A name of another form.
pub(super) fn check_name(key: &str, name: &str) -> Result<(), SettingError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    if name.is_empty() || !name.chars().all(is_plain) || name.parse::<u64>().is_ok() {
        let expected = "a name of letters, digits, \"-\" and \"_\" that is not a number";
        return Err(SettingError::out_of_range(key, format!("{name:?}"), expected));
    }
    Ok(())
}

/// Characters of a scenario's name. With the ending of an output it must be the name of a file.
const NAME_MAX: usize = 100;

/// Checks the name of a scenario. Outputs are named after it, so it must not choose another folder or a hidden file, and it is printed on
/// terminals.
///
/// # Errors
/// Returns an error for a name that cannot begin the name of a file.
pub(super) fn check_scenario_name(name: &str) -> Result<(), SettingError> {
    let is_plain = |c: char| c != '/' && !c.is_control();
    if name.starts_with('.') || !name.chars().all(is_plain) || name.chars().count() > NAME_MAX {
        let expected = format!("up to {NAME_MAX} characters without slash, control character or leading dot");
        let shown: String = name.chars().take(NAME_MAX).collect();
        return Err(SettingError::out_of_range("name", format!("{shown:?}"), expected));
    }
    Ok(())
}

/// The name of a scenario that states none: that of its file without ending, as far as [`check_scenario_name`] accepts it.
pub(super) fn name_of_file(path: &str) -> String {
    let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let plain = stem.trim_start_matches('.').chars().map(|c| if c.is_control() { '_' } else { c });
    plain.take(NAME_MAX).collect()
}
