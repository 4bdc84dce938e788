//! The connections that have one of our congestion controls, with their counters, by an iterator in the kernel
//! (`bpf/sockets.bpf.c`). It shows those of this process's network namespace.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libbpf_rs::{Iter, ObjectBuilder};
use serde::Serialize;

use super::kernel::Embedded;
use crate::failure::Failure;

static OBJECT: &Embedded<[u8]> = &Embedded(*include_bytes!(concat!(env!("OUT_DIR"), "/sockets.bpf.o")));

/// Size of `struct record`.
const RECORD: usize = 128;
/// Where `struct ackloss_state` begins in it.
const STATE: usize = 80;
/// ACKLOSS_LAYOUT, the form of the state that is read here.
const LAYOUT: u8 = 1;
const AF_INET: u16 = 2;
/// TCP_LISTEN: its counters mean nothing.
const LISTEN: u16 = 10;

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Connection {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) algorithm: String,
    pub(super) cwnd_segments: u32,
    /// None as long as nothing limited the window.
    pub(super) ssthresh_segments: Option<u32>,
    pub(super) mss_bytes: u32,
    pub(super) bytes_acknowledged: u64,
    /// None for connections of an older program, whose counters have another form.
    #[serde(flatten)]
    pub(super) counters: Option<Counters>,
}

/// What the detector counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Counters {
    /// Acknowledgements taken for lost.
    pub(super) ack_losses: u32,
    /// Acknowledgements with something missing before them, taken for a loss or not.
    pub(super) ack_gaps: u32,
    /// Times the window was halved for it.
    pub(super) ack_loss_halvings: u32,
    /// The average that b comes from: segments that an acknowledgement acknowledges.
    pub(super) segments_per_ack_mean: f64,
}

/// All of them.
pub(super) fn read() -> Result<Vec<Connection>, Failure> {
    let failed =
        |error: libbpf_rs::Error| Failure::Missing(format!("the iterator over TCP sockets: {error}"));
    let object = ObjectBuilder::default()
        .open_memory(&OBJECT.0)
        .and_then(libbpf_rs::OpenObject::load)
        .map_err(failed)?;
    let program = object
        .progs_mut()
        .next()
        .ok_or_else(|| Failure::Failed("the BPF object has no program".to_owned()))?;
    let link = program.attach().map_err(failed)?;
    let mut bytes = Vec::new();
    Iter::new(&link)
        .map_err(failed)?
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::of_io("the iterator over TCP sockets", &error))?;
    let mut connections: Vec<_> = bytes.chunks_exact(RECORD).filter_map(decode).collect();
    connections.sort_by_key(|connection| (connection.remote, connection.local));
    Ok(connections)
}

/// None for sockets that are no connection.
fn decode(record: &[u8]) -> Option<Connection> {
    let half = |at: usize| u16::from_ne_bytes([record[at], record[at + 1]]);
    let word = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let family = half(48);
    if half(54) == LISTEN {
        return None;
    }
    let address = |at: usize| -> IpAddr {
        if family == AF_INET {
            Ipv4Addr::new(record[at], record[at + 1], record[at + 2], record[at + 3]).into()
        } else {
            let bytes: [u8; 16] = record[at..at + 16].try_into().expect("sixteen bytes");
            Ipv6Addr::from(bytes).to_canonical()
        }
    };
    let remote_port = u16::from_be_bytes([record[52], record[53]]);
    let name = record[..16].split(|byte| *byte == 0).next().unwrap_or(&[]);
    let ssthresh = word(60);
    Some(Connection {
        local: SocketAddr::new(address(16), half(50)),
        remote: SocketAddr::new(address(32), remote_port),
        algorithm: String::from_utf8_lossy(name).into_owned(),
        cwnd_segments: word(56),
        // TCP_INFINITE_SSTHRESH.
        ssthresh_segments: (ssthresh < 0x7fff_ffff).then_some(ssthresh),
        mss_bytes: word(64),
        bytes_acknowledged: u64::from(word(72)) | u64::from(word(76)) << 32,
        counters: counters(&record[STATE..]),
    })
}

/// From `struct ackloss_state`, if it has the form that is known here.
fn counters(state: &[u8]) -> Option<Counters> {
    let word = |at: usize| u32::from_ne_bytes(state[at..at + 4].try_into().expect("four bytes"));
    if state[43] >> 5 != LAYOUT {
        return None;
    }
    Some(Counters {
        segments_per_ack_mean: f64::from(word(12)) / 65536.0,
        ack_losses: word(20),
        ack_gaps: word(24),
        ack_loss_halvings: word(28),
    })
}

#[cfg(test)]
mod tests;
