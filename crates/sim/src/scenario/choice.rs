//! What a scenario names as a policy or a transport: one of those listed, or one from outside, such as a class in a file of Python
//! (`FILE.py:CLASS`).
//!
//! The file is read with the scenario, so that its text is part of the key of a run, and executed by whoever makes the run: a
//! scenario is data. The other keys are checked by the listed mechanism that is most like it.

use std::borrow::Cow;
use std::sync::Arc;

use airwatt_base::settings::{self, NoSettings, SettingError, SettingProblem, Value, into_serde_error};
use airwatt_base::{read_text, reason_of};
use airwatt_proto::cc::{Algorithm, OwnCongestionControl, Recovery};
use airwatt_proto::powersave::{
    Abilities, Observable, OwnPolicy, PowerSaveConfig, TimeoutConfig, UapsdConfig,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::lower_bound::policy_kinds;
use super::transport::{TcpControl, Transport};

/// A mechanism from outside.
pub trait OwnMechanism: Clone + PartialEq {
    /// The type of the listed mechanisms of its kind.
    type Listed: Copy + PartialEq;
    /// The listed mechanism by which other keys are checked until the class has been made.
    const STAND_IN: Self::Listed;

    /// The name in results.
    fn name(&self) -> &str;

    /// The listed mechanism that needs the same of a station or a connection, by which other keys are checked.
    fn stand_in(&self) -> Self::Listed;
}

impl OwnMechanism for OwnPolicy {
    type Listed = PowerSaveConfig;
    const STAND_IN: PowerSaveConfig = PowerSaveConfig::Timeout(TimeoutConfig { timeout: None });

    fn name(&self) -> &str {
        self.name()
    }

    fn stand_in(&self) -> PowerSaveConfig {
        if self.needs().contains(Abilities::TRIGGER) {
            PowerSaveConfig::Uapsd(UapsdConfig::default())
        } else {
            Self::STAND_IN
        }
    }
}

impl OwnMechanism for OwnCongestionControl {
    type Listed = Transport;
    const STAND_IN: Transport = Transport::Tcp(TcpControl { congestion: Algorithm::NewReno, ackloss: false });

    fn name(&self) -> &str {
        self.name()
    }

    fn stand_in(&self) -> Transport {
        let congestion = match self.recovery() {
            Recovery::GoBack => Algorithm::Tahoe,
            Recovery::FirstAck => Algorithm::Reno,
            Recovery::PartialAcks => Algorithm::NewReno,
            Recovery::Scoreboard => Algorithm::Sack,
        };
        Transport::Tcp(TcpControl { congestion, ackloss: false })
    }
}

/// A listed mechanism, or one from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism<L, O> {
    /// One of those listed.
    Listed(L),
    /// One from outside.
    Own(O),
}

/// How a group of stations saves power.
pub type PolicyChoice = Mechanism<PowerSaveConfig, Own<OwnPolicy>>;
/// The transport of a group of flows.
pub type TransportChoice = Mechanism<Transport, Own<OwnCongestionControl>>;

/// A mechanism from outside, as a scenario names it.
#[derive(Clone, Debug)]
pub struct Own<M: OwnMechanism> {
    name: String,
    /// The text of its file; `None` of one that was made before it was put in.
    source: Option<Arc<str>>,
    /// What an error about it begins with: file, line and key, or the flag.
    place: String,
    /// The listed mechanism by which other keys are checked.
    like: M::Listed,
    made: Option<M>,
}

/// Two that a name of the scenario stands for are equal if the name and the text of the file are; others are if they are the same one.
impl<M: OwnMechanism> PartialEq for Own<M> {
    fn eq(&self, other: &Self) -> bool {
        let is_same = self.source.is_some() || self.made == other.made;
        self.like == other.like && self.name == other.name && self.source == other.source && is_same
    }
}

impl<M: OwnMechanism> Mechanism<M::Listed, Own<M>> {
    /// One from outside.
    pub fn own(made: M) -> Self {
        let (name, like) = (made.name().to_owned(), made.stand_in());
        Self::Own(Own { place: name.clone(), name, source: None, like, made: Some(made) })
    }

    /// The listed mechanism by which other keys are checked: itself, or the one that is most like the one from outside.
    pub const fn like(&self) -> M::Listed {
        match self {
            Self::Listed(listed) => *listed,
            Self::Own(own) => own.like,
        }
    }

    /// The mechanism that runs.
    ///
    /// # Errors
    /// One line that says where it was named, if it is from outside and was not made.
    pub(super) fn ready(&self) -> Result<Mechanism<M::Listed, M>, String> {
        match self {
            Self::Listed(listed) => Ok(Mechanism::Listed(*listed)),
            Self::Own(own) => own.made.clone().map(Mechanism::Own).ok_or_else(|| {
                format!("{}: a class in Python runs in the simulator, and not here", own.place)
            }),
        }
    }

    /// Whether it is from outside.
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// One that a file or a flag has named.
    fn of_name(name: &str) -> Result<Self, String> {
        let source = match name.rsplit_once(':') {
            Some((path, _)) if !is_object(name) => {
                read_text(path).map_err(|error| format!("{path} could not be read: {}", reason_of(&error)))?
            }
            _ => name.to_owned(),
        };
        let (name, source) = (name.to_owned(), Some(source.into()));
        Ok(Self::Own(Own { name, source, place: String::new(), like: M::STAND_IN, made: None }))
    }
}

impl From<PowerSaveConfig> for PolicyChoice {
    fn from(listed: PowerSaveConfig) -> Self {
        Self::Listed(listed)
    }
}

impl From<Transport> for TransportChoice {
    fn from(listed: Transport) -> Self {
        Self::Listed(listed)
    }
}

impl Default for PolicyChoice {
    fn default() -> Self {
        PowerSaveConfig::Active(NoSettings {}).into()
    }
}

impl Default for TransportChoice {
    fn default() -> Self {
        Transport::default().into()
    }
}

impl PolicyChoice {
    /// The name in scenarios.
    pub fn name(&self) -> &str {
        match self {
            Self::Listed(listed) => listed.name(),
            Self::Own(own) => &own.name,
        }
    }

    /// The first of the hidden facts that the policy cannot do without, as far as that is known.
    pub fn misses(&self, hidden: &[Observable]) -> Option<Observable> {
        let needs = match self {
            Self::Listed(listed) => listed.needs(),
            Self::Own(own) => own.made.as_ref()?.needs(),
        };
        hidden.iter().copied().find(|fact| needs.contains(fact.ability()))
    }
}

impl TransportChoice {
    /// The name in scenarios.
    pub fn name(&self) -> &str {
        match self {
            Self::Listed(listed) => listed.name(),
            Self::Own(own) => &own.name,
        }
    }
}

/// The key of a policy in its table.
const TAG: &str = "policy";

impl Serialize for PolicyChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(listed) => listed.serialize(serializer),
            Self::Own(own) => std::collections::BTreeMap::from([(TAG, &own.name)]).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PolicyChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_policy(Value::deserialize(deserializer)?).map_err(into_serde_error)
    }
}

fn read_policy(value: Value) -> Result<PolicyChoice, SettingError> {
    let (Value::Table(tags), Value::Table(others)) = value.clone().split(&[TAG]) else {
        return settings::read(value).map(|listed: PowerSaveConfig| listed.into());
    };
    match tags.as_slice() {
        [(_, Value::Text(name))] if is_own(name) => match others.first() {
            Some((key, _)) => Err(SettingProblem::Unknown { known: vec![TAG.to_owned()] }.at(key)),
            None => PolicyChoice::of_name(name).map_err(|why| SettingError::refused(TAG, why)),
        },
        _ => settings::read(value).map(|listed: PowerSaveConfig| listed.into()),
    }
}

impl Serialize for TransportChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for TransportChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let read = if is_own(&name) {
            Self::of_name(&name)
        } else {
            Transport::named(&name, OR_CLASS).map(Into::into)
        };
        read.map_err(D::Error::custom)
    }
}

/// What errors and the schema say of a class in a file.
const OR_CLASS: &str = ", or FILE.py:CLASS";

/// Adds a class in a file to the policies that the error of an unknown one lists.
pub(super) fn list_class(mut error: SettingError) -> SettingError {
    let listed = settings::one_of(&policy_kinds().map(|kind| kind.name).collect::<Vec<_>>());
    if let SettingProblem::Syntax { expected, .. } = &mut error.problem
        && *expected == listed
    {
        expected.push_str(OR_CLASS);
    }
    error
}

impl JsonSchema for TransportChoice {
    fn schema_name() -> Cow<'static, str> {
        "TransportChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Transport>(), class_schema()] })
    }
}

impl JsonSchema for PolicyChoice {
    fn schema_name() -> Cow<'static, str> {
        "PolicyChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let listed = generator.subschema_for::<PowerSaveConfig>();
        json_schema!({ "anyOf": [listed, generator.subschema_for::<PolicyOfClass>()] })
    }
}

/// The table of a policy that is a class in a file, for the schema alone.
struct PolicyOfClass;

impl JsonSchema for PolicyOfClass {
    fn schema_name() -> Cow<'static, str> {
        "PolicyOfClass".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A policy of your own, which has no other keys.",
            "type": "object",
            "properties": { TAG: class_schema() },
            "required": [TAG],
            "additionalProperties": false,
        })
    }
}

fn class_schema() -> Schema {
    json_schema!({
        "description": "FILE.py:CLASS",
        "type": "string",
        "format": "class",
        "pattern": "\\.py:[^:]+$",
    })
}

/// Whether a text names a mechanism from outside: a class in a file, or an object of the Python that loads the scenario.
pub(super) fn is_own(text: &str) -> bool {
    is_class(text) || is_object(text)
}

/// Whether a text is `FILE.py:CLASS`.
pub(super) fn is_class(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(file, _)| file.ends_with(".py"))
}

fn is_object(text: &str) -> bool {
    text.starts_with("<python ")
}

/// A mechanism that a scenario names and that is from outside.
pub struct OwnChoice<'a> {
    /// Its key.
    pub key: String,
    /// What an error about it begins with.
    pub place: &'a mut String,
    /// Its name.
    pub name: &'a mut String,
    /// The text of its file.
    pub source: Arc<str>,
    /// Where it goes when it is made.
    pub kind: OwnKind<'a>,
}

/// Where a mechanism goes that is made, with the listed one that is most like it.
pub enum OwnKind<'a> {
    /// A policy.
    Policy(&'a mut Option<OwnPolicy>, &'a mut PowerSaveConfig),
    /// A congestion control.
    Congestion(&'a mut Option<OwnCongestionControl>, &'a mut Transport),
}

impl<M: OwnMechanism> Mechanism<M::Listed, Own<M>> {
    pub(super) fn as_own<'a>(
        &'a mut self,
        key: String,
        kind: impl FnOnce(&'a mut Option<M>, &'a mut M::Listed) -> OwnKind<'a>,
    ) -> Option<OwnChoice<'a>> {
        let Self::Own(Own { name, source, place, like, made }) = self else { return None };
        let source = source.clone().unwrap_or_default();
        Some(OwnChoice { key, place, name, source, kind: kind(made, like) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_that_were_put_in_are_equal_if_they_are_the_same_one() {
        let nap = || {
            PolicyChoice::own(OwnPolicy::new("nap", Abilities::NONE, |_| unreachable!("no station has it")))
        };
        let (one, other) = (nap(), nap());
        assert_eq!(one, one.clone());
        assert_ne!(one, other);
        assert_ne!(one, PolicyChoice::default());
    }
}
