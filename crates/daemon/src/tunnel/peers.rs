//! The machines of all peers as one: each input and output has the place of its peer.
//!
//! The next timeout is found by looking at all peers, which is right for the tens of clients of one access point.

use airwatt_base::{Instant, Machine, Timeout};
use airwatt_proto::tunnel::{Datagram, Input, IpPacket, Output, Plain, Reason, Tunnel};

pub(super) type PeerInput = Input<IpPacket, Datagram<IpPacket>>;
pub(super) type PeerOutput = Output<IpPacket, Datagram<IpPacket>>;
pub(super) type PeerTunnel = Tunnel<Plain<IpPacket>>;

/// The tunnels to all peers.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    pub(super) tunnels: Vec<PeerTunnel>,
    /// Tunnels that may have outputs.
    touched: Vec<usize>,
}

impl Peers {
    pub(super) const fn new(tunnels: Vec<PeerTunnel>) -> Self {
        Self { tunnels, touched: Vec::new() }
    }
}

impl Machine for Peers {
    type Input = (usize, PeerInput);
    type Output = (usize, PeerOutput);
    type Reason = Reason;

    fn handle_input(&mut self, (peer, input): Self::Input, now: Instant) {
        self.tunnels[peer].handle_input(input, now);
        self.touched.push(peer);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (peer, tunnel) in self.tunnels.iter_mut().enumerate().rev() {
            if tunnel.poll_timeout().is_some_and(|timeout| timeout.at <= now) {
                tunnel.handle_timeout(now);
                self.touched.push(peer);
            }
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        while let Some(peer) = self.touched.last().copied() {
            if let Some(output) = self.tunnels[peer].poll_output() {
                return Some((peer, output));
            }
            self.touched.pop();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        self.tunnels.iter().filter_map(Machine::poll_timeout).min_by_key(|timeout| timeout.at)
    }
}

#[cfg(test)]
mod tests;
