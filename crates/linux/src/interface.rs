//! Network interfaces of this network namespace by name and by index.

use std::os::fd::OwnedFd;

use rustix::io;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// Returns the index of the interface `name`; `None` if there is none.
pub fn index(name: &str) -> Option<u32> {
    let plausible = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if !plausible {
        return None;
    }
    let socket = any_socket().ok()?;
    netdevice::name_to_index(socket, name).ok()
}

/// Returns the name of the interface with this index, for messages; `if7` if the kernel has none.
pub fn name(index: u32) -> String {
    any_socket()
        .and_then(|socket| netdevice::index_to_name(socket, index))
        .unwrap_or_else(|_| format!("if{index}"))
}

/// A socket to ask by. Any family serves; this one is open to every unit.
fn any_socket() -> io::Result<OwnedFd> {
    socket(AddressFamily::UNIX, SocketType::DGRAM, None)
}
