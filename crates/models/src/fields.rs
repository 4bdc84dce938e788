//! Descriptions of the parameters and results of models: names, units, texts, kinds.
//!
//! The `Params` and `Output` of a model are plain structs. `parameters!` and `outputs!` declare them in the usual
//! notation and keep the names and doc comments, so that tables, help texts, checks of user input and the reference
//! pages come from one place. The unit is the last part of a name (`rtt_s`, `rate_bps`), so it is not written a second
//! time.
//!
//! Every value is passed as one `f64`: a count as itself, a choice as its index, no limit as infinity. This keeps
//! arrays of points plain. Left out: nested results, texts, and values that depend on other values.

use crate::ModelError;

/// The kind of values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A real number.
    Number,
    /// A whole number.
    Whole,
    /// A whole number, or none for no limit.
    WholeOrNone,
    /// One of these names; its number is its index.
    Choice(&'static [&'static str]),
}

/// One parameter or one result of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name, with the unit last.
    pub name: &'static str,
    /// The unit as in tables (`s`, `b/s`, `B`, `W`); empty for counts and shares.
    pub unit: &'static str,
    /// A description in one or two sentences.
    pub text: String,
    /// The kind of values.
    pub kind: FieldKind,
    /// The default value; zero for a result.
    pub default: f64,
}

/// Units for the last part of a name.
const UNITS: [(&str, &str); 8] = [
    ("_per_bit_j", "J/b"),
    ("_bps", "b/s"),
    ("_bytes", "B"),
    ("_bits", "b"),
    ("_s", "s"),
    ("_w", "W"),
    ("_j", "J"),
    ("_packets", "packets"),
];

impl Field {
    fn new(name: &'static str, text: &str, kind: FieldKind, default: f64) -> Self {
        Self { name, unit: unit_of(name), text: text.trim().to_owned(), kind, default }
    }

    /// The name without its unit, which the command line accepts too: `rtt` for `rtt_s`.
    pub fn short_name(&self) -> &'static str {
        let suffix = UNITS.iter().find(|(suffix, _)| self.name.ends_with(suffix)).map_or("", |found| found.0);
        // A count of packets is a plain number, and the word belongs to its name.
        if self.unit == "packets" { self.name } else { self.name.strip_suffix(suffix).unwrap_or(self.name) }
    }
}

fn unit_of(name: &str) -> &'static str {
    UNITS.iter().find(|(suffix, _)| name.ends_with(suffix)).map_or("", |found| found.1)
}

/// A value, or a group of values, that is a parameter or a result of a model.
pub trait FieldValue: Sized {
    /// Adds its description to `fields`, with its own value as the default.
    fn describe(&self, name: &'static str, text: &str, fields: &mut Vec<Field>);

    /// Takes its numbers from the front of `numbers`, in the order of [`FieldValue::describe`].
    ///
    /// # Errors
    /// Returns an error for a number that is not valid for this kind of value: a fraction for a count, an unknown
    /// choice.
    fn read(name: &'static str, numbers: &mut std::slice::Iter<'_, f64>) -> Result<Self, ModelError>;

    /// Writes its numbers to `numbers`, in the order of [`FieldValue::describe`].
    fn write(&self, numbers: &mut std::slice::IterMut<'_, f64>);
}

/// Returns the next number; NaN, which no model accepts, if there is none.
fn next(numbers: &mut std::slice::Iter<'_, f64>) -> f64 {
    numbers.next().copied().unwrap_or(f64::NAN)
}

/// Writes one number.
pub(crate) fn put(numbers: &mut std::slice::IterMut<'_, f64>, value: f64) {
    if let Some(place) = numbers.next() {
        *place = value;
    }
}

fn whole(name: &'static str, value: f64, allowed: &'static str) -> Result<u32, ModelError> {
    let holds = value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0;
    if holds { Ok(value as u32) } else { Err(ModelError { parameter: name, value, allowed }) }
}

impl FieldValue for f64 {
    fn describe(&self, name: &'static str, text: &str, fields: &mut Vec<Field>) {
        fields.push(Field::new(name, text, FieldKind::Number, *self));
    }

    fn read(_: &'static str, numbers: &mut std::slice::Iter<'_, f64>) -> Result<Self, ModelError> {
        Ok(next(numbers))
    }

    fn write(&self, numbers: &mut std::slice::IterMut<'_, f64>) {
        put(numbers, *self);
    }
}

impl FieldValue for u32 {
    fn describe(&self, name: &'static str, text: &str, fields: &mut Vec<Field>) {
        fields.push(Field::new(name, text, FieldKind::Whole, f64::from(*self)));
    }

    fn read(name: &'static str, numbers: &mut std::slice::Iter<'_, f64>) -> Result<Self, ModelError> {
        whole(name, next(numbers), "a whole number of zero or more")
    }

    fn write(&self, numbers: &mut std::slice::IterMut<'_, f64>) {
        put(numbers, f64::from(*self));
    }
}

impl FieldValue for Option<u32> {
    fn describe(&self, name: &'static str, text: &str, fields: &mut Vec<Field>) {
        fields.push(Field::new(name, text, FieldKind::WholeOrNone, self.map_or(f64::INFINITY, f64::from)));
    }

    fn read(name: &'static str, numbers: &mut std::slice::Iter<'_, f64>) -> Result<Self, ModelError> {
        match next(numbers) {
            f64::INFINITY => Ok(None),
            value => whole(name, value, "a whole number of zero or more, or none").map(Some),
        }
    }

    fn write(&self, numbers: &mut std::slice::IterMut<'_, f64>) {
        put(numbers, self.map_or(f64::INFINITY, f64::from));
    }
}

/// The index among `names` that a number stands for.
pub(crate) fn choice_index(
    name: &'static str,
    numbers: &mut std::slice::Iter<'_, f64>,
    count: usize,
) -> Result<usize, ModelError> {
    let value = next(numbers);
    let index = whole(name, value, "the index of one of its choices")? as usize;
    if index < count {
        return Ok(index);
    }
    Err(ModelError { parameter: name, value, allowed: "the index of one of its choices" })
}

/// Adds a choice to `fields`: its own text, then the meaning of each name.
pub(crate) fn describe_choice(
    (name, text): (&'static str, &str),
    names: &'static [&'static str],
    texts: &[&str],
    chosen: usize,
    fields: &mut Vec<Field>,
) {
    let meanings: Vec<String> =
        names.iter().zip(texts).map(|(name, text)| format!("`{name}`: {}", text.trim())).collect();
    let text = format!("{} {}", text.trim(), meanings.join(" "));
    fields.push(Field::new(name, &text, FieldKind::Choice(names), chosen as f64));
}

/// Declares the parameters of a model, each with its default: a struct, its `Default`, and its [`FieldValue`].
macro_rules! parameters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[doc = $text:literal])+ pub $field:ident: $kind:ty = $default:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $text])+ pub $field: $kind,)+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        $crate::fields::values!($name { $($(#[doc = $text])+ $field: $kind,)+ });
    };
}

/// Declares the results of a model: a struct, and its [`FieldValue`].
macro_rules! outputs {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[doc = $text:literal])+ pub $field:ident: $kind:ty,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name { $($(#[doc = $text])+ pub $field: $kind,)+ }

        $crate::fields::values!($name { $($(#[doc = $text])+ $field: $kind,)+ });
    };
}

/// Implements [`FieldValue`] for a struct of values.
macro_rules! values {
    ($name:ident { $($(#[doc = $text:literal])+ $field:ident: $kind:ty,)+ }) => {
        impl $crate::fields::FieldValue for $name {
            fn describe(&self, _: &'static str, _: &str, fields: &mut Vec<$crate::fields::Field>) {
                $($crate::fields::FieldValue::describe(&self.$field, stringify!($field), concat!($($text),+), fields);)+
            }

            fn read(
                _: &'static str,
                numbers: &mut std::slice::Iter<'_, f64>,
            ) -> Result<Self, $crate::ModelError> {
                Ok(Self { $($field: <$kind as $crate::fields::FieldValue>::read(stringify!($field), numbers)?,)+ })
            }

            fn write(&self, numbers: &mut std::slice::IterMut<'_, f64>) {
                $($crate::fields::FieldValue::write(&self.$field, numbers);)+
            }
        }
    };
}

/// Declares a choice: an enum with a name for each variant, of which the first one is the default.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[doc = $text:literal])+ $variant:ident = $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $text])+ $variant,)+ }

        impl $name {
            /// Every variant, in the order of its index.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// The names, in the same order.
            pub const NAMES: &[&str] = &[$($label),+];
        }

        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        impl $crate::fields::FieldValue for $name {
            fn describe(&self, name: &'static str, text: &str, fields: &mut Vec<$crate::fields::Field>) {
                let texts = [$(concat!($($text),+)),+];
                $crate::fields::describe_choice((name, text), Self::NAMES, &texts, *self as usize, fields);
            }

            fn read(
                name: &'static str,
                numbers: &mut std::slice::Iter<'_, f64>,
            ) -> Result<Self, $crate::ModelError> {
                $crate::fields::choice_index(name, numbers, Self::ALL.len()).map(|index| Self::ALL[index])
            }

            fn write(&self, numbers: &mut std::slice::IterMut<'_, f64>) {
                $crate::fields::put(numbers, *self as usize as f64);
            }
        }
    };
}

pub(crate) use {choice, outputs, parameters, values};
