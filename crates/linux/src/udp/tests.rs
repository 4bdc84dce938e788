use std::collections::BTreeMap;

use super::*;

fn pair() -> (Socket, Socket, SocketAddr) {
    let loopback = "127.0.0.1:0".parse().unwrap();
    let receiver = Socket::bind(loopback, Some(4 << 20)).unwrap();
    let to = receiver.address().unwrap();
    (Socket::bind(loopback, Some(4 << 20)).unwrap(), receiver, to)
}

/// Receives until `count` datagrams have come.
fn receive(socket: &mut Socket, count: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while found.len() < count {
        let fds = &mut [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
        let patience = rustix::time::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(fds, Some(&patience)).unwrap(), 1, "after {}", found.len());
        socket.receive(|datagram| found.push(datagram.bytes.to_vec())).unwrap();
    }
    found
}

#[test]
fn datagrams_keep_their_boundaries_and_order_whatever_their_sizes() {
    let (mut sender, mut receiver, to) = pair();
    // Runs of equal size with a shorter end, empty ones, a large one, and sizes that grow.
    let sizes = [1200, 1200, 1200, 700, 700, 1, 0, 0, 5, 1400, 1400, 1400, 1400, 60, 9000, 2, 3, 4, 1200];
    for (index, size) in sizes.into_iter().enumerate() {
        sender.send(to, None, &vec![index as u8; size]);
    }
    sender.flush();
    let found = receive(&mut receiver, sizes.len());
    let expected: Vec<Vec<u8>> =
        sizes.iter().enumerate().map(|(index, size)| vec![index as u8; *size]).collect();
    assert_eq!(found, expected);
    assert_eq!((sender.counts().sent, sender.counts().send_failures), (19, 0));
    assert_eq!(receiver.receive(|_| panic!("nothing is left")).unwrap(), 0);
}

#[test]
fn runs_of_equal_datagrams_need_few_system_calls() {
    let (mut sender, mut receiver, to) = pair();
    for _ in 0..640 {
        sender.send(to, None, &[7; 1000]);
    }
    sender.flush();
    assert_eq!(receive(&mut receiver, 640).len(), 640);
    let (sent, received) = (sender.counts(), receiver.counts());
    assert_eq!(sent.sent, 640);
    // Kernels since 4.18 divide up to 64 segments; 64 of 1000 bytes are a message of nearly the largest size.
    if sender.segments_max > 1 {
        assert_eq!(sent.send_calls, 10);
        assert!(received.receive_calls <= 40, "{received:?}");
    }
}

#[test]
fn each_address_gets_its_own_datagrams() {
    let (mut sender, mut first, to_first) = pair();
    let (_, mut second, to_second) = pair();
    for number in 0..6_u8 {
        sender.send(if number % 2 == 0 { to_first } else { to_second }, None, &[number; 100]);
    }
    sender.flush();
    let firsts = |socket: &mut Socket| receive(socket, 3).iter().map(|bytes| bytes[0]).collect::<Vec<_>>();
    assert_eq!((firsts(&mut first), firsts(&mut second)), (vec![0, 2, 4], vec![1, 3, 5]));
}

#[test]
fn the_sender_and_the_address_that_was_reached_are_known() {
    let mut receiver = Socket::bind("[::1]:0".parse().unwrap(), None).unwrap();
    let mut sender = Socket::bind("[::1]:0".parse().unwrap(), None).unwrap();
    sender.send(receiver.address().unwrap(), None, b"here");
    sender.flush();
    let fds = &mut [rustix::event::PollFd::new(&receiver, rustix::event::PollFlags::IN)];
    rustix::event::poll(fds, None).unwrap();
    let from = sender.address().unwrap();
    let mut seen = BTreeMap::new();
    receiver
        .receive(|datagram| {
            seen.insert(datagram.from, (datagram.to, datagram.ecn));
        })
        .unwrap();
    assert_eq!(seen, BTreeMap::from([(from, (Some("::1".parse().unwrap()), 0))]));
}

#[test]
fn what_cannot_be_reached_is_counted_and_ends_nothing() {
    let (mut sender, _, _) = pair();
    let (_, mut receiver, to) = pair();
    // Larger than any datagram.
    sender.send(to, None, &vec![0; 70_000]);
    // Nobody listens there: the kernel reports it at the next call.
    sender.send("127.0.0.1:1".parse().unwrap(), None, b"x");
    sender.flush();
    assert!(sender.counts().send_failures >= 1);
    for _ in 0..3 {
        assert_eq!(sender.receive(|_| ()).unwrap(), 0);
    }
    sender.send(to, None, b"still here");
    sender.flush();
    assert_eq!(receive(&mut receiver, 1), [b"still here"]);
}

/// An address that this host has lost is no source: the kernel chooses another one.
#[test]
fn a_source_that_is_gone_is_replaced() {
    let (mut sender, mut receiver, to) = pair();
    for from in [Some("192.0.2.77".parse().unwrap()), Some("127.0.0.1".parse().unwrap()), None] {
        sender.send(to, from, b"datagram");
        sender.flush();
    }
    assert_eq!(receive(&mut receiver, 3), vec![b"datagram".to_vec(); 3]);
    assert_eq!((sender.counts().sent, sender.counts().send_failures), (3, 0));
}
