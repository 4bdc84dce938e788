//! The host of the controller: the driver, the program that counts packets, and the control socket.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use airwatt_base::{Instant, Machine, Span};
use airwatt_linux::changes::{Change, Changes};
use airwatt_linux::clock::{self, Clock, SuspendWatch};
use airwatt_linux::control::ControlSocket;
use airwatt_linux::driver::MachineHost;
use airwatt_linux::event_loop::{ReadySource, Token};
use airwatt_linux::guardian::Guardian;
use airwatt_linux::metrics::Metrics;
use airwatt_linux::signals::{Signal, Signals};
use airwatt_linux::wireless::{Wireless, WirelessAssociation, WirelessEvent, WirelessEvents};
use airwatt_linux::{Error, service};
use airwatt_proto::powersave::{ArrivalAfterPause, Demand, LatencyGuardConfig, PowerSaveConfig};
use tracing::{debug, info, warn};

use super::account::Account;
use super::config::Config;
use super::controller::{Controller, Input, Output, Reason, State};
use super::doze::{Arrivals, Doze};
use super::observer::{Booked, Event, Observer, Orders};
use super::show::{self, Document, Own, Reaction};
use super::supply::Supply;
use super::uapsd::{ShortFrames, Triggers};
use super::{BEACON_INTERVAL, Interface, drivers, on_or_off, state, wifi};
use crate::failure::Failure;
use crate::instance::serve_control;

/// Sources of the event loop.
pub(super) const OBSERVER: Token = Token(0);
pub(super) const SIGNALS: Token = Token(1);
pub(super) const CONTROL: Token = Token(2);
pub(super) const METRICS: Token = Token(3);
pub(super) const GUARDIAN: Token = Token(4);
pub(super) const WIRELESS: Token = Token(5);

/// Time between two writes of the account: a tenth of the time that the daemon runs, within these limits. That is what is lost when it is
/// killed, and flash memory is written seldom.
const KEEP: [Span; 2] = [Span::from_secs(60), Span::from_secs(600)];
/// A flow that pauses for this long begins anew.
const EPISODE_PAUSE: Span = Span::from_secs(2);
/// A packet after a silence of this length may have met a radio that sleeps: the shortest tail that is known of a driver's firmware.
const SHORT_SILENCE: Span = Span::from_millis(20);

pub(super) struct StationHost {
    pub(super) config: Config,
    /// What this host lives on, as it was read last.
    supply: Supply,
    pub(super) file: Option<PathBuf>,
    pub(super) name: String,
    /// `None` while the interface is gone.
    index: Option<u32>,
    /// The setting as it was found.
    pub(super) found: bool,
    /// The setting as it is, as far as this daemon knows.
    pub(super) on: bool,
    pub(super) wireless: Wireless,
    pub(super) events: WirelessEvents,
    pub(super) observer: Observer,
    pub(super) signals: Signals,
    pub(super) control: ControlSocket,
    pub(super) metrics: Option<Metrics>,
    changes: Changes,
    /// What the time counts for.
    booked: Booked,
    pub(super) association: Option<WirelessAssociation>,
    /// `None` if the policy needs no triggers, or this association has no U-APSD.
    triggers: Option<ShortFrames>,
    /// `None` if the device announces by itself that it leaves power save, or is not connected.
    announcing: Option<ShortFrames>,
    /// Packets after a silence of half a second, and after shorter ones.
    arrivals: Arrivals,
    answers: Arrivals,
    pub(super) account: Account,
    clock: Clock,
    /// Inputs that outputs asked for.
    pending: Vec<Input>,
    /// The packet that the daemon was woken for, until active mode is reached.
    activity: Option<Instant>,
    /// The orders that the program has: whether it wakes the daemon, the period, and the setting.
    armed: Option<(bool, Booked, bool)>,
    asked: Asked,
    counts: BTreeMap<&'static str, u64>,
    reaction: Reaction,
    by_reason: BTreeMap<&'static str, u64>,
    wakeups: u64,
    suspends: SuspendWatch,
    kept_at: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    control: bool,
    metrics: bool,
    reload: bool,
    /// The interface or its association may have changed.
    look: bool,
    /// Another interface may have connected.
    look_elsewhere: bool,
}

/// What the host begins with.
pub(super) struct Parts {
    pub(super) config: Config,
    pub(super) file: Option<PathBuf>,
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) found: bool,
    pub(super) wireless: Wireless,
    pub(super) observer: Observer,
    pub(super) signals: Signals,
    pub(super) control: ControlSocket,
    pub(super) metrics: Option<Metrics>,
    pub(super) changes: Changes,
    pub(super) clock: Clock,
}

fn as_error(failure: &Failure) -> Error {
    Error::other("the station daemon", &failure.to_string())
}

impl StationHost {
    pub(super) fn new(parts: Parts, account: Account) -> Result<Self, Error> {
        let events = parts.wireless.events()?;
        Ok(Self {
            config: parts.config,
            supply: Supply::of_host(),
            file: parts.file,
            name: parts.name,
            index: Some(parts.index),
            found: parts.found,
            on: parts.found,
            events,
            wireless: parts.wireless,
            observer: parts.observer,
            signals: parts.signals,
            control: parts.control,
            metrics: parts.metrics,
            changes: parts.changes,
            booked: Booked::Before,
            association: None,
            triggers: None,
            announcing: None,
            arrivals: Arrivals::new(BEACON_INTERVAL),
            answers: Arrivals::new(BEACON_INTERVAL),
            account,
            clock: parts.clock,
            pending: Vec::new(),
            activity: None,
            armed: None,
            asked: Asked { look: true, look_elsewhere: true, ..Asked::default() },
            counts: BTreeMap::new(),
            reaction: Reaction::default(),
            by_reason: BTreeMap::new(),
            wakeups: 0,
            suspends: SuspendWatch::start(),
            kept_at: Instant::ZERO,
        })
    }

    fn woken(&mut self, why: &'static str) {
        self.wakeups += 1;
        *self.by_reason.entry(why).or_default() += 1;
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Restores the setting.
    pub(super) fn restore(&mut self) -> Result<(), Failure> {
        crate::instance::undo(&mut self.changes)
    }

    fn guard_config(&self) -> LatencyGuardConfig {
        match self.config.power_save {
            PowerSaveConfig::LatencyGuard(config) => config,
            _ => LatencyGuardConfig::default(),
        }
    }

    /// The policy on this association.
    pub(super) fn policy(&self) -> PowerSaveConfig {
        let mut policy = self.config.policy_on(self.beacon_interval(), self.triggers.is_some());
        if let (PowerSaveConfig::LatencyGuard(guard), Some(worth)) =
            (&mut policy, self.config.worth(self.supply))
        {
            guard.worth = worth;
        }
        policy
    }

    fn beacon_interval(&self) -> Span {
        self.association.and_then(|association| association.beacon_interval).unwrap_or(BEACON_INTERVAL)
    }

    /// Books the time until now.
    pub(super) fn keep_book(&mut self, now: Instant) -> Result<(), Error> {
        let totals = self.observer.totals().map_err(|failure| as_error(&failure))?;
        self.account.advance(totals, now);
        Ok(())
    }

    pub(super) fn switch(&mut self, on: bool, now: Instant) -> Result<(), Error> {
        let Some(index) = self.index else { return Ok(()) };
        match self.wireless.set_power_save(index, on) {
            Ok(()) => {
                self.keep_book(now)?;
                self.on = on;
                self.account.set(on, self.booked);
                if let Some(frames) = self.announcing.as_ref().filter(|_| !on)
                    && let Err(error) = frames.send()
                {
                    debug!(%error, "leaving power save was not announced");
                }
                if let Some(asked) = self.activity.take().filter(|_| !on) {
                    let took = self.clock.now().saturating_since(asked);
                    self.reaction.count += 1;
                    self.reaction.max_s = self.reaction.max_s.max(took.as_secs_f64());
                    self.reaction.over_bound += u64::from(took > self.guard_config().bound);
                }
                info!(power_save = on_or_off(on), "switched");
            }
            Err(error) if error.io().raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => {
                self.asked.look = true;
            }
            Err(error) => {
                warn!(%error, "refused");
                self.pending.push(Input::Refused);
            }
        }
        Ok(())
    }

    /// Reads what this host lives on, each time that the setting is read. There is no need to be quicker.
    fn read_supply(&mut self) {
        let supply = Supply::of_host();
        if supply == self.supply {
            return;
        }
        self.supply = supply;
        info!(supply = supply.text(), "the power supply has changed");
        self.pending.extend(self.config.worth(supply).map(Input::Worth));
    }

    /// Reads the setting, which others may have changed.
    fn read_setting(&mut self, now: Instant) -> Result<(), Error> {
        self.read_supply();
        let Some(index) = self.index else { return Ok(()) };
        match self.wireless.power_save(index) {
            Ok(found) => {
                // New orders each time: a report that was lost would leave the daemon asleep.
                self.armed = None;
                let mut inputs = Vec::new();
                self.read_events(&mut inputs)?;
                self.pending.append(&mut inputs);
                let known = self.on;
                for arrivals in [&mut self.arrivals, &mut self.answers] {
                    arrivals.looked(found == known, now);
                }
                if found != known {
                    warn!(power_save = on_or_off(found), "another program has switched power save");
                    self.keep_book(now)?;
                    self.on = found;
                    self.account.set(found, self.booked);
                }
                self.pending.push(Input::Setting { found, known });
            }
            Err(_) => self.asked.look = true,
        }
        Ok(())
    }

    /// Looks for the interface and its association anew.
    fn look(&mut self, machine: &mut Controller, now: Instant) -> Result<(), Error> {
        let interfaces = self.wireless.interfaces()?;
        let found = interfaces.iter().find(|interface| interface.name == self.name && interface.is_station);
        let index = found.map(|interface| interface.index);
        if index != self.index {
            self.association = None;
            machine.handle_input(Input::Left, now);
            self.index = None;
            match index {
                // One that goes again meanwhile is looked for at the next event.
                Some(index) => match self.take(index, machine, now) {
                    Ok(()) => self.index = Some(index),
                    Err(error) => warn!(%error, "the interface cannot be used yet"),
                },
                None => {
                    warn!(interface = self.name, "the interface is gone");
                    self.count("vanished");
                }
            }
        }
        let index = self.index;
        let association = match index {
            Some(index) => self.wireless.association(index).unwrap_or(None),
            None => None,
        };
        let place = |association: &WirelessAssociation| (association.bssid, association.beacon_interval);
        if association.as_ref().map(place) == self.association.as_ref().map(place) && !self.asked.reload {
            return Ok(());
        }
        if association.is_some() && self.association.is_some() {
            self.count("roams");
        }
        self.association = association;
        self.armed = None;
        self.triggers = None;
        self.announcing = None;
        match association {
            Some(association) => {
                info!(access_point = %association.bssid, "connected");
                self.find_triggers(&association);
                self.find_announcing(&association);
                self.arrivals = Arrivals::new(self.beacon_interval());
                self.answers = self.arrivals.clone();
                machine.handle_input(Input::Associated(self.policy(), self.beacon_interval()), now);
            }
            None => machine.handle_input(Input::Left, now),
        }
        Ok(())
    }

    /// Ends a daemon whose interface nobody has named and is not connected, if another one is: its service manager starts it there.
    fn look_elsewhere(&mut self) -> Result<(), Error> {
        let is_settled = self.association.is_some() || self.config.interface.is_some();
        if is_settled || !service::is_managed() {
            return Ok(());
        }
        match wifi::connected(&mut self.wireless)? {
            Some(other) if other != self.name => Err(Error::other(
                &self.name,
                &format!("not connected, and {other} is: the service begins anew there"),
            )),
            _ => Ok(()),
        }
    }

    /// Finds out whether the policy's triggers can be sent on this association.
    fn find_triggers(&mut self, association: &WirelessAssociation) {
        let Some(index) = self.index.filter(|_| self.config.power_save.needs_uapsd()) else { return };
        match Triggers::find(&mut self.wireless, index, &self.name, Some(association)) {
            Triggers::Possible(categories) => match ShortFrames::new(index, association.bssid, categories) {
                Ok(sender) => self.triggers = Some(sender),
                Err(error) => warn!(%error, "triggers cannot be sent"),
            },
            other => {
                let why = other.text().0;
                warn!(policy = self.config.power_save.name(), why, "no triggers here; latency-guard instead");
            }
        }
    }

    /// Prepares for what this driver leaves to the host.
    fn find_announcing(&mut self, association: &WirelessAssociation) {
        let driver = wifi::driver(&self.name);
        let announces =
            driver.and_then(|driver| drivers::known(&driver)).is_some_and(|known| known.announces);
        let Some(index) = self.index.filter(|_| !announces) else { return };
        match ShortFrames::announcing(index, association.bssid) {
            Ok(frames) => self.announcing = Some(frames),
            Err(error) => warn!(%error, "leaving power save cannot be announced"),
        }
    }

    /// Takes over an interface that has come back, which is another one to the kernel: its setting is as it is found now.
    fn take(&mut self, index: u32, machine: &mut Controller, now: Instant) -> Result<(), Error> {
        info!(interface = self.name, "the interface is back");
        let before = self.wireless.power_save(index)?;
        // What was changed went with the interface.
        self.changes.forget(|change| matches!(change, Change::PowerSave { .. }))?;
        self.changes.make(Change::PowerSave { interface: self.name.clone(), before })?;
        self.observer.attach(index).map_err(|failure| as_error(&failure))?;
        (self.found, self.on) = (before, before);
        machine.handle_input(Input::Found(before), now);
        Ok(())
    }

    /// Orders of the program in the kernel, if they have changed.
    fn arm(&mut self, machine: &Controller) -> Result<(), Error> {
        let orders = (machine.waits_for_packets(), self.booked, self.on);
        if self.armed == Some(orders) {
            return Ok(());
        }
        let (armed, booked, saves) = orders;
        self.observer
            .arm(Orders { pause: EPISODE_PAUSE, armed, booked, saves })
            .map_err(|failure| as_error(&failure))?;
        self.armed = Some(orders);
        Ok(())
    }

    fn read_flows(&mut self) -> Result<Vec<airwatt_proto::powersave::FlowSample>, Error> {
        self.observer.read().map_err(|failure| as_error(&failure))
    }

    /// What was reported since the last wake-up. Reports that do not wake are read whenever the daemon is awake, so that they
    /// never fill the buffer.
    fn read_events(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        let events = self.observer.events().map_err(|failure| as_error(&failure))?;
        let mut arrivals = Vec::new();
        for event in events {
            match event {
                Event::Arrival(arrival, saves) => {
                    if saves && arrival.silence >= SHORT_SILENCE {
                        self.answers.add(arrival.at);
                    }
                    let waited =
                        self.arrivals.waited(arrival.at).or_else(|| self.answers.clustered(arrival.at));
                    arrivals.push(ArrivalAfterPause { waited, ..arrival });
                }
                Event::AfterSilence(at) => {
                    self.arrivals.add(at);
                    // It may have waited for its beacon.
                    self.count("unsolicited");
                }
                Event::Activity(at) => {
                    self.activity = Some(at);
                    // The program wakes once for each order.
                    self.armed = None;
                }
            }
        }
        if !arrivals.is_empty() {
            inputs.push(Input::Arrivals(arrivals));
        }
        if self.activity.is_some() {
            inputs.push(Input::Flows(self.read_flows()?));
        }
        Ok(())
    }

    fn note_suspend(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        if let Some(span) = self.suspends.check() {
            info!(seconds = span.as_secs_f64(), "the host was suspended");
            self.count("suspends");
            self.asked.look = true;
            let now = self.clock.now();
            self.read_setting(now)?;
            inputs.append(&mut self.pending);
        }
        Ok(())
    }

    fn reload(&mut self) {
        service::reloading();
        match Config::read(Config::file(self.file.as_deref(), &Interface::default()).as_deref()) {
            Ok(config) => {
                let later = self.config.changed_for_the_next_start(&config);
                self.config = Config { interface: self.config.interface.clone(), ..config };
                self.asked.look = true;
                info!("configuration read again");
                if !later.is_empty() {
                    warn!("{} changed, and what changed holds from the next start on", later.join(" and "));
                }
            }
            Err(failure) => {
                self.asked.reload = false;
                warn!(%failure, "configuration not read; nothing has changed");
            }
        }
        service::ready(&self.name);
    }

    pub(super) fn document(&mut self, machine: &Controller, now: Instant) -> Result<Document, Error> {
        self.keep_book(now)?;
        let mut flows: BTreeMap<&'static str, u64> = BTreeMap::new();
        for class in machine.flows(now) {
            *flows.entry(class.name()).or_default() += 1;
        }
        let (switches, guard) = (machine.counts(), machine.guard_counts());
        let mut counts = self.counts.clone();
        counts.extend([
            ("switches", switches.switches),
            ("rewrites", switches.rewrites),
            ("refusals", switches.refusals),
            ("triggers", switches.triggers),
        ]);
        counts.extend(Demand::ALL.map(|demand| (demand.name(), guard.demands[demand as usize])));
        let (name, radio) = self.config.radio(&self.name).unzip();
        let beacons = self.beacon_interval();
        let periods = self.periods()?;
        let stays_awake = self.arrivals.verdict() == Doze::StaysAwake;
        let row = |index: usize| periods[index].row(radio.as_ref(), beacons, stays_awake);
        let mut reaction = self.reaction;
        reaction.bound_s = self.guard_config().bound.as_secs_f64();
        let uptime = now.saturating_since(Instant::ZERO).as_secs_f64();
        Ok(Document {
            schema: 1,
            version: env!("CARGO_PKG_VERSION"),
            interface: self.name.clone(),
            driver: wifi::driver(&self.name),
            access_point: self.association.map(|association| association.bssid.to_string()),
            beacon_interval_s: self.association.map(|_| beacons.as_secs_f64()),
            policy: self.policy().name(),
            supply: self.supply,
            worth_s: self.config.worth(self.supply).map(Span::as_secs_f64),
            state: machine.state().name(),
            power_save: self.on,
            power_save_found: self.found,
            demand: machine.demand().map(Demand::name),
            radio_in_power_save: self.arrivals.verdict(),
            arrivals: self.arrivals.len(),
            radio: name,
            radio_is_chosen: self.config.radio.is_some(),
            before: row(0),
            with: row(1),
            as_found_power_w: radio
                .as_ref()
                .and_then(|radio| periods[1].power_if(radio, self.found, beacons)),
            default_power_w: radio.as_ref().and_then(|radio| periods[1].power_if(radio, true, beacons)),
            default_awake_share: periods.each_ref().map(|period| period.awake_by_default()),
            flows,
            counts,
            reaction,
            own: Own::new(uptime, self.wakeups, self.by_reason.clone(), clock::cpu_time().as_secs_f64()),
        })
    }

    /// The periods with the delays of this run.
    fn periods(&self) -> Result<[super::account::Period; 2], Error> {
        let mut periods = self.account.periods.clone();
        let timed = self.observer.histograms().map_err(|failure| as_error(&failure))?;
        let totals = self.observer.totals().map_err(|failure| as_error(&failure))?;
        for (index, period) in periods.iter_mut().enumerate() {
            period.add_delays(&timed.delays[index], &timed.waits[index], totals.unasked[index]);
            period.add_requests(&timed.requests[index]);
        }
        Ok(periods)
    }

    /// Writes the account for reports and for the next daemon.
    pub(super) fn keep(&mut self, machine: &Controller, now: Instant) -> Result<(), Error> {
        let document = self.document(machine, now)?;
        let document = serde_json::to_value(document).expect("numbers and texts");
        state::write(&self.name, self.found, &self.periods()?, document);
        self.kept_at = now;
        Ok(())
    }

    fn drain(&mut self, machine: &mut Controller, now: Instant) -> Result<(), Error> {
        while let Some(output) = machine.poll_output() {
            self.carry_out(output, now)?;
        }
        Ok(())
    }

    /// Brings the controller up to date with what has happened, and the program in the kernel with the controller. Returns what
    /// was asked of the daemon meanwhile.
    pub(super) fn follow(&mut self, machine: &mut Controller, now: Instant) -> Result<Asked, Error> {
        let asked = std::mem::take(&mut self.asked);
        if asked.reload {
            self.asked.reload = true;
            self.reload();
        }
        if asked.look || self.asked.look {
            self.look(machine, now)?;
            self.asked = Asked::default();
        }
        if asked.look_elsewhere {
            self.look_elsewhere()?;
        }
        self.drain(machine, now)?;
        while !self.pending.is_empty() {
            for input in std::mem::take(&mut self.pending) {
                machine.handle_input(input, now);
                self.drain(machine, now)?;
            }
        }
        self.activity = None;
        self.observer.want(|flow| machine.wants(flow)).map_err(|failure| as_error(&failure))?;
        self.arm(machine)?;
        Ok(asked)
    }

    fn answer(&mut self, machine: &Controller, now: Instant, asked: Asked) -> Result<(), Error> {
        let document = self.document(machine, now)?;
        if asked.metrics {
            let document = serde_json::to_value(&document).map_err(|error| Error::new("metrics", error))?;
            let page = show::metrics(&document);
            if let Some(metrics) = &mut self.metrics {
                metrics.serve(|| page.clone())?;
            }
        }
        if !asked.control {
            return Ok(());
        }
        serve_control(&mut self.control, &document)
    }
}

impl MachineHost<Controller> for StationHost {
    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<Input>) -> Result<ControlFlow<()>, Error> {
        self.woken(match ready.token {
            OBSERVER => "packets",
            CONTROL | METRICS => "asked",
            WIRELESS => "wireless",
            _ => "signal",
        });
        self.note_suspend(inputs)?;
        match ready.token {
            OBSERVER => self.read_events(inputs)?,
            CONTROL => self.asked.control = true,
            METRICS => self.asked.metrics = true,
            GUARDIAN => return Err(Guardian::ended()),
            WIRELESS => {
                for event in self.events.read()? {
                    match event {
                        WirelessEvent::Scan(index) if Some(index) == self.index => self.count("scans"),
                        WirelessEvent::Scan(_) => {}
                        WirelessEvent::Association(index) if Some(index) != self.index => {
                            self.asked.look_elsewhere = true;
                        }
                        _ => self.asked.look = true,
                    }
                }
            }
            _ => match self.signals.read()? {
                Some(Signal::Terminate) => return Ok(ControlFlow::Break(())),
                signal => self.asked.reload |= signal.is_some(),
            },
        }
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, output: Output, now: Instant) -> Result<(), Error> {
        match output {
            Output::PowerSave(on) => self.switch(on, now)?,
            Output::Trigger => {
                if let Some(triggers) = &self.triggers
                    && let Err(error) = triggers.send()
                {
                    debug!(%error, "a trigger was not sent");
                }
            }
            Output::ReadFlows => {
                let mut inputs = Vec::new();
                self.read_events(&mut inputs)?;
                self.pending.append(&mut inputs);
                let samples = self.read_flows()?;
                self.pending.push(Input::Flows(samples));
            }
            Output::ReadSetting => self.read_setting(now)?,
            Output::Changed(state) => {
                self.keep_book(now)?;
                match state {
                    State::Before(_) => self.booked = Booked::Before,
                    State::Acting => {
                        self.booked = Booked::With;
                        // Packets of the time before are nobody's business now.
                        drop(self.read_flows()?);
                    }
                    State::Aside(_) => {
                        self.booked = Booked::Aside;
                        warn!("another program sets power save again and again; it has it for ten minutes");
                    }
                }
                self.account.set(self.on, self.booked);
                service::ready(&format!("{}: {}", self.name, state.name()));
            }
        }
        Ok(())
    }

    fn settle(&mut self, machine: &mut Controller, now: Instant) -> Result<(), Error> {
        let asked = self.follow(machine, now)?;
        if asked.control || asked.metrics {
            self.answer(machine, now, asked)?;
        }
        let [least, most] = KEEP;
        if now.saturating_since(self.kept_at) >= (now.saturating_since(Instant::ZERO) / 10).clamp(least, most)
        {
            self.keep(machine, now)?;
        }
        Ok(())
    }

    fn wakes_up(&mut self, reason: Reason) {
        self.woken(reason.name());
    }
}
