//! Values of the general form that can be read but cannot be: the same checks as those of the short form, table by table.

use airwatt_base::settings::{SettingError, Settings};

use super::check::{self, MAX_STATIONS, Outcome};
use super::topology::{Cell, NodeGroup};
use super::{AccessPoint, FlowGroup, Scenario};

/// Checks the general tables of a scenario.
pub(super) fn check(scenario: &Scenario) -> Outcome {
    for (index, group) in scenario.node.iter().enumerate() {
        node(group).map_err(|error| error.under(index).under("node"))?;
    }
    for (index, table) in scenario.cell.iter().enumerate() {
        cell(table).map_err(|error| error.under(index).under("cell"))?;
    }
    if !scenario.is_short() && scenario.wired.is_some() {
        return Err(SettingError::no_effect("wired", "the general form", "the short form; write a [[link]]"));
    }
    if !scenario.is_short() && scenario.tunnel.is_some() {
        let belongs = "the short form; give a node a program of kind \"tunnel\"";
        return Err(SettingError::no_effect("tunnel", "the general form", belongs));
    }
    Ok(())
}

fn node(group: &NodeGroup) -> Outcome {
    for (index, program) in group.program.iter().enumerate() {
        program.check().map_err(|error| error.under(index).under("program"))?;
    }
    Ok(())
}

fn cell(cell: &Cell) -> Outcome {
    check::wifi(&cell.wifi).map_err(|error| error.under("wifi"))?;
    if let (Some(one), Some(other)) = (&cell.channel, &cell.wifi.channel)
        && one != other
    {
        return Err(SettingError::out_of_range(
            "wifi.channel",
            format!("{other:?}"),
            format!("{one:?}, as channel"),
        ));
    }
    let without = AccessPoint::default();
    let access_point = cell.access_point.as_ref().unwrap_or(&without);
    check::access_point(access_point, &cell.station).map_err(|error| error.under("access_point"))?;
    if cell.station.len() > MAX_STATIONS as usize {
        let allowed = format!("at most {MAX_STATIONS} stations");
        return Err(SettingError::out_of_range("station", cell.station.len(), allowed));
    }
    for (index, group) in cell.station.iter().enumerate() {
        check::station(access_point, Some(&cell.wifi), group)
            .map_err(|error| error.under(index).under("station"))?;
    }
    Ok(())
}

/// The keys of the short form have no place beside named ends.
pub(super) fn flow(group: &FlowGroup) -> Outcome {
    let short = [
        ("direction", group.direction.is_some()),
        ("stations", group.stations.is_some()),
        ("neighbours", group.neighbours.is_some()),
        ("wired", group.wired.is_some()),
    ];
    match short.into_iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(SettingError::conflict(key, "from and to", "either says where the flow goes")),
        None => Ok(()),
    }
}
