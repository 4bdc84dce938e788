//! How a route among its equals is changed, before any kernel is asked.

use super::super::RTA_OIF;
use super::super::tests::plain;
use super::*;

fn by(family: u8, interface: u32, priority: u32) -> KernelRoute {
    let mut route = plain();
    route.header[0] = family;
    route.attributes.retain(|(kind, _)| ![RTA_OIF, RTA_PRIORITY, RTA_GATEWAY].contains(kind));
    route.attributes.push((RTA_OIF, interface.to_ne_bytes().to_vec()));
    route.attributes.push((RTA_PRIORITY, priority.to_ne_bytes().to_vec()));
    route
}

fn method(routes: &[KernelRoute], at: usize, placement: Placement) -> Result<Method, ChangeError> {
    plan(&routes[at], routes, placement).map(|plan| plan.method)
}

const IPV4: u8 = AF_INET;
const IPV6: u8 = super::super::AF_INET6;

#[test]
fn the_ends_of_equals_keep_their_places_and_the_middle_is_refused() {
    let routes = [by(IPV4, 9, 50), by(IPV4, 1, 100), by(IPV4, 2, 100), by(IPV4, 3, 100), by(IPV4, 1, 200)];
    let kept = |at| method(&routes, at, Placement::Kept);
    assert!(matches!(kept(0), Ok(Method::Append)) && matches!(kept(4), Ok(Method::Append)));
    assert!(matches!(kept(1), Ok(Method::Prepend)) && matches!(kept(3), Ok(Method::Append)));
    assert!(matches!(kept(2), Err(ChangeError::Refused(_))));
    assert!(matches!(method(&routes, 2, Placement::Last), Ok(Method::Append)));
    assert!(matches!(method(&routes, 1, Placement::Last), Ok(Method::Prepend)));
}

#[test]
fn only_the_first_of_several_is_replaced() {
    let routes = [by(IPV6, 1, 256), by(IPV6, 2, 256), by(IPV6, 3, 256), by(IPV6, 1, 1024)];
    let kept = |at| method(&routes, at, Placement::Kept);
    assert!(matches!(kept(0), Ok(Method::Replace)) && matches!(kept(3), Ok(Method::Recreate)));
    assert!(matches!(kept(1), Err(ChangeError::Refused(_))) && matches!(kept(2), Ok(Method::Recreate)));
    assert!(matches!(method(&routes, 1, Placement::Last), Ok(Method::Recreate)));
}

#[test]
fn a_route_that_cannot_be_told_from_another_or_is_not_there_is_refused() {
    let mut gateway = by(IPV6, 1, 256);
    gateway.attributes.push((RTA_GATEWAY, vec![0xfe; 16]));
    let routes = [gateway, by(IPV6, 1, 256)];
    assert!(matches!(method(&routes, 1, Placement::Last), Err(ChangeError::Refused(_))));
    assert!(matches!(method(&routes, 0, Placement::Kept), Ok(Method::Replace)));
    assert!(matches!(plan(&by(IPV6, 2, 256), &routes, Placement::Kept), Err(ChangeError::Gone)));
    let mut advertised = by(IPV6, 1, 1024);
    advertised.advertised = true;
    let routes = [advertised];
    assert!(matches!(method(&routes, 0, Placement::Last), Err(ChangeError::Refused(_))));
}

#[test]
fn a_detour_has_a_metric_of_its_own() {
    let peers = [by(IPV6, 1, 256), by(IPV6, 2, 257), by(IPV6, 2, u32::MAX)];
    assert_eq!(detour(&peers[0], &peers).priority(), 258);
    assert_eq!(detour(&peers[2], &peers).priority(), u32::MAX - 1);
    assert_eq!(detour(&peers[0], &peers).header[PROTOCOL], DETOUR);
}
