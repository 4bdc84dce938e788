//! The radio as a policy in Python sees it.
//!
//! It holds what the machine's radio reports when a fact comes, and collects the requests of the policy, which are applied in
//! their order when its method returns. Nothing happens in between, so that this equals acting at once; of what the radio
//! reports, only the mode and the service period depend on requests, and both are kept.

use airwatt_base::{Instant, TimerKind};
use airwatt_proto::powersave::{
    Abilities, Fact, PolicyTimer, PowerSaveRadio as Machine, ReceiveWindow, StationTimer,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// What a policy has asked for.
#[derive(Clone, Copy, Debug)]
enum Request {
    PowerSave(bool, StationTimer),
    Trigger(StationTimer),
    Poll(StationTimer),
    Timer(PolicyTimer, Option<Instant>),
    MeasureAirTime,
    Grant(ReceiveWindow),
}

/// A station's radio, while its policy handles a fact.
#[pyclass(module = "airwatt")]
#[derive(Debug)]
pub(crate) struct Radio {
    needs: Abilities,
    now: Instant,
    power_save: bool,
    backlog: u32,
    in_service: Option<bool>,
    listening_interval_ns: u64,
    /// The reason under which a wake-up is counted that a request causes.
    why: StationTimer,
    /// Whether a timer set for this instant would expire within it again.
    in_timer: bool,
    requests: Vec<Request>,
}

/// The names of the timers, in the order of the settings that a policy has for them.
const TIMERS: [(&str, PolicyTimer); 3] = [
    ("inactivity", PolicyTimer::Inactivity),
    ("trigger", PolicyTimer::Trigger),
    ("update", PolicyTimer::Update),
];

/// The name of a timer.
pub(super) fn timer_name(timer: PolicyTimer) -> &'static str {
    TIMERS.iter().find(|(_, known)| *known == timer).map_or("", |(name, _)| name)
}

/// The reason that a wake-up has by default: what a fact is about.
fn reason(fact: &Fact) -> StationTimer {
    match fact {
        Fact::Start | Fact::Agreed { .. } => StationTimer::Announce,
        Fact::Beacon { .. } | Fact::Received { .. } => StationTimer::Beacon,
        Fact::ServiceEnded { .. } => StationTimer::ServicePeriod,
        Fact::Sent { .. } | Fact::Backlog | Fact::AirTime(_) | Fact::Flow(_) | Fact::Arrival(_) => {
            StationTimer::Inactivity
        }
        Fact::Timer(timer) => (*timer).into(),
    }
}

impl Radio {
    pub(super) fn new(needs: Abilities) -> Self {
        Self {
            needs,
            now: Instant::ZERO,
            power_save: false,
            backlog: 0,
            in_service: None,
            listening_interval_ns: 0,
            why: StationTimer::Update,
            in_timer: false,
            requests: Vec::new(),
        }
    }

    /// Takes over what the machine's radio reports as `fact` comes.
    pub(super) fn begin(&mut self, radio: &dyn Machine, fact: &Fact, now: Instant) {
        self.now = now;
        self.power_save = radio.in_power_save();
        self.backlog = radio.backlog();
        self.in_service = radio.in_service();
        self.listening_interval_ns = radio.listening_interval().as_nanos();
        self.why = reason(fact);
        self.in_timer = matches!(fact, Fact::Timer(_));
        self.requests.clear();
    }

    /// Applies the requests.
    pub(super) fn apply(&mut self, radio: &mut dyn Machine) {
        for request in self.requests.drain(..) {
            match request {
                Request::PowerSave(on, why) => radio.set_power_save(on, why),
                Request::Trigger(why) => radio.trigger(why),
                Request::Poll(why) => radio.poll(why),
                Request::Timer(timer, at) => radio.set_timer(timer, at),
                Request::MeasureAirTime => radio.measure_air_time(),
                Request::Grant(window) => radio.grant(window),
            }
        }
    }

    /// Raises `RuntimeError` unless the policy says that it needs `ability`.
    fn require(&self, ability: Abilities, name: &str) -> PyResult<()> {
        if self.needs.contains(ability) {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(format!("the policy does not have {name:?} in its `needs`")))
    }

    fn why(&self, why: Option<&str>) -> PyResult<StationTimer> {
        let Some(name) = why else { return Ok(self.why) };
        StationTimer::ALL.iter().copied().find(|timer| timer.name() == name).ok_or_else(|| {
            let names: Vec<&str> = StationTimer::ALL.iter().map(|timer| timer.name()).collect();
            PyValueError::new_err(format!("why: expected one of {}, got {name:?}", names.join(", ")))
        })
    }
}

#[pymethods]
impl Radio {
    /// The simulated time in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    /// Whether the station is in power save: its frames carry PM = 1.
    #[getter]
    fn in_power_save(&self) -> bool {
        self.power_save
    }

    /// The number of the user's frames that wait to be sent.
    #[getter]
    fn backlog(&self) -> u32 {
        self.backlog
    }

    /// Whether a service period is open or a poll's answer is expected; None if the station hides it.
    #[getter]
    fn in_service(&self) -> Option<bool> {
        self.in_service
    }

    /// The longest time between two beacons that the station receives, in nanoseconds.
    #[getter]
    fn listening_interval_ns(&self) -> u64 {
        self.listening_interval_ns
    }

    /// Enters or leaves power save, and announces it. Needs "switch".
    #[pyo3(signature = (on, *, why = None))]
    fn set_power_save(&mut self, on: bool, why: Option<&str>) -> PyResult<()> {
        self.require(Abilities::SWITCH, "switch")?;
        let why = self.why(why)?;
        if self.power_save && !on {
            self.in_service = self.in_service.map(|_| false);
        }
        self.power_save = on;
        self.requests.push(Request::PowerSave(on, why));
        Ok(())
    }

    /// Asks for a service period. Needs "trigger".
    #[pyo3(signature = (*, why = None))]
    fn trigger(&mut self, why: Option<&str>) -> PyResult<()> {
        self.require(Abilities::TRIGGER, "trigger")?;
        let why = self.why(why)?;
        self.requests.push(Request::Trigger(why));
        Ok(())
    }

    /// Asks for one buffered frame by a PS-Poll. Needs "poll".
    #[pyo3(signature = (*, why = None))]
    fn poll(&mut self, why: Option<&str>) -> PyResult<()> {
        self.require(Abilities::POLL, "poll")?;
        let why = self.why(why)?;
        self.requests.push(Request::Poll(why));
        Ok(())
    }

    /// Sets the timer "inactivity", "trigger" (which wakes the radio) or "update"; None stops it.
    #[pyo3(signature = (timer, at_ns))]
    fn set_timer(&mut self, timer: &str, at_ns: Option<u64>) -> PyResult<()> {
        let Some((_, kind)) = TIMERS.iter().find(|(name, _)| *name == timer) else {
            let text = format!("timer: expected inactivity, trigger or update, got {timer:?}");
            return Err(PyValueError::new_err(text));
        };
        if let Some(at) = at_ns {
            let earliest = self.now.as_nanos() + u64::from(self.in_timer);
            if at < earliest {
                let text = format!(
                    "at_ns: expected {earliest} or later (now_ns is {}), got {at}",
                    self.now.as_nanos()
                );
                return Err(PyValueError::new_err(text));
            }
        }
        self.requests.push(Request::Timer(*kind, at_ns.map(Instant::from_nanos)));
        Ok(())
    }

    /// Asks for `on_air_time`, which comes after the present fact. Needs "air-time".
    fn measure_air_time(&mut self) -> PyResult<()> {
        self.require(Abilities::SEE_AIR_TIME, "air-time")?;
        self.requests.push(Request::MeasureAirTime);
        Ok(())
    }

    /// Lets the peers of the station's connections send this many bytes; None removes the limit. Needs "grant".
    #[pyo3(signature = (nbytes))]
    fn grant(&mut self, nbytes: Option<u64>) -> PyResult<()> {
        self.require(Abilities::GRANT, "grant")?;
        let window = nbytes.map_or(ReceiveWindow::Open, |bytes| ReceiveWindow::Grant { bytes });
        self.requests.push(Request::Grant(window));
        Ok(())
    }
}
