//! A scenario's network under the clock of the caller: packets of external hosts go in with the time, and come out where
//! they arrive.
//!
//! The wire, the air, the access point and the stations with their power save and their radios are those of a run, wired
//! as in a run. The scenario's flows take no part. A machine that is woken late works at the time that it asked for, not
//! at the time at which it is served, so that lateness moves packets outside and nothing inside: what was due in the past
//! happened then.

use airwatt_base::Instant;
use airwatt_proto::powersave::StationId;

pub use crate::net::Delivery;
use crate::net::{Network, NetworkPlan};
pub use crate::packet::Ticket;
pub use crate::record::Observed;
use crate::record::Run;
use crate::route::NodeId;
use crate::scenario::{Ready, Scenario};
pub use crate::stack::flow::{BIN, Meter};

/// A host whose network stack is outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutsideHost {
    /// The server at the far end of the wire, or at the access point.
    Server,
    /// A station of the cell.
    Station(StationId),
}

/// The number of stations whose hosts can be outside: each is a node of its own, and none is the server.
///
/// # Errors
/// What of the scenario cannot be, in one line.
pub fn stations_of(scenario: &Ready<'_>, seed: u64) -> Result<usize, String> {
    let plan = NetworkPlan::new(scenario, seed);
    let mut nodes = vec![plan.server()];
    for station in &plan.stations {
        if nodes.contains(&station.node) {
            let what = "expected a server beyond an access point, and stations of one cell each";
            return Err(format!(
                "{}: {what}, got station {:?}; only such hosts can be emulated",
                scenario.name, station.name
            ));
        }
        nodes.push(station.node);
    }
    Ok(plan.stations.len())
}

/// The network of a scenario between external hosts.
#[derive(Debug)]
pub struct Live {
    network: Network,
    /// The node of the server, and those of the stations.
    server: NodeId,
    stations: Vec<NodeId>,
    scenario: Scenario,
    seed: u64,
}

impl Live {
    /// The network at the beginning. With `trace` it keeps frames, queues, radio states and the bytes of all packets.
    pub fn new(scenario: &Ready<'_>, seed: u64, trace: bool) -> Self {
        let mut plan = NetworkPlan::new(scenario, seed);
        let server = plan.server();
        let stations: Vec<NodeId> = plan.stations.iter().map(|station| station.node).collect();
        plan.flows.clear();
        for node in stations.iter().chain([&server]) {
            plan.nodes[usize::from(*node)].external = true;
        }
        let mut network = Network::new(plan, seed);
        if trace {
            network.trace();
        }
        Self { network, server, stations, scenario: Scenario::clone(scenario), seed }
    }

    /// The time at which the next machine is to be woken.
    pub fn due(&self) -> Option<Instant> {
        self.network.due()
    }

    /// Serves every wake-up up to and including `now`. Time never goes back.
    pub fn advance(&mut self, now: Instant) {
        self.network.serve_until(now);
    }

    /// The node of a host; `None` for a station that does not exist.
    fn node(&self, host: OutsideHost) -> Option<NodeId> {
        match host {
            OutsideHost::Server => Some(self.server),
            OutsideHost::Station(id) => self.stations.get(id as usize).copied(),
        }
    }

    /// The host of a node to which a packet was delivered.
    pub fn host(&self, node: NodeId) -> OutsideHost {
        let station = self.stations.iter().position(|station| *station == node);
        station.map_or(OutsideHost::Server, |id| OutsideHost::Station(id as StationId))
    }

    /// An IPv4 packet leaves `from` for `to` at the time of the last [`Live::advance`]. Returns the ticket of its bytes;
    /// `None` between a host and itself, and for a station that does not exist.
    pub fn send(&mut self, from: OutsideHost, to: OutsideHost, bytes: &[u8]) -> Option<Ticket> {
        let (from, to) = (self.node(from)?, self.node(to)?);
        (from != to).then(|| self.network.inject(from, to, bytes))
    }

    /// The time of the last [`Live::advance`].
    pub fn now(&self) -> Instant {
        self.network.now
    }

    /// Wake-ups of machines so far.
    pub fn events(&self) -> u64 {
        self.network.events
    }

    /// The next packet that has arrived or was lost.
    pub fn poll(&mut self) -> Option<Delivery> {
        self.network.poll_delivery()
    }

    /// The bytes of a packet.
    pub fn bytes(&self, ticket: Ticket) -> &[u8] {
        self.network.bytes(ticket)
    }

    /// Frees the bytes of a packet that has arrived or was lost.
    pub fn free(&mut self, ticket: Ticket) {
        self.network.free(ticket);
    }

    /// Ends the run at the time of the last [`Live::advance`], with what was observed of its flows. Windows of the
    /// sliding-window method for which the run was too short are left out.
    pub fn finish(mut self, observed: Vec<Observed>) -> Run {
        let measured = self.network.since(self.scenario.measure_from.unwrap_or_default());
        self.scenario.fairness_windows.retain(|window| *window <= measured);
        self.network.finish_observed(observed, &self.scenario, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Span;

    use super::*;

    fn live(scenario: &str, set: &[(&str, &str)]) -> Live {
        let set: Vec<(String, String)> =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Live::new(&Scenario::load(scenario, &set).unwrap().ready().unwrap(), 1, false)
    }

    #[test]
    fn a_class_that_was_not_made_is_an_error() {
        let file = std::env::temp_dir().join(format!("airwatt-live-{}.py", std::process::id()));
        std::fs::write(&file, "class Nap: pass\n").unwrap();
        let set = [("station.power_save.policy".to_owned(), format!("{}:Nap", file.display()))];
        let scenario = Scenario::load("fast-dsl", &set).unwrap();
        std::fs::remove_file(&file).unwrap();
        let error = scenario.ready().err().unwrap();
        assert!(error.contains("a class in Python runs in the simulator"), "{error}");
    }

    /// Everything that comes out within `time`, woken only when asked for.
    fn deliveries(live: &mut Live, time: Span) -> Vec<Delivery> {
        let end = live.now() + time;
        while let Some(due) = live.due().filter(|due| *due <= end) {
            live.advance(due);
        }
        live.advance(end);
        std::iter::from_fn(|| live.poll()).collect()
    }

    #[test]
    fn a_packet_crosses_wire_and_air_both_ways() {
        let mut live = live("fast-dsl", &[("wired.rtt", "40ms")]);
        live.advance(Instant::from_millis(5));
        let down = live.send(OutsideHost::Server, OutsideHost::Station(0), &[7; 1_500]).unwrap();
        let up = live.send(OutsideHost::Station(0), OutsideHost::Server, &[8; 40]).unwrap();
        let crossed = deliveries(&mut live, Span::from_millis(60));
        assert_eq!(
            crossed.iter().map(|crossing| (crossing.ticket, crossing.arrived)).collect::<Vec<_>>(),
            [(up, true), (down, true)]
        );
        for crossing in crossed {
            assert!(
                crossing.took > Span::from_millis(20) && crossing.took < Span::from_millis(22),
                "{crossing:?}"
            );
            assert_eq!(crossing.at, Instant::from_millis(5) + crossing.took);
        }
        assert_eq!((live.bytes(down), live.bytes(up)), (&[7; 1_500][..], &[8; 40][..]));
        assert_eq!(live.network.store.live(), 2);
        [down, up].into_iter().for_each(|ticket| live.free(ticket));
        assert_eq!(live.network.store.live(), 0, "the network holds no packet");
    }

    #[test]
    fn a_packet_between_stations_crosses_the_air_twice_and_never_the_wire() {
        let mut live = live("fast-dsl", &[("station.count", "2"), ("wired.rtt", "40ms")]);
        assert!(live.send(OutsideHost::Station(0), OutsideHost::Station(1), &[1; 1_500]).is_some());
        let crossed = deliveries(&mut live, Span::from_millis(30));
        assert_eq!(crossed.len(), 1);
        assert!(crossed[0].arrived && crossed[0].took < Span::from_millis(2), "{crossed:?}");
        assert_eq!(live.finish(Vec::new()).result.cell.air.ap_drops, 0);
    }

    #[test]
    fn nobody_sends_to_himself_or_to_a_station_that_is_not_there() {
        let mut live = live("fast-dsl", &[]);
        for (from, to) in [
            (OutsideHost::Server, OutsideHost::Server),
            (OutsideHost::Station(0), OutsideHost::Station(0)),
            (OutsideHost::Server, OutsideHost::Station(1)),
            (OutsideHost::Station(3), OutsideHost::Server),
        ] {
            assert_eq!(live.send(from, to, &[0; 100]), None);
        }
        assert_eq!(deliveries(&mut live, Span::from_millis(30)), []);
    }

    #[test]
    fn lateness_outside_changes_nothing_inside() {
        let run = |step: Span| {
            let mut live = live("fast-dsl", &[("policy", "psm")]);
            let mut crossed = Vec::new();
            for tick in 0..40 {
                let sent = Instant::from_millis(50 * tick);
                while live.now() < sent {
                    live.advance(sent.min(live.now() + step));
                    crossed.extend(std::iter::from_fn(|| live.poll()));
                }
                assert!(live.send(OutsideHost::Server, OutsideHost::Station(0), &[0; 700]).is_some());
            }
            crossed.extend(deliveries(&mut live, Span::from_millis(500)));
            (crossed, live.finish(Vec::new()).result)
        };
        let (prompt, late) = (run(Span::from_micros(10)), run(Span::from_millis(50)));
        assert_eq!(prompt.0.len(), 40);
        assert_eq!(prompt, late);
    }
}
