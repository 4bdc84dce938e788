//! The mechanisms, written once as sans-IO machines and run in the simulator, the emulator and on a device.
//!
//! * [`cc`]: congestion control, one file an algorithm.
//! * [`tcp`]: the TCP sender and receiver that the congestion controls steer.
//! * [`e2tcp`]: a transport for one wireless hop with small headers and partial reliability.
//! * [`end`]: one end of a connection, whatever its transport; [`any_end`]: an end of any of them.
//! * [`gateway`]: what a base station does for the connections of its mobiles: relays, local retransmission.
//! * [`tunnel`]: all flows of a client in one tunnel, which sends them in bursts.
//! * [`session`]: datagrams that are authenticated and encrypted between peers that know each other's keys.
//! * [`powersave`]: 802.11 power save: the access point's side and the station's, one file a policy.

pub mod any_end;
#[cfg(test)]
mod bad_path;
pub mod cc;
pub mod e2tcp;
pub mod end;
mod event;
pub mod gateway;
mod lifecycle;
pub mod powersave;
mod reliability;
pub mod session;
pub mod tcp;
pub mod tunnel;
