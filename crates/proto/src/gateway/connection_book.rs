//! What the proxies of a device keep of all their connections alike: how many are half open, timers, counters, and outputs.

use std::collections::VecDeque;

use airwatt_base::{Instant, Seq, Timeout};

use super::ending::ConnectionEnding;
use super::note::{ConnectionFate, Note, Why};
use super::proxy_interface::{ConnectionId, ProxyCounters, ProxyTimer, SplitProxyOutput};
use super::timer_queue::TimerQueue;
use crate::e2tcp::Addresses;

/// Openings that went as plain TCP of which repetitions are known. A flood pushes them out, and then counts its repetitions.
const PASSED_KNOWN: usize = 512;

/// The book of a proxy.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionBook {
    /// Connections that do not stand on both legs yet.
    pub(super) half_open: usize,
    pub(super) is_draining: bool,
    pub(super) timers: TimerQueue<ProxyTimer>,
    pub(super) counters: ProxyCounters,
    /// Connections whose sockets the host has to look at: there is something to write, to close, or room to read.
    pub(super) changed: Vec<ConnectionId>,
    pub(super) outputs: VecDeque<SplitProxyOutput>,
    /// The last openings that went as plain TCP: addresses, and the number of the SYN.
    passed: VecDeque<(Addresses, Seq)>,
    /// Connections that are not relayed to their end.
    pub(super) notes: Vec<Note>,
}

impl ConnectionBook {
    /// The opening of a connection is held. Without packets it is idle at `idle_at`.
    pub(super) fn begin(&mut self, id: ConnectionId, idle_at: Instant) {
        self.timers.put(ProxyTimer::Idle(id), Some(idle_at));
        self.half_open += 1;
        self.counters.begun += 1;
    }

    /// A connection stands on both legs.
    pub(super) fn stand(&mut self, id: ConnectionId) {
        self.half_open -= 1;
        self.counters.relayed += 1;
        self.timers.put(ProxyTimer::Opening(id), None);
    }

    /// A connection has ended.
    pub(super) fn end(&mut self, id: ConnectionId, was_half_open: bool, ending: ConnectionEnding) {
        self.half_open -= usize::from(was_half_open);
        self.timers.put(ProxyTimer::Opening(id), None);
        self.timers.put(ProxyTimer::Idle(id), None);
        if let ConnectionEnding::Lost(bytes) | ConnectionEnding::Idle(bytes) = ending {
            self.counters.undelivered += bytes;
        }
    }

    /// Reports what has become of a connection.
    pub(super) fn note(&mut self, addresses: Addresses, fate: ConnectionFate, why: Why) {
        self.notes.push(Note { addresses, fate, why });
    }

    /// An opening goes as plain TCP. Its host may repeat the SYN, which is the same connection still.
    pub(super) fn pass(&mut self, addresses: Addresses, number: Seq, why: Why) {
        if self.passed.contains(&(addresses, number)) {
            return;
        }
        if self.passed.len() == PASSED_KNOWN {
            self.passed.pop_front();
        }
        self.passed.push_back((addresses, number));
        self.counters.passed += 1;
        self.counters.over_limit += u64::from(why.is_limit());
        self.note(addresses, ConnectionFate::Passed, why);
    }

    /// Takes a timer that is due.
    pub(super) fn expire(&mut self, now: Instant) -> Option<ProxyTimer> {
        let (_, timer) = self.timers.first().filter(|(at, _)| *at <= now)?;
        self.timers.put(timer, None);
        Some(timer)
    }

    /// Sets the timer of a connection that is not idle before `idle_at`. Returns false if it is idle already.
    pub(super) fn rearm_idle(&mut self, id: ConnectionId, idle_at: Instant, now: Instant) -> bool {
        let is_active = idle_at > now;
        if is_active {
            self.timers.put(ProxyTimer::Idle(id), Some(idle_at));
        }
        is_active
    }

    /// The time of the next timer.
    pub(super) fn next_timeout(&self) -> Option<Timeout<ProxyTimer>> {
        self.timers.first().map(|(at, reason)| Timeout { at, reason })
    }
}
