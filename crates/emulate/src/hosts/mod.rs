//! The hosts of a scenario: the server and one host for each station, as network namespaces with a TUN device.
//!
//! All share one network, 10.0.0.0/8: the server is 10.0.0.1, `station0` is 10.1.0.1, `station1` is 10.1.0.2, and so on
//! (10.1.1.0 follows 10.1.0.255). They resolve each other by name. Their kernels have default settings; changed settings
//! end with the namespace.

pub(crate) mod namespace;
pub(crate) mod process;

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use airwatt_linux::{link, tun};
use airwatt_sim::live::{self, OutsideHost};
use airwatt_sim::scenario::{Ready, Scenario};
use nix::errno::Errno;
use tun_rs::SyncDevice;

use crate::error::{EmulateError, failed};
use namespace::Namespace;

const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const STATION_NETWORK: u16 = 0x0a01;
const PREFIX: u8 = 8;
/// The network of all hosts.
pub(crate) const NETWORK: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), PREFIX);
/// Largest number of stations, to limit the number of devices.
const MOST_STATIONS: usize = 200;
const SERVER: &str = "server";
const STATION: &str = "station";

/// One host.
pub(crate) struct Member {
    pub(crate) host: OutsideHost,
    pub(crate) namespace: Namespace,
    /// The other end of the host's device.
    pub(crate) device: SyncDevice,
}

/// All hosts: the server first, then the stations by number.
pub(crate) struct Hosts {
    members: Vec<Member>,
}

impl Hosts {
    /// Builds the scenario's hosts.
    pub(crate) fn build(scenario: &Ready<'_>) -> Result<Self, EmulateError> {
        let stations = live::stations_of(scenario, 1).map_err(EmulateError::Input)?;
        if stations > MOST_STATIONS {
            return Err(EmulateError::Input(format!(
                "station.count: expected at most {MOST_STATIONS} in an emulation, got {stations}"
            )));
        }
        let hosts =
            std::iter::once(OutsideHost::Server).chain((0..stations as u32).map(OutsideHost::Station));
        let names: String = hosts.clone().map(|host| format!("{} {}\n", address(host), name(host))).collect();
        let names = format!("127.0.0.1 localhost\n{names}");
        let members = hosts.map(|host| Member::build(host, scenario, &names)).collect::<Result<_, _>>()?;
        Ok(Self { members })
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn get(&self, host: OutsideHost) -> &Member {
        &self.members[place(host)]
    }

    /// Returns the host of this name.
    pub(crate) fn named(&self, wanted: &str) -> Result<OutsideHost, EmulateError> {
        let found = self.members.iter().map(|member| member.host).find(|host| name(*host) == wanted);
        found.ok_or_else(|| {
            let last = self.members.len() - 2;
            let stations =
                if last == 0 { format!("{STATION}0") } else { format!("{STATION}0 to {STATION}{last}") };
            EmulateError::Input(format!(
                "expected a host of the scenario, {SERVER} or {stations}, got {wanted:?}"
            ))
        })
    }
}

/// Index of a host among all hosts.
pub(crate) const fn place(host: OutsideHost) -> usize {
    match host {
        OutsideHost::Server => 0,
        OutsideHost::Station(id) => id as usize + 1,
    }
}

/// Name of a host; stations are counted from 0.
pub(crate) fn name(host: OutsideHost) -> String {
    match host {
        OutsideHost::Server => SERVER.to_owned(),
        OutsideHost::Station(id) => format!("{STATION}{id}"),
    }
}

/// A host's address.
pub(crate) fn address(host: OutsideHost) -> Ipv4Addr {
    match host {
        OutsideHost::Server => SERVER_ADDRESS,
        OutsideHost::Station(id) => Ipv4Addr::from(u32::from(STATION_NETWORK) << 16 | (id + 1)),
    }
}

/// The host with this address, whether or not the scenario has it.
pub(crate) fn host_at(address: Ipv4Addr) -> Option<OutsideHost> {
    let bits = u32::from(address);
    if address == SERVER_ADDRESS {
        return Some(OutsideHost::Server);
    }
    let number = bits & 0xffff;
    (bits >> 16 == u32::from(STATION_NETWORK) && number > 0).then(|| OutsideHost::Station(number - 1))
}

impl Member {
    fn build(host: OutsideHost, scenario: &Scenario, names: &str) -> Result<Self, EmulateError> {
        let called = name(host);
        let namespace = Namespace::new(&called, names)?;
        let mtu = u16::try_from(scenario.tcp.mtu.as_bytes()).unwrap_or(u16::MAX);
        let device = namespace.run(move || -> Result<SyncDevice, EmulateError> {
            for (key, value) in SETTINGS {
                set(key, value).map_err(failed(format_args!("{called}: net.{key}")))?;
            }
            loopback_up()?;
            device(host, mtu)
        })?;
        Ok(Self { host, namespace, device })
    }
}

/// Name of a host's device inside the host.
pub(crate) const fn interface(host: OutsideHost) -> &'static str {
    match host {
        OutsideHost::Server => "eth0",
        OutsideHost::Station(_) => "wlan0",
    }
}

/// Creates the device through which a host reaches all others.
fn device(host: OutsideHost, mtu: u16) -> Result<SyncDevice, EmulateError> {
    let settings = tun::TunSettings {
        name: interface(host).to_owned(),
        addresses: vec![(address(host).into(), PREFIX)],
        mtu,
        offload: false,
    };
    tun::create(&settings).map_err(|error| match error.io().raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO) => {
            EmulateError::Missing(format!("/dev/net/tun: {error}; the kernel needs CONFIG_TUN"))
        }
        _ => error.into(),
    })
}

/// Brings the loopback device up, so that a host can reach itself.
fn loopback_up() -> Result<(), EmulateError> {
    let loopback = airwatt_linux::interface::index("lo");
    Ok(link::set_up(loopback.ok_or_else(|| EmulateError::Failed("lo: no such interface".to_owned()))?, true)?)
}

/// Kernel settings below `net` that make an idle host silent, and runs independent of earlier ones.
const SETTINGS: [(&str, &str); 4] = [
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    // The metrics of an earlier connection would influence a later one.
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/ping_group_range", "0 2147483647"),
];

/// Writes a setting of the calling thread's network namespace. A setting that this kernel lacks is ignored.
pub(crate) fn set(key: &str, value: &str) -> io::Result<()> {
    match fs::write(format!("/proc/sys/net/{key}"), value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_to_hosts() {
        for host in [OutsideHost::Server, OutsideHost::Station(0), OutsideHost::Station(199)] {
            assert_eq!(host_at(address(host)), Some(host));
        }
        assert_eq!(address(OutsideHost::Station(0)), Ipv4Addr::new(10, 1, 0, 1));
        for nobody in [[10, 1, 0, 0], [10, 0, 0, 2], [224, 0, 0, 22], [10, 255, 255, 255]] {
            assert_eq!(host_at(nobody.into()), None);
        }
    }

    #[test]
    fn stations_are_counted_from_zero() {
        assert_eq!(name(OutsideHost::Station(0)), "station0");
        assert_eq!(name(OutsideHost::Server), "server");
    }
}
