//! The energy of a host beside its radio: power when idle and when busy, and the time for which packets keep the processor busy.
//!
//! A host has two powers, both of the whole host without its radio. Packets, bytes, SACK blocks and timeouts each cost processor
//! time ([`Host`]); the processor works through them one after another, and the time between is idle. The [`HostLedger`] keeps these
//! times as integers, so that they add up to the elapsed time exactly, and energy is their product with the powers, as in the
//! ledger of a radio. Three energies follow: the total; the idealized one, in which idle time counts nothing and busy time its whole
//! power (Singh 2002); and the marginal one, in which busy time counts only what exceeds the idle power.
//!
//! Units: times in nanoseconds, powers in nanowatts, costs per kilobyte for 1000 bytes of IP packets.
//!
//! Left out: the processor does not delay packets; frequency scaling, sleep states, caches and interrupt moderation; costs of the
//! application; and the copies of a gateway, whose packets have the addresses of the ends and count as forwarded.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Energy, Instant, Power, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The shipped files: stem and text. A test compares the list with the folder.
const SHIPPED: &[(&str, &str)] = &[
    ("laptop-2002", include_str!("../../../hosts/laptop-2002.toml")),
    ("microcontroller", include_str!("../../../hosts/microcontroller.toml")),
    ("phone", include_str!("../../../hosts/phone.toml")),
];

/// Largest time that a single event may cost: beyond it the unit is a mistake.
const MAX_COST: Span = Span::from_secs(1);
/// Largest power of a host.
const MAX_POWER: Power = Power::from_nanowatts(10_000_000_000_000);

/// The powers of a host, and the processor time that its packets cost.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The name that scenarios use.
    pub name: String,
    /// A description in one line.
    pub description: String,
    /// The source of the figures.
    pub source: String,
    /// Power while the processor is idle, without the radio.
    pub idle: Power,
    /// Power while the processor is busy, without the radio.
    pub active: Power,
    /// Protocol processing of each packet that is sent.
    pub packet_sent: Span,
    /// Protocol processing of each packet that is received.
    pub packet_received: Span,
    /// Copy between kernel and network interface, for each 1000 bytes sent or received.
    pub interface_kilobyte: Span,
    /// Copy between application and kernel, and the checksum, for each 1000 bytes; at the ends of a connection alone.
    pub copy_kilobyte: Span,
    /// Each SACK block that is received and entered into the scoreboard, or put into an acknowledgement.
    pub sack_block: Span,
    /// Each retransmission timeout.
    pub timeout: Span,
    /// Keys whose values no source gives, each with the reason for the value that stands in the file.
    #[serde(default)]
    pub assumed: BTreeMap<String, String>,
}

impl Host {
    /// The shipped profiles, by name in alphabetical order.
    pub fn shipped() -> &'static [Self] {
        static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| {
            let read = |(stem, text): &(&str, &str)| {
                toml::from_str(text).unwrap_or_else(|error| panic!("hosts/{stem}.toml: {error}"))
            };
            SHIPPED.iter().map(read).collect()
        });
        &HOSTS
    }

    /// The processor time of one activity of a packet of `bytes` bytes.
    fn kilobytes(cost: Span, bytes: u32) -> Span {
        Span::from_nanos(cost.as_nanos() * u64::from(bytes) / 1_000)
    }
}

/// The energy model of a host: a shipped profile, and values that take the place of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostEnergyConfig {
    /// The name of a shipped profile.
    pub profile: String,
    /// Power while the processor is idle, without the radio.
    pub idle: Option<Power>,
    /// Power while the processor is busy, without the radio.
    pub active: Option<Power>,
    /// Processor time for each packet that is sent.
    pub packet_sent: Option<Span>,
    /// Processor time for each packet that is received.
    pub packet_received: Option<Span>,
    /// Processor time for each 1000 bytes copied between kernel and network interface.
    pub interface_kilobyte: Option<Span>,
    /// Processor time for each 1000 bytes copied between application and kernel, with the checksum.
    pub copy_kilobyte: Option<Span>,
    /// Processor time for each SACK block received or sent.
    pub sack_block: Option<Span>,
    /// Processor time for each retransmission timeout.
    pub timeout: Option<Span>,
}

impl HostEnergyConfig {
    /// The host of these settings.
    ///
    /// # Errors
    /// Returns an error for an unknown profile, a value out of range, and a busy host that draws less than an idle one.
    pub fn host(&self) -> Result<Host, SettingError> {
        let hosts = Host::shipped();
        let Some(profile) = hosts.iter().find(|host| host.name == self.profile) else {
            let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
            return Err(SettingError::out_of_range(
                "profile",
                format!("{:?}", self.profile),
                names.join(", "),
            ));
        };
        let mut host = profile.clone();
        let costs = [
            ("packet_sent", self.packet_sent, &mut host.packet_sent),
            ("packet_received", self.packet_received, &mut host.packet_received),
            ("interface_kilobyte", self.interface_kilobyte, &mut host.interface_kilobyte),
            ("copy_kilobyte", self.copy_kilobyte, &mut host.copy_kilobyte),
            ("sack_block", self.sack_block, &mut host.sack_block),
            ("timeout", self.timeout, &mut host.timeout),
        ];
        for (key, given, cost) in costs {
            if let Some(given) = given {
                in_range(key, given, Span::ZERO, MAX_COST)?;
                *cost = given;
            }
        }
        for (key, given, power) in
            [("idle", self.idle, &mut host.idle), ("active", self.active, &mut host.active)]
        {
            if let Some(given) = given {
                in_range(key, given, Power::ZERO, MAX_POWER)?;
                *power = given;
            }
        }
        if host.active < host.idle {
            return Err(SettingError::out_of_range(
                "active",
                host.active,
                format!("at least idle, {}", host.idle),
            ));
        }
        Ok(host)
    }
}

impl Settings for HostEnergyConfig {
    fn check(&self) -> Result<(), SettingError> {
        self.host().map(|_| ())
    }
}

/// What keeps the processor of a host busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Protocol processing of packets.
    Protocol,
    /// Copies between kernel and network interface.
    Interface,
    /// Copies between application and kernel, and checksums.
    Copy,
    /// SACK blocks.
    Sack,
    /// Retransmission timeouts.
    Timeout,
}

impl Activity {
    /// Every activity, in the order of the results.
    pub const ALL: [Self; 5] = [Self::Protocol, Self::Interface, Self::Copy, Self::Sack, Self::Timeout];
}

/// A packet as a host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPacket {
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Whether the host is an end of its connection; otherwise the host forwards it.
    pub is_own: bool,
    /// SACK blocks in it.
    pub sack_blocks: u32,
}

/// The time that the processor of one host has been busy since a start, by activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLedger {
    host: Host,
    start: Instant,
    /// The time at which the processor has finished what it was given.
    free_at: Instant,
    busy: [Span; Activity::ALL.len()],
    closed: Option<Instant>,
}

impl HostLedger {
    /// Creates a ledger that covers the time from `start` on.
    pub const fn new(host: Host, start: Instant) -> Self {
        Self { host, start, free_at: start, busy: [Span::ZERO; Activity::ALL.len()], closed: None }
    }

    /// Charges a packet that the host sends at `now`.
    pub fn send(&mut self, packet: HostPacket, now: Instant) {
        self.spend(Activity::Protocol, self.host.packet_sent, now);
        self.carry(packet, now);
    }

    /// Charges a packet that the host receives at `now`.
    pub fn receive(&mut self, packet: HostPacket, now: Instant) {
        self.spend(Activity::Protocol, self.host.packet_received, now);
        self.carry(packet, now);
    }

    /// Charges `count` retransmission timeouts at `now`.
    pub fn time_out(&mut self, count: u64, now: Instant) {
        self.spend(Activity::Timeout, self.host.timeout * count, now);
    }

    /// Charges what packets cost in either direction. A host that forwards a packet does not process its SACK blocks.
    fn carry(&mut self, packet: HostPacket, now: Instant) {
        self.spend(Activity::Interface, Host::kilobytes(self.host.interface_kilobyte, packet.bytes), now);
        if packet.is_own {
            self.spend(Activity::Copy, Host::kilobytes(self.host.copy_kilobyte, packet.bytes), now);
            self.spend(Activity::Sack, self.host.sack_block * u64::from(packet.sack_blocks), now);
        }
    }

    /// Gives the processor `span` of work at `now`; it begins when the work before it is done.
    fn spend(&mut self, activity: Activity, span: Span, now: Instant) {
        self.free_at = self.free_at.max(now) + span;
        self.busy[activity as usize] += span;
    }

    /// Ends the account at `end`, or later when the processor has finished its work. Panics if a time would be charged twice.
    pub fn close(&mut self, end: Instant) {
        let end = end.max(self.free_at);
        let (busy, elapsed) = (self.busy_time(), end - self.start);
        assert!(busy <= elapsed, "a processor cannot have worked for {busy} in {elapsed}");
        self.closed = Some(end);
    }

    /// The profile.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The time that was spent on `activity`.
    pub const fn duration(&self, activity: Activity) -> Span {
        self.busy[activity as usize]
    }

    /// The time for which the processor was busy.
    pub fn busy_time(&self) -> Span {
        self.busy.into_iter().sum()
    }

    /// The time for which it was idle. Panics before [`HostLedger::close`].
    pub fn idle_time(&self) -> Span {
        let end = self.closed.expect("the account is closed");
        end - self.start - self.busy_time()
    }

    /// The exact energy of the whole time.
    pub fn energy(&self) -> Energy {
        self.host.idle * self.idle_time() + self.idealized_energy()
    }

    /// The energy of busy time alone, at its whole power (idealized energy of Singh 2002).
    pub fn idealized_energy(&self) -> Energy {
        self.host.active * self.busy_time()
    }

    /// The energy beyond that of an idle host.
    pub fn marginal_energy(&self) -> Energy {
        self.idealized_energy().saturating_sub(self.host.idle * self.busy_time())
    }
}

/// How long a host was idle and busy, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HostSeconds {
    /// Idle.
    pub idle: f64,
    /// Protocol processing of packets.
    pub protocol: f64,
    /// Copies between kernel and network interface.
    pub interface: f64,
    /// Copies between application and kernel, and checksums.
    pub copy: f64,
    /// SACK blocks.
    pub sack: f64,
    /// Retransmission timeouts.
    pub timeout: f64,
}

impl HostSeconds {
    /// The times of a closed ledger.
    pub fn of(ledger: &HostLedger) -> Self {
        let seconds = |activity| ledger.duration(activity).as_secs_f64();
        Self {
            idle: ledger.idle_time().as_secs_f64(),
            protocol: seconds(Activity::Protocol),
            interface: seconds(Activity::Interface),
            copy: seconds(Activity::Copy),
            sack: seconds(Activity::Sack),
            timeout: seconds(Activity::Timeout),
        }
    }
}
