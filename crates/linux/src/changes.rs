//! Changes of the host by a daemon, each of which can be undone: settings under `/proc/sys`, routes,
//! rules and power save.
//!
//! [`Changes`] makes a change only after it is in the undo log ([`crate::undo`]), and undoes all of them from the last to the
//! first: the daemon itself at SIGTERM, its guardian after SIGKILL ([`crate::guardian`]), or a later start. A change that
//! somebody else has changed meanwhile is let be and reported. What ends with a descriptor of the daemon, as a TUN device
//! with its addresses and the routes over it, needs no entry.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::route::KernelRoute;
use crate::rule::Rule;
use crate::undo::UndoLog;
use crate::wireless::Wireless;
use crate::{Error, interface};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// A setting under `/proc/sys`.
    Setting {
        /// Its name, as `net/ipv4/ip_forward`.
        name: String,
        /// What it was.
        before: String,
        /// What it is set to.
        after: String,
    },
    /// An added route, as a message of netlink.
    Route {
        /// The body of the message.
        body: Vec<u8>,
        /// Name of the interface that it leaves by, since numbers are used again.
        interface: Option<String>,
    },
    /// An added rule.
    Rule(Rule),
    /// Power save of a Wi-Fi interface, whose state is then changed again and again. Undoing it always restores the state
    /// before, since of two states none says who set it.
    PowerSave {
        /// Name of the interface.
        interface: String,
        /// Whether it was on.
        before: bool,
    },
}

impl Change {
    /// The change of a setting to `after`; `None` if it is that already.
    ///
    /// # Errors
    /// If there is no such setting.
    pub fn setting(name: &str, after: &str) -> Result<Option<Self>, Error> {
        let before = read_setting(name)?;
        let (name, after) = (name.to_owned(), after.to_owned());
        Ok((before != after).then_some(Self::Setting { name, before, after }))
    }

    /// The addition of a route.
    pub fn route(route: &KernelRoute) -> Self {
        let interface = route.interfaces().first().map(|index| interface::name(*index));
        Self::Route { body: route.to_bytes(), interface }
    }

    /// The command of a shell that does the same, for `--dry-run` and the log.
    pub fn describe(&self) -> String {
        match self {
            Self::Setting { name, after, .. } => format!("sysctl -w {}={after}", name.replace('/', ".")),
            Self::Route { body, .. } => {
                let route = KernelRoute::from_bytes(body).map(|route| route.describe());
                format!("ip route add {}", route.unwrap_or_default())
            }
            Self::Rule(rule) => format!("ip {}", rule.describe()),
            Self::PowerSave { interface, .. } => format!("iw dev {interface} set power_save on|off"),
        }
    }

    fn make(&self) -> Result<(), Error> {
        match self {
            Self::Setting { name, after, .. } => write_setting(name, after),
            Self::Route { body, .. } => route(body)?.add(),
            Self::Rule(rule) => rule.add(),
            Self::PowerSave { .. } => Ok(()),
        }
    }

    /// Undoes it. What is gone already is no error.
    fn undo(&self) -> Result<(), Error> {
        match self {
            Self::Setting { name, before, after } => match read_setting(name)? {
                now if now == *after => write_setting(name, before),
                now if now == *before => Ok(()),
                now => Err(Error::other(name, &format!("expected {after}, got {now}; it stays"))),
            },
            Self::Route { body, interface } => {
                let route = route(body)?;
                let index = interface.as_deref().and_then(interface::index);
                // The interface has gone, and the route with it, or has another number now.
                if interface.is_some() && route.interfaces().first() != index.as_ref() {
                    return Ok(());
                }
                gone_is_fine(route.remove())
            }
            Self::Rule(rule) => gone_is_fine(rule.remove()),
            Self::PowerSave { interface, before } => {
                let (Some(mut wireless), Some(index)) = (Wireless::open()?, interface::index(interface))
                else {
                    return Ok(());
                };
                gone_is_fine(wireless.set_power_save(index, *before))
            }
        }
    }
}

fn route(body: &[u8]) -> Result<KernelRoute, Error> {
    KernelRoute::from_bytes(body).ok_or_else(|| Error::other("a route of the undo log", "it is malformed"))
}

fn gone_is_fine(removed: Result<(), Error>) -> Result<(), Error> {
    const GONE: [Option<i32>; 3] = [Some(nix::libc::ESRCH), Some(nix::libc::ENOENT), Some(nix::libc::ENODEV)];
    removed.or_else(|error| if GONE.contains(&error.io().raw_os_error()) { Ok(()) } else { Err(error) })
}

fn read_setting(name: &str) -> Result<String, Error> {
    let path = format!("/proc/sys/{name}");
    fs::read_to_string(&path).map(|text| text.trim().to_owned()).map_err(Error::of(&path))
}

fn write_setting(name: &str, value: &str) -> Result<(), Error> {
    let path = format!("/proc/sys/{name}");
    fs::write(&path, value).map_err(Error::of(&path))
}

/// The changes of one daemon.
#[derive(Debug)]
pub struct Changes {
    log: UndoLog<Change>,
}

impl Changes {
    /// Reads the undo log at `path`; changes of an earlier run may be in it. Returns with it a line about each damaged part.
    ///
    /// # Errors
    /// If the folder is not private.
    pub fn open(path: &Path, program: &'static str) -> Result<(Self, Vec<String>), Error> {
        let (log, damage) = UndoLog::read(path, program)?;
        Ok((Self { log }, damage))
    }

    /// Whether nothing is to be undone.
    pub fn is_empty(&self) -> bool {
        self.log.entries().is_empty()
    }

    /// Makes a change.
    ///
    /// # Errors
    /// If the log cannot be written, or the kernel refuses; nothing has changed then.
    pub fn make(&mut self, change: Change) -> Result<(), Error> {
        let entry = self.log.begin(change.clone(), |_| false)?;
        match change.make() {
            Ok(()) => self.log.complete(entry),
            Err(error) => {
                // The change was refused: what is there belongs to somebody else and must not be undone.
                let last = self.log.entries().len() - 1;
                let mut index = 0;
                self.log.retain(|_| {
                    index += 1;
                    index - 1 != last
                })?;
                Err(error)
            }
        }
    }

    /// Undoes all changes, the last one first. Returns a line about each that could not be undone; those stay in the log.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn undo(&mut self) -> Result<Vec<String>, Error> {
        let mut failed = Vec::new();
        let mut kept = vec![false; self.log.entries().len()];
        for (index, entry) in self.log.entries().iter().enumerate().rev() {
            if let Err(error) = entry.change.undo() {
                failed.push(error.to_string());
                kept[index] = error.io().kind() == std::io::ErrorKind::PermissionDenied;
            }
        }
        let mut kept = kept.into_iter();
        self.log.retain(|_| kept.next().unwrap_or(false))?;
        Ok(failed)
    }
}

#[cfg(test)]
mod tests;
