//! What `load` changes on the host, as the undo log has it, and how each change is undone.
//!
//! The programs in the kernel and the mount of the BPF file system are not in the log: the kernel itself says which are ours.

use std::path::Path;

use airwatt_linux::route::{self, ChangeError, KernelRoute, Placement};
use airwatt_linux::undo::UndoLog;
use serde::{Deserialize, Serialize};

use super::is_ours;
use crate::failure::Failure;
use crate::{host, output};

/// Attempts to change a route while another program changes its neighbours.
const ATTEMPTS: u32 = 5;

/// One change, with what was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Change {
    /// A route got a congestion control.
    Route {
        /// The network namespace, by its inode.
        namespace: u64,
        /// The route, in the words of ip-route(8).
        route: String,
        /// The congestion control that it had, if any.
        before: Option<String>,
        /// The route as a netlink message, in hexadecimal.
        message: String,
    },
    /// Connections of a network namespace got another congestion control.
    Default {
        /// The network namespace, by its inode.
        namespace: u64,
        /// The one they had.
        before: String,
    },
}

impl Change {
    /// The change of `route`, which is about to get one of our congestion controls.
    pub(super) fn of_route(namespace: u64, route: &KernelRoute) -> Self {
        Self::Route {
            namespace,
            route: route.describe(),
            // One of ours from an earlier load is nothing to come back to.
            before: route.congestion_control().filter(|name| !is_ours(name)),
            message: route.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    pub(super) fn namespace(&self) -> u64 {
        match self {
            Self::Route { namespace, .. } | Self::Default { namespace, .. } => *namespace,
        }
    }

    /// Whether both are about the same route, or the same namespace's default.
    pub(super) fn is_about_same(&self, other: &Self) -> bool {
        if self.namespace() != other.namespace() {
            return false;
        }
        match (self, other) {
            (Self::Route { message: one, .. }, Self::Route { message: other, .. }) => {
                match (decode(one), decode(other)) {
                    (Some(one), Some(other)) => one.is_same_but_for_congestion_control(&other),
                    _ => one == other,
                }
            }
            (Self::Default { .. }, Self::Default { .. }) => true,
            _ => false,
        }
    }

    /// Undoes the change in its network namespace, which this thread is in, unless another program has undone it.
    pub(super) fn undo(&self) -> Result<(), Failure> {
        match self {
            Self::Route { message, before, route, .. } => {
                match (decode(message), before) {
                    (Some(recorded), _) => undo_route(&recorded, before.as_deref()),
                    // Nothing is lost: what asks for one of ours is found without the log.
                    (None, None) => Ok(()),
                    (None, Some(name)) => Err(Failure::Failed(format!(
                        "route {route}: its entry in the undo log is damaged; it had congctl {name}"
                    ))),
                }
            }
            Self::Default { before, .. } if is_ours(&host::default_control()?) => {
                host::set_default_control(before)
            }
            Self::Default { .. } => Ok(()),
        }
    }
}

fn decode(hexadecimal: &str) -> Option<KernelRoute> {
    let digits = hexadecimal.as_bytes();
    let bytes: Option<Vec<u8>> =
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    KernelRoute::from_bytes(&bytes?)
}

fn undo_route(recorded: &KernelRoute, before: Option<&str>) -> Result<(), Failure> {
    let restored = recorded.with_congestion_control(before);
    route::restore_lost(&restored)?;
    let changed = route::list()?.into_iter().filter(|route| {
        route.is_same_but_for_congestion_control(recorded)
            && route.congestion_control().is_some_and(|name| is_ours(&name))
    });
    for route in changed {
        direct(&route, before, Placement::Last)?;
    }
    Ok(())
}

/// The command that has new connections over `route` get the congestion control `name`, or that of the host.
pub(super) fn direction(route: &KernelRoute, name: Option<&str>) -> String {
    let metric = name.map_or("(without congctl)".to_owned(), |name| format!("congctl {name}"));
    format!("[#] ip route change {} ... {metric}", route.describe())
}

/// Has new connections over `route` get the congestion control `name`, or that of the host. A route that is gone needs nothing.
pub(super) fn direct(route: &KernelRoute, name: Option<&str>, placement: Placement) -> Result<(), Failure> {
    output::progress(&direction(route, name));
    let mut changed = route::set_congestion_control(route, name, placement);
    for _ in 1..ATTEMPTS {
        if !matches!(changed, Err(ChangeError::Disturbed)) {
            break;
        }
        changed = route::set_congestion_control(route, name, placement);
    }
    match changed {
        Ok(()) => Ok(()),
        Err(ChangeError::Gone) => {
            output::progress(&format!("route {}: it is gone", route.describe()));
            Ok(())
        }
        Err(ChangeError::Kernel(error)) => Err(error.into()),
        Err(error) => Err(Failure::Failed(format!("route {}: {error}", route.describe()))),
    }
}

/// The undo log, with a line about each part of it that cannot be read.
pub(super) fn read(file: &Path) -> Result<(UndoLog<Change>, Vec<String>), Failure> {
    UndoLog::read(file, concat!("airwattd ", env!("CARGO_PKG_VERSION")))
        .map_err(|error| Failure::Input(format!("--state {error}")))
}

/// What in this thread's network namespace asks for one of our congestion controls.
#[derive(Debug, Default)]
pub(super) struct UnloadState {
    pub(super) routes: Vec<KernelRoute>,
    /// The default, if it is one of ours.
    pub(super) default: Option<String>,
}

impl UnloadState {
    /// Looks.
    pub(super) fn find() -> Result<Self, Failure> {
        let mut routes = route::list()?;
        routes.retain(|route| route.congestion_control().is_some_and(|name| is_ours(&name)));
        Ok(Self { routes, default: Some(host::default_control()?).filter(|name| is_ours(name)) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.routes.is_empty() && self.default.is_none()
    }

    /// One line for messages.
    pub(super) fn describe(&self) -> String {
        let routes = self.routes.iter().map(|route| format!("route {}", route.describe()));
        let default = self.default.iter().map(|name| format!("net.ipv4.tcp_congestion_control = {name}"));
        routes.chain(default).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
