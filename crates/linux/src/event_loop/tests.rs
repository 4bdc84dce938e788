use std::io::Write;
use std::os::unix::net::UnixStream;

use airwatt_base::Span;

use super::*;

const A: Token = Token(1);
const B: Token = Token(2);

#[test]
fn it_sleeps_until_the_time_and_no_longer_than_a_source_is_silent() {
    let mut events = EventLoop::new().unwrap();
    let (mut writer, reader) = UnixStream::pair().unwrap();
    events.add(&reader, A, Interest::Read).unwrap();
    let until = events.now() + Span::from_millis(20);
    assert_eq!(events.wait(Some(until)).unwrap(), []);
    assert!(events.now() >= until);
    writer.write_all(b"x").unwrap();
    let ready = ReadySource { token: A, readable: true, writable: false };
    assert_eq!(events.wait(None).unwrap(), [ready]);
    // What has not been read is reported again, and a time that has passed does not sleep.
    assert_eq!(events.wait(Some(Instant::ZERO)).unwrap(), [ready]);
    assert_eq!(events.wakeups(), 2);
}

#[test]
fn the_same_time_may_be_asked_for_again_and_a_timer_can_be_taken_back() {
    let mut events = EventLoop::new().unwrap();
    let waker = events.waker(B).unwrap();
    let until = events.now() + Span::from_millis(5);
    events.wait(Some(until)).unwrap();
    events.wait(Some(until)).unwrap();
    let soon = events.now() + Span::from_millis(30);
    waker.wake();
    assert_eq!(events.wait(Some(soon)).unwrap().len(), 1);
    // Without a time the timer of before must not end the sleep.
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(60));
        waker.wake();
    });
    assert_eq!(events.wait(None).unwrap(), [ReadySource { token: B, readable: true, writable: false }]);
    assert!(events.now() > soon);
    thread.join().unwrap();
}

#[test]
fn several_wake_ups_before_the_loop_looks_are_one() {
    let mut events = EventLoop::new().unwrap();
    let waker = events.waker(A).unwrap();
    waker.wake();
    waker.clone().wake();
    assert_eq!(events.wait(None).unwrap().len(), 1);
    let until = events.now() + Span::from_millis(5);
    assert_eq!(events.wait(Some(until)).unwrap(), []);
    waker.wake();
    assert_eq!(events.wait(None).unwrap().len(), 1);
}

#[test]
fn a_closed_peer_is_readable_and_interest_can_change() {
    let mut events = EventLoop::new().unwrap();
    let (writer, reader) = UnixStream::pair().unwrap();
    events.add(&reader, A, Interest::Read).unwrap();
    assert_eq!(events.wait(Some(Instant::ZERO)).unwrap(), []);
    events.modify(&reader, A, Interest::ReadWrite).unwrap();
    assert_eq!(events.wait(None).unwrap(), [ReadySource { token: A, readable: false, writable: true }]);
    drop(writer);
    assert!(events.wait(None).unwrap()[0].readable);
    events.sources.remove(&reader).unwrap();
    assert_eq!(events.wait(Some(Instant::ZERO)).unwrap(), []);
}

/// Both directions of a socket have ended, and nobody wants what has arrived: that is said once, and again when somebody does.
#[test]
fn the_end_of_both_directions_keeps_nobody_awake() {
    use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (near, _) = listener.accept().unwrap();
    far.write_all(b"unread").unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let mut events = EventLoop::new().unwrap();
    events.add(&near, A, Interest::Errors).unwrap();
    let mut wait = || events.wait(Some(events.now() + Span::from_millis(30))).unwrap().len();
    assert_eq!((wait(), wait()), (1, 0));
    events.modify(&near, A, Interest::Read).unwrap();
    assert!(events.wait(None).unwrap()[0].readable);
}
