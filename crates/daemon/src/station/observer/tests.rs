//! The program in the kernel, on packets that a test makes and between network namespaces. As another user than root they do nothing.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use airwatt_linux::{link, namespace};
use libbpf_rs::ProgramInput;

use super::*;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A packet of a peer with this last byte of its address, behind a link layer of zeros, as the loopback interface has it.
fn received(peer: u8, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 14];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, peer, 10, 0, 0, 1]);
    bytes.extend(transport);
    bytes
}

fn datagram(peer: u8, from: u16, to: u16) -> Vec<u8> {
    let [from, to] = [from, to].map(u16::to_be_bytes);
    received(peer, UDP, &[from, to, [0, 8], [0, 0]].concat())
}

/// A segment of a peer with this time stamp, and with so much data.
fn segment(stamp: u32, bytes: usize) -> Vec<u8> {
    let mut segment = [40_000_u16, 22].map(u16::to_be_bytes).concat();
    segment.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 0xff, 0xff, 0, 0, 0, 0, 1, 1, 8, 10]);
    segment.extend(stamp.to_be_bytes());
    segment.extend(vec![0; 4 + bytes]);
    received(9, TCP, &segment)
}

/// The program in the kernel; none without the privilege to load it.
fn loaded() -> Option<Observer> {
    let observer = airwatt_linux::user::is_root().then(|| Observer::load(Clock::start()).ok())??;
    let orders = Orders { pause: Span::from_secs(2), armed: false, booked: Booked::With, saves: true };
    observer.arm(orders).expect("the map is there");
    Some(observer)
}

fn take(observer: &mut Observer, packet: &[u8]) {
    let program = observer.object.progs_mut().next().expect("the object has a program");
    let input = ProgramInput { data_in: Some(packet), ..ProgramInput::default() };
    assert_eq!(program.test_run(input).expect("it runs").return_value, 0, "no packet is accepted");
}

/// The packets of each peer.
fn counted(observer: &mut Observer) -> Vec<u64> {
    let mut counts: Vec<u64> =
        observer.read().expect("the map is there").iter().map(|sample| sample.received.packets).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn a_peer_is_known_again_whatever_connection_it_opens() {
    let Some(mut observer) = loaded() else { return };
    // Questions of one peer to one service, each from another port, and its pings.
    (0..7).for_each(|question| take(&mut observer, &datagram(9, 1_000 + question, 161)));
    (0..3).for_each(|ping| take(&mut observer, &received(9, ICMP, &[8, 0, 0, 0, 0, ping, 0, 1])));
    // Another service, another peer.
    (0..2).for_each(|question| take(&mut observer, &datagram(9, 2_000 + question, 22)));
    take(&mut observer, &datagram(8, 1_000, 161));
    assert_eq!(counted(&mut observer), [1, 2, 3, 7]);
    // On a busy machine there was a pause between two of these, too.
    observer.events().expect("the buffer is there");
    thread::sleep(Duration::from_millis(20));
    take(&mut observer, &datagram(9, 3_000, 161));
    let events = observer.events().expect("the buffer is there");
    let [Event::Arrival(arrival, true)] = events[..] else { panic!("{events:?}") };
    let sample = observer.read().expect("the map is there")[0];
    assert_eq!(arrival.peer, sample.peer, "a new connection is an arrival of the peer that is known");
    assert!(arrival.pause >= Span::from_millis(20) && !arrival.has_sent);
}

/// On the loopback interface of a namespace of its own, since the kernel runs the program on received packets alone.
#[test]
fn an_arrival_says_whether_this_host_has_sent_more_than_acknowledgements_since_the_last() {
    const LOOPBACK: u32 = 1;
    let exchange = || {
        let mut observer = loaded()?;
        link::set_up(LOOPBACK, true).expect("it is there");
        observer.attach(LOOPBACK).expect("it is there");
        let bind = |address| UdpSocket::bind(address).expect("it is free");
        let (own, peer) = (bind("127.0.0.1:161"), bind("127.0.0.2:5000"));
        let send = |from: &UdpSocket, to: &UdpSocket, bytes| {
            let to = to.local_addr().expect("it is bound");
            from.send_to(&[0; 100][..bytes], to).expect("it is sent");
        };
        let receive = |bytes| {
            thread::sleep(Duration::from_millis(10));
            send(&peer, &own, bytes);
        };
        receive(100);
        receive(100);
        send(&own, &peer, 100);
        receive(100);
        receive(100);
        // What is as short as an acknowledgement changes nothing, whoever sends it.
        send(&own, &peer, 10);
        receive(100);
        send(&own, &peer, 100);
        receive(10);
        receive(100);
        observer.events().ok()
    };
    let Ok(Some(events)) = namespace::isolated(exchange) else { return };
    let arrivals: Vec<ArrivalAfterPause> = events
        .iter()
        .filter_map(|event| if let Event::Arrival(arrival, _) = event { Some(*arrival) } else { None })
        .collect();
    // Of the peer's own end there are arrivals too.
    let of_peer = arrivals.iter().filter(|arrival| arrival.peer == arrivals[0].peer);
    let has_sent: Vec<bool> = of_peer.map(|arrival| arrival.has_sent).collect();
    assert_eq!(has_sent, [false, true, false, false, true, true]);
}

/// A peer's packet has a stamp that is 100 ms older than those of packets that took as long as they usually do. Nothing is said of
/// the first seconds, in which its stamps might count something else than milliseconds.
#[test]
fn the_wait_of_a_peer_is_how_much_longer_its_packet_took() {
    let Some(mut observer) = loaded() else { return };
    let clock = Clock::start();
    let stamp = || 1_000 + (clock.now().as_nanos() / 1_000_000) as u32;
    let rest = |ms| thread::sleep(Duration::from_millis(ms));
    for _ in 0..2 {
        take(&mut observer, &segment(stamp() - 100, 36));
        take(&mut observer, &segment(stamp(), 0));
        rest(350);
    }
    assert_eq!(observer.histograms().expect("the map is there").waits, [[0; BUCKETS]; PERIODS]);
    rest(4_000);
    take(&mut observer, &segment(stamp() - 100, 36));
    take(&mut observer, &segment(stamp(), 0));
    rest(350);
    // A keep-alive asks for nothing.
    take(&mut observer, &segment(stamp() - 100, 0));
    let waits = observer.histograms().expect("the map is there").waits[1];
    let timed: Vec<f64> = (0..BUCKETS).filter(|index| waits[*index] > 0).map(bucket_end_s).collect();
    assert!(matches!(timed[..], [wait] if (0.1..0.3).contains(&wait)), "{timed:?}");
    // The first packet of all is known as soon as its clock is.
    assert_eq!((waits.iter().sum::<u64>(), observer.totals().expect("it is there").unasked), (2, [0, 3, 0]));
    // A clock that does not count milliseconds is none.
    for step in 0..3 {
        take(&mut observer, &segment(5_000_000 * step, 36));
        take(&mut observer, &segment(5_000_000 * step + 2_500_000, 0));
        rest(350);
    }
    assert_eq!(observer.histograms().expect("the map is there").waits[1], waits);
}

/// What ping sends: the time in seconds and microseconds, as 64 or 32 bits of an ordinary processor, or in network order.
fn ping(peer: u8, form: usize, stamp: u64) -> Vec<u8> {
    let (seconds, micros) = (1_790_000_000 + stamp / 1_000, stamp % 1_000 * 1_000);
    let halves = [seconds as u32, micros as u32];
    let time = match form {
        0 => [seconds.to_le_bytes(), micros.to_le_bytes()].concat(),
        1 => halves.map(u32::to_le_bytes).concat(),
        _ => halves.map(u32::to_be_bytes).concat(),
    };
    let rest = (16..56_u8).collect::<Vec<u8>>();
    received(peer, ICMP, &[vec![8, 0, 0, 0, 0, 1, 0, 1], time, rest].concat())
}

#[test]
fn the_wait_of_a_ping_is_known_by_the_time_that_it_carries() {
    let Some(mut observer) = loaded() else { return };
    let clock = Clock::start();
    let now = || 50_000 + clock.now().as_nanos() / 1_000_000;
    for number in 0..12 {
        thread::sleep(Duration::from_millis(400));
        for form in 0..3 {
            // The first and the last but one have waited for 100 ms.
            let waited = if [0, 11].contains(&number) { 100 } else { 0 };
            take(&mut observer, &ping(10 + form as u8, form, now() - waited));
        }
        // One that says no time.
        take(&mut observer, &received(20, ICMP, &[vec![8, 0, 0, 0, 0, 1, 0, 1], vec![b'x'; 32]].concat()));
    }
    thread::sleep(Duration::from_millis(400));
    (0..3).for_each(|form| take(&mut observer, &ping(10 + form as u8, form, now())));
    let waits = observer.histograms().expect("the map is there").waits[Booked::With as usize];
    let late: u64 = (0..BUCKETS).filter(|index| bucket_end_s(*index) >= 0.1).map(|index| waits[index]).sum();
    let known: u64 = waits.iter().sum();
    assert_eq!(late, 6, "{waits:?}");
    assert!((6..=15).contains(&known), "two that waited and one or two others of each form: {known}");
}

/// A second network namespace, which ends with the test.
struct PeerHost(String);

impl PeerHost {
    const OWN: &str = "10.9.0.1";
    const PEER: &str = "10.9.0.2";

    /// Connects it with the namespace of this thread. Returns it with the index of this namespace's interface.
    fn connect() -> (Self, u32) {
        let name = format!("aw-observer-{}", std::process::id());
        let run = |words: &str| {
            let done = Command::new("sh").args(["-ec", words]).status().expect("there is a shell");
            assert!(done.success(), "{words}");
        };
        run(&format!("ip netns add {name}"));
        let host = Self(name);
        let (name, own, peer) = (&host.0, Self::OWN, Self::PEER);
        // IPv6 has packets of its own, which would wake the radio.
        run(&format!(
            "ip link add own index 77 type veth peer name peer netns {name}
             echo 1 >/proc/sys/net/ipv6/conf/own/disable_ipv6
             ip address add {own}/24 dev own && ip link set own up
             ip -n {name} address add {peer}/24 dev peer && ip -n {name} link set peer up"
        ));
        (host, 77)
    }

    fn path(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.0)
    }
}

impl Drop for PeerHost {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// Answers each datagram after 60 ms, and accepts connections.
fn answer_late(host: &PeerHost) {
    let socket = namespace::within(&host.path(), || {
        let listener = TcpListener::bind((PeerHost::PEER, 80)).expect("it is free");
        thread::spawn(move || listener.incoming().flatten().take(2).for_each(drop));
        UdpSocket::bind((PeerHost::PEER, 53)).expect("it is free")
    });
    let socket = socket.expect("it is there");
    thread::spawn(move || {
        let mut bytes = [0; 100];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            if length == 1 {
                return;
            }
            thread::sleep(Duration::from_millis(60));
            let _ = socket.send_to(&bytes[..length], from);
        }
    });
}

fn query(repeated: bool) {
    let socket = UdpSocket::bind((PeerHost::OWN, 0)).expect("it is free");
    let send = || socket.send_to(&[0; 40], (PeerHost::PEER, 53)).expect("it is sent");
    send();
    if repeated {
        thread::sleep(Duration::from_millis(20));
        send();
    }
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("it is no zero");
    socket.recv(&mut [0; 100]).expect("there is an answer");
}

/// An echo request of this host, until its reply is there. Hosts need not have ping.
fn echo() {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
    let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).expect("root may");
    let peer = std::net::SocketAddrV4::new(PeerHost::PEER.parse().expect("an address"), 0);
    let (identifier, number) = (7_u16, 1_u16);
    let sum = !(0x0800 + identifier + number);
    let request = [0x0800, sum, identifier, number].map(u16::to_be_bytes).concat();
    sendto(&raw, &request, SendFlags::empty(), &peer).expect("it is sent");
    recv(&raw, &mut [0; 100], RecvFlags::empty()).expect("it is answered");
}

#[test]
fn requests_are_timed_by_their_kind_and_by_whether_the_radio_was_asleep() {
    let asked = || {
        let mut observer = loaded()?;
        let (host, index) = PeerHost::connect();
        observer.attach(index).expect("it is there");
        answer_late(&host);
        let rest = || thread::sleep(Duration::from_millis(400));
        let connect = || drop(TcpStream::connect((PeerHost::PEER, 80)).expect("it listens"));
        query(false);
        query(false);
        rest();
        query(false);
        // What is repeated is not timed, and a question of the peer is none of this host.
        query(true);
        let own = UdpSocket::bind((PeerHost::OWN, 161)).expect("it is free");
        let peer = namespace::within(&host.path(), || UdpSocket::bind((PeerHost::PEER, 5_000)));
        let peer = peer.expect("it is there").expect("it is free");
        for _ in 0..2 {
            rest();
            peer.send_to(&[0; 40], (PeerHost::OWN, 161)).expect("it is sent");
            own.recv(&mut [0; 100]).expect("it comes");
            own.send_to(&[0; 40], (PeerHost::PEER, 5_000)).expect("it is sent");
        }
        rest();
        echo();
        connect();
        rest();
        connect();
        peer.send_to(&[0], (PeerHost::PEER, 53)).expect("the server ends");
        Some(observer.histograms().expect("the maps are there").requests)
    };
    let Ok(Some(requests)) = namespace::isolated(asked) else { return };
    let number =
        |kind: Request| requests[Booked::With as usize][kind as usize].map(|h| h.iter().sum::<u64>());
    // The first packet of all follows no silence that is known.
    assert_eq!(Request::ALL.map(number), [[2, 1], [0, 1], [1, 1]]);
    let udp = requests[Booked::With as usize][Request::Udp as usize];
    let shortest = (0..BUCKETS).find(|index| udp[0][*index] + udp[1][*index] > 0).map(bucket_end_s);
    assert!(shortest.is_some_and(|end| (0.06..0.5).contains(&end)), "{shortest:?}");
    assert_eq!(requests[Booked::Before as usize], [[[0; BUCKETS]; 2]; REQUESTS]);
}

#[test]
fn buckets_follow_each_other_by_a_quarter_of_an_octave() {
    assert!((bucket_end_s(0) - 64e-6).abs() < 1e-12);
    assert!((bucket_end_s(1) - 80e-6).abs() < 1e-12);
    assert!((bucket_end_s(4) - 128e-6).abs() < 1e-12);
    for index in 1..BUCKETS {
        let ratio = bucket_end_s(index) / bucket_end_s(index - 1);
        assert!((1.14..=1.26).contains(&ratio), "{index}: {ratio}");
    }
}
