//! A tree of plain values, and how a settings type is read from it with the key of each error kept.

use std::cell::RefCell;
use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
};

use super::error::{SettingError, SettingProblem, TEXT, one_of};

/// A plain value, as scenario files, JSON and Python have them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text, also of quantities with their unit.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A table, in the order in which it was written.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// A value from the command line: a truth value or a number if the text is one, otherwise the text.
    pub fn from_text(text: &str) -> Self {
        let number = || {
            text.parse()
                .map(Self::Float)
                .ok()
                .filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
        };
        let whole = || text.parse().map(Self::Integer).ok();
        text.parse()
            .map(Self::Bool)
            .ok()
            .or_else(whole)
            .or_else(number)
            .unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    /// What the value is, as errors show it.
    fn shown(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => format!("{text:?}"),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }

    /// Splits a table into the entries with one of these keys and the others.
    pub fn split(self, keys: &[&str]) -> (Self, Self) {
        match self {
            Self::Table(entries) => {
                let (named, others) = entries.into_iter().partition(|(key, _)| keys.contains(&key.as_str()));
                (Self::Table(named), Self::Table(others))
            }
            other => (Self::Table(Vec::new()), other),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a plain value")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Integer(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Integer))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Value::List(list))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
                let mut table = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    table.push(entry);
                }
                Ok(Value::Table(table))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Reads settings from a tree of values.
///
/// # Errors
/// The first error, with the full key below `value`.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, SettingError> {
    T::deserialize(Reader(value))
}

thread_local! {
    /// A typed error on its way through serde, whose own errors are made from text. It is set and taken within
    /// [`into_serde_error`].
    static HANDED_OVER: RefCell<Option<SettingError>> = const { RefCell::new(None) };
}

/// A typed error as the error of any deserializer: it stays typed under [`read`], and becomes its text elsewhere.
pub fn into_serde_error<E: de::Error>(error: SettingError) -> E {
    let text = error.to_string();
    HANDED_OVER.set(Some(error));
    let made = E::custom(text);
    HANDED_OVER.set(None);
    made
}

/// The error for a value of a form that its key has not.
pub fn refused_form<E: de::Error>(expected: &str, got: &Value) -> E {
    into_serde_error(SettingError::syntax("", expected, got.shown()))
}

impl de::Error for SettingError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        HANDED_OVER.take().unwrap_or_else(|| Self::refused("", message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_value(found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let got = match found {
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Signed(value) => value.to_string(),
            Unexpected::Unsigned(value) => value.to_string(),
            Unexpected::Float(value) => value.to_string(),
            Unexpected::Str(text) => format!("{text:?}"),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a table".to_owned(),
            other => other.to_string(),
        };
        Self::syntax("", in_words(&expected.to_string()), got)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let quoted: Vec<String> = expected.iter().map(|name| format!("{name:?}")).collect();
        Self::syntax("", one_of(&quoted), format!("{variant:?}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        SettingProblem::Unknown { known: expected.iter().map(|key| (*key).to_owned()).collect() }.at(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing(field, "a value")
    }
}

/// What serde's visitors expect, in words: they name Rust's types.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "u64" | "usize" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => TEXT.to_owned(),
        "a sequence" => "a list".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// The deserializer of a [`Value`] that keeps keys.
struct Reader(Value);

impl<'de> IntoDeserializer<'de, SettingError> for Reader {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Reader {
    type Error = SettingError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingError> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Integer(value) => visitor.visit_i64(value),
            Value::Float(value) => visitor.visit_f64(value),
            Value::Text(text) => visitor.visit_string(text),
            Value::List(items) => visitor.visit_seq(Items { items: items.into_iter(), next: 0 }),
            Value::Table(entries) => visitor.visit_map(Entries { entries: entries.into_iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SettingError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SettingError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SettingError> {
        match self.0 {
            Value::Text(text) => {
                visitor.visit_enum(IntoDeserializer::<SettingError>::into_deserializer(text))
            }
            other => {
                let quoted: Vec<String> = variants.iter().map(|name| format!("{name:?}")).collect();
                Err(SettingError::syntax("", one_of(&quoted), other.shown()))
            }
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The items of a list; an error gets the item's number.
struct Items {
    items: std::vec::IntoIter<Value>,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items {
    type Error = SettingError;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, SettingError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let number = self.next;
        self.next += 1;
        seed.deserialize(Reader(item)).map(Some).map_err(|error| error.under(number))
    }
}

/// The entries of a table; an error in a value gets its key.
struct Entries {
    entries: std::vec::IntoIter<(String, Value)>,
    value: Option<(String, Value)>,
}

impl<'de> de::MapAccess<'de> for Entries {
    type Error = SettingError;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, SettingError> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key.clone(), value));
        seed.deserialize(IntoDeserializer::<SettingError>::into_deserializer(key)).map(Some)
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, SettingError> {
        let (key, value) = self.value.take().expect("a value is asked for after its key");
        seed.deserialize(Reader(value)).map_err(|error| error.under(key))
    }
}

/// The names of a derived settings type's fields, as files have them; none for a type that is not a struct.
pub fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &[&str] = &[];
    // It is an error in any case: only the fields are asked for.
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

/// A deserializer that gives nothing and notes which fields were asked for.
struct Probe<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(de::Error::custom("no value"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A `u32` count of bytes that files write as a size with its unit: `#[serde(with = "airwatt_base::settings::bytes")]`.
pub mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::units::Size;

    /// Writes the size with its unit.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(bytes: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        Size::from_bytes(u64::from(*bytes)).serialize(serializer)
    }

    /// Reads a size of less than 4 GiB.
    ///
    /// # Errors
    /// Text that is no size, or one that is too large.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let size = Size::deserialize(deserializer)?;
        u32::try_from(size.as_bytes())
            .map_err(|_| D::Error::custom(format!("expected less than 4GiB, got {size}")))
    }
}
