use super::*;
use crate::interface;
use crate::namespace::tests::isolated;

#[test]
fn the_loopback_interface_is_brought_up_and_gets_addresses() {
    isolated(|| {
        let loopback = interface::index("lo").unwrap();
        let now = || list().unwrap().into_iter().find(|link| link.index == loopback).unwrap();
        assert_eq!((now().name.as_str(), now().is_up), ("lo", false));
        set_up(loopback, true).unwrap();
        set_mtu(loopback, 1300).unwrap();
        assert_eq!((now().is_up, now().mtu), (true, 1300));
        let extra: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "fd00::7".parse().unwrap()];
        for address in extra {
            let prefix = if address.is_ipv4() { 24 } else { 64 };
            add_address(loopback, address, prefix).unwrap();
            assert!(addresses().unwrap().contains(&(loopback, address, prefix)));
            let error = add_address(loopback, address, prefix).unwrap_err().to_string();
            assert!(error.starts_with(&format!("address {address}/{prefix}: File exists")), "{error}");
        }
        set_up(loopback, false).unwrap();
        assert!(!now().is_up);
        assert!(set_up(4711, true).unwrap_err().to_string().starts_with("interface 4711: No such device"));
    });
}
