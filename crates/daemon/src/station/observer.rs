//! The packets of an interface by flow, a peer's address and a port of this host, as `bpf/station.bpf.c` counts them in the kernel.
//!
//! The program sleeps with everybody else: it wakes the daemon for the first packet that it was [armed](Observer::arm)
//! for, and for no other until it is armed again. Everything else is read when the daemon is awake anyway.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use airwatt_base::{Instant, Span};
use airwatt_linux::clock::Clock;
use airwatt_linux::packet_tap::PacketTap;
use airwatt_proto::powersave::{ArrivalAfterPause, FlowSample, Volume};
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, ProgramType, RingBuffer,
    RingBufferBuilder,
};

use crate::failure::Failure;

/// An object as the linker placed it, aligned as the structures that libbpf reads in it.
#[repr(align(8))]
struct Embedded<T: ?Sized>(T);

static OBJECT: &Embedded<[u8]> = &Embedded(*include_bytes!(concat!(env!("OUT_DIR"), "/station.bpf.o")));

/// Size of `struct key`.
const KEY: usize = 36;
/// Flows that are read in one system call.
const BATCH: u32 = 128;
/// The tails by which time awake is counted: the shortest that is known of a driver's firmware, mac80211's, and a long one.
pub(super) const TAILS: [Span; 3] = [Span::from_millis(20), Span::from_millis(100), Span::from_millis(250)];
/// Buckets of a histogram of delays.
pub(super) const BUCKETS: usize = 80;
const EVENT_ACTIVITY: u32 = 0;
const EVENT_ARRIVAL: u32 = 2;
/// Size of `struct event`.
const EVENT: usize = 72;

/// Delays by bucket: four an octave from 64 µs on.
pub(super) type Histogram = [u64; BUCKETS];

/// What the program counted of all packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) packets: u64,
    /// Time of the last packet; `None` before the first.
    pub(super) last: Option<Instant>,
    /// Time within each of [`TAILS`] after a packet, up to the last packet.
    pub(super) awake: [Span; 3],
    /// Packets of peers after a pause of 0.3 s that want something, before the daemon acted and since.
    pub(super) unasked: [u64; PERIODS],
}

/// What a time counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Booked {
    /// The time before the daemon acts.
    Before,
    /// That with it.
    With,
    /// That in which another program has the setting, and nothing.
    Aside,
}

/// The number of them.
pub(super) const PERIODS: usize = 3;

/// A kind of request of this host that is one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A datagram after a pause, until the first one that comes back, as DNS has it.
    Udp,
    /// An echo request, until its reply.
    Ping,
    /// A SYN, until what answers it.
    Handshake,
}

/// The number of them.
pub(super) const REQUESTS: usize = 3;

impl Request {
    /// Every kind, in the order of the program.
    pub(super) const ALL: [Self; REQUESTS] = [Self::Udp, Self::Ping, Self::Handshake];
}

/// The times of each [`Request`] whose radio was awake when it began, and asleep.
pub(super) type RequestTimes = [[Histogram; 2]; REQUESTS];

/// Histograms by [`Booked`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Histograms {
    /// Round trips of this host.
    pub(super) delays: [Histogram; PERIODS],
    /// How much longer peers' packets after a pause took than their quickest ones.
    pub(super) waits: [Histogram; PERIODS],
    /// Those of the round trips that are requests.
    pub(super) requests: [RequestTimes; PERIODS],
}

/// What the daemon asks of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orders {
    /// The pause between two episodes of a flow.
    pub(super) pause: Span,
    /// Whether the next packet that is wanted wakes the daemon.
    pub(super) armed: bool,
    /// The period that delays count for.
    pub(super) booked: Booked,
    /// Whether power save is on.
    pub(super) saves: bool,
}

/// Something that the program reported.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A packet that the daemon was to be woken for.
    Activity(Instant),
    /// A packet of a peer after a silence of half a second in power save.
    AfterSilence(Instant),
    /// A packet of a peer after a pause of its flow, and whether power save was on. Whether it waited is not known here.
    Arrival(ArrivalAfterPause, bool),
}

/// A flow as it was read last.
#[derive(Clone, Copy)]
struct Known {
    number: u64,
    sent: Volume,
    received: Volume,
    last: Instant,
    is_wanted: bool,
}

/// The program at work.
pub(super) struct Observer {
    // The tap is closed before the program.
    tap: Option<PacketTap>,
    object: Object,
    flows: MapHandle,
    wakes: MapHandle,
    control: MapHandle,
    totals: MapHandle,
    delays: MapHandle,
    waits: MapHandle,
    asked: MapHandle,
    events: MapHandle,
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<[u8; EVENT]>>>,
    clock: Clock,
    known: BTreeMap<[u8; KEY], Known>,
    next: u64,
}

fn missing(error: impl std::fmt::Display) -> Failure {
    Failure::Missing(format!("counting packets in the kernel (eBPF): {error}"))
}

impl Observer {
    /// Loads the program. Needs `CAP_BPF`, or `CAP_SYS_ADMIN` before Linux 5.8.
    pub(super) fn load(clock: Clock) -> Result<Self, Failure> {
        libbpf_rs::set_print(None);
        let mut open = ObjectBuilder::default().open_memory(&OBJECT.0).map_err(missing)?;
        for mut program in open.progs_mut() {
            program.set_prog_type(ProgramType::SocketFilter);
        }
        let object = OpenObject::load(open).map_err(missing)?;
        let map = |name: &str| {
            let map = object.maps().find(|map| map.name() == name).expect("the object has these maps");
            MapHandle::try_from(&map).map_err(missing)
        };
        let (flows, wakes, control) = (map("flows")?, map("wakes")?, map("control")?);
        let (totals, delays, waits) = (map("totals")?, map("delays")?, map("waits")?);
        let (asked, events) = (map("asked")?, map("events")?);
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&arrived);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&events, move |bytes: &[u8]| {
                sink.borrow_mut().extend(bytes.first_chunk::<EVENT>());
                0
            })
            .map_err(missing)?;
        let ring = builder.build().map_err(missing)?;
        let known = BTreeMap::new();
        Ok(Self {
            tap: None,
            object,
            flows,
            wakes,
            control,
            totals,
            delays,
            waits,
            asked,
            events,
            ring,
            arrived,
            clock,
            known,
            next: 0,
        })
    }

    /// Observes this interface from now on, and no other.
    pub(super) fn attach(&mut self, index: u32) -> Result<(), Failure> {
        self.tap = None;
        let program = self.object.progs().next().expect("the object has a program");
        self.tap = Some(PacketTap::attach(program.as_fd(), index)?);
        Ok(())
    }

    /// Gives the program new orders.
    pub(super) fn arm(&self, orders: Orders) -> Result<(), Failure> {
        let mut bytes = Vec::with_capacity(48);
        for word in [orders.pause.as_nanos()].into_iter().chain(TAILS.map(Span::as_nanos)) {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        for word in [u32::from(orders.armed), orders.booked as u32, u32::from(orders.saves), 0] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        self.control.update(&0_u32.to_ne_bytes(), &bytes, MapFlags::ANY).map_err(missing)
    }

    /// Returns what the program has reported, without waiting.
    pub(super) fn events(&mut self) -> Result<Vec<Event>, Failure> {
        self.ring.consume().map_err(missing)?;
        let arrived = std::mem::take(&mut *self.arrived.borrow_mut());
        Ok(arrived.iter().map(|bytes| self.event(bytes)).collect())
    }

    fn event(&mut self, bytes: &[u8; EVENT]) -> Event {
        let at = self.clock.at_monotonic_ns(word(bytes, 0));
        match half(bytes, 8) {
            EVENT_ACTIVITY => Event::Activity(at),
            EVENT_ARRIVAL => {
                let key = *bytes[32..].first_chunk().expect("the key is last");
                let (pause, silence) = (word(bytes, 16), word(bytes, 24));
                let (pause, silence) = (Span::from_nanos(pause), Span::from_nanos(silence));
                let peer = self.number_of(key, at);
                let has_sent = half(bytes, 68) != 0;
                let arrival = ArrivalAfterPause { peer, at, pause, silence, waited: None, has_sent };
                Event::Arrival(arrival, half(bytes, 12) != 0)
            }
            _ => Event::AfterSilence(at),
        }
    }

    /// The number of a flow, which may not have been read yet.
    fn number_of(&mut self, key: [u8; KEY], at: Instant) -> u64 {
        let (zero, next) = (Volume::default(), self.next + 1);
        let fresh = Known { number: next, sent: zero, received: zero, last: at, is_wanted: true };
        let known = self.known.entry(key).or_insert(fresh);
        self.next = self.next.max(known.number);
        known.number
    }

    /// Returns the packets of each flow since the last call.
    pub(super) fn read(&mut self) -> Result<Vec<FlowSample>, Failure> {
        let entries = self.flows.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY).map_err(missing)?;
        let entries: Vec<([u8; KEY], Vec<u8>)> =
            entries.filter_map(|(key, value)| Some((key.try_into().ok()?, value))).collect();
        let mut known = std::mem::take(&mut self.known);
        let mut samples = Vec::new();
        for (key, value) in entries {
            let time = |at| self.clock.at_monotonic_ns(word(&value, at));
            let volume = |at| Volume { packets: word(&value, at), bytes: word(&value, at + 8) };
            let (episode, last, sent, received) = (time(0), time(8), volume(16), volume(32));
            let before = known.remove(&key).filter(|before| before.sent.packets <= sent.packets);
            let before = before.unwrap_or_else(|| {
                self.next += 1;
                let zero = Volume::default();
                Known { number: self.next, sent: zero, received: zero, last: episode, is_wanted: true }
            });
            let since = |now: Volume, before: Volume| Volume {
                packets: now.packets.saturating_sub(before.packets),
                bytes: now.bytes.saturating_sub(before.bytes),
            };
            let sample = FlowSample {
                flow: before.number,
                peer: before.number,
                dscp: half(&value, 64) as u8,
                sent: since(sent, before.sent),
                received: since(received, before.received),
                // Before a pause the packets are those of the last reading, so their first one is unknown.
                first: episode.max(before.last),
                last,
            };
            if sample.sent.packets + sample.received.packets > 0 {
                samples.push(sample);
            }
            self.known.insert(key, Known { sent, received, last, ..before });
        }
        samples.sort_by_key(|sample| (sample.last, sample.flow));
        Ok(samples)
    }

    /// Asks to be woken for the packets of those flows alone, by number, that are wanted.
    pub(super) fn want(&mut self, is_wanted: impl Fn(u64) -> bool) -> Result<(), Failure> {
        for (key, flow) in &mut self.known {
            let wanted = is_wanted(flow.number);
            if wanted != flow.is_wanted {
                flow.is_wanted = wanted;
                let wake = u32::from(!wanted);
                self.wakes.update(key, &wake.to_ne_bytes(), MapFlags::ANY).map_err(missing)?;
            }
        }
        Ok(())
    }

    /// Returns what was counted of all packets.
    pub(super) fn totals(&self) -> Result<Totals, Failure> {
        let value = self.totals.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(missing)?;
        let value = value.unwrap_or_default();
        if value.len() < 72 {
            return Err(missing("the totals have another form"));
        }
        Ok(Totals {
            packets: word(&value, 0),
            last: Some(word(&value, 16)).filter(|at| *at > 0).map(|at| self.clock.at_monotonic_ns(at)),
            awake: [24, 32, 40].map(|at| Span::from_nanos(word(&value, at))),
            unasked: [48, 56, 64].map(|at| word(&value, at)),
        })
    }

    /// Returns what was timed.
    pub(super) fn histograms(&self) -> Result<Histograms, Failure> {
        let read = |map: &MapHandle| -> Result<[Histogram; PERIODS], Failure> {
            let mut histograms = [[0; BUCKETS]; PERIODS];
            for (index, count) in histograms.iter_mut().flatten().enumerate() {
                let key = (index as u32).to_ne_bytes();
                let value = map.lookup(&key, MapFlags::ANY).map_err(missing)?;
                *count = value.map_or(0, |value| word(&value, 0));
            }
            Ok(histograms)
        };
        let mut requests = [[[[0; BUCKETS]; 2]; REQUESTS]; PERIODS];
        for (index, histogram) in requests.iter_mut().flatten().flatten().enumerate() {
            let value = self.asked.lookup(&(index as u32).to_ne_bytes(), MapFlags::ANY).map_err(missing)?;
            let value = value.unwrap_or_default();
            for (count, bytes) in histogram.iter_mut().zip(value.chunks_exact(8)) {
                *count = word(bytes, 0);
            }
        }
        Ok(Histograms { delays: read(&self.delays)?, waits: read(&self.waits)?, requests })
    }
}

/// Readable when the program has reported something that wakes.
impl AsFd for Observer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The upper end of a bucket in seconds.
pub(super) fn bucket_end_s(index: usize) -> f64 {
    let quarter = |index: usize| 64e-6 * f64::from(1_u32 << (index / 4)) * (1.0 + (index % 4) as f64 / 4.0);
    quarter(index)
}

#[cfg(test)]
mod tests;
