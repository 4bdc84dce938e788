//! Mechanisms from outside: a power-save policy and a congestion control that take the place of those of a scenario.
//!
//! They are handed to a run beside its scenario, since a scenario is data and a mechanism is code. The scenario still names a
//! listed policy and a transport, by which its keys are checked.

use airwatt_proto::cc::OwnCongestionControl;
use airwatt_proto::powersave::{Observable, OwnPolicy, StationPolicy};

use crate::net::{ConnectionPlan, MediumKind, NetworkPlan, Traffic};
use crate::scenario::Transport;

/// Mechanisms from outside, for all stations and flows of a run.
#[derive(Clone, Debug, Default)]
pub struct OwnMechanisms {
    /// The power-save policy of every station of an access point.
    pub policy: Option<OwnPolicy>,
    /// The congestion control of every TCP connection from end to end.
    pub congestion: Option<OwnCongestionControl>,
}

impl OwnMechanisms {
    /// Puts the mechanisms into a plan.
    ///
    /// # Errors
    /// A policy that needs what a station hides, and a mechanism that no station or flow of the plan would use.
    pub(crate) fn put_into(&self, plan: &mut NetworkPlan) -> Result<(), String> {
        if let Some(policy) = &self.policy {
            put_policy(policy, plan)?;
        }
        if let Some(congestion) = &self.congestion {
            put_congestion(congestion, plan)?;
        }
        Ok(())
    }
}

fn put_policy(policy: &OwnPolicy, plan: &mut NetworkPlan) -> Result<(), String> {
    let cells = plan.media.iter_mut().filter_map(|medium| match &mut medium.kind {
        MediumKind::Cell(bsss) => Some(bsss),
        _ => None,
    });
    let mut stations = 0;
    for station in cells.flatten().flat_map(|bss| &mut bss.stations) {
        let own = StationPolicy::Own(policy.clone());
        let hidden = station.power_save.hidden;
        let hides =
            |fact: &&Observable| policy.needs().contains(fact.ability()) && hidden.contains(fact.ability());
        if let Some(missed) = Observable::ALL.iter().find(hides) {
            return Err(format!(
                "policy {}: needs {:?}, which station.hide hides",
                own.name(),
                missed.name()
            ));
        }
        station.policy = own;
        stations += 1;
    }
    if stations == 0 {
        Err("policy: expected a scenario with stations of an access point".to_owned())
    } else {
        Ok(())
    }
}

fn put_congestion(congestion: &OwnCongestionControl, plan: &mut NetworkPlan) -> Result<(), String> {
    let mut senders = 0;
    let tcp = plan.flows.iter_mut().filter(|flow| matches!(flow.transport, Transport::Tcp { .. }));
    for flow in tcp {
        let Traffic::Transfer { legs, .. } = &mut flow.traffic else { continue };
        for leg in legs {
            if let ConnectionPlan::Tcp { server_side, station_side } = leg {
                server_side.own_congestion = Some(congestion.clone());
                station_side.own_congestion = Some(congestion.clone());
                senders += 1;
            }
        }
    }
    if senders == 0 {
        Err("transport: expected a scenario with TCP from end to end".to_owned())
    } else {
        Ok(())
    }
}
