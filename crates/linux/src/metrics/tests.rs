use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use super::*;
use crate::event_loop::{EventLoop, Interest, Token};

fn page() -> Page {
    let mut page = Page::default();
    page.counter(
        "airwatt_packets_total",
        "Packets.",
        [(&[("peer", "a\"b"), ("way", "up")][..], 7), (&[], 1 << 60)],
    );
    page.gauge("airwatt_power_watts", "Power.", [(&[][..], 0.5)]);
    page
}

const TEXT: &str = "# HELP airwatt_packets_total Packets.
# TYPE airwatt_packets_total counter
airwatt_packets_total{peer=\"a\\\"b\",way=\"up\"} 7
airwatt_packets_total 1152921504606846976
# HELP airwatt_power_watts Power.
# TYPE airwatt_power_watts gauge
airwatt_power_watts 0.5
";

#[test]
fn the_text_is_that_of_the_format() {
    assert_eq!(page().to_string(), TEXT);
}

/// Sends a request, serves it, and returns the answer.
fn exchange(metrics: &mut Metrics, mut client: impl Read + Write, request: &str) -> String {
    let mut events = EventLoop::new().unwrap();
    events.add(&*metrics, Token(0), Interest::Read).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    // The connection, and its request.
    for _ in 0..2 {
        events.wait(None).unwrap();
        metrics.serve(page).unwrap();
    }
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_scrape_over_loopback_and_over_a_unix_socket() {
    let mut metrics = Metrics::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
    let MetricsAddress::Loopback(at) = *metrics.address() else { panic!("it is a port") };
    let get = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";
    let answer = exchange(&mut metrics, TcpStream::connect(at).unwrap(), get);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(TEXT), "{answer}");
    let answer = exchange(&mut metrics, TcpStream::connect(at).unwrap(), "GET / HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let answer = exchange(&mut metrics, TcpStream::connect(at).unwrap(), "POST /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");

    let folder = std::env::temp_dir().join(format!("airwatt-metrics-{}", std::process::id()));
    let path = folder.join("metrics.sock");
    let mut metrics = Metrics::bind(&format!("unix:{}", path.display()).parse().unwrap()).unwrap();
    let answer = exchange(&mut metrics, UnixStream::connect(&path).unwrap(), get);
    assert!(answer.ends_with(TEXT), "{answer}");
    drop(metrics);
    assert!(!folder.exists(), "it was made for the socket");
    std::fs::create_dir(&folder).unwrap();
    drop(Metrics::bind(&format!("unix:{}", path.display()).parse().unwrap()).unwrap());
    assert!(!path.exists());
    std::fs::remove_dir(&folder).expect("it was there before, and stays");
}

#[test]
fn a_path_is_absolute_and_that_of_a_socket_or_of_nothing() {
    let parse = |text: &str| text.parse::<MetricsAddress>();
    assert!(parse("unix:/nothing/is/here").is_ok());
    for text in ["unix:/etc/passwd", "unix:/etc", "unix:/dev/null"] {
        assert!(parse(text).unwrap_err().ends_with("where another file is"), "{text}");
    }
    for text in ["unix:", "unix:metrics", "unix:./metrics", "unix:/", "unix:/run/.."] {
        assert!(parse(text).unwrap_err().starts_with("expected unix: and an absolute path"), "{text}");
    }
    let path = std::env::temp_dir().join(format!("airwatt-metrics-{}.sock", std::process::id()));
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(parse(&format!("unix:{}", path.display())).is_ok(), "one that was killed may have left it");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn addresses_that_others_reach_are_refused() {
    for text in ["0.0.0.0:9470", "192.0.2.1:9470", "localhost", ""] {
        let error = text.parse::<MetricsAddress>().unwrap_err();
        assert!(error.starts_with("expected unix:PATH or a loopback address"), "{error}");
    }
}
