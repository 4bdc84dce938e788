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
        let undone = changes.undo();
        assert!(undone.failed.is_empty() && undone.log.is_none(), "{undone:?}");
        assert_eq!(undone.commands.len(), 3, "{undone:?}");
        assert_eq!(host(), before);
        // A second time there is nothing to do, and no file is left.
        let again = changes.undo();
        assert!(again.failed.is_empty() && again.commands.is_empty() && again.log.is_none(), "{again:?}");
        drop(changes);
        assert!(!path.parent().unwrap().exists());
    });
}

#[test]
fn a_log_that_cannot_be_removed_keeps_nothing_from_being_undone() {
    isolated(|| {
        let path = log("read-only");
        let folder = path.parent().unwrap();
        link::set_up(interface::index("lo").unwrap(), true).unwrap();
        let before = host();
        let (mut changes, _) = Changes::open(&path, "test").unwrap();
        make_all(&mut changes);
        drop(changes);
        let mount = |flags, source: &str| {
            nix::mount::mount(Some(source), folder, None::<&str>, flags, None::<&str>).unwrap();
        };
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
        let private = nix::mount::MsFlags::MS_REC | nix::mount::MsFlags::MS_PRIVATE;
        nix::mount::mount(None::<&str>, "/", None::<&str>, private, None::<&str>).unwrap();
        let bind = nix::mount::MsFlags::MS_BIND;
        mount(bind, folder.to_str().unwrap());
        let read_only = nix::mount::MsFlags::MS_REMOUNT | bind | nix::mount::MsFlags::MS_RDONLY;
        mount(read_only, "none");
        let open = || Changes::open(&path, "test").unwrap().0;
        let undone = open().undo();
        assert_eq!((undone.commands.len(), undone.failed.len()), (3, 0), "{undone:?}");
        assert!(undone.log.unwrap().to_string().contains("Read-only file system"));
        assert_eq!(host(), before);
        // The log lists them still, and they are not undone again.
        assert_eq!(open().iter().count(), 3);
        assert_eq!(open().undo().commands, Vec::<String>::new());
        assert_eq!(host(), before);
        nix::mount::umount(folder).unwrap();
        assert!(open().undo().log.is_none());
        assert!(!folder.exists());
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
        assert_eq!(first.undo().commands, Vec::<String>::new());
        assert_eq!(read_setting(FORWARD).unwrap(), "1");
        assert_eq!(second.undo().commands, ["sysctl -w net.ipv4.ip_forward=1"]);
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
        let failed = changes.undo().failed;
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
        assert!(changes.undo().failed.is_empty());
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
