//! What the fuzz target of the E2TCP connection does with its bytes: eight for each operation. The tests of the crate replay
//! the corpus with the same code.

use airwatt_base::{Instant, Machine, Seq, Span};
use airwatt_proto::e2tcp::{
    Acknowledgement, Block, Connection, ControlFlags, E2tcpConfig, E2tcpPacket, Header, Input,
};

/// A connection that stands, under these packets, calls and passing time. Panics if it never falls silent.
pub(crate) fn run(bytes: &[u8]) {
    let config = E2tcpConfig { reliability: 80, read_at_once: false, ..E2tcpConfig::default() };
    let mut end: Connection = Connection::established(config.clone(), &config, 0);
    let mut now = Instant::ZERO;
    for operation in bytes.chunks_exact(8) {
        let number = |at: usize| u32::from(operation[at]) << 8 | u32::from(operation[at + 1]);
        match operation[0] % 6 {
            0 => end.handle_input(Input::Write(u64::from(number(1))), now),
            1 => end.handle_input(Input::Read(u64::from(number(1))), now),
            2 if operation[1] == 0 => end.handle_input(Input::Close, now),
            2 | 3 => {
                now += Span::from_micros(u64::from(number(1)) * 100);
                end.handle_timeout(now);
            }
            _ => end.handle_input(Input::Packet(packet(operation), ()), now),
        }
        let drained = (0..100_000).take_while(|_| end.poll_output().is_some()).count();
        assert!(drained < 100_000, "never falls silent");
    }
}

/// A packet near what the connection expects.
fn packet(operation: &[u8]) -> E2tcpPacket {
    let seq = |byte: u8| Seq::new(u32::from(byte) * 500);
    let bits = operation[1];
    let control = if bits & 0x30 == 0x30 { ControlFlags::FIN } else { ControlFlags::NONE };
    let len = if control.fin() || bits & 1 == 0 { 0 } else { u16::from(operation[2]) * 8 };
    let number = seq(operation[4]);
    let first = number + 2 + u32::from(operation[5]) * 250;
    let block = Block { first, last: first + u32::from(operation[6]) * 100 };
    let blocks = [Some(block).filter(|_| bits & 2 != 0), None];
    let header = Header {
        control,
        sequence: Some(seq(operation[3])).filter(|_| len > 0 || control.fin()),
        acknowledgement: Some(Acknowledgement { number, blocks }).filter(|_| bits & 4 != 0),
        window: Some(u16::from(operation[7]) * 100).filter(|_| bits & 0xc == 0xc),
        ..Header::new(0)
    };
    E2tcpPacket { header, len }
}
