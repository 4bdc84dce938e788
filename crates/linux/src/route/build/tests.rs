use super::*;
use crate::interface;
use crate::namespace::tests::isolated;
use crate::route::list;
use crate::{link, tun};

#[test]
fn routes_are_added_changed_and_removed() {
    isolated(|| {
        let settings = tun::TunSettings {
            name: "aw-route".to_owned(),
            addresses: vec![("10.9.0.1".parse().unwrap(), 24), ("fd00:9::1".parse().unwrap(), 64)],
            mtu: 1400,
            offload: false,
        };
        let _device = tun::create(&settings).unwrap();
        let index = interface::index("aw-route").unwrap();
        assert!(link::tests::is_up(index));
        let plain = KernelRoute::over(index, ("192.0.2.0".parse().unwrap(), 24));
        let routes = [
            plain.clone(),
            KernelRoute::over(index, ("0.0.0.0".parse().unwrap(), 0)).via("10.9.0.2".parse().unwrap()),
            KernelRoute::over(index, ("2001:db8::".parse().unwrap(), 32)).in_table(4711),
        ];
        let found = |route: &KernelRoute| {
            let listed = list().unwrap();
            let same = |other: &&KernelRoute| {
                (other.destination(), other.table(), other.interfaces())
                    == (route.destination(), route.table(), route.interfaces())
            };
            listed.iter().find(same).cloned()
        };
        for route in &routes {
            route.add().unwrap();
            assert!(found(route).is_some(), "{}", route.describe());
            assert!(route.add().unwrap_err().to_string().contains("File exists"));
        }
        let metrics = [Metric::MinRtoMs(250), Metric::InitialWindow(3), Metric::QuickAck(true)];
        plain.clone().with_metrics(&metrics).replace().unwrap();
        let listed = attribute::parse(found(&plain).unwrap().attribute(RTA_METRICS).unwrap());
        for (kind, value) in metrics.map(Metric::attribute) {
            assert!(listed.contains(&(kind, value.to_ne_bytes().to_vec())), "{kind}: {listed:?}");
        }
        // The route that the kernel made for the address.
        KernelRoute::over(index, ("10.9.0.0".parse().unwrap(), 24))
            .of_kernel()
            .from_source("10.9.0.1".parse().unwrap())
            .with_metrics(&[Metric::InitialWindow(4)])
            .replace()
            .unwrap();
        for route in &routes {
            route.remove().unwrap();
            assert!(found(route).is_none());
            assert!(route.remove().unwrap_err().to_string().contains("No such process"));
        }
    });
}
