//! Network interfaces of this network namespace by name and by index.

use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// Returns the index of the interface `name`; `None` if there is none.
pub fn index(name: &str) -> Option<u32> {
    let plausible = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if !plausible {
        return None;
    }
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    netdevice::name_to_index(socket, name).ok()
}

/// Returns the name of the interface with this index, for messages; `if7` if the kernel has none.
pub fn name(index: u32) -> String {
    socket(AddressFamily::INET, SocketType::DGRAM, None)
        .and_then(|socket| netdevice::index_to_name(socket, index))
        .unwrap_or_else(|_| format!("if{index}"))
}
