//! `load`: settings and targets are checked first, then the programs go into the kernel, then connections are directed to
//! them. A second `load` with the same arguments changes nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use airwatt_linux::route::{self, KernelRoute, Placement};
use airwatt_linux::undo::{UndoEntry, UndoLog};
use airwatt_linux::{interface, namespace};
use airwatt_proto::cc::AckLossConfig;

use super::changes::{self, Change};
use super::kernel::{self, Outcome};
use super::{Load, NAMES};
use crate::failure::Failure;
use crate::instance::{self, lock};
use crate::{host, output, tunnel};

pub(super) fn run(options: &Load) -> Result<(), Failure> {
    let config = options.settings.config()?;
    let prefixes = options.route.iter().map(|text| prefix(text)).collect::<Result<Vec<_>, _>>()?;
    if options.dry_run {
        kernel::check_kernel()?;
        let routes = targets(options, &prefixes)?;
        warn_of_tunnels(&routes, options.default);
        return print_plan(options, &config, &routes);
    }
    kernel::check()?;
    let _lock = lock()?;
    let (mut log, damage) = changes::read(&options.state.file)?;
    if let Some(line) = damage.first() {
        return Err(Failure::Input(format!("{line}; hint: `airwattd cc unload` does without the file")));
    }
    let here = namespace::current()?;
    finish_interrupted(&mut log, here)?;
    let routes = targets(options, &prefixes)?;
    warn_of_tunnels(&routes, options.default);
    let name = options.algorithm.as_str();
    let steps = steps(&routes, options.default, name, here)?;
    let earlier = log.entries().to_vec();
    // Everything is written down before anything is changed: with a full disk nothing is.
    let prepared = begin(&mut log, &steps).and_then(|()| load_programs(&config, name));
    if let Err(failure) = prepared {
        // What was begun was not made, and an entry that stays does no harm.
        let _ = log.restore(earlier);
        return Err(failure);
    }
    direct_all(&steps, name, &mut log, &earlier).map_err(|failure| match failure {
        Failure::Failed(line) if !log.entries().is_empty() => {
            Failure::Failed(format!("{line}; hint: `airwattd cc unload` undoes what was changed"))
        }
        other => other,
    })
}

/// Puts the programs into the kernel.
fn load_programs(config: &AckLossConfig, name: &str) -> Result<(), Failure> {
    let outcomes = kernel::load(config).inspect_err(|_| {
        // A mount that was made for this is of no use. The error itself matters more than one about that.
        let _ = kernel::clear_pins();
    })?;
    for (name, outcome) in &outcomes {
        output::progress(&match outcome {
            Outcome::Loaded => format!("{name}: loaded"),
            Outcome::Replaced => format!("{name}: replaced an older one"),
            Outcome::Kept => format!("{name}: loaded already"),
            Outcome::Unavailable => {
                format!("{name}: not loaded, as this kernel has no CUBIC that a program may call")
            }
        });
    }
    if outcomes.contains(&(NAMES[1], Outcome::Unavailable)) && name == NAMES[1] {
        return Err(Failure::Missing(format!(
            "{name} is missing in this kernel: its CUBIC is no function that a program may call"
        )));
    }
    Ok(())
}

/// Prints what `run` would do, for which no privileges are needed.
fn print_plan(options: &Load, config: &AckLossConfig, routes: &[KernelRoute]) -> Result<(), Failure> {
    let name = options.algorithm.as_str();
    let mut lines: Vec<String> = kernel::to_register(config)?.into_iter().map(kernel::registration).collect();
    let directed = routes.iter().filter(|route| route.congestion_control().as_deref() != Some(name));
    lines.extend(directed.map(|route| changes::direction(route, Some(name))));
    if options.default && host::default_control()? != name {
        lines.push(host::default_setting(name));
    }
    lines.iter().for_each(|line| output::print(&format!("{line}\n")));
    Ok(())
}

/// A prefix in the words of ip-route(8); `default` is that of both families.
fn prefix(text: &str) -> Result<Vec<(IpAddr, u8)>, Failure> {
    if text == "default" {
        return Ok(vec![(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)]);
    }
    let wrong = || {
        Failure::Input(format!(
            "--route: expected a prefix as default, 192.0.2.0/24 or 2001:db8::/32, got {text}"
        ))
    };
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
    if length > most { Err(wrong()) } else { Ok(vec![(address, length)]) }
}

/// Undoes what a `load` or `unload` in this network namespace had begun when it was killed.
fn finish_interrupted(log: &mut UndoLog<Change>, here: u64) -> Result<(), Failure> {
    let interrupted: Vec<Change> = log
        .entries()
        .iter()
        .filter(|entry| !entry.complete && entry.change.namespace() == here)
        .map(|entry| entry.change.clone())
        .collect();
    for change in interrupted {
        change.undo()?;
        log.retain(|entry| entry.change != change)?;
    }
    Ok(route::remove_detours()?)
}

/// The routes that are asked for, each of which must exist. Nothing is changed yet.
fn targets(options: &Load, prefixes: &[Vec<(IpAddr, u8)>]) -> Result<Vec<KernelRoute>, Failure> {
    if options.route.is_empty() && options.interface.is_empty() {
        return Ok(Vec::new());
    }
    let all = route::list()?;
    let mut chosen: Vec<KernelRoute> = Vec::new();
    for (text, prefixes) in options.route.iter().zip(prefixes) {
        let matching = matching(&all, |route| prefixes.contains(&route.destination()));
        if matching.is_empty() {
            return Err(no_route(&format!("--route {text}"), &all));
        }
        for route in matching {
            let refused =
                |why: String| Failure::Input(format!("--route {text}: {}: {why}", route.describe()));
            route::plan(route, &all, Placement::Kept).map_err(|error| refused(error.to_string()))?;
            add(&mut chosen, route);
        }
    }
    let interfaces = options.interface.iter().map(|name| {
        interface::index(name)
            .ok_or_else(|| Failure::Input(format!("--interface {name}: there is no such interface")))
    });
    let interfaces = interfaces.collect::<Result<Vec<u32>, _>>()?;
    for (name, index) in options.interface.iter().zip(&interfaces) {
        let unclear =
            |route: &KernelRoute| route.interfaces().is_empty() && route.next_hop_object().is_some();
        let matching = matching(&all, |route| route.interfaces().contains(index) || unclear(route));
        let (fit, unfit): (Vec<_>, Vec<_>) = matching
            .into_iter()
            .map(|route| (route, obstacle(route, &all, &interfaces)))
            .partition(|(_, obstacle)| obstacle.is_none());
        let mut lines = unfit
            .into_iter()
            .map(|(route, why)| format!("{}: {}", route.describe(), why.unwrap_or_default()));
        if fit.is_empty() {
            return Err(match lines.next() {
                Some(line) => Failure::Input(format!("--interface {name}: {line}")),
                None => no_route(&format!("--interface {name}"), &all),
            });
        }
        lines.for_each(|line| output::error(&format!("--interface {name}: not directed: route {line}")));
        fit.into_iter().for_each(|(route, _)| add(&mut chosen, route));
    }
    Ok(chosen)
}

/// Names the tunnels of this program through which the connections go, as far as this user may see them: what the other end leaves out looks like
/// lost acknowledgements.
fn warn_of_tunnels(routes: &[KernelRoute], default: bool) {
    for name in instance::running(tunnel::KIND).unwrap_or_default() {
        let index = interface::index(&name);
        let leads_there =
            |route: &KernelRoute| index.is_some_and(|index| route.interfaces().contains(&index));
        if default || routes.iter().any(leads_there) {
            output::error(&format!(
                "uploads through the tunnel {name} become slow if its other end has thin_acks = true, since acknowledgements \
                 that it leaves out count as lost; hint: thin_acks = false there"
            ));
        }
    }
}

fn matching(all: &[KernelRoute], wanted: impl Fn(&KernelRoute) -> bool) -> Vec<&KernelRoute> {
    all.iter().filter(|route| route.leads_to_other_hosts() && wanted(route)).collect()
}

fn add(chosen: &mut Vec<KernelRoute>, route: &KernelRoute) {
    if !chosen.iter().any(|known| known.is_same(route)) {
        chosen.push(route.clone());
    }
}

fn no_route(what: &str, all: &[KernelRoute]) -> Failure {
    let mut there: Vec<_> = matching(all, |_| true).into_iter().map(KernelRoute::describe).collect();
    there.dedup();
    Failure::Input(format!("{what}: no such route; there are {}", there.join(", ")))
}

/// Why the route cannot be directed for these interfaces alone; `None` if it can.
fn obstacle(route: &KernelRoute, all: &[KernelRoute], interfaces: &[u32]) -> Option<String> {
    if route.interfaces().is_empty() {
        return Some(
            "the kernel does not list the interfaces of its next-hop object; hint: --route".to_owned(),
        );
    }
    let others: Vec<String> = route
        .interfaces()
        .into_iter()
        .filter(|index| !interfaces.contains(index))
        .map(|index| format!("--interface {}", interface::name(index)))
        .collect();
    if !others.is_empty() {
        return Some(format!("it leaves by other interfaces as well; hint: {}", others.join(" ")));
    }
    route::plan(route, all, Placement::Kept).err().map(|error| error.to_string())
}

/// A change that is to be made: of a route, or, without one, of the default.
struct Step<'a> {
    change: Change,
    route: Option<&'a KernelRoute>,
}

/// The changes that direct connections to the congestion control `name`.
fn steps<'a>(
    routes: &'a [KernelRoute],
    default: bool,
    name: &str,
    namespace: u64,
) -> Result<Vec<Step<'a>>, Failure> {
    let others = routes.iter().filter(|route| route.congestion_control().as_deref() != Some(name));
    let of_route = |route| Step { change: Change::of_route(namespace, route), route: Some(route) };
    let mut steps: Vec<Step<'a>> = others.map(of_route).collect();
    if default {
        let before = host::default_control()?;
        if before != name {
            steps.push(Step { change: Change::Default { namespace, before }, route: None });
        }
    }
    Ok(steps)
}

/// Writes down all that is about to be changed.
fn begin(log: &mut UndoLog<Change>, steps: &[Step<'_>]) -> Result<(), Failure> {
    for Step { change, .. } in steps {
        log.begin(change.clone(), |known| known.is_about_same(change))?;
    }
    Ok(())
}

/// Makes the changes, which have been written down. If one fails, those before it stay, and the log has no others. `earlier`: entries
/// of the undo log that existed before this call.
fn direct_all(
    steps: &[Step<'_>],
    name: &str,
    log: &mut UndoLog<Change>,
    earlier: &[UndoEntry<Change>],
) -> Result<(), Failure> {
    for (number, step) in steps.iter().enumerate() {
        if let Err(failure) = make(log, step, name) {
            let later = &steps[number + 1..];
            let is_later = |one: &Change| later.iter().any(|step| step.change.is_about_same(one));
            let mut entries = log.entries().to_vec();
            entries.retain(|entry| !is_later(&entry.change));
            entries.extend(earlier.iter().filter(|entry| is_later(&entry.change)).cloned());
            log.restore(entries)?;
            return Err(failure);
        }
    }
    Ok(())
}

/// Makes a change. If it fails, or if it cannot be written down that it was made, the host is as before, and so is the log.
fn make(log: &mut UndoLog<Change>, step: &Step<'_>, name: &str) -> Result<(), Failure> {
    let is_its = |entry: &UndoEntry<Change>| entry.change.is_about_same(&step.change);
    let index = log.entries().iter().position(is_its).expect("it was begun");
    let made = match step.route {
        Some(route) => changes::direct(route, Some(name), Placement::Kept),
        None => host::set_default_control(name),
    };
    let noted = made.and_then(|()| Ok(log.complete(index)?));
    if noted.is_err() {
        let recorded = log.entries()[index].change.clone();
        // What cannot be undone now stays in the log.
        if recorded.undo().is_ok() {
            log.retain(|entry| entry.change != recorded)?;
        }
    }
    noted
}
