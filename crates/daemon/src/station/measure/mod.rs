//! `measure`: the delay of answers with power save off, on, and under the daemon's policy, in turns on the running machine.
//!
//! `schedule` says whose block it is and when to probe, `ab_test` lets the daemon's controller act in its own blocks, and
//! `statistics` says what the delays mean. This is their host; what the controller asks for is done by the daemon's. Power save
//! is restored at the end, at SIGTERM, and by the guardian after SIGKILL.

mod ab_test;
mod schedule;
mod statistics;

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airwatt_base::{Instant, Machine as _, Span};
use airwatt_linux::driver::{self, MachineHost};
use airwatt_linux::event_loop::{EventLoop, Interest, ReadySource, Token};
use airwatt_linux::wireless::{WirelessAssociation, WirelessInterface};
use airwatt_linux::{Error, link, route};
use airwatt_proto::powersave::PowerSaveConfig;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use serde::Serialize;
use tracing::{debug, info};

use self::ab_test::{AbTest, Input, Output};
use self::schedule::{Schedule, Setting};
use self::statistics::{Estimate, Summary};
use super::account::Account;
use super::config::Config;
use super::doze::Doze;
use super::host::{StationHost, WIRELESS};
use super::probe::{self, Probe};
use super::target::{NEEDS, Taken, Target};
use super::{BEACON_INTERVAL, Measure, on_or_off, wifi};
use crate::failure::Failure;
use crate::{host, output};

/// A source of the event loop beside those of the daemon.
const PROBES: Token = Token(6);

/// The result of a measurement.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: u32,
    version: &'static str,
    interface: String,
    driver: Option<String>,
    access_point: Option<String>,
    beacon_interval_s: Option<f64>,
    /// The policy of the setting `airwatt`.
    policy: PowerSaveConfig,
    dtim_period: Option<u64>,
    signal_dbm: Option<i8>,
    probes_to: String,
    /// Whether answers came at random times, or at once.
    reflector: bool,
    /// Whether it ran to its end.
    complete: bool,
    settings: [Summary; 3],
    radio: Doze,
}

/// Where probes go.
enum Prober {
    Reflector(UdpSocket),
    Echo(OwnedFd),
}

impl AsFd for Prober {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Reflector(socket) => socket.as_fd(),
            Self::Echo(socket) => socket.as_fd(),
        }
    }
}

impl Prober {
    fn reflector(address: SocketAddr) -> std::io::Result<Self> {
        let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self::Reflector(socket))
    }

    fn echo(address: Ipv4Addr) -> std::io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let icmp = Some(rustix::net::ipproto::ICMP);
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::RAW, flags, icmp)?;
        rustix::net::connect(&socket, &SocketAddr::from((address, 0)))?;
        Ok(Self::Echo(socket))
    }

    /// The own address that probes have.
    fn local(&self) -> std::io::Result<IpAddr> {
        let address = match self {
            Self::Reflector(socket) => socket.local_addr()?,
            Self::Echo(socket) => rustix::net::getsockname(socket)?.try_into()?,
        };
        Ok(address.ip())
    }

    fn send(&self, probe: Probe) -> std::io::Result<()> {
        match self {
            Self::Reflector(socket) => socket.send(&probe.to_bytes()).map(drop),
            Self::Echo(socket) => {
                let bytes = probe::echo_request(probe);
                Ok(rustix::net::send(socket, &bytes, SendFlags::empty()).map(drop)?)
            }
        }
    }

    /// The next answer; `None` if there is none now, `Some(None)` for anything else that came.
    fn receive(&self) -> Option<Option<(Probe, Span)>> {
        let mut bytes = [0; 256];
        let received = match self {
            Self::Reflector(socket) => socket.recv(&mut bytes),
            Self::Echo(socket) => rustix::net::recv(socket, &mut bytes[..], RecvFlags::empty())
                .map(|(length, _)| length.min(256))
                .map_err(Into::into),
        };
        match (received, self) {
            (Ok(length), Self::Reflector(_)) => Some(Probe::read_answer(&bytes[..length])),
            (Ok(length), Self::Echo(_)) => {
                Some(probe::read_echo_reply(&bytes[..length]).map(|probe| (probe, Span::ZERO)))
            }
            (Err(error), _) if error.kind() == ErrorKind::WouldBlock => None,
            // A probe came back as undeliverable.
            (Err(_), _) => Some(None),
        }
    }
}

struct MeasureHost {
    /// The daemon's host, which has the interface and does what the controller asks for.
    station: StationHost,
    prober: Prober,
    nonce: u64,
    complete: bool,
    begun: bool,
}

impl MeasureHost {
    fn begin(&mut self, setting: Setting, now: Instant) -> Result<(), Error> {
        info!(setting = setting.name(), "block begins");
        self.begun = true;
        let on = match setting {
            Setting::Airwatt => return Ok(()),
            setting => setting == Setting::On,
        };
        self.station.switch(on, now)?;
        // Delays under another setting than the block's would be booked wrongly.
        match self.station.on == on {
            true => Ok(()),
            false => Err(Error::other(
                self.station.name.clone(),
                &format!("power save cannot be switched {}", on_or_off(on)),
            )),
        }
    }
}

impl MachineHost<AbTest> for MeasureHost {
    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<Input>) -> Result<ControlFlow<()>, Error> {
        if ready.token != PROBES {
            let mut asked = Vec::new();
            let flow = self.station.receive(ready, &mut asked)?;
            inputs.extend(asked.into_iter().map(Input::Controller));
            return Ok(flow);
        }
        while let Some(answer) = self.prober.receive() {
            let own = answer.filter(|(probe, _)| probe.nonce == self.nonce);
            inputs.extend(own.map(|(probe, waited)| {
                Input::Schedule(schedule::Input::Answer { number: probe.number, waited })
            }));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, output: Output, now: Instant) -> Result<(), Error> {
        match output {
            Output::Controller(output) => self.station.carry_out(output, now)?,
            Output::Schedule(schedule::Output::Begin(setting)) => self.begin(setting, now)?,
            Output::Schedule(schedule::Output::Send(number)) => {
                // A probe that cannot be sent, as while the interface roams, is a lost one.
                if let Err(error) = self.prober.send(Probe { number, nonce: self.nonce }) {
                    debug!(%error, number, "probe not sent");
                }
            }
            Output::Schedule(schedule::Output::End) => self.complete = true,
        }
        Ok(())
    }

    fn settle(&mut self, machine: &mut AbTest, now: Instant) -> Result<(), Error> {
        if std::mem::take(&mut self.begun) {
            machine.schedule.handle_input(schedule::Input::Switched, now);
        }
        self.station.follow(&mut machine.controller, now)?;
        // The driver has nothing to wait for any more; this ends it at once.
        if self.complete {
            return Err(Error::new("the measurement", ErrorKind::Interrupted));
        }
        Ok(())
    }
}

/// Bits that no other process knows.
pub(super) fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds its hash tables from the kernel's random numbers.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// `airwattd station measure`.
pub(super) fn measure(options: &Measure) -> Result<(), Failure> {
    let config = Config::of_command(options.file.as_deref(), &options.interface)?;
    let target = Target::find(config)?;
    let name = target.interface.name.clone();
    let association = target
        .association
        .ok_or_else(|| Failure::Failed(format!("{name}: it is not connected to an access point")))?;
    host::need(&NEEDS)?;
    options.log.start()?;
    let (prober, probes_to) = prober(options, &target.interface)?;
    let Taken { parts, mut events, guardian: _guardian } = target.take(options.file.clone(), false)?;
    let (found, clock) = (parts.found, parts.clock);
    let station = StationHost::new(parts, Account::new(Default::default(), clock.now(), found))?;
    let mut host = MeasureHost { station, prober, nonce: entropy(), complete: false, begun: false };
    let length = Span::from_secs(options.minutes * 60);
    let schedule = Schedule::new(length, Span::from_secs(options.block_seconds), entropy());
    output::progress(&format!(
        "{}: power save is {} now; off, on and airwatt take turns of {} s for {:.0} s; probes to {probes_to}",
        host.station.name,
        on_or_off(found),
        options.block_seconds,
        schedule.length().as_secs_f64(),
    ));
    let mut test = AbTest::new(schedule, found);
    let done = serve(&mut host, &mut test, &mut events);
    host.station.keep_book(clock.now())?;
    host.station.restore()?;
    done?;
    let document = document(options, &host, &association, &test.schedule, probes_to);
    output::print_document(&document, options.json, table);
    match document.settings.iter().any(|summary| summary.p50.is_none()) {
        true => Err(Failure::Failed(format!("no answer came from {}", document.probes_to))),
        false => Ok(()),
    }
}

fn serve(host: &mut MeasureHost, test: &mut AbTest, events: &mut EventLoop) -> Result<(), Failure> {
    events.add(&host.prober, PROBES, Interest::Read)?;
    events.add(&host.station.events, WIRELESS, Interest::Read)?;
    match driver::run(test, host, events) {
        Err(_) if host.complete => Ok(()),
        other => Ok(other?),
    }
}

/// Finds where probes go, and refuses what does not leave by this interface.
fn prober(options: &Measure, interface: &WirelessInterface) -> Result<(Prober, String), Failure> {
    let (prober, to) = match (options.reflector, options.target) {
        (Some(address), _) => (Prober::reflector(address), address.to_string()),
        (None, target) => {
            let target = target.or(gateway(interface.index)?).ok_or_else(|| {
                Failure::Failed(format!(
                    "{}: it has no gateway; name a --target or a --reflector",
                    interface.name
                ))
            })?;
            let IpAddr::V4(address) = target else {
                let text =
                    format!("--target: expected an IPv4 address, got {target}; IPv6 needs a --reflector");
                return Err(Failure::Input(text));
            };
            (Prober::echo(address), target.to_string())
        }
    };
    let prober = prober.map_err(|error| Failure::of_io(&to, &error))?;
    let own = prober.local().map_err(|error| Failure::of_io(&to, &error))?;
    if !link::addresses()?.iter().any(|(index, address, _)| *index == interface.index && *address == own) {
        return Err(Failure::Failed(format!("{to}: it is not reached by {} but from {own}", interface.name)));
    }
    Ok((prober, to))
}

/// The gateway of this interface.
fn gateway(index: u32) -> Result<Option<IpAddr>, Failure> {
    let routes = route::list()?;
    let mut gateways = routes
        .iter()
        .filter(|route| route.destination().1 == 0 && route.interfaces() == [index])
        .filter_map(|route| Some((route.priority(), route.gateway().filter(IpAddr::is_ipv4)?)))
        .collect::<Vec<_>>();
    gateways.sort_unstable();
    Ok(gateways.first().map(|(_, gateway)| *gateway))
}

fn document(
    options: &Measure,
    host: &MeasureHost,
    association: &WirelessAssociation,
    schedule: &Schedule,
    probes_to: String,
) -> Document {
    // The account has the blocks of airwatt apart, as the time with the daemon.
    let ours = host.station.account.periods[1].power_save_share();
    let settings = Setting::ALL.map(|setting| {
        let samples = schedule.samples().iter().filter(move |sample| sample.setting == setting);
        let share = match setting {
            Setting::Off => Some(0.0),
            Setting::On => Some(1.0),
            Setting::Airwatt => ours,
        };
        Summary::new(setting, share, samples.map(|sample| sample.delay))
    });
    let reflector = options.reflector.is_some();
    let interval = association.beacon_interval.unwrap_or(BEACON_INTERVAL);
    let radio = if reflector { Doze::judge(&settings[0], &settings[1], interval) } else { Doze::Unknown };
    Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        interface: host.station.name.clone(),
        driver: wifi::driver(&host.station.name),
        access_point: Some(association.bssid.to_string()),
        beacon_interval_s: association.beacon_interval.map(Span::as_secs_f64),
        policy: host.station.policy(),
        dtim_period: association.dtim_period,
        signal_dbm: association.signal_dbm,
        probes_to,
        reflector,
        complete: host.complete,
        settings,
        radio,
    }
}

fn table(document: &Document) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string");
    let ms = |seconds: f64| format!("{:.1}", seconds * 1e3);
    let cell = |estimate: Option<Estimate>| match estimate {
        None => "-".to_owned(),
        Some(Estimate { value_s, low_s, high_s }) => {
            let end = |end: Option<f64>| end.map_or("?".to_owned(), ms);
            format!("{} ({} to {})", ms(value_s), end(low_s), end(high_s))
        }
    };
    line(format!(
        "\n{:<7} {:>6} {:>4} {:>6} {:>21} {:>21} {:>8}",
        "setting", "probes", "lost", "on [%]", "p50 [ms]", "p95 [ms]", "p99 [ms]"
    ));
    for summary in &document.settings {
        line(format!(
            "{:<7} {:>6} {:>4} {:>6} {:>21} {:>21} {:>8}",
            summary.setting.name(),
            summary.probes,
            summary.lost,
            summary.power_save_share.map_or("-".to_owned(), |share| format!("{:.1}", share * 100.0)),
            cell(summary.p50),
            cell(summary.p95),
            summary.p99.map_or("-".to_owned(), |p99| ms(p99.value_s)),
        ));
    }
    line("on: share of time with power save on; in brackets: 95 % confidence intervals,".to_owned());
    line("? where they need more probes (--minutes); p99 needs 300. To airwatt the probes".to_owned());
    line("are an interactive flow, which keeps active mode: without them power save would".to_owned());
    line("be on for longer".to_owned());
    line(
        match (document.reflector, document.radio) {
            (false, _) => "whether the radio sleeps: not known without --reflector",
            (true, Doze::Sleeps) => "the radio sleeps with power save on: answers wait for beacons",
            (true, Doze::StaysAwake) => {
                "the radio stays awake although power save is on: answers do not wait"
            }
            (true, Doze::Unknown) => {
                "whether the radio sleeps: these probes do not decide it; measure longer"
            }
        }
        .to_owned(),
    );
    if !document.complete {
        line("the measurement was ended early".to_owned());
    }
    text
}
