//! The handshake: what both ends offer and agree on, and how often they ask.

use super::{Connection, Output};
use crate::event::Event;
use crate::lifecycle::State;
use crate::tcp::linux::accurate::{Marks, Reports, echo_of};
use crate::tcp::linux::packet::{Packet, bits};
use crate::tcp::linux::queue::Record;
use crate::tcp::linux::rate::Snapshot;
use crate::tcp::linux::sender::{Outgoing, Push};
use crate::tcp::linux::space::FIRST;

/// Retransmissions of a SYN after one second each, before the time doubles.
const LINEAR: u32 = 4;
/// The timeout of a handshake, and the one after a handshake without a sample, in microseconds.
const HANDSHAKE: (u64, u64) = (1_000_000, 3_000_000);

impl Connection {
    pub(super) fn open(&mut self, now: u64) {
        self.state = State::SynSent;
        self.send_syn(now);
    }

    /// Sends the SYN, or the SYN-ACK, for the first time or again.
    pub(super) fn send_syn(&mut self, now: u64) {
        self.syns += 1;
        let sender = &mut self.sender;
        if sender.space.nxt == 0 {
            sender.space.nxt = 1;
            sender.queue.push(Record::new(0, 1, now));
        } else if !sender.queue.is_empty() {
            sender.queue.resend(0, now, true, Snapshot::default());
        }
        let shift = if self.passive || self.syns <= LINEAR + 1 { 0 } else { self.syns - LINEAR - 1 };
        let doublings = if self.passive { self.syns - 1 } else { shift };
        sender.rtt.set_rto(HANDSHAKE.0 << doublings.min(10));
        sender.set_timeout(now);
        let congestion = match (self.passive, self.config.ecn) {
            // Two that were lost may have been dropped for these bits.
            (true, _) if self.marks.is_some() && self.syns <= 2 => echo_of(self.syn_ecn),
            (true, _) if self.sender.congestion.ecn => bits::ECE,
            // A network that does not let such a SYN pass lets the next one.
            (false, 3) if self.syns == 1 => bits::ACE,
            (false, 1 | 4) if self.syns == 1 => bits::ECE | bits::CWR,
            _ => 0,
        };
        let flags = bits::SYN | if self.passive { bits::ACK } else { 0 } | congestion;
        self.push(Outgoing { start: 0, len: 0, flags, retransmission: self.syns > 1 }, now);
    }

    /// Nobody has answered: sends the SYN or the SYN-ACK again, or gives up.
    pub(super) fn repeat_syn(&mut self, now: u64) {
        let (active, passive) = self.config.syn_retries;
        let most = if self.passive { passive } else { active + LINEAR };
        if self.syns > most {
            return self.finish(Some(Event::TimedOut));
        }
        self.send_syn(now);
    }

    /// Takes over what the peer's SYN offers.
    fn agree(&mut self, packet: &Packet) {
        let options = &packet.options;
        self.receiver.synchronize(packet.seq);
        self.timestamps = self.config.timestamps && options.timestamps.is_some();
        self.echo = options.timestamps.map_or(0, |stamps| stamps.value);
        let scales = self.config.window_scaling.then_some(options.window_scale).flatten();
        self.shifts = scales.map_or((0, 0), |shift| (shift.min(14), self.receiver.scale));
        self.sender.queue.sack = self.config.sack && options.sack_permitted;
        let mss = u32::from(options.mss.unwrap_or(536)).min(self.config.mss);
        let stamps = if self.timestamps { 12 } else { 0 };
        self.sender.space.mss = mss.max(48) - stamps;
        self.receiver.begin(self.config.mss - stamps);
        self.sender.space.begin(u32::from(packet.window), 0);
    }

    pub(super) fn on_listen(&mut self, packet: &Packet, now: u64) {
        if packet.has(bits::RST) {
            return;
        }
        if packet.has(bits::ACK) || !packet.has(bits::SYN) {
            return self.push_reset(packet);
        }
        self.passive = true;
        self.agree(packet);
        let asked = packet.flags & bits::ACE;
        if self.config.ecn >= 3 && asked != 0 && asked != bits::ECE | bits::CWR {
            self.count_marks(packet.ecn, false);
        } else {
            self.sender.congestion.ecn = self.config.ecn > 0 && packet.has(bits::ECE | bits::CWR);
        }
        self.state = State::SynReceived;
        self.send_syn(now);
    }

    pub(super) fn on_syn_sent(&mut self, packet: &Packet, now: u64) {
        let acks = packet.has(bits::ACK);
        if acks && packet.ack != self.config.initial_sequence + 1 {
            if !packet.has(bits::RST) {
                self.push_reset(packet);
            }
            return;
        }
        if packet.has(bits::RST) {
            if acks {
                self.finish(Some(Event::Reset));
            }
            return;
        }
        if !packet.has(bits::SYN) || !acks {
            return;
        }
        self.agree(packet);
        let answer = packet.flags & bits::ACE;
        let mut echo = 0;
        match self.config.ecn {
            // What answers with the bits of the SYN reflects them without understanding.
            3 if answer != 0 && answer != bits::ECE && answer != bits::ACE => {
                self.count_marks(packet.ecn, answer == echo_of(0));
                echo = echo_of(packet.ecn);
            }
            1 | 3 | 4 => self.sender.congestion.ecn = packet.has(bits::ECE) && !packet.has(bits::CWR),
            _ => {}
        }
        self.receiver.begin_quick();
        self.handshake_acknowledged(now);
        self.connect(now);
        let start = self.sender.space.nxt;
        self.push(Outgoing { start, len: 0, flags: bits::ACK | echo, retransmission: false }, now);
        self.sender.push_pending(Push::Nagle, now);
    }

    /// AccECN is agreed on. The peer's SYN came with this ECN field, of which a mark may count.
    fn count_marks(&mut self, ecn: u8, counts: bool) {
        self.syn_ecn = ecn;
        self.marks = Some(Marks::new(ecn, counts));
        self.sender.reports = Some(Reports::default());
    }

    /// The SYN is acknowledged: the first sample of the round-trip time.
    pub(super) fn handshake_acknowledged(&mut self, now: u64) {
        let record = self.sender.queue.take_acknowledged(1);
        self.sender.space.una = FIRST;
        self.sender.space.nxt = FIRST;
        self.sender.timers.timer = None;
        self.sender.queue.delivered += 1;
        if let Some(record) = record.filter(|record| !record.ever) {
            let rtt = now - record.sent;
            self.sender.rtt.sample_minimum(rtt, now, false);
            self.sender.rtt.sample(rtt, FIRST, FIRST);
        } else {
            self.sender.rtt.set_rto(HANDSHAKE.1);
            if self.syns > 2 {
                self.sender.congestion.cwnd = 1;
            }
        }
    }

    pub(super) fn connect(&mut self, now: u64) {
        self.sender.begin(now);
        self.last_heard = now;
        let clock = self.sender.timers.clock;
        self.keep_alive = self.config.keep_alive.map(|each| clock.expiry(now, each.time.as_nanos() / 1000));
        self.state = if self.sender.writes.fin.is_some() { State::FinWait1 } else { State::Established };
        self.outputs.push_back(Output::Event(Event::Connected));
    }
}
