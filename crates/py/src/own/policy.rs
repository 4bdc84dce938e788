//! A power-save policy written in Python, as the station's machine uses it.

use airwatt_base::Instant;
use airwatt_proto::powersave::{
    Abilities, AnyPolicy, Fact, OwnPolicy, PowerSaveFrame, PowerSaveRadio as Machine, ServiceFlags, Uplink,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::radio::{Radio, timer_name};
use super::{Failure, class_name, copied, hooks, instance, shown};
use crate::errors::InputError;

/// The name of the base class in `airwatt.own`.
const BASE: &str = "Policy";

/// What a policy can need, by name.
const ABILITIES: [(&str, Abilities); 8] = [
    ("switch", Abilities::SWITCH),
    ("tim", Abilities::SEE_TIM),
    ("service", Abilities::SEE_SERVICE),
    ("air-time", Abilities::SEE_AIR_TIME),
    ("flows", Abilities::SEE_FLOWS),
    ("trigger", Abilities::TRIGGER),
    ("poll", Abilities::POLL),
    ("grant", Abilities::GRANT),
];

/// The policy that `factory` makes for each station.
pub(super) fn own(factory: &Bound<'_, PyAny>, failure: &Failure) -> PyResult<OwnPolicy> {
    let sample = instance(factory, BASE)?;
    let needs = needs(&sample)?;
    let name = class_name(&sample)?;
    PythonPolicy::new(&sample, needs, failure)?;
    let (factory, failure) = (factory.clone().unbind(), failure.clone());
    Ok(OwnPolicy::new(&name, needs, move |_| {
        Python::attach(|py| {
            let made =
                instance(factory.bind(py), BASE).and_then(|made| PythonPolicy::new(&made, needs, &failure));
            match made {
                Ok(policy) => Box::new(policy) as Box<dyn AnyPolicy>,
                Err(error) => {
                    failure.note(error);
                    Box::new(Inert)
                }
            }
        })
    }))
}

/// What a policy declares that it needs.
fn needs(sample: &Bound<'_, PyAny>) -> PyResult<Abilities> {
    let class = class_name(sample)?;
    let refused = |got: &Bound<'_, PyAny>| {
        let known = ABILITIES.map(|(known, _)| known).join(", ");
        InputError::new_err(format!("{class}.needs: expected a list of some of {known}, got {}", shown(got)))
    };
    let listed = sample.getattr("needs")?;
    // A text is a list as well: of its letters.
    if listed.is_instance_of::<PyString>() || !listed.hasattr("__iter__")? {
        return Err(refused(&listed));
    }
    let mut needs = Abilities::NONE;
    for name in listed.try_iter()? {
        let name = name?;
        let found = name.extract::<String>().ok();
        let Some((_, ability)) = ABILITIES.iter().find(|(known, _)| found.as_deref() == Some(known)) else {
            return Err(refused(&name));
        };
        needs |= *ability;
    }
    Ok(needs)
}

/// A policy that could not be made: the run is about to end.
#[derive(Debug)]
struct Inert;

impl AnyPolicy for Inert {
    fn fact(&mut self, _radio: &mut dyn Machine, _fact: Fact, _now: Instant) {}

    fn boxed_clone(&self) -> Box<dyn AnyPolicy> {
        Box::new(Self)
    }
}

/// The methods that a policy overrides.
#[derive(Debug)]
struct Hooks {
    start: Option<Py<PyAny>>,
    beacon: Option<Py<PyAny>>,
    received: Option<Py<PyAny>>,
    sent: Option<Py<PyAny>>,
    backlog: Option<Py<PyAny>>,
    service_ended: Option<Py<PyAny>>,
    air_time: Option<Py<PyAny>>,
    flow: Option<Py<PyAny>>,
    timer: Option<Py<PyAny>>,
}

/// An instance of a policy in Python.
#[derive(Debug)]
struct PythonPolicy {
    made: Py<PyAny>,
    hooks: Hooks,
    radio: Py<Radio>,
    needs: Abilities,
    failure: Failure,
}

impl PythonPolicy {
    fn new(made: &Bound<'_, PyAny>, needs: Abilities, failure: &Failure) -> PyResult<Self> {
        let names = [
            "on_start",
            "on_beacon",
            "on_received",
            "on_sent",
            "on_backlog",
            "on_service_ended",
            "on_air_time",
            "on_flow",
            "on_timer",
        ];
        let [start, beacon, received, sent, backlog, service_ended, air_time, flow, timer] =
            hooks(made, BASE, names)?;
        Ok(Self {
            made: made.clone().unbind(),
            hooks: Hooks { start, beacon, received, sent, backlog, service_ended, air_time, flow, timer },
            radio: Py::new(made.py(), Radio::new(needs))?,
            needs,
            failure: failure.clone(),
        })
    }

    /// The method that takes a fact, if the policy has one.
    fn hook(&self, fact: &Fact) -> Option<&Py<PyAny>> {
        let hooks = &self.hooks;
        match fact {
            Fact::Start => &hooks.start,
            Fact::Beacon { .. } => &hooks.beacon,
            Fact::Received { .. } => &hooks.received,
            Fact::Sent { .. } => &hooks.sent,
            Fact::Backlog => &hooks.backlog,
            Fact::ServiceEnded { .. } => &hooks.service_ended,
            Fact::AirTime(_) => &hooks.air_time,
            Fact::Flow(_) => &hooks.flow,
            // From devices only; policies in Python run in the simulator only, and ask for no agreement.
            Fact::Arrival(_) | Fact::Agreed { .. } => return None,
            Fact::Timer(_) => &hooks.timer,
        }
        .as_ref()
    }

    fn call(&self, py: Python<'_>, hook: &Py<PyAny>, fact: &Fact) -> PyResult<()> {
        let radio = self.radio.bind(py);
        match *fact {
            Fact::Start | Fact::Backlog => hook.call1(py, (radio,)),
            Fact::Beacon { tim } => hook.call1(py, (radio, tim)),
            Fact::Received { bytes, service, null } => {
                let (more_data, eosp) = flags(service);
                hook.call1(py, (radio, bytes, null, more_data, eosp))
            }
            Fact::Sent { frame, delivered } => {
                let (name, bytes) = uplink(frame);
                hook.call1(py, (radio, name, bytes, delivered))
            }
            Fact::ServiceEnded { last } => {
                let (more_data, eosp) = flags(last);
                hook.call1(py, (radio, more_data, eosp))
            }
            Fact::AirTime(time) => {
                let parts = [time.transmit, time.receive, time.backoff].map(|part| part.as_nanos());
                hook.call1(py, (radio, parts[0], parts[1], parts[2]))
            }
            Fact::Timer(timer) => hook.call1(py, (radio, timer_name(timer))),
            Fact::Arrival(_) | Fact::Agreed { .. } => return Ok(()),
            // One packet, as in the simulator.
            Fact::Flow(sample) => {
                hook.call1(py, (radio, sample.flow, sample.sent.packets > 0, sample.bytes(), sample.dscp))
            }
        }
        .map(drop)
    }
}

/// More Data and EOSP; `None` if they were not seen.
fn flags(service: Option<ServiceFlags>) -> (Option<bool>, Option<bool>) {
    (service.map(|flags| flags.more_data), service.map(|flags| flags.eosp))
}

/// The kind of an own frame and the size of its packet.
fn uplink(frame: Uplink) -> (&'static str, u32) {
    match frame {
        Uplink::Data { bytes } => ("data", bytes),
        Uplink::Control(PowerSaveFrame::Trigger) => ("trigger", 0),
        Uplink::Control(PowerSaveFrame::PmNull { .. }) => ("pm-null", 0),
        Uplink::Control(PowerSaveFrame::PsPoll) => ("ps-poll", 0),
        Uplink::Control(PowerSaveFrame::Wake(_)) => ("twt-action", 0),
    }
}

impl AnyPolicy for PythonPolicy {
    fn fact(&mut self, radio: &mut dyn Machine, fact: Fact, now: Instant) {
        let Some(hook) = self.hook(&fact) else { return };
        if self.failure.happened() {
            return;
        }
        Python::attach(|py| {
            self.radio.borrow_mut(py).begin(radio, &fact, now);
            match self.call(py, hook, &fact) {
                Ok(()) => self.radio.borrow_mut(py).apply(radio),
                Err(error) => self.failure.note(error),
            }
        });
    }

    fn boxed_clone(&self) -> Box<dyn AnyPolicy> {
        let made = Python::attach(|py| {
            copied(self.made.bind(py)).and_then(|made| Self::new(&made, self.needs, &self.failure))
        });
        match made {
            Ok(policy) => Box::new(policy),
            Err(error) => {
                self.failure.note(error);
                Box::new(Inert)
            }
        }
    }
}
