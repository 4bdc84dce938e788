//! What every program of this project needs on Linux, once.
//!
//! * [`netlink`]: requests to the kernel's routing netlink and their replies.
//! * [`route`]: routes as the kernel lists them, and changing one of them without touching another.
//! * [`undo`]: a log of changes to the host, written before each change, from which a later process can undo them.
//! * [`lock`]: a lock that one process holds at a time, with the name of its holder.
//! * [`folder`]: a private folder whose files are opened without following symbolic links.
//! * [`namespace`]: the network namespaces of this host, and doing something within one.
//! * [`interface`], [`capability`]: interfaces by name and index, and the privileges of this process.
//!
//! Left out so far: the event loop, TUN devices and batches of datagrams. No code here is unsafe.

#![cfg(target_os = "linux")]

pub mod capability;
pub mod error;
pub mod folder;
pub mod interface;
pub mod lock;
pub mod namespace;
pub mod netlink;
pub mod route;
pub mod undo;

pub use error::Error;
