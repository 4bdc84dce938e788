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
    assert_eq!(config.listen().to_string(), "0.0.0.0:0");
    let shown: Vec<String> = config.peer[0].allowed_ips.iter().map(Prefix::to_string).collect();
    assert_eq!(shown, ["10.77.0.0/24", "fd77::/64"]);
}

#[test]
fn what_is_wrong_is_one_line_with_its_key() {
    let cases = [
        ("end = \"client\"", "end = \"both\"", "end: unknown variant `both`"),
        ("\"airwatt0\"", "\"a.name.that.is.too.long\"", "interface: expected a name of 1 to 15 bytes"),
        ("10.77.0.2/24", "10.77.0.2/33", "addresses[0]: expected a prefix as 10.77.0.2/24"),
        ("endpoint = \"192.168.1.1:4646\"\n", "", "peer.0.endpoint: expected the address and port"),
        ("192.168.1.1:4646", "203.0.113.1:4646", "tunnel.plain: expected private or loopback addresses"),
        ("192.168.1.1:4646", "10.77.0.1:4646", "peer.0.allowed_ips: expected prefixes without the endpoint"),
        ("\"10ms\"", "\"10h\"", "tunnel.delay_budget: "),
        ("name = \"access-point\"", "nam = \"x\"", "peer[0].nam: unknown field"),
        ("end = \"client\"", "end = \"concentrator\"", "listen: expected the address and port"),
        ("plain = true, ", "", "tunnel.plain: encryption is missing"),
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
