use std::os::unix::net::UnixDatagram;
use std::process::Command;

use super::*;

const UNIT: Unit<'_> = Unit {
    description: "A test",
    manual: "airwattd-test",
    start: &["/usr/bin/airwattd", "test"],
    restore: &["/usr/bin/airwattd", "test", "--restore"],
    capabilities: &[ProcessCapability::NetAdmin, ProcessCapability::NetRaw],
    families: &["AF_INET", "AF_INET6"],
    devices: &["/dev/net/tun"],
    stop_s: 10,
    restart_s: 1,
};

#[test]
fn the_unit_allows_what_is_needed_and_nothing_else() {
    let text = UNIT.text_with(&[]);
    for line in [
        "Type=notify",
        "Documentation=man:airwattd-test(8)",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "ExecStart=/usr/bin/airwattd test",
        "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW",
        "RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET AF_INET6",
        "DeviceAllow=/dev/net/tun rw",
        "NoNewPrivileges=yes",
        "StartLimitIntervalSec=0",
        "SystemCallFilter=@system-service seccomp",
        "RestartPreventExitStatus=2 5",
        "[Install]",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    // Each key once, but for the devices.
    let mut keys: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(key, _)| key).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

/// A unit whose program was built in a home can start it.
#[test]
fn homes_are_hidden_unless_the_program_or_its_configuration_is_in_one() {
    assert!(UNIT.text_with(&[]).contains("ProtectHome=yes\n"));
    for start in [
        &["/home/pi/airwatt/target/release/airwattd", "test"][..],
        &["/usr/bin/airwattd", "test", "/root/tunnel.toml"],
    ] {
        let text = Unit { start, ..UNIT }.text_with(&[]);
        assert!(text.contains("ProtectHome=read-only\n") && !text.contains("ProtectHome=yes"), "{text}");
    }
}

#[test]
fn a_path_stays_one_word_of_the_command() {
    let file = "/etc/air watt/100% \"$HOME\"\n.toml";
    let start = ["/usr/bin/airwattd@%i", "tunnel", "up", &literal(file)];
    let text = Unit { start: &start, ..UNIT }.text_with(&[]);
    let line = r#"ExecStart=/usr/bin/airwattd@%i tunnel up "/etc/air watt/100%% \"$$HOME\"\n.toml""#;
    assert!(text.lines().any(|found| found == line), "{text}");
}

/// The environment is that of a process: the test runs itself once more with it.
#[test]
fn the_service_manager_gets_the_messages() {
    if std::env::var_os("AIRWATT_TEST_SENDS").is_some() {
        ready("two peers");
        reloading();
        stopping();
        return;
    }
    let path = std::env::temp_dir().join(format!("airwatt-notify-{}", std::process::id()));
    let socket = UnixDatagram::bind(&path).unwrap();
    let name = "service::tests::the_service_manager_gets_the_messages";
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env("AIRWATT_TEST_SENDS", "1")
        .env("NOTIFY_SOCKET", &path)
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(done.status.success());
    let next = || {
        let mut bytes = [0; 200];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    assert_eq!(next(), "READY=1\nSTATUS=two peers\n");
    assert!(next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(next(), "STOPPING=1\n");
}
