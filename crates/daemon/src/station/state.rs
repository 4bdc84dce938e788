//! What outlives a daemon: its account, and whether it was switched off. Both are files in one folder, or in the one that
//! `STATE_DIRECTORY` names.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use airwatt_linux::folder::Folder;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::account::Period;
use crate::failure::Failure;

const FOLDER: &str = "/var/lib/airwatt";
const SCHEMA: u32 = 1;

/// The account of an interface as a file has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    schema: u32,
    /// The setting as it was found.
    pub(super) found: bool,
    pub(super) periods: [Period; 2],
    /// The last document of the daemon, for reports while none runs.
    pub(super) document: serde_json::Value,
}

fn folder() -> PathBuf {
    // Of several, which no unit of this project has, the first.
    let named = std::env::var("STATE_DIRECTORY").ok();
    named.and_then(|names| Some(names.split(':').next()?.into())).unwrap_or_else(|| FOLDER.into())
}

fn book_file(interface: &str) -> String {
    format!("station-{interface}.json")
}

fn off_file(interface: &str) -> String {
    format!("station-{interface}.off")
}

/// Says of a folder that this user may not use who may.
fn as_root(failure: Failure) -> Failure {
    if matches!(failure, Failure::Missing(_)) { failure.with(": run this as root") } else { failure }
}

/// Reads the account of an interface; `None` if there is none that fits.
pub(super) fn read(interface: &str) -> Option<Stored> {
    let bytes = Folder::open(&folder()).ok()??.read(&book_file(interface)).ok()??;
    let stored: Stored = serde_json::from_slice(&bytes).ok()?;
    (stored.schema == SCHEMA).then_some(stored)
}

/// Writes it. What fails is only worth a warning, once: the daemon works without.
pub(super) fn write(interface: &str, found: bool, periods: &[Period; 2], document: serde_json::Value) {
    let stored = Stored { schema: SCHEMA, found, periods: periods.clone(), document };
    let text = serde_json::to_vec(&stored).expect("numbers and texts");
    let written = Folder::create(&folder()).and_then(|folder| folder.write(&book_file(interface), &text));
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    if let Err(error) = written
        && !IS_KNOWN.swap(true, Ordering::Relaxed)
    {
        warn!(%error, "the account is not kept: the next daemon counts anew");
    }
}

/// Whether the daemon was switched off on this interface.
pub(super) fn is_off(interface: &str) -> bool {
    folder().join(off_file(interface)).exists()
}

/// The interfaces on which it was switched off, sorted.
///
/// # Errors
/// If this user may not see them.
pub(super) fn switched_off() -> Result<Vec<String>, Failure> {
    let folder = folder();
    let files = match std::fs::read_dir(&folder) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(as_root(Failure::of_io(&folder.display().to_string(), &error))),
    };
    let mut names: Vec<String> = files
        .flatten()
        .filter_map(|file| {
            Some(file.file_name().to_str()?.strip_prefix("station-")?.strip_suffix(".off")?.to_owned())
        })
        .collect();
    names.sort();
    Ok(names)
}

/// Switches it off, or on again, for this and all later starts.
pub(super) fn set_off(interface: &str, off: bool) -> Result<(), Failure> {
    let file = off_file(interface);
    let set = || match off {
        true => Folder::create(&folder())?.write(&file, b""),
        false => Folder::open(&folder())?.map_or(Ok(()), |folder| folder.remove(&file)),
    };
    set().map_err(|error| as_root(error.into()))
}
