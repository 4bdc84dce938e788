//! What each member of a cell hears, where some stations do not hear each other: what is on the air, what of it arrives where, and
//! when each member may contend.
//!
//! In other cells one clock of [`Contention`] and one sum of [`Airborne`] serve all, because all radios hear the same. Here each member
//! has its own of both, and several exchanges may be under way. The rules:
//!
//! * **Carrier sense.** A member is busy while a frame that it hears is on the air, while it sends, while it waits for the response to its
//!   own frame or is to send one, and by NAV (802.11-2020 10.3.2.4). What it has to send because of a frame that ends comes to a busy medium. NAV comes from frames that arrived whole: a station that does not hear an RTS learns of the
//!   exchange from the CTS. The NAV of an RTS ends early if nothing follows.
//! * **Reception.** A receiver stays with the frame whose preamble it had first. The MPDUs of that frame under another one are lost, the others
//!   arrive; the later frame is lost. Frames that begin together are both lost. A member that sends receives nothing. A response
//!   goes out a SIFS behind its frame, whatever else is on the air (10.3.2.11).
//! * **Capture.** Where signals have strengths, a frame to the access point that exceeds the sum of the others by the capture ratio is not
//!   harmed by them, and the access point leaves the frame that it receives for a later one that does.
//! * **EIFS** follows a frame that was heard and broken, at each member that heard it so (10.3.2.3.7). A frame that began while the member
//!   sent itself leaves nothing but a busy medium.
//!
//! A frame of a station that is not heard does not disturb either. The number of overlapping frames is not limited. Left out: propagation delay
//! in carrier sense, and energy detection of frames whose preamble was missed (they count as busy up to their end).

use airwatt_base::{Instant, Span};
use airwatt_energy::Cause;

use crate::media::cell::access::contention::{ContenderId, Contention};
use crate::media::cell::frame::parts::Airborne;
use crate::media::cell::frame::{CellFrameKind, DELIMITER_BYTES, MpduSet};
use crate::media::cell::phy::mode::Mode;
use crate::route::Member;

/// The only access point of the cell.
pub(crate) const ACCESS_POINT: Member = 0;

/// The part of an exchange that is under way until it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It waits a SIFS for its first frame.
    Begin,
    /// The RTS is on the air.
    Rts,
    BeforeCts,
    Cts,
    BeforeData,
    /// The beacon is on the air up to the end of its TIM.
    Tim,
    Data,
    BeforeResponse,
    Response,
    /// Its sender waits for a frame that does not come.
    Timeout,
}

impl Phase {
    /// Whether a frame begins when it is over.
    pub(crate) const fn precedes_frame(self) -> bool {
        matches!(self, Self::Begin | Self::BeforeCts | Self::BeforeData | Self::BeforeResponse)
    }
}

/// How a member receives a frame that it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reception {
    Whole,
    /// Another frame was on the air.
    Broken,
    /// The member sent itself.
    Missed,
}

/// A frame on the air.
#[derive(Clone, Debug)]
pub(crate) struct AirFrame {
    pub(crate) kind: CellFrameKind,
    pub(crate) from: Member,
    /// `None` is the group address.
    pub(crate) to: Option<Member>,
    pub(crate) start: Instant,
    pub(crate) duration: Span,
    /// When it has arrived.
    pub(crate) end: Instant,
    pub(crate) nav: Span,
    /// When a NAV that this frame sets ends if nothing follows, counted from its end.
    pub(crate) nav_reset: Option<Span>,
    /// The signal at the access point in milliwatts.
    pub(crate) signal_mw: f64,
    /// By member.
    reception: Vec<Reception>,
    /// The periods in which its receiver hears something else.
    damage: Vec<(Instant, Instant)>,
}

impl AirFrame {
    pub(crate) fn new(kind: CellFrameKind, [from, to]: [Option<Member>; 2], start: Instant) -> Self {
        Self {
            kind,
            from: from.unwrap_or(ACCESS_POINT),
            to,
            start,
            duration: Span::ZERO,
            end: start,
            nav: Span::ZERO,
            nav_reset: None,
            signal_mw: 1.0,
            reception: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Whether all of it arrives at its receiver, if that is awake.
    pub(crate) fn is_whole(&self) -> bool {
        self.damage.is_empty()
    }

    /// The members that receive it whole.
    fn whole_at(&self) -> Vec<bool> {
        self.reception.iter().map(|reception| *reception == Reception::Whole).collect()
    }

    /// Another frame begins that lies over it until `until` at this member.
    fn disturb(&mut self, member: Member, how: Reception, [from, until]: [Instant; 2]) {
        let reception = &mut self.reception[usize::from(member)];
        // A member that begins to send does not learn whether the frame was broken.
        if *reception == Reception::Whole || how == Reception::Missed {
            *reception = how;
        }
        if self.to == Some(member) {
            self.damage.push((from, until));
        }
    }

    /// Its MPDUs of these lengths that arrive at its receiver: those of which no symbol lies under another frame, if the preamble does not.
    pub(crate) fn intact(&self, &Mode { ref layout, spacing, .. }: &Mode, lengths: &[u32]) -> MpduSet {
        let mut set = MpduSet::default();
        let hit = |from: Span, until: Span| {
            let [from, until] = [self.start + from, self.start + until];
            self.damage.iter().any(|(begins, ends)| *begins < until && *ends > from)
        };
        if hit(Span::ZERO, layout.training()) {
            return set;
        }
        let is_aggregate = lengths.len() > 1;
        let mut before = 0;
        for (place, bytes) in (0..).zip(lengths) {
            let delimiter = if is_aggregate { DELIMITER_BYTES } else { 0 };
            let behind = before + delimiter + bytes;
            let begins = match before {
                0 => layout.training(),
                _ => layout.time_of_first(before) - layout.symbol(),
            };
            if !hit(begins, layout.time_of_first(behind)) {
                set.insert(place);
            }
            before = behind.next_multiple_of(DELIMITER_BYTES).max(before + spacing);
        }
        set
    }
}

/// An exchange under way. Its PPDU is that of the channel with the same index.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) phase: Phase,
    /// When the phase is over.
    pub(crate) due: Instant,
    /// The receiver of its PPDU, which answers; `None` is the group address.
    pub(crate) to: Option<Member>,
    pub(crate) frame: Option<AirFrame>,
    /// When its last frame was over.
    pub(crate) ended: Instant,
    /// How long its sender waited for the channel.
    pub(crate) waited: Span,
    pub(crate) txop_end: Instant,
    /// The MPDUs that have arrived.
    pub(crate) received: MpduSet,
    /// The lengths of its MPDUs, and the bytes of each cause among them, if there are several.
    pub(crate) lengths: Vec<u32>,
    pub(crate) shares: Vec<(Cause, u32)>,
}

/// What one member hears.
#[derive(Clone, Debug)]
struct Listener {
    /// Of all contenders of the cell only those of this member wait here.
    contention: Contention,
    /// The time during which frames that it can receive are on the air.
    air: Airborne,
    /// Number of frames of others that it hears now.
    heard: u32,
    sends_until: Instant,
    nav: Instant,
    /// The time at which the NAV that an RTS set is reset if nothing follows, and the earlier NAV applies again.
    nav_reset: Option<Instant>,
    /// Whether the frame that it heard last was broken.
    broken: bool,
    /// Whether an exchange of its own is under way.
    engaged: bool,
    /// Whether something that kept it busy has ended in the present step.
    released: bool,
}

/// The members of a cell of which some do not hear each other.
#[derive(Clone, Debug)]
pub(crate) struct Hidden {
    /// Whether a member hears another, row by row.
    hears: Vec<bool>,
    listeners: Vec<Listener>,
    /// The members of contenders.
    owners: Vec<Member>,
    exchanges: Vec<Exchange>,
    /// The members that receive the group-addressed frame which has arrived.
    group: Vec<bool>,
    capture_ratio: Option<f64>,
    eifs_less_difs: Span,
}

impl Hidden {
    /// Members of which these pairs do not hear each other. `contention` has the contenders of all, and none of them waits.
    pub(crate) fn new(
        members: usize,
        pairs: &[[Member; 2]],
        contention: &Contention,
        owners: Vec<Member>,
        (capture_ratio, eifs_less_difs): (Option<f64>, Span),
    ) -> Self {
        let mut hears = vec![true; members * members];
        for [one, other] in pairs.iter().map(|pair| pair.map(usize::from)) {
            hears[one * members + other] = false;
            hears[other * members + one] = false;
        }
        let listener = Listener {
            contention: contention.clone(),
            air: Airborne::default(),
            heard: 0,
            sends_until: Instant::ZERO,
            nav: Instant::ZERO,
            nav_reset: None,
            broken: false,
            engaged: false,
            released: false,
        };
        Self {
            hears,
            listeners: vec![listener; members],
            owners,
            exchanges: Vec::new(),
            group: vec![true; members],
            capture_ratio,
            eifs_less_difs,
        }
    }

    fn hears(&self, member: Member, other: Member) -> bool {
        member != other && self.hears[usize::from(member) * self.listeners.len() + usize::from(other)]
    }

    fn members(&self) -> std::ops::Range<Member> {
        0..self.listeners.len() as Member
    }

    /// The contention in which this contender waits.
    pub(crate) fn contention(&mut self, id: ContenderId) -> &mut Contention {
        &mut self.listeners[usize::from(self.owners[id as usize])].contention
    }

    /// The time with frames on the air, as a member hears them.
    pub(crate) fn air(&self, member: Member) -> &Airborne {
        &self.listeners[usize::from(member)].air
    }

    pub(crate) fn exchange(&self, index: usize) -> &Exchange {
        &self.exchanges[index]
    }

    pub(crate) fn exchange_mut(&mut self, index: usize) -> &mut Exchange {
        &mut self.exchanges[index]
    }

    /// Whether the member sends now.
    pub(crate) fn is_sending(&self, member: Member, now: Instant) -> bool {
        self.listeners[usize::from(member)].sends_until > now
    }

    /// Whether a frame is on the air.
    pub(crate) fn is_busy(&self) -> bool {
        self.exchanges.iter().any(|exchange| exchange.frame.is_some())
    }

    /// Whether the member receives the group-addressed frame that has arrived.
    pub(crate) fn gets_group(&self, member: Member) -> bool {
        self.group[usize::from(member)]
    }

    /// When something is to be done next.
    pub(crate) fn due(&self) -> Instant {
        let steps = self.exchanges.iter().map(|exchange| exchange.due);
        let accesses = self.listeners.iter().filter_map(|listener| listener.contention.next_access());
        steps.chain(accesses).min().unwrap_or(Instant::FOREVER)
    }

    /// An exchange whose phase is over by `now`; `begins` says whether a frame begins then.
    pub(crate) fn next_step(&self, begins: bool, now: Instant) -> Option<usize> {
        let is_next = |exchange: &Exchange| exchange.due <= now && exchange.phase.precedes_frame() == begins;
        self.exchanges.iter().position(is_next)
    }

    /// The members that begin to send at `now`: whose backoff is over by then, or so shortly behind (`blind`) that they do not notice the
    /// others. Access points come last.
    pub(crate) fn senders(&self, now: Instant, blind: Span) -> Vec<Member> {
        let is_due = |member: Member, by: Instant| {
            self.listeners[usize::from(member)].contention.next_access().is_some_and(|at| at <= by)
        };
        let first: Vec<Member> = self.members().rev().filter(|member| is_due(*member, now)).collect();
        let follows = |member: Member| {
            is_due(member, now + blind) && first.iter().any(|other| self.hears(member, *other))
        };
        self.members()
            .rev()
            .filter(|member| first.contains(member) || (!first.is_empty() && follows(*member)))
            .collect()
    }

    /// Takes the contenders of a member that begin to send.
    pub(crate) fn access(
        &mut self,
        member: Member,
        now: Instant,
        blind: Span,
        winners: &mut Vec<ContenderId>,
    ) {
        self.listeners[usize::from(member)].contention.access(now, blind, winners);
    }

    /// Adds an exchange of this member, which does not contend until it is over.
    pub(crate) fn add(&mut self, from: Member, exchange: Exchange) {
        self.exchanges.push(exchange);
        self.listeners[usize::from(from)].engaged = true;
    }

    /// Removes an exchange of this member.
    pub(crate) fn remove(&mut self, index: usize, from: Member) {
        self.exchanges.remove(index);
        self.listeners[usize::from(from)].engaged = false;
        self.release(from);
    }

    /// Something that kept the member busy has ended.
    pub(crate) fn release(&mut self, member: Member) {
        self.listeners[usize::from(member)].released = true;
    }

    /// Puts a frame of an exchange on the air.
    pub(crate) fn begin(&mut self, index: usize, mut frame: AirFrame) {
        let now = frame.start;
        frame.reception = vec![Reception::Whole; self.listeners.len()];
        let mut others: Vec<(usize, AirFrame)> = Vec::new();
        for (place, exchange) in self.exchanges.iter_mut().enumerate() {
            others.extend(exchange.frame.take().map(|other| (place, other)));
        }
        let all = others.iter().map(|(_, other)| other).filter(|other| other.from != ACCESS_POINT);
        let all = all.fold(frame.signal_mw, |sum, other| sum + other.signal_mw);
        for (_, other) in &mut others {
            self.overlap(&mut frame, other, all);
        }
        let horizon = others.iter().map(|(_, other)| other.start).fold(now, Instant::min);
        for (place, other) in others {
            self.exchanges[place].frame = Some(other);
        }
        let end = now + frame.duration;
        for member in self.members() {
            let hears = self.hears(member, frame.from);
            let listener = &mut self.listeners[usize::from(member)];
            if member == frame.from {
                listener.sends_until = end;
                listener.broken = false;
            } else if hears {
                listener.heard += 1;
                listener.nav_reset = None;
                listener.air.add_heard(now.max(listener.sends_until), end, horizon);
            } else {
                continue;
            }
            listener.contention.freeze(now);
        }
        self.exchanges[index].frame = Some(frame);
    }

    /// A frame begins while another is on the air. `all` is the sum of the signals of stations at the access point.
    fn overlap(&self, frame: &mut AirFrame, other: &mut AirFrame, all: f64) {
        let [new, old] = [[frame.start, frame.end], [other.start, other.end]];
        let stands = |one: &AirFrame| {
            self.capture_ratio.is_some_and(|ratio| one.signal_mw >= ratio * (all - one.signal_mw))
        };
        let (frame_stands, other_stands) = (stands(frame), stands(other));
        for member in self.members() {
            if member == frame.from {
                if self.hears(member, other.from) {
                    other.disturb(member, Reception::Missed, old);
                }
            } else if member == other.from {
                if self.hears(member, frame.from) {
                    frame.disturb(member, Reception::Missed, new);
                }
            } else if self.hears(member, frame.from) && self.hears(member, other.from) {
                let captures = member == ACCESS_POINT;
                if captures && frame_stands {
                    other.disturb(member, Reception::Broken, old);
                } else {
                    frame.disturb(member, Reception::Broken, new);
                    if !(captures && other_stands) {
                        other.disturb(member, Reception::Broken, [frame.start, frame.end]);
                    }
                }
            }
        }
    }

    /// Takes the frame of an exchange from the air: those who heard it learn what they learn from it.
    pub(crate) fn end(&mut self, index: usize, now: Instant) -> AirFrame {
        let frame = self.exchanges[index].frame.take().expect("a frame is on the air");
        self.exchanges[index].ended = now;
        for member in self.members() {
            if member != frame.from && !self.hears(member, frame.from) {
                continue;
            }
            let reception = frame.reception[usize::from(member)];
            let listener = &mut self.listeners[usize::from(member)];
            if member != frame.from {
                listener.heard -= 1;
                match reception {
                    Reception::Whole => listener.learn(&frame, member, now),
                    Reception::Broken => listener.broken = true,
                    Reception::Missed => {}
                }
            }
            listener.released = true;
        }
        if frame.to.is_none() {
            self.group = frame.whole_at();
        }
        frame
    }

    /// The TIM of a beacon on the air has arrived. Returns when the beacon ends.
    pub(crate) fn note_group(&mut self, index: usize) -> Instant {
        let frame = self.exchanges[index].frame.as_ref().expect("a beacon is on the air");
        self.group = frame.whole_at();
        frame.end
    }

    /// The members that something kept busy until `now` contend from now on, or from the end of NAV or EIFS, if they hear nothing and have
    /// nothing under way. Called once the MACs have learned of what has ended: what they have to send because of it has come to a
    /// busy medium (802.11-2020 10.23.2.2), as where one clock serves all.
    pub(crate) fn settle(&mut self, now: Instant) {
        for member in self.members() {
            if std::mem::take(&mut self.listeners[usize::from(member)].released) && !self.answers(member) {
                self.listeners[usize::from(member)].settle(self.eifs_less_difs, now);
            }
        }
    }

    /// Whether the member answers a frame a SIFS after its end.
    fn answers(&self, member: Member) -> bool {
        let precedes = |phase| matches!(phase, Phase::BeforeCts | Phase::BeforeResponse);
        self.exchanges.iter().any(|exchange| precedes(exchange.phase) && exchange.to == Some(member))
    }
}

impl Listener {
    fn settle(&mut self, eifs_less_difs: Span, now: Instant) {
        if self.heard > 0 || self.engaged || self.sends_until > now {
            return;
        }
        let nav = self.nav_reset.map_or(self.nav, |reset| reset.min(self.nav));
        let eifs = if self.broken { now + eifs_less_difs } else { now };
        self.contention.idle_from(now.max(nav).max(eifs));
    }

    /// A frame has arrived whole.
    fn learn(&mut self, frame: &AirFrame, member: Member, now: Instant) {
        self.broken = false;
        if frame.to == Some(member) {
            return;
        }
        let before = self.nav;
        self.nav = before.max(now + frame.nav);
        self.nav_reset = frame.nav_reset.map(|reset| before.max(now + reset));
    }
}
