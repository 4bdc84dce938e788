//! The loop between the devices of the kernels and the machines.
//!
//! One thread sleeps until a device has a packet, a machine is due, or something has ended. A packet from a device
//! enters the machines at the time at which it is read; a packet that the machines deliver is written to the device of
//! its destination. Machines that are served late use the times for which they asked, so the lateness of the loop only
//! delays deliveries, where it is measured.

use std::io;

use airwatt_base::{Instant, Span};
use airwatt_linux::clock::Clock;
use airwatt_linux::event_loop::{EventLoop, Interest, Token};
use airwatt_sim::live::{Delivery, Live, OutsideHost};
use airwatt_sim::scenario::Ready;
use nix::libc;
use tracing::debug;

use crate::error::failed;
use crate::flow_monitor::{FlowMonitor, PacketNote};
use crate::hosts::{Hosts, Member, host_at, place};
use crate::kernel::Priority;
use crate::realtime::{Lateness, Realtime, cpu_s};
use crate::traffic::KnownFlow;
use crate::work::{Running, Work};
use crate::{EmulateError, Emulated, EmulationOptions, EmulationProgress};

/// Largest packet in bytes that a device may pass on.
const MOST_BYTES: usize = 65_536;
/// Largest number of packets read from one device before the others are served.
const BATCH: usize = 64;
/// Least time between two progress reports.
const BETWEEN_REPORTS: Span = Span::from_millis(100);
/// Sources other than the devices, whose tokens are their places among the hosts.
const REPORTS: Token = Token(u64::MAX - 1);
const STOP: Token = Token(u64::MAX - 2);

/// The reason why an emulation ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndReason {
    /// All commands and flows have ended.
    Completed,
    /// The time limit was reached.
    TimeUp,
    /// The caller stopped it.
    Interrupted,
}

/// Runs an emulation on the calling thread.
pub(crate) fn run(
    scenario: &Ready<'_>,
    seed: u64,
    hosts: Hosts,
    options: EmulationOptions,
    report: &mut dyn FnMut(EmulationProgress),
) -> Result<Emulated, EmulateError> {
    let mut running = Running::prepare(scenario, seed, &hosts, &options)?;
    let live = Live::new(scenario, seed, options.trace);
    let mut events = EventLoop::new()?;
    for member in hosts.members() {
        events.add(&member.device, Token(place(member.host) as u64), Interest::Read)?;
    }
    events.wake_by(running.waker(), REPORTS)?;
    events.wake_by(options.stop.waker(), STOP)?;
    let mut bridge = Bridge {
        live,
        hosts: &hosts,
        clock: events.clock(),
        monitor: FlowMonitor::new(
            scenario.measure_from.unwrap_or_default(),
            !scenario.fairness_windows.is_empty(),
        ),
        notes: Vec::new(),
        in_flight: 0,
        buffer: vec![0; MOST_BYTES],
        last: Instant::ZERO,
        lateness: Lateness::default(),
        bound: options.bound,
    };
    debug!(scenario = scenario.name, seed, hosts = hosts.members().len(), "emulation begins");
    running.start(scenario, &hosts, &options.work)?;
    // A command has no time limit.
    let duration = scenario.duration.filter(|_| options.work == Work::Scenario);
    let end = duration.map(|duration| Instant::ZERO + duration);
    let limit =
        if options.work == Work::Scenario { Instant::ZERO + scenario.time_limit } else { Instant::FOREVER };
    let cpu_before = cpu_s();
    let priority = Priority::of_bridge();
    let outcome = bridge.serve(&mut events, &mut running, end.unwrap_or(limit), report);
    drop(priority);
    let cpu = cpu_s() - cpu_before;
    let ending = outcome?;
    let status = running.status;
    if let Some(line) = running.failure() {
        return Err(EmulateError::Failed(line.to_owned()));
    }
    if ending == EndReason::TimeUp && end.is_none() {
        let (name, time_limit) = (&scenario.name, scenario.time_limit);
        return Err(EmulateError::Failed(format!(
            "{name}: not complete after its time limit of {time_limit}; raise time_limit"
        )));
    }
    let (run, realtime) = bridge.finish(cpu, events.wakeups(), |port| running.flow_on_port(port));
    debug!(
        scenario = scenario.name,
        simulated_s = run.result.simulated_s,
        events = run.result.events,
        cpu_s = cpu,
        status,
        "emulation ends"
    );
    Ok(Emulated { run, realtime, status, interrupted: ending == EndReason::Interrupted })
}

struct Bridge<'a> {
    live: Live,
    hosts: &'a Hosts,
    clock: Clock,
    monitor: FlowMonitor,
    /// What the monitor noted of each packet in the network, by the index of its ticket.
    notes: Vec<PacketNote>,
    /// Packets in the network.
    in_flight: usize,
    /// Holds the packet that was read last.
    buffer: Vec<u8>,
    /// Time at which a packet was last sent or delivered.
    last: Instant,
    lateness: Lateness,
    bound: Span,
}

impl Bridge<'_> {
    /// Serves devices and machines until `end`, or until all commands and flows have ended.
    fn serve(
        &mut self,
        events: &mut EventLoop,
        running: &mut Running,
        end: Instant,
        report: &mut dyn FnMut(EmulationProgress),
    ) -> Result<EndReason, EmulateError> {
        let mut over = None;
        let mut reported = Instant::ZERO;
        loop {
            let now = self.clock.now();
            self.advance(now.min(end));
            if running.is_over() {
                over.get_or_insert(now);
            }
            let stop = over.map_or(end, |over| self.grace_end(over).min(end));
            if now >= stop {
                return Ok(if over.is_some() { EndReason::Completed } else { EndReason::TimeUp });
            }
            if now.saturating_since(reported) >= BETWEEN_REPORTS {
                reported = now;
                report(self.progress(now, end));
            }
            let due = self.live.due().map_or(stop, |due| due.min(stop));
            if due > now && !self.sleep(events, running, due)? {
                return Ok(EndReason::Interrupted);
            }
        }
    }

    /// Sleeps until `due` or until there is an event, and handles the events. Returns false if the emulation was
    /// stopped.
    fn sleep(
        &mut self,
        events: &mut EventLoop,
        running: &mut Running,
        due: Instant,
    ) -> Result<bool, EmulateError> {
        for ready in events.wait(Some(due))? {
            match ready.token {
                STOP => return Ok(false),
                REPORTS => running.take_reports(),
                Token(member) => self.read(member as usize).map_err(failed("the bridge"))?,
            }
        }
        Ok(true)
    }

    /// The time at which an emulation whose work ended at `over` may end: no packet is in flight, and none was sent in
    /// answer for a while.
    fn grace_end(&self, over: Instant) -> Instant {
        const TO_ANSWER: Span = Span::from_millis(20);
        const AT_MOST: Span = Span::from_secs(1);
        let quiet = if self.in_flight == 0 { self.last.max(over) + TO_ANSWER } else { Instant::FOREVER };
        quiet.min(over + AT_MOST)
    }

    fn progress(&self, now: Instant, end: Instant) -> EmulationProgress {
        let elapsed = now.saturating_since(Instant::ZERO);
        let share = now.as_secs_f64() / end.as_secs_f64().max(1e-9);
        EmulationProgress { elapsed, share, events: self.live.events() }
    }

    /// Reads the packets that a host's kernel has sent.
    fn read(&mut self, member: usize) -> io::Result<()> {
        let Member { host, device, .. } = &self.hosts.members()[member];
        for _ in 0..BATCH {
            let length = match device.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) => {
                    return match error.kind() {
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
                        // A host's command may bring its own device down.
                        _ if error.raw_os_error() == Some(libc::EIO) => Ok(()),
                        _ => Err(error),
                    };
                }
            };
            self.send(*host, length);
        }
        Ok(())
    }

    /// Passes the packet of `length` bytes in the buffer to the network.
    fn send(&mut self, from: OutsideHost, length: usize) {
        let now = self.clock.now();
        self.advance(now);
        let bytes = &self.buffer[..length];
        let Some(ticket) = destination(bytes).and_then(|to| self.live.send(from, to, bytes)) else { return };
        self.last = now;
        self.in_flight += 1;
        let note = self.monitor.packet_sent(bytes, now);
        if self.notes.len() <= ticket.index() {
            self.notes.resize(ticket.index() + 1, PacketNote::default());
        }
        self.notes[ticket.index()] = note;
        self.deliver();
    }

    fn advance(&mut self, now: Instant) {
        self.live.advance(now);
        self.deliver();
    }

    /// Writes delivered packets to the devices of their destinations.
    fn deliver(&mut self) {
        while let Some(Delivery { node, ticket, at, took, arrived }) = self.live.poll() {
            self.in_flight -= 1;
            self.monitor.packet_ended(self.notes[ticket.index()], arrived, took, at);
            self.last = self.last.max(at);
            if arrived {
                // A host whose device is down, or whose kernel is out of memory, loses the packet, as with any network
                // card.
                let to = self.live.host(node);
                let _ = self.hosts.get(to).device.send(self.live.bytes(ticket));
                self.lateness.add(self.clock.now().saturating_since(at), self.bound);
            }
            self.live.free(ticket);
        }
    }

    fn finish(
        self,
        cpu_s: f64,
        wakeups: u64,
        known: impl Fn(u16) -> Option<KnownFlow>,
    ) -> (airwatt_sim::Run, Realtime) {
        let end = self.live.now();
        let elapsed = end.saturating_since(Instant::ZERO);
        let realtime = Realtime::new(&self.lateness, self.bound, wakeups, elapsed, cpu_s);
        let flows = self.monitor.flows(end, known);
        (self.live.finish(flows), realtime)
    }
}

/// The host to which an IPv4 packet is addressed.
fn destination(bytes: &[u8]) -> Option<OutsideHost> {
    let address: [u8; 4] = bytes.get(16..20)?.try_into().ok()?;
    (bytes[0] >> 4 == 4).then(|| host_at(address.into())).flatten()
}
