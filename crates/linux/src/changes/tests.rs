use std::path::PathBuf;

use super::*;
use crate::namespace::tests::isolated;
use crate::{link, rule};

fn log(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airwatt-changes-{}-{name}/log", std::process::id()))
}

const FORWARD: &str = "net/ipv4/ip_forward";

fn make_all(changes: &mut Changes) {
    let loopback = interface::index("lo").unwrap();
    link::set_up(loopback, true).unwrap();
    changes.make(Change::setting(FORWARD, "1").unwrap().unwrap()).unwrap();
    changes.make(Change::route(&KernelRoute::over(loopback, ("192.0.2.0".parse().unwrap(), 24)))).unwrap();
    let rule = Rule {
        ipv6: false,
        priority: 99,
        table: 77,
        mark: None,
        source: None,
        inverted: false,
        suppress_prefix_length: None,
    };
    changes.make(Change::Rule(rule)).unwrap();
}

/// Settings, routes and rules.
fn host() -> (String, Vec<String>, Vec<Rule>) {
    let routes = crate::route::list().unwrap();
    (read_setting(FORWARD).unwrap(), routes.iter().map(KernelRoute::describe).collect(), rule::tests::list())
}

#[test]
fn everything_is_undone_by_another_process_from_the_log_alone() {
    isolated(|| {
        let path = log("all");
        link::set_up(interface::index("lo").unwrap(), true).unwrap();
        let before = host();
        let (mut changes, _) = Changes::open(&path, "test").unwrap();
        make_all(&mut changes);
        assert_ne!(host(), before);
        // The daemon is killed here; the log is all that is left of it.
        std::mem::forget(changes);
        let (mut changes, damage) = Changes::open(&path, "test").unwrap();
        assert!(damage.is_empty() && changes.iter().next().is_some());
        assert_eq!(changes.undo().unwrap(), Vec::<String>::new());
        assert_eq!(host(), before);
        // A second time there is nothing to do, and no file is left.
        assert_eq!(changes.undo().unwrap(), Vec::<String>::new());
        drop(changes);
        assert!(!path.parent().unwrap().exists());
    });
}

#[test]
fn a_setting_that_another_daemon_relies_on_stays_until_that_one_ends() {
    isolated(|| {
        let folder = log("shared").parent().unwrap().to_owned();
        let open = |name: &str| Changes::open(&folder.join(name), "test").unwrap().0;
        let [mut first, mut elsewhere] = ["tunnel-a.1.jsonl", "tunnel-c.2.jsonl"].map(open);
        first.make(Change::setting(FORWARD, "1").unwrap().unwrap()).unwrap();
        elsewhere.share(FORWARD).unwrap();
        assert_eq!(elsewhere.iter().count(), 0, "another network namespace");
        let mut second = open("tunnel-b.1.jsonl");
        second.share("net/ipv6/conf/all/forwarding").unwrap();
        assert_eq!(second.iter().count(), 0, "nobody has changed it");
        second.share(FORWARD).unwrap();
        assert_eq!(first.undo().unwrap(), Vec::<String>::new());
        assert_eq!(read_setting(FORWARD).unwrap(), "1");
        assert_eq!(second.undo().unwrap(), Vec::<String>::new());
        assert_eq!(read_setting(FORWARD).unwrap(), "0");
        drop((first, second, elsewhere));
        fs::remove_dir_all(folder).unwrap_or_default();
    });
}

#[test]
fn what_others_have_changed_stays_and_is_reported() {
    isolated(|| {
        let (mut changes, _) = Changes::open(&log("others"), "test").unwrap();
        changes.make(Change::setting("net/ipv4/ip_default_ttl", "70").unwrap().unwrap()).unwrap();
        make_all(&mut changes);
        write_setting("net/ipv4/ip_default_ttl", "71").unwrap();
        rule::tests::list().iter().find(|rule| rule.priority == 99).unwrap().remove().unwrap();
        let failed = changes.undo().unwrap();
        assert_eq!(failed, ["net/ipv4/ip_default_ttl: expected 70, got 71; it stays"]);
        assert_eq!(read_setting(FORWARD).unwrap(), "0");
    });
}

#[test]
fn a_change_that_is_refused_is_not_undone_later() {
    isolated(|| {
        let (mut changes, _) = Changes::open(&log("refused"), "test").unwrap();
        let loopback = interface::index("lo").unwrap();
        link::set_up(loopback, true).unwrap();
        let route = KernelRoute::over(loopback, ("192.0.2.0".parse().unwrap(), 24));
        route.add().unwrap();
        assert!(changes.make(Change::route(&route)).unwrap_err().to_string().contains("File exists"));
        assert!(changes.iter().next().is_none());
        changes.undo().unwrap();
        // It was somebody else's.
        route.remove().unwrap();
        assert_eq!(Change::setting(FORWARD, "0").unwrap(), None);
        assert!(Change::setting("net/no/such", "0").is_err());
    });
}

#[test]
fn changes_are_described_as_commands() {
    let setting = Change::Setting { name: FORWARD.into(), before: "0".into(), after: "1".into() };
    assert_eq!(setting.describe(), "sysctl -w net.ipv4.ip_forward=1");
}
