use super::super::example;
use super::*;

const KEY: &str = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
const OTHER: &str = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=";

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text).and_then(|config| config.checked(None)).map_err(|failure| failure.to_string())
}

fn example(text: &str) -> String {
    ["MOBILE_PRIVATE_KEY", "BASE_PRIVATE_KEY"]
        .iter()
        .fold(text.to_owned(), |text, place| text.replace(place, KEY))
        .replace("MOBILE_PUBLIC_KEY", OTHER)
        .replace("BASE_PUBLIC_KEY", OTHER)
}

#[test]
fn the_examples_are_configurations() {
    let mobile = parse(&example(example::MOBILE)).unwrap();
    assert_eq!((mobile.is_base(), super::super::rules::marks(mobile.fwmark)), (false, [4_747, 4_748, 4_749]));
    assert_eq!(mobile.sessions().listen().to_string(), "0.0.0.0:0");
    let proxy = mobile.proxy(0, 0);
    assert_eq!((proxy.buffer, proxy.half_open, proxy.wireless.obeys_peer), (262_144, 4_096, false));
    // A full packet of E2TCP, the session around it, UDP and IPv6 fit into 1,500 bytes.
    assert_eq!(usize::from(proxy.wireless.payload), 1_500 - (40 + 8) - 32 - 26);
    let base = parse(&example(example::BASE)).unwrap();
    assert!(base.is_base() && base.proxy(0, 0).wireless.obeys_peer);
    let commented = |text: &str| {
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| !rest.starts_with(' ')).unwrap_or(line));
        lines.skip(1).collect::<Vec<_>>().join("\n")
    };
    // What is commented out is valid too.
    let whole = commented(&example(example::MOBILE)).replace("cyw43439", "ar5004");
    assert_eq!(parse(&whole).unwrap().gateway, Gateway::default());
    parse(&commented(&example(example::BASE))).unwrap();
    let alone = parse(&commented(example::BASE_ONLY)).unwrap();
    assert_eq!((alone.is_base(), alone.is_alone(), alone.versions()), (true, true, vec![false]));
}

#[test]
fn what_is_wrong_is_one_line_with_its_key() {
    let base = example(example::BASE);
    let mobile = example(example::MOBILE);
    let alone = example::BASE_ONLY.to_owned();
    let key = format!("private_key = \"{KEY}\"\ninterface =");
    let cases = [
        (&base, "mode = \"base\"", "", "mode: expected \"base\", \"mobile\" or \"base-only\", got none"),
        (&base, "mode = \"base\"", "mode = \"both\"", "mode: unknown variant `both`"),
        (&base, "listen = \"0.0.0.0:4747\"", "", "listen: expected the address and port"),
        (&base, "allowed_ips = [\"192.168.1.23/32\"]", "", "peer.0.allowed_ips: expected the mobile's"),
        (&base, "192.168.1.23/32", "192.168.1.23/33", "peer.0.allowed_ips.0: expected a prefix"),
        (
            &base,
            "[[peer]]",
            "[gateway]\nbuffer = \"1kB\"\n[[peer]]",
            "gateway.buffer: expected 4 KiB to 64 MiB",
        ),
        (&base, "[[peer]]", "[gateway]\nhalf_open = 0\n[[peer]]", "gateway.half_open: expected 1 or more"),
        (&base, "learn_window = true", "max_window = 0", "e2tcp.max_window: expected"),
        (&base, "interface = \"airwatt-gw\"", "interface = \"a/b\"", "interface: expected a name of 1 to 15"),
        (&mobile, "endpoint = \"192.168.1.1:4747\"", "", "peer.0.endpoint: expected the address and port"),
        (&mobile, "addresses = [\"192.168.1.23/32\"]", "", "addresses: expected the mobile's own addresses"),
        (&mobile, "mode = \"mobile\"", "mode = \"mobile\"\nplain = true", "plain: expected no keys"),
        (&mobile, "mode = \"mobile\"", "mode = \"mobile\"\nradio = \"x\"", "radio: "),
        (&mobile, "mode = \"mobile\"", "mode = \"mobile\"\nfwmark = 0", "fwmark: expected 1 to"),
        (&alone, "addresses = [\"192.168.1.0/24\"]", "", "addresses: expected the addresses of mobiles"),
        (&alone, "interface =", "listen = \"0.0.0.0:1\"\ninterface =", "listen: expected none with mode"),
        (&alone, "interface =", "plain = true\ninterface =", "plain: expected none with mode"),
        (&alone, "interface =", &key, "private_key: expected none with mode"),
    ];
    for (text, from, to, expected) in cases {
        assert!(text.contains(from), "{from}");
        let error = parse(&text.replace(from, to)).unwrap_err();
        assert!(error.starts_with(expected), "{error} instead of {expected}");
        assert_eq!(error.lines().count(), 1);
    }
    let mode = Config::parse(&base).unwrap().checked(Some(Mode::Mobile)).unwrap_err();
    assert_eq!(mode.to_string(), "--mode: expected the mode of the configuration, got mobile");
}

#[test]
fn plain_is_for_private_addresses() {
    let text = |endpoint: &str| {
        format!(
            "interface = \"gw\"\nmode = \"mobile\"\nplain = true\naddresses = [\"10.0.0.2\"]\n\
             [[peer]]\nname = \"base\"\nendpoint = \"{endpoint}\"\n"
        )
    };
    assert!(parse(&text("10.0.0.1:4747")).is_ok());
    let error = parse(&text("203.0.113.1:4747")).unwrap_err();
    assert!(error.starts_with("plain: expected private or loopback addresses"), "{error}");
}

#[test]
fn a_peer_speaks_for_its_addresses_only() {
    let end = |ip: [u8; 4], port| airwatt_proto::e2tcp::Endpoint { ip: ip.into(), port };
    let from = |ip| Addresses::new(end(ip, 1_000), end([198, 51, 100, 7], 80)).unwrap();
    let base = parse(&example(example::BASE)).unwrap();
    assert!(base.permits(0, from([192, 168, 1, 23])) && !base.permits(0, from([192, 168, 1, 24])));
    assert_eq!(base.peer_of(from([192, 168, 1, 23]).swapped()), Some(0));
    assert_eq!(base.peer_of(from([192, 168, 1, 24]).swapped()), None);
    let mobile = parse(&example(example::MOBILE)).unwrap();
    assert!(mobile.permits(0, from([192, 168, 1, 23]).swapped()));
    let alone = parse(example::BASE_ONLY).unwrap();
    for addresses in [from([192, 168, 1, 23]), from([192, 168, 1, 23]).swapped()] {
        assert_eq!((alone.peer_of(addresses), alone.mobile_of(addresses)), (Some(0), None));
    }
    assert_eq!(alone.peer_of(from([192, 168, 2, 23])), None);
    assert!(
        !mobile.permits(0, from([127, 0, 0, 1]).swapped()),
        "this host's other addresses are not reached"
    );
}

#[test]
fn a_private_key_is_in_one_place() {
    let folder = std::env::temp_dir().join(format!("airwatt-gateway-keys-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("gateway.toml");
    std::fs::write(folder.join("own.key"), KEY).unwrap();
    let read = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let checked = Config::read(&file).and_then(|config| config.checked(None));
        checked.map_err(|failure| failure.to_string().rsplit("gateway.toml: ").next().unwrap().to_owned())
    };
    let mobile = example(example::MOBILE);
    let beside = mobile
        .replace("[[peer]]", "[gateway]\n[[peer]]")
        .replace("interface =", "private_key_file = \"own.key\"\ninterface =");
    assert_eq!(read(&beside).unwrap_err(), "private_key_file: expected none beside private_key");
    let in_file = beside.replace(&format!("private_key = \"{KEY}\""), "");
    assert_eq!(read(&in_file).unwrap().private_key.unwrap().to_text(), KEY);
    let own = in_file.replace(OTHER, &KEY.parse::<SecretKey>().unwrap().public().to_string());
    assert_eq!(
        read(&own).unwrap_err(),
        "peer.0.public_key: expected the key of the peer, got that of this end"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
