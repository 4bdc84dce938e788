//! Mechanisms of which there are several kinds: one list of rows makes everything that depends on the list.

#[cfg(feature = "serde")]
use super::error::{SettingError, SettingProblem, one_of};
#[cfg(feature = "serde")]
use super::value::Value;

/// A kind that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// The name in scenarios and on the command line.
    pub name: &'static str,
    /// One line that says what it does.
    pub description: &'static str,
}

/// The settings of a kind that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct NoSettings {}

impl super::Settings for NoSettings {
    fn check(&self) -> Result<(), super::SettingError> {
        Ok(())
    }
}

/// Takes the tag out of a tagged table: the kind's name, and the other entries.
///
/// # Errors
/// A value that is no table, and a table without a tag or with one that is no kind's.
#[cfg(feature = "serde")]
pub fn take_kind(value: Value, tag: &str, kinds: &[KindInfo]) -> Result<(&'static str, Value), SettingError> {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let Value::Table(entries) = value else {
        let example = match &value {
            Value::Text(text) if names.contains(&text.as_str()) => text.as_str(),
            _ => names[0],
        };
        let expected = format!("a table such as {{ {tag} = {example:?} }}");
        return Err(SettingError::syntax("", expected, value.to_string()));
    };
    let (mut tags, others) = Value::Table(entries).split(&[tag]);
    let named = match &mut tags {
        Value::Table(tags) => tags.pop().map(|(_, name)| name),
        _ => None,
    };
    let Some(named) = named else { return Err(SettingError::missing(tag, one_of(&names))) };
    match kinds.iter().find(|kind| named == Value::Text(kind.name.to_owned())) {
        Some(kind) => Ok((kind.name, others)),
        None => Err(SettingError::syntax(tag, one_of(&names), named.to_string())),
    }
}

/// Says of an unknown key in a tagged table that it belongs to another kind, if it does.
#[cfg(feature = "serde")]
pub fn explain_unknown(
    error: SettingError,
    tag: &str,
    kind: &str,
    fields: &[(&'static str, &'static [&'static str])],
) -> SettingError {
    let SettingError { key, problem: SettingProblem::Unknown { mut known } } = error else { return error };
    let owner = |(_, fields): &&(&str, &[&str])| fields.contains(&key.as_str());
    if let Some((other, _)) = fields.iter().find(owner) {
        return SettingError::no_effect(&key, format!("{tag} {kind:?}"), format!("{other:?}"));
    }
    if !key.contains('.') {
        known.insert(0, tag.to_owned());
    }
    SettingProblem::Unknown { known }.at(key)
}

/// A kind's name, and keys with their values as text.
#[cfg(feature = "serde")]
pub type Choice<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// A kind with settings as the command line has it, `NAME` or `NAME:KEY=VALUE:KEY=VALUE`, in parts.
///
/// # Errors
/// A part without `=`.
#[cfg(feature = "serde")]
pub fn split_choice(text: &str) -> Result<Choice<'_>, SettingError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let settings = parts.map(|part| {
        part.split_once('=').ok_or_else(|| {
            let expected = format!("{name}:KEY=VALUE, for example uapsd:interval=40ms");
            SettingError::syntax("", expected, format!("{text:?}"))
        })
    });
    Ok((name, settings.collect::<Result<_, _>>()?))
}

/// Declares the kinds of a mechanism, one row each.
///
/// ```ignore
/// kinds! {
///     /// The application of a flow.
///     pub enum ApplicationConfig by "kind" {
///         "bulk" => Bulk(BulkConfig), "everything is available from the start";
///         "web" => Web(WebConfig), "pages over a persistent connection";
///     }
/// }
/// ```
/// makes the enum with its settings, `KINDS` with names and descriptions, `name`, `named` (by name, with default
/// settings), [`Settings`](crate::settings::Settings), and serde and schema as a table with the tag. A key of another
/// kind is refused with the name of the kind that it belongs to. `FromStr` reads `NAME:KEY=VALUE`.
///
/// With `by "kind", match by with_kind`, `with_kind!(config, settings => settings.method())` calls a method of whichever
/// settings it holds, if all of them implement a common trait.
///
/// If each kind is run by a machine, the rows name the machines, which share a trait with `type Config` and `fn new`, and
/// constants of the trait become methods of the settings:
///
/// ```ignore
/// kinds! {
///     /// A policy and its parameters.
///     pub enum PowerSaveConfig by "policy" (needs_uapsd: bool = NEEDS_UAPSD) =>
///     /// The machine.
///     pub(super) enum Machine: Policy (start: Instant), match by with_policy {
///         "uapsd" => Uapsd(UapsdConfig) by uapsd::Uapsd, "a trigger at a fixed interval";
///     }
/// }
/// ```
/// `with_policy!(machine, policy => policy.beacon(..))` calls whichever it is.
#[cfg(feature = "serde")]
#[macro_export]
macro_rules! kinds {
    ($(#[$doc:meta])* $vis:vis enum $name:ident by $tag:literal {
        $($kind:literal => $variant:ident($config:ty), $text:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(tag = $tag)]
        $vis enum $name {
            $(#[doc = $text] #[serde(rename = $kind)] $variant($config)),+
        }

        impl $name {
            /// Every kind, in the order in which lists show them.
            $vis const KINDS: &'static [$crate::settings::KindInfo] =
                &[$($crate::settings::KindInfo { name: $kind, description: $text }),+];

            /// The name, as files have it.
            $vis const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind),+
                }
            }

            /// The kind of this name with its default settings.
            ///
            /// # Errors
            /// A name that no kind has.
            $vis fn named(name: &str) -> Result<Self, $crate::settings::SettingError> {
                let tag = ($tag.to_owned(), $crate::settings::Value::Text(name.to_owned()));
                Self::from_value($crate::settings::Value::Table(vec![tag]))
            }

            fn from_value(
                value: $crate::settings::Value,
            ) -> Result<Self, $crate::settings::SettingError> {
                let (kind, settings) = $crate::settings::take_kind(value, $tag, Self::KINDS)?;
                let read = match kind {
                    $($kind => $crate::settings::read::<$config>(settings).map(Self::$variant),)+
                    _ => unreachable!("a kind of the list"),
                };
                let fields = || [$(($kind, $crate::settings::fields_of::<$config>())),+];
                read.map_err(|error| $crate::settings::explain_unknown(error, $tag, kind, &fields()))
            }
        }

        impl $crate::settings::Settings for $name {
            fn check(&self) -> Result<(), $crate::settings::SettingError> {
                match self {
                    $(Self::$variant(settings) => $crate::settings::Settings::check(settings)),+
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = $crate::settings::Value::deserialize(deserializer)?;
                Self::from_value(value).map_err($crate::settings::into_serde_error)
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::settings::SettingError;
            fn from_str(text: &str) -> Result<Self, $crate::settings::SettingError> {
                use $crate::settings::{Settings, Value, split_choice};
                let (name, settings) = split_choice(text)?;
                let mut table = vec![($tag.to_owned(), Value::Text(name.to_owned()))];
                table.extend(settings.into_iter().map(|(key, value)| (key.to_owned(), Value::from_text(value))));
                // The text is the tag: an error in it needs no key.
                let read = Self::from_value(Value::Table(table))
                    .map_err(|error| if error.key() == $tag { error.at("") } else { error })?;
                read.check()?;
                Ok(read)
            }
        }
    };

    ($(#[$doc:meta])* $vis:vis enum $name:ident by $tag:literal, match by $with:ident {
        $($kind:literal => $variant:ident($config:ty), $text:literal;)+
    }) => {
        $crate::kinds! {
            $(#[$doc])*
            $vis enum $name by $tag {
                $($kind => $variant($config), $text;)+
            }
        }
        $crate::kinds!(@with ($) $with $name { $($variant)+ });
    };

    ($(#[$doc:meta])* $vis:vis enum $name:ident by $tag:literal ($($method:ident: $kept:ty = $constant:ident),+) =>
     $(#[$machine_doc:meta])* $machine_vis:vis enum $machine:ident: $trait:ident ($arg:ident: $arg_type:ty), match by $with:ident
     $rows:tt) => {
        $crate::kinds! { @machines
            ($(#[$doc])* $vis enum $name by $tag) ($(#[$machine_doc])* $machine_vis enum $machine: $trait ($arg: $arg_type)) $with $rows
        }
        $($crate::kinds! { @constant $vis $name $trait ($method: $kept = $constant) $rows })+
    };

    (@constant $vis:vis $name:ident $trait:ident ($method:ident: $kept:ty = $constant:ident) {
        $($kind:literal => $variant:ident($config:ty) by $mechanism:ty, $text:literal;)+
    }) => {
        impl $name {
            #[doc = concat!("See `", stringify!($trait), "::", stringify!($constant), "`.")]
            $vis const fn $method(&self) -> $kept {
                match self {
                    $(Self::$variant(_) => <$mechanism as $trait>::$constant),+
                }
            }
        }
    };

    (@machines ($(#[$doc:meta])* $vis:vis enum $name:ident by $tag:literal)
     ($(#[$machine_doc:meta])* $machine_vis:vis enum $machine:ident: $trait:ident ($arg:ident: $arg_type:ty)) $with:ident {
        $($kind:literal => $variant:ident($config:ty) by $mechanism:ty, $text:literal;)+
    }) => {
        $crate::kinds! {
            $(#[$doc])*
            $vis enum $name by $tag {
                $($kind => $variant($config), $text;)+
            }
        }

        $(#[$machine_doc])*
        #[derive(Clone, Debug)]
        $machine_vis enum $machine {
            $(#[doc = $text] $variant($mechanism)),+
        }

        impl $machine {
            /// The machine of these settings, at the beginning.
            $machine_vis fn new(config: $name, $arg: $arg_type) -> Self {
                match config {
                    $($name::$variant(config) => Self::$variant(<$mechanism as $trait>::new(config, $arg))),+
                }
            }
        }

        $crate::kinds!(@with ($) $with $machine { $($variant)+ });
    };

    (@with ($d:tt) $with:ident $machine:ident { $($variant:ident)+ }) => {
        /// Calls whichever it is.
        macro_rules! $with {
            ($d machine:expr, $d inner:ident => $d call:expr) => {
                match $d machine {
                    $($machine::$variant($d inner) => $d call),+
                }
            };
        }
    };
}

/// Makes an enum readable and writable by the names of its values: serde, schema, and `name`. A value with data of its own,
/// which files cannot change, is read with the data given here.
///
/// ```ignore
/// named_values! {
///     BurstReaction {
///         "windows" => Self::Windows = Self::Windows;
///         "detector" => Self::Detector(_) = Self::Detector(DetectorConfig::default());
///     }
/// }
/// ```
#[cfg(feature = "serde")]
#[macro_export]
macro_rules! named_values {
    ($type:ident { $($name:literal => $pattern:pat = $value:expr;)+ }) => {
        impl $type {
            /// Every name, in the order of the values.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name, as files have it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($pattern => $name),+
                }
            }

            /// The value of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some($value),)+
                    _ => None,
                }
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Self::named(&name).ok_or_else(|| ::serde::de::Error::unknown_variant(&name, Self::NAMES))
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "enum": [$($name),+] })
            }
        }
    };
}
