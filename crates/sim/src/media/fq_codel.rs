//! FQ-CoDel (RFC 8290): a queue for each flow, served in turns of so many bytes, each with CoDel (RFC 8289) at its head.
//!
//! No clock and no randomness of its own: the caller says what time it is, and gets back what was dropped.
//! * Flows that have just become active are served before those that have a backlog (RFC 8290 section 4.2).
//! * CoDel drops at the head when every packet of an interval waited longer than the target, then ever more often: the n-th
//!   drop follows its predecessor by the interval over the square root of n (RFC 8289 section 4).
//! * Over the limit the longest queue, by bytes, loses a packet at its head (RFC 8290 section 4.1).
//!
//! A flow is known by its addresses and ports. Flows are numbered in the order of their first packets, and the number,
//! modulo the number of queues, takes the place of the RFC's hash: the first flows never share a queue, whereas a hash of
//! ten flows over 1024 queues lets two of them share one in one case of twenty.
//! Two things are other queues': a limit for each flow, with a longer first turn (`fq` of Linux, which has no CoDel: a target that no packet
//! reaches), and turns that are shorter for flows of a host that has several (CAKE).
//!
//! What can be marked is marked instead of dropped at the head (RFC 8289 section 5.5, ECN), and goes on; over the limit it is dropped like any other.
//!
//! Left out: the fast search for the longest queue. The square root is one of integers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Span, with_defaults};

with_defaults! {
    /// Settings; the defaults are RFC 8290's, section 5.2.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FqCodelConfig {
        /// Number of queues.
        pub queues: u32 = 1_024,
        /// Bytes of one turn.
        pub quantum: u32 = 1_514,
        /// Bytes of the first turn of a flow that has become active.
        pub first_quantum: u32 = 1_514,
        /// Packets of one flow.
        pub flow_limit: u32 = u32::MAX,
        /// How long packets may wait for good.
        pub target: Span = Span::from_millis(5),
        /// How long they may wait longer than that.
        pub interval: Span = Span::from_millis(100),
        /// Packets in all queues together.
        pub limit: u32 = 10_240,
        /// A queue with no more bytes than the longest packet has is never too long.
        pub longest_packet: u32 = 1_514,
    }
}

/// A packet with its length and when it came.
#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    item: T,
    bytes: u32,
    since: Instant,
}

/// In which list of active queues a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Inactive,
    New,
    Old,
}

/// CoDel's state for one queue (RFC 8289 section 5.3).
#[derive(Clone, Copy, Debug)]
struct Codel {
    /// When the wait will have been above the target for an interval.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
}

#[derive(Clone, Debug)]
struct Queue<K, T> {
    /// The first flow that used the queue.
    flow: K,
    packets: VecDeque<Waiting<T>>,
    bytes: u64,
    deficit: i64,
    standing: Standing,
    codel: Codel,
}

impl<K, T> Queue<K, T> {
    const fn new(flow: K) -> Self {
        let codel =
            Codel { first_above: None, dropping: false, drop_next: Instant::ZERO, count: 0, last_count: 0 };
        Self { flow, packets: VecDeque::new(), bytes: 0, deficit: 0, standing: Standing::Inactive, codel }
    }

    fn pop(&mut self) -> Option<Waiting<T>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

/// The queues.
#[derive(Clone, Debug)]
pub struct FqCodel<K, T> {
    config: FqCodelConfig,
    /// The number of each flow.
    numbers: BTreeMap<K, usize>,
    queues: Vec<Queue<K, T>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    len: usize,
    /// The hosts of a flow, if those of one share its turns, and how many queues of each are active.
    hosts: Option<fn(&K) -> HostKeys>,
    /// Marks a packet instead of its drop, and says whether that is possible.
    mark: fn(&mut T) -> bool,
    active: BTreeMap<u32, i64>,
}

/// Keys of a flow's two hosts, of which no sender has that of a receiver.
pub type HostKeys = [u32; 2];

impl<K: Copy + Ord, T: Copy> FqCodel<K, T> {
    /// Empty queues.
    pub fn new(config: FqCodelConfig) -> Self {
        let (numbers, queues) = (BTreeMap::new(), Vec::new());
        let (new, old) = (VecDeque::new(), VecDeque::new());
        let mark = |_: &mut T| false;
        Self { config, numbers, queues, new, old, len: 0, hosts: None, mark, active: BTreeMap::new() }
    }

    /// The same queues, in which CoDel marks what it can (RFC 3168).
    #[must_use]
    pub(crate) fn with_marks(self, mark: fn(&mut T) -> bool) -> Self {
        Self { mark, ..self }
    }

    /// The same queues, in which the flows of a host share its turns.
    #[must_use]
    pub(crate) fn with_hosts(self, hosts: fn(&K) -> HostKeys) -> Self {
        Self { hosts: Some(hosts), ..self }
    }

    /// A turn of so many bytes as this queue has it: divided by the active queues of the host that has more of them.
    fn turn(&self, index: usize, bytes: u32) -> i64 {
        let Some(hosts) = self.hosts else { return i64::from(bytes) };
        let active = hosts(&self.queues[index].flow).map(|host| self.active.get(&host).copied().unwrap_or(1));
        (i64::from(bytes) / active[0].max(active[1]).max(1)).max(1)
    }

    /// A queue has become active, or is so no more.
    fn count(&mut self, index: usize, by: i64) {
        if let Some(hosts) = self.hosts {
            for host in hosts(&self.queues[index].flow) {
                *self.active.entry(host).or_default() += by;
            }
        }
    }

    /// Packets in all queues.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes a packet of a flow that waits since then. Returns the one that had to go for it, if any: not always the same.
    pub(crate) fn enqueue(&mut self, flow: K, item: T, bytes: u32, since: Instant) -> Option<T> {
        let next = self.numbers.len();
        let number = *self.numbers.entry(flow).or_insert(next);
        let index = number % self.config.queues.max(1) as usize;
        if self.queues.len() <= index {
            self.queues.push(Queue::new(flow));
        }
        let queue = &mut self.queues[index];
        if queue.packets.len() >= self.config.flow_limit as usize {
            return Some(item);
        }
        queue.packets.push_back(Waiting { item, bytes, since });
        queue.bytes += u64::from(bytes);
        self.len += 1;
        if queue.standing == Standing::Inactive {
            queue.standing = Standing::New;
            self.count(index, 1);
            self.queues[index].deficit = self.turn(index, self.config.first_quantum);
            self.new.push_back(index);
        }
        if self.len <= self.config.limit as usize {
            return None;
        }
        self.drop_longest()
    }

    /// The length of the longest queue in bytes, and the flow of it.
    pub fn longest(&self) -> Option<(u64, Reverse<K>)> {
        // Of equally long queues that of the least flow, so that the choice depends on nothing but lengths and flows.
        self.queues.iter().map(|queue| (queue.bytes, Reverse(queue.flow))).max()
    }

    /// Drops the packet at the head of the longest queue.
    pub fn drop_longest(&mut self) -> Option<T> {
        let (_, Reverse(flow)) = self.longest()?;
        let dropped = self.queues.iter_mut().find(|queue| queue.flow == flow)?.pop()?;
        self.len -= 1;
        Some(dropped.item)
    }

    /// The next packet to send. What CoDel drops on the way goes to `dropped`.
    pub(crate) fn dequeue(&mut self, now: Instant, dropped: &mut Vec<T>) -> Option<T> {
        loop {
            let (index, fresh) = match (self.new.front(), self.old.front()) {
                (Some(index), _) => (*index, true),
                (None, Some(index)) => (*index, false),
                (None, None) => return None,
            };
            if self.queues[index].deficit <= 0 {
                self.queues[index].deficit += self.turn(index, self.config.quantum);
                self.leave_front(fresh);
                self.stand(index, Standing::Old);
                continue;
            }
            let before = dropped.len();
            let queue = &mut self.queues[index];
            let packet = codel(queue, &self.config, self.mark, now, dropped);
            self.len -= dropped.len() - before;
            let Some(packet) = packet else {
                self.leave_front(fresh);
                // A queue that was new waits a turn among the old, so that it cannot be new again at once.
                let standing = if fresh { Standing::Old } else { Standing::Inactive };
                self.stand(index, standing);
                continue;
            };
            self.queues[index].deficit -= i64::from(packet.bytes);
            self.len -= 1;
            return Some(packet.item);
        }
    }

    /// Takes the first packet of a flow that `wanted` says, if more than `kept` are like it.
    pub(crate) fn take_first(&mut self, flow: K, kept: usize, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let index = *self.numbers.get(&flow)? % self.config.queues.max(1) as usize;
        let queue = &mut self.queues[index];
        let like: Vec<usize> =
            (0..queue.packets.len()).filter(|at| wanted(&queue.packets[*at].item)).collect();
        let first = *like.first().filter(|_| like.len() > kept)?;
        let taken = queue.packets.remove(first)?;
        queue.bytes -= u64::from(taken.bytes);
        self.len -= 1;
        Some(taken.item)
    }

    /// Whether the first packet of any flow is like this.
    pub(crate) fn any_next(&self, wanted: impl Fn(&T) -> bool) -> bool {
        self.queues.iter().filter_map(|queue| queue.packets.front()).any(|packet| wanted(&packet.item))
    }

    /// The next packet of a flow whose first packet is like this, out of turn: the flow pays for it with its next turns.
    pub(crate) fn dequeue_like(
        &mut self,
        now: Instant,
        dropped: &mut Vec<T>,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let is_next =
            |index: &&usize| self.queues[**index].packets.front().is_some_and(|packet| wanted(&packet.item));
        let index = *self.new.iter().chain(&self.old).find(is_next)?;
        let queue = &mut self.queues[index];
        let before = dropped.len();
        let packet = codel(queue, &self.config, self.mark, now, dropped);
        self.len -= dropped.len() - before;
        let packet = packet?;
        queue.deficit -= i64::from(packet.bytes);
        self.len -= 1;
        Some(packet.item)
    }

    /// Takes out every packet that `wanted` says, in order within each queue, with when it began to wait.
    pub fn take(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Vec<(T, Instant)> {
        let mut taken = Vec::new();
        for queue in &mut self.queues {
            let bytes = &mut queue.bytes;
            queue.packets.retain(|packet| {
                let goes = wanted(&packet.item);
                if goes {
                    taken.push((packet.item, packet.since));
                    *bytes -= u64::from(packet.bytes);
                }
                !goes
            });
        }
        self.len -= taken.len();
        taken
    }

    fn leave_front(&mut self, fresh: bool) {
        (if fresh { &mut self.new } else { &mut self.old }).pop_front();
    }

    fn stand(&mut self, index: usize, standing: Standing) {
        self.queues[index].standing = standing;
        match standing {
            Standing::Old => self.old.push_back(index),
            Standing::Inactive => self.count(index, -1),
            Standing::New => {}
        }
    }
}

/// The packet at the head, after CoDel has dropped what it drops (RFC 8289 sections 5.5 and 5.6). A mark is a drop after which the packet goes on.
fn codel<K, T: Copy>(
    queue: &mut Queue<K, T>,
    config: &FqCodelConfig,
    mark: fn(&mut T) -> bool,
    now: Instant,
    dropped: &mut Vec<T>,
) -> Option<Waiting<T>> {
    let mark = |packet: &mut Option<Waiting<T>>| packet.as_mut().is_some_and(|packet| mark(&mut packet.item));
    let (mut packet, mut above) = look(queue, config, now);
    if queue.codel.dropping {
        queue.codel.dropping = above;
        while queue.codel.dropping && now >= queue.codel.drop_next {
            queue.codel.count += 1;
            if mark(&mut packet) {
                queue.codel.drop_next += spacing(config.interval, queue.codel.count);
                return packet;
            }
            dropped.extend(packet.map(|packet| packet.item));
            (packet, above) = look(queue, config, now);
            queue.codel.dropping = above;
            if above {
                queue.codel.drop_next += spacing(config.interval, queue.codel.count);
            }
        }
    } else if above {
        if !mark(&mut packet) {
            dropped.extend(packet.map(|packet| packet.item));
            packet = look(queue, config, now).0;
        }
        let state = &mut queue.codel;
        state.dropping = true;
        // Soon after the last time it goes on where it was, else it begins anew.
        let since = state.count - state.last_count;
        let recent = now.saturating_since(state.drop_next) < config.interval * 16;
        state.count = if since > 1 && recent { since } else { 1 };
        state.drop_next = now + spacing(config.interval, state.count);
        state.last_count = state.count;
    }
    packet
}

/// Takes the head, and says whether packets have waited longer than the target for an interval.
fn look<K, T>(queue: &mut Queue<K, T>, config: &FqCodelConfig, now: Instant) -> (Option<Waiting<T>>, bool) {
    let Some(packet) = queue.pop() else {
        queue.codel.first_above = None;
        return (None, false);
    };
    // With no more than one packet's worth behind it a queue is never too long.
    let is_short = queue.bytes <= u64::from(config.longest_packet);
    if now.saturating_since(packet.since) < config.target || is_short {
        queue.codel.first_above = None;
        return (Some(packet), false);
    }
    let above = match queue.codel.first_above {
        None => {
            queue.codel.first_above = Some(now + config.interval);
            false
        }
        Some(since) => now >= since,
    };
    (Some(packet), above)
}

/// The interval over the square root of `count`, in integers.
fn spacing(interval: Span, count: u32) -> Span {
    let root = (u64::from(count.max(1)) << 32).isqrt();
    Span::from_nanos((u128::from(interval.as_nanos()) * (1 << 16) / u128::from(root)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn drain(queue: &mut FqCodel<u32, u32>, now: Instant) -> (Vec<u32>, Vec<u32>) {
        let (mut out, mut dropped) = (Vec::new(), Vec::new());
        while let Some(item) = queue.dequeue(now, &mut dropped) {
            out.push(item);
        }
        (out, dropped)
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let mut queue = FqCodel::<u32, u32>::new(FqCodelConfig {
            quantum: 1_000,
            first_quantum: 1_000,
            ..FqCodelConfig::default()
        });
        (0..4).for_each(|n| assert_eq!(queue.enqueue(1, 10 + n, 1_000, at(0)), None));
        (0..4).for_each(|n| assert_eq!(queue.enqueue(2, 20 + n, 500, at(0)), None));
        assert_eq!(drain(&mut queue, at(1)), (vec![10, 20, 21, 11, 22, 23, 12, 13], vec![]));
        assert!(queue.is_empty());
    }

    /// What comes for a flow without a backlog goes first: a lone TCP ACK passes nine queues of others.
    #[test]
    fn a_sparse_flow_goes_ahead_of_a_backlog() {
        let mut queue = FqCodel::<u32, u32>::new(FqCodelConfig::default());
        (0..20).for_each(|n| assert_eq!(queue.enqueue(1, n, 1_500, at(0)), None));
        let mut dropped = Vec::new();
        for expected in [0, 1] {
            assert_eq!(queue.dequeue(at(0), &mut dropped), Some(expected));
        }
        assert_eq!(queue.enqueue(2, 99, 40, at(1)), None);
        assert_eq!(queue.dequeue(at(1), &mut dropped), Some(99));
    }

    #[test]
    fn over_the_limit_the_longest_queue_loses_its_oldest() {
        let mut queue = FqCodel::<u32, u32>::new(FqCodelConfig { limit: 3, ..FqCodelConfig::default() });
        assert_eq!(queue.enqueue(1, 10, 40, at(0)), None);
        assert_eq!(queue.enqueue(2, 20, 1_500, at(0)), None);
        assert_eq!(queue.enqueue(2, 21, 1_500, at(0)), None);
        assert_eq!(queue.enqueue(1, 11, 40, at(0)), Some(20));
        assert_eq!(queue.len(), 3);
    }

    /// One packet in 10 ms goes out, two come: after 100 ms above the target the first is dropped, the next after
    /// 100, 100/sqrt(2), 100/sqrt(3) ms.
    #[test]
    fn a_standing_queue_is_dropped_from_ever_more_often() {
        let mut queue = FqCodel::<u32, u32>::new(FqCodelConfig::default());
        let mut drops = Vec::new();
        for step in 0..60 {
            let now = at(10 * step);
            (0..2).for_each(|_| assert_eq!(queue.enqueue(1, step as u32, 1_500, now), None));
            let mut dropped = Vec::new();
            assert!(queue.dequeue(now, &mut dropped).is_some());
            drops.extend(dropped.iter().map(|_| 10 * step));
        }
        // The packet of the step at 10 ms is the first that has waited. Drops fall on the next step.
        assert_eq!(drops[..4], [110, 210, 290, 340], "{drops:?}");
    }

    /// The same queue of packets that can be marked: the marks come when the drops did, and every packet goes on.
    #[test]
    fn what_can_be_marked_is_not_dropped() {
        let mark = |marked: &mut (u64, bool)| {
            marked.1 = true;
            true
        };
        let mut queue = FqCodel::<u32, (u64, bool)>::new(FqCodelConfig::default()).with_marks(mark);
        let mut marks = Vec::new();
        for step in 0..60 {
            let now = at(10 * step);
            (0..2).for_each(|_| assert_eq!(queue.enqueue(1, (step, false), 1_500, now), None));
            let mut dropped = Vec::new();
            let (_, marked) = queue.dequeue(now, &mut dropped).expect("a packet waits");
            assert!(dropped.is_empty());
            marks.extend(marked.then_some(10 * step));
        }
        assert_eq!(marks[..4], [110, 210, 290, 340], "{marks:?}");
    }

    #[test]
    fn a_short_wait_is_never_dropped() {
        let mut queue = FqCodel::<u32, u32>::new(FqCodelConfig::default());
        for step in 0..1_000 {
            assert_eq!(queue.enqueue(1, step, 1_500, at(u64::from(step))), None);
            let (out, dropped) = drain(&mut queue, at(u64::from(step) + 4));
            assert_eq!((out, dropped), (vec![step], vec![]));
        }
    }

    #[test]
    fn packets_can_be_taken_out() {
        let mut queue = FqCodel::<u32, u32>::new(FqCodelConfig::default());
        (0..6).for_each(|n| assert_eq!(queue.enqueue(n % 2, n, 100, at(0)), None));
        assert_eq!(queue.take(|n| n % 3 == 0), [(0, at(0)), (3, at(0))]);
        assert_eq!(drain(&mut queue, at(0)), (vec![2, 4, 1, 5], vec![]));
    }

    #[test]
    fn spacing_is_that_of_square_roots() {
        let interval = Span::from_millis(100);
        assert_eq!(spacing(interval, 1), interval);
        assert_eq!(spacing(interval, 4), interval / 2);
        assert!(spacing(interval, 2).as_nanos().abs_diff(70_710_678) < 2_000);
    }
}
