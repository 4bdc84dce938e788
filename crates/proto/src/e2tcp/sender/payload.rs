//! How much data a packet may carry, which a path can make less than the settings say.
//!
//! Somebody who knows the path says so ([`Sender::narrow`]), or it is found out, since not every router reports what it drops (RFC 2923).
//! As RFC 4821 does, the search takes the data themselves as probes. After [`TIMEOUTS`] timeouts in a row without an acknowledgement
//! of a full packet, the first one that is missing is divided: its first part carries [`SHARE`] of what a packet may. If that part arrives,
//! and by the next timeout no full packet has, although some were sent after it, packets carry as much as that part from then on. If it
//! does not arrive within two timeouts either, the next one is shorter. A burst of losses that ends lets full packets through, and changes nothing.
//! While it searches, timeouts are not doubled any further, so that it ends within some hundred of them: it sends a few packets for each.
//!
//! Left out: longer packets later. That a path has become wider is noticed at the next start.

use std::collections::VecDeque;

use super::{PacketState, Record, Sender};
use crate::e2tcp::timer::{E2tcpTimer, Timers};
use crate::tcp::SendBuffer;

/// Timeouts in a row before shorter packets are tried: with doubled timeouts the last one comes after 31 times the first.
const TIMEOUTS: u32 = 5;
/// The share of the payload that is tried next, a choice: from 1,500 bytes one step leads below the 1,280 that every path of IPv6 carries.
const SHARE: (u64, u64) = (3, 4);
/// The least payload that is tried, in bytes, a choice: no link of the Internet carries so little, but tunnels within tunnels that are
/// set up wrongly carry less than the 576 bytes that IPv4 asks of hosts (RFC 791, section 3.1).
const PAYLOAD_MIN: u64 = 100;

/// The search for a payload that arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PayloadSearch {
    /// Timeouts with a full packet on its way, since the last one arrived.
    timeouts: u32,
    /// The payload that is tried.
    tried: Option<u64>,
    /// Whether a packet with it, or more, has arrived.
    arrived: bool,
    /// Whether there is nothing shorter to try.
    is_over: bool,
}

impl PayloadSearch {
    /// Whether shorter packets are being tried.
    pub(super) const fn is_trying(&self) -> bool {
        self.tried.is_some() && !self.is_over
    }

    /// A packet with `len` bytes has arrived, of which a full one has `payload`.
    pub(super) fn note_arrived(&mut self, len: u64, payload: u64) {
        if len >= payload {
            *self = Self::default();
        } else if self.tried.is_some_and(|tried| len >= tried) {
            self.arrived = true;
        }
    }
}

impl<S: SendBuffer> Sender<S> {
    /// The largest payload of a packet.
    pub(in crate::e2tcp) const fn payload(&self) -> u64 {
        self.payload
    }

    /// Packets carry at most `payload` bytes from now on. Those on their way that carry more are lost, and sent again in parts.
    pub(in crate::e2tcp) fn narrow(&mut self, payload: u64, timers: &mut Timers) {
        if payload >= self.payload {
            return;
        }
        self.payload = payload;
        self.search = PayloadSearch::default();
        for index in (0..self.records.len()).rev() {
            let lost = match self.records[index].state {
                PacketState::Sent => PacketState::TimedOut,
                PacketState::Retransmitted => PacketState::Lost,
                other => other,
            };
            if self.divides(index, payload) {
                self.set_state(index, lost);
                self.divide(index, payload);
            }
        }
        for (state, timer) in [
            (PacketState::Sent, E2tcpTimer::Transmission),
            (PacketState::Retransmitted, E2tcpTimer::Retransmission),
        ] {
            if self.counts[state as usize] == 0 {
                timers.stop(timer);
            }
        }
    }

    /// A timeout has come: the search goes on, if full packets are missing.
    pub(super) fn search_payload(&mut self) {
        let missing = |record: &Record| {
            record.state != PacketState::Reported && u64::from(record.payload()) >= self.payload
        };
        if !self.searches_payload || !self.records.iter().any(missing) {
            return;
        }
        self.search.timeouts += 1;
        if self.search.timeouts < TIMEOUTS {
            return;
        }
        let tried = self.search.tried.unwrap_or(self.payload);
        if self.search.arrived {
            self.payload = tried;
            self.search = PayloadSearch::default();
            for index in (0..self.records.len()).rev() {
                self.divide(index, tried);
            }
            return;
        }
        let next = tried * SHARE.0 / SHARE.1;
        // The answer to what is tried may come after the first timeout, as with all that is sent again.
        if !(self.search.timeouts - TIMEOUTS).is_multiple_of(2) {
            return;
        }
        self.search.is_over = next < PAYLOAD_MIN;
        if self.search.is_over {
            return;
        }
        self.search.tried = Some(next);
        if let Some(index) = (0..self.records.len()).find(|index| self.divides(*index, next)) {
            self.divide(index, next);
        }
    }

    /// Whether a packet is missing that carries more than `payload`.
    fn divides(&self, index: usize, payload: u64) -> bool {
        let record = &self.records[index];
        record.state != PacketState::Reported && u64::from(record.payload()) > payload
    }

    /// Divides a packet that is missing into parts of at most `payload` bytes.
    fn divide(&mut self, index: usize, payload: u64) {
        if !self.divides(index, payload) {
            return;
        }
        let whole = self.records[index];
        if self.sample.is_some_and(|sample| sample.order == whole.order) {
            self.sample = None;
        }
        let starts = (whole.start..whole.end).step_by(payload as usize);
        let parts = starts.map(|start| Record { start, end: whole.end.min(start + payload), ..whole });
        let after = self.records.split_off(index + 1);
        self.records.pop_back();
        self.records.extend(parts.collect::<VecDeque<_>>());
        self.counts[whole.state as usize] += (self.records.len() - index - 1) as u32;
        self.records.extend(after);
    }
}
