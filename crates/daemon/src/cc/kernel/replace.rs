//! Giving a link a new map: the one call here that libbpf-rs has no safe form of.
#![allow(unsafe_code, reason = "libbpf's bpf_link__update_map is reached through its C interface only")]

use libbpf_rs::{AsRawLibbpf, Link, MapMut};

/// The congestion control that the link holds is that of `map` from now on, for connections that begin from now on.
pub(super) fn in_one_step(link: &mut Link, map: &MapMut<'_>) -> Result<(), libbpf_rs::Error> {
    // SAFETY: both pointers are libbpf's own, of objects that live throughout the call; it keeps neither.
    let code = unsafe {
        libbpf_sys::bpf_link__update_map(link.as_libbpf_object().as_ptr(), map.as_libbpf_object().as_ptr())
    };
    if code == 0 { Ok(()) } else { Err(libbpf_rs::Error::from_raw_os_error(-code)) }
}
