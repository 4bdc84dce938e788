//! Programs of a node: machines through which packets pass on their way, or that a virtual interface leads to.
//!
//! A packet that arrives at a node goes through the node's chain of programs: to the first one that wants it, and from there, if that one
//! passes it on, to those behind it. What no program wants is for the node itself, or is forwarded. The other door is a virtual interface,
//! to which a route leads as to a TUN device.
//!
//! A new kind is a file that implements [`NodeProgram`], and a row below.

mod gateway;
mod impairment;
mod sctp_tunnel;
mod tunnel;

use airwatt_base::Instant;

use super::impairment::ImpairmentCounts;
use crate::packet::Store;
use crate::packet::{FlowLabel, Packet};
use crate::route::Route;

pub(crate) use gateway::{GatewayProgram, ServedFlow};
pub(crate) use impairment::ImpairmentProgram;
pub(crate) use sctp_tunnel::SctpTunnelProgram;
pub(crate) use tunnel::{TunnelCounts, TunnelEnds, TunnelProgram};

/// Index of a program in its network.
pub(crate) type ProgramId = u16;

/// What a node runs.
pub(crate) trait NodeProgram {
    /// Whether it takes a packet that has arrived at its node, and is for another program or node. Changes nothing.
    fn wants(&self, _packet: &Packet) -> bool {
        false
    }

    /// Processes a packet that it wants, or that came by its virtual interface.
    fn handle_packet(&mut self, packet: Packet, store: &mut Store, now: Instant);

    /// Serves the timers that are due.
    fn handle_timeout(&mut self, now: Instant);

    /// The next output.
    fn poll_output(&mut self, store: &mut Store, now: Instant) -> Option<Output>;

    /// The time of the next timer.
    fn due(&self) -> Option<Instant>;

    /// What it has counted.
    fn report(&self) -> Report {
        Report::None
    }
}

/// An output of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// The node sends the packet by its route, past the chain. `counts` says whether it counts as sent for its flow.
    Send { packet: Packet, counts: bool },
    /// The packet leaves by this route, whatever other packets for its address do.
    SendBy { route: Route, packet: Packet },
    /// The packet goes on behind this program in the chain.
    Pass(Packet),
    /// The packet has arrived at the node, as from a medium.
    Arrive(Packet),
    /// The packet is lost.
    Lose(Packet),
    /// The packet is superfluous.
    Discard(Packet),
    /// What only the program knows of a flow.
    Mark(FlowLabel, Mark),
}

const _: () = assert!(size_of::<Output>() <= 88, "outputs are copied for each packet");

/// What a program says of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// So many bytes were given up, and zeros take their place.
    GaveUp(u64),
    /// A connection of the flow was reset, refused or timed out.
    Lost,
}

/// The counts of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    /// It has none of its own.
    None,
    /// Those of one end of a tunnel.
    Tunnel(TunnelCounts),
    /// Those of an impairment.
    Impairment(ImpairmentCounts),
}

/// The programs, and the calls of all of them as those of one.
macro_rules! programs {
    ($($(#[$doc:meta])* $variant:ident($machine:ty);)+) => {
        /// One program.
        #[derive(Clone, Debug)]
        pub(crate) enum Program {
            $($(#[$doc])* $variant(Box<$machine>),)+
        }

        impl NodeProgram for Program {
            fn wants(&self, packet: &Packet) -> bool {
                match self { $(Self::$variant(program) => program.wants(packet),)+ }
            }

            fn handle_packet(&mut self, packet: Packet, store: &mut Store, now: Instant) {
                match self { $(Self::$variant(program) => program.handle_packet(packet, store, now),)+ }
            }

            fn handle_timeout(&mut self, now: Instant) {
                match self { $(Self::$variant(program) => program.handle_timeout(now),)+ }
            }

            fn poll_output(&mut self, store: &mut Store, now: Instant) -> Option<Output> {
                match self { $(Self::$variant(program) => program.poll_output(store, now),)+ }
            }

            fn due(&self) -> Option<Instant> {
                match self { $(Self::$variant(program) => program.due(),)+ }
            }

            fn report(&self) -> Report {
                match self { $(Self::$variant(program) => program.report(),)+ }
            }
        }
    };
}

programs! {
    /// A gateway that splits connections, or keeps copies of what passes.
    Gateway(GatewayProgram);
    /// Delay, loss and reordering of what the node forwards.
    Impairment(ImpairmentProgram);
    /// One end of a tunnel of datagrams.
    Tunnel(TunnelProgram);
    /// One end of a tunnel over SCTP.
    SctpTunnel(SctpTunnelProgram);
}
