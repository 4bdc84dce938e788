use std::time::Duration;

use airwatt_linux::event_loop::{EventLoop, Token};

use super::*;

fn parsed(text: &str) -> Result<PeerEndpoint, String> {
    let value = serde_json::Value::String(text.to_owned());
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn addresses_and_names_with_ports_are_endpoints() {
    assert_eq!(parsed("192.0.2.1:4646").unwrap().address(), Some(([192, 0, 2, 1], 4646).into()));
    assert_eq!(parsed("pi.example.net:4646").unwrap().address(), None);
    for text in [
        "192.0.2.1",
        "192.0.2:4646",
        "pi",
        "pi:",
        ":1",
        "pi:0",
        "pi:99999",
        "p i:1",
        "fd00::1:4646",
        "pi/x:1",
    ] {
        assert!(parsed(text).unwrap_err().contains("expected an address and a port"), "{text}");
    }
}

#[test]
fn a_name_is_resolved_at_the_start_and_again() {
    let mut endpoint = parsed("localhost:4646").unwrap();
    endpoint.resolve().unwrap();
    assert!(endpoint.address().unwrap().ip().is_loopback());
    let absent = parsed("absent.invalid:1").unwrap().resolve().unwrap_err().to_string();
    assert!(absent.starts_with("endpoint: absent.invalid:1: "), "{absent}");

    let mut events = EventLoop::new().unwrap();
    let mut resolver = Resolver::new(events.waker(Token(0)).unwrap(), false);
    // An address is not looked up, and a name once at a time.
    resolver.ask(Some(&parsed("192.0.2.1:4646").unwrap()));
    assert!(resolver.asked.is_empty());
    resolver.ask(Some(&endpoint));
    resolver.ask(Some(&endpoint));
    let until = events.now() + airwatt_base::Span::from_secs(10);
    assert!(!events.wait(Some(until)).unwrap().is_empty());
    std::thread::sleep(Duration::from_millis(10));
    let expected: SocketAddr = ([127, 0, 0, 1], 4646).into();
    assert_eq!(resolver.take(), [("localhost:4646".to_owned(), expected)]);
    assert!(resolver.asked.is_empty());
    assert!(endpoint.take("localhost:4646", ([192, 0, 2, 7], 4646).into()));
    assert!(!endpoint.take("other:4646", expected));
}
