//! Runs `fast-dsl` with the mechanisms of this crate and with those that it has without them.

use std::ops::ControlFlow;

use airwatt_proto::cc::OwnCongestionControl;
use airwatt_proto::powersave::OwnPolicy;
use airwatt_sim::scenario::{Checked, PolicyChoice, Scenario, TransportChoice};
use airwatt_sim::{RunOptions, run};
use own_mechanisms::{Half, Nap, NapConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let overrides = [("flow.application.size", "5MB"), ("policy", "timeout")];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("fast-dsl", &overrides)?;
    let mut own = Scenario::clone(&scenario);
    own.station[0].power_save = PolicyChoice::own(OwnPolicy::of::<Nap>("nap", NapConfig::default()));
    own.flow[0].transport = TransportChoice::own(OwnCongestionControl::of::<Half>("half"));
    for scenario in [scenario, Checked::new(own)?] {
        let mut options = RunOptions { trace: false, on_progress: &mut |_| ControlFlow::Continue(()) };
        let result = run(&scenario, 1, &mut options)?.result;
        let (station, flow) = (&result.stations[0], &result.flows[0]);
        println!(
            "{:8} {:8} {:.3} J {:.2} Mb/s",
            station.policy,
            flow.transport,
            station.energy_j,
            flow.goodput_bps / 1e6
        );
    }
    Ok(())
}
