//! What power save does to a flow, by its marks and the pauses before its packets.
//!
//! A flow is what a [peer](FlowSample::peer) and a service of this host exchange, both directions together and over whatever connections: a
//! monitor that opens a new one for each question is one flow. A packet that arrives after a pause may find the radio
//! asleep. The flow counts the pauses before its packets, and the [tail](super::tail) of the radio says which of them are long
//! enough for that.
//!
//! * **Unharmed**: hardly any packet would wait.
//! * **Asking**: packets after pauses of up to [`LatencyGuardConfig::answer`] would wait. These are answers to this host, or
//!   the next request of a program that works without a pause.
//! * **Asked**: packets after longer pauses would wait, as from somebody who types at the other end, and it is
//!   [worth its cost](super::reach) to be within reach of them.
//! * **Streamed**: its server [sets the pace](Flow::is_streamed) and this host has nothing to say, as with radio and video in blocks, which a
//!   player buffers. Between the blocks power save has its way.
//! * **Background**: its code point says that nobody waits (RFC 4594, RFC 8622).
//!
//! Left out: what ports and names of protocols mean, which is little since most traffic is encrypted and on port 443; whether anybody
//! waits for what comes at no regular times; and streams whose blocks come within two round trips, which look like a window of TCP.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

use super::LatencyGuardConfig;
use super::reach::{Pauses, ReachWindow};
use super::tail::{CLASSES, Tail, class_of, end_of};

/// Packets of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Volume {
    /// Number of packets.
    pub packets: u64,
    /// Their length in bytes, with IP headers.
    pub bytes: u64,
}

/// The packets of one flow since it was sampled last: one packet in a simulation, many on a device that counts in the
/// kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Number of the flow, the same for both directions. A peer that opens a connection for each question has many.
    pub flow: u64,
    /// Number of the other host's address and this host's port together, by which the guard knows flows again: a new connection to a
    /// service has the number of the one before it. What this host opens has a port of its own, and so a number of its own.
    pub peer: u64,
    /// Differentiated services code point of its packets (RFC 2474).
    pub dscp: u8,
    /// Packets sent by this host.
    pub sent: Volume,
    /// Packets received by this host.
    pub received: Volume,
    /// Time of the first of them.
    pub first: Instant,
    /// Time of the last of them.
    pub last: Instant,
}

impl FlowSample {
    /// Bytes of both directions.
    pub const fn bytes(&self) -> u64 {
        self.sent.bytes + self.received.bytes
    }
}

/// A packet that arrived after a pause of its flow, as power save sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalAfterPause {
    /// Number of the [peer](FlowSample::peer).
    pub peer: u64,
    /// When it arrived.
    pub at: Instant,
    /// Time since the packet of this peer before it, in either direction.
    pub pause: Span,
    /// Time since the packet of any flow before it.
    pub silence: Span,
    /// Whether it came with a beacon, so that it had waited for one; `None` if that is not known.
    pub waited: Option<bool>,
    /// Whether this host has sent more than [acknowledgements](ACKNOWLEDGEMENT) since the last packet of the peer that is more.
    pub has_sent: bool,
}

/// Length in bytes up to which a packet counts as an acknowledgement: that of TCP over IPv6 with time stamps and one SACK block. The
/// shortest packet of an SSH session has 88 bytes.
pub const ACKNOWLEDGEMENT: u64 = 84;

/// What power save does to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowClass {
    /// As far as is known, its packets do not wait for the radio.
    Unharmed,
    /// Answers to this host would come after the radio has fallen asleep.
    Asking,
    /// Packets that its peer sends after a pause would wait, and reach is worth its cost.
    Asked,
    /// Sent at the pace of its server, in blocks that a player buffers.
    Streamed,
    /// Marked as less important than all else.
    Background,
}

impl FlowClass {
    /// The name, as documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unharmed => "unharmed",
            Self::Asking => "asking",
            Self::Asked => "asked",
            Self::Streamed => "streamed",
            Self::Background => "background",
        }
    }
}

/// CS1 (RFC 4594) and lower effort (RFC 8622).
const BACKGROUND_DSCP: [u8; 2] = [8, 1];

/// After a silence of this length a packet of a peer counts as unsolicited.
pub(super) const PAUSE: Span = Span::from_secs(2);
/// Pauses before answers that are remembered; more halve what was counted.
const PAUSES: u32 = 192;
/// Pauses of its own after which a flow needs nothing of the flow before it.
const ENOUGH: u32 = 4;
/// Packets after which power save is tried for one, the first time; each trial doubles them, up to a limit.
const TRIAL: u32 = 512;
const TRIAL_MAX: u32 = 16_384;

/// The shortest pause between blocks of a stream. Within a block packets may be as far apart as a slow line needs for each.
const BLOCKS_APART: Span = Span::from_millis(50);
/// The latest blocks and answers by which a stream is recognised, and how many of them may be answers.
const BLOCKS: usize = 16;
const BLOCKS_ASKED: usize = 1;
/// How many of them have to come after half to twice the middle pause. Of random ones fewer than half do.
const BLOCKS_REGULAR: usize = 12;
/// How many times as much a stream brings as this host sends. An acknowledgement of 52 bytes for each two full segments is a 57th.
const ONE_SIDED: u64 = 8;
/// Bytes after which those that were counted before count half.
const VOLUME: u64 = 1 << 18;

/// When the station has to be reached after a packet of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hold {
    /// For answers: the radio is awake for this time.
    pub(super) answer: Span,
    /// For what the peer sends unasked: the radio is reached within the bound.
    pub(super) reach: Option<ReachWindow>,
}

/// The time in which the station is within reach for a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduled {
    pub(super) from: Instant,
    pub(super) to: Instant,
}

/// A flow that is observed.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) number: u64,
    background: bool,
    pub(super) last: Instant,
    /// Pauses before packets that arrived, by class.
    pauses: [u8; CLASSES],
    /// Pauses longer than those before answers, and others before packets that are none.
    long: Pauses,
    /// The latest answers (`None`) and pauses before blocks for which this host did not ask.
    blocks: VecDeque<Option<Span>>,
    streamed: bool,
    /// The shortest time in which an answer came.
    round_trip: Option<Span>,
    /// Bytes that were sent and received lately.
    sent: u64,
    received: u64,
    hold: Hold,
    /// For how long a flow of this interface needed an awake radio, until this one has shown what it needs.
    inherited: Span,
    /// Packets since power save was tried last, and those after which it is tried until the next packet arrives.
    untried: u32,
    trial: u32,
    /// Its next time within reach, or the present one.
    pub(super) scheduled: Option<Scheduled>,
}

impl Flow {
    pub(super) fn new(sample: &FlowSample, inherited: Span) -> Self {
        Self {
            number: sample.peer,
            background: BACKGROUND_DSCP.contains(&sample.dscp),
            last: sample.first,
            pauses: [0; CLASSES],
            long: Pauses::default(),
            blocks: VecDeque::new(),
            streamed: false,
            round_trip: None,
            sent: 0,
            received: 0,
            hold: Hold { answer: inherited, reach: None },
            inherited,
            untried: 0,
            trial: TRIAL,
            scheduled: None,
        }
    }

    pub(super) fn class(&self) -> FlowClass {
        if self.background {
            FlowClass::Background
        } else if self.streamed {
            FlowClass::Streamed
        } else if self.hold.reach.is_some() {
            FlowClass::Asked
        } else if !self.hold.answer.is_zero() {
            FlowClass::Asking
        } else {
            FlowClass::Unharmed
        }
    }

    /// When the station has to be reached after its last packet.
    pub(super) fn hold(&self) -> Hold {
        let exempt = self.background || self.untried >= self.trial;
        if exempt { Hold::default() } else { self.hold }
    }

    /// What it has learned for other flows of the interface: how long their answers need an awake radio.
    pub(super) fn taught(&self) -> Option<Span> {
        (self.remembered() >= ENOUGH && !self.streamed).then_some(self.hold.answer)
    }

    fn remembered(&self) -> u32 {
        self.pauses.iter().map(|count| u32::from(*count)).sum()
    }

    /// Adds a sample. What this host sends after a long pause ends the pause, and gains nothing by reach.
    pub(super) fn add(&mut self, sample: &FlowSample, config: &LatencyGuardConfig) {
        let pause = sample.first.saturating_since(self.last);
        if sample.received.packets == 0 && pause > config.answer {
            self.long.sent(pause, sample.first);
        }
        self.last = self.last.max(sample.last);
        self.sent += sample.sent.bytes;
        self.received += sample.received.bytes;
        if self.sent + self.received > VOLUME {
            (self.sent, self.received) = (self.sent / 2, self.received / 2);
        }
        self.background = BACKGROUND_DSCP.contains(&sample.dscp);
    }

    /// Adds a packet that arrived after a pause of this class, and may have waited at the access point for a time of `waited`.
    pub(super) fn arrived(
        &mut self,
        class: usize,
        waited: Span,
        arrival: &ArrivalAfterPause,
        config: &LatencyGuardConfig,
    ) {
        self.untried += 1;
        if self.untried > self.trial {
            (self.untried, self.trial) = (0, TRIAL_MAX.min(self.trial * 2));
        }
        let is_block = self.is_block(arrival, waited);
        if arrival.has_sent || is_block {
            self.blocks.push_back(is_block.then_some(arrival.pause));
            self.blocks.drain(..self.blocks.len().saturating_sub(BLOCKS));
        }
        if arrival.has_sent && waited.is_zero() {
            self.round_trip = Some(self.round_trip.map_or(arrival.pause, |least| least.min(arrival.pause)));
        }
        let is_streamed = self.is_streamed();
        if is_streamed != self.streamed {
            (self.streamed, self.long) = (is_streamed, Pauses::default());
        }
        if self.streamed && self.untried.is_multiple_of(BLOCKS as u32) {
            // How the stream began, with a handshake and in slow start, is not how it goes on.
            self.forget();
        }
        if is_block && self.streamed {
            return;
        }
        if is_block || arrival.pause.saturating_sub(waited) > config.answer {
            self.long.arrived(arrival.pause, waited, arrival.silence, arrival.at);
        }
        if is_block {
            return;
        }
        self.pauses[class] = self.pauses[class].saturating_add(1);
        if self.remembered() > PAUSES {
            self.forget();
        }
    }

    /// Notes whether a packet that would have waited did so within reach all the same, as where a busy host switches too late. It is handed
    /// in before [`Self::arrived`].
    pub(super) fn tried(&mut self, arrival: &ArrivalAfterPause, config: &LatencyGuardConfig) {
        let in_window = self.scheduled.is_some_and(|window| window.from <= arrival.at);
        if let Some(waited) = arrival.waited.filter(|_| in_window && arrival.pause > config.answer) {
            self.long.tried(waited);
        }
    }

    /// Has the pauses until now count half.
    fn forget(&mut self) {
        self.pauses.iter_mut().for_each(|count| *count /= 2);
    }

    /// Whether this host has not asked for a packet: neither by data nor, if it comes later than a round trip after the packet
    /// before it, by an acknowledgement that has let the peer send more.
    fn is_block(&self, arrival: &ArrivalAfterPause, waited: Span) -> bool {
        let waited = if self.streamed { Span::ZERO } else { waited };
        let is_apart = arrival.pause.saturating_sub(waited) >= self.blocks_apart();
        is_apart && !arrival.has_sent && self.is_one_sided()
    }

    fn blocks_apart(&self) -> Span {
        self.round_trip.map_or(BLOCKS_APART, |least| BLOCKS_APART.max(least * 2))
    }

    /// Whether the peer has far more to say than this host.
    const fn is_one_sided(&self) -> bool {
        self.received >= self.sent.saturating_mul(ONE_SIDED)
    }

    /// Whether the peer sends at its own pace, which was regular when power save had not delayed it yet.
    fn is_streamed(&self) -> bool {
        let mut pauses: Vec<Span> = self.blocks.iter().copied().flatten().collect();
        let is_silent = self.blocks.len() == BLOCKS && pauses.len() + BLOCKS_ASKED >= BLOCKS;
        if !is_silent || !self.is_one_sided() {
            return false;
        }
        pauses.sort_unstable();
        let middle = pauses[pauses.len() / 2];
        let regular = pauses.iter().filter(|pause| (middle / 2..=middle * 2).contains(pause)).count();
        self.streamed || regular >= BLOCKS_REGULAR
    }

    /// Finds out what the flow needs, by the pauses before its packets and by the tail of the radio.
    pub(super) fn decide(&mut self, tail: &Tail, config: &LatencyGuardConfig) {
        let last = class_of(config.answer).unwrap_or(0);
        let inherited = if self.remembered() < ENOUGH { self.inherited } else { Span::ZERO };
        let answer = self.answers(last + 1, tail).max(inherited);
        self.hold = if self.streamed {
            Hold { answer: answer.min(self.blocks_apart()), reach: None }
        } else {
            Hold { answer, reach: self.long.window(tail, config, self.hold.reach.is_some()) }
        };
    }

    /// The time after which nearly all packets have come, of those after pauses of the first classes; zero if hardly any of them waits for a
    /// radio in power save. An exchange has several answers, of which none may wait.
    fn answers(&self, classes: usize, tail: &Tail) -> Span {
        let count = |class: usize| u32::from(self.pauses[class]);
        let total: u32 = (0..classes).map(count).sum();
        let late: u32 = (0..classes).filter(|class| tail.waits(*class) == Some(true)).map(count).sum();
        if late == 0 || late * PAUSES < total {
            return Span::ZERO;
        }
        let mut beyond = 0;
        let last = (0..classes).rev().find(|class| {
            beyond += count(*class);
            beyond * PAUSES > total
        });
        last.map_or(Span::ZERO, end_of)
    }
}
