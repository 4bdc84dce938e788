use std::net::IpAddr;

use airwatt_proto::session::PublicKey;

use super::*;

const CLIENT: &str = r#"
interface = "airwatt0"
addresses = ["10.77.0.2/24", "fd77::2/64"]
end = "client"
tunnel = { plain = true, delay_budget = "10ms" }
[[peer]]
name = "access-point"
endpoint = "192.168.1.1:4646"
allowed_ips = ["10.77.0.0/24", "fd77::/64"]
"#;

#[test]
fn a_configuration_is_read_with_its_defaults() {
    let config = Config::parse(CLIENT).unwrap();
    assert_eq!((config.end, config.mtu(), config.forward), (End::Client, 1_468, false));
    assert_eq!(config.sessions().listen().to_string(), "0.0.0.0:0");
    let shown: Vec<String> = config.peer[0].allowed_ips.iter().map(Prefix::to_string).collect();
    assert_eq!(shown, ["10.77.0.0/24", "fd77::/64"]);
}

#[test]
fn what_is_wrong_is_one_line_with_its_key() {
    let cases = [
        ("end = \"client\"", "end = \"both\"", "end: unknown variant `both`"),
        ("\"airwatt0\"", "\"a.name.that.is.too.long\"", "interface: expected a name of 1 to 15 letters"),
        ("\"airwatt0\"", "\"\\u001b[2J\"", "interface: expected a name of 1 to 15 letters"),
        ("\"airwatt0\"", "\"aw%d\"", "interface: expected a name of 1 to 15 letters"),
        ("10.77.0.2/24", "10.77.0.2/33", "addresses.0: expected a prefix as 10.77.0.2/24"),
        ("endpoint = \"192.168.1.1:4646\"\n", "", "peer.0.endpoint: expected the address and port"),
        ("192.168.1.1:4646", "192.168.1.1", "peer.0.endpoint: expected an address and a port as"),
        ("192.168.1.1:4646", "203.0.113.1:4646", "tunnel.plain: expected private or loopback addresses"),
        ("192.168.1.1:4646", "10.77.0.1:4646", "peer.0.allowed_ips: expected prefixes without the endpoint"),
        (
            "\"10.77.0.0/24\"",
            "\"192.168.1.0/30\"",
            "peer.0.allowed_ips: expected prefixes without the endpoint 192.168.1.1:4646, or all destinations (0.0.0.0/0), got 192.168.1.0/30; hint: \"192.168.1.2/31\", \"192.168.1.0/32\"",
        ),
        (
            "[\"10.77.0.0/24\", \"fd77::/64\"]",
            "[]",
            "peer.0.allowed_ips: expected the prefixes that the peer may send from, got none",
        ),
        ("\"10ms\"", "\"10h\"", "tunnel.delay_budget: "),
        ("name = \"access-point\"", "nam = \"x\"", "peer.0.nam: unknown field"),
        (
            "\nallowed_ips = [\"10.77.0.0/24\", \"fd77::/64\"]",
            "",
            "peer.0.allowed_ips: expected the prefixes",
        ),
        ("end = \"client\"", "end = \"concentrator\"", "listen: expected the address and port"),
        ("plain = true, ", "", "private_key: expected the key of this end, got none"),
        ("end = \"client\"", "end = \"client\"\nmtu = 1470", "mtu: expected 1280 to 1468 bytes"),
        (
            "end = \"client\"",
            "end = \"client\"\nprivate_key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"",
            "tunnel.plain: expected no keys",
        ),
        (
            "end = \"client\"",
            "end = \"client\"\nprivate_key = \"AAEC\"",
            "private_key: expected a key of 32 bytes",
        ),
        (
            "interface = ",
            "metrics = \"0.0.0.0:1\"\ninterface = ",
            "metrics: expected unix:PATH or a loopback",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(CLIENT.contains(from), "{from}");
        let failure = Config::parse(&CLIENT.replace(from, to)).unwrap_err().to_string();
        assert!(
            failure.starts_with(expected) && !failure.contains('\n'),
            "{failure:?}, expected {expected:?}"
        );
    }
}

#[test]
fn prefixes_contain_what_begins_alike() {
    let prefix = |text: &str| text.parse::<Prefix>().unwrap();
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    assert!(prefix("10.77.3.9/16").contains(address("10.77.255.1")));
    assert!(!prefix("10.77.3.9/16").contains(address("10.78.0.1")));
    assert!(prefix("0.0.0.0/0").contains(address("198.51.100.1")));
    assert!(!prefix("0.0.0.0/0").contains(address("::1")));
    assert!(
        prefix("192.0.2.1").contains(address("192.0.2.1"))
            && !prefix("192.0.2.1").contains(address("192.0.2.0"))
    );
    assert!(prefix("::/0").contains(address("2001:db8::1")));
    assert_eq!(prefix("10.77.3.9/16").network(), prefix("10.77.0.0/16"));
    assert_eq!(prefix("10.77.3.9/0").network(), prefix("0.0.0.0/0"));
    assert_eq!(prefix("fd00::1/0").network(), prefix("::/0"));
    assert_eq!(prefix("fd00::1/128").network(), prefix("fd00::1/128"));
}

#[test]
fn keys_are_needed_and_none_may_be_there_twice() {
    let own = SecretKey::from_bytes([1; 32]);
    let other = SecretKey::from_bytes([2; 32]).public();
    let encrypted = CLIENT
        .replace("plain = true, ", "")
        .replace("[[peer]]", &format!("[[peer]]\npublic_key = \"{other}\""))
        .replace("end =", &format!("private_key = \"{}\"\nend =", own.to_text()));
    let config = Config::parse(&encrypted).unwrap();
    assert_eq!((config.mtu(), config.fwmark, config.bundle_bytes()), (1_436, 4_646, 1_436));
    assert_eq!(config.sessions().session_peers()[0].public_key, other);
    let failure = |text: &str| Config::parse(text).unwrap_err().to_string();
    let key_of = |key: PublicKey| encrypted.replace(&other.to_string(), &key.to_string());
    assert!(
        failure(&key_of(own.public()))
            .starts_with("peer.0.public_key: expected the key of the peer, got that of")
    );
    let without = encrypted.replace(&format!("public_key = \"{other}\""), "");
    assert!(failure(&without).starts_with("peer.0.public_key: expected the key of the peer, got none"));
    // Any address is allowed, and all destinations beside the endpoint's.
    let everything = encrypted.replace("192.168.1.1", "203.0.113.1").replace("10.77.0.0/24", "0.0.0.0/0");
    assert_eq!(Config::parse(&everything).unwrap().default_routes(), [false]);
    let twice = encrypted.replace("end = \"client\"", "end = \"concentrator\"\nlisten = \"0.0.0.0:1\"")
        + &format!("[[peer]]\nname = \"b\"\npublic_key = \"{other}\"\nallowed_ips = [\"10.99.0.0/16\"]\n");
    assert!(failure(&twice).starts_with("peer.1.public_key: expected each key once"));
    let prefix = twice.replace(
        &format!("{other}\"\nallowed_ips = [\"10.99.0.0/16\"]"),
        &format!("{}\"\nallowed_ips = [\"10.77.0.9/24\"]", own.public()),
    );
    let prefix = prefix.replace(&own.to_text(), &SecretKey::from_bytes([5; 32]).to_text());
    assert!(
        failure(&prefix)
            .starts_with("peer.1.allowed_ips: expected each prefix at one peer, got 10.77.0.0/24")
    );
}

#[test]
fn the_examples_are_configurations() {
    for (text, end) in [
        (super::super::example::CLIENT, End::Client),
        (super::super::example::CONCENTRATOR, End::Concentrator),
    ] {
        let (one, two) = (SecretKey::from_bytes([1; 32]), SecretKey::from_bytes([2; 32]));
        let mut filled = text.to_owned();
        for name in ["CLIENT", "CONCENTRATOR"] {
            let key = if name == "CLIENT" { &one } else { &two };
            filled = filled
                .replace(&format!("\"{name}_PRIVATE_KEY\""), &format!("\"{}\"", key.to_text()))
                .replace(&format!("\"{name}_PUBLIC_KEY\""), &format!("\"{}\"", key.public()));
        }
        let config = Config::parse(&filled).unwrap();
        assert_eq!(config.end, end);
        // What costs a saturating transfer no energy in either direction (docs/tunnel.md).
        assert_eq!(config.tunnel.delay_budget, Some(airwatt_base::Span::from_millis(10)));
        assert!(config.tunnel.thin_acks);
        assert!(Config::parse(text).unwrap_err().to_string().contains("_key: expected a key of 32 bytes"));
    }
}
