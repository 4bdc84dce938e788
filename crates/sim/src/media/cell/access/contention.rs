//! Who may send next: DCF and EDCA contention, without stepping through slots.
//!
//! Contenders with the same arbitration inter-frame space form a class. A class counts its slots on a virtual clock
//! that stands still while the medium is busy, and a contender's backoff is the reading of that clock at which it may
//! send: to freeze every backoff of a class is to stop one clock. So an access costs a heap operation and no
//! contender is touched that does not send, whatever their number.
//!
//! * **Slot boundaries** lie at `idle + IFS + k slots` (802.11-2020 10.3.4.3, 10.23.2.4). A frame that arrives at an
//!   idle medium waits for the next boundary.
//! * **Counting.** EDCA counts a slot at each boundary, so that the slot in which another station begins to send is
//!   counted too; DCF counts a slot when it has passed idle. Bianchi's model counts as EDCA does.
//! * **Post-backoff.** After each exchange its sender draws a backoff even with nothing to send; it is a reading of the
//!   clock and needs no event.
//! * **Offsets.** Who was in a collision resumes after ACKTimeout, and who received a broken frame after EIFS; such a
//!   contender counts its own slots during that one idle period.
//!
//! Simultaneous expiry is a collision. So is an expiry within the propagation delay of another, which only offset
//! contenders can have, as the others share their boundaries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airwatt_base::{Instant, RandomStream, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Index of a contender in its cell.
pub type ContenderId = u32;

/// How backoff slots are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessMethod {
    /// Distributed coordination function: a slot counts when it has passed idle.
    Dcf,
    /// Enhanced distributed channel access: a slot counts at its beginning.
    #[default]
    Edca,
}

/// A contender's access parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Arbitration inter-frame space: SIFS + AIFSN slots.
    pub aifs: Span,
    /// Smallest contention window, in slots less one.
    pub cw_min: u32,
    /// Largest contention window, in slots less one.
    pub cw_max: u32,
}

#[derive(Clone, Debug)]
struct Contender {
    class: usize,
    access: Access,
    /// The present contention window.
    cw: u32,
    /// The class clock's reading at which the backoff ends.
    ready: u64,
    waiting: Waiting,
    /// Since when it waits, or waited before its last access.
    since: Instant,
    /// How much of the idle time before its last access it waited.
    waited: Span,
    backoff: RandomStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Nothing to send.
    No,
    /// In the class's heap.
    InClass,
    /// In the list of offset contenders.
    Offset,
}

#[derive(Clone, Debug)]
struct Class {
    aifs: Span,
    /// The virtual clock: slots counted up to the last busy period.
    counted: u64,
    queue: BinaryHeap<Reverse<(u64, ContenderId)>>,
}

/// A contender that counts from its own beginning in this idle period.
#[derive(Clone, Copy, Debug)]
struct Offset {
    contender: ContenderId,
    from: Instant,
    slots: u64,
}

/// The contention of one cell.
#[derive(Clone, Debug)]
pub struct Contention {
    slot: Span,
    access_method: AccessMethod,
    contenders: Vec<Contender>,
    classes: Vec<Class>,
    offsets: Vec<Offset>,
    /// Since when the medium is idle; `None` while it is busy. May lie ahead: NAV and EIFS count as busy.
    idle: Option<Instant>,
}

impl Contention {
    /// A cell without contenders, idle since the beginning.
    pub fn new(slot: Span, access_method: AccessMethod) -> Self {
        let idle = Some(Instant::ZERO);
        Self { slot, access_method, contenders: Vec::new(), classes: Vec::new(), offsets: Vec::new(), idle }
    }

    /// Adds a contender that draws its backoffs from `backoff`.
    pub fn add(&mut self, access: Access, backoff: RandomStream) -> ContenderId {
        let class = self.classes.iter().position(|class| class.aifs == access.aifs).unwrap_or_else(|| {
            self.classes.push(Class { aifs: access.aifs, counted: 0, queue: BinaryHeap::new() });
            self.classes.len() - 1
        });
        let (since, waited) = (Instant::ZERO, Span::ZERO);
        let cw = access.cw_min;
        let contender =
            Contender { class, access, cw, ready: 0, waiting: Waiting::No, since, waited, backoff };
        self.contenders.push(contender);
        self.contenders.len() as ContenderId - 1
    }

    /// The contender has a frame to send. No effect if it already waits.
    pub fn join(&mut self, id: ContenderId, now: Instant) {
        let contender = &mut self.contenders[id as usize];
        if contender.waiting != Waiting::No {
            return;
        }
        let class = &mut self.classes[contender.class];
        match self.idle {
            Some(idle) => {
                // The next boundary, unless a post-backoff still runs.
                let begins = idle + class.aifs;
                let boundary = class.counted + now.saturating_since(begins).covering(self.slot);
                contender.ready = contender.ready.max(boundary);
            }
            None if contender.ready <= class.counted => {
                contender.ready = class.counted + contender.draw();
            }
            None => {}
        }
        contender.waiting = Waiting::InClass;
        contender.since = now;
        class.queue.push(Reverse((contender.ready, id)));
    }

    /// Like [`Contention::join`], but a medium that will be idle only later, by NAV or EIFS, is busy now: the contender backs off.
    pub(crate) fn join_busy(&mut self, id: ContenderId, now: Instant) {
        let idle = self.idle;
        if idle.is_some_and(|at| at > now) {
            self.idle = None;
        }
        self.join(id, now);
        self.idle = idle;
    }

    /// The contender no longer has a frame to send. What is left of its backoff stays with it.
    pub fn leave(&mut self, id: ContenderId) {
        let contender = &mut self.contenders[id as usize];
        match contender.waiting {
            Waiting::No => {}
            Waiting::InClass => {
                self.classes[contender.class].queue.retain(|Reverse((_, other))| *other != id)
            }
            Waiting::Offset => self.offsets.retain(|offset| offset.contender != id),
        }
        contender.waiting = Waiting::No;
    }

    /// When the next contender may send, if the medium stays idle.
    pub fn next_access(&self) -> Option<Instant> {
        let idle = self.idle?;
        let mut next = None;
        let mut consider = |at: Instant| next = Some(next.map_or(at, |next: Instant| next.min(at)));
        for class in &self.classes {
            if let Some(Reverse((ready, _))) = class.queue.peek() {
                consider(idle + class.aifs + self.slot * (ready - class.counted));
            }
        }
        for offset in &self.offsets {
            consider(offset.from + self.slot * offset.slots);
        }
        next
    }

    /// Takes out, into `winners`, everyone who begins to send between `now` and `now + blind`, in order of contender. The medium is
    /// busy from here on, and all other backoffs stand still.
    pub fn access(&mut self, now: Instant, blind: Span, winners: &mut Vec<ContenderId>) {
        let idle = self.idle.take().expect("an access begins on an idle medium");
        let latest = now + blind;
        for class in &mut self.classes {
            let begins = idle + class.aifs;
            while let Some(&Reverse((ready, id))) = class.queue.peek() {
                if begins + self.slot * (ready - class.counted) > latest {
                    break;
                }
                class.queue.pop();
                self.contenders[id as usize].waiting = Waiting::No;
                winners.push(id);
            }
            class.counted += slots_counted(begins, now, self.slot, self.access_method);
        }
        if !self.offsets.is_empty() {
            self.end_offsets(now, latest, winners);
        }
        // A winner's clock must not stand behind what it has used up.
        for &id in winners.iter() {
            let contender = &mut self.contenders[id as usize];
            contender.ready = self.classes[contender.class].counted;
            contender.waited = now.saturating_since(idle.max(contender.since));
        }
        if winners.len() > 1 {
            winners.sort_unstable();
        }
    }

    /// Takes out the offset contenders who begin to send up to `latest`; the others count with their classes from here on.
    fn end_offsets(&mut self, now: Instant, latest: Instant, winners: &mut Vec<ContenderId>) {
        for offset in std::mem::take(&mut self.offsets) {
            if offset.from + self.slot * offset.slots <= latest {
                self.contenders[offset.contender as usize].waiting = Waiting::No;
                winners.push(offset.contender);
            } else {
                let left = offset.slots - slots_counted(offset.from, now, self.slot, self.access_method);
                self.rejoin(offset.contender, left);
            }
        }
    }

    /// How long the contender waited on an idle medium before its last access.
    pub fn waited(&self, id: ContenderId) -> Span {
        self.contenders[id as usize].waited
    }

    /// The medium is idle from `at` on, which may lie ahead by NAV or EIFS.
    pub fn idle_from(&mut self, at: Instant) {
        self.idle = Some(at);
    }

    /// After a success or a given-up frame: the smallest window, and a backoff before the next frame.
    pub fn succeeded(&mut self, id: ContenderId) {
        let contender = &mut self.contenders[id as usize];
        contender.cw = contender.access.cw_min;
        contender.ready = self.classes[contender.class].counted + contender.draw();
    }

    /// After a failed attempt: twice the window, up to the largest, and a new backoff.
    pub fn failed(&mut self, id: ContenderId) {
        let contender = &mut self.contenders[id as usize];
        contender.cw = (2 * contender.cw + 1).min(contender.access.cw_max);
        contender.ready = self.classes[contender.class].counted + contender.draw();
    }

    /// A contender waits again with the backoff that it has drawn since its access, whether the medium is busy or idle from now on. So
    /// does one that won together with a higher category of its radio and has not sent.
    pub fn resume(&mut self, id: ContenderId, now: Instant) {
        let contender = &mut self.contenders[id as usize];
        contender.since = now;
        let slots = contender.ready - self.classes[contender.class].counted;
        self.rejoin(id, slots);
    }

    /// Like [`Contention::join`], but in the coming idle period the contender counts from `from` (plus its AIFS): the
    /// sender of a frame that failed. Call after [`Contention::idle_from`].
    pub fn join_from(&mut self, id: ContenderId, from: Instant) {
        let contender = &mut self.contenders[id as usize];
        let class = &self.classes[contender.class];
        debug_assert_eq!(contender.waiting, Waiting::No, "a sender does not wait while it sends");
        contender.waiting = Waiting::Offset;
        contender.since = from;
        let slots = contender.ready.saturating_sub(class.counted);
        self.offsets.push(Offset { contender: id, from: from + class.aifs, slots });
    }

    /// A contender that may be waiting in its class counts from `from` in the coming idle period: the receiver of a
    /// broken frame.
    pub(crate) fn defer(&mut self, id: ContenderId, from: Instant) {
        if self.contenders[id as usize].waiting == Waiting::InClass {
            self.leave(id);
            self.join_from(id, from);
        }
    }

    /// The medium becomes busy by somebody who does not contend here.
    pub(crate) fn freeze(&mut self, now: Instant) {
        let Some(idle) = self.idle.take() else { return };
        for class in &mut self.classes {
            class.counted += slots_counted(idle + class.aifs, now, self.slot, self.access_method);
        }
    }

    fn rejoin(&mut self, id: ContenderId, slots: u64) {
        let contender = &mut self.contenders[id as usize];
        let class = &mut self.classes[contender.class];
        contender.ready = class.counted + slots;
        contender.waiting = Waiting::InClass;
        class.queue.push(Reverse((contender.ready, id)));
    }
}

impl Contender {
    fn draw(&mut self) -> u64 {
        u64::from(self.backoff.below(self.cw + 1))
    }
}

/// How many slots a clock that began at `begins` counts when the medium becomes busy at `now`.
fn slots_counted(begins: Instant, now: Instant, slot: Span, access_method: AccessMethod) -> u64 {
    if now < begins {
        return 0;
    }
    let passed = (now - begins).whole(slot);
    match access_method {
        AccessMethod::Dcf => passed,
        AccessMethod::Edca => passed + 1,
    }
}
