//! TUN devices: network interfaces whose packets this process reads and writes.
//!
//! The device is that of the library `tun_rs`, set up as all programs of this project need it: IP packets without a link
//! header, never blocking, and gone with the process. With [`TunSettings::offload`] the kernel passes on and takes segments of
//! TCP and UDP that are larger than the MTU (`recv_multiple` and `send_multiple` of the device divide and join them).

use std::io;
use std::net::IpAddr;

use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::{Error, interface, link};

/// The smallest MTU that IPv6 accepts (RFC 8200, section 5).
const IPV6_MTU: u16 = 1280;
/// Packets that [`read`] takes at most.
const BATCH: usize = 64;
/// Largest packet in bytes, for the buffer of [`read`].
pub const PACKET_BYTES_MAX: usize = 65_535;

/// What a device is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunSettings {
    /// The name of the interface, 1 to 15 bytes.
    pub name: String,
    /// Addresses of this host on it, each with the length of its prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Largest packet in bytes.
    pub mtu: u16,
    /// Whether segments larger than the MTU may cross the device.
    pub offload: bool,
}

/// Creates a device in the network namespace of this thread and brings it up.
///
/// # Errors
/// If the kernel has no TUN devices, the name is taken, or a privilege is missing (CAP_NET_ADMIN).
pub fn create(settings: &TunSettings) -> Result<SyncDevice, Error> {
    let what = format!("TUN device {}", settings.name);
    if settings.mtu < IPV6_MTU && settings.addresses.iter().any(|(address, _)| address.is_ipv6()) {
        let text = format!("expected an MTU of at least {IPV6_MTU} for IPv6, got {}", settings.mtu);
        return Err(Error::new(what, io::Error::new(io::ErrorKind::InvalidInput, text)));
    }
    let offload = settings.offload;
    let builder = DeviceBuilder::new().name(&settings.name).layer(Layer::L3).mtu(settings.mtu);
    let device = builder.offload(offload).enable(false).build_sync();
    let device = device.map_err(|error| match error.raw_os_error() {
        // Of another kind than a TUN device, for which the kernel says EBUSY.
        Some(nix::libc::EINVAL) if interface::index(&settings.name).is_some() => {
            Error::other(&what, "there is an interface of this name already")
        }
        _ => Error::new(&what, error),
    })?;
    // The library's own addresses would bring another netlink with them.
    let index = device.if_index().map_err(Error::of(&what))?;
    for (address, prefix) in &settings.addresses {
        link::add_address(index, *address, *prefix)?;
    }
    make_silent(&settings.name);
    device.enabled(true).map_err(Error::of(&what))?;
    device.set_nonblocking(true).map_err(Error::of(&what))?;
    Ok(device)
}

/// Keeps the kernel from giving the device a link-local address, for which it would look for routers and neighbours although nobody has
/// sent anything. Nothing is lost where the kernel has no IPv6, or no such setting (before Linux 4.0).
fn make_silent(name: &str) {
    /// IN6_ADDR_GEN_MODE_NONE of linux/if_link.h.
    const NONE: &str = "1";
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode"), NONE);
}

/// Reads the packets that wait in a device, `BATCH` of them at most, so that other sources have their turn. Each is lent for
/// the call; `buffer` has the size of the largest packet.
///
/// # Errors
/// If the device fails. That somebody brought the interface down is no error: there is nothing to read then.
pub fn read(device: &SyncDevice, buffer: &mut [u8], mut each: impl FnMut(&[u8])) -> Result<(), Error> {
    for _ in 0..BATCH {
        match device.recv(buffer) {
            Ok(length) => each(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => break,
            Err(error) => return Err(Error::new("TUN device", error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
