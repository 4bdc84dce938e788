//! The configuration of a gateway: a TOML file, checked as a whole before anything is changed.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use airwatt_base::settings::{self, Settings as _};
use airwatt_base::{Rate, Seq, Size, Span};
use airwatt_linux::metrics;
use airwatt_proto::e2tcp::{Addresses, E2tcpConfig};
use airwatt_proto::gateway::SplitProxyConfig;
use airwatt_proto::session::SecretKey;
use airwatt_proto::tunnel::wire::{OuterIp, carrier_bytes};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::Failure;
use crate::peering::{PeerSettings, Peering, SessionSettings};
use crate::settings::{
    Prefix, check_interface, check_port, from_text, input, parse_toml, radio, socket_address,
};

/// The first of three marks without a setting.
const FWMARK: u32 = 4_747;
/// Bytes of an outer packet on every path that matters here.
const OUTER_MTU: u16 = 1_500;
/// The longest E2TCP header of a data packet that acknowledges with two blocks and a window, and has no addresses.
const E2TCP_HEADER: u16 = 26;
/// The shortest time after which a silent peer is given up: questions and answers take some round trips.
const SILENCE_MIN: Span = Span::from_millis(500);
/// The range of outer packets.
const MTU_MIN: u16 = 576;

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    /// The base station: an access point, or a host through which its packets pass
    Base,
    /// The mobile
    Mobile,
    /// A base station for mobiles without a daemon: their TCP ends here, and E2TCP is not used
    BaseOnly,
}

impl Mode {
    /// Its name in configurations.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Mobile => "mobile",
            Self::BaseOnly => "base-only",
        }
    }
}

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// Name of the TUN device through which openings pass, and of the gateway.
    pub(super) interface: String,
    /// Which end this is; or `--mode`.
    pub(super) mode: Option<Mode>,
    /// Address and port of the UDP socket; a mobile's default is any port.
    #[serde(default, deserialize_with = "socket_address")]
    pub(super) listen: Option<SocketAddr>,
    /// This end's private key (`airwattd genkey`).
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(super) private_key: Option<SecretKey>,
    /// A file with it, relative to this one's folder.
    pub(super) private_key_file: Option<PathBuf>,
    /// Neither encrypted nor authenticated: for measurement, between private addresses.
    #[serde(default)]
    pub(super) plain: bool,
    /// Of a mobile: its addresses whose connections are relayed. Of a base station alone: those of the mobiles.
    #[serde(default)]
    pub(super) addresses: Vec<Prefix>,
    /// The first of three consecutive marks of packets, of which two are also numbers of routing tables.
    #[serde(default = "default_fwmark")]
    pub(super) fwmark: u32,
    /// Name or file of a radio profile, by which `status` estimates joules.
    pub(super) radio: Option<String>,
    /// Data rate of the radio's frames, for that estimate.
    #[serde(default = "default_rate")]
    pub(super) rate: Rate,
    /// Where metrics are served: `unix:PATH`, or a loopback address with its port, as `127.0.0.1:9470`.
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(super) metrics: Option<metrics::MetricsAddress>,
    /// Of a mobile: a socket by which programs of every user open connections with a reliability.
    pub(super) local: Option<PathBuf>,
    /// Limits.
    #[serde(default)]
    pub(super) gateway: Gateway,
    /// E2TCP over the wireless hop.
    #[serde(default)]
    pub(super) e2tcp: E2tcpConfig,
    /// The other end; a base station has one for each mobile.
    #[serde(default)]
    pub(super) peer: Vec<PeerSettings>,
}

/// Limits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Gateway {
    /// Data that a connection holds in each direction.
    #[serde(with = "settings::bytes")]
    #[schemars(with = "Size")]
    pub(super) buffer: u32,
    /// Number of connections that have not been set up on both sides.
    pub(super) half_open: usize,
    /// Time without a packet after which a connection is given up.
    pub(super) idle: Span,
    /// Silence of the base station after which a mobile's connection goes as plain TCP.
    pub(super) fallback: Span,
    /// Silence of the other end after which its connections are reset.
    pub(super) silence: Span,
    /// Time for which connections may finish after SIGTERM.
    pub(super) drain: Span,
    /// Largest outer packet in bytes. It is lowered for a peer whose path carries less, as the interface or a router says or as it turns
    /// out.
    pub(super) mtu: u16,
}

impl Default for Gateway {
    fn default() -> Self {
        let proxy = SplitProxyConfig::default();
        Self {
            buffer: proxy.buffer,
            half_open: proxy.half_open,
            idle: proxy.idle,
            fallback: proxy.fallback,
            silence: proxy.silence,
            drain: Span::from_secs(5),
            mtu: OUTER_MTU,
        }
    }
}

/// How long a gateway may take to end: its connections to finish, as long again for their tails, and 5 s for the rest.
pub(super) fn patience(drain: Span) -> Span {
    drain * 2 + Span::from_secs(5)
}

const fn default_fwmark() -> u32 {
    FWMARK
}

const fn default_rate() -> Rate {
    Rate::from_bps(54_000_000)
}

impl Peering for Config {
    fn parse(text: &str) -> Result<Self, Failure> {
        parse_toml(text)
    }

    fn key(&mut self) -> (Option<PathBuf>, &mut Option<SecretKey>) {
        (self.private_key_file.clone(), &mut self.private_key)
    }

    fn peers(&mut self) -> &mut [PeerSettings] {
        &mut self.peer
    }

    fn sessions(&self) -> SessionSettings<'_> {
        SessionSettings {
            private_key: self.private_key.as_ref(),
            key_file: self.private_key_file.as_deref(),
            listen: self.listen,
            peers: &self.peer,
        }
    }

    fn check(&self) -> Result<(), Failure> {
        check_interface(&self.interface)?;
        self.check_limits()?;
        match self.mode {
            Some(Mode::BaseOnly) => return self.check_alone(),
            Some(Mode::Base) => self.check_base()?,
            _ => self.check_mobile()?,
        }
        let sessions = self.sessions();
        sessions.check_names()?;
        radio(self.radio.as_deref())?;
        if self.plain { sessions.check_plain("plain", "gateway") } else { sessions.check_keys() }
    }
}

impl Config {
    /// Takes the mode of the command line, and checks the whole.
    pub(super) fn checked(mut self, mode: Option<Mode>) -> Result<Self, Failure> {
        match (self.mode, mode) {
            (Some(in_file), Some(given)) if in_file != given => {
                let got = given.name();
                return Err(input(format!("--mode: expected the mode of the configuration, got {got}")));
            }
            (None, None) => {
                return Err(input(
                    "mode: expected \"base\", \"mobile\" or \"base-only\", got none; hint: or --mode",
                ));
            }
            (None, given) => self.mode = given,
            _ => {}
        }
        self.check()?;
        Ok(self)
    }

    /// Whether this is a base station, with mobiles that speak E2TCP or not.
    pub(super) fn is_base(&self) -> bool {
        self.mode != Some(Mode::Mobile)
    }

    /// Whether this is a base station for mobiles without a daemon.
    pub(super) fn is_alone(&self) -> bool {
        self.mode == Some(Mode::BaseOnly)
    }

    fn check_limits(&self) -> Result<(), Failure> {
        let Gateway { buffer, half_open, silence, mtu, .. } = self.gateway;
        if !(4_096..=64 << 20).contains(&buffer) {
            let got = Size::from_bytes(buffer.into());
            return Err(input(format!("gateway.buffer: expected 4 KiB to 64 MiB, got {got}")));
        }
        if half_open == 0 {
            return Err(input("gateway.half_open: expected 1 or more connections, got 0"));
        }
        if silence < SILENCE_MIN {
            return Err(input(format!("gateway.silence: expected {SILENCE_MIN} or more, got {silence}")));
        }
        if !(MTU_MIN..=OUTER_MTU * 6).contains(&mtu) {
            return Err(input(format!("gateway.mtu: expected {MTU_MIN} to 9000 bytes, got {mtu}")));
        }
        if self.rate.as_bps() == 0 {
            return Err(input("rate: expected a rate above 0, got 0"));
        }
        if self.fwmark == 0 || self.fwmark > u32::MAX - 2 {
            return Err(input(format!("fwmark: expected 1 to 4294967293, got {}", self.fwmark)));
        }
        self.proxy(0, 0).wireless.check().map_err(|error| input(format!("e2tcp.{error}")))
    }

    fn check_base(&self) -> Result<(), Failure> {
        check_port(self.listen)?;
        if self.listen.is_none() {
            return Err(input("listen: expected the address and port of a base station, got none"));
        }
        if self.local.is_some() {
            return Err(input("local: expected none at a base station; hint: programs run at the mobile"));
        }
        if !self.addresses.is_empty() {
            return Err(input("addresses: expected none at a base station; hint: allowed_ips of each peer"));
        }
        if self.peer.is_empty() {
            return Err(input("peer: expected one mobile or more, got 0"));
        }
        for (index, peer) in self.peer.iter().enumerate() {
            if peer.allowed_ips.is_empty() {
                return Err(input(format!(
                    "peer.{index}.allowed_ips: expected the mobile's addresses, got none"
                )));
            }
            let earlier = self.peer[..index].iter().flat_map(|peer| &peer.allowed_ips);
            let mut shared = earlier.filter(|prefix| {
                peer.allowed_ips
                    .iter()
                    .any(|own| own.contains(prefix.address) || prefix.contains(own.address))
            });
            if let Some(twice) = shared.next() {
                return Err(input(format!(
                    "peer.{index}.allowed_ips: expected each address at one peer, got {twice} again"
                )));
            }
        }
        Ok(())
    }

    fn check_alone(&self) -> Result<(), Failure> {
        let unused = [
            ("listen", self.listen.is_some()),
            ("private_key", self.private_key.is_some() || self.private_key_file.is_some()),
            ("plain", self.plain),
            ("radio", self.radio.is_some()),
            ("local", self.local.is_some()),
            ("peer", !self.peer.is_empty()),
        ];
        if let Some((key, _)) = unused.iter().find(|(_, is_there)| *is_there) {
            return Err(input(format!(
                "{key}: expected none with mode = \"base-only\"; hint: E2TCP with a mobile's daemon is mode = \"base\""
            )));
        }
        if self.addresses.is_empty() {
            return Err(input("addresses: expected the addresses of mobiles, got none"));
        }
        Ok(())
    }

    fn check_mobile(&self) -> Result<(), Failure> {
        let [peer] = &self.peer[..] else {
            return Err(input(format!("peer: expected one base station, got {}", self.peer.len())));
        };
        if peer.endpoint.is_none() {
            return Err(input(
                "peer.0.endpoint: expected the address and port of the base station, got none",
            ));
        }
        if !peer.allowed_ips.is_empty() {
            return Err(input("peer.0.allowed_ips: expected none at a mobile; hint: addresses"));
        }
        if self.addresses.is_empty() {
            return Err(input("addresses: expected the mobile's own addresses, got none"));
        }
        Ok(())
    }

    // What follows from the settings.

    /// The addresses of all mobiles.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.addresses.iter().chain(self.peer.iter().flat_map(|peer| &peer.allowed_ips)).copied()
    }

    /// The addresses of mobiles without a daemon, whose connections end here.
    pub(super) fn mobiles(&self) -> Vec<Prefix> {
        if self.is_alone() { self.addresses.clone() } else { Vec::new() }
    }

    /// The IP versions of these: whether each is IPv6.
    pub(super) fn versions(&self) -> Vec<bool> {
        let is_there = |ipv6: &bool| self.prefixes().any(|prefix| prefix.address.is_ipv6() == *ipv6);
        [false, true].into_iter().filter(is_there).collect()
    }

    /// The peer through which a connection goes that is opened on this side.
    pub(super) fn peer_of(&self, addresses: Addresses) -> Option<usize> {
        if !self.is_base() {
            return self.is_own(addresses.sender().ip).then_some(0);
        }
        if self.is_alone() {
            // There is one set of mobiles, in place of a peer.
            return [addresses.sender().ip, addresses.receiver().ip]
                .iter()
                .any(|ip| self.is_own(*ip))
                .then_some(0);
        }
        self.peer.iter().position(|peer| peer.has(addresses.receiver().ip))
    }

    /// At a base station: the peer that opens this connection itself.
    pub(super) fn mobile_of(&self, addresses: Addresses) -> Option<usize> {
        self.peer.iter().position(|peer| self.is_base() && peer.has(addresses.sender().ip))
    }

    /// Whether the peer may open this connection: a mobile from its addresses, a base station to this host's.
    pub(super) fn permits(&self, peer: usize, addresses: Addresses) -> bool {
        if self.is_alone() {
            true
        } else if self.is_base() {
            self.peer[peer].has(addresses.sender().ip)
        } else {
            self.is_own(addresses.receiver().ip)
        }
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|prefix| prefix.contains(address))
    }

    /// Bytes around the data of a full packet of E2TCP. The IPv6 header is the longer one.
    const fn overhead(&self) -> u16 {
        carrier_bytes(OuterIp::V6, self.plain) as u16 + E2TCP_HEADER
    }

    /// Data of a full packet of E2TCP over a path whose packets have at most `path` bytes.
    pub(super) fn payload(&self, path: u16) -> u16 {
        path.clamp(MTU_MIN, self.gateway.mtu) - self.overhead()
    }

    /// The outer packet around a packet of E2TCP with so much data.
    pub(super) const fn outer(&self, payload: u16) -> u16 {
        payload + self.overhead()
    }

    /// The settings of the machine.
    pub(super) fn proxy(&self, epoch: u64, initial_sequence: u32) -> SplitProxyConfig {
        let Gateway { buffer, half_open, idle, fallback, silence, mtu, .. } = self.gateway;
        let wireless = E2tcpConfig {
            payload: self.payload(mtu),
            searches_payload: true,
            undoes_timeouts: true,
            obeys_peer: self.is_base(),
            initial_sequence: Seq::new(initial_sequence),
            // Identifiers are scarce: 256 for a mobile.
            linger: Span::from_secs(1),
            ..self.e2tcp.clone()
        };
        SplitProxyConfig {
            wireless,
            buffer,
            half_open,
            idle,
            fallback,
            silence,
            shows_presence: self.plain,
            asks_first: !self.is_base(),
            epoch,
            ..SplitProxyConfig::default()
        }
    }
}

#[cfg(test)]
mod tests;
