//! Serde of quantities: text with a unit.

/// Implements serde as text with a unit, and the JSON schema. A bare number is rejected with the same words as text
/// without a unit.
macro_rules! text_serde {
    ($name:ident, $what:literal, $example:literal) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::settings::{Value, into_serde_error, refused_form};
                let value = Value::deserialize(deserializer)?;
                let text = match &value {
                    Value::Text(text) => text.clone(),
                    Value::Integer(_) | Value::Float(_) => value.to_string(),
                    _ => return Err(refused_form(&format!("{}, for example {:?}", $what, $example), &value)),
                };
                text.parse::<$name>().map_err(|error| into_serde_error(error.into()))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "format": "quantity", "description": $what, "examples": [$example]
                })
            }
        }
    };
}

pub(super) use text_serde;
