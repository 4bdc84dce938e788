//! Both sides of this end as one machine: the proxy, and the carrier that takes its messages to the peers and back.
//!
//! ```text
//!  message -> session -> datagram        datagram -> session -> message
//! ```
//! With `plain = true` there are no sessions: a datagram is the peer's whose address it comes from, or, at a base station, whose
//! `allowed_ips` contain that address. A base station alone has no peers.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use airwatt_base::{Instant, Machine, Span, Timeout, TimerKind as _};
use airwatt_proto::gateway::{ProxyTimer, SplitProxy, SplitProxyInput, SplitProxyOutput};
use airwatt_proto::session::{self, Sessions};

use crate::peering::Carrier;
use crate::settings::{Prefix, is_private};

/// An input.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A datagram from the network, for this address of this host.
    Datagram { from: SocketAddr, asked: Option<IpAddr>, bytes: Vec<u8> },
    /// Anything of this host for the proxy.
    Proxy(SplitProxyInput),
    /// The host was suspended for this time.
    Resumed(Span),
    /// The name of a peer has another address.
    Resolved(usize, SocketAddr),
    /// The time at which draining ends.
    DrainUntil(Instant),
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// A datagram for the network, from this address of this host or from that which the kernel chooses.
    Transmit { to: SocketAddr, source: Option<IpAddr>, bytes: Vec<u8> },
    /// Something for this host to do.
    Proxy(SplitProxyOutput),
    /// A peer has another address.
    Moved(usize, SocketAddr),
    /// A handshake with this peer was completed.
    Connected(usize),
    /// A peer has answered none of this many initiations.
    Unanswered(usize, u32),
    /// Draining has taken its time.
    Drained,
}

/// Why the machine wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Proxy(ProxyTimer),
    Session(session::Reason),
    Drain,
}

impl Reason {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Proxy(timer) => timer.name(),
            Self::Session(reason) => reason.name(),
            Self::Drain => "drain",
        }
    }
}

/// One end of a gateway.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) proxy: SplitProxy,
    pub(super) carrier: Carrier,
    /// The addresses for which each peer speaks.
    allowed_ips: Vec<Vec<Prefix>>,
    /// Authenticated datagrams of each peer so far, to notice those that carry no message, and messages of its handshakes.
    received: Vec<[u64; 2]>,
    /// Datagrams without a session that are no peer's.
    strange_datagrams: u64,
    /// Bytes of datagrams sent to and received from each peer, those of handshakes among them.
    pub(super) traffic: Vec<[u64; 2]>,
    /// Whether this end greets: the other end answers.
    greets: bool,
    drain_until: Option<Instant>,
    outputs: VecDeque<Output>,
}

impl Ends {
    /// `allowed_ips` are the addresses for which each peer speaks.
    pub(super) fn new(
        proxy: SplitProxy,
        carrier: Carrier,
        allowed_ips: Vec<Vec<Prefix>>,
        greets: bool,
    ) -> Self {
        let peers = allowed_ips.len();
        Self {
            proxy,
            carrier,
            allowed_ips,
            received: vec![[0; 2]; peers],
            strange_datagrams: 0,
            traffic: vec![[0; 2]; peers],
            greets,
            drain_until: None,
            outputs: VecDeque::new(),
        }
    }

    /// Datagrams that had no effect: forged, repeated, damaged, or not from a peer.
    pub(super) const fn strange_datagrams(&self) -> u64 {
        match &self.carrier {
            Carrier::Sealed(sessions) => sessions.strangers().silent,
            Carrier::Plain(_) => self.strange_datagrams,
        }
    }

    /// Whether a connection for this peer has to go as plain TCP, because nobody has heard of it.
    fn is_unknown(&self, peer: usize) -> bool {
        peer < self.allowed_ips.len() && self.carrier.endpoint(peer).is_none()
    }

    /// Takes the outputs of proxy and sessions until both are silent, also after calls of the proxy's own methods.
    pub(super) fn pump(&mut self, now: Instant) {
        loop {
            if let Some(output) = self.proxy.poll_output() {
                match output {
                    SplitProxyOutput::Transmit(peer, payload, expects_answer) => {
                        self.transmit(peer, payload, expects_answer, now);
                    }
                    other => self.outputs.push_back(Output::Proxy(other)),
                }
                continue;
            }
            let Some(output) = self.carrier.sessions().and_then(Sessions::poll_output) else { return };
            match output {
                session::Output::Transmit { peer, to, source, bytes } => {
                    if let Some(peer) = peer {
                        self.traffic[peer][0] += bytes.len() as u64;
                    }
                    self.outputs.push_back(Output::Transmit { to, source, bytes });
                }
                session::Output::Deliver { peer, payload } => {
                    self.proxy.handle_input(SplitProxyInput::Message(peer, payload), now);
                }
                session::Output::Connected(peer) => {
                    self.outputs.push_back(Output::Connected(peer));
                    self.proxy.handle_input(SplitProxyInput::SignOfLife(peer), now);
                    if self.greets {
                        self.proxy.handle_input(SplitProxyInput::Greet(peer), now);
                    }
                }
                session::Output::Unanswered(peer, count) => {
                    self.outputs.push_back(Output::Unanswered(peer, count));
                }
                session::Output::Moved(peer, to) => self.outputs.push_back(Output::Moved(peer, to)),
            }
        }
    }

    fn transmit(&mut self, peer: usize, payload: Vec<u8>, expects_answer: bool, now: Instant) {
        match &mut self.carrier {
            Carrier::Sealed(sessions) => {
                sessions.handle_input(session::Input::Send { peer, payload, expects_answer }, now);
            }
            Carrier::Plain(_) => {
                if let Some(to) = self.carrier.endpoint(peer) {
                    self.traffic[peer][0] += payload.len() as u64;
                    self.outputs.push_back(Output::Transmit { to, source: None, bytes: payload });
                }
            }
        }
    }

    fn receive(&mut self, from: SocketAddr, asked: Option<IpAddr>, bytes: Vec<u8>, now: Instant) {
        let length = bytes.len() as u64;
        match &mut self.carrier {
            Carrier::Sealed(sessions) => {
                sessions.handle_input(session::Input::Datagram { from, asked, bytes }, now);
                for peer in 0..self.received.len() {
                    let counts = sessions.peer(peer).counts;
                    let now_received = [counts.received, counts.handshake_messages];
                    let before = std::mem::replace(&mut self.received[peer], now_received);
                    if before != now_received {
                        self.traffic[peer][1] += length;
                    }
                    if before[0] != now_received[0] {
                        self.proxy.handle_input(SplitProxyInput::SignOfLife(peer), now);
                    }
                }
            }
            Carrier::Plain(endpoints) => {
                let speaks = |prefixes: &Vec<Prefix>| prefixes.iter().any(|own| own.contains(from.ip()));
                let found = endpoints
                    .iter()
                    .position(|endpoint| *endpoint == Some(from))
                    .or_else(|| self.allowed_ips.iter().position(speaks))
                    .filter(|_| is_private(from.ip()));
                let Some(peer) = found else {
                    self.strange_datagrams += 1;
                    return;
                };
                if self.carrier.set_endpoint(peer, from) {
                    self.outputs.push_back(Output::Moved(peer, from));
                }
                self.traffic[peer][1] += length;
                self.proxy.handle_input(SplitProxyInput::Message(peer, bytes), now);
            }
        }
    }
}

impl Machine for Ends {
    type Input = Input;
    type Output = Output;
    type Reason = Reason;

    fn handle_input(&mut self, input: Input, now: Instant) {
        match input {
            Input::Datagram { from, asked, bytes } => self.receive(from, asked, bytes, now),
            Input::Proxy(SplitProxyInput::Opening(peer, opening)) if self.is_unknown(peer) => {
                self.proxy.note_passed(&opening);
                self.outputs.push_back(Output::Proxy(SplitProxyOutput::Pass(opening)));
            }
            Input::Proxy(input) => self.proxy.handle_input(input, now),
            Input::Resumed(suspended) => self.carrier.resume(suspended, now),
            Input::Resolved(peer, address) => {
                self.carrier.set_endpoint(peer, address);
            }
            Input::DrainUntil(until) => {
                self.drain_until = Some(until);
                self.proxy.handle_input(SplitProxyInput::Drain, now);
            }
        }
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.drain_until.is_some_and(|until| until <= now) {
            self.drain_until = None;
            self.outputs.push_back(Output::Drained);
        }
        self.proxy.handle_timeout(now);
        if let Some(sessions) = self.carrier.sessions() {
            sessions.handle_timeout(now);
        }
        self.pump(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        let proxy = self.proxy.poll_timeout();
        let proxy = proxy.map(|timeout| Timeout { at: timeout.at, reason: Reason::Proxy(timeout.reason) });
        let session = self.carrier.poll_timeout();
        let session =
            session.map(|timeout| Timeout { at: timeout.at, reason: Reason::Session(timeout.reason) });
        let drain = self.drain_until.map(|at| Timeout { at, reason: Reason::Drain });
        proxy.into_iter().chain(session).chain(drain).min_by_key(|timeout| timeout.at)
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;
    use airwatt_proto::gateway::{Opening, SplitProxyConfig};
    use airwatt_proto::session::{PeerConfig, SecretKey};

    use super::*;

    const AT: fn(u64) -> Instant = Instant::from_millis;

    fn address(last: u8) -> SocketAddr {
        ([192, 168, 0, last], 4_646).into()
    }

    /// A SYN of 10.0.0.2 for 192.0.2.1, port 80.
    fn syn(port: u8) -> Opening {
        let ip = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 2, 192, 0, 2, 1];
        let tcp = [0, port, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0];
        Opening::parse(&[ip, tcp].concat()).expect("it is a SYN")
    }

    fn plain(endpoint: Option<SocketAddr>) -> Ends {
        let allowed_ips = vec!["10.0.0.2/32".parse().expect("a prefix")];
        let carrier = Carrier::Plain(vec![endpoint]);
        Ends::new(SplitProxy::new(SplitProxyConfig::default(), 1), carrier, vec![allowed_ips], false)
    }

    fn sealed(own: u8, other: u8) -> Ends {
        let key = |last| SecretKey::from_bytes([last; 32]);
        let mut sessions = Sessions::new(key(own), [own; 32], Span::ZERO);
        sessions.set_peers(vec![PeerConfig {
            public_key: key(other).public(),
            preshared_key: None,
            endpoint: Some(address(other)),
        }]);
        let proxy = SplitProxy::new(SplitProxyConfig::default(), 1);
        Ends::new(proxy, Carrier::Sealed(Box::new(sessions)), vec![Vec::new()], true)
    }

    fn inputs() -> Vec<(Instant, Input)> {
        let opening = |port| Input::Proxy(SplitProxyInput::Opening(0, syn(port)));
        vec![
            (AT(0), opening(1)),
            (AT(10), Input::Datagram { from: address(9), asked: None, bytes: vec![7; 40] }),
            (AT(20), Input::Resolved(0, address(3))),
            (AT(30), opening(2)),
            (AT(40), Input::Datagram { from: address(3), asked: None, bytes: vec![7; 40] }),
            (AT(5_000), Input::Resumed(Span::from_secs(60))),
            (AT(9_000), opening(3)),
            (AT(9_500), Input::DrainUntil(AT(20_000))),
            (AT(9_600), opening(4)),
        ]
    }

    /// What one end has sent the other one has received, with the handshake.
    #[test]
    fn datagrams_of_handshakes_count_in_both_directions() {
        let mut ends = [(1, 2), (2, 1)].map(|(own, other)| sealed(own, other));
        ends[0].handle_input(Input::Proxy(SplitProxyInput::Greet(0)), AT(1));
        ends[0].pump(AT(1));
        let mut carried = 0;
        let mut is_silent = [false; 2];
        while is_silent != [true; 2] {
            for from in 0..2 {
                is_silent[from] = true;
                while let Some(output) = ends[from].poll_output() {
                    if let Output::Transmit { bytes, .. } = output {
                        (is_silent[from], carried) = (false, carried + 1);
                        let from = address(from as u8 + 1);
                        let to = usize::from(from == address(1));
                        ends[to].handle_input(Input::Datagram { from, asked: None, bytes }, AT(1));
                    }
                }
            }
        }
        assert!(carried >= 3, "{carried}");
        let [[a_sent, a_received], [b_sent, b_received]] = [ends[0].traffic[0], ends[1].traffic[0]];
        assert!(a_sent > 148 && b_sent >= 92, "{a_sent} and {b_sent}");
        assert_eq!((a_sent, b_sent), (b_received, a_received));
    }

    #[test]
    fn an_end_keeps_the_contract_over_each_carrier() {
        let without_peers = || {
            let proxy = SplitProxy::alone(SplitProxyConfig::default());
            Ends::new(proxy, Carrier::Plain(Vec::new()), Vec::new(), false)
        };
        let makes: [fn() -> Ends; 3] = [|| plain(None), || plain(Some(address(2))), || sealed(1, 2)];
        for make in makes.into_iter().chain([without_peers as fn() -> Ends]) {
            let outputs = check_machine(make, &inputs(), AT(600_000));
            let passed = |port| {
                outputs.iter().any(|(_, out)| *out == Output::Proxy(SplitProxyOutput::Pass(syn(port))))
            };
            assert!(passed(4), "while it drains: {outputs:?}");
            assert!(outputs.contains(&(AT(20_000), Output::Drained)), "{outputs:?}");
        }
        let outputs = check_machine(|| plain(None), &inputs(), AT(600_000));
        assert_eq!(
            outputs.first(),
            Some(&(AT(0), Output::Proxy(SplitProxyOutput::Pass(syn(1))))),
            "of an unknown peer"
        );
        let sent = |outputs: &[(Instant, Output)]| {
            outputs.iter().any(|(_, out)| matches!(out, Output::Transmit { .. }))
        };
        assert!(sent(&outputs) && sent(&check_machine(|| sealed(1, 2), &inputs(), AT(600_000))));
    }
}
