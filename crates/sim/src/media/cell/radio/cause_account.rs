//! To what the time of one radio is charged: the rules of [`airwatt_energy::Causes`], applied as time passes.
//!
//! The radio reports the time that it charges to its ledger, and the account divides it. It knows the exchange at which the
//! radio takes or took part last, and what the radio is awake for. Frames of others cost nothing: they are what was received
//! beyond the own exchange.

use airwatt_base::{Instant, Span};
use airwatt_energy::{Cause, Causes, RadioState};

use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::frame::parts::Parts;

/// One exchange from the side of one radio: whether it sent, received or overheard.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    cause: Cause,
    from: Instant,
    until: Instant,
    /// The frames that the radio receives; periods that are not used are empty.
    received: [(Instant, Instant); 2],
}

/// To what an exchange is charged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged<'a> {
    /// The cause of the first frame.
    pub(crate) cause: Cause,
    /// The bytes of each cause, if the frames of an aggregate have several; otherwise nothing.
    pub(crate) shares: &'a [(Cause, u32)],
}

/// The causes of one radio.
#[derive(Clone, Debug)]
pub(crate) struct CauseAccount {
    pub(crate) causes: Causes,
    /// The contenders of the radio that have a frame to send.
    pub(crate) waiting: Vec<ContenderId>,
    /// To what silence is charged while no frame waits.
    pub(crate) purpose: Cause,
    exchange: Exchange,
    /// The bytes of each cause of the exchange, if there are several.
    shares: Vec<(Cause, u32)>,
    /// The flow of the last packet.
    last_flow: Option<u32>,
}

impl Default for CauseAccount {
    fn default() -> Self {
        let none = (Instant::ZERO, Instant::ZERO);
        let exchange = Exchange { cause: Cause::Idle, from: none.0, until: none.1, received: [none; 2] };
        Self {
            causes: Causes::default(),
            waiting: Vec::new(),
            purpose: Cause::Idle,
            exchange,
            shares: Vec::new(),
            last_flow: None,
        }
    }
}

impl CauseAccount {
    /// An exchange begins at `now`. `sends`: the radio sends the PPDU. All time before `now` has been charged.
    pub(crate) fn begin(&mut self, charged: Charged<'_>, sends: bool, now: Instant, parts: &Parts) {
        let Charged { cause, shares } = charged;
        self.shares.clear();
        let mut exchange = Exchange { cause, from: now, until: now, received: [(now, now); 2] };
        let mut count = 0;
        for part in parts.iter() {
            let end = part.start + part.duration;
            exchange.until = end;
            if part.by_sender != sends {
                exchange.received[count] = (part.start, end);
                count += 1;
            }
        }
        self.exchange = exchange;
        if let Cause::Flow(flow) = cause {
            self.last_flow = Some(flow);
        }
        if !shares.is_empty() {
            self.shares.extend_from_slice(shares);
            let flow = |(cause, _): &(Cause, u32)| match cause {
                Cause::Flow(flow) => Some(*flow),
                _ => None,
            };
            self.last_flow = shares.iter().rev().find_map(flow).or(self.last_flow);
        }
    }

    /// The radio receives a frame from `start` to `end` that nothing answers. All time before `start` has been charged.
    pub(crate) fn receive(&mut self, cause: Cause, start: Instant, end: Instant) {
        self.exchange = Exchange { cause, from: start, until: end, received: [(start, end), (end, end)] };
        self.shares.clear();
    }

    /// Charges frames of the present exchange. Several causes share a time by their bytes, in whole nanoseconds that add up to it.
    #[inline]
    pub(crate) fn charge_exchange(&mut self, state: RadioState, span: Span) {
        if self.shares.is_empty() {
            return self.causes.charge(self.exchange.cause, state, span);
        }
        let all: u128 = self.shares.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
        let (mut bytes, mut charged) = (0, Span::ZERO);
        for (cause, own) in &self.shares {
            bytes += u128::from(*own);
            let until = Span::from_nanos((u128::from(span.as_nanos()) * bytes / all) as u64);
            self.causes.charge(*cause, state, until - charged);
            charged = until;
        }
    }

    /// Whether the time from `since` to `now` lies in the present exchange.
    pub(crate) fn covers(&self, since: Instant, now: Instant) -> bool {
        since >= self.exchange.from && now <= self.exchange.until
    }

    /// Charges the time from `from` to `until`, in which the radio was awake, did not send, and received for `receiving`.
    pub(crate) fn spend_awake(&mut self, from: Instant, until: Instant, receiving: Span) {
        let within = |(start, end): (Instant, Instant)| end.min(until).saturating_since(start.max(from));
        let listening = (until - from) - receiving;
        let Exchange { from: begun, until: ended, received: [first, second], .. } = self.exchange;
        let (mut own, mut gaps) = (Span::ZERO, Span::ZERO);
        if ended > from {
            let received = within(first) + within(second);
            own = received.min(receiving);
            gaps = within((begun, ended)).saturating_sub(received).min(listening);
            self.charge_exchange(RadioState::Receive, own);
            self.causes.charge(Cause::Contention, RadioState::Listen, gaps);
        }
        let silence = if self.waiting.is_empty() { self.purpose } else { Cause::Contention };
        self.causes.charge(Cause::Overhearing, RadioState::Receive, receiving - own);
        if silence == Cause::TimeoutTail {
            self.causes.charge_tail(self.last_flow, listening - gaps);
        } else {
            self.causes.charge(silence, RadioState::Listen, listening - gaps);
        }
    }
}
