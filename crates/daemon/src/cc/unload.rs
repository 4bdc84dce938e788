//! `unload`: routes and defaults first, as the kernel hides a route's congestion control once that is not registered any more; then the
//! programs. Each change is undone by itself, and one that cannot be is reported and does not keep the others.
//!
//! What the undo log does not know is found by looking: routes and defaults that ask for one of our congestion controls, in every
//! network namespace that can be reached, and what is registered in the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use airwatt_linux::undo::UndoLog;
use airwatt_linux::{namespace, route};
use airwatt_proto::cc::AckLossConfig;

use super::changes::{self, Change, UnloadState, direct};
use super::{NAMES, Unload, is_ours, kernel, sockets};
use crate::failure::Failure;
use crate::instance::lock;
use crate::{host, output};

/// The kernel frees a link some milliseconds after its name is removed: pauses of 10 ms until then.
const PAUSES: u32 = 200;

pub(super) fn run(options: &Unload) -> Result<(), Failure> {
    kernel::check()?;
    let _lock = lock()?;
    let (mut log, damage) = changes::read(&options.state.file)?;
    damage.iter().for_each(|line| output::error(&format!("{line}: left out")));
    log.forget_damaged();
    let present = kernel::loaded()?;
    let is_logged = !log.entries().is_empty() || !damage.is_empty() || log.has_draft();
    let (traces, had_pins) = (options.force || is_logged, kernel::has_pins());
    if traces && present.len() < NAMES.len() {
        // Routes that ask for it are visible only while it is registered.
        if let Err(failure) = kernel::load(&AckLossConfig::default()) {
            output::error(&format!("routes that ask for what is not registered cannot be seen: {failure}"));
        }
    }
    let here = namespace::current()?;
    let others = others(&log, here);
    if !others.is_empty() && !options.force {
        return unload_here(&mut log, here, &others);
    }
    let mut problems = undo_within(&mut log, here, None, options.force);
    let fallback = host::default_control().ok().filter(|name| !is_ours(name));
    for (inode, path) in &others {
        match path {
            Some(path) => {
                let undone =
                    namespace::within(path, || undo_within(&mut log, *inode, fallback.as_deref(), true));
                problems.extend(undone.unwrap_or_else(|error| vec![error.to_string()]));
            }
            None => {
                output::progress(&format!("net:[{inode}] is gone, and what was changed there with it"));
                let _ = log.retain(|entry| entry.change.namespace() != *inode);
            }
        }
    }
    // For the last line only.
    let left = if present.is_empty() { 0 } else { sockets::read().map_or(0, |open| open.len()) };
    let any = !present.is_empty() || !others.is_empty();
    // Unless something still asks for the programs, and nobody insists.
    let programs_stay = !problems.is_empty() && !options.force;
    let (unregistered, is_cleared) = if programs_stay { (Vec::new(), false) } else { unregister() };
    problems.extend(unregistered);
    let is_interrupted = is_logged || had_pins && is_cleared;
    if problems.is_empty() {
        // The file may still have what could not be read.
        let _ = log.retain(|_| false);
        log.write().map_err(|error| {
            Failure::Failed(format!(
                "{error}: all that it lists is undone, but it stays; hint: `cc unload`, once it can be removed"
            ))
        })?;
        output::progress(match (any, left) {
            (false, _) if is_interrupted => {
                "nothing was loaded; what an interrupted `load` or `unload` had left is undone"
            }
            (false, _) => "nothing was loaded",
            (true, 0) => "unloaded",
            (true, _) => "unloaded; connections that are open keep it until they close",
        });
        return Ok(());
    }
    problems.extend(log.write().err().map(|error| error.to_string()));
    Err(not_undone(&problems, if programs_stay { "; so the programs stay in the kernel; " } else { "" }))
}

/// One line about all that is left. With something to say behind it, there is also something to do.
fn not_undone(problems: &[String], behind: &str) -> Failure {
    let mut said: Vec<&str> = Vec::new();
    for line in problems {
        // One obstacle may be met twice: by the log, and by looking.
        if !said.contains(&&**line) {
            said.push(line);
        }
    }
    let hint = if behind.is_empty() { "" } else { "hint: do that by hand, or use --force" };
    Failure::Failed(format!("not undone: {}{behind}{hint}", said.join("; ")))
}

/// Undoes the changes of this network namespace. The programs stay for the others.
fn unload_here(
    log: &mut UndoLog<Change>,
    here: u64,
    others: &BTreeMap<u64, Option<PathBuf>>,
) -> Result<(), Failure> {
    let is_logged = log.entries().iter().any(|entry| entry.change.namespace() == here);
    if !is_logged && UnloadState::find()?.is_empty() {
        return Err(elsewhere(others));
    }
    let problems = undo_within(log, here, None, false);
    log.write()?;
    if !problems.is_empty() {
        return Err(not_undone(&problems, "; "));
    }
    output::progress(&format!(
        "unloaded in this network namespace; the congestion controls stay registered for {}",
        names(others).join(", ")
    ));
    Ok(())
}

/// The other network namespaces that have to do with us, by their inodes: those in the log, and those in which something asks for one of our
/// congestion controls. One that cannot be reached has no path.
fn others(log: &UndoLog<Change>, here: u64) -> BTreeMap<u64, Option<PathBuf>> {
    let mut reachable = namespace::reachable();
    reachable.remove(&here);
    let logged: BTreeSet<u64> = log.entries().iter().map(|entry| entry.change.namespace()).collect();
    let mut found: BTreeMap<u64, Option<PathBuf>> =
        logged.into_iter().filter(|inode| *inode != here).map(|inode| (inode, None)).collect();
    for (inode, path) in reachable {
        // A namespace may end while this looks.
        let asks = || {
            namespace::within(&path, UnloadState::find)
                .is_ok_and(|found| found.is_ok_and(|found| !found.is_empty()))
        };
        if found.contains_key(&inode) || asks() {
            found.insert(inode, Some(path));
        }
    }
    found
}

fn names(others: &BTreeMap<u64, Option<PathBuf>>) -> Vec<String> {
    let name = |(inode, path): (&u64, &Option<PathBuf>)| match path {
        Some(path) => path.display().to_string(),
        None => format!("net:[{inode}], which cannot be found"),
    };
    others.iter().map(name).collect()
}

fn elsewhere(others: &BTreeMap<u64, Option<PathBuf>>) -> Failure {
    Failure::Failed(format!(
        "nothing to unload in this network namespace, but in other network namespaces ({}); hint: unload there, or use --force",
        names(others).join(", ")
    ))
}

/// Undoes everything in this thread's network namespace, and returns a line about each thing that could not be undone.
fn undo_within(log: &mut UndoLog<Change>, here: u64, fallback: Option<&str>, force: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let recorded: Vec<Change> = log
        .entries()
        .iter()
        .rev()
        .map(|entry| entry.change.clone())
        .filter(|change| change.namespace() == here)
        .collect();
    for change in recorded {
        let undone = change.undo();
        if undone.is_ok() || force {
            // A log that cannot be written keeps nothing from being undone: the last attempt to write it says why.
            let _ = log.retain(|entry| entry.change != change);
        }
        problems.extend(undone.err().map(|failure| failure.to_string()));
    }
    if let Err(error) = route::remove_detours() {
        problems.push(error.to_string());
    }
    let left = match UnloadState::find() {
        Ok(left) => left,
        Err(failure) => {
            problems.push(failure.to_string());
            return problems;
        }
    };
    for route in &left.routes {
        if let Err(failure) = direct(route, None, airwatt_linux::route::Placement::Last) {
            problems.push(failure.to_string());
        }
    }
    if let Some(name) = &left.default {
        let reset = if force { reset_default(fallback) } else { Err(unknown_default(name)) };
        problems.extend(reset.err().map(|failure| failure.to_string()));
    }
    match UnloadState::find() {
        Ok(left) if !left.is_empty() && problems.is_empty() => problems.push(left.describe()),
        Err(failure) => problems.push(failure.to_string()),
        Ok(_) => {}
    }
    problems
}

fn unknown_default(name: &str) -> Failure {
    Failure::Failed(format!("net.ipv4.tcp_congestion_control is {name}, and what it was before is not known"))
}

/// Sets the default to the first that the kernel allows here: `fallback`, CUBIC, or Reno, which every kernel has. Other network
/// namespaces than the first may be allowed fewer.
fn reset_default(fallback: Option<&str>) -> Result<(), Failure> {
    let mut names = fallback.into_iter().chain(["cubic", "reno"]);
    let mut last = Ok(());
    names.any(|name| {
        last = host::set_default_control(name);
        last.is_ok()
    });
    last
}

/// Takes the programs out of the kernel. Returns a line about each thing that is left, and whether our folder or our mount of the BPF file
/// system was removed.
fn unregister() -> (Vec<String>, bool) {
    let unregistered = || -> Result<(Vec<String>, bool), Failure> {
        let mut left = Vec::new();
        for loaded in kernel::loaded()? {
            left.extend(kernel::unregister(&loaded).err().map(|failure| failure.to_string()));
        }
        for _ in 0..PAUSES {
            if !left.is_empty() || kernel::loaded()?.is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        left.extend(kernel::loaded()?.iter().map(|loaded| format!("{} is still registered", loaded.name)));
        let is_cleared = kernel::clear_pins()?;
        Ok((left, is_cleared))
    };
    unregistered().unwrap_or_else(|failure| (vec![failure.to_string()], false))
}
