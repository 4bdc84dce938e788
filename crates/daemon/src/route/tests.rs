//! Routes as bytes: what is sent back is what was dumped, but for the congestion control and what a request must not have.

use super::*;

fn route(attributes: Vec<(u16, Vec<u8>)>) -> Route {
    // RTNH_F_LINKDOWN beside RTNH_F_ONLINK: a state and a setting.
    let mut header = [AF_INET, 24, 0, 0, 254, 4, 0, RTN_UNICAST, 0, 0, 0, 0];
    header[8..].copy_from_slice(&(16_u32 | 4).to_ne_bytes());
    Route { header, attributes }
}

fn plain() -> Route {
    route(vec![
        (RTA_DST, vec![192, 0, 2, 0]),
        (RTA_PRIORITY, 600_u32.to_ne_bytes().to_vec()),
        (RTA_GATEWAY, vec![198, 51, 100, 1]),
        (RTA_OIF, 3_u32.to_ne_bytes().to_vec()),
    ])
}

#[test]
fn attributes_survive_a_round_trip() {
    let mut bytes = Vec::new();
    for (kind, value) in [(1_u16, vec![1_u8]), (2, vec![]), (3, vec![1, 2, 3, 4, 5])] {
        push_attribute(&mut bytes, kind, &value);
    }
    assert_eq!(bytes.len() % 4, 0);
    assert_eq!(attributes(&bytes), [(1, vec![1]), (2, vec![]), (3, vec![1, 2, 3, 4, 5])]);
}

#[test]
fn malformed_attributes_end_the_list() {
    for bytes in [&[0_u8, 0][..], &[3, 0, 1, 0], &[200, 0, 1, 0, 9], &[0, 0, 0, 0, 0, 0]] {
        assert!(attributes(bytes).is_empty());
    }
}

#[test]
fn only_the_congestion_control_changes() {
    let before = plain();
    let mut changed = before.clone();
    changed.set_metric(Some("ackloss"));
    assert_eq!(changed.congestion_control().as_deref(), Some("ackloss"));
    assert_eq!(changed.identity(), before.identity());
    changed.set_metric(Some("cubic"));
    assert_eq!(changed.congestion_control().as_deref(), Some("cubic"));
    changed.set_metric(None);
    assert_eq!(changed.attributes, before.attributes);
}

#[test]
fn other_metrics_stay() {
    let mut metrics = Vec::new();
    push_attribute(&mut metrics, 2, &1400_u32.to_ne_bytes());
    let mut changed = plain();
    changed.attributes.push((RTA_METRICS, metrics.clone()));
    changed.set_metric(Some("ackloss"));
    changed.set_metric(None);
    assert_eq!(changed.attribute(RTA_METRICS), Some(metrics.as_slice()));
}

#[test]
fn states_and_doubled_next_hops_are_left_out() {
    let mut changed = plain();
    changed.attributes.push((RTA_NH_ID, 7_u32.to_ne_bytes().to_vec()));
    changed.prepare();
    assert_eq!(changed.header[8..], 4_u32.to_ne_bytes());
    assert!(changed.attribute(RTA_GATEWAY).is_none() && changed.attribute(RTA_OIF).is_none());
    assert!(changed.attribute(RTA_NH_ID).is_some());
}

#[test]
fn the_expiry_of_a_learnt_route_is_kept() {
    let mut learnt = plain();
    learnt.header[0] = AF_INET6;
    let mut info = vec![0; 32];
    info[8..12].copy_from_slice(&(1799_i32 * 100).to_ne_bytes());
    learnt.attributes.push((RTA_CACHEINFO, info));
    learnt.prepare();
    assert_eq!(learnt.number(RTA_EXPIRES), Some(1799));
    assert!(learnt.attribute(RTA_CACHEINFO).is_none());
}

#[test]
fn identities_name_the_route() {
    let Identity { destination, table, priority, interface, tos } = plain().identity();
    assert_eq!((destination.as_str(), table, priority, interface, tos), ("192.0.2.0/24", 254, 600, 3, 0));
    assert!(plain().leads_anywhere());
    let mut local = plain();
    local.header[4] = 255;
    assert!(!local.leads_anywhere());
}
