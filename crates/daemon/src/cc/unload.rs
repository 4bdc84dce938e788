//! `unload`: routes and the default first, as the names of what they ask for must still be known; then the programs.

use super::Unload;
use super::changes::{Change, Changes};
use super::kernel;
use super::{NAMES, sockets};
use crate::failure::Failure;
use crate::{host, output, route};

pub(super) fn run(options: &Unload) -> Result<(), Failure> {
    let file = options.state.file.as_path();
    let mut changes = Changes::read(file)?;
    kernel::check()?;
    let namespace = host::network_namespace()?;
    let elsewhere: Vec<_> =
        changes.changes.iter().filter_map(Change::namespace).filter(|other| *other != namespace).collect();
    if let Some(other) = elsewhere.first()
        && !options.force
    {
        return Err(Failure::Failed(format!(
            "{} changes were made in other network namespaces (net:[{other}]): unload there first, or --force if it is gone",
            elsewhere.len()
        )));
    }
    for change in changes.changes.iter().rev() {
        restore(change, namespace)?;
    }
    let present = kernel::loaded()?;
    let left = if present.is_empty() { 0 } else { sockets::read()?.len() };
    for loaded in &present {
        kernel::take_out(loaded)?;
    }
    kernel::clear_pins(changes.changes.contains(&Change::Mount))?;
    changes.changes.clear();
    changes.write(file)?;
    output::say(match (present.len(), left) {
        (0, _) => "nothing was loaded",
        (_, 0) => "unloaded",
        _ => "unloaded; connections that are open keep it until they close",
    });
    Ok(())
}

/// Puts one change back, unless something else changed it since.
fn restore(change: &Change, here: u64) -> Result<(), Failure> {
    let ours = |name: Option<&str>| name.is_some_and(|name| NAMES.contains(&name));
    match change {
        Change::Route { namespace, route, before } if *namespace == here => {
            let now = route::list()?;
            match now.iter().find(|now| now.identity() == *route) {
                Some(now) if ours(now.congestion_control().as_deref()) => {
                    now.set_congestion_control(before.as_deref())
                }
                _ => Ok(()),
            }
        }
        Change::Default { namespace, before } if *namespace == here => {
            if ours(Some(&host::default_control()?)) { host::set_default_control(before) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}
