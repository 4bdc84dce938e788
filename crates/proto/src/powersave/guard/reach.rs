//! When to stay within reach of a peer that sends unasked: as long as it costs less than it is worth.
//!
//! Each packet of a flow opens a window of time in which the station is within reach, and the next packet ends it. A packet that comes
//! within the window, and would have waited for a beacon otherwise, *gains* by it. Over the latest pauses of the flow the guard counts
//! what a window would have cost in time awake and how many packets would have gained. It takes
//!
//! ```text
//!   hold     packet |############|                                 from the packet on, until it pays no longer
//!   rhythm   packet |----------------------------------|####|      around the time at which a regular peer sends next
//! ```
//!
//! and neither if it costs more than [`worth`](LatencyGuardConfig::worth) for each packet that gains. A peer at random times costs its mean pause
//! for each packet, whatever the window is, and a regular one hardly more than its jitter. The hold is the one with the largest
//! difference between worth and cost, so that each part of it is worth its cost. The rhythm has no choice that chance could
//! favour: it covers the latest pauses.
//!
//! What a window brings is also measured: a packet that comes within it and has waited for a beacon all the same has gained nothing,
//! as on a host that is too busy to switch in time. After [`TRIES`] packets within windows of one form of which [`VAIN`] waited,
//! that form is given up for [`REST`] pauses. Then it is tried again, for [`AGAIN`] packets, and rests for twice as many pauses if all of them
//! wait again.
//!
//! Left out: that the driver stays awake for its tail after a window, and that the radio is awake for other flows anyway.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

use super::LatencyGuardConfig;
use super::tail::Tail;

/// Pauses that are remembered.
const REMEMBERED: usize = 64;
/// The latest of them, by which a rhythm is recognised. Of this many one may be an exception, as a question that was lost.
const LATEST: usize = 16;
/// The fewest pauses that are a rhythm, and the fewest of which one may be an exception.
const FEWEST: usize = 3;
const EXCEPTION_FROM: usize = 8;
/// Packets that gain and count for nothing when reach begins. Chance makes a window look worth its cost most easily while little is known,
/// and a packet that ends a connection comes once.
const ON_TRUST: u64 = 2;
/// The latest packets within windows of one form by which its benefit is measured, and the number of them that have waited all the same from
/// which on it brings nothing. Where windows help, one packet in eight seems to have waited by chance, and so many of them with a
/// probability of 10⁻⁸.
const TRIES: usize = 16;
const VAIN: usize = 12;
/// The tries after a rest, which end the next one if all have waited.
const AGAIN: usize = 4;
/// Pauses for which a form that has brought nothing is not taken, the first time and at most.
const REST: u32 = 64;
const REST_MAX: u32 = 4_096;
/// A reply of this host that follows a packet within this time may be known before it.
const RUN: Span = Span::from_millis(1);

/// The time after a packet of a flow in which the station is within reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReachWindow {
    pub(super) from: Span,
    pub(super) to: Span,
}

/// The forms of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Hold,
    Rhythm,
}

/// The benefit of the windows of one form so far.
#[derive(Clone, Debug)]
struct Outcome {
    /// Whether the latest packets within windows have waited all the same.
    waited: VecDeque<bool>,
    /// Pauses until the form is taken again, and the number of the next time.
    resting: u32,
    rest: u32,
}

impl Outcome {
    const fn new() -> Self {
        Self { waited: VecDeque::new(), resting: 0, rest: REST }
    }

    /// Adds a packet that came within a window.
    fn add(&mut self, waited: bool) {
        self.waited.push_back(waited);
        let (tries, vain) = if self.rest > REST { (AGAIN, AGAIN) } else { (TRIES, VAIN) };
        if self.waited.len() < tries {
            return;
        }
        if self.waited.iter().filter(|waited| **waited).count() >= vain {
            self.waited.clear();
            self.resting = self.rest;
            self.rest = REST_MAX.min(self.rest * 2);
        } else {
            self.waited.pop_front();
            self.rest = REST;
        }
    }
}

/// A pause of a flow, which its next packet ended.
#[derive(Clone, Copy, Debug)]
struct Pause {
    length: Span,
    /// Its length if the packet had not waited for the radio, at least.
    least: Span,
    /// Time without packets of any flow before that packet; zero if this host sent it, which gains nothing.
    silence: Span,
}

/// A window beside the pauses that it was chosen by.
#[derive(Clone, Copy, Debug)]
struct Offer {
    window: ReachWindow,
    gained: u64,
    cost: Span,
    pauses: usize,
}

impl Offer {
    fn new(window: ReachWindow, pauses: &[Judged], config: &LatencyGuardConfig) -> Self {
        let mut offer = Self { window, gained: 0, cost: Span::ZERO, pauses: pauses.len() };
        for pause in pauses {
            offer.cost += config.awake(pause.length.min(window.to).saturating_sub(window.from));
            offer.gained += u64::from(pause.waits && (window.from..=window.to).contains(&pause.length));
        }
        offer
    }

    /// The worth less the cost in nanoseconds awake, of so many packets less; negative if it does not pay.
    fn net(&self, trusted: u64, config: &LatencyGuardConfig) -> i128 {
        let gained = i128::from(self.gained) - i128::from(trusted);
        gained * i128::from(config.worth.as_nanos()) - i128::from(self.cost.as_nanos())
    }

    /// Whether it costs less than half of the other one for each pause.
    fn is_far_cheaper_than(&self, other: &Self) -> bool {
        let cost = |offer: &Self, pauses: usize| u128::from(offer.cost.as_nanos()) * pauses as u128;
        2 * cost(self, other.pauses) < cost(other, self.pauses)
    }
}

/// The latest pauses of a flow that are longer than those before answers.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    latest: VecDeque<Pause>,
    /// When the last one ended.
    ended: Instant,
    /// The form of the window that was chosen last.
    form: Form,
    /// What each form has brought.
    outcomes: [Outcome; 2],
}

impl Default for Pauses {
    fn default() -> Self {
        let outcomes = [Outcome::new(), Outcome::new()];
        Self { latest: VecDeque::new(), ended: Instant::ZERO, form: Form::Hold, outcomes }
    }
}

impl Pauses {
    /// Notes a packet that came within the window that was chosen last, and whether it had waited for a beacon all the same.
    pub(super) fn tried(&mut self, waited: bool) {
        self.outcomes[self.form as usize].add(waited);
    }

    /// Adds a pause that a packet of this host ended.
    pub(super) fn sent(&mut self, length: Span, at: Instant) {
        self.add(Pause { length, least: length, silence: Span::ZERO }, at);
    }

    /// Adds a pause that a packet of the peer ended, which may have waited at the access point for a time of `waited`.
    pub(super) fn arrived(&mut self, length: Span, waited: Span, silence: Span, at: Instant) {
        let is_same = at.saturating_add(RUN) >= self.ended && self.ended.saturating_add(RUN) >= at;
        if is_same && self.latest.back().is_some_and(|last| last.silence.is_zero()) {
            // It was counted as that of the reply.
            self.latest.pop_back();
        }
        self.add(Pause { length, least: length.saturating_sub(waited), silence }, at);
    }

    fn add(&mut self, pause: Pause, at: Instant) {
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back(pause);
        self.ended = at;
        for outcome in &mut self.outcomes {
            outcome.resting = outcome.resting.saturating_sub(1);
        }
    }

    /// Chooses the window that is worth its cost; `None` if there is none. `goes_on` if there was one before.
    pub(super) fn window(
        &mut self,
        tail: &Tail,
        config: &LatencyGuardConfig,
        goes_on: bool,
    ) -> Option<ReachWindow> {
        let latest: Vec<Judged> = self.latest.iter().rev().map(|pause| Judged::new(pause, tail)).collect();
        let trusted = if goes_on { 0 } else { ON_TRUST };
        let pays = |offer: &Offer| offer.gained > trusted && offer.net(trusted, config) >= 0;
        let [may_hold, may_meet] = self.outcomes.each_ref().map(|outcome| outcome.resting == 0);
        let hold = hold(&latest, config).filter(|offer| may_hold && pays(offer));
        let rhythm = rhythm(&latest[..latest.len().min(LATEST)], config);
        let rhythm = rhythm.filter(|offer| may_meet && pays(offer));
        let (form, best) = match (hold, rhythm) {
            (hold, Some(rhythm)) if hold.is_none_or(|hold| rhythm.is_far_cheaper_than(&hold)) => {
                (Form::Rhythm, rhythm)
            }
            (hold, _) => (Form::Hold, hold?),
        };
        self.form = form;
        Some(best.window)
    }
}

/// A pause, and whether the packet that ended it would have waited for a beacon.
#[derive(Clone, Copy)]
struct Judged {
    length: Span,
    least: Span,
    waits: bool,
}

impl Judged {
    fn new(pause: &Pause, tail: &Tail) -> Self {
        let waits = tail.waits_after(pause.silence) == Some(true);
        Self { length: pause.length, least: pause.least, waits }
    }
}

/// The pauses whose packets would have waited, the shortest first.
fn late(pauses: &[Judged]) -> Vec<Judged> {
    let mut late: Vec<Judged> = pauses.iter().filter(|pause| pause.waits).copied().collect();
    late.sort_unstable_by_key(|pause| pause.length);
    late
}

/// The best window that begins with the packet.
fn hold(pauses: &[Judged], config: &LatencyGuardConfig) -> Option<Offer> {
    // The next pause may be a quarter longer than the longest one that is known.
    let ends = late(pauses).into_iter().map(|pause| pause.length + pause.length / 4);
    let windows = ends.filter(|end| *end <= config.hold).map(|to| ReachWindow { from: Span::ZERO, to });
    windows.map(|window| Offer::new(window, pauses, config)).max_by_key(|offer| offer.net(0, config))
}

/// The window around the latest pauses, without the most unusual one. A packet that waited came to the access point earlier.
fn rhythm(pauses: &[Judged], config: &LatencyGuardConfig) -> Option<Offer> {
    let mut late = late(pauses);
    if late.len() >= EXCEPTION_FROM {
        let middle = late[late.len() / 2].length;
        if middle - late[0].length > late[late.len() - 1].length - middle {
            late.remove(0);
        } else {
            late.pop();
        }
    }
    let (shortest, last) = (late.first()?.length, late.last()?.length);
    let first = late.iter().map(|pause| pause.least).min()?;
    let slack = ((last - shortest) / 2).max(config.bound / 2);
    let window = ReachWindow { from: first.saturating_sub(slack), to: last + slack };
    let is_rhythm = late.len() >= FEWEST && window.to - window.from <= config.hold;
    is_rhythm.then(|| Offer::new(window, pauses, config))
}
