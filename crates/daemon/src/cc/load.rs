//! `load`: settings and targets are checked first, then the programs go into the kernel, then connections are directed to
//! them. Done twice it changes nothing the second time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use super::changes::{Change, Changes};
use super::kernel::{self, Done};
use super::{Load, NAMES};
use crate::failure::Failure;
use crate::route::{self, Route};
use crate::{host, output};

pub(super) fn run(options: &Load) -> Result<(), Failure> {
    let config = options.settings.config()?;
    let prefixes = options.route.iter().map(|text| prefix(text)).collect::<Result<Vec<_>, _>>()?;
    kernel::check()?;
    let routes = targets(options, &prefixes)?;
    let file = options.state.file.as_path();
    let mut changes = Changes::read(file)?;

    let mounted = changes.changes.contains(&Change::Mount);
    let done = match kernel::load(&config, || changes.remember(Change::Mount, file)) {
        Ok(done) => done,
        Err(failure) => {
            // What was mounted for it is of no use; its own line matters more than one about that.
            if !mounted && changes.changes.contains(&Change::Mount) && kernel::clear_pins(true).is_ok() {
                changes.changes.retain(|change| *change != Change::Mount);
                let _ = changes.write(file);
            }
            return Err(failure);
        }
    };
    for (name, done) in &done {
        output::say(&match done {
            Done::Loaded => format!("{name}: loaded"),
            Done::Replaced => format!("{name}: replaced an older one"),
            Done::Kept => format!("{name}: loaded already"),
            Done::Unavailable => {
                format!("{name}: not loaded, as this kernel has no CUBIC that a program may call")
            }
        });
    }
    let name = options.algorithm.as_str();
    if done.contains(&(NAMES[1], Done::Unavailable)) && name == NAMES[1] {
        return Err(Failure::Missing(format!(
            "{name} is not to be had in this kernel: its CUBIC is no function that a program may call"
        )));
    }
    direct(&routes, options.default, name, &mut changes, file)
}

/// A prefix as `ip route` has it; `default` is that of both families.
fn prefix(text: &str) -> Result<Vec<(IpAddr, u8)>, Failure> {
    if text == "default" {
        return Ok(vec![(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)]);
    }
    let wrong = || {
        Failure::Input(format!(
            "--route {text}: a prefix was expected, as default, 192.0.2.0/24 or 2001:db8::/32"
        ))
    };
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
    if length > most { Err(wrong()) } else { Ok(vec![(address, length)]) }
}

/// The routes that are asked for, each of which there must be.
fn targets(options: &Load, prefixes: &[Vec<(IpAddr, u8)>]) -> Result<Vec<Route>, Failure> {
    if options.route.is_empty() && options.interface.is_empty() {
        return Ok(Vec::new());
    }
    let all = route::list()?;
    let mut chosen: Vec<Route> = Vec::new();
    let mut choose = |what: String, wanted: &dyn Fn(&Route) -> bool| {
        let before = chosen.len();
        for route in all.iter().filter(|route| wanted(route)) {
            if !chosen.iter().any(|known| known.identity() == route.identity()) {
                chosen.push(route.clone());
            }
        }
        if chosen.len() == before && !all.iter().any(wanted) {
            let mut there: Vec<_> = all.iter().map(|route| route.identity().destination).collect();
            there.dedup();
            return Err(Failure::Input(format!("{what}: no such route; there are {}", there.join(", "))));
        }
        Ok(())
    };
    for (text, prefixes) in options.route.iter().zip(prefixes) {
        choose(format!("--route {text}"), &|route| prefixes.contains(&route.destination()))?;
    }
    for name in &options.interface {
        let index = host::interface_index(name)
            .ok_or_else(|| Failure::Input(format!("--interface {name}: there is no such interface")))?;
        choose(format!("--interface {name}"), &|route| route.interface() == index)?;
    }
    Ok(chosen)
}

fn direct(
    routes: &[Route],
    default: bool,
    name: &str,
    changes: &mut Changes,
    file: &Path,
) -> Result<(), Failure> {
    let namespace = host::network_namespace()?;
    for route in routes {
        let before = route.congestion_control();
        if before.as_deref() == Some(name) {
            continue;
        }
        // One of ours from a load before is nothing to come back to.
        let before = before.filter(|before| !NAMES.contains(&before.as_str()));
        changes.remember(Change::Route { namespace, route: route.identity(), before }, file)?;
        route.set_congestion_control(Some(name))?;
    }
    if default {
        let before = host::default_control()?;
        if before != name {
            changes.remember(Change::Default { namespace, before }, file)?;
            host::set_default_control(name)?;
        }
    }
    Ok(())
}
