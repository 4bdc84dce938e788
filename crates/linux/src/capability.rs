//! The privileges of this process (capabilities(7)).

use std::fs;

use crate::Error;

/// A capability that programs of this project need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `CAP_NET_ADMIN`: routes, interfaces, settings of the network.
    NetAdmin = 12,
    /// `CAP_SYS_ADMIN`: BPF on older kernels, mounts, namespaces.
    SysAdmin = 21,
}

impl Capability {
    /// Its name in capabilities(7).
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::SysAdmin => "CAP_SYS_ADMIN",
        }
    }
}

/// Returns the first of `needed` that this process does not have in effect; `None` if it has all.
///
/// # Errors
/// If `/proc/self/status` cannot be read.
pub fn first_missing(needed: &[Capability]) -> Result<Option<Capability>, Error> {
    const STATUS: &str = "/proc/self/status";
    let status = fs::read_to_string(STATUS).map_err(Error::of(STATUS))?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    Ok(needed.iter().copied().find(|capability| effective & (1 << *capability as u32) == 0))
}
