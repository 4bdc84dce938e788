//! Relays of a gateway between hosts that count lengths, and the contract.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, Span};

use crate::any_end::{AnyEnd, AnyPacket};
use crate::e2tcp::{self, E2tcpConfig};
use crate::end::{End, EndOutput, Stream};
use crate::gateway::*;
use crate::tcp::{self, TcpConfig};

type Relayed = Gateway<AnyEnd>;

const MS: Span = Span::from_millis(1);

/// Settings of the wired leg: data waits in the receive buffer until the gateway has room for it.
fn wired_config() -> TcpConfig {
    TcpConfig { read_at_once: false, ..TcpConfig::default() }
}

fn gateway(buffer: u64) -> Relayed {
    let wired = tcp::Connection::established(wired_config(), &TcpConfig::default());
    let wireless = e2tcp::Connection::established(E2tcpConfig::default(), &E2tcpConfig::default(), 0);
    Gateway::new(buffer, true, [[AnyEnd::Tcp(Box::new(wired)), AnyEnd::E2tcp(Box::new(wireless))]])
}

/// A server of `bytes` bytes, a gateway and a station, all at the same place: packets take 1 ms. Returns what the station
/// received and the most that the gateway held.
fn relay(bytes: u64, buffer: u64) -> (u64, u64) {
    let mut gateway = gateway(buffer);
    let mut server: tcp::Connection = tcp::Connection::established(TcpConfig::default(), &wired_config());
    let mut station: e2tcp::Connection =
        e2tcp::Connection::established(E2tcpConfig::default(), &E2tcpConfig::default(), 0);
    let (mut now, mut received, mut held) = (Instant::ZERO, 0, 0);
    Stream::write(&mut server, bytes, now);
    let from = |from, packet| Input { relay: 0, from, packet };
    let mut inputs: Vec<Input<AnyPacket>> = Vec::new();
    let mut to_server: Vec<(tcp::Segment, ())> = Vec::new();
    let mut to_station: Vec<(e2tcp::E2tcpPacket, ())> = Vec::new();
    for _ in 0..100_000 {
        for segment in to_server.drain(..) {
            server.receive(segment, now);
        }
        for packet in to_station.drain(..) {
            station.receive(packet, now);
        }
        End::handle_timeout(&mut server, now);
        End::handle_timeout(&mut station, now);
        let mut arriving = std::mem::take(&mut inputs);
        while let Some(output) = End::poll(&mut server) {
            if let EndOutput::Transmit((segment, ())) = output {
                inputs.push(from(Side::Wired, AnyPacket::Tcp(segment, ())));
            }
        }
        while let Some(output) = station.poll_output() {
            match output {
                e2tcp::Output::Transmit(packet) => {
                    inputs.push(from(Side::Wireless, AnyPacket::E2tcp(packet, ())));
                }
                e2tcp::Output::Event(e2tcp::Event::Delivered { bytes }) => received += bytes,
                e2tcp::Output::Event(_) => {}
            }
        }
        for input in arriving.drain(..) {
            gateway.handle_input(input, now);
        }
        gateway.handle_timeout(now);
        while let Some(output) = gateway.poll_output() {
            match output {
                Output::Transmit(_, Side::Wired, AnyPacket::Tcp(segment, ())) => {
                    to_server.push((segment, ()))
                }
                Output::Transmit(_, Side::Wireless, AnyPacket::E2tcp(packet, ())) => {
                    to_station.push((packet, ()));
                }
                other => panic!("{other:?}"),
            }
        }
        held = held.max(gateway.leg(0, Side::Wireless).unacknowledged());
        if received == bytes {
            break;
        }
        now += MS;
    }
    (received, held)
}

#[test]
fn a_relay_carries_everything_within_its_buffer() {
    for buffer in [2_000, 64_000] {
        let (received, held) = relay(300_000, buffer);
        assert_eq!(received, 300_000);
        assert!(held <= buffer && held > buffer / 4, "{held} of {buffer}");
    }
}

#[test]
fn a_gateway_keeps_the_contract() {
    let at = |ms| Instant::from_millis(ms);
    let data = e2tcp::Header { sequence: Some(airwatt_base::Seq::new(1_000)), ..e2tcp::Header::new(0) };
    let data = AnyPacket::E2tcp(e2tcp::E2tcpPacket { header: data, len: 1_000 }, ());
    let segment = tcp::Segment {
        seq: TcpConfig::default().initial_sequence + 1,
        ack: wired_config().initial_sequence + 1,
        window: 10_000,
        len: 1_000,
        flags: tcp::Flags::ACK,
        ecn: tcp::Ecn::NONE,
        sack: tcp::SackBlocks::NONE,
        timestamps: None,
    };
    let input = |from, packet| Input { relay: 0, from, packet };
    let segment = AnyPacket::Tcp(segment, ());
    let inputs = [
        (at(0), input(Side::Wired, segment)),
        (at(5), input(Side::Wireless, data)),
        (at(900), input(Side::Wired, segment)),
    ];
    let outputs = check_machine(|| gateway(4_000), &inputs, at(10_000));
    for side in [Side::Wired, Side::Wireless] {
        let sent = |output: &Output<AnyPacket>| matches!(output, Output::Transmit(_, to, _) if *to == side);
        assert!(outputs.iter().any(|(_, output)| sent(output)), "{outputs:?}");
    }
}
