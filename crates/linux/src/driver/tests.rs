use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use airwatt_base::Span;
use airwatt_base::testkit::check_machine;

use super::*;
use crate::event_loop::{Interest, Token};

/// Returns each byte after a pause, and says when.
#[derive(Clone, Debug, Default)]
struct Echo {
    held: VecDeque<(Instant, u8)>,
    out: VecDeque<(u8, Instant)>,
}

const PAUSE: Span = Span::from_millis(10);

impl Machine for Echo {
    type Input = u8;
    type Output = (u8, Instant);
    type Reason = ();

    fn handle_input(&mut self, input: u8, now: Instant) {
        self.held.push_back((now + PAUSE, input));
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, byte)) = self.held.pop_front_if(|(at, _)| *at <= now) {
            self.out.push_back((byte, now));
        }
    }

    fn poll_output(&mut self) -> Option<(u8, Instant)> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<()>> {
        self.held.front().map(|(at, _)| Timeout { at: *at, reason: () })
    }
}

/// A host that reads bytes from a socket and writes them back; `q` ends it.
struct Socket {
    stream: UnixStream,
    sent: Vec<Instant>,
    timeouts: u32,
    /// What had been sent each time that it settled.
    sent_when_settled: Vec<usize>,
}

impl MachineHost<Echo> for Socket {
    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<u8>) -> Result<ControlFlow<()>, Error> {
        assert!(ready.readable);
        let mut bytes = [0; 4];
        let count = self.stream.read(&mut bytes).map_err(Error::of("socket"))?;
        inputs.extend_from_slice(&bytes[..count]);
        Ok(if bytes[..count].contains(&b'q') { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn carry_out(&mut self, (byte, at): (u8, Instant), now: Instant) -> Result<(), Error> {
        assert!(at <= now);
        self.sent.push(at);
        self.stream.write_all(&[byte]).map_err(Error::of("socket"))
    }

    fn settle(&mut self, _: &mut Echo, _: Instant) -> Result<(), Error> {
        self.sent_when_settled.push(self.sent.len());
        Ok(())
    }

    fn wakes_up(&mut self, (): ()) {
        self.timeouts += 1;
    }
}

#[test]
fn the_machine_of_this_test_keeps_the_contract() {
    let inputs: Vec<_> = (0..20).map(|n| (Instant::from_millis(3 * n), n as u8)).collect();
    let out = check_machine(Echo::default, &inputs, Instant::from_millis(1_000));
    assert_eq!(out.len(), 20);
}

#[test]
fn inputs_become_outputs_at_the_machines_own_times_and_nothing_else_wakes_it() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut events = EventLoop::new().unwrap();
    let clock = events.clock();
    events.add(&theirs, Token(0), Interest::Read).unwrap();
    let driven = std::thread::spawn(move || {
        let mut host =
            Socket { stream: theirs, sent: Vec::new(), timeouts: 0, sent_when_settled: Vec::new() };
        run(&mut Echo::default(), &mut host, &mut events).unwrap();
        (host, events.wakeups())
    });
    let mut ours = ours;
    let mut sent = Vec::new();
    for byte in 0..5 {
        sent.push(clock.now());
        ours.write_all(&[byte]).unwrap();
        let mut back = [0];
        ours.read_exact(&mut back).unwrap();
        assert_eq!(back, [byte]);
        // Idle time between the bytes must not wake it.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    ours.write_all(b"q").unwrap();
    let (host, wakeups) = driven.join().unwrap();
    assert_eq!((host.sent.len(), host.timeouts), (5, 5));
    for (at, sent) in host.sent.iter().zip(sent) {
        assert!(at.saturating_since(sent) >= PAUSE);
    }
    // Five bytes, five timeouts, and the end; the kernel may let a thread go on early.
    assert!((11..=16).contains(&wakeups), "{wakeups}");
    assert!(host.sent_when_settled.len() <= wakeups as usize + 2);
}

#[test]
fn what_a_machine_was_given_before_is_sent_before_the_host_settles_first() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut events = EventLoop::new().unwrap();
    events.add(&theirs, Token(0), Interest::Read).unwrap();
    let mut machine = Echo::default();
    machine.out.push_back((7, Instant::ZERO));
    ours.write_all(b"q").unwrap();
    let mut host = Socket { stream: theirs, sent: Vec::new(), timeouts: 0, sent_when_settled: Vec::new() };
    run(&mut machine, &mut host, &mut events).unwrap();
    assert_eq!(host.sent_when_settled[0], 1);
}

/// Says in which order bytes and timeouts come.
#[derive(Clone, Debug, Default)]
struct Diary {
    due: Option<Instant>,
    entries: Vec<&'static str>,
}

impl Machine for Diary {
    type Input = ();
    type Output = ();
    type Reason = ();

    fn handle_input(&mut self, (): (), _: Instant) {
        self.entries.push("input");
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.take_if(|due| *due <= now).is_some() {
            self.entries.push("timeout");
        }
    }

    fn poll_output(&mut self) -> Option<()> {
        None
    }

    fn poll_timeout(&self) -> Option<Timeout<()>> {
        self.due.map(|at| Timeout { at, reason: () })
    }
}

struct Reader<const READS_FIRST: bool>(UnixStream);

impl<const READS_FIRST: bool> MachineHost<Diary> for Reader<READS_FIRST> {
    const READS_FIRST: bool = READS_FIRST;

    fn receive(&mut self, _: ReadySource, inputs: &mut Vec<()>) -> Result<ControlFlow<()>, Error> {
        let mut byte = [0];
        if self.0.read(&mut byte).map_err(Error::of("socket"))? == 0 {
            return Ok(ControlFlow::Break(()));
        }
        inputs.push(());
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, (): (), _: Instant) -> Result<(), Error> {
        Ok(())
    }
}

/// What a thread does that was not scheduled while a byte arrived and the timeout passed.
fn late<const READS_FIRST: bool>() -> Vec<&'static str> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut events = EventLoop::new().unwrap();
    events.add(&theirs, Token(0), Interest::Read).unwrap();
    ours.write_all(&[7]).unwrap();
    drop(ours);
    let mut machine = Diary { due: Some(events.now() + PAUSE), entries: Vec::new() };
    std::thread::sleep(std::time::Duration::from_millis(20));
    run(&mut machine, &mut Reader::<READS_FIRST>(theirs), &mut events).unwrap();
    machine.entries
}

#[test]
fn a_thread_that_wakes_up_late_reads_first_what_has_arrived_if_its_host_says_so() {
    assert_eq!(late::<true>(), ["input", "timeout"]);
    assert_eq!(late::<false>(), ["timeout", "input"]);
}
