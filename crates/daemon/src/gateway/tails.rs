//! What is left of relayed connections when a gateway ends, killed or not: sockets whose whole stream was written and its end passed on,
//! so that they do not end with a reset. The kernel holds what the host has not taken, and no process has the socket.
//!
//! Without the rules that the gateway has removed by then, segments of the host do not find their way to such a socket: the kernel does
//! not deliver them, because their destination is another host, and does not forward them, because it has a socket for them. The two
//! hosts would wait for each other. So the segments are led here as before for as long as the socket delivers, up to a time. Then both
//! hosts are reset.
//!
//! For the same reason the kernel is made to forget connections that have ended in both directions. It has them for a minute more, and
//! would not forward the SYN of a host that uses their addresses again.

use std::net::SocketAddr;
use std::time::Duration;

use airwatt_base::{Instant, Span};
use airwatt_linux::Error;
use airwatt_linux::clock::Clock;
use airwatt_linux::nftables::{Contents, FourTuple, NftablesTable};
use airwatt_linux::sock_diag::Orphan;
use airwatt_linux::transparent::PacketSender;
use airwatt_proto::gateway::provocation;
use tracing::{debug, warn};

use super::config::Gateway;
use super::{instance, rules};
use crate::failure::Failure;
use crate::settings::Prefix;

/// Time between two looks at what is left.
const LOOKS: Duration = Duration::from_millis(50);
/// A host is provoked to challenge, so often and at such intervals, after its connection has ended here: the kernel sends no reset to one
/// that has ended its own direction (LAST-ACK, CLOSING), and a reset with a number that the host does not expect, or one that is lost,
/// has no effect. The challenge (RFC 5961, section 4.2), an acknowledgement, has the right number for a reset. Linux sends one in 500 ms.
const PROVOCATIONS: u32 = 3;
const BETWEEN_PROVOCATIONS: Duration = Duration::from_millis(600);

/// Before a start or `restore`: finishes what is left of a gateway whose guardian was killed with it, or is about to be, as by a service
/// manager that ends all processes of a failed service. Nobody else would reset its hosts.
pub(super) fn finish_left(interface: &str, mobiles: &[Prefix]) -> Result<(), Failure> {
    if let Some(fwmark) = mark_left(interface)? {
        lead_and_finish(interface, fwmark, mobiles, Gateway::default().drain, None);
    }
    Ok(())
}

/// The setting `fwmark` of a gateway that has not undone its changes; `None` if it runs, or has left none.
fn mark_left(interface: &str) -> Result<Option<u32>, Failure> {
    Ok(instance(interface).left()?.as_ref().and_then(rules::mark_of))
}

/// In the guardian of a base station alone, at its start: has the kernel note which flows of mobiles the gateway answers.
pub(super) fn note_answered(interface: &str, fwmark: u32, mobiles: &[Prefix]) -> Option<NftablesTable> {
    if mobiles.is_empty() {
        return None;
    }
    let table = NftablesTable::create(rules::table_of_answered(interface, fwmark, mobiles));
    table.inspect_err(|error| warn!(%error, "mobiles may learn late that a killed gateway has gone")).ok()
}

/// In the guardian of a gateway that has ended: leads what is left here, and ends it. `mobiles` are the addresses of mobiles without a
/// daemon, and `answered` has their flows.
pub(super) fn lead_and_finish(
    interface: &str,
    fwmark: u32,
    mobiles: &[Prefix],
    patience: Span,
    answered: Option<NftablesTable>,
) {
    let [_, _, own] = rules::marks(fwmark);
    let left = left(own);
    // The table ends with this function. A gateway that starts meanwhile has one of its own, and connections that are not here.
    let tails = || table_for(&left, rules::table_of_tails(interface, fwmark, mobiles));
    let table = (!left.is_empty()).then(tails).transpose();
    if let Err(error) = &table {
        warn!(%error, "what is left of relayed connections is not led here");
    }
    match PacketSender::open(own) {
        Ok(packets) => {
            let was_killed = || mark_left(interface).is_ok_and(|mark| mark.is_some());
            if let Some(mut answered) = answered.filter(|_| was_killed())
                && let Err(error) = refuse(&mut answered, &left, fwmark, mobiles, &packets)
            {
                warn!(%error, "mobiles may learn late that the gateway has gone");
            }
            finish(interface, left, own, patience, &packets);
        }
        Err(error) => {
            warn!(%error, "what is left of relayed connections is not ended");
            forget_ended(own);
        }
    }
}

/// Resets the mobiles' connections that a killed gateway has relayed, as far as its own resets have not: one was lost, or a mobile without
/// room has challenged it. `left` is led here.
fn refuse(
    answered: &mut NftablesTable,
    left: &[Orphan],
    fwmark: u32,
    mobiles: &[Prefix],
    packets: &PacketSender,
) -> Result<(), Error> {
    for chain in rules::chains_of_killed(fwmark, mobiles) {
        answered.add_chain(&chain)?;
    }
    let is_left = |(mobile, beyond): &FourTuple| left.iter().any(|one| one.ends == (*beyond, *mobile));
    let flows: Vec<FourTuple> = answered.flows()?.into_iter().filter(|flow| !is_left(flow)).collect();
    provoke(flows.iter().map(|(mobile, beyond)| (*beyond, *mobile)), packets);
    Ok(())
}

/// A table whose sets have the segments of these connections' hosts.
fn table_for(connections: &[Orphan], contents: Contents) -> Result<NftablesTable, Error> {
    let flows: Vec<FourTuple> =
        connections.iter().map(|Orphan { ends: (here, there), .. }| (*there, *here)).collect();
    let mut table = NftablesTable::create(contents)?;
    table.add(&flows)?;
    Ok(table)
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
pub(super) fn finish(interface: &str, left: Vec<Orphan>, mark: u32, patience: Span, packets: &PacketSender) {
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
    if !rest.is_empty() {
        end(interface, &rest, packets);
    }
    forget_ended(mark);
}

/// Has the kernel forget the connections with this mark that have ended in both directions.
fn forget_ended(mark: u32) {
    let ended = Orphan::ended(mark).unwrap_or_else(|error| {
        warn!(%error, "connections that have ended are not known");
        Vec::new()
    });
    for one in ended {
        if let Err(error) = one.reset() {
            debug!(%error, "the kernel keeps a connection that has ended");
        }
    }
}

/// Ends connections, so that their hosts learn it.
fn end(interface: &str, connections: &[Orphan], packets: &PacketSender) {
    let table = table_for(connections, rules::table_of_ended(interface));
    if let Err(error) = &table {
        warn!(%error, "hosts of relayed connections may not learn their end");
    }
    for one in connections {
        // One that has ended meanwhile is what was asked for.
        if let Err(error) = one.reset() {
            debug!(%error, "not reset");
        }
    }
    provoke(connections.iter().map(|one| one.ends), packets);
}

/// Provokes the hosts of connections to challenge, by the addresses of this end and theirs.
fn provoke(connections: impl Iterator<Item = (SocketAddr, SocketAddr)> + Clone, packets: &PacketSender) {
    if connections.clone().next().is_none() {
        return;
    }
    for _ in 0..PROVOCATIONS {
        for (here, there) in connections.clone() {
            if let Err(error) = packets.send(there.ip(), &provocation(here, there)) {
                debug!(%error, "not provoked");
            }
        }
        std::thread::sleep(BETWEEN_PROVOCATIONS);
    }
}
