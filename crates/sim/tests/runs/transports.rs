//! The TCP family in whole runs: each transport by name, over a path that drops, and what its captures show.
#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::ops::ControlFlow;
use std::process::Command;

use airwatt_proto::cc::{NewReno, OwnCongestionControl};
use airwatt_sim::record::FlowResult;
use airwatt_sim::scenario::{Checked, Scenario, Transport, TransportChoice};
use airwatt_sim::{Run, RunOptions, run};

const FAMILY: [&str; 8] = ["tahoe", "reno", "newreno", "sack", "cubic", "westwood", "veno", "jersey"];

/// A download of 5 MB through a queue of 20 packets, with these keys changed.
fn download(changes: &[(&str, &str)], trace: bool) -> Run {
    let path = [("wired.down.queue", "20packets"), ("wired.rtt", "60ms"), ("flow.application.size", "5MB")];
    let changes: Vec<_> =
        path.iter().chain(changes).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load("fast-dsl", &changes).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    run(&scenario, 1, &mut RunOptions { trace, on_progress: &mut go_on }).unwrap()
}

fn flow(changes: &[(&str, &str)]) -> FlowResult {
    download(changes, false).result.flows.remove(0)
}

#[test]
fn each_transport_is_listed_runs_and_is_named() {
    let listed: Vec<&str> = Transport::all().map(Transport::name).collect();
    assert_eq!(listed[..8], FAMILY);
    for name in FAMILY {
        let flow = flow(&[("transport", name)]);
        assert_eq!(flow.transport, name);
        assert_eq!(flow.bytes_delivered, 5_000_000);
        assert!(flow.segments_retransmitted > 0, "{name} lost nothing on a path that drops");
    }
}

/// A congestion control from outside takes the trajectory of the same one inside, and has its own name.
#[test]
fn an_own_congestion_control_runs_as_a_listed_one() {
    let changes =
        [("transport", "newreno"), ("wired.down.queue", "20packets"), ("flow.application.size", "1MB")];
    let scenario =
        Scenario::load("fast-dsl", &changes.map(|(key, value)| (key.to_owned(), value.to_owned()))).unwrap();
    let made = |scenario: &Checked| {
        let mut go_on = |_| ControlFlow::Continue(());
        run(scenario, 1, &mut RunOptions { trace: false, on_progress: &mut go_on }).unwrap()
    };
    let mut with_own = Scenario::clone(&scenario);
    with_own.flow[0].transport = TransportChoice::own(OwnCongestionControl::of::<NewReno>("mine"));
    let (listed, own) = (made(&scenario), made(&Checked::new(with_own).unwrap()));
    // The result document has the name, and so another fingerprint.
    let trajectory = |run: &Run| (run.fingerprints.events, run.fingerprints.frames, run.fingerprints.radios);
    assert_eq!(trajectory(&listed), trajectory(&own));
    assert_eq!(listed.result.stations, own.result.stations);
    assert!(listed.result.flows[0].segments_retransmitted > 0);
    assert_eq!(own.result.flows[0].transport, "mine");
}

/// With `+ackloss` a sender whose acknowledgements are lost on their way halves its window. Without losses it does not.
#[test]
fn lost_acknowledgements_halve_the_window_where_that_is_asked_for() {
    for name in FAMILY {
        let with = format!("{name}+ackloss");
        // A narrow way back with a short queue: acknowledgements are dropped, data are not.
        let narrow = [
            ("tcp.delayed_ack", "false"),
            ("wired.down.queue", "1000packets"),
            ("wired.up.rate", "128kbps"),
            ("wired.up.queue", "5packets"),
        ];
        let plain = flow(&[&narrow[..], &[("transport", name)]].concat());
        // Without timestamps the default rule counts no runs of losses, of which this path has many.
        let published = [("transport", with.as_str()), ("ackloss.rule", "published")];
        let watching = flow(&[&narrow[..], &published].concat());
        assert!(plain.acks_lost > 100 && plain.ack_losses_seen == 0, "{name}: {} lost", plain.acks_lost);
        assert_eq!(watching.transport, with);
        assert!(watching.ack_losses_seen > 0 && watching.ack_loss_halvings > 0, "{name}");
        assert!(
            watching.acks_lost < plain.acks_lost / 2,
            "{name}: {} of {}",
            watching.acks_lost,
            plain.acks_lost
        );
        let wide =
            [("tcp.delayed_ack", "false"), ("wired.down.queue", "1000packets"), ("wired.up.rate", "16Mbps")];
        let quiet = flow(&[&wide[..], &[("transport", &with)]].concat());
        assert_eq!((quiet.ack_losses_seen, quiet.ack_loss_halvings), (0, 0), "{name}");
    }
}

/// Selective acknowledgements send again what was lost and not much more, and wait for no timer.
#[test]
fn what_knows_more_sends_less_again() {
    let [tahoe, reno, newreno, sack, ..] = FAMILY.map(|name| flow(&[("transport", name)]));
    for other in [&tahoe, &reno, &newreno] {
        assert!(sack.segments_retransmitted < other.segments_retransmitted, "{}", other.transport);
        assert!(sack.completed_s < other.completed_s, "{}", other.transport);
    }
    assert_eq!(sack.timeouts, 0);
}

/// The defaults of simulators of the year 2000 can be set: ticks of 100 ms, a window of 20 packets, no delayed ACK.
#[test]
fn old_defaults_can_be_set() {
    let old = [
        ("transport", "reno"),
        ("tcp.rto_clock", "coarse"),
        ("tcp.rto_tick", "100ms"),
        ("tcp.min_rto", "1ms"),
        ("tcp.max_rto", "64s"),
        ("tcp.initial_rto", "6s"),
        ("tcp.initial_window", "1"),
        ("tcp.receive_window", "20packets"),
        ("tcp.window_growth", "acks"),
        ("tcp.delayed_ack", "false"),
        ("wired.down.queue", "50packets"),
    ];
    let flow = flow(&old);
    assert_eq!(flow.segments_retransmitted, 0, "the window fits the path");
    // Twenty segments of 1448 bytes each round trip of somewhat over 60 ms.
    let most = 20.0 * 1448.0 * 8.0 / 0.060;
    assert!((0.6 * most..most).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
}

/// A capture shows the blocks, in packets that are as long as their headers say.
#[test]
fn captures_carry_selective_acknowledgements() {
    let run = download(&[("transport", "sack"), ("flow.application.size", "1MB")], true);
    let mut bytes = Vec::new();
    run.trace.expect("a trace").write_pcapng(&mut bytes).unwrap();
    let path = std::env::temp_dir().join(format!("airwatt-{}-sack.pcapng", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let fields = ["tcp.options.sack.count", "ip.len", "tcp.hdr_len", "ip.hdr_len"];
    let named = fields.iter().flat_map(|field| ["-e", field]);
    let output = Command::new("tshark")
        .arg("-r")
        .arg(&path)
        .args(["-Y", "tcp.options.sack.count && radiotap.flags.badfcs == 0", "-T", "fields"])
        .args(named)
        .output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        println!("skipped: tshark is not installed");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() > 10, "{text}{}", String::from_utf8_lossy(&output.stderr));
    for line in text.lines() {
        let numbers: Vec<u32> = line.split('\t').map(|field| field.parse().unwrap()).collect();
        let [count, total, tcp, ip] = numbers[..] else { panic!("{line}") };
        assert_eq!((total, tcp + ip), (52 + 8 * count + 4, total), "{line}");
    }
}

/// With timestamps, an echo proves a lost acknowledgement, also in runs of losses, of which the default rule counts none
/// otherwise. Packets keep their length, because the header has room for the option either way.
#[test]
fn timestamps_are_evidence_of_lost_acknowledgements() {
    let narrow = [
        ("tcp.delayed_ack", "false"),
        ("wired.down.queue", "1000packets"),
        ("wired.up.rate", "128kbps"),
        ("wired.up.queue", "5packets"),
    ];
    let with = |timestamps| {
        flow(&[&narrow[..], &[("transport", "reno+ackloss"), ("tcp.timestamps", timestamps)]].concat())
    };
    let (without, with) = (with("false"), with("true"));
    assert!(
        without.ack_losses_seen * 5 < without.acks_lost,
        "{} of {}",
        without.ack_losses_seen,
        without.acks_lost
    );
    assert!(with.ack_losses_seen * 3 > with.acks_lost, "{} of {}", with.ack_losses_seen, with.acks_lost);
    assert!(with.acks_lost < without.acks_lost, "{} against {}", with.acks_lost, without.acks_lost);
}
