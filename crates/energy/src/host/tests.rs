use std::path::Path;

use super::*;

fn us(at: u64) -> Instant {
    Instant::from_micros(at)
}

/// 100 us and 1 us per byte at the interface, 2 us per byte of copies, 7 us a block; 1 W idle, 3 W busy.
fn host() -> Host {
    let shipped = Host::shipped()[0].clone();
    Host {
        idle: Power::from_nanowatts(1_000_000_000),
        active: Power::from_nanowatts(3_000_000_000),
        packet_sent: Span::from_micros(100),
        packet_received: Span::from_micros(50),
        interface_kilobyte: Span::from_millis(1),
        copy_kilobyte: Span::from_millis(2),
        sack_block: Span::from_micros(7),
        timeout: Span::from_micros(30),
        ..shipped
    }
}

const OWN: HostPacket = HostPacket { bytes: 100, is_own: true, sack_blocks: 2 };

#[test]
fn every_shipped_profile_is_a_file_and_says_its_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosts");
    let mut stems: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    stems.sort();
    let names: Vec<&str> = Host::shipped().iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, stems);
    for host in Host::shipped() {
        assert!(!host.source.is_empty() && host.idle <= host.active, "{}", host.name);
        assert!(host.assumed.values().all(|reason| !reason.is_empty()), "{}", host.name);
    }
}

/// The laptop of Singh with its card draws 1.2 A at 15 V.
#[test]
fn the_laptop_draws_eighteen_watts_when_idle() {
    let config = HostEnergyConfig { profile: "laptop-2002".to_owned(), ..Default::default() };
    let card = crate::Radio::find("lucent-wavelan").unwrap();
    assert_eq!(config.host().unwrap().idle.as_watts() + card.listen.as_watts(), 18.0);
}

/// Each share of Wang and Singh within its range, for a packet of 1500 bytes.
#[test]
fn the_laptop_has_the_published_shares() {
    let mut ledger = HostLedger::new(Host::shipped()[0].clone(), Instant::ZERO);
    ledger.send(HostPacket { bytes: 1500, is_own: true, sack_blocks: 0 }, Instant::ZERO);
    let share = |activity| ledger.duration(activity).as_secs_f64() / ledger.busy_time().as_secs_f64();
    assert!((0.60..=0.70).contains(&share(Activity::Interface)), "{}", share(Activity::Interface));
    // The checksum is a quarter of TCP's 15 %, and here a part of the copy.
    assert!((0.17..=0.22).contains(&share(Activity::Copy)), "{}", share(Activity::Copy));
    assert!((0.10..=0.14).contains(&share(Activity::Protocol)), "{}", share(Activity::Protocol));
}

#[test]
fn a_packet_costs_its_processing_its_bytes_and_its_blocks() {
    let mut ledger = HostLedger::new(host(), Instant::ZERO);
    ledger.send(OWN, us(0));
    // Forwarded: neither copies for an application nor blocks.
    ledger.receive(HostPacket { is_own: false, ..OWN }, us(1_000));
    ledger.time_out(1, us(2_000));
    ledger.close(us(10_000));
    let times = Activity::ALL.map(|activity| ledger.duration(activity).as_nanos() / 1_000);
    assert_eq!(times, [150, 200, 200, 14, 30]);
    assert_eq!(ledger.idle_time(), Span::from_micros(10_000 - 594));
    // 3 W for 594 us, 1 W for the rest; the marginal energy is 2 W for 594 us.
    assert_eq!(ledger.idealized_energy().as_attojoules(), 3_000_000_000 * 594_000);
    assert_eq!(ledger.marginal_energy().as_attojoules(), 2_000_000_000 * 594_000);
    let idle = 1_000_000_000_u128 * 9_406_000;
    assert_eq!(ledger.energy().as_attojoules(), idle + 3_000_000_000 * 594_000);
}

/// Work that is given at once is done one after another, past the end if need be: no time is counted twice.
#[test]
fn the_processor_does_one_thing_at_a_time() {
    let mut ledger = HostLedger::new(host(), us(500));
    ledger.send(OWN, us(1_000));
    ledger.send(OWN, us(1_000));
    ledger.close(us(1_200));
    assert_eq!(ledger.busy_time(), Span::from_micros(828));
    assert_eq!(ledger.idle_time(), Span::from_micros(500));
}

#[test]
fn settings_replace_values_of_the_profile() {
    let config = |idle, active| HostEnergyConfig {
        profile: "phone".to_owned(),
        idle: Some(Power::from_nanowatts(idle)),
        active: Some(Power::from_nanowatts(active)),
        sack_block: Some(Span::from_micros(9)),
        ..HostEnergyConfig::default()
    };
    let host = config(5, 9).host().unwrap();
    assert_eq!((host.idle.as_nanowatts(), host.sack_block), (5, Span::from_micros(9)));
    let error = config(9, 5).host().unwrap_err().to_string();
    assert!(error.starts_with("active: expected at least idle"), "{error}");
    let error = HostEnergyConfig { profile: "abacus".to_owned(), ..Default::default() }.check().unwrap_err();
    assert_eq!(error.to_string(), "profile: expected laptop-2002, microcontroller, phone, got \"abacus\"");
    let long = HostEnergyConfig { timeout: Some(Span::from_secs(2)), ..config(5, 9) };
    assert!(long.check().unwrap_err().to_string().starts_with("timeout: expected 0s to 1s"));
}
