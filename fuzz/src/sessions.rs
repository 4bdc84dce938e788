//! Two ends of a session, and somebody between them: genuine datagrams changed, cut, repeated and dropped, payloads and passing
//! time, four bytes for each operation.

use std::net::SocketAddr;

use airwatt_base::{Instant, Machine, Span};
use airwatt_proto::session::{Input, Output, PeerConfig, SecretKey, Sessions};

use crate::Feature;

/// Operations of one input. Handshakes take most of the time.
const OPERATIONS_MAX: usize = 48;
/// Datagrams that are kept for repetition.
const RECORDED_MAX: usize = 64;

/// Both ends, and what was seen between them.
struct World {
    now: Instant,
    ends: [Sessions; 2],
    /// For which end a datagram was, and its bytes.
    recorded: Vec<(usize, Vec<u8>)>,
    /// Payloads sent, by their numbers, and whether they were delivered.
    payloads: Vec<bool>,
    is_cut: bool,
}

fn address(end: usize) -> SocketAddr {
    ([192, 0, 2, end as u8], 4_646).into()
}

fn end(own: u8, other: u8) -> Sessions {
    let secret = |of| SecretKey::from_bytes([of; 32]);
    let mut sessions = Sessions::new(secret(own), [own; 32], Span::from_secs(1_795_219_200));
    sessions.set_peers(vec![PeerConfig {
        public_key: secret(other).public(),
        preshared_key: None,
        endpoint: Some(address(usize::from(other))),
    }]);
    sessions
}

impl World {
    fn new() -> Self {
        Self {
            now: Instant::ZERO,
            ends: [end(0, 1), end(1, 0)],
            recorded: Vec::new(),
            payloads: Vec::new(),
            is_cut: false,
        }
    }

    fn put(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(input, self.now);
        self.drain();
    }

    fn send(&mut self, end: usize, length: u8) {
        let mut payload = (self.payloads.len() as u32).to_be_bytes().to_vec();
        payload.resize(4 + usize::from(length), 0);
        self.payloads.push(false);
        self.put(end, Input::Send { peer: 0, payload, expects_answer: length.is_multiple_of(2) });
    }

    fn drain(&mut self) {
        let mut on_the_way = Vec::new();
        loop {
            for end in 0..2 {
                while let Some(output) = self.ends[end].poll_output() {
                    match output {
                        Output::Transmit { bytes, .. } => on_the_way.push((1 - end, bytes)),
                        Output::Deliver { payload, .. } => {
                            let number = u32::from_be_bytes(payload[..4].try_into().expect("4 bytes"));
                            let delivered = self.payloads.get_mut(number as usize).expect("it was sent");
                            assert!(!*delivered, "payload {number} is delivered twice");
                            *delivered = true;
                        }
                        Output::Connected(_) | Output::Unanswered(..) | Output::Moved(..) => {}
                    }
                }
            }
            let Some((to, bytes)) = on_the_way.pop() else { return };
            if self.recorded.len() < RECORDED_MAX {
                self.recorded.push((to, bytes.clone()));
            }
            if !self.is_cut {
                self.ends[to]
                    .handle_input(Input::Datagram { from: address(1 - to), asked: None, bytes }, self.now);
            }
        }
    }

    fn pass(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(at) = self.ends.iter().filter_map(|end| Some(end.poll_timeout()?.at)).min()
            && at <= until
        {
            self.now = at.max(self.now);
            self.ends.iter_mut().for_each(|end| end.handle_timeout(at));
            self.drain();
        }
        self.now = until;
    }

    fn operate(&mut self, &[kind, which, place, value]: &[u8; 4], rest: &[u8]) {
        let recorded = self.recorded.get(usize::from(which) % self.recorded.len().max(1)).cloned();
        let from = address(usize::from(value));
        match (kind % 7, recorded) {
            (0, Some((to, mut bytes))) => {
                let place = usize::from(place) % bytes.len();
                bytes[place] ^= value;
                self.put(to, Input::Datagram { from, asked: None, bytes });
            }
            (1, Some((to, mut bytes))) => {
                bytes.truncate(usize::from(place));
                self.put(to, Input::Datagram { from, asked: None, bytes });
            }
            (2, _) => self.send(usize::from(which % 2), place),
            (3, _) => self.pass(Span::from_millis(u64::from(place) * u64::from(value))),
            (4, _) => self.is_cut = which.is_multiple_of(2),
            (5, _) => self.put(usize::from(which % 2), Input::Resumed(Span::from_secs(u64::from(value)))),
            (_, _) => {
                self.put(usize::from(which % 2), Input::Datagram { from, asked: None, bytes: rest.to_vec() })
            }
        }
    }
}

/// Payloads are delivered once or never, and only those that were sent; a path that works again carries new ones.
pub(crate) fn run(bytes: &[u8]) -> Feature {
    let mut world = World::new();
    world.send(0, 0);
    let (operations, _) = bytes.as_chunks::<4>();
    for (index, operation) in operations.iter().take(OPERATIONS_MAX).enumerate() {
        world.operate(operation, &bytes[4 * index + 4..]);
    }
    world.is_cut = false;
    world.pass(Span::from_secs(30));
    for end in 0..2 {
        // An end that expects no answer does not notice that the other one has lost its keys.
        world.send(end, 0);
        world.pass(Span::from_secs(10));
        let number = world.payloads.len() - 1;
        world.send(end, 0);
        world.pass(Span::from_secs(1));
        assert!(world.payloads[number] || world.payloads[number + 1], "the pair recovers");
    }
    let log = |count: u64| u64::from(u64::BITS - count.leading_zeros());
    let counts = world.ends.iter().flat_map(|end| {
        let (peer, strangers) = (end.peer(0).counts, end.strangers());
        [peer.handshakes, peer.replayed, peer.moves, peer.dropped, strangers.silent]
    });
    counts.fold(1, |feature: u64, count| feature << 3 | log(count).min(7))
}
