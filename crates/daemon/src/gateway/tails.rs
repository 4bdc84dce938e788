//! What is left of relayed connections when a gateway ends, killed or not: sockets whose whole stream was written and its end passed on,
//! so that they do not end with a reset. The kernel holds what the host has not taken, and no process has the socket.
//!
//! Without the rules that the gateway has removed by then, segments of the host do not find their way to such a socket: the kernel does
//! not deliver them, because their destination is another host, and does not forward them, because it has a socket for them. The two
//! hosts would wait for each other. So the segments are led here as before for as long as the socket delivers, up to a time. Then both
//! hosts are reset.

use std::time::Duration;

use airwatt_base::{Instant, Span};
use airwatt_linux::clock::Clock;
use airwatt_linux::nftables::{FourTuple, NftablesTable};
use airwatt_linux::sock_diag::Orphan;
use tracing::{debug, warn};

use super::rules;

/// Time between two looks at what is left.
const LOOKS: Duration = Duration::from_millis(50);
/// Time for which segments are led here after a reset. A host to which the number of a reset is unexpected challenges it (RFC 5961,
/// section 3.2), and the kernel, which has no such connection any more, answers with the right number.
const CHALLENGES: Duration = Duration::from_secs(1);

/// In the guardian of a killed gateway: leads what is left here, and ends it.
pub(super) fn lead_and_finish(interface: &str, fwmark: u32, patience: Span) {
    let [_, _, own] = rules::marks(fwmark);
    let left = left(own);
    if left.is_empty() {
        return;
    }
    // The table ends with this function. A gateway that starts meanwhile has one of its own, and connections that are not here.
    let flows: Vec<FourTuple> =
        left.iter().map(|Orphan { ends: (here, there), .. }| (*there, *here)).collect();
    let table = NftablesTable::create(rules::table_of_tails(interface, fwmark)).and_then(|mut table| {
        table.add(&flows)?;
        Ok(table)
    });
    if let Err(error) = &table {
        warn!(%error, "what is left of relayed connections is not led here");
    }
    finish(left, own, patience);
}

/// What is left of connections whose packets have this mark.
pub(super) fn left(mark: u32) -> Vec<Orphan> {
    Orphan::with_mark(mark).unwrap_or_else(|error| {
        warn!(%error, "what is left of relayed connections is not known");
        Vec::new()
    })
}

/// Waits until the kernel has delivered what `left` has, at most for this time, and resets what has not ended then. Rules have to lead
/// the segments here.
pub(super) fn finish(left: Vec<Orphan>, mark: u32, patience: Span) {
    let clock = Clock::start();
    // Connections with this mark that ended later are those of a gateway that has started since.
    let now_left = || {
        let found = self::left(mark);
        left.iter().filter_map(|one| found.iter().find(|other| one.is(other))).cloned().collect::<Vec<_>>()
    };
    let mut rest = now_left();
    while rest.iter().any(|one| one.is_delivering) && clock.now() < Instant::ZERO + patience {
        std::thread::sleep(LOOKS);
        rest = now_left();
    }
    for one in &rest {
        // One that has ended meanwhile is what was asked for.
        if let Err(error) = one.reset() {
            debug!(%error, "not reset");
        }
    }
    if !rest.is_empty() {
        std::thread::sleep(CHALLENGES);
    }
}
