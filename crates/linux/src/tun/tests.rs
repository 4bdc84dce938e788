use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::*;
use crate::namespace::tests::isolated;

fn settings(offload: bool) -> TunSettings {
    let addresses = vec![
        ("10.9.0.1".parse().unwrap(), 24),
        ("10.9.1.1".parse().unwrap(), 32),
        ("fd00:9::1".parse().unwrap(), 64),
    ];
    TunSettings { name: "aw-test".to_owned(), addresses, mtu: 1400, offload }
}

#[test]
fn packets_of_the_kernel_are_read_and_answers_arrive() {
    isolated(|| {
        let device = create(&settings(false)).unwrap();
        assert_eq!(device.mtu().unwrap(), 1400);
        let mut buffer = [0; 2000];
        // The kernel's own packets of IPv6 come first; then nothing blocks.
        while device.recv(&mut buffer).is_ok() {}
        assert_eq!(device.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let socket = UdpSocket::bind("10.9.1.1:7").unwrap();
        socket.send_to(b"over the device", "10.9.0.2:9").unwrap();
        let length = loop {
            let fds = &mut [rustix::event::PollFd::new(&device, rustix::event::PollFlags::IN)];
            rustix::event::poll(fds, None).unwrap();
            let length = device.recv(&mut buffer).unwrap();
            if buffer[0] >> 4 == 4 {
                break length;
            }
        };
        assert_eq!(length, 20 + 8 + 15);
        assert_eq!(buffer[12..20], [10, 9, 1, 1, 10, 9, 0, 2]);
        // The same packet back: addresses and ports change places, and no checksum changes with that.
        let mut answer = buffer[..length].to_vec();
        answer[12..20].rotate_left(4);
        answer[20..24].rotate_left(2);
        device.send(&answer).unwrap();
        let (length, from) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.to_string().as_str()), (&b"over the device"[..], "10.9.0.2:9"));
    });
}

#[test]
fn it_ends_with_its_descriptor_and_a_name_is_taken_once() {
    isolated(|| {
        let device = create(&settings(true)).unwrap();
        assert!(crate::interface::index("aw-test").is_some());
        assert!(device.tcp_gso());
        let _ = device.as_fd();
        let error = create(&settings(true)).err().unwrap().to_string();
        assert!(error.starts_with("TUN device aw-test: "), "{error}");
        drop(device);
        assert_eq!(crate::interface::index("aw-test"), None);
        let error = create(&TunSettings { name: "lo".to_owned(), ..settings(false) }).err().unwrap();
        assert_eq!(error.to_string(), "TUN device lo: there is an interface of this name already");
    });
}

#[test]
fn an_mtu_too_small_for_ipv6_is_refused() {
    let error = create(&TunSettings { mtu: 1000, ..settings(false) }).err().unwrap().to_string();
    assert_eq!(error, "TUN device aw-test: expected an MTU of at least 1280 for IPv6, got 1000");
}
