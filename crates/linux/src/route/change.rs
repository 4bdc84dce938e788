//! Changing the congestion control of one route, and of no other.
//!
//! `NLM_F_REPLACE` names no interface: it replaces the first route of equal prefix, table, TOS and metric, which may be another
//! interface's. Here the kernel is told exactly which route goes:
//!
//! * **IPv4** lets two routes differ in nothing but their metrics. The new one is created beside the old one, in front of or behind
//!   all its equals, and then the old one is deleted, by all its attributes. At no time is there no route.
//! * **IPv6** does not. The old one is deleted and the new one created, behind its equals, by one system call, which no signal can
//!   end half-way. A detour with a metric of its own stands in meanwhile, and shows beforehand that the kernel accepts the route. The
//!   first of several equals is replaced instead, as only that keeps its place; if it was another's route that was
//!   replaced, because routes changed at the same moment, that one is put back.
//!
//! Afterwards all routes to the prefix are read and compared with what they should be, their order included. If they differ, the change is
//! undone. Routes to other prefixes are not named by any request here.
//!
//! Left out: a route between two of its equals. Changing it would move it to their end, so that it is refused unless the caller accepts
//! that.

use std::fmt;
use std::io;

use rustix::io::Errno;

use super::{AF_INET, KernelRoute, PROTOCOL, RTA_GATEWAY, RTA_MULTIPATH, RTA_PRIORITY, TOS, list};
use crate::Error;
use crate::netlink::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_REPLACE, NetlinkRequest, NetlinkSocket};

/// The protocol (rtnetlink(7), `rtm_protocol`) of a detour, assigned to nobody else.
const DETOUR: u8 = 167;

/// What happens to a route that cannot keep its place among its equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It is refused.
    Kept,
    /// It goes behind them. One that can keep its place keeps it.
    Last,
}

/// Why a route was not changed.
#[derive(Debug)]
pub enum ChangeError {
    /// There is no such route any more.
    Gone,
    /// It cannot be changed without consequences for others, for this reason. Nothing was changed.
    Refused(&'static str),
    /// The kernel refused. Nothing was changed.
    Kernel(Error),
    /// Another program changed routes to the same prefix at the same time. The change was undone.
    Disturbed,
    /// The kernel refused, and refused to put the route back as well.
    NotRestored(Error),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => formatter.write_str("there is no such route any more"),
            Self::Refused(why) => formatter.write_str(why),
            Self::Kernel(error) => error.fmt(formatter),
            Self::Disturbed => formatter.write_str(
                "another program changed routes to the same prefix at the same time; the change was undone",
            ),
            Self::NotRestored(error) => write!(formatter, "the route is lost: {error}"),
        }
    }
}

impl std::error::Error for ChangeError {}

impl From<Error> for ChangeError {
    fn from(error: Error) -> Self {
        Self::Kernel(error)
    }
}

/// How a route is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// IPv4: the new one is created in front of its equals.
    Prepend,
    /// IPv4: the new one is created behind its equals.
    Append,
    /// IPv6: the new one takes the place of the first of its equals.
    Replace,
    /// IPv6: the old one is deleted and the new one created behind its equals.
    Recreate,
}

/// A change that is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutePlan {
    method: Method,
    /// Position of the route among those to its prefix.
    at: usize,
    /// Position of the last of its equals.
    last: usize,
}

/// Returns how `route` would be changed among `routes`, without changing anything.
///
/// # Errors
/// If it is not there, or has to be refused.
pub fn plan(
    route: &KernelRoute,
    routes: &[KernelRoute],
    placement: Placement,
) -> Result<RoutePlan, ChangeError> {
    let prefix = route.prefix();
    let peers: Vec<&KernelRoute> = routes.iter().filter(|other| other.prefix() == prefix).collect();
    let at = peers.iter().position(|other| other.is_same(route)).ok_or(ChangeError::Gone)?;
    let route = peers[at];
    let is_equal =
        |other: &KernelRoute| other.header[TOS] == route.header[TOS] && other.priority() == route.priority();
    let equals: Vec<usize> = (0..peers.len()).filter(|index| is_equal(peers[*index])).collect();
    let last = *equals.last().expect("the route is its own equal");
    let chosen = |method| Ok(RoutePlan { method, at, last });
    let refused_place = "it is between routes of equal metric, and the kernel cannot change it in place; \
                         hint: give it a metric of its own";
    if route.is_advertised() {
        return Err(ChangeError::Refused(
            "the kernel learnt it from a router advertisement, and would not renew a changed one",
        ));
    }
    if route.header[0] == AF_INET {
        return if at == last {
            chosen(Method::Append)
        } else if equals.first() == Some(&at) {
            chosen(Method::Prepend)
        } else if placement == Placement::Last {
            chosen(Method::Append)
        } else {
            Err(ChangeError::Refused(refused_place))
        };
    }
    if equals.iter().any(|index| *index != at && is_deleted_with(peers[*index], route)) {
        return Err(ChangeError::Refused(
            "the kernel cannot tell it from another route of this interface with equal metric",
        ));
    }
    // NLM_F_REPLACE looks for the first that can be one of several paths, as the new one can, or cannot, as it cannot.
    let first_of_kind = equals.iter().find(|index| is_path(peers[**index]) == is_path(route));
    if at == last {
        chosen(Method::Recreate)
    } else if first_of_kind == Some(&at) {
        chosen(Method::Replace)
    } else if placement == Placement::Last {
        chosen(Method::Recreate)
    } else {
        Err(ChangeError::Refused(refused_place))
    }
}

/// Whether the kernel could take `other` for `route` when it deletes IPv6 routes: it compares interface and gateway, the
/// latter only where one is given.
fn is_deleted_with(other: &KernelRoute, route: &KernelRoute) -> bool {
    let gateway = route.attribute(RTA_GATEWAY);
    let shares = other.interfaces().iter().any(|index| route.interfaces().contains(index));
    shares && (gateway.is_none() || gateway == other.attribute(RTA_GATEWAY))
}

/// Whether the kernel can join it with others to one route of several paths (`rt6_qualify_for_ecmp`).
fn is_path(route: &KernelRoute) -> bool {
    let gateway = [RTA_GATEWAY, RTA_MULTIPATH].into_iter().any(|kind| route.attribute(kind).is_some());
    gateway && route.next_hop_object().is_none() && !route.is_advertised()
}

/// Has `route` ask for the congestion control `name`, or for none of its own.
///
/// # Errors
/// If that is not possible. What was changed up to then is undone, except for [`ChangeError::NotRestored`].
pub fn set_congestion_control(
    route: &KernelRoute,
    name: Option<&str>,
    placement: Placement,
) -> Result<(), ChangeError> {
    let mut socket = NetlinkSocket::open()?;
    let all = list()?;
    let plan = plan(route, &all, placement)?;
    let mut peers = peers(route, all);
    let old = peers[plan.at].clone();
    let new = old.with_congestion_control(name);
    if new.is_same(&old) {
        return Ok(());
    }
    let mut expected = peers.clone();
    expected.remove(plan.at);
    if expected.iter().any(|other| other.is_same(&new)) {
        // A change that was interrupted, or somebody else's: only the old one is in the way.
        ask(&mut socket, old.deletion(), &old)?;
    } else {
        let place = match plan.method {
            Method::Prepend | Method::Replace => plan.at,
            Method::Append | Method::Recreate => plan.last,
        };
        expected.insert(place, new.clone());
        apply(&mut socket, plan.method, &old, &new, &peers)?;
    }
    let found = self::peers(route, list()?);
    if is_equal(&found, &expected) {
        return Ok(());
    }
    peers.remove(plan.at);
    let others = if plan.method == Method::Replace { peers.as_slice() } else { &[] };
    restore(&mut socket, &old, &new, others)?;
    Err(ChangeError::Disturbed)
}

/// The routes to the prefix of `route`, in order.
fn peers(route: &KernelRoute, all: Vec<KernelRoute>) -> Vec<KernelRoute> {
    let prefix = route.prefix();
    all.into_iter().filter(|other| other.prefix() == prefix).collect()
}

fn is_equal(found: &[KernelRoute], expected: &[KernelRoute]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| found.is_same(expected))
}

/// Puts `new` in the place of `old`, or leaves both as they were.
fn apply(
    socket: &mut NetlinkSocket,
    method: Method,
    old: &KernelRoute,
    new: &KernelRoute,
    peers: &[KernelRoute],
) -> Result<(), ChangeError> {
    match method {
        Method::Prepend | Method::Append => {
            let place = if method == Method::Append { NLM_F_APPEND } else { 0 };
            ask(socket, new.creation(NLM_F_CREATE | place), new)?;
            ask(socket, old.deletion(), old).or_else(|error| {
                ask(socket, new.deletion(), new)?;
                Err(if is_missing(error.io()) { ChangeError::Disturbed } else { error.into() })
            })
        }
        Method::Replace => Ok(ask(socket, new.creation(NLM_F_REPLACE), new)?),
        Method::Recreate => {
            let detour = detour(new, peers);
            ask(socket, detour.creation(NLM_F_CREATE), new)?;
            recreate(socket, old, new)?;
            Ok(ask(socket, detour.deletion(), new)?)
        }
    }
}

/// Deletes `old` and creates `new` by one system call. The detour stays if neither is there in the end.
fn recreate(socket: &mut NetlinkSocket, old: &KernelRoute, new: &KernelRoute) -> Result<(), ChangeError> {
    let answers = socket.exchange(&[old.deletion(), new.creation(NLM_F_CREATE)])?;
    let failed = |error: io::Error| Error::new(format!("route {}", new.describe()), error);
    match <[_; 2]>::try_from(answers) {
        Ok([Ok(()), Ok(())]) => Ok(()),
        Ok([Ok(()), Err(error)]) => match ask(socket, old.creation(NLM_F_CREATE), old) {
            Ok(()) => Err(failed(error).into()),
            Err(_) => Err(ChangeError::NotRestored(failed(error))),
        },
        Ok([Err(_), Ok(())]) => {
            ask(socket, new.deletion(), new)?;
            Err(ChangeError::Disturbed)
        }
        Ok([Err(error), Err(_)]) if !is_missing(&error) => Err(failed(error).into()),
        _ => Err(ChangeError::Disturbed),
    }
    .inspect_err(|error| {
        if !matches!(error, ChangeError::NotRestored(_)) {
            let _ = remove_detours();
        }
    })
}

/// A copy of `route` with a metric that none of its peers has.
fn detour(route: &KernelRoute, peers: &[KernelRoute]) -> KernelRoute {
    let is_free = |priority: &u32| peers.iter().all(|other| other.priority() != *priority);
    let behind = (route.priority()..u32::MAX).map(|priority| priority + 1);
    let before = (1..route.priority()).rev();
    let priority = behind.chain(before).find(is_free).unwrap_or(u32::MAX);
    let mut detour = route.clone();
    detour.header[PROTOCOL] = DETOUR;
    detour.attributes.retain(|(kind, _)| *kind != RTA_PRIORITY);
    detour.attributes.push((RTA_PRIORITY, priority.to_ne_bytes().to_vec()));
    detour
}

/// Deletes detours that a change left behind because its process was killed.
///
/// # Errors
/// If the kernel refuses.
pub fn remove_detours() -> Result<(), Error> {
    let mut socket = NetlinkSocket::open()?;
    for route in list()?.into_iter().filter(|route| route.header[PROTOCOL] == DETOUR) {
        ask(&mut socket, route.deletion(), &route)?;
    }
    Ok(())
}

/// Creates `route` again if only the detour of an interrupted change stands in for it.
///
/// # Errors
/// If the kernel refuses.
pub fn restore_lost(route: &KernelRoute) -> Result<(), Error> {
    let found = peers(route, list()?);
    let is_lost = !found.iter().any(|other| other.is_same_but_for_congestion_control(route));
    if is_lost && found.iter().any(|other| other.header[PROTOCOL] == DETOUR) {
        ask(&mut NetlinkSocket::open()?, route.creation(NLM_F_CREATE), route)?;
    }
    Ok(())
}

/// Undoes a change after which the routes were not as they should be: `new` gives way to `old`, and those of `others` that are not there
/// any more, which it may have replaced, come back.
fn restore(
    socket: &mut NetlinkSocket,
    old: &KernelRoute,
    new: &KernelRoute,
    others: &[KernelRoute],
) -> Result<(), ChangeError> {
    let all = list()?;
    let found = peers(old, all.clone());
    let is_there = |route: &KernelRoute| found.iter().any(|other| other.is_same(route));
    if is_there(new) {
        if is_there(old) {
            ask(socket, new.deletion(), new)?;
        } else {
            let back = plan(new, &all, Placement::Last)?;
            apply(socket, back.method, new, old, &found)?;
        }
    }
    for other in others.iter().filter(|other| !is_there(other)) {
        ask(socket, other.creation(NLM_F_CREATE), other)?;
    }
    Ok(())
}

fn ask(socket: &mut NetlinkSocket, request: NetlinkRequest, route: &KernelRoute) -> Result<(), Error> {
    let answers = socket.exchange(&[request])?;
    answers
        .into_iter()
        .collect::<io::Result<()>>()
        .map_err(|error| Error::new(format!("route {}", route.describe()), error))
}

/// Whether the kernel found nothing to delete: ESRCH, or ENOENT, ENODEV as the interface went.
fn is_missing(error: &io::Error) -> bool {
    [Errno::SRCH, Errno::NOENT, Errno::NODEV]
        .iter()
        .any(|missing| error.raw_os_error() == Some(missing.raw_os_error()))
}

#[cfg(test)]
mod tests;
