//! Routes as bytes: what is sent back is what was listed, but for the congestion control and what a request must not have.

use super::*;

pub(super) fn route(attributes: Vec<Attribute>) -> KernelRoute {
    // RTNH_F_LINKDOWN beside RTNH_F_ONLINK: a state and a setting.
    let mut header = [AF_INET, 24, 0, 0, 254, 4, 0, RTN_UNICAST, 0, 0, 0, 0];
    header[8..].copy_from_slice(&(16_u32 | 4).to_ne_bytes());
    KernelRoute { header, attributes, advertised: false }
}

pub(super) fn plain() -> KernelRoute {
    route(vec![
        (RTA_DST, vec![192, 0, 2, 0]),
        (RTA_PRIORITY, 600_u32.to_ne_bytes().to_vec()),
        (RTA_GATEWAY, vec![198, 51, 100, 1]),
        (RTA_OIF, 3_u32.to_ne_bytes().to_vec()),
    ])
}

fn sent(route: &KernelRoute) -> KernelRoute {
    KernelRoute::from_bytes(&route.to_bytes()).expect("a route")
}

#[test]
fn only_the_congestion_control_changes() {
    let before = plain();
    let one = before.with_congestion_control(Some("ackloss"));
    assert_eq!(one.congestion_control().as_deref(), Some("ackloss"));
    assert!(one.is_same_but_for_congestion_control(&before) && !one.is_same(&before));
    let other = one.with_congestion_control(Some("cubic"));
    assert_eq!(other.congestion_control().as_deref(), Some("cubic"));
    assert!(other.with_congestion_control(None).is_same(&before));
}

#[test]
fn other_metrics_stay() {
    let mut metrics = Vec::new();
    attribute::push(&mut metrics, 2, &1400_u32.to_ne_bytes());
    let mut before = plain();
    before.attributes.push((RTA_METRICS, metrics.clone()));
    let changed = before.with_congestion_control(Some("ackloss")).with_congestion_control(None);
    assert_eq!(changed.attribute(RTA_METRICS), Some(metrics.as_slice()));
}

#[test]
fn states_and_doubled_next_hops_are_left_out() {
    let mut listed = plain();
    listed.attributes.push((RTA_NH_ID, 7_u32.to_ne_bytes().to_vec()));
    let sent = sent(&listed);
    assert_eq!(sent.header[8..], 4_u32.to_ne_bytes());
    assert!(sent.attribute(RTA_GATEWAY).is_none() && sent.attribute(RTA_OIF).is_none());
    assert_eq!(sent.next_hop_object(), Some(7));
}

#[test]
fn next_hops_lose_their_states_and_name_their_interfaces() {
    let hop = |index: u32, flags: u8| [&[8, 0, flags, 0][..], &index.to_ne_bytes()].concat();
    let listed = route(vec![(RTA_MULTIPATH, [hop(5, 1 | 4), hop(3, 16), hop(5, 0)].concat())]);
    assert_eq!(listed.interfaces(), [3, 5]);
    assert_eq!(
        sent(&listed).attribute(RTA_MULTIPATH),
        Some([hop(5, 4), hop(3, 0), hop(5, 0)].concat().as_slice())
    );
    for damaged in [&[0_u8; 8][..], &[7, 0, 0, 0, 1, 0, 0, 0], &[200, 0, 0, 0, 1, 0, 0, 0], &[8]] {
        assert!(next_hops(damaged).is_empty());
    }
}

#[test]
fn the_expiry_of_a_learnt_route_is_kept() {
    let with = |hundredths: i32| {
        let mut learnt = plain();
        learnt.header[0] = AF_INET6;
        let mut info = vec![0; 32];
        info[8..12].copy_from_slice(&hundredths.to_ne_bytes());
        learnt.attributes.push((RTA_CACHEINFO, info));
        learnt
    };
    let learnt = with(1799 * 100);
    assert_eq!(sent(&learnt).number(RTA_EXPIRES), Some(1799));
    assert!(sent(&learnt).attribute(RTA_CACHEINFO).is_none());
    assert!(learnt.is_same(&with(1700 * 100)) && !learnt.is_same(&with(0)));
}

#[test]
fn a_deletion_names_the_congestion_control_or_that_there_is_none() {
    let deleted = |route: &KernelRoute| {
        KernelRoute::from_bytes(&route.deletion().body).expect("a route").congestion_control()
    };
    assert_eq!(deleted(&plain()).as_deref(), Some(""));
    assert_eq!(deleted(&plain().with_congestion_control(Some("reno"))).as_deref(), Some("reno"));
}

#[test]
fn local_routes_lead_to_no_other_host() {
    assert!(plain().leads_to_other_hosts());
    let mut local = plain();
    local.header[TABLE] = 255;
    assert!(!local.leads_to_other_hosts());
    assert!(local.describe().starts_with("192.0.2.0/24 dev "));
    assert!(local.describe().ends_with("table 255 metric 600"));
}

#[test]
fn what_is_no_route_is_none() {
    assert!(KernelRoute::from_bytes(&[AF_INET; 11]).is_none());
    assert!(KernelRoute::from_bytes(&[7; 40]).is_none());
}

#[test]
fn a_next_hop_object_brings_no_metrics_of_other_routes() {
    let created = |route: &KernelRoute| KernelRoute::from_bytes(&route.creation(0).body).expect("a route");
    let mut listed = plain();
    assert!(created(&listed).attribute(RTA_METRICS).is_none());
    listed.attributes.push((RTA_NH_ID, 7_u32.to_ne_bytes().to_vec()));
    assert_eq!(created(&listed).attribute(RTA_METRICS), Some(&[][..]));
    assert!(created(&listed.with_congestion_control(Some("reno"))).congestion_control().is_some());
}

/// `cc load` would set a congestion control on what the kernel has noted for one destination.
#[test]
fn what_the_kernel_derives_for_one_destination_is_learnt() {
    let mut one = route(Vec::new());
    assert!(!one.is_learnt());
    one.header[8..12].copy_from_slice(&RTM_F_CLONED.to_ne_bytes());
    assert!(one.is_learnt());
}
