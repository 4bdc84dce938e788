//! The mechanisms from outside that a scenario names, each with its key: whoever makes a run puts them in.

use std::ops::Deref;

use airwatt_proto::cc::OwnCongestionControl;
use airwatt_proto::powersave::StationPolicy;

use super::choice::{Mechanism, OwnChoice, OwnKind};
use super::{Checked, Scenario, StationGroup, Transport};

/// The policies of groups of stations that are from outside.
fn policies_of(prefix: String, groups: &mut [StationGroup]) -> impl Iterator<Item = OwnChoice<'_>> {
    groups.iter_mut().enumerate().filter_map(move |(index, group)| {
        group.power_save.as_own(format!("{prefix}station.{index}.power_save.policy"), OwnKind::Policy)
    })
}

impl Scenario {
    /// The mechanisms from outside that it names.
    pub fn own_choices(&mut self) -> Vec<OwnChoice<'_>> {
        let in_cells = self.cell.iter_mut().enumerate();
        let in_cells =
            in_cells.flat_map(|(index, cell)| policies_of(format!("cell.{index}."), &mut cell.station));
        let policies = policies_of(String::new(), &mut self.station).chain(in_cells);
        let flows = self.flow.iter_mut().enumerate().filter_map(|(index, group)| {
            group.transport.as_own(format!("flow.{index}.transport"), OwnKind::Congestion)
        });
        policies.chain(flows).collect()
    }

    /// The scenario with the mechanisms that were put in since it was checked: only a class can say whether it goes with the keys beside it.
    ///
    /// # Errors
    /// One line that says where a mechanism was named, and why it does not go.
    pub fn with_own(mut self) -> Result<Checked, String> {
        Checked::new(self.clone()).map_err(|error| {
            let above = |key: &str| {
                key.trim_end_matches(".power_save.policy").trim_end_matches("transport").to_owned()
            };
            let of_table = |choice: &OwnChoice<'_>| error.key().starts_with(&above(&choice.key));
            match self.own_choices().into_iter().find(of_table) {
                Some(choice) if error.key() == choice.key => {
                    format!("{}: {}", choice.place, error.message())
                }
                Some(choice) => format!("{}: {error}", choice.place),
                None => error.to_string(),
            }
        })
    }
}

/// A checked scenario with its mechanisms from outside: only this is planned and run.
#[derive(Clone, Debug)]
pub struct Ready<'a> {
    checked: &'a Checked,
    /// The policies of the groups of stations of each cell.
    pub(crate) policies: Vec<Vec<StationPolicy>>,
    /// The transports of the groups of flows.
    pub(crate) transports: Vec<Mechanism<Transport, OwnCongestionControl>>,
}

impl Checked {
    /// The scenario with its mechanisms from outside.
    ///
    /// # Errors
    /// One line that says where the first that was not made was named.
    pub fn ready(&self) -> Result<Ready<'_>, String> {
        let cells = self.topology.cell.iter();
        let policies = cells.map(|cell| cell.station.iter().map(StationGroup::policy).collect());
        let transports = self.topology.flow.iter().map(|group| group.transport.ready());
        Ok(Ready {
            checked: self,
            policies: policies.collect::<Result<_, _>>()?,
            transports: transports.collect::<Result<_, _>>()?,
        })
    }
}

impl Deref for Ready<'_> {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        self.checked
    }
}
