//! What power save does to a flow, by its marks and the pauses before its packets.
//!
//! A flow is a connection or a pair of endpoints, both directions together. A packet that arrives after a pause may find the radio
//! asleep. The flow counts the pauses before its packets, and the [tail](super::tail) of the radio says which of them are long
//! enough for that.
//!
//! * **Unharmed**: hardly any packet would wait.
//! * **Asking**: packets after pauses of up to [`LatencyGuardConfig::answer`] would wait. These are answers to this host, or
//!   the next request of a program that works without a pause.
//! * **Asked**: packets after longer pauses would wait, as from somebody who types at the other end.
//! * **Background**: its code point says that nobody waits (RFC 4594, RFC 8622).
//!
//! Left out: ports and names of protocols, which say little since most traffic is encrypted and on port 443; and whether anybody
//! waits. A player that has buffered seconds of a stream gets its blocks within the bound like everybody else.

use airwatt_base::{Instant, Span};

use super::LatencyGuardConfig;
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
    /// Number of the flow, the same for both directions.
    pub flow: u64,
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
pub struct Arrival {
    /// Number of the flow.
    pub flow: u64,
    /// When it arrived.
    pub at: Instant,
    /// Time since the packet of this flow before it, in either direction.
    pub pause: Span,
    /// Time since the packet of any flow before it.
    pub silence: Span,
    /// Whether it came with a beacon, so that it had waited for one; `None` if that is not known.
    pub waited: Option<bool>,
}

/// What power save does to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowClass {
    /// As far as is known, its packets do not wait for the radio.
    Unharmed,
    /// Answers to this host would come after the radio has fallen asleep.
    Asking,
    /// Packets that its peer sends after a pause would wait.
    Asked,
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
            Self::Background => "background",
        }
    }
}

/// CS1 (RFC 4594) and lower effort (RFC 8622).
const BACKGROUND_DSCP: [u8; 2] = [8, 1];

/// After a silence of this length a packet of a peer counts as unsolicited.
pub(super) const PAUSE: Span = Span::from_secs(2);
/// One packet in this many that a peer sends unasked may wait. An exchange has several answers, of which none may.
const MAY_WAIT: u32 = 32;
/// Pauses that are remembered; more halve what was counted.
const PAUSES: u32 = 192;
/// Late packets after a long pause from which on the flow counts as asked. A packet that ends a connection comes once.
const ASKED: u32 = 2;
/// Pauses of its own after which a flow needs nothing of the flow before it.
const ENOUGH: u32 = 4;
/// Packets after which power save is tried for one, the first time; each trial doubles them, up to a limit.
const TRIAL: u32 = 512;
const TRIAL_MAX: u32 = 16_384;

/// For how long after a packet of a flow the station has to be reached at once, or soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hold {
    /// For answers: the radio is awake.
    pub(super) answer: Span,
    /// For what the peer sends unasked: the radio is reached within the bound.
    pub(super) reach: Span,
}

/// A flow that is observed.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) number: u64,
    background: bool,
    pub(super) last: Instant,
    /// Pauses before packets that arrived, by class.
    pauses: [u8; CLASSES],
    hold: Hold,
    /// What a flow of this interface needed, until this one has shown what it needs.
    inherited: Hold,
    /// Packets since power save was tried last, and those after which it is tried until the next packet arrives.
    untried: u32,
    trial: u32,
}

impl Flow {
    pub(super) fn new(sample: &FlowSample, inherited: Hold) -> Self {
        Self {
            number: sample.flow,
            background: BACKGROUND_DSCP.contains(&sample.dscp),
            last: sample.first,
            pauses: [0; CLASSES],
            hold: inherited,
            inherited,
            untried: 0,
            trial: TRIAL,
        }
    }

    pub(super) fn class(&self) -> FlowClass {
        if self.background {
            FlowClass::Background
        } else if !self.hold.reach.is_zero() {
            FlowClass::Asked
        } else if !self.hold.answer.is_zero() {
            FlowClass::Asking
        } else {
            FlowClass::Unharmed
        }
    }

    /// For how long it keeps the station within reach after its last packet.
    pub(super) fn hold(&self) -> Hold {
        let exempt = self.background || self.untried >= self.trial;
        if exempt { Hold::default() } else { self.hold }
    }

    /// What it has learned for other flows of the interface.
    pub(super) fn taught(&self) -> Option<Hold> {
        (self.remembered() >= ENOUGH).then_some(Hold { reach: Span::ZERO, ..self.hold })
    }

    fn remembered(&self) -> u32 {
        self.pauses.iter().map(|count| u32::from(*count)).sum()
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, sample: &FlowSample) {
        self.last = self.last.max(sample.last);
        self.background = BACKGROUND_DSCP.contains(&sample.dscp);
    }

    /// Adds a packet that arrived after a pause of this class.
    pub(super) fn arrived(&mut self, class: usize) {
        self.untried += 1;
        if self.untried > self.trial {
            (self.untried, self.trial) = (0, TRIAL_MAX.min(self.trial * 2));
        }
        self.pauses[class] = self.pauses[class].saturating_add(1);
        if self.remembered() > PAUSES {
            self.pauses.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// Finds out what the flow needs, by the pauses before its packets and by the tail of the radio.
    pub(super) fn decide(&mut self, tail: &Tail, config: &LatencyGuardConfig) {
        let limit = |span: Span| class_of(span).unwrap_or(0);
        let (answers, all) = (0..limit(config.answer) + 1, 0..limit(config.hold) + 1);
        let reach = self.cover(answers.end.min(all.end)..all.end, tail, ASKED, MAY_WAIT);
        let answer = self.cover(answers, tail, 1, PAUSES);
        let inherited = if self.remembered() < ENOUGH { self.inherited.answer } else { Span::ZERO };
        self.hold = Hold { answer: answer.max(inherited), reach };
    }

    /// The time after which all but one packet in `rest` has come, of those after pauses of these classes; zero if hardly any of
    /// them waits for a radio in power save, or fewer than `least`.
    fn cover(&self, classes: std::ops::Range<usize>, tail: &Tail, least: u32, rest: u32) -> Span {
        let count = |class: usize| u32::from(self.pauses[class]);
        let total: u32 = classes.clone().map(count).sum();
        let late: u32 = classes.clone().filter(|class| tail.waits(*class) == Some(true)).map(count).sum();
        if late < least || late * rest < total {
            return Span::ZERO;
        }
        let mut beyond = 0;
        let last = classes.rev().find(|class| {
            beyond += count(*class);
            beyond * rest > total
        });
        last.map_or(Span::ZERO, end_of)
    }
}
