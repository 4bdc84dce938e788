use super::*;
use crate::namespace::tests::isolated;

#[test]
fn a_flow_is_a_key_of_words() {
    let v4 = key("10.0.0.1:80".parse().unwrap(), "10.0.0.2:443".parse().unwrap());
    assert_eq!(v4, [10, 0, 0, 1, 0, 80, 0, 0, 10, 0, 0, 2, 1, 187, 0, 0]);
    let (one, two) = ("[::1]:1".parse().unwrap(), "[::2]:2".parse().unwrap());
    assert_eq!(key(one, two).len(), 40);
    assert_eq!(flow_of(&key(one, two)), Some((one, two)));
    assert_eq!(flow_of(&v4), Some(("10.0.0.1:80".parse().unwrap(), "10.0.0.2:443".parse().unwrap())));
    assert_eq!((flow_of(&[]), flow_of(&v4[..9])), (None, None));
}

#[test]
fn a_rule_is_a_list_of_expressions() {
    let mut bytes = Vec::new();
    Term::Opens.encode(&mut bytes);
    let names: Vec<String> = attribute::parse(&bytes)
        .iter()
        .map(|(_, element)| String::from_utf8(attribute::parse(element)[0].1.clone()).unwrap())
        .collect();
    assert_eq!(names, ["payload\0", "bitwise\0", "cmp\0"]);
}

#[test]
fn the_text_is_that_of_nft() {
    let contents = Contents {
        name: "test".to_owned(),
        version: None,
        sets: &["four", "six"],
        flows_timeout: Some(Duration::from_secs(60)),
        address_sets: &["mobiles"],
        chains: vec![Chain {
            name: "arriving",
            hook: Hook::Prerouting,
            priority: -90,
            rules: vec![
                vec![Term::Tcp, Term::Opens, Term::Destination([10, 0, 0, 0].into(), 8), Term::SetMark(7)],
                vec![Term::Family(true), Term::InSet("six", true), Term::Accept],
                vec![Term::AnswersSet("four", false), Term::Accept],
                vec![Term::Tcp, Term::Refuse],
                vec![Term::NoteAnswered("four", false)],
                vec![Term::ForgetFlow("six", true)],
            ],
        }],
    };
    let text = contents.to_string();
    assert!(text.contains("type filter hook prerouting priority -90;"), "{text}");
    assert!(
        text.contains("tcp flags & (fin|syn|rst|ack) == syn ip daddr 10.0.0.0/8 meta mark set 7"),
        "{text}"
    );
    assert!(text.contains("ip daddr . tcp dport . ip saddr . tcp sport @four accept"), "{text}");
    assert!(text.contains("ip6 saddr . tcp sport . ip6 daddr . tcp dport @six accept"), "{text}");
    assert!(text.contains("meta l4proto tcp reject with tcp reset"), "{text}");
    assert!(text.contains("update @four { ip daddr . tcp dport . ip saddr . tcp sport }"), "{text}");
    assert!(text.contains("delete @six { ip6 saddr . tcp sport . ip6 daddr . tcp dport }"), "{text}");
    assert!(text.contains("inet_service; flags dynamic,timeout; timeout 60s; size 65536;"), "{text}");
}

#[test]
fn ten_thousand_flows_come_and_go_at_one_time() {
    isolated(|| {
        let contents = Contents {
            name: "test".to_owned(),
            version: None,
            sets: &["four", "six"],
            flows_timeout: None,
            address_sets: &[],
            chains: Vec::new(),
        };
        let mut table = NftablesTable::create(contents).unwrap();
        let beyond = |is_v6| if is_v6 { "[2001:db8::1]:80" } else { "192.0.2.1:80" }.parse().unwrap();
        let from =
            |is_v6, port| SocketAddr::new(if is_v6 { [0; 16].into() } else { [10, 0, 0, 1].into() }, port);
        let flows: Vec<FourTuple> =
            (0..10_000).map(|port| (from(port % 2 == 0, port), beyond(port % 2 == 0))).collect();
        table.add(&flows).unwrap();
        assert_eq!(table.flows().unwrap().len(), 10_000);
        // Two are not there, as where a rule removed them; the others go all the same.
        table.remove(&[flows[7], flows[5_000]]).unwrap();
        table.remove(&flows[..9_000]).unwrap();
        let mut left = table.flows().unwrap();
        left.sort_unstable();
        let mut rest = flows[9_000..].to_vec();
        rest.sort_unstable();
        assert_eq!(left, rest);
    });
}
