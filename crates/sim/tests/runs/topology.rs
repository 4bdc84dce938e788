//! The general form of scenarios: both forms of every scenario that ships, names and routes that cannot be, and what the four
//! scenarios beyond the usual path come to.

use airwatt_sim::net::{NetworkPlan, ProgramKind};
use airwatt_sim::scenario::{Checked, Scenario, shipped};

use crate::support::{cut, in_parallel, scenario, simulate};

fn read(text: &str) -> Checked {
    Scenario::from_text(text, "general.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The general form of each scenario is a scenario file, expands into itself, and gives the same trajectory and document.
#[test]
fn both_forms_of_every_shipped_scenario_are_the_same_run() {
    let names: Vec<&str> = shipped().iter().map(|shipped| shipped.name).collect();
    in_parallel(&names, |name| {
        let mut short = Scenario::clone(&cut(name, "active", "2s"));
        short.time_limit = short.time_limit.max(airwatt_base::Span::from_secs(2));
        let short = Checked::new(short).unwrap();
        let general = read(&short.expanded().to_toml());
        assert!(!general.is_short(), "{name}");
        assert_eq!(general.to_toml(), short.expanded().to_toml(), "{name}");
        assert_eq!(general.expanded().to_toml(), general.to_toml(), "{name}");
        assert_eq!(read(&short.to_toml()).to_toml(), short.to_toml(), "{name}: its own form is a file too");
        let [one, other] = [&short, &general].map(|scenario| simulate(scenario, 1));
        assert_eq!(one.fingerprints, other.fingerprints, "{name}");
        assert_eq!(one.result, other.result, "{name}");
    });
}

/// Every kind of flow and link that the short form has, in both forms.
#[test]
fn what_no_shipped_scenario_has_expands_to_the_same_run_too() {
    let variants = [
        "flow = [{ direction = \"down\", neighbours = 2, application = { kind = \"bulk\", size = \"200kB\" } }, { direction = \"up\", neighbours = 1, application = { kind = \"bulk\", size = \"200kB\" } }, { direction = \"up\", application = { kind = \"bulk\", size = \"200kB\" } }]",
        "station = [{ count = 2 }, { power_save = { policy = \"psm\" } }, { count = 2, distance = \"9m\" }]\nflow = [{ direction = \"down\", stations = [0, 3], application = { kind = \"bulk\", size = \"200kB\" } }, { direction = \"up\", stations = [2], application = { kind = \"bulk\", size = \"200kB\" } }]",
        "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"200kB\" }, wired = { rtt = \"7ms\", down = { rate = \"3Mbps\", cross = { rate = \"1Mbps\" } }, up = { rate = \"1Mbps\" } } }]",
        "flow = [{ direction = \"up\", transport = \"split\", application = { kind = \"bulk\", size = \"200kB\" } }]\ngateway = { buffer = \"8kB\" }",
        "flow = [{ direction = \"down\", transport = \"e2tcp\", application = { kind = \"bulk\", size = \"200kB\" } }]",
        "duration = \"500ms\"\nstation = [{ count = 2 }]\nflow = [{ direction = \"up\", transport = \"udp\", application = { kind = \"saturated\" } }]",
        "station = [{ count = 2 }]\nwifi = { base = \"fast-wifi\", channel = \"6\", path_loss = {} }\nflow = [{ direction = \"up\", application = { kind = \"bulk\", size = \"200kB\" } }]",
    ];
    for variant in variants {
        let short = read(&format!("base = \"fast-dsl\"\n{variant}"));
        let general = read(&short.expanded().to_toml());
        let [one, other] = [&short, &general].map(|scenario| simulate(scenario, 1));
        assert_eq!(one.fingerprints, other.fingerprints, "{variant}");
        assert_eq!(one.result, other.result, "{variant}");
    }
}

/// The measured rates of the flows of a scenario in Mbit/s.
fn rates(name: &str, set: &[(&str, &str)]) -> Vec<f64> {
    let flows = simulate(&scenario(name, set), 1).result.flows;
    flows.iter().map(|flow| flow.measured_bps.unwrap_or(flow.goodput_bps) / 1e6).collect()
}

#[test]
fn a_relay_halves_the_goodput_on_one_channel_and_not_on_two() {
    let [direct, relayed, two_channels] =
        [("two-hops", "station0"), ("two-hops", "phone"), ("two-cells", "phone")]
            .map(|(name, to)| rates(name, &[("flow.to", to)])[0]);
    assert!((relayed / direct - 0.5).abs() < 0.05, "{relayed} of {direct}");
    assert!((two_channels / direct - 1.0).abs() < 0.05, "{two_channels} of {direct}");
}

#[test]
fn two_access_points_in_range_share_about_half_and_half() {
    let together = rates("two-access-points", &[]);
    let alone = rates("two-access-points", &[("flow.1.start", "9999ms")])[0];
    assert!((together[0] / together[1] - 1.0).abs() < 0.1, "{together:?}");
    assert!(((together[0] + together[1]) / alone - 1.0).abs() < 0.15, "{together:?} of {alone}");
}

#[test]
fn hidden_stations_are_of_one_access_point() {
    let hidden = "station = [{ node = \"phone0\", hidden_from = \"phone1\" }, { node = \"phone1\"";
    let small = SMALL.replacen("station = [{ node = \"phone0\" }, { node = \"phone1\"", hidden, 1);
    assert_ne!(small, SMALL);
    read(&small);
    let lines = [
        (
            small.replacen("hidden_from = \"phone1\"", "hidden_from = \"server\"", 1),
            "general.toml:4: cell.0.station.0.hidden_from: expected a station of this cell, got \"server\"",
        ),
        (
            small.replacen("hidden_from = \"phone1\"", "hidden_from = \"phone0\"", 1),
            "general.toml:4: cell.0.station.0.hidden_from: expected another station of this cell, got the station itself",
        ),
        (
            small.replacen("{ node = \"phone1\"", "{ node = \"phone1\", hidden_from = \"phone1\"", 1),
            "general.toml:4: cell.0.station.1.hidden_from: expected another station of this cell, got the station itself",
        ),
    ];
    for (text, line) in lines {
        let got = error(&text, &[]);
        assert!(got.contains(line), "{line}\n{got}");
    }
    let elsewhere = [
        ("two-access-points", "cell.next-door.station.hidden_from", "station0"),
        ("four-in-a-row", "cell.air.station.0.hidden_from", "b"),
    ];
    for (base, key, name) in elsewhere {
        let got = error(&format!("base = \"{base}\"\n"), &[(key, name)]);
        assert!(got.contains("hidden_from"), "{base}: {got}");
    }
}

#[test]
fn three_ad_hoc_hops_carry_a_third() {
    let [one, two, three] = ["b", "c", "d"].map(|to| rates("four-in-a-row", &[("flow.to", to)])[0]);
    assert!((two / one - 1.0 / 2.0).abs() < 0.06, "{two} of {one}");
    assert!((three / one - 1.0 / 3.0).abs() < 0.05, "{three} of {one}");
    let back = rates("four-in-a-row", &[("flow.from", "d"), ("flow.to", "a")])[0];
    assert!((back / three - 1.0).abs() < 0.1, "{back} towards the first node, {three} away from it");
}

/// The general form of a small network: a server, an access point and two phones.
const SMALL: &str = r#"
node = [{ name = "server" }, { name = "ap" }, { name = "phone", count = 2 }]
link = [{ name = "wire", between = ["server", "ap"], delay = "10ms", forward = { rate = "16Mbps" }, reverse = { rate = "1Mbps" } }]
cell = [{ name = "air", wifi = "fast-wifi", access_point = { node = "ap" }, station = [{ node = "phone0" }, { node = "phone1", distance = "9m" }] }]
flow = [{ from = "server", to = "phone", application = { kind = "bulk", size = "100kB" } }]
"#;

fn error(text: &str, set: &[(&str, &str)]) -> String {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::from_text(text, "general.toml", &set).expect_err("this scenario cannot be").to_string()
}

/// A change of the small network and the line that it gets.
#[test]
fn names_that_cannot_be_get_one_line() {
    let cases = [
        (
            "to = \"phone\"",
            "to = \"fone\"",
            "general.toml:5: flow.0.to: expected a node: server, ap, phone0, phone1, got \"fone\"",
        ),
        (
            "node = \"ap\" }",
            "node = \"phone\" }",
            "general.toml:4: cell.0.access_point.node: expected a single node, got the group \"phone\" of 2",
        ),
        (
            "{ name = \"ap\" }",
            "{ name = \"ap\" }, { name = \"phone0\" }",
            "general.toml:2: node.3.name: expected a name that no other node has, got \"phone0\" twice",
        ),
        (
            "name = \"air\"",
            "name = \"wire\"",
            "general.toml:4: cell.0.name: expected a name that no other link or cell has, got \"wire\" twice",
        ),
        (
            "name = \"air\"",
            "name = \"a.b\"",
            "general.toml:4: cell.0.name: expected a name of letters, digits, \"-\" and \"_\" that is not a number, got \"a.b\"",
        ),
        (
            "node = \"ap\" }",
            "node = \"ap\", radio = \"shared\" }",
            "general.toml:4: cell.0.access_point.radio: expected a node that is a station of an earlier cell on the same channel, got \"shared\" at \"ap\", which is no station there",
        ),
        (
            "node = \"phone1\"",
            "node = \"phone0\"",
            "general.toml:4: cell.0.station.1.node: expected each node once in a cell, got \"phone0\" twice",
        ),
        (
            "[\"server\", \"ap\"]",
            "[\"server\"]",
            "general.toml:3: link.0.between: expected the names of two nodes, got 1 names",
        ),
        (
            ", reverse = { rate = \"1Mbps\" }",
            "",
            "general.toml:3: link.0.reverse: expected a table such as { rate = \"16Mbps\" }, got nothing",
        ),
        (
            "delay = \"10ms\",",
            "delay = \"10ms\", rate = \"1Mbps\",",
            "general.toml:3: link.0.rate: no effect with kind \"wire\"; hint: it belongs to \"point-to-point\", or forward and reverse",
        ),
        (
            "from = \"server\",",
            "direction = \"down\", from = \"server\",",
            "general.toml:5: flow.0.direction: not with from and to: either says where the flow goes",
        ),
        (
            "from = \"server\", to = \"phone\"",
            "direction = \"down\"",
            "general.toml:5: flow.0.from: expected the name of a node, as the general form has it, got nothing",
        ),
        (
            "to = \"phone\"",
            "to = \"phone\", transport = \"split\"",
            "general.toml:5: flow.0.transport: not with this path: \"split\" needs a gateway between its ends: node.program",
        ),
        (
            "node = \"phone0\"",
            "node = \"phone0\", count = 2",
            "general.toml:4: cell.0.station.0.count: no effect with a [[cell]]; hint: it belongs to the [[node]]",
        ),
        (
            "wifi = \"fast-wifi\"",
            "wifi = \"faster\"",
            "general.toml:4: cell.0.wifi: expected fast-wifi, slow-wifi, wifi4, wifi5, wifi6 or a table, got \"faster\"",
        ),
        (
            "node = \"phone0\"",
            "node = \"phone0\", receive_dtims = true",
            "general.toml:4: cell.0.station.0.receive_dtims: no effect with stations that receive every beacon; hint: it belongs to a station.listen_interval above 1",
        ),
        (
            "node = [",
            "ap = { uapsd = false }\nnode = [",
            "general.toml:2: ap.uapsd: no effect with the general form; hint: it belongs to the short form, with [wifi] or [link]",
        ),
        (
            "access_point = { node = \"ap\" }",
            "mode = \"ad-hoc\"",
            "general.toml:5: flow.0.to: expected one path from \"server\" to \"phone0\", got none; hint: give node \"server\" route = [{ to = \"phone0\", via = NEIGHBOUR }], or forward = true to nodes between",
        ),
        (
            "{ name = \"server\" }",
            "{ name = \"server\", route = [{ to = \"phone\", via = \"phone0\" }] }",
            "general.toml:2: node.0.route.0.via: expected a neighbour of \"server\": ap, got \"phone0\"",
        ),
    ];
    assert!(!read(SMALL).is_short());
    for (from, to, expected) in cases {
        assert!(SMALL.contains(from), "{from}");
        assert_eq!(error(&SMALL.replacen(from, to, 1), &[]), expected, "{to}");
    }
}

#[test]
fn two_equal_paths_ask_for_a_route() {
    let wire = |name: &str, one: &str, other: &str| {
        format!(
            "{{ name = \"{name}\", between = [\"{one}\", \"{other}\"], delay = \"1ms\", forward = {{ rate = \"1Mbps\" }}, reverse = {{ rate = \"1Mbps\" }} }}"
        )
    };
    let square = |routes: [&str; 2]| {
        let links = [wire("ab", "a", "b"), wire("ac", "a", "c"), wire("bd", "b", "d"), wire("cd", "c", "d")];
        format!(
            "node = [{{ name = \"a\"{} }}, {{ name = \"b\" }}, {{ name = \"c\" }}, {{ name = \"d\"{} }}]\nlink = [{}]\nflow = [{{ from = \"a\", to = \"d\", application = {{ kind = \"bulk\", size = \"10kB\" }} }}]",
            routes[0],
            routes[1],
            links.join(", ")
        )
    };
    let [there, back] =
        [", route = [{ to = \"d\", via = \"c\" }]", ", route = [{ to = \"a\", via = \"b\" }]"];
    assert_eq!(
        error(&square(["", ""]), &[]),
        "general.toml:3: flow.0.to: expected one path from \"a\" to \"d\", got 2 of equal length at \"a\", by \"b\" and \"c\"; hint: give node \"a\" route = [{ to = \"d\", via = \"b\" }]"
    );
    let line = error(&square([there, ""]), &[]);
    assert!(
        line.contains("flow.0.from: expected one path from \"d\" to \"a\", got 2 of equal length"),
        "{line}"
    );
    let result = simulate(&read(&square([there, back])), 1).result;
    assert_eq!(result.flows[0].bytes_delivered, 10_000);
    let packets = |name: &str| {
        let link = result.links.iter().find(|link| link.name == name).unwrap();
        (link.forward.packets > 0, link.reverse.packets > 0)
    };
    // Data by c, acknowledgements by b.
    assert_eq!((packets("ac"), packets("cd")), ((true, false), (true, false)));
    assert_eq!((packets("ab"), packets("bd")), ((false, true), (false, true)));
}

#[test]
fn overrides_name_tables_or_number_them_or_mean_all() {
    let set = |key: &str, value: &str| {
        Scenario::from_text(SMALL, "general.toml", &[(key.to_owned(), value.to_owned())])
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let delay = |scenario: &Scenario| scenario.links()[0].delay.to_string();
    assert_eq!(delay(&set("link.wire.delay", "3ms")), "3ms");
    assert_eq!(delay(&set("link.0.delay", "4ms")), "4ms");
    assert_eq!(delay(&set("link.delay", "5ms")), "5ms");
    let distances = |scenario: &Scenario| {
        scenario.cell[0].station.iter().map(|group| group.distance.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(distances(&set("cell.air.station.phone1.distance", "20m")), ["4m", "20m"]);
    assert_eq!(distances(&set("cell.station.distance", "20m")), ["20m", "20m"]);
    let policies = |scenario: &Scenario| {
        scenario.cell[0].station.iter().map(|group| group.power_save.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(policies(&set("policy", "psm")), ["psm", "psm"]);
    assert_eq!(policies(&set("cell.air.station.phone0.power_save.policy", "psm")), ["psm", "active"]);
    assert_eq!(set("transport", "cubic").flow[0].transport.name(), "cubic");
    // Of a number, which a text may look like, the text is kept as it was written.
    for (key, text) in [("cell.air.channel", "6"), ("cell.channel", "0x10"), ("cell.0.channel", "1.0")] {
        assert_eq!(set(key, text).cell[0].channel.as_deref(), Some(text), "{key}");
    }
    assert_eq!(
        error(SMALL, &[("cell.air.channel", "[6]")]),
        "--set cell.air.channel=[6]: expected text, got a list"
    );
    assert_eq!(
        error(SMALL, &[("link.wire.delay", "1h")]),
        "--set link.wire.delay=1h: expected 0s to 100s, got 1h"
    );
    assert_eq!(
        error(SMALL, &[("policy", "psm"), ("cell.air.access_point.uapsd", "false")]),
        "--policy psm: expected a policy without U-APSD, which this access point lacks (ap.uapsd), got \"psm\""
    );
    assert_eq!(
        error(SMALL, &[("cell.air.access_point.dtim_period", "3")]),
        "--set cell.air.access_point.dtim_period=3: no effect with a listen interval that counts beacons; hint: it belongs to station.listen_interval \"dtim\" or station.receive_dtims"
    );
}

/// Tables in a short file are counted as the file has them, and may use the names of its expansion.
#[test]
fn appended_tables_keep_the_numbers_of_their_file() {
    let text = "base = \"fast-dsl\"\nnode = [{ name = \"station0\" }]";
    let line = error(text, &[]);
    assert_eq!(
        line,
        "general.toml:2: node.0.name: expected a name that no other node has, got \"station0\" twice"
    );
    let line = error("base = \"two-hops\"\n", &[("policy", "psm")]);
    assert!(line.contains("cell.0.access_point.radio: expected power_save policy \"active\", since an access point's radio does not sleep, got \"psm\" of station \"station0\""), "{line}");
    let line = error("base = \"two-hops\"\n", &[("cell.extension.wifi.data_rate", "65Mbps")]);
    assert_eq!(
        line,
        "--set cell.extension.wifi.data_rate=65Mbps: expected 130Mbps, as in cell \"air\" on the same channel, got 65Mbps"
    );
}

#[test]
fn radio_files_lie_beside_the_scenario() {
    let folder = std::env::temp_dir().join(format!("airwatt-topology-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("radios")).unwrap();
    let radio =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../radios/ar5004.toml")).unwrap();
    std::fs::write(folder.join("radios/mine.toml"), radio).unwrap();
    std::fs::write(
        folder.join("base.toml"),
        "base = \"fast-dsl\"\nstation = [{ radio = \"radios/mine.toml\" }]\n",
    )
    .unwrap();
    std::fs::write(folder.join("mine.toml"), "base = \"base.toml\"\n").unwrap();
    std::fs::write(
        folder.join("general.toml"),
        SMALL.replacen("node = \"phone0\"", "node = \"phone0\", radio = \"radios/mine.toml\"", 1),
    )
    .unwrap();
    for file in ["mine.toml", "base.toml", "general.toml"] {
        let scenario = scenario(folder.join(file).to_str().unwrap(), &[]);
        assert_eq!(simulate(&scenario, 1).result.stations[0].radio, "ar5004", "{file}");
        // What is printed runs from anywhere.
        assert_eq!(simulate(&read(&scenario.to_toml()), 1).result.stations[0].radio, "ar5004", "{file}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Further wireless interfaces of a node have streams of their own, and the first keep theirs.
#[test]
fn several_cells_share_no_random_numbers() {
    let alone = simulate(&scenario("fast-dsl", &[("flow.application.size", "1MB")]), 1);
    let beside = "base = \"fast-dsl\"
        node = [{ name = \"ap2\" }, { name = \"other\" }]
        cell = [{ name = \"beside\", wifi = \"fast-wifi\", access_point = { node = \"ap2\" }, station = [{ node = \"other\" }, { node = \"station0\" }] }]
        flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { from = \"ap2\", to = \"other\", application = { kind = \"bulk\", size = \"900kB\" } }]";
    let both = simulate(&read(beside), 1).result;
    assert_eq!(both.flows[0].completed_s, alone.result.flows[0].completed_s);
    let names: Vec<_> =
        both.stations.iter().map(|station| (station.name.as_str(), station.cell.as_str())).collect();
    assert_eq!(names, [("station0/air", "air"), ("other", "beside"), ("station0/beside", "beside")]);
    assert_eq!(
        (both.flows[1].station, both.flows[1].from.as_str(), both.flows[1].to.as_str()),
        (Some(1), "ap2", "other")
    );
    // Equal cells with equal traffic would do the same at the same times with equal numbers.
    let [one, other] = [0, 1].map(|cell| both.cells[cell].air.frames);
    assert_ne!(one, other);
}

/// Node c delays, and loses data towards d alone: the round trip grows by the delay both ways, the loss is that of the settings,
/// acknowledgements are not touched, and an outage stops everything.
#[test]
fn a_node_impairs_what_it_forwards() {
    let run = |set: &[(&str, &str)]| simulate(&scenario("four-in-a-row", set), 1).result;
    let small = [("flow.application.size", "500kB"), ("tcp.receive_window", "2packets")];
    let plain = run(&small);
    assert!(plain.impairments.is_empty());
    let delayed =
        run(&[small[0], small[1], ("node.c.program", r#"[{ kind = "impairment", delay = "35ms" }]"#)]);
    let longer = delayed.flows[0].rtt_s_mean.unwrap() - plain.flows[0].rtt_s_mean.unwrap();
    // 35 ms each way, to ticks of 1 ms, less some contention.
    assert!((0.067..0.073).contains(&longer), "{longer} s");
    let impaired = ("node.c.program", r#"[{ kind = "impairment" }]"#);
    let lossy =
        [impaired, ("node.c.program.impairment.loss", "0.05"), ("node.c.program.impairment.towards", "d")];
    let lossy = run(&[&small[..], &lossy, &[("duration", "30s")]].concat());
    let counts = &lossy.impairments[0];
    assert_eq!((counts.node.as_str(), counts.lost_in_bursts, counts.queue_drops), ("c", 0, 0));
    assert!((8..35).contains(&counts.lost), "{counts:?}");
    assert_eq!((lossy.flows[0].acks_lost, lossy.flows[0].bytes_delivered), (0, 500_000));
    assert!(lossy.flows[0].segments_retransmitted >= counts.lost);
    let outage = ("node.c.program.impairment.outage", r#"[{ at = "2s", length = "3s" }]"#);
    let cut = run(&[impaired, outage, ("flow.application.size", "5MB"), ("duration", "10s")]);
    assert!(cut.flows[0].timeouts > 0 && cut.impairments[0].lost_in_outages > 0, "{:?}", cut.impairments);
    for (key, start) in [
        ("cell.air.station.tablet.distance", "cell.0.station: expected a name or number ("),
        ("cell.sky.station.distance", "cell: expected a name or number ("),
        ("link.wir.delay", "link: expected a name or number ("),
    ] {
        let line = error(SMALL, &[(key, "3")]);
        assert!(line.starts_with(&format!("--set {key}=3: {start}")), "{line}");
        assert!(line.contains(") or a key (") && line.contains("), got \""), "{line}");
    }
    let line = error(SMALL, &[("node.server.program", r#"[{ kind = "impairment", loss = 0.1 }]"#)]);
    assert!(line.contains(": node.0.program.0: no effect with a node that does not forward"), "{line}");
    let line = error(SMALL, &[("node.server.impairment.loss", "0.1")]);
    assert!(
        line.ends_with("node.0.impairment: renamed; hint: write node.program with kind \"impairment\""),
        "{line}"
    );
}

/// The programs of a node get packets in the order of its list: an impairment before a gateway loses packets of the connections that the
/// gateway splits, and one behind it sees only what the gateway leaves alone.
#[test]
fn programs_of_a_node_stand_in_the_order_of_the_scenario() {
    let run = |list: &str| {
        let text = SMALL
            .replacen("{ name = \"ap\" }", &format!("{{ name = \"ap\", program = [{list}] }}"), 1)
            .replacen("to = \"phone\"", "to = \"phone0\", transport = \"split\"", 1);
        simulate(&read(&text), 1).result
    };
    let (gateway, loss) =
        (r#"{ kind = "gateway" }"#, r#"{ kind = "impairment", loss = 0.1, towards = "phone" }"#);
    let before = run(&format!("{loss}, {gateway}"));
    let behind = run(&format!("{gateway}, {loss}"));
    for result in [&before, &behind] {
        assert_eq!(result.flows[0].bytes_delivered, 100_000);
    }
    // 69 segments, of which the loss takes about a tenth, and the acknowledgements of the gateway are the node's own packets.
    let counts = &before.impairments[0];
    assert!(counts.lost > 0 && counts.forwarded >= 69, "{counts:?}");
    assert_eq!((behind.impairments[0].forwarded, behind.impairments[0].lost), (0, 0));
    // Several of a kind have random numbers of their own.
    let both = run(&format!("{loss}, {loss}, {gateway}"));
    let [first, second] = &both.impairments[..] else {
        panic!("two impairments, got {:?}", both.impairments)
    };
    assert_eq!(first.forwarded, second.forwarded + second.lost);
    assert!(second.lost > 0, "{second:?}");
}

/// A node is the gateway of two cells with a program for each.
#[test]
fn a_node_has_a_gateway_for_each_of_its_cells() {
    let text = r#"
node = [{ name = "server" }, { name = "ap", program = [{ kind = "gateway", cell = "left" }, { kind = "gateway", cell = "right", buffer = "16kB" }] }, { name = "phone", count = 2 }]
link = [{ name = "wire", between = ["server", "ap"], delay = "10ms", forward = { rate = "16Mbps" }, reverse = { rate = "1Mbps" } }]
cell = [{ name = "left", wifi = "fast-wifi", access_point = { node = "ap" }, station = [{ node = "phone0" }] }, { name = "right", wifi = "fast-wifi", access_point = { node = "ap" }, station = [{ node = "phone1" }] }]
flow = [{ from = "server", to = "phone", transport = "split", application = { kind = "bulk", size = "100kB" } }]
"#;
    let scenario = read(text);
    let plan = NetworkPlan::new(&scenario.ready().unwrap(), 1);
    let gateways: Vec<Option<usize>> = plan.flows.iter().map(|flow| flow.gateway).collect();
    assert_eq!(gateways, [Some(0), Some(1)]);
    let buffers: Vec<u64> = plan
        .programs
        .iter()
        .filter_map(|program| match program.kind {
            ProgramKind::Gateway { buffer, .. } => Some(buffer),
            _ => None,
        })
        .collect();
    assert_eq!(buffers, [65_536, 16_000]);
    assert!(simulate(&scenario, 1).result.flows.iter().all(|flow| flow.bytes_delivered == 100_000));
}

/// A tunnel belongs to a node, whatever its cell is called, and its peers are stations there.
#[test]
fn a_node_has_tunnels_to_its_stations() {
    let with = |list: &str| {
        SMALL.replacen("{ name = \"ap\" }", &format!("{{ name = \"ap\", program = [{list}] }}"), 1)
    };
    let tunnel = r#"{ kind = "tunnel", peer = "phone1", settings = { burst = 5 } }"#;
    let renamed = with(tunnel).replace("\"air\"", "\"sky\"");
    let tunnels = simulate(&read(&renamed), 1).result.tunnels;
    assert_eq!(tunnels.len(), 1);
    assert_eq!(tunnels[0].station, 1);
    assert!(tunnels[0].down.packets >= 69 && tunnels[0].up.packets > 0, "{tunnels:?}");
    for (list, expected) in [
        (
            r#"{ kind = "tunnel" }"#,
            "general.toml:2: node.1.program.0.peer: expected the name of a station at the other end, got nothing",
        ),
        (
            r#"{ kind = "tunnel", peer = "server" }"#,
            "general.toml:2: node.1.program.0.peer: expected a station of a cell or link of ap, got \"server\"",
        ),
        (
            r#"{ kind = "tunnel", peer = "phone0" }, { kind = "tunnel", peer = "phone" }"#,
            "general.toml:2: node.1.program.1.peer: expected a name that no other tunnel of this node has, got \"phone0\" twice",
        ),
        (
            r#"{ kind = "tunnel", peer = "phone0", settings = { burst = 65 } }"#,
            "general.toml:2: node.1.program.0.settings.burst: expected 1 to 64, got 65",
        ),
        (
            r#"{ kind = "gateway", cell = "sky" }"#,
            "general.toml:2: node.1.program.0.cell: expected the name of a cell or link, got \"sky\"",
        ),
    ] {
        assert_eq!(error(&with(list), &[]), expected);
    }
    let line = error(&format!("tunnel = {{ burst = 5 }}{SMALL}"), &[]);
    assert_eq!(
        line,
        "general.toml:1: tunnel: no effect with the general form; hint: it belongs to the short form; give a node a program of kind \"tunnel\""
    );
}

/// The hosts of a row are charged for what they send, receive and forward, and for nothing if they have no account. The account
/// changes nothing else.
#[test]
fn hosts_are_charged_for_their_packets() {
    let run = |set: &[(&str, &str)]| simulate(&scenario("four-in-a-row", set), 1).result;
    let small = [("flow.application.size", "500kB"), ("flow.transport", "sack")];
    let plain = run(&small);
    assert!(plain.hosts.is_empty());
    let accounts = [
        ("node.a.host_energy.profile", "laptop-2002"),
        ("node.a.host_energy.sack_block", "10us"),
        ("node.b.host_energy.profile", "laptop-2002"),
        ("node.c.program", r#"[{ kind = "impairment", loss = 0.05 }]"#),
    ];
    let lossless = run(&[&small[..], &accounts[..3]].concat());
    assert_eq!(lossless.flows, plain.flows);
    let lossy = run(&[&small[..], &accounts[..]].concat());
    let [sender, relay] = &lossy.hosts[..] else { panic!("two hosts, got {:?}", lossy.hosts) };
    assert_eq!(
        (sender.node.as_str(), relay.node.as_str(), sender.profile.as_str()),
        ("a", "b", "laptop-2002")
    );
    for host in [sender, relay] {
        let time = &host.time_s;
        let busy = time.protocol + time.interface + time.copy + time.sack + time.timeout;
        assert!((busy + time.idle - lossy.simulated_s).abs() < 1e-3, "{host:?}");
        // 17.26 W idle and 10 W more when busy.
        assert!((host.marginal_energy_j - 10.0 * busy).abs() < 1e-6, "{host:?}");
        assert!((host.idealized_energy_j - 27.260_56 * busy).abs() < 1e-6, "{host:?}");
        assert!((host.energy_j - 17.260_56 * time.idle - host.idealized_energy_j).abs() < 1e-6, "{host:?}");
    }
    // Only the sender copies for an application and reads blocks. Each of its segments takes 191 us at the interface.
    assert!(sender.time_s.copy > 0.0 && relay.time_s.copy == 0.0 && relay.time_s.sack == 0.0);
    let least = lossy.flows[0].segments_sent as f64 * 1_500.0 * 127.5e-9;
    assert!(sender.time_s.interface > least && sender.time_s.interface < 1.1 * least, "{:?}", sender.time_s);
    // What the relay receives it also sends.
    assert!(relay.time_s.interface > 1.9 * least);
    assert!(sender.time_s.sack > 0.0);
    assert!((sender.time_s.timeout - lossy.flows[0].timeouts as f64 * 33e-6).abs() < 1e-9);
    let line = error(SMALL, &[("node.server.host_energy.profile", "abacus")]);
    assert!(
        line.ends_with("profile=abacus: expected laptop-2002, microcontroller, phone, got \"abacus\""),
        "{line}"
    );
}

/// A group of stations has a queue of its own length, whatever the others have: five packets of 1,400 bytes at 6 Mbit/s wait for 10.5 ms.
#[test]
fn each_group_of_stations_has_its_own_buffer() {
    let group = |packets: u32| format!("[[station]]\nbuffer = \"{packets}packets\"\n");
    let flow = |station: u32, rate: &str| {
        format!(
            "[[flow]]\ndirection = \"up\"\nstations = [{station}]\ntransport = \"udp\"\n\
             application = {{ kind = \"cbr\", rate = \"{rate}\", packet = \"1400B\" }}\n"
        )
    };
    let wifi = "duration = \"5s\"\n[wifi]\nstandard = \"802.11g\"\ndata_rate = \"6Mbps\"\n";
    let text = [wifi.to_owned(), group(5), group(500), flow(0, "8Mbps"), flow(1, "100kbps")].concat();
    let latency_s = simulate(&read(&text), 1).result.flows[0].latency_s_mean.expect("it was delivered");
    assert!((0.009..0.012).contains(&latency_s), "{latency_s}");
}
