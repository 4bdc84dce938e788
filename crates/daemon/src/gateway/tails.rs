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
use crate::output;
use crate::settings::Prefix;

/// Time between two looks at what is left.
const LOOKS: Duration = Duration::from_millis(50);
/// A host is provoked to challenge, so often and at such intervals, after its connection has ended here: the kernel sends no reset to one
/// that has ended its own direction (LAST-ACK, CLOSING), and a reset with a number that the host does not expect, or one that is lost,
/// has no effect. The challenge (RFC 5961, section 4.2), an acknowledgement, has the right number for a reset. Linux sends one in 500 ms.
const PROVOCATIONS: u32 = 3;
const BETWEEN_PROVOCATIONS: Span = Span::from_millis(600);
/// A connection by the addresses of this end and its host.
type Ends = (SocketAddr, SocketAddr);

/// Before a start or `restore`: finishes what is left of a gateway whose guardian was killed with it, or is about to be, as by a service
/// manager that ends all processes of a failed service. Nobody else would reset its hosts.
pub(super) fn finish_left(interface: &str, mobiles: &[Prefix]) -> Result<(), Failure> {
    if let Some(fwmark) = mark_left(interface)? {
        let [_, _, own] = rules::marks(fwmark);
        let (count, patience) = (left(own).len(), Gateway::default().drain);
        if count > 0 {
            let what = if count == 1 { "connection" } else { "connections" };
            output::progress(&format!(
                "{interface}: a gateway was killed here; {count} {what} to finish first, for up to {patience}"
            ));
        }
        lead_and_finish(interface, fwmark, mobiles, patience, None);
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
            // Its table stays until everything is over.
            let mut answered = answered.filter(|_| was_killed());
            let refused = answered.as_mut().map(|answered| refuse(answered, &left, fwmark, mobiles));
            let refused = refused.transpose().unwrap_or_else(|error| {
                warn!(%error, "mobiles may learn late that the gateway has gone");
                None
            });
            finish(interface, left, refused.unwrap_or_default(), own, patience, &packets);
        }
        Err(error) => {
            warn!(%error, "what is left of relayed connections is not ended");
            forget_ended(own);
        }
    }
}

/// Has the kernel answer packets of mobiles by resets where they belong to connections that a killed gateway has relayed. The resets that the
/// kernel sent when the gateway died do not reach every mobile: one is lost, or a mobile without room challenges it. Returns the connections
/// whose mobiles are to be provoked. Packets of the connections in `left` are led here.
fn refuse(
    answered: &mut NftablesTable,
    left: &[Orphan],
    fwmark: u32,
    mobiles: &[Prefix],
) -> Result<Vec<Ends>, Error> {
    for chain in rules::chains_of_killed(fwmark, mobiles) {
        answered.add_chain(&chain)?;
    }
    let is_left = |(mobile, beyond): &FourTuple| left.iter().any(|one| one.ends == (*beyond, *mobile));
    let flows = answered.flows()?.into_iter().filter(|flow| !is_left(flow));
    Ok(flows.map(|(mobile, beyond)| (beyond, mobile)).collect())
}

/// A table whose sets have the segments of these connections' hosts.
fn table_for(connections: &[Orphan], contents: Contents) -> Result<NftablesTable, Error> {
    let mut table = NftablesTable::create(contents)?;
    table.add(&flows_of(connections))?;
    Ok(table)
}

/// What the hosts of these connections send.
fn flows_of(connections: &[Orphan]) -> Vec<FourTuple> {
    connections.iter().map(|Orphan { ends: (here, there), .. }| (*there, *here)).collect()
}

/// What is left of connections whose packets have this mark.
pub(super) fn left(mark: u32) -> Vec<Orphan> {
    Orphan::with_mark(mark).unwrap_or_else(|error| {
        warn!(%error, "what is left of relayed connections is not known");
        Vec::new()
    })
}

/// Waits until the kernel has delivered what `left` has, at most for this time, and resets what has not ended then. A connection that has
/// nothing to deliver is reset at once, whatever others have: its host may wait in the other direction. The hosts of `refused` are provoked
/// meanwhile. Rules have to lead the segments here.
pub(super) fn finish(
    interface: &str,
    left: Vec<Orphan>,
    refused: Vec<Ends>,
    mark: u32,
    patience: Span,
    packets: &PacketSender,
) {
    let clock = Clock::start();
    let mut waiting = left;
    let mut table = None;
    let mut provoked: Vec<Provoked> = refused.into_iter().map(Provoked::new).collect();
    loop {
        let now = clock.now();
        // Connections with this mark that ended later are those of a gateway that has started since.
        let found = if waiting.is_empty() { Vec::new() } else { self::left(mark) };
        waiting.retain_mut(|one| {
            found.iter().find(|other| one.is(other)).is_some_and(|other| {
                one.clone_from(other);
                true
            })
        });
        let is_late = now >= Instant::ZERO + patience;
        let (delivering, over): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|one| one.is_delivering && !is_late);
        waiting = delivering;
        if !over.is_empty() {
            end(interface, &over, &mut table);
            provoked.extend(over.iter().map(|one| Provoked::new(one.ends)));
        }
        provoked.retain_mut(|one| one.provoke(now, packets));
        if waiting.is_empty() && provoked.is_empty() {
            break;
        }
        std::thread::sleep(LOOKS);
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

/// Ends connections. Their hosts learn it for as long as `table` lives, which is created for the first ones.
fn end(interface: &str, connections: &[Orphan], table: &mut Option<NftablesTable>) {
    let refused = match table {
        Some(table) => table.add(&flows_of(connections)),
        None => table_for(connections, rules::table_of_ended(interface)).map(|new| *table = Some(new)),
    };
    if let Err(error) = refused {
        warn!(%error, "hosts of relayed connections may not learn their end");
    }
    for one in connections {
        // One that has ended meanwhile is what was asked for.
        if let Err(error) = one.reset() {
            debug!(%error, "not reset");
        }
    }
}

/// A connection that has ended here, and whose host is provoked to challenge.
struct Provoked {
    ends: Ends,
    /// How often it has been provoked.
    count: u32,
    next: Instant,
}

impl Provoked {
    const fn new(ends: Ends) -> Self {
        Self { ends, count: 0, next: Instant::ZERO }
    }

    /// Provokes the host if it is time. Returns false after the last time to challenge.
    fn provoke(&mut self, now: Instant, packets: &PacketSender) -> bool {
        if now < self.next {
            return true;
        }
        if self.count == PROVOCATIONS {
            return false;
        }
        (self.count, self.next) = (self.count + 1, now + BETWEEN_PROVOCATIONS);
        let (here, there) = self.ends;
        if let Err(error) = packets.send(there.ip(), &provocation(here, there)) {
            debug!(%error, "not provoked");
        }
        true
    }
}
