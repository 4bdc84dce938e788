//! What the fuzz target of the base station does with its bytes: ten for each operation.

use std::net::{IpAddr, Ipv4Addr};

use airwatt_base::{Instant, Machine, Seq, Span};
use airwatt_proto::e2tcp::{
    Acknowledgement, Addresses, Block, ControlFlags, E2tcpPacket, Endpoint, Header, IpVersion, Level,
};
use airwatt_proto::gateway::{BaseStation, BaseStationConfig, BaseStationInput, BaseStationOutput, Counters};
use airwatt_proto::tcp::{Flags, ReceiveBytes, SackBlocks, Segment, SendBytes};

/// Largest payload of an input. Bytes of it tell their place.
const PAYLOAD_MAX: usize = 1_400;
const HALF_OPEN: usize = 8;
const BUFFER: u32 = 16_384;

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// A connection of one of two mobiles with one of four ports.
fn addresses(bits: u8) -> Addresses {
    let mobile = Endpoint { ip: address(1 + (bits & 1)), port: 1_000 + u16::from(bits >> 1 & 3) };
    let server = Endpoint { ip: address(100), port: 80 };
    Addresses::new(mobile, server).expect("both are IPv4")
}

/// A base station under these packets from either side and passing time. Panics if it never falls silent, holds more than its
/// limits, or keeps a connection for ever. Returns what it counted.
pub(crate) fn run(bytes: &[u8]) -> Counters {
    let config = BaseStationConfig { half_open: HALF_OPEN, buffer: BUFFER, ..BaseStationConfig::default() };
    let mut base: BaseStation<SendBytes, ReceiveBytes> = BaseStation::new(config);
    let mut now = Instant::ZERO;
    // What the base station has said last to either side, so that inputs can answer it.
    let mut heard = (Seq::new(0), Seq::new(0));
    for operation in bytes.chunks_exact(10) {
        let at = addresses(operation[1]);
        let payload = |len: u16| (0..len).map(|place| place as u8).collect::<Vec<u8>>();
        match operation[0] % 7 {
            0 => {
                now += Span::from_micros(u64::from(operation[2]) * 20_000);
                base.handle_timeout(now);
            }
            1 => base.handle_input(BaseStationInput::Unreachable(at), now),
            2 => base.handle_input(BaseStationInput::Mobile(at.sender().ip), now),
            3 | 4 => {
                let segment = segment(operation, heard.0);
                let input = BaseStationInput::FromWired(at.swapped(), segment, payload(segment.len));
                base.handle_input(input, now);
            }
            _ => {
                let packet = packet(operation, heard.1);
                let mobile = if operation[2] & 0x80 == 0 { at.sender().ip } else { address(3) };
                let carried = packet.header.addresses.map(|_| at);
                let input = BaseStationInput::FromMobile(mobile, packet, carried, payload(packet.len));
                base.handle_input(input, now);
            }
        }
        drain(&mut base, &mut heard);
        let (connections, half_open) = base.connections();
        assert!(
            half_open <= HALF_OPEN && connections <= 512,
            "{connections} connections, {half_open} half open"
        );
        if let Some(held) = base.held_bytes(at) {
            assert!(held.iter().all(|held| *held <= u64::from(BUFFER)), "{held:?} bytes held");
        }
    }
    for _ in 0..20_000 {
        let Some(timeout) = base.poll_timeout() else { break };
        base.handle_timeout(timeout.at);
        drain(&mut base, &mut heard);
    }
    assert_eq!(base.connections(), (0, 0), "silence ends every connection");
    *base.counters()
}

fn drain(base: &mut BaseStation<SendBytes, ReceiveBytes>, heard: &mut (Seq, Seq)) {
    for _ in 0..100_000 {
        match base.poll_output() {
            Some(BaseStationOutput::ToWired(_, segment, payload)) => {
                assert_eq!(usize::from(segment.len), payload.len());
                heard.0 = segment.seq + segment.sequence_length();
            }
            Some(BaseStationOutput::ToMobile(_, packet, addresses, payload)) => {
                assert_eq!(usize::from(packet.len), payload.len());
                assert_eq!(packet.header.addresses.is_some(), addresses.is_some());
                heard.1 = packet.header.sequence.unwrap_or(heard.1);
            }
            Some(_) => {}
            None => return,
        }
    }
    panic!("never falls silent");
}

fn length(operation: &[u8]) -> u16 {
    (usize::from(operation[3]) * 6).min(PAYLOAD_MAX) as u16
}

/// A segment of the wired host. It acknowledges near what it was told.
fn segment(operation: &[u8], told: Seq) -> Segment {
    let flags = Flags::from_wire(operation[2] & 0x1f);
    let opens = flags.has(Flags::SYN);
    let ack = told + u32::from(operation[5]) * 100;
    let mut sack = SackBlocks::NONE;
    if operation[6] > 0 {
        sack.push(ack + u32::from(operation[6]) * 10, ack + u32::from(operation[6]) * 10 + 500);
    }
    Segment {
        seq: Seq::new(if opens { 0 } else { 1 + u32::from(operation[4]) * 500 }),
        ack: if operation[7] & 1 == 0 { told } else { ack },
        window: u32::from(operation[8]) * 256,
        len: if opens || flags.has(Flags::RST) { 0 } else { length(operation) },
        flags,
        sack,
        timestamps: None,
    }
}

/// A packet of a mobile, as a decoder lets it through.
fn packet(operation: &[u8], told: Seq) -> E2tcpPacket {
    let control = match operation[2] % 8 {
        0 => ControlFlags::SYN,
        1 => ControlFlags::FIN,
        2 => ControlFlags::RST,
        _ => ControlFlags::NONE,
    };
    let len = if control == ControlFlags::NONE { length(operation) } else { 0 };
    let addressed = control.syn() || operation[9] & 1 == 0;
    let number = told - u32::from(operation[5] & 0x0f) * 100;
    let first = number + 2 + u32::from(operation[6]) * 250;
    let block = Block { first, last: first + 100 };
    let acknowledgement =
        Acknowledgement { number, blocks: [Some(block).filter(|_| operation[6] > 200), None] };
    let sequence = Seq::new(u32::from(operation[4]) * 500 + u32::from(len));
    let header = Header {
        addresses: addressed.then_some(IpVersion::V4),
        control,
        sequence: Some(sequence).filter(|_| len > 0 || control.syn() || control.fin()),
        acknowledgement: Some(acknowledgement).filter(|_| operation[7] & 1 == 0),
        window: Some(u16::from(operation[8]) * 200).filter(|_| operation[7] & 3 == 2),
        reliability: Level::new(operation[7]).filter(|_| control.syn()),
        ..Header::new(operation[9] >> 1 & 7)
    };
    E2tcpPacket { header, len }
}
