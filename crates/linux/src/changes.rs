//! Changes of the host by a daemon, each of which can be undone: settings under `/proc/sys`, routes,
//! rules and power save.
//!
//! [`Changes`] makes a change only after it is in the undo log ([`crate::undo`]), and undoes all of them from the last to the
//! first: the daemon itself at SIGTERM, its guardian after SIGKILL ([`crate::guardian`]), or a later start. A change that
//! somebody else has changed meanwhile is let be and reported. What ends with a descriptor of the daemon, as a TUN device
//! with its addresses and the routes over it, needs no entry.
//!
//! Several daemons may rely on one setting, which the first one has changed. Each notes what the first one did, and the last one of them
//! that ends undoes it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::route::KernelRoute;
use crate::rule::Rule;
use crate::undo::UndoLog;
use crate::wireless::Wireless;
use crate::{Error, control, interface};

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
    /// A setting of `default`, which interfaces begin with that appear later.
    Inherited {
        /// The folder of the interfaces' settings under `/proc/sys`, as `net/ipv6/conf`.
        folder: String,
        /// The name of the setting of each.
        key: String,
        /// The interfaces that have a change of their own, or none: all that are there, and the one that the daemon makes.
        present: Vec<String>,
        /// What it was.
        before: String,
        /// What it is set to.
        after: String,
    },
    /// A setting under `/proc/sys` that stays as it is, and that the kernel resets when a change after this one is undone.
    Kept {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
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
    /// A Unix socket on which the daemon is about to listen.
    Socket {
        /// Its absolute path.
        path: PathBuf,
    },
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

    /// That a setting has this value when later changes are undone; `None` if it has another one now, or is not there.
    pub fn kept(name: &str, value: &str) -> Option<Self> {
        let is_there = read_setting(name).is_ok_and(|now| now == value);
        is_there.then(|| Self::Kept { name: name.to_owned(), value: value.to_owned() })
    }

    /// That a daemon is about to listen on a Unix socket.
    ///
    /// # Errors
    /// If there is no current folder for a relative path.
    pub fn socket(path: &Path) -> Result<Self, Error> {
        let absolute = std::path::absolute(path).map_err(Error::of(&path.display().to_string()))?;
        Ok(Self::Socket { path: absolute })
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
            Self::Inherited { folder, key, after, .. } => {
                format!("sysctl -w {}.default.{key}={after}", folder.replace('/', "."))
            }
            Self::Kept { name, value } => format!("sysctl -w {}={value}", name.replace('/', ".")),
            Self::Route { body, .. } => {
                let route = KernelRoute::from_bytes(body).map(|route| route.describe());
                format!("ip route add {}", route.unwrap_or_default())
            }
            Self::Rule(rule) => format!("ip {}", rule.describe()),
            Self::Socket { path } => format!("listen on {}", path.display()),
            Self::PowerSave { interface, .. } => format!("iw dev {interface} set power_save on|off"),
        }
    }

    /// The name of the setting that it is about, or how it begins.
    fn setting_name(&self) -> Option<&str> {
        match self {
            Self::Setting { name, .. } | Self::Kept { name, .. } => Some(name),
            Self::Inherited { folder, .. } => Some(folder),
            _ => None,
        }
    }

    /// Makes it, without a note in any log.
    ///
    /// # Errors
    /// If the kernel refuses, as a rule or a route that is there already.
    pub fn make(&self) -> Result<(), Error> {
        match self {
            Self::Setting { name, after, .. } => write_setting(name, after),
            Self::Inherited { folder, key, after, .. } => {
                write_setting(&format!("{folder}/default/{key}"), after)
            }
            Self::Route { body, .. } => route(body)?.add(),
            Self::Rule(rule) => rule.add(),
            Self::Kept { .. } | Self::Socket { .. } | Self::PowerSave { .. } => Ok(()),
        }
    }

    /// Undoes it, and returns whether it was still there. What is gone already is no error, so that undoing it again does nothing.
    fn undo(&self) -> Result<bool, Error> {
        match self {
            Self::Setting { name, before, after } => restore(name, before, after),
            Self::Inherited { folder, key, present, before, after } => {
                // The default comes first, so that no interface begins with the other value meanwhile.
                let restored = restore(&format!("{folder}/default/{key}"), before, after);
                for name in interfaces(folder).iter().filter(|name| !present.contains(name)) {
                    let own = format!("{folder}/{name}/{key}");
                    if read_setting(&own).is_ok_and(|now| now == *after) {
                        unless_gone(write_setting(&own, before))?;
                    }
                }
                restored
            }
            Self::Kept { name, value } if read_setting(name).is_ok_and(|now| now == *value) => Ok(false),
            // The interface may have gone.
            Self::Kept { name, value } => unless_gone(write_setting(name, value)),
            Self::Route { body, interface } => {
                let route = route(body)?;
                let index = interface.as_deref().and_then(interface::index);
                // The interface has gone, and the route with it, or has another number now.
                if interface.is_some() && route.interfaces().first() != index.as_ref() {
                    return Ok(false);
                }
                unless_gone(route.remove())
            }
            Self::Rule(rule) => unless_gone(rule.remove()),
            Self::Socket { path } => {
                let was_there = path.exists();
                control::remove_dead(path);
                Ok(was_there && !path.exists())
            }
            Self::PowerSave { interface, before } => {
                let (Some(mut wireless), Some(index)) = (Wireless::open()?, interface::index(interface))
                else {
                    return Ok(false);
                };
                if wireless.power_save(index).is_ok_and(|now| now == *before) {
                    return Ok(false);
                }
                unless_gone(wireless.set_power_save(index, *before))
            }
        }
    }
}

/// Gives a setting its value of before, unless somebody else has changed it; whether it had the one after.
fn restore(name: &str, before: &str, after: &str) -> Result<bool, Error> {
    match read_setting(name) {
        Ok(now) if now == after => write_setting(name, before).map(|()| true),
        Ok(now) if now == before => Ok(false),
        Ok(now) => Err(Error::other(name, &format!("expected {after}, got {now}; it stays"))),
        // The interface may have gone.
        Err(error) => unless_gone(Err(error)),
    }
}

/// What has settings in a folder of `/proc/sys` such as `net/ipv6/conf`: interfaces, `all` and `default`, in the order of their names.
pub fn interfaces(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/sys/{folder}")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn route(body: &[u8]) -> Result<KernelRoute, Error> {
    KernelRoute::from_bytes(body).ok_or_else(|| Error::other("a route of the undo log", "it is malformed"))
}

/// Whether something was removed, which is no error if it has gone.
fn unless_gone(removed: Result<(), Error>) -> Result<bool, Error> {
    const GONE: [Option<i32>; 3] = [Some(nix::libc::ESRCH), Some(nix::libc::ENOENT), Some(nix::libc::ENODEV)];
    match removed {
        Ok(()) => Ok(true),
        Err(error) if GONE.contains(&error.io().raw_os_error()) => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_setting(name: &str) -> Result<String, Error> {
    let path = format!("/proc/sys/{name}");
    fs::read_to_string(&path).map(|text| text.trim().to_owned()).map_err(Error::of(&path))
}

fn write_setting(name: &str, value: &str) -> Result<(), Error> {
    let path = format!("/proc/sys/{name}");
    fs::write(&path, value).map_err(Error::of(&path))
}

/// The outcome of undoing all changes of a daemon.
#[derive(Debug, Default)]
pub struct Undone {
    /// The changes that were still there and are undone, as the commands that had made them, oldest first.
    pub commands: Vec<String>,
    /// A line about each that could not be undone.
    pub failed: Vec<String>,
    /// Why the log lists all of them as before, as on a file system that has become read-only.
    pub log: Option<Error>,
}

/// The changes of one daemon.
#[derive(Debug)]
pub struct Changes {
    log: UndoLog<Change>,
    path: PathBuf,
}

impl Changes {
    /// Reads the undo log at `path`; changes of an earlier run may be in it. Returns with it a line about each damaged part.
    ///
    /// # Errors
    /// If the folder is not private.
    pub fn open(path: &Path, program: &'static str) -> Result<(Self, Vec<String>), Error> {
        let (log, damage) = UndoLog::read(path, program)?;
        Ok((Self { log, path: path.to_owned() }, damage))
    }

    /// The changes, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Change> {
        self.log.entries().iter().map(|entry| &entry.change)
    }

    /// Makes a change.
    ///
    /// # Errors
    /// If the log cannot be written, or the kernel refuses. Nothing has changed then.
    pub fn make(&mut self, change: Change) -> Result<(), Error> {
        let entry = self.log.begin(change.clone(), |_| false)?;
        let made = change.make();
        let noted = if made.is_ok() { self.log.complete(entry) } else { Ok(()) };
        if noted.is_err() {
            change.undo()?;
        }
        if made.is_err() || noted.is_err() {
            // The change is not there. What may be there in its place belongs to somebody else and must not be undone.
            let mut earlier = self.log.entries().to_vec();
            earlier.truncate(entry);
            self.log.restore(earlier)?;
        }
        made.and(noted)
    }

    /// This daemon relies on a setting that has the right value. If another daemon of this network namespace has changed it, what that one
    /// has noted of the settings of this IP version is noted here, too.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn share(&mut self, name: &str) -> Result<(), Error> {
        let version = name.split_inclusive('/').take(2).collect::<String>();
        let has_changed =
            |change: &Change| matches!(change, Change::Setting { name: other, .. } if other == name);
        let Some(other) = self.others().into_iter().find(|log| log.iter().any(has_changed)) else {
            return Ok(());
        };
        let is_of_version =
            |change: &Change| change.setting_name().is_some_and(|name| name.starts_with(&version));
        for change in other.into_iter().filter(is_of_version) {
            let entry = self.log.begin(change.clone(), |own| *own == change)?;
            self.log.complete(entry)?;
        }
        Ok(())
    }

    /// The changes of each other daemon of this network namespace. Their logs are beside this one, and their names end alike.
    fn others(&self) -> Vec<Vec<Change>> {
        let ending = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            name.strip_suffix(".jsonl")?.rsplit('.').next().map(str::to_owned)
        };
        let Some(own) = ending(&self.path) else { return Vec::new() };
        let entries = self.path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .filter(|path| *path != self.path && ending(path).as_ref() == Some(&own))
            .filter_map(|path| UndoLog::<Change>::read(&path, "").ok())
            .map(|(log, _)| log.entries().iter().map(|entry| entry.change.clone()).collect())
            .collect()
    }

    /// Forgets changes without undoing them: they have gone with what was changed.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn forget(&mut self, is_gone: impl Fn(&Change) -> bool) -> Result<(), Error> {
        self.log.retain(|entry| !is_gone(&entry.change))
    }

    /// Undoes all changes, the last one first, but those of settings that another daemon relies on. What could not be undone stays in the log.
    pub fn undo(&mut self) -> Undone {
        let mut undone = Undone::default();
        let mut kept = vec![false; self.log.entries().len()];
        let of_others = self.others().concat();
        let is_shared = |change: &Change| change.setting_name().is_some() && of_others.contains(change);
        for (index, entry) in self.log.entries().iter().enumerate().rev() {
            if is_shared(&entry.change) {
                continue;
            }
            match entry.change.undo() {
                Ok(true) => undone.commands.push(entry.change.describe()),
                Ok(false) => {}
                Err(error) => {
                    undone.failed.push(error.to_string());
                    kept[index] = error.io().kind() == std::io::ErrorKind::PermissionDenied;
                }
            }
        }
        undone.commands.reverse();
        let mut kept = kept.into_iter();
        undone.log = self.log.retain(|_| kept.next().unwrap_or(false)).err();
        undone
    }
}

#[cfg(test)]
mod tests;
