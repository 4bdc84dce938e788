//! The mechanisms from outside that a scenario names, each with its key: whoever makes a run puts them in.

use super::choice::{OwnChoice, OwnKind};
use super::{Checked, Scenario, StationGroup};

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

    /// Whether every mechanism from outside is there.
    ///
    /// # Errors
    /// One line that says where the first that is not was named.
    pub fn has_own(&self) -> Result<(), String> {
        let mut groups = self.cell.iter().flat_map(|cell| &cell.station).chain(&self.station);
        if !groups.any(|group| group.power_save.is_own())
            && !self.flow.iter().any(|flow| flow.transport.is_own())
        {
            return Ok(());
        }
        let mut own = self.clone();
        let unmade = |choice: &OwnChoice<'_>| match &choice.kind {
            OwnKind::Policy(made, _) => made.is_none(),
            OwnKind::Congestion(made, _) => made.is_none(),
        };
        own.own_choices().into_iter().find(unmade).map_or(Ok(()), |choice| {
            Err(format!("{}: a class in Python runs in the simulator, and not here", choice.place))
        })
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
