//! One relayed connection: what is decided about its two legs, without the legs themselves.
//!
//! ```text
//!  wired host ------ wired leg | relay | wireless leg ~~~~~~ mobile
//! ```
//! * **Opening.** The packet that opens a connection is held, and answered only when the other leg stands: a refusal, a timeout
//!   and an unreachable host come through as what they are.
//! * **Data.** What one leg has received is written to the other as long as the other's unacknowledged data fit the buffer. What
//!   does not fit stays in the receive buffer, whose window closes: a slow leg holds the fast one back.
//! * **Closing.** The end of a stream is passed on behind its last byte; the other direction goes on. A leg whose both directions
//!   are closed leaves what it has received to the other, beyond the buffer if need be: at most a receive buffer, and nothing
//!   comes from the other side any more.
//! * **Reset.** The loss of one leg resets the other. Bytes that were acknowledged to their sender and cannot be delivered any
//!   more are counted.
//! * **Silence.** Without a packet from either side for a time, both legs are reset.

use airwatt_base::{Instant, Span};

use crate::end::{EndEvent, Stream};

/// The leg of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The connection to the wired host.
    Wired,
    /// The connection to the mobile.
    Wireless,
}

impl Side {
    /// The leg on the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Wired => Self::Wireless,
            Self::Wireless => Self::Wired,
        }
    }
}

/// What the owner of a relay does after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayAction {
    /// The connection may be answered at this side: its leg listens and gets what was held.
    Admit(Side),
    /// The host beyond refused: the held packet is answered by a reset to this side.
    Refuse(Side),
    /// The host beyond did not answer: neither is the held packet, so that its sender finds out by itself.
    Forget(Side),
    /// A leg was lost, and the other was reset. So many bytes were acknowledged and not delivered.
    Lost(u64),
    /// Both legs have closed.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing has come yet.
    Waiting,
    /// This side opened the connection, and the other leg does not stand yet.
    Opening(Side),
    /// Both legs exist.
    Standing,
    Over,
}

/// How far one leg is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LegState {
    /// Its peer has closed its direction.
    peer_closed: bool,
    /// That was passed on to the other leg.
    passed_on: bool,
    /// It exists no longer.
    closed: bool,
}

/// One relayed connection.
#[derive(Clone, Debug)]
pub struct Relay {
    phase: Phase,
    legs: [LegState; 2],
    /// Most unacknowledged bytes of a leg.
    buffer: u64,
    idle_since: Instant,
}

impl Relay {
    /// A relay whose legs stand already, or wait for the connection. Of what one leg has received, at most `buffer` bytes wait
    /// at the other to be acknowledged.
    pub fn new(buffer: u64, stands: bool) -> Self {
        let phase = if stands { Phase::Standing } else { Phase::Waiting };
        Self { phase, legs: Default::default(), buffer, idle_since: Instant::ZERO }
    }

    /// Whether neither leg has been opened.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting)
    }

    /// The side whose opening is held.
    pub const fn opened_by(&self) -> Option<Side> {
        match self.phase {
            Phase::Opening(side) => Some(side),
            _ => None,
        }
    }

    /// Whether the relay has ended.
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// The host at `side` has sent the first packet of a connection: the other leg is to be opened.
    pub const fn begin(&mut self, side: Side, now: Instant) {
        self.phase = Phase::Opening(side);
        self.idle_since = now;
    }

    /// A packet has come from either side.
    pub const fn note_packet(&mut self, now: Instant) {
        self.idle_since = now;
    }

    /// The time at which the relay has been silent for `idle`.
    pub const fn idle_at(&self, idle: Span) -> Instant {
        self.idle_since.saturating_add(idle)
    }

    /// Takes note of an event of the leg at `side`.
    pub fn on_event<D>(
        &mut self,
        side: Side,
        event: EndEvent,
        wired: &mut (impl Stream<Data = D> + ?Sized),
        wireless: &mut (impl Stream<Data = D> + ?Sized),
        now: Instant,
    ) -> Option<RelayAction> {
        if self.is_over() {
            return None;
        }
        let held = self.opened_by();
        match event {
            EndEvent::Connected if held == Some(side.other()) => {
                self.phase = Phase::Standing;
                Some(RelayAction::Admit(side.other()))
            }
            EndEvent::Reset | EndEvent::TimedOut => {
                self.phase = Phase::Over;
                Some(match (held, event) {
                    (Some(by), EndEvent::Reset) => RelayAction::Refuse(by),
                    (Some(by), _) => RelayAction::Forget(by),
                    (None, _) => {
                        let lost = undeliverable(wired, wireless);
                        match side {
                            Side::Wired => wireless.abort(now),
                            Side::Wireless => wired.abort(now),
                        }
                        RelayAction::Lost(lost)
                    }
                })
            }
            EndEvent::PeerClosed => {
                self.legs[side as usize].peer_closed = true;
                None
            }
            EndEvent::Closed => {
                self.legs[side as usize].closed = true;
                // Its data are on their way, also those that the other leg has no room for yet: a leg that no longer exists
                // keeps nothing.
                match side {
                    Side::Wired => take_rest(wired, wireless, now),
                    Side::Wireless => take_rest(wireless, wired, now),
                }
                let done = self.legs.iter().all(|leg| leg.closed);
                if done {
                    self.phase = Phase::Over;
                }
                done.then_some(RelayAction::Done)
            }
            _ => None,
        }
    }

    /// Resets both legs. Returns the bytes that were acknowledged and not delivered.
    pub fn abort<D>(
        &mut self,
        wired: &mut (impl Stream<Data = D> + ?Sized),
        wireless: &mut (impl Stream<Data = D> + ?Sized),
        now: Instant,
    ) -> u64 {
        self.phase = Phase::Over;
        let lost = undeliverable(wired, wireless);
        wired.abort(now);
        wireless.abort(now);
        lost
    }

    /// Carries data, or the end of a stream, from one leg to the other. Returns whether there was anything; the outputs of both
    /// legs are then taken before the next call.
    pub fn step<D>(
        &mut self,
        wired: &mut (impl Stream<Data = D> + ?Sized),
        wireless: &mut (impl Stream<Data = D> + ?Sized),
        now: Instant,
    ) -> bool {
        self.phase == Phase::Standing
            && (self.carry(Side::Wired, wired, wireless, now)
                || self.carry(Side::Wireless, wireless, wired, now))
    }

    /// As [`Relay::step`], in the direction away from the leg at `side`.
    fn carry<D>(
        &mut self,
        side: Side,
        from: &mut (impl Stream<Data = D> + ?Sized),
        to: &mut (impl Stream<Data = D> + ?Sized),
        now: Instant,
    ) -> bool {
        let bytes = from.readable().min(self.buffer.saturating_sub(to.unacknowledged()));
        if bytes > 0 {
            let data = from.read(bytes, now);
            to.write(data, now);
            return true;
        }
        let leg = &mut self.legs[side as usize];
        let ends = leg.peer_closed && !leg.passed_on && from.readable() == 0;
        if ends {
            leg.passed_on = true;
            to.close(now);
        }
        ends
    }
}

/// Writes everything that one leg has received to the other.
fn take_rest<D>(
    from: &mut (impl Stream<Data = D> + ?Sized),
    to: &mut (impl Stream<Data = D> + ?Sized),
    now: Instant,
) {
    let rest = from.readable();
    if rest > 0 {
        let data = from.read(rest, now);
        to.write(data, now);
    }
}

/// Bytes that either leg has acknowledged to its peer, and that the other has not delivered.
fn undeliverable<D>(
    wired: &(impl Stream<Data = D> + ?Sized),
    wireless: &(impl Stream<Data = D> + ?Sized),
) -> u64 {
    wired.readable() + wireless.unacknowledged() + wireless.readable() + wired.unacknowledged()
}
