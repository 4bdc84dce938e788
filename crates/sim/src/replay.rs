//! The packets of a capture through a cell with one station, under one power-save policy.
//!
//! Cell, station and radio come from a scenario; its flows and its wired path take no part. What comes out is the
//! station's ledger and what became of each packet. See [`crate::stack::application::Replay`] for what a replay cannot tell.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use airwatt_base::Span;
use airwatt_energy::{Ledger, Radio};

use crate::net::{Ending, Network, Plan, RunProgress};
use crate::run::RunError;
use crate::scenario::Scenario;
pub use crate::stack::application::{Arrival, Delay};

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The station's time in each state; covers the replay's duration exactly.
    pub ledger: Ledger,
    /// The radio that it was spent with.
    pub radio: Radio,
    /// Wake-ups by reason.
    pub wakeups: BTreeMap<&'static str, u64>,
    /// Packets that crossed the air, in order of reception.
    pub delays: Vec<Delay>,
    /// Packets that were dropped on the way.
    pub lost: u64,
    /// Wake-ups of machines.
    pub events: u64,
}

/// Replays `arrivals` at the first station of `scenario` for `duration`. Packets that are still waiting then are neither
/// in `delays` nor in `lost`. `watch` is asked now and then whether to go on.
///
/// # Errors
/// [`RunError::Radio`] for a radio profile that cannot be read, [`RunError::Interrupted`] where `watch` says so.
pub fn replay(
    scenario: &Scenario,
    seed: u64,
    arrivals: Vec<Arrival>,
    duration: Span,
    watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
) -> Result<Replayed, RunError> {
    let mut plan = Plan::new(scenario, seed).map_err(|error| RunError::Radio(error.to_string()))?;
    plan.replay(arrivals, duration);
    let mut network = Network::new(plan, seed);
    if network.run(watch) == Ending::Interrupted {
        return Err(RunError::Interrupted);
    }
    Ok(network.into_replayed())
}

#[cfg(test)]
mod tests {
    use airwatt_base::Instant;

    use super::*;

    fn run(policy: &str, arrivals: &[Arrival]) -> Replayed {
        let set = [("policy".to_owned(), policy.to_owned())];
        let scenario = Scenario::load("fast-dsl", &set).unwrap();
        let mut watch = |_: RunProgress| ControlFlow::Continue(());
        replay(&scenario, 1, arrivals.to_vec(), Span::from_secs(3), &mut watch).unwrap()
    }

    #[test]
    fn a_sleeping_station_gets_its_packets_later_and_cheaper() {
        let arrivals: Vec<Arrival> = (0..20)
            .map(|step| Arrival {
                at: Instant::from_millis(100 + 97 * step),
                down: step % 4 != 0,
                bytes: 500,
                after: None,
            })
            .collect();
        let awake = run("active", &arrivals);
        let asleep = run("psm", &arrivals);
        for replayed in [&awake, &asleep] {
            assert_eq!((replayed.delays.len(), replayed.lost), (20, 0));
            assert_eq!(replayed.ledger.elapsed(), Span::from_secs(3));
        }
        let mean = |replayed: &Replayed| replayed.delays.iter().map(|delay| delay.delay).sum::<Span>() / 20;
        assert!(mean(&awake) < Span::from_millis(1), "{}", mean(&awake));
        assert!(mean(&asleep) > Span::from_millis(20), "{}", mean(&asleep));
        assert!(asleep.ledger.energy(&asleep.radio) < awake.ledger.energy(&awake.radio));
        assert!(asleep.wakeups.values().sum::<u64>() > 20);
        assert!(awake.wakeups.is_empty());
    }

    #[test]
    fn nothing_is_acknowledged_before_it_is_received() {
        let at = Instant::from_millis(150);
        let data = Arrival { at, down: true, bytes: 1_500, after: None };
        let ack = Arrival { at: at + Span::from_micros(100), down: false, bytes: 52, after: Some(0) };
        let delays = run("psm", &[data, ack]).delays;
        assert_eq!(delays.iter().map(|delay| delay.number).collect::<Vec<_>>(), [0, 1]);
        assert!(
            delays[0].delay > Span::from_millis(5)
                && delays[1].delay + Span::from_millis(1) > delays[0].delay
        );
    }
}
