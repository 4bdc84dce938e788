//! The privileges of this process (capabilities(7)), and giving up those that are not needed.

use std::fs;

use rustix::thread::{self as sys, CapabilitySet, CapabilitySets};

use crate::Error;
use crate::user::User;

/// A capability that programs of this project need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessCapability {
    /// `CAP_NET_ADMIN`: routes, interfaces, settings of the network.
    NetAdmin = 12,
    /// `CAP_NET_RAW`: packet sockets.
    NetRaw = 13,
    /// `CAP_SYS_ADMIN`: BPF on older kernels, mounts, namespaces.
    SysAdmin = 21,
    /// `CAP_PERFMON`: BPF programs that compute with pointers, beside `CAP_BPF`, since Linux 5.8.
    Perfmon = 38,
    /// `CAP_BPF`: BPF programs and maps, since Linux 5.8.
    Bpf = 39,
}

impl ProcessCapability {
    /// Its name in capabilities(7).
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }

    const fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// Returns the first of `needed` that this process does not have in effect in the calling thread; `None` if it has all.
///
/// # Errors
/// If `/proc` does not show them.
pub fn first_missing(needed: &[ProcessCapability]) -> Result<Option<ProcessCapability>, Error> {
    // Capabilities belong to threads.
    const STATUS: &str = "/proc/thread-self/status";
    let status = fs::read_to_string(STATUS).map_err(Error::of(STATUS))?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    Ok(needed.iter().copied().find(|capability| effective & capability.bit() == 0))
}

/// Gives up all privileges of this process but `keep`, for good, and becomes `user` if one is given. Programs that the
/// process starts afterwards get no privilege at all.
///
/// Capabilities belong to threads, and this changes the calling one: call it before other threads start.
///
/// # Errors
/// If this process lacks one of `keep`, or may not become the user. It must not go on then, because a part may have
/// changed.
pub fn keep_only(keep: &[ProcessCapability], user: Option<&User>) -> Result<(), Error> {
    const WHAT: &str = "giving up privileges";
    if let Some(missing) = first_missing(keep)? {
        let text = format!("the capability {} is missing", missing.name());
        return Err(Error::new(WHAT, std::io::Error::new(std::io::ErrorKind::PermissionDenied, text)));
    }
    let kept = keep.iter().fold(0, |bits, capability| bits | capability.bit());
    let kept = CapabilitySet::from_bits_retain(kept);
    // Without the privilege to do so there is no bounding set to lower, and no_new_privs suffices. A change of user
    // takes the privilege.
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !kept.contains(one) && sys::remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    if let Some(user) = user {
        // Otherwise the change of user would clear them.
        sys::set_keep_capabilities(true).map_err(Error::of(WHAT))?;
        user.become_user().map_err(Error::of(WHAT))?;
        sys::set_keep_capabilities(false).map_err(Error::of(WHAT))?;
    }
    sys::set_no_new_privs(true).map_err(Error::of(WHAT))?;
    sys::clear_ambient_capability_set().map_err(Error::of(WHAT))?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    // A service manager may have left just these, and forbidden the call.
    if sys::capabilities(None).is_ok_and(|has| has == sets) {
        return Ok(());
    }
    sys::set_capabilities(None, sets).map_err(Error::of(WHAT))
}

#[cfg(test)]
mod tests;
