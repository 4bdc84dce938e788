//! Tests of an access point with a queue for TCP's acknowledgements and one for all else.

use airwatt_base::{Instant, Seq, Span};
use airwatt_proto::tcp::{Ecn, Flags, SackBlocks, Segment};

use super::{AIR, drive, packet, sent, settings, us, with_access_point};
use crate::media::cell::CellOutput;
use crate::packet::{Packet, Payload};

/// An acknowledgement without data; its number is where it acknowledges to.
fn acknowledgement(number: u32) -> Packet {
    let segment = Segment {
        seq: Seq::new(0),
        ack: Seq::new(number),
        window: 65_535,
        len: 0,
        flags: Flags::ACK,
        ecn: Ecn::NONE,
        sack: SackBlocks::default(),
        timestamps: None,
    };
    Packet { payload: Payload::Tcp(segment), bytes: 40, ..packet(0) }
}

/// What a packet is: `D` with its number, or `A` with it.
fn name(packet: &Packet) -> String {
    match packet.payload {
        Payload::Datagram(number) => format!("D{number}"),
        Payload::Tcp(segment) => format!("A{}", segment.ack.value()),
        _ => unreachable!("there is nothing else"),
    }
}

/// Five packets of data and then four acknowledgements come at once, to an access point with room for six: what arrives in order, and
/// what is lost.
fn of_nine(queue: &str) -> (String, String) {
    let set = [AIR, &[("ap.queue", queue), ("ap.buffer", "6packets")]].concat();
    let (mut config, stations) = settings(&["active"], &set);
    config.power_save.first_beacon = Instant::from_secs(9);
    let mut cell = with_access_point(config, stations);
    let packets = (0..5).map(packet).chain((0..4).map(acknowledgement));
    let inputs: Vec<_> = packets.map(|packet| (us(0), sent([0, 1], packet))).collect();
    let (mut arrived, mut lost) = (Vec::new(), Vec::new());
    for output in drive(&mut cell, &inputs, Instant::ZERO + Span::from_secs(1), |_| None) {
        match output {
            CellOutput::Arrived { packet, .. } => arrived.push(name(&packet)),
            CellOutput::Lost(packet) => lost.push(name(&packet)),
            _ => {}
        }
    }
    (arrived.join(" "), lost.join(" "))
}

/// By hand: the first packet is a frame at once. Behind it each queue has room for three, so that the fifth packet of data and the fourth
/// acknowledgement find theirs full, and the queues take turns. One queue of six frames has no room for any acknowledgement but the first.
#[test]
fn each_kind_has_half_of_the_buffer_and_every_second_turn() {
    assert_eq!(of_nine("two-queues"), ("D0 A0 D1 A1 D2 A2 D3".into(), "D4 A3".into()));
    assert_eq!(of_nine("drop-tail"), ("D0 D1 D2 D3 D4 A0".into(), "A1 A2 A3".into()));
}
