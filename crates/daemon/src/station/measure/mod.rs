//! `measure`: the delay of answers with power save off and on, in turns on the running machine.
//!
//! `schedule` says when to switch and when to probe, `statistics` what the delays mean; this is their host. Power save is
//! restored at the end, at SIGTERM, and by the guardian after SIGKILL.

mod schedule;
mod statistics;

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airwatt_base::Instant;
use airwatt_base::units::Span;
use airwatt_linux::capability::{self, Capability};
use airwatt_linux::changes::Change;
use airwatt_linux::driver::{self, Host};
use airwatt_linux::event_loop::{EventLoop, Interest, Ready, Token};
use airwatt_linux::guardian::Guardian;
use airwatt_linux::signals::{Signal, Signals};
use airwatt_linux::wireless::{Association, Wireless, WirelessInterface};
use airwatt_linux::{Error, link, route};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use serde::Serialize;
use tracing::{debug, info};

use self::schedule::{Input, Output, Schedule};
use self::statistics::{Estimate, Summary};
use super::doze::Doze;
use super::probe::{self, Probe};
use super::{BEACON_INTERVAL, Measure, instance, on_or_off, wifi};
use crate::failure::Failure;
use crate::instance::{self, Started};
use crate::{host, output};

const SOCKET: Token = Token(0);
const SIGNALS: Token = Token(1);
const GUARDIAN: Token = Token(2);

/// What a measurement found.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: u32,
    version: &'static str,
    interface: String,
    driver: Option<String>,
    access_point: Option<String>,
    beacon_interval_s: Option<f64>,
    dtim_period: Option<u64>,
    signal_dbm: Option<i8>,
    probes_to: String,
    /// Whether answers came at random times, or at once.
    reflector: bool,
    /// Whether it ran to its end.
    complete: bool,
    settings: [Summary; 2],
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
    wireless: Wireless,
    interface: WirelessInterface,
    prober: Prober,
    signals: Signals,
    nonce: u64,
    complete: bool,
    switched: bool,
}

impl Host<Schedule> for MeasureHost {
    fn receive(&mut self, ready: Ready, inputs: &mut Vec<Input>) -> Result<ControlFlow<()>, Error> {
        match ready.token {
            SOCKET => {
                while let Some(answer) = self.prober.receive() {
                    inputs.extend(
                        answer
                            .filter(|(probe, _)| probe.nonce == self.nonce)
                            .map(|(probe, waited)| Input::Answer { number: probe.number, waited }),
                    );
                }
                Ok(ControlFlow::Continue(()))
            }
            GUARDIAN => Err(Error::other("the guardian", "it has ended; so does this")),
            _ => {
                let mut flow = ControlFlow::Continue(());
                while let Some(signal) = self.signals.next()? {
                    if signal == Signal::Terminate {
                        flow = ControlFlow::Break(());
                    }
                }
                Ok(flow)
            }
        }
    }

    fn carry_out(&mut self, output: Output, _: Instant) -> Result<(), Error> {
        match output {
            Output::Switch(on) => {
                self.wireless.set_power_save(self.interface.index, on)?;
                info!(power_save = on, "block begins");
                self.switched = true;
            }
            Output::Send(number) => {
                // A probe that cannot be sent, as while the interface roams, is a lost one.
                if let Err(error) = self.prober.send(Probe { number, nonce: self.nonce }) {
                    debug!(%error, number, "probe not sent");
                }
            }
            Output::End => self.complete = true,
        }
        Ok(())
    }

    fn settle(&mut self, machine: &mut Schedule, now: Instant) -> Result<(), Error> {
        if std::mem::take(&mut self.switched) {
            airwatt_base::Machine::handle_input(machine, Input::Switched, now);
        }
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
    let (mut wireless, interface) = wifi::find(&options.interface)?;
    host::need(&[Capability::NetAdmin, Capability::NetRaw])?;
    let name = interface.name.clone();
    let association = wireless
        .association(interface.index)?
        .ok_or_else(|| Failure::Failed(format!("{name}: it is not connected to an access point")))?;
    options.log.start()?;
    let (prober, probes_to) = prober(options, &interface)?;
    let signals = Signals::take()?;
    let Started { control: _control, guardian, mut changes } =
        instance(&name).start(&["station", "guard", "--interface", &name])?;
    let before = wireless.power_save(interface.index)?;
    changes.make(Change::PowerSave { interface: name.clone(), before })?;
    capability::keep_only(&[Capability::NetAdmin], None)?;
    let seconds = options.minutes * 60;
    let mut schedule =
        Schedule::new(Span::from_secs(seconds), Span::from_secs(options.block_seconds), entropy());
    output::progress(&format!(
        "{name}: power save is {} and is switched every {} s for {:.0} s; probes to {probes_to}",
        on_or_off(before),
        options.block_seconds,
        schedule.length().as_secs_f64(),
    ));
    let mut host = MeasureHost {
        wireless,
        interface,
        prober,
        signals,
        nonce: entropy(),
        complete: false,
        switched: false,
    };
    let done = serve(&mut host, &mut schedule, &guardian);
    instance::undo(&mut changes)?;
    done?;
    let document = document(options, &host, &association, &schedule, probes_to);
    output::print_document(&document, options.json, table);
    match document.settings.iter().any(|summary| summary.p50.is_none()) {
        true => Err(Failure::Failed(format!("no answer came from {}", document.probes_to))),
        false => Ok(()),
    }
}

fn serve(host: &mut MeasureHost, schedule: &mut Schedule, guardian: &Guardian) -> Result<(), Failure> {
    let mut events = EventLoop::new()?;
    events.add(&host.prober, SOCKET, Interest::Read)?;
    events.add(&host.signals, SIGNALS, Interest::Read)?;
    events.add(guardian, GUARDIAN, Interest::Read)?;
    match driver::run(schedule, host, &mut events) {
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
    association: &Association,
    schedule: &Schedule,
    probes_to: String,
) -> Document {
    let of = |on: bool| {
        let samples = schedule.samples().iter().filter(move |sample| sample.power_save == on);
        Summary::new(on, samples.map(|sample| sample.delay))
    };
    let settings = [of(false), of(true)];
    let reflector = options.reflector.is_some();
    let interval = association.beacon_interval.unwrap_or(BEACON_INTERVAL);
    let radio = if reflector { Doze::judge(&settings[0], &settings[1], interval) } else { Doze::Unknown };
    Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        interface: host.interface.name.clone(),
        driver: wifi::driver(&host.interface.name),
        access_point: Some(association.bssid.to_string()),
        beacon_interval_s: association.beacon_interval.map(Span::as_secs_f64),
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
        "\n{:<10} {:>6} {:>5} {:>20} {:>20} {:>13}",
        "power save", "probes", "lost", "p50 [ms]", "p95 [ms]", "p99 [ms]"
    ));
    for summary in &document.settings {
        line(format!(
            "{:<10} {:>6} {:>5} {:>20} {:>20} {:>13}",
            on_or_off(summary.power_save),
            summary.probes,
            summary.lost,
            cell(summary.p50),
            cell(summary.p95),
            summary.p99.map_or("-".to_owned(), |p99| ms(p99.value_s)),
        ));
    }
    line("in brackets: 95 % confidence intervals; p99 needs 300 probes".to_owned());
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
