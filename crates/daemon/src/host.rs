//! The host as it is found: privileges, namespaces, and settings under `/proc/sys`.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

const DEFAULT_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Bits of capabilities that commands here ask for (capabilities(7)).
const CAPABILITIES: [(&str, u32); 2] = [("CAP_SYS_ADMIN", 21), ("CAP_NET_ADMIN", 12)];

/// An error that names the first privilege that is missing.
pub(crate) fn need_privileges() -> Result<(), Failure> {
    let status = fs::read_to_string("/proc/self/status")
        .map_err(|error| Failure::of_io("/proc/self/status", &error))?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    match CAPABILITIES.iter().find(|(_, bit)| effective & (1 << bit) == 0) {
        None => Ok(()),
        Some((name, _)) => {
            Err(Failure::Missing(format!("the capability {name} is missing: run this as root")))
        }
    }
}

/// The network namespace of this process, by its inode.
pub(crate) fn network_namespace() -> Result<u64, Failure> {
    let link =
        fs::read_link("/proc/self/ns/net").map_err(|error| Failure::of_io("/proc/self/ns/net", &error))?;
    let text = link.to_string_lossy().into_owned();
    text.trim_start_matches("net:[")
        .trim_end_matches(']')
        .parse()
        .map_err(|_| Failure::Failed(format!("/proc/self/ns/net: {text}: a namespace was expected")))
}

/// The congestion control that sockets of this network namespace have unless something else is chosen for them.
pub(crate) fn default_control() -> Result<String, Failure> {
    fs::read_to_string(DEFAULT_CONTROL)
        .map(|text| text.trim().to_owned())
        .map_err(|error| Failure::of_io(DEFAULT_CONTROL, &error))
}

/// Chooses it.
pub(crate) fn set_default_control(name: &str) -> Result<(), Failure> {
    crate::output::say(&format!("[#] sysctl -w net.ipv4.tcp_congestion_control={name}"));
    fs::write(DEFAULT_CONTROL, name).map_err(|error| Failure::of_io(DEFAULT_CONTROL, &error))
}

/// The index of a network interface.
pub(crate) fn interface_index(name: &str) -> Option<u32> {
    let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if !plain {
        return None;
    }
    // The routes' dump names interfaces by index; /sys shows those of the namespace it was mounted in, so ask the kernel.
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::name_to_index(socket, name).ok()
}

/// The name of the interface with an index, for messages.
pub(crate) fn interface_name(index: u32) -> String {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None);
    socket
        .and_then(|socket| rustix::net::netdevice::index_to_name(socket, index))
        .unwrap_or_else(|_| format!("if{index}"))
}

/// Whether a path exists, links followed.
pub(crate) fn exists(path: &str) -> bool {
    Path::new(path).exists()
}
