use super::*;
use crate::namespace::tests::isolated;

#[test]
fn rules_are_listed_as_they_were_added_and_removed_exactly() {
    isolated(|| {
        let before = list().unwrap();
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
            assert!(list().unwrap().contains(rule), "{rule:?} in {:?}", list().unwrap());
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
        assert_eq!(list().unwrap(), before);
        assert!(plain.remove().is_err());
    });
}
