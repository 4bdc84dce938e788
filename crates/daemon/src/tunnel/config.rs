//! The configuration of a tunnel: a TOML file, checked as a whole before anything is changed.
//!
//! Keys are in the file, or the private one in a file of its own. With `tunnel.plain` there are none, and addresses have to be
//! private.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::path::PathBuf;

use airwatt_base::settings::Settings as _;
use airwatt_linux::metrics;
use airwatt_proto::session::SecretKey;
use airwatt_proto::tunnel::TunnelConfig;
use airwatt_proto::tunnel::wire::{OuterIp, carrier_bytes};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::Failure;
use crate::peering::{PeerSettings, Peering, SessionSettings};
use crate::settings::{
    Prefix, check_interface, check_port, from_text, input, parse_toml, radio, socket_address,
};

/// Most prefixes in a hint.
const HINTED_MAX: usize = 24;
/// Bytes of an outer packet on every path that matters here.
const OUTER_MTU: u32 = 1_500;
/// The mark without a setting: as wg-quick, the number is that of a port.
const FWMARK: u32 = 4_646;
/// The smallest MTU of IPv6 (RFC 8200, section 5), and of hosts with IPv4 (RFC 791: 576 bytes).
const MTU_MIN_V6: u16 = 1_280;
const MTU_MIN_V4: u16 = 576;

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum End {
    Client,
    Concentrator,
}

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// Name of the TUN device.
    pub(super) interface: String,
    /// Addresses of this host in the tunnel.
    pub(super) addresses: Vec<Prefix>,
    /// Which end this is.
    pub(super) end: End,
    /// Address and port of the UDP socket; a client's default is any port of the address family of its peer.
    #[serde(default, deserialize_with = "socket_address")]
    pub(super) listen: Option<SocketAddr>,
    /// This end's private key (`airwattd genkey`).
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(super) private_key: Option<SecretKey>,
    /// A file with it, relative to this one's folder.
    pub(super) private_key_file: Option<PathBuf>,
    /// Mark of the packets of the UDP socket, and number of the routing table and of the rules, if all destinations are
    /// routed into the tunnel.
    #[serde(default = "default_fwmark")]
    pub(super) fwmark: u32,
    /// Largest inner packet in bytes; by default what fits into an outer packet of 1,500 bytes.
    pub(super) mtu: Option<u16>,
    /// Bytes of outer packets that the narrowest path to a peer carries, as far as that is known.
    #[serde(skip)]
    pub(super) path: Option<u16>,
    /// Whether this host forwards packets between the tunnel and its other interfaces, for each IP version of `addresses`.
    #[serde(default)]
    pub(super) forward: bool,
    /// Name or file of a radio profile, by which `show` estimates what the bursts have saved.
    pub(super) radio: Option<String>,
    /// Where metrics are served: `unix:PATH`, or a loopback address with its port, as `127.0.0.1:9470`.
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(super) metrics: Option<metrics::MetricsAddress>,
    /// How packets are sent in bursts.
    #[serde(default)]
    pub(super) tunnel: TunnelConfig,
    /// The other end; a concentrator has one for each client.
    #[serde(default)]
    pub(super) peer: Vec<PeerSettings>,
}

const fn default_fwmark() -> u32 {
    FWMARK
}

impl Peering for Config {
    fn parse(text: &str) -> Result<Self, Failure> {
        let config: Self = parse_toml(text)?;
        config.check()?;
        Ok(config)
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
        self.tunnel.check().map_err(|error| input(format!("tunnel.{error}")))?;
        check_interface(&self.interface)?;
        if self.peer.is_empty() || self.end == End::Client && self.peer.len() > 1 {
            let expected = if self.end == End::Client { "one peer" } else { "one peer or more" };
            return Err(input(format!("peer: expected {expected}, got {}", self.peer.len())));
        }
        if self.end == End::Client && self.peer[0].endpoint.is_none() {
            return Err(input(
                "peer.0.endpoint: expected the address and port of the concentrator, got none",
            ));
        }
        if self.end == End::Concentrator && self.listen.is_none() {
            return Err(input("listen: expected the address and port of a concentrator, got none"));
        }
        if self.end == End::Concentrator {
            check_port(self.listen)?;
        }
        radio(self.radio.as_deref())?;
        self.check_mtu()?;
        self.check_peers()?;
        let sessions = self.sessions();
        if self.tunnel.plain { sessions.check_plain("tunnel.plain", "tunnel") } else { sessions.check_keys() }
    }
}

impl Config {
    fn check_mtu(&self) -> Result<(), Failure> {
        let fits = self.largest_mtu();
        let least = self.least_mtu();
        match self.mtu {
            Some(mtu) if !(least..=fits).contains(&mtu) => {
                Err(input(format!("mtu: expected {least} to {fits} bytes, got {mtu}")))
            }
            _ => Ok(()),
        }
    }

    fn check_peers(&self) -> Result<(), Failure> {
        self.sessions().check_names()?;
        for (index, peer) in self.peer.iter().enumerate() {
            if peer.allowed_ips.is_empty() {
                return Err(input(format!(
                    "peer.{index}.allowed_ips: expected the prefixes that the peer may send from, got none"
                )));
            }
            let earlier = self.peer[..index].iter().flat_map(|peer| &peer.allowed_ips);
            let mut prefixes = earlier.map(|prefix| prefix.network());
            if let Some(twice) =
                prefixes.find(|prefix| peer.allowed_ips.iter().any(|own| own.network() == *prefix))
            {
                return Err(input(format!(
                    "peer.{index}.allowed_ips: expected each prefix at one peer, got {twice} again"
                )));
            }
            // Outer packets would be routed into the tunnel that they leave. If all destinations are, a mark prevents it.
            for endpoint in self.peer.iter().filter_map(PeerSettings::address) {
                let mut prefixes = peer.allowed_ips.iter().filter(|prefix| prefix.length > 0);
                if let Some(prefix) = prefixes.find(|prefix| prefix.contains(endpoint.ip())) {
                    let all = if endpoint.is_ipv6() { "::/0" } else { "0.0.0.0/0" };
                    // All but the endpoint's address, if that fits in a line.
                    let rest = prefix.without(endpoint.ip());
                    let rest: Vec<String> = rest.iter().map(|prefix| format!("\"{prefix}\"")).collect();
                    let hint = match rest.len() {
                        1..=HINTED_MAX => format!("; hint: {}", rest.join(", ")),
                        _ => String::new(),
                    };
                    return Err(input(format!(
                        "peer.{index}.allowed_ips: expected prefixes without the endpoint {endpoint}, or all destinations ({all}), got {prefix}{hint}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The IP version of outer packets.
    pub(super) fn outer(&self) -> OuterIp {
        let address = self.listen.or_else(|| self.peer.iter().find_map(PeerSettings::address));
        address.map_or(OuterIp::V4, |address| OuterIp::of(address.ip()))
    }

    /// Largest inner packet in bytes that fits into an outer one.
    fn largest_mtu(&self) -> u16 {
        (OUTER_MTU - self.tunnel.overhead_bytes(self.outer())) as u16
    }

    /// Has the largest inner packet follow what outer packets of `path` bytes carry. Returns whether more or less fits than before; it
    /// never becomes less than hosts must accept.
    pub(super) fn follow_path(&mut self, path: u16) -> Ordering {
        let before = self.fitting();
        self.path = Some(path);
        self.fitting().cmp(&before)
    }

    /// Bytes of the largest outer packet that the tunnel has a use for.
    pub(super) fn outer_mtu(&self) -> u16 {
        self.mtu.unwrap_or_else(|| self.largest_mtu()) + self.tunnel.overhead_bytes(self.outer()) as u16
    }

    /// Payload of the largest datagram that fits the path, if inner packets of this MTU may need larger ones.
    pub(super) fn fragment_above(&self) -> Option<usize> {
        let overhead = self.tunnel.overhead_bytes(self.outer());
        let headers = carrier_bytes(self.outer(), true);
        (self.fitting() < self.mtu()).then(|| (u32::from(self.fitting()) + overhead - headers) as usize)
    }

    /// The smallest MTU that the IP versions of the device permit.
    fn least_mtu(&self) -> u16 {
        let is_v6 = self.addresses.iter().any(|prefix| prefix.address.is_ipv6());
        if is_v6 { MTU_MIN_V6 } else { MTU_MIN_V4 }
    }

    /// Largest inner packet in bytes. Outer packets around it may be larger than the path carries, where IPv6 permits no smaller ones.
    pub(super) fn mtu(&self) -> u16 {
        self.fitting().max(self.least_mtu())
    }

    /// Largest inner packet in bytes whose outer packet fits the path: segments and bundles are kept below it.
    pub(super) fn fitting(&self) -> u16 {
        let set = self.mtu.unwrap_or_else(|| self.largest_mtu());
        let overhead = self.tunnel.overhead_bytes(self.outer()) as u16;
        // Headers of TCP and data of an IPv4 packet have room on any path (RFC 791).
        self.path.map_or(set, |path| set.min(path.saturating_sub(overhead).max(MTU_MIN_V4)))
    }

    /// Bytes of inner packets that may share a datagram. A path whose packets are smaller than usual has a smaller `mtu`.
    pub(super) fn bundle_bytes(&self) -> u32 {
        self.tunnel.bundle_bytes(self.outer()).min(u32::from(self.fitting()))
    }

    /// The IP versions of which all destinations are routed into the tunnel: whether each is IPv6.
    pub(super) fn default_routes(&self) -> Vec<bool> {
        let prefixes: Vec<&Prefix> = self.peer.iter().flat_map(|peer| &peer.allowed_ips).collect();
        let is_whole = |ipv6: &bool| {
            prefixes.iter().any(|prefix| prefix.length == 0 && prefix.address.is_ipv6() == *ipv6)
        };
        [false, true].into_iter().filter(is_whole).collect()
    }

    /// The prefixes of the peers that no address of the device leads to. All destinations of an IP version are left to the rules.
    pub(super) fn routes(&self) -> Vec<Prefix> {
        let covered = |prefix: &Prefix| self.addresses.iter().any(|own| own.network() == *prefix);
        let mut routes: Vec<Prefix> =
            self.peer.iter().flat_map(|peer| &peer.allowed_ips).map(|prefix| prefix.network()).collect();
        routes.retain(|prefix| prefix.length > 0 && !covered(prefix));
        routes.dedup();
        routes
    }
}

#[cfg(test)]
mod tests;
