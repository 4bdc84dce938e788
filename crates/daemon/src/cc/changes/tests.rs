//! Entries of the undo log: which are about the same thing, and which are damaged.

use super::*;

/// 192.0.2.0/24 by the interface 3: `struct rtmsg`, RTA_DST, RTA_OIF.
const MESSAGE: [u8; 28] =
    [2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0, 8, 0, 1, 0, 192, 0, 2, 0, 8, 0, 4, 0, 3, 0, 0, 0];

fn route() -> KernelRoute {
    KernelRoute::from_bytes(&MESSAGE).expect("a route")
}

#[test]
fn a_route_is_the_same_whatever_congestion_control_it_has() {
    let reno = Change::of_route(1, &route().with_congestion_control(Some("reno")));
    let ours = Change::of_route(1, &route().with_congestion_control(Some("ackloss")));
    assert!(matches!(&reno, Change::Route { before: Some(name), .. } if name == "reno"));
    assert!(matches!(&ours, Change::Route { before: None, .. }));
    assert!(reno.is_about_same(&ours) && !reno.is_about_same(&Change::of_route(2, &route())));
    let default = |before: &str| Change::Default { namespace: 1, before: before.to_owned() };
    assert!(default("cubic").is_about_same(&default("reno")) && !default("cubic").is_about_same(&reno));
}

#[test]
fn an_entry_survives_the_file_and_a_damaged_one_is_an_error() {
    let change = Change::of_route(1, &route());
    let text = serde_json::to_string(&change).expect("written");
    assert_eq!(serde_json::from_str::<Change>(&text).expect("read"), change);
    let Change::Route { message, .. } = &change else { panic!("a route") };
    assert!(decode(message).expect("a route").is_same(&route()));
    for damaged in ["", "0", "zz", "02180000", "é2"] {
        assert!(decode(damaged).is_none(), "{damaged}");
    }
}
