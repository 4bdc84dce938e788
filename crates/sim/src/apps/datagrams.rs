//! Datagrams from an application: sent when they are written, and never again.

use airwatt_base::{Instant, Span};

use super::source::Source;

/// A flow of datagrams.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// When the application sends.
    pub source: Source,
    /// Bytes of headers that each packet carries.
    pub header_bytes: u32,
    /// When it began.
    pub started: Option<Instant>,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets lost on the way.
    pub lost: u64,
    /// Payload that arrived, in bytes.
    pub delivered: u64,
    /// Bytes of IP packets sent.
    pub bytes_sent: u64,
    /// Sum over arrived packets of the time from host to host.
    pub latency: Span,
    /// When the last packet arrived or was lost.
    pub settled: Option<Instant>,
}

impl Datagrams {
    /// Datagrams of `source`, with so many bytes of headers each.
    pub const fn new(source: Source, header_bytes: u32) -> Self {
        Self {
            source,
            header_bytes,
            started: None,
            sent: 0,
            arrived: 0,
            lost: 0,
            delivered: 0,
            bytes_sent: 0,
            latency: Span::ZERO,
            settled: None,
        }
    }

    /// The length of the IP packet that carries `payload` bytes, which is counted as sent.
    pub fn send(&mut self, payload: u64) -> u32 {
        let bytes = payload as u32 + self.header_bytes;
        self.sent += 1;
        self.bytes_sent += u64::from(bytes);
        bytes
    }

    /// A packet of `bytes` has arrived, `latency` after it was sent.
    pub fn arrive(&mut self, bytes: u32, latency: Span, now: Instant) {
        self.arrived += 1;
        self.delivered += u64::from(bytes - self.header_bytes);
        self.latency += latency;
        self.settle(now);
    }

    /// A packet was lost.
    pub fn lose(&mut self, now: Instant) {
        self.lost += 1;
        self.settle(now);
    }

    fn settle(&mut self, now: Instant) {
        if self.is_over() {
            self.settled = Some(now);
        }
    }

    /// Whether everything was sent and has arrived or been lost.
    pub fn is_over(&self) -> bool {
        self.source.is_exhausted() && self.arrived + self.lost >= self.sent
    }
}
