use super::*;
use crate::namespace::tests::isolated;
use crate::netlink::address_of;

/// Size of `struct fib_rule_hdr`.
const FIB_RULE_HDR: usize = 12;

/// The rules that direct packets to a table, IPv4 and IPv6.
pub(crate) fn list() -> Vec<Rule> {
    const RTM_GETRULE: u16 = 34;
    let bodies =
        netlink::NetlinkSocket::open().unwrap().dump(RTM_GETRULE, &[0; FIB_RULE_HDR], RTM_NEWRULE).unwrap();
    bodies.iter().filter_map(|body| from_bytes(body)).collect()
}

fn from_bytes(body: &[u8]) -> Option<Rule> {
    let (header, rest) = body.split_first_chunk::<FIB_RULE_HDR>()?;
    if ![AF_INET, AF_INET6].contains(&header[0]) || header[7] != FR_ACT_TO_TBL {
        return None;
    }
    let attributes = attribute::parse(rest);
    let value = |kind| attributes.iter().find(|(found, _)| *found == kind).map(|(_, value)| value);
    let number = |kind| value(kind)?.as_slice().try_into().map(u32::from_ne_bytes).ok();
    let flags = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
    Some(Rule {
        ipv6: header[0] == AF_INET6,
        priority: number(FRA_PRIORITY).unwrap_or(0),
        table: number(FRA_TABLE).unwrap_or(u32::from(header[4])),
        mark: number(FRA_FWMARK),
        source: value(FRA_SRC).and_then(|bytes| Some((address_of(bytes)?, header[2]))),
        inverted: flags & FIB_RULE_INVERT != 0,
        suppress_prefix_length: number(FRA_SUPPRESS_PREFIXLEN).filter(|length| *length != u32::MAX),
    })
}

#[test]
fn rules_are_listed_as_they_were_added_and_removed_exactly() {
    isolated(|| {
        let before = list();
        assert!(before.iter().any(|rule| rule.table == 254 && !rule.ipv6));
        let plain = Rule {
            ipv6: false,
            priority: 100,
            table: 51_820,
            mark: Some(7),
            source: None,
            inverted: true,
            suppress_prefix_length: None,
        };
        let rules = [
            plain.clone(),
            Rule {
                priority: 101,
                mark: None,
                inverted: false,
                suppress_prefix_length: Some(0),
                table: 254,
                ..plain.clone()
            },
            Rule {
                ipv6: true,
                priority: 102,
                source: Some(("fd00::".parse().unwrap(), 64)),
                ..plain.clone()
            },
        ];
        for rule in &rules {
            rule.add().unwrap();
            assert!(list().contains(rule), "{rule:?} in {:?}", list());
        }
        assert!(
            plain
                .add()
                .unwrap_err()
                .to_string()
                .starts_with("rule add not fwmark 7 table 51820 priority 100: ")
        );
        for rule in &rules {
            rule.remove().unwrap();
        }
        assert_eq!(list(), before);
        assert!(plain.remove().is_err());
    });
}
