use super::*;
use crate::namespace::tests::isolated;
use crate::{interface, link};

/// The sets of the calling thread, by their names in proc(5).
fn set(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
}

#[test]
fn only_what_is_needed_stays_and_it_works() {
    // A thread of its own, in a namespace where the privilege that stays can be used.
    isolated(|| {
        let loopback = interface::index("lo").unwrap();
        keep_only(&[ProcessCapability::NetAdmin], None).unwrap();
        let only = ProcessCapability::NetAdmin.bit();
        assert_eq!(
            [set("CapEff"), set("CapPrm"), set("CapBnd"), set("CapInh"), set("CapAmb")],
            [only, only, only, 0, 0]
        );
        link::set_up(loopback, true).unwrap();
        // Mounts and namespaces are gone, and no program that is started gets them back.
        assert!(nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).is_err());
        assert!(sys::no_new_privs().unwrap());
        keep_only(&[], None).unwrap();
        assert!(link::set_up(loopback, false).unwrap_err().to_string().contains("not permitted"));
    });
}

#[test]
fn what_is_missing_is_named() {
    std::thread::spawn(|| {
        if first_missing(&[ProcessCapability::NetAdmin]).unwrap().is_some() {
            return;
        }
        keep_only(&[], None).unwrap();
        assert!(link::set_up(1, true).is_err());
    })
    .join()
    .unwrap();
}
