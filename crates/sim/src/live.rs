//! A scenario's machines under somebody else's clock: foreign packets go in with the time, and come out where they arrive.
//!
//! The scenario's wire, air, access point and stations with their power save and their radios are those of a run, wired
//! as in a run. Its flows take no part. A machine that is woken late works at the time that it asked for, not at the time at
//! which it is served, so that lateness moves packets outside and nothing inside: what was due in the past happened then.

use airwatt_base::{Instant, Span};
use airwatt_proto::powersave::StationId;

pub use crate::apps::{BIN, Crossing, Meter};
use crate::record::FlowResult;
use crate::run::{Run, RunError};
use crate::scenario::{Scenario, Transport};
use crate::world::{FlowSpec, Traffic, World, WorldSpec};

/// A host at an edge of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// The server behind the wire.
    Server,
    /// A station of the cell.
    Station(StationId),
}

/// What was seen of one flow from outside.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What its ends did.
    pub result: FlowResult,
    /// What it delivered.
    pub meter: Meter,
}

/// The machines of a scenario between real hosts.
#[derive(Debug)]
pub struct Live {
    world: World,
    scenario: Scenario,
    seed: u64,
}

impl Live {
    /// The machines at the beginning. With `trace` they keep frames, queues and radio states.
    ///
    /// # Errors
    /// [`RunError::Radio`] for a radio profile that cannot be read.
    pub fn new(scenario: &Scenario, seed: u64, trace: bool) -> Result<Self, RunError> {
        let mut spec = WorldSpec::new(scenario, seed).map_err(|error| RunError::Radio(error.to_string()))?;
        let wire = spec.wires.first().map(|_| 0);
        spec.flows = (0..spec.stations.len())
            .map(|station| FlowSpec {
                station: Some(station as StationId),
                wire,
                down: true,
                transport: Transport::Udp,
                traffic: Traffic::Foreign,
                start: Span::ZERO,
                start_spread: Span::ZERO,
            })
            .collect();
        let mut world = World::new(spec, seed);
        if trace {
            world.trace();
        }
        Ok(Self { world, scenario: scenario.clone(), seed })
    }

    /// When the next machine wants to be woken.
    pub fn due(&self) -> Option<Instant> {
        self.world.due()
    }

    /// Serves every wake-up up to and including `now`. Time never goes back.
    pub fn advance(&mut self, now: Instant) {
        self.world.serve_until(now);
    }

    /// A packet of `bytes` bytes leaves `from` for `to` at the time of the last [`Live::advance`]. Between a host and itself,
    /// or for a station that does not exist, nothing happens and it returns false.
    pub fn send(&mut self, from: Host, to: Host, number: u64, bytes: u32) -> bool {
        let exists = |host| !matches!(host, Host::Station(id) if id as usize >= self.world.flows.len());
        if from == to || !exists(from) || !exists(to) {
            return false;
        }
        match (from, to) {
            (Host::Server, Host::Station(to)) => self.world.send_foreign(to, true, None, number, bytes),
            (Host::Station(from), Host::Server) => {
                self.world.send_foreign(from, false, None, number, bytes);
            }
            (Host::Station(from), Host::Station(to)) => {
                self.world.send_foreign(from, false, Some(to), number, bytes);
            }
            (Host::Server, Host::Server) => return false,
        }
        true
    }

    /// The time of the last [`Live::advance`].
    pub fn now(&self) -> Instant {
        self.world.now
    }

    /// Wake-ups of machines so far.
    pub fn events(&self) -> u64 {
        self.world.events
    }

    /// The next packet that has come to its end.
    pub fn poll(&mut self) -> Option<Crossing> {
        self.world.take_crossing()
    }

    /// Ends the run at the time of the last [`Live::advance`], with what was seen of its flows. Windows of the
    /// sliding-window method for which the run was too short are left out.
    pub fn finish(mut self, observed: Vec<Observed>) -> Run {
        let measured =
            self.world.now.saturating_since(Instant::ZERO + self.scenario.measure_from.unwrap_or_default());
        self.scenario.fairness_windows.retain(|window| *window <= measured);
        let mut results = Vec::with_capacity(observed.len());
        let flows = observed.into_iter().map(|Observed { result, meter }| {
            let place = (result.station, result.direction == "down", meter);
            results.push(result);
            place
        });
        self.world.replace_flows(flows);
        self.world.finish_observed(results, &self.scenario, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(scenario: &str, set: &[(&str, &str)]) -> Live {
        let set: Vec<(String, String)> =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Live::new(&Scenario::load(scenario, &set).unwrap(), 1, false).unwrap()
    }

    /// Everything that comes out within `time`, woken only when asked for.
    fn crossings(live: &mut Live, time: Span) -> Vec<Crossing> {
        let end = live.world.now + time;
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
        assert!(live.send(Host::Server, Host::Station(0), 7, 1_500));
        assert!(live.send(Host::Station(0), Host::Server, 8, 40));
        let crossed = crossings(&mut live, Span::from_millis(60));
        assert_eq!(
            crossed.iter().map(|crossing| (crossing.number, crossing.arrived)).collect::<Vec<_>>(),
            [(8, true), (7, true)]
        );
        for crossing in crossed {
            assert!(
                crossing.took > Span::from_millis(20) && crossing.took < Span::from_millis(22),
                "{crossing:?}"
            );
            assert_eq!(crossing.at, Instant::from_millis(5) + crossing.took);
        }
    }

    #[test]
    fn a_packet_between_stations_crosses_the_air_twice_and_never_the_wire() {
        let mut live = live("fast-dsl", &[("station.count", "2"), ("wired.rtt", "40ms")]);
        assert!(live.send(Host::Station(0), Host::Station(1), 1, 1_500));
        let crossed = crossings(&mut live, Span::from_millis(30));
        assert_eq!(crossed.len(), 1);
        assert!(crossed[0].arrived && crossed[0].took < Span::from_millis(2), "{crossed:?}");
        assert_eq!(live.finish(Vec::new()).result.cell.ap_drops, 0);
    }

    #[test]
    fn nobody_sends_to_himself_or_to_a_station_that_is_not_there() {
        let mut live = live("fast-dsl", &[]);
        for (from, to) in [
            (Host::Server, Host::Server),
            (Host::Station(0), Host::Station(0)),
            (Host::Server, Host::Station(1)),
            (Host::Station(3), Host::Server),
        ] {
            assert!(!live.send(from, to, 1, 100));
        }
        assert_eq!(crossings(&mut live, Span::from_millis(30)), []);
    }

    #[test]
    fn lateness_outside_changes_nothing_inside() {
        let run = |step: Span| {
            let mut live = live("fast-dsl", &[("station.policy", "psm")]);
            let mut crossed = Vec::new();
            for tick in 0..40 {
                let sent = Instant::from_millis(50 * tick);
                while live.world.now < sent {
                    live.advance(sent.min(live.world.now + step));
                    crossed.extend(std::iter::from_fn(|| live.poll()));
                }
                assert!(live.send(Host::Server, Host::Station(0), tick, 700));
            }
            crossed.extend(crossings(&mut live, Span::from_millis(500)));
            (crossed, live.finish(Vec::new()).result)
        };
        let (prompt, late) = (run(Span::from_micros(10)), run(Span::from_millis(50)));
        assert_eq!(prompt.0.len(), 40);
        assert_eq!(prompt, late);
    }
}
