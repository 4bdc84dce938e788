//! Packets between their two forms: with the sequence numbers of scripts, which begin at zero, and as a stack has them.

use std::collections::BTreeMap;

use airwatt_base::Seq;
use airwatt_proto::tcp::linux::{Options, Packet, Stamps, bits};

use crate::script::{EcnField, PacketPattern, TcpOption};

/// The initial sequence number of the peer. Packets of scripts count from it. It makes sequence numbers wrap early.
const PEER_INITIAL: u32 = 0xffff_f000;

/// How a packet differs from its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// In PSH alone.
    Push,
    /// In this.
    In(&'static str),
}

/// The mapping between both forms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapping {
    /// The initial sequence number of the stack, once it has sent one.
    stack_initial: Option<Seq>,
    /// Time stamps of the stack by the values of the script.
    stamps: BTreeMap<u32, u32>,
    /// Microseconds in a tick of the script's time stamps, if these are compared.
    pub(crate) stamp_tick: Option<u32>,
}

impl Mapping {
    fn initial(&self) -> Seq {
        self.stack_initial.unwrap_or(Seq::new(0))
    }

    /// A packet that the script injects.
    pub(crate) fn injected(&self, pattern: &PacketPattern) -> Packet {
        let mut options = Options::default();
        for option in pattern.options.iter().flatten() {
            match option {
                TcpOption::Mss(mss) => options.mss = Some(*mss),
                TcpOption::Wscale(shift) => options.window_scale = Some(*shift),
                TcpOption::SackOk => options.sack_permitted = true,
                TcpOption::Sack(blocks) => {
                    for (start, end) in blocks {
                        options.sack.push(self.initial() + *start, self.initial() + *end);
                    }
                }
                TcpOption::Timestamp(value, echo) => {
                    options.timestamps = Some(Stamps { value: *value, echo: self.stamp(*echo) });
                }
            }
        }
        let ecn = match pattern.ecn {
            Some(EcnField::Is(bits)) => bits,
            Some(EcnField::Capable) => 2,
            None => 0,
        };
        Packet {
            seq: Seq::new(PEER_INITIAL) + pattern.start,
            ack: pattern.ack.map_or(Seq::new(0), |ack| self.initial() + ack),
            window: pattern.window.unwrap_or(0),
            len: pattern.len,
            flags: pattern.flags,
            ecn,
            urgent: pattern.urgent.unwrap_or(0),
            options,
        }
    }

    /// The stack's time stamp for one of the script.
    fn stamp(&self, script: u32) -> u32 {
        match (self.stamps.get(&script), self.stamps.iter().next()) {
            (Some(stamp), _) => *stamp,
            (None, Some((first, stamp))) if script != 0 => stamp.wrapping_add(script.wrapping_sub(*first)),
            _ => script,
        }
    }

    /// A packet of the stack in the form of scripts.
    pub(crate) fn written(&mut self, packet: &Packet) -> PacketPattern {
        if packet.has(bits::SYN) {
            self.stack_initial = Some(packet.seq);
        }
        let peer = Seq::new(PEER_INITIAL);
        let mut options = Vec::new();
        options.extend(packet.options.mss.map(TcpOption::Mss));
        options.extend(packet.options.window_scale.map(TcpOption::Wscale));
        options.extend(packet.options.sack_permitted.then_some(TcpOption::SackOk));
        options
            .extend(packet.options.timestamps.map(|stamps| TcpOption::Timestamp(stamps.value, stamps.echo)));
        if !packet.options.sack.is_empty() {
            let blocks = packet.options.sack.iter();
            let blocks = blocks.map(|(start, end)| (peer.distance_to(start), peer.distance_to(end)));
            options.push(TcpOption::Sack(blocks.collect()));
        }
        let has = |bit: u16| packet.has(bit);
        PacketPattern {
            ecn: Some(EcnField::Is(packet.ecn)),
            flags: packet.flags,
            start: self.initial().distance_to(packet.seq),
            len: packet.len,
            ack: has(bits::ACK).then(|| peer.distance_to(packet.ack)),
            window: Some(packet.window),
            urgent: has(bits::URG).then_some(packet.urgent),
            options: Some(options),
        }
    }

    /// Compares a packet of the stack with its pattern, and learns its time stamp.
    pub(crate) fn compare(&mut self, expected: &PacketPattern, seen: &PacketPattern) -> Option<Difference> {
        if expected.ecn.is_some_and(|ecn| match (ecn, seen.ecn) {
            (EcnField::Capable, Some(EcnField::Is(bits))) => bits != 1 && bits != 2,
            (ecn, seen) => Some(ecn) != seen,
        }) {
            return Some(Difference::In("the ECN field"));
        }
        if (expected.flags ^ seen.flags) & !bits::PSH != 0 {
            return Some(Difference::In("flags"));
        }
        if expected.start != seen.start || expected.len != seen.len {
            return Some(Difference::In("sequence numbers"));
        }
        if expected.ack != seen.ack {
            return Some(Difference::In("acknowledgement number"));
        }
        if expected.window.is_some() && expected.window != seen.window {
            return Some(Difference::In("window"));
        }
        if expected.urgent.unwrap_or(0) != seen.urgent.unwrap_or(0) {
            return Some(Difference::In("urgent pointer"));
        }
        if expected.options.is_some() && !self.options_fit(expected, seen) {
            return Some(Difference::In("options"));
        }
        ((expected.flags ^ seen.flags) & bits::PSH != 0).then_some(Difference::Push)
    }

    /// Options are the same apart from their order and padding. Values of time stamps are compared if the script wants it.
    fn options_fit(&mut self, expected: &PacketPattern, seen: &PacketPattern) -> bool {
        let (expected, seen) = (expected.options.as_deref(), seen.options.as_deref());
        let (expected, seen) = (expected.unwrap_or_default(), seen.unwrap_or_default());
        expected.len() == seen.len()
            && expected.iter().all(|option| match option {
                TcpOption::Timestamp(value, echo) => seen.iter().any(|other| match other {
                    TcpOption::Timestamp(stamp, real_echo) => {
                        self.stamps_fit((*value, *echo), (*stamp, *real_echo))
                    }
                    _ => false,
                }),
                _ => seen.contains(option),
            })
    }

    fn stamps_fit(&mut self, expected: (u32, u32), seen: (u32, u32)) -> bool {
        let fits = match self.stamp_tick {
            // The kernel's time stamps count milliseconds. One of them is tolerated beside the script's own tick.
            Some(tick) if !self.stamps.is_empty() => {
                let difference = self.stamp(expected.0).wrapping_sub(seen.0) as i32;
                difference.unsigned_abs() <= (tick / 1000).max(1) && expected.1 == seen.1
            }
            _ => true,
        };
        self.stamps.entry(expected.0).or_insert(seen.0);
        fits
    }
}

/// Writes a packet as scripts do.
pub(crate) fn write(packet: &PacketPattern) -> String {
    let mut text = String::new();
    match packet.ecn {
        Some(EcnField::Is(bits @ 1..=3)) => text += ["[ect1] ", "[ect0] ", "[ce] "][usize::from(bits) - 1],
        Some(EcnField::Capable) => text += "[ect01] ",
        _ => {}
    }
    text.extend(bits::LETTERS.iter().filter(|(bit, _)| packet.flags & bit != 0).map(|(_, letter)| *letter));
    if packet.flags == 0 {
        text.push('-');
    }
    text += &format!(" {}:{}({})", packet.start, packet.start.wrapping_add(packet.len), packet.len);
    if let Some(ack) = packet.ack {
        text += &format!(" ack {ack}");
    }
    if let Some(window) = packet.window {
        text += &format!(" win {window}");
    }
    if let Some(urgent) = packet.urgent {
        text += &format!(" urg {urgent}");
    }
    let options: Vec<String> = packet.options.iter().flatten().map(write_option).collect();
    match &packet.options {
        None => text += " <...>",
        Some(_) if !options.is_empty() => text += &format!(" <{}>", options.join(",")),
        Some(_) => {}
    }
    text
}

fn write_option(option: &TcpOption) -> String {
    match option {
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::Wscale(shift) => format!("wscale {shift}"),
        TcpOption::SackOk => "sackOK".to_owned(),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            format!("sack {}", blocks.join(" "))
        }
        TcpOption::Timestamp(value, echo) => format!("TS val {value} ecr {echo}"),
    }
}
