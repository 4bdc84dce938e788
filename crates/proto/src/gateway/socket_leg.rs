//! The leg of a relay that is a socket of this host: what was read from it and not carried on yet, and what waits to be written.

use std::collections::VecDeque;

use airwatt_base::Instant;

use crate::end::Stream;

/// Bytes in the pieces in which they came.
#[derive(Clone, Debug, Default)]
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that were taken.
    taken: usize,
    bytes: u64,
}

impl Pieces {
    fn push(&mut self, piece: Vec<u8>) {
        if !piece.is_empty() {
            self.bytes += piece.len() as u64;
            self.pieces.push_back(piece);
        }
    }

    fn front(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| &piece[self.taken..])
    }

    /// Drops the first bytes, at most those of the first piece.
    fn consume(&mut self, bytes: usize) {
        self.taken += bytes;
        self.bytes -= bytes as u64;
        if self.pieces.front().is_some_and(|piece| piece.len() == self.taken) {
            self.pieces.pop_front();
            self.taken = 0;
        }
    }

    /// Takes up to `bytes`.
    fn take(&mut self, bytes: u64) -> Vec<u8> {
        let is_whole =
            self.taken == 0 && self.pieces.front().is_some_and(|piece| piece.len() as u64 == bytes);
        if is_whole {
            self.bytes -= bytes;
            return self.pieces.pop_front().unwrap_or_default();
        }
        let mut out = Vec::with_capacity(bytes.min(self.bytes) as usize);
        while (out.len() as u64) < bytes && self.bytes > 0 {
            let piece = self.front();
            let count = piece.len().min((bytes - out.len() as u64) as usize);
            out.extend_from_slice(&piece[..count]);
            self.consume(count);
        }
        out
    }
}

/// Most bytes that the host reads at once.
const READ_MAX: u64 = 65_536;

/// Bytes that the host may read from a socket, if `held` of at most `half` bytes wait at the other leg; 0 if there is no room.
pub(super) fn room(leg: &SocketLeg, held: u64, half: u64) -> u64 {
    if leg.peer_closed || leg.readable() > 0 {
        return 0;
    }
    let room = half.saturating_sub(held).min(READ_MAX);
    // Small pieces of room are left to grow.
    if room < READ_MAX.min(half / 8) { 0 } else { room }
}

/// A socket.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketLeg {
    inbound: Pieces,
    outbound: Pieces,
    /// Nothing more will be written.
    closing: bool,
    /// The other direction has ended.
    pub(super) peer_closed: bool,
    /// The end of what is written was passed to the socket.
    pub(super) shut: bool,
    /// The socket exists no longer.
    pub(super) is_over: bool,
    /// Bytes read from the socket and written to it so far.
    pub(super) received: u64,
    pub(super) sent: u64,
}

impl SocketLeg {
    pub(super) fn push(&mut self, data: Vec<u8>) {
        self.received += data.len() as u64;
        self.inbound.push(data);
    }

    /// The next bytes for the socket.
    pub(super) fn outgoing(&self) -> &[u8] {
        self.outbound.front()
    }

    /// The socket has taken the first `bytes` of [`SocketLeg::outgoing`].
    pub(super) fn note_written(&mut self, bytes: usize) {
        self.sent += bytes as u64;
        self.outbound.consume(bytes);
    }

    /// Whether the end of the stream is to be passed to the socket: everything is written.
    pub(super) fn is_to_shut(&self) -> bool {
        self.closing && !self.shut && self.outbound.bytes == 0
    }
}

impl Stream for SocketLeg {
    type Data = Vec<u8>;

    // The host opens and ends sockets; what it is to do is an output of the proxy.
    fn open(&mut self, _now: Instant) {}

    fn listen(&mut self, _now: Instant) {}

    fn write(&mut self, data: Vec<u8>, _now: Instant) {
        self.outbound.push(data);
    }

    fn read(&mut self, bytes: u64, _now: Instant) -> Vec<u8> {
        self.inbound.take(bytes)
    }

    fn close(&mut self, _now: Instant) {
        self.closing = true;
    }

    fn abort(&mut self, _now: Instant) {
        self.outbound = Pieces::default();
        self.closing = true;
    }

    fn readable(&self) -> u64 {
        self.inbound.bytes
    }

    fn unacknowledged(&self) -> u64 {
        self.outbound.bytes
    }
}
