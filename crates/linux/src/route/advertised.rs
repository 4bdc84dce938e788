//! Which routes the kernel learnt from router advertisements. Netlink does not list the flag; `/proc/net/ipv6_route` does.

use std::fs;
use std::net::{IpAddr, Ipv6Addr};

use super::{KernelRoute, RTA_GATEWAY};
use crate::interface;

const ROUTES: &str = "/proc/thread-self/net/ipv6_route";
/// linux/ipv6_route.h.
const RTF_ADDRCONF: u32 = 0x0004_0000;

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    destination: (Ipv6Addr, u8),
    gateway: Ipv6Addr,
    priority: u32,
    interface: String,
}

/// Marks the routes that have the flag. Without IPv6 there are none.
pub(super) fn mark(routes: &mut [KernelRoute]) {
    let Ok(text) = fs::read_to_string(ROUTES) else { return };
    let lines: Vec<Line> = text.lines().filter_map(advertised).collect();
    if lines.is_empty() {
        return;
    }
    for route in routes {
        let (IpAddr::V6(address), length) = route.destination() else { continue };
        let gateway = route
            .attribute(RTA_GATEWAY)
            .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok())
            .map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from);
        let names: Vec<String> = route.interfaces().into_iter().map(interface::name).collect();
        route.advertised = lines.iter().any(|line| {
            line.destination == (address, length)
                && line.priority == route.priority()
                && (line.gateway == gateway || names.len() > 1)
                && names.contains(&line.interface)
        });
    }
}

/// The line, if its route was advertised: destination, its length, source, its length, next hop, metric, two counts, flags and
/// interface, all but the last hexadecimal.
fn advertised(line: &str) -> Option<Line> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [destination, length, _, _, gateway, priority, _, _, flags, interface] = words[..] else {
        return None;
    };
    let address = |hex| u128::from_str_radix(hex, 16).ok().map(Ipv6Addr::from);
    let flags = u32::from_str_radix(flags, 16).ok()?;
    (flags & RTF_ADDRCONF != 0).then_some(())?;
    Some(Line {
        destination: (address(destination)?, u8::from_str_radix(length, 16).ok()?),
        gateway: address(gateway)?,
        priority: u32::from_str_radix(priority, 16).ok()?,
        interface: interface.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_advertised_routes_are_read() {
        let learnt = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
                      fe80000000000000609397fffeb69cde 00000400 00000001 00000000 00450003        w";
        let line = advertised(learnt).expect("a line");
        assert_eq!(line.destination, (Ipv6Addr::UNSPECIFIED, 0));
        assert_eq!(line.gateway.to_string(), "fe80::6093:97ff:feb6:9cde");
        assert_eq!((line.priority, line.interface.as_str()), (1024, "w"));
        assert_eq!(advertised(&learnt.replace("00450003", "00400003")), None);
        assert_eq!(advertised(""), None);
    }
}
