//! The [impairment](crate::stack::impairment) of what a node forwards.

use airwatt_base::{Instant, Machine};

use super::{NodeProgram, Output, Report};
use crate::packet::Packet;
use crate::packet::Store;
use crate::route::NodeId;
use crate::stack::impairment::{Impairment, ImpairmentOutput};

/// An impairment at its node.
#[derive(Clone, Debug)]
pub(crate) struct ImpairmentProgram {
    node: NodeId,
    machine: Impairment,
}

impl ImpairmentProgram {
    pub(crate) const fn new(node: NodeId, machine: Impairment) -> Self {
        Self { node, machine }
    }
}

impl NodeProgram for ImpairmentProgram {
    fn wants(&self, packet: &Packet) -> bool {
        packet.dst.0 != self.node
    }

    fn handle_packet(&mut self, packet: Packet, _: &mut Store, now: Instant) {
        self.machine.handle_input(packet, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }

    fn poll_output(&mut self, _: &mut Store, _: Instant) -> Option<Output> {
        Some(match self.machine.poll_output()? {
            ImpairmentOutput::Forward(packet) => Output::Pass(packet),
            ImpairmentOutput::Lost(packet) => Output::Lose(packet),
        })
    }

    fn due(&self) -> Option<Instant> {
        self.machine.poll_timeout().map(|timeout| timeout.at)
    }

    fn report(&self) -> Report {
        Report::Impairment(self.machine.counts())
    }
}
