//! What every program of this project needs on Linux, once.
//!
//! To run a machine:
//! * [`descriptor`]: which descriptors are closed first when a process dies.
//! * [`driver`]: drives any machine of the contract by this host's clock and descriptors.
//! * [`event_loop`], [`clock`], [`signals`]: the loop under it, its clock, and signals as a source of it.
//! * [`tun`], [`udp`]: TUN devices, and UDP in batches.
//!
//! To change the host and restore it:
//! * [`netlink`]: requests to the kernel by netlink, and their replies.
//! * [`link`], [`rule`]: interfaces with their addresses, and the rules of the routing policy.
//! * [`route`]: routes as the kernel lists them, adding some, and changing one of them without touching another.
//! * [`nftables`]: a table of packet rules that vanishes with the process.
//! * [`firewall`]: chains of packet rules that drop what none of their rules accepts.
//! * [`transparent`]: TCP sockets with the addresses of others, and packets as they are.
//! * [`sock_diag`]: what the kernel counts of TCP connections.
//! * [`wireless`]: Wi-Fi interfaces, their associations, and power save.
//! * [`hwsim`]: the frames of simulated Wi-Fi radios.
//! * [`undo`]: a log of changes to the host, written before each change, from which a later process can undo them.
//! * [`random`]: random bytes of the kernel.
//! * [`changes`]: changes of settings, routes and rules by that log, and undoing them.
//! * [`guardian`]: a process that does so if a daemon is killed.
//! * [`lock`]: a lock that one process holds at a time, with the name of its holder.
//! * [`folder`]: a private folder whose files are opened without following symbolic links.
//!
//! To look around and to give up privileges:
//! * [`namespace`]: the network namespaces of this host, and doing something within one.
//! * [`interface`]: interfaces by name and index.
//! * [`capability`]: the privileges of this process, and giving up those that are not needed.
//! * [`user`]: users of this machine, and giving a process up to one of them.
//!
//! To be a daemon:
//! * [`control`], [`metrics`]: a control socket with JSON lines, and counters for Prometheus.
//! * [`service`], [`log`]: messages to systemd and the text of a unit, and events on standard error.
//!
//! To see packets:
//! * [`packet_tap`]: a BPF program that sees the packets of an interface. The only module with unsafe code.

#![cfg(target_os = "linux")]

pub mod capability;
pub mod changes;
pub mod clock;
pub mod control;
pub mod descriptor;
pub mod driver;
pub mod error;
pub mod event_loop;
pub mod firewall;
pub mod folder;
pub mod guardian;
pub mod hwsim;
pub mod interface;
pub mod link;
mod local_server;
pub mod lock;
pub mod log;
pub mod metrics;
pub mod namespace;
pub mod netlink;
pub mod nftables;
pub mod packet_tap;
mod process;
pub mod random;
pub mod route;
pub mod rule;
pub mod seccomp;
pub mod service;
pub mod signals;
pub mod sock_diag;
pub mod transparent;
pub mod tun;
pub mod udp;
pub mod undo;
pub mod user;
pub mod wireless;

pub use error::Error;
