use super::*;
use crate::interface;
use crate::namespace::tests::isolated;

/// Whether an interface is up.
pub(crate) fn is_up(index: u32) -> bool {
    const RTM_GETLINK: u16 = 18;
    let bodies =
        netlink::NetlinkSocket::open().unwrap().dump(RTM_GETLINK, &[0; IFINFOMSG], RTM_NEWLINK).unwrap();
    let number = |body: &[u8], at: usize| u32::from_ne_bytes(body[at..at + 4].try_into().unwrap());
    bodies.iter().any(|body| number(body, 4) == index && number(body, 8) & IFF_UP != 0)
}

#[test]
fn the_loopback_interface_is_brought_up_and_gets_addresses() {
    isolated(|| {
        let loopback = interface::index("lo").unwrap();
        assert!(!is_up(loopback));
        set_up(loopback, true).unwrap();
        assert!(is_up(loopback));
        let extra: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "fd00::7".parse().unwrap()];
        for address in extra {
            let prefix = if address.is_ipv4() { 24 } else { 64 };
            add_address(loopback, address, prefix).unwrap();
            assert!(addresses().unwrap().contains(&(loopback, address, prefix)));
            let error = add_address(loopback, address, prefix).unwrap_err().to_string();
            assert!(error.starts_with(&format!("address {address}/{prefix}: File exists")), "{error}");
        }
        set_up(loopback, false).unwrap();
        assert!(!is_up(loopback));
        assert!(set_up(4711, true).unwrap_err().to_string().starts_with("interface 4711: No such device"));
    });
}
