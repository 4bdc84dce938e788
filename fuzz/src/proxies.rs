//! What the fuzz target of split-connection proxies does with its bytes: eight for each operation of the path, of the hosts, or of
//! somebody who has the keys of an end and says anything.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine as _, Seq, Span};
use airwatt_proto::e2tcp::{Addresses, Endpoint};
use airwatt_proto::gateway::{
    ConnectFailure, ConnectionId, Opening, ProxyCounters, Shares, SplitProxy, SplitProxyConfig,
    SplitProxyInput as In, SplitProxyOutput as Out,
};
use etherparse::PacketBuilder;

const HALF_OPEN: usize = 8;
const BUFFER: u32 = 16_384;
/// Messages that are on the path at most.
const PATH_MAX: usize = 64;

struct Pair {
    ends: [SplitProxy; 2],
    path: [VecDeque<Vec<u8>>; 2],
    now: Instant,
}

impl Pair {
    fn new() -> Self {
        let end = |epoch| {
            let config = SplitProxyConfig {
                half_open: HALF_OPEN,
                buffer: BUFFER,
                epoch,
                shows_presence: epoch == 1,
                ..SplitProxyConfig::default()
            };
            SplitProxy::new(config, 1)
        };
        Self { ends: [end(0), end(1)], path: Default::default(), now: Instant::ZERO }
    }

    fn input(&mut self, end: usize, input: In) {
        self.ends[end].handle_input(input, self.now);
        self.settle(end);
    }

    fn settle(&mut self, end: usize) {
        for _ in 0..100_000 {
            while let Some(output) = self.ends[end].poll_output() {
                if let Out::Transmit(_, bytes, _) = output {
                    self.path[1 - end].push_back(bytes);
                }
            }
            let changed = self.ends[end].take_changed();
            if changed.is_empty() {
                self.path[1 - end].truncate(PATH_MAX);
                return self.check(end);
            }
            for id in changed {
                let length = self.ends[end].outgoing(id).len();
                if length > 0 {
                    self.ends[end].note_written(id, length, self.now);
                }
                if self.ends[end].is_to_shut(id) {
                    self.ends[end].note_shut(id, self.now);
                }
            }
        }
        panic!("never falls silent");
    }

    fn check(&self, end: usize) {
        let (connections, half_open) = self.ends[end].connections();
        assert!(half_open <= HALF_OPEN && half_open <= connections);
        for row in self.ends[end].rows() {
            let most = u64::from(BUFFER) + 65_536;
            assert!(row.held_bytes.iter().all(|held| *held <= most), "{:?}", row.held_bytes);
        }
    }
}

fn addresses(bits: u8) -> Addresses {
    let end = |last, port| Endpoint { ip: [10, 0, 0, last].into(), port };
    Addresses::new(end(1, 1_000 + u16::from(bits & 7)), end(100, 80)).expect("both are IPv4")
}

fn opening(bits: u8) -> Opening {
    let port = addresses(bits).sender().port;
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 100], 64).tcp(port, 80, 1, 60_000).syn();
    builder.write(&mut bytes, &[]).expect("a SYN fits");
    Opening::parse(&bytes).expect("a SYN")
}

/// Two proxies under these operations. Panics if one never falls silent, holds more than its limits, or keeps a connection after the
/// end. Returns what they counted.
pub(crate) fn run(bytes: &[u8]) -> [ProxyCounters; 2] {
    let mut pair = Pair::new();
    for (at, operation) in bytes.chunks_exact(8).enumerate() {
        let [kind, bits, which, size, changed, ..] = *operation else { continue };
        let (end, id) = (usize::from(bits & 1), ConnectionId::from(which % 16));
        match kind % 12 {
            0 => {
                pair.now += Span::from_millis(u64::from(size) * 20);
                for end in 0..2 {
                    pair.ends[end].handle_timeout(pair.now);
                    pair.settle(end);
                }
            }
            1 => pair.input(end, In::Opening(0, opening(bits >> 1))),
            2 => {
                let shares = Shares { wanted: size % 101, offered: which % 101 };
                pair.input(end, In::Open(0, addresses(bits >> 1), shares));
            }
            3..=5 => {
                if let Some(mut message) = pair.path[end].pop_front() {
                    if size > 250 {
                        let place = usize::from(which) % message.len().max(1);
                        message[place] ^= changed | 1;
                    }
                    if size < 200 {
                        pair.input(end, In::Message(0, message));
                    }
                }
            }
            6 => pair.input(end, if size & 1 == 0 { In::Connected(id) } else { In::Accepted(id) }),
            7 => {
                let room = pair.ends[end].room(id) as usize;
                pair.input(end, In::Received(id, vec![size; room.min(usize::from(size) * 64)]));
            }
            8 => pair.input(end, In::PeerClosed(id)),
            9 => {
                let failure = match size % 4 {
                    0 => ConnectFailure::Refused,
                    1 => ConnectFailure::TimedOut,
                    2 => ConnectFailure::Unreachable,
                    _ => ConnectFailure::Declined,
                };
                pair.input(end, In::Failed(id, failure));
            }
            10 => pair.input(end, In::Message(0, bytes[at * 8 + 1..].to_vec())),
            _ => {
                let number = Seq::new(u32::from_be_bytes([which, size, changed, which]));
                pair.input(
                    end,
                    match size {
                        255 => In::Drain,
                        230..=254 => In::PlainReset(0, addresses(bits >> 1), number),
                        200..=229 => In::PlainOpening(0, opening(bits >> 1)),
                        _ => In::Greet(0),
                    },
                );
            }
        }
    }
    for end in 0..2 {
        pair.input(end, In::Abort);
        assert_eq!(pair.ends[end].connections(), (0, 0));
    }
    pair.ends.map(|end| *end.counters())
}
