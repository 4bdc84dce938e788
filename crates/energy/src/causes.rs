//! What a radio's time was spent on: the same nanoseconds as in its [`Ledger`], divided by cause instead of by state only.
//!
//! Every nanosecond has one cause. Of several that could be named, the first in this list is charged:
//! 1. A radio that sleeps does so for [`Cause::Doze`], one that falls asleep or wakes up for [`Cause::WakeUp`], and one that is on
//!    other channels for [`Cause::Scan`].
//! 2. A frame that the radio sends, or that is addressed to it, and what answers it (RTS, CTS, ACK, in both directions):
//!    [`Cause::Retransmission`] if it is an attempt after the first, else what it carries: a packet of a flow
//!    ([`Cause::Flow`], [`Cause::Tunnel`], [`Cause::External`]), a trigger, PS-Poll or Null frame ([`Cause::Service`]), a beacon of the own access
//!    point ([`Cause::Beacon`]) or a group-addressed frame ([`Cause::Group`]). A segment that TCP sends again is a packet of its flow.
//! 3. Frames of others, frames that nobody could receive, and frames of which the radio has missed the beginning:
//!    [`Cause::Overhearing`].
//! 4. Silence between the frames of an own exchange, and while a frame of the station waits for the medium: [`Cause::Contention`].
//! 5. Other silence goes to what the radio was awake for: an open service period or the answer to a PS-Poll
//!    ([`Cause::Service`]), a beacon that is due ([`Cause::Beacon`]), the time without traffic after which it
//!    falls asleep ([`Cause::TimeoutTail`]), and otherwise [`Cause::Idle`].
//!
//! Durations are integers, so that the causes of each state add up to the ledger to the nanosecond ([`Causes::check`]).

use std::collections::BTreeMap;

use airwatt_base::{Energy, Instant, Span};

use crate::ledger::Ledger;
use crate::radio::Radio;
use crate::state::RadioState;

#[cfg(test)]
mod tests;

/// Why a radio was in its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It slept.
    Doze,
    /// It fell asleep or woke up.
    WakeUp,
    /// Beacons of its access point, and the time awake before they come.
    Beacon,
    /// Group-addressed frames.
    Group,
    /// Triggers, PS-Polls and Null frames, and silence in service periods.
    Service,
    /// Waiting for the medium with a frame to send, and the gaps within an exchange.
    Contention,
    /// Frames of others.
    Overhearing,
    /// Attempts after the first.
    Retransmission,
    /// The time without traffic after which a policy lets the radio sleep.
    TimeoutTail,
    /// Scans: the time on other channels.
    Scan,
    /// Silence for which nothing else is a cause.
    Idle,
    /// Datagrams of a tunnel, in which packets of several flows are.
    Tunnel,
    /// Packets that belong to no flow, as those of a host outside.
    External,
    /// Packets of the flow with this number.
    Flow(u32),
}

/// Number of causes other than flows.
const FIXED: usize = 13;

impl Cause {
    /// Every cause other than flows, in the order of the results.
    pub(crate) const FIXED: [Self; FIXED] = [
        Self::Doze,
        Self::WakeUp,
        Self::Beacon,
        Self::Group,
        Self::Service,
        Self::Contention,
        Self::Overhearing,
        Self::Retransmission,
        Self::TimeoutTail,
        Self::Scan,
        Self::Idle,
        Self::Tunnel,
        Self::External,
    ];

    const fn index(self) -> Option<usize> {
        match self {
            Self::Doze => Some(0),
            Self::WakeUp => Some(1),
            Self::Beacon => Some(2),
            Self::Group => Some(3),
            Self::Service => Some(4),
            Self::Contention => Some(5),
            Self::Overhearing => Some(6),
            Self::Retransmission => Some(7),
            Self::TimeoutTail => Some(8),
            Self::Scan => Some(9),
            Self::Idle => Some(10),
            Self::Tunnel => Some(11),
            Self::External => Some(12),
            Self::Flow(_) => None,
        }
    }
}

/// Durations by state.
type Spent = [Span; RadioState::ALL.len()];

/// The time of one radio by cause and state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    fixed: [Spent; FIXED],
    /// The flows that had a frame, by number: few of a station in a scenario, thousands in a capture.
    flows: Vec<(u32, Spent)>,
    /// The place of the last flow in `flows`.
    last: usize,
    /// The part of [`Cause::TimeoutTail`] that came after a packet of a flow, by number of the flow.
    tails: BTreeMap<u32, Span>,
}

impl Causes {
    /// Charges `span` in `state` to `cause`.
    #[inline]
    pub fn charge(&mut self, cause: Cause, state: RadioState, span: Span) {
        let spent = match (cause, cause.index()) {
            (_, Some(index)) => &mut self.fixed[index],
            (Cause::Flow(flow), _) => self.flow(flow),
            _ => unreachable!("only flows have no index"),
        };
        spent[state as usize] += span;
    }

    /// Charges `span` of listening to [`Cause::TimeoutTail`], and notes the flow of the packet before it.
    pub fn charge_tail(&mut self, after: Option<u32>, span: Span) {
        self.charge(Cause::TimeoutTail, RadioState::Listen, span);
        if let Some(flow) = after.filter(|_| !span.is_zero()) {
            *self.tails.entry(flow).or_default() += span;
        }
    }

    /// The energy of [`Cause::TimeoutTail`] with `radio`, by the flow of the packet before it. Tails at the beginning have none.
    pub fn tail_energies(&self, radio: &Radio) -> impl Iterator<Item = (u32, Energy)> {
        let power = radio.power(RadioState::Listen);
        self.tails.iter().map(move |(flow, span)| (*flow, power * *span))
    }

    /// The time in `state` that is charged to `cause`.
    pub fn duration(&self, cause: Cause, state: RadioState) -> Span {
        let spent = match cause {
            Cause::Flow(flow) => {
                let place = self.flows.binary_search_by_key(&flow, |(other, _)| *other).ok();
                place.map(|place| &self.flows[place].1)
            }
            fixed => fixed.index().map(|index| &self.fixed[index]),
        };
        spent.map_or(Span::ZERO, |spent| spent[state as usize])
    }

    /// The energy of each cause with `radio`: the fixed ones in the order of the results, then flows by number.
    pub fn energies(&self, radio: &Radio) -> Vec<(Cause, Energy)> {
        let energy = |spent: &Spent| -> Energy {
            RadioState::ALL.into_iter().map(|state| radio.power(state) * spent[state as usize]).sum()
        };
        self.all().map(|(cause, spent)| (cause, energy(spent))).collect()
    }

    /// Adds time that was charged to a ledger by [`Ledger::spend_like`]: of what each state of `added` has beyond
    /// `before`, the causes get shares as between `from` and `until`, two accounts of the same radio. What integer division
    /// leaves goes to the cause with the largest share.
    pub fn spend_like(&mut self, [before, added]: [&Ledger; 2], [from, until]: [&Self; 2]) {
        for state in RadioState::ALL {
            let span = added.duration(state) - before.duration(state);
            let grown =
                |cause: Cause| until.duration(cause, state).saturating_sub(from.duration(cause, state));
            let all: Span = until.all().map(|(cause, _)| grown(cause)).sum();
            let mut rest = span;
            let mut largest = (Cause::Idle, Span::ZERO);
            for (cause, _) in until.all().filter(|(cause, _)| !grown(*cause).is_zero()) {
                let nanos = u128::from(grown(cause).as_nanos()) * u128::from(span.as_nanos())
                    / u128::from(all.as_nanos());
                let share =
                    Span::from_nanos(u64::try_from(nanos).expect("a share is no longer than the whole"));
                self.charge(cause, state, share);
                rest -= share;
                if grown(cause) > largest.1 {
                    largest = (cause, grown(cause));
                }
            }
            self.charge(largest.0, state, rest);
        }
    }

    /// The causes of a lower bound, from those of the run that it bounds: its sleep and transitions, and its own frames in the
    /// proportions of the run's. Its gaps that are too short for sleep are contention for as long as the run has it, since that is next
    /// to own frames, and idle otherwise.
    pub fn of_bound(bound: &Ledger, run: &Self) -> Self {
        let mut proportions = run.clone();
        for cause in [Cause::Beacon, Cause::Group, Cause::Overhearing] {
            proportions.fixed[cause.index().expect("it is no flow")] = Spent::default();
        }
        let listening = RadioState::Listen as usize;
        let all = proportions.fixed.iter_mut().chain(proportions.flows.iter_mut().map(|(_, spent)| spent));
        all.for_each(|spent| spent[listening] = Span::ZERO);
        let short = bound.duration(RadioState::Listen);
        let contended = run.duration(Cause::Contention, RadioState::Listen).min(short);
        // A state with one cause has it for any time.
        let any = Span::from_nanos(1);
        let sole = [
            (Cause::Contention, RadioState::Listen, contended),
            (Cause::Idle, RadioState::Listen, short - contended),
            (Cause::Doze, RadioState::Sleep, any),
            (Cause::WakeUp, RadioState::ToSleep, any),
            (Cause::WakeUp, RadioState::WakeUp, any),
        ];
        sole.into_iter().for_each(|(cause, state, span)| proportions.charge(cause, state, span));
        let mut causes = Self::default();
        causes.spend_like([&Ledger::new(Instant::ZERO), bound], [&Self::default(), &proportions]);
        causes
    }

    /// Panics unless the causes of each state add up to what `ledger` has of it.
    pub fn check(&self, ledger: &Ledger) {
        for state in RadioState::ALL {
            let sum: Span = self.all().map(|(_, spent)| spent[state as usize]).sum();
            let kept = ledger.duration(state);
            assert_eq!(sum, kept, "the causes of {} add up to {sum} of {kept}", state.name());
        }
    }

    fn all(&self) -> impl Iterator<Item = (Cause, &Spent)> {
        let fixed = Cause::FIXED.into_iter().zip(&self.fixed);
        fixed.chain(self.flows.iter().map(|(flow, spent)| (Cause::Flow(*flow), spent)))
    }

    #[inline]
    fn flow(&mut self, flow: u32) -> &mut Spent {
        if self.flows.get(self.last).is_none_or(|(last, _)| *last != flow) {
            self.find_flow(flow);
        }
        &mut self.flows[self.last].1
    }

    /// Makes the flow the last one.
    fn find_flow(&mut self, flow: u32) {
        self.last = self.flows.binary_search_by_key(&flow, |(other, _)| *other).unwrap_or_else(|place| {
            self.flows.insert(place, (flow, Spent::default()));
            place
        });
    }
}
