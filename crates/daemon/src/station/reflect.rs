//! `reflect`: answers a probe after a random time from 0 to 1 s, so that the answer meets the radio of the asking station in
//! any state. The answer says how long it waited.
//!
//! Only private addresses are answered, an answer is as long as its probe, and at most 1,024 answers wait at a time.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine, RandomStream, Span, Timeout};
use airwatt_linux::driver::{self, MachineHost};
use airwatt_linux::event_loop::{EventLoop, Interest, ReadySource, Token};
use airwatt_linux::signals::{Signal, Signals};
use airwatt_linux::user::{self, User};
use airwatt_linux::{Error, capability, seccomp, service};
use tracing::{debug, info};

use super::Reflect;
use super::probe::{BYTES, Probe, WAIT_MAX};
use crate::failure::Failure;
use crate::output;

const SOCKET: Token = Token(0);
const SIGNALS: Token = Token(1);
/// Probes read before other sources have their turn.
const BATCH: usize = 64;
const WAITING_MAX: usize = 1_024;

/// The answers that wait.
#[derive(Clone, Debug)]
struct Reflector {
    random: RandomStream,
    /// By the time at which they go, and a number that tells equal times apart.
    waiting: BTreeMap<(Instant, u64), (SocketAddr, Probe, Span)>,
    count: u64,
    due: std::collections::VecDeque<(SocketAddr, Probe, Span)>,
    refused: u64,
}

/// Why it wakes up: an answer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due;

impl Reflector {
    fn new(seed: u64) -> Self {
        let (random, waiting) = (RandomStream::new(seed, "reflector"), BTreeMap::new());
        Self { random, waiting, count: 0, due: std::collections::VecDeque::new(), refused: 0 }
    }
}

impl Machine for Reflector {
    type Input = (SocketAddr, Probe);
    type Output = (SocketAddr, Probe, Span);
    type Reason = Due;

    fn handle_input(&mut self, (from, probe): Self::Input, now: Instant) {
        if !is_private(from.ip()) || self.waiting.len() == WAITING_MAX {
            self.refused += 1;
            return;
        }
        let wait = Span::from_secs_f64(self.random.unit() * WAIT_MAX.as_secs_f64());
        self.count += 1;
        self.waiting.insert((now.saturating_add(wait), self.count), (from, probe, wait));
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(entry) = self.waiting.first_entry()
            && entry.key().0 <= now
        {
            let late = now.saturating_since(entry.key().0);
            let (to, probe, wait) = entry.remove();
            self.due.push_back((to, probe, wait.saturating_add(late)));
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.due.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Due>> {
        self.waiting.first_key_value().map(|((at, _), _)| Timeout { at: *at, reason: Due })
    }
}

/// Whether the address belongs to this host or to a private network (RFC 1918, RFC 4193, link-local).
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_private() || address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

struct ReflectorHost {
    socket: UdpSocket,
    signals: Signals,
}

impl MachineHost<Reflector> for ReflectorHost {
    fn receive(
        &mut self,
        ready: ReadySource,
        inputs: &mut Vec<(SocketAddr, Probe)>,
    ) -> Result<ControlFlow<()>, Error> {
        if ready.token == SIGNALS {
            let is_end = self.signals.read()? == Some(Signal::Terminate);
            return Ok(if is_end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        }
        let mut bytes = [0; BYTES + 1];
        for _ in 0..BATCH {
            match self.socket.recv_from(&mut bytes) {
                Ok((length, from)) => {
                    inputs.extend(Probe::read(&bytes[..length]).map(|probe| (from, probe)));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                // An earlier answer came back as undeliverable.
                Err(error) => debug!(%error, "probe not received"),
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, (to, probe, waited): (SocketAddr, Probe, Span), _: Instant) -> Result<(), Error> {
        if let Err(error) = self.socket.send_to(&probe.answer(waited), to) {
            debug!(%error, %to, "answer not sent");
        }
        Ok(())
    }
}

/// `airwattd station reflect`.
pub(super) fn reflect(options: &Reflect) -> Result<(), Failure> {
    options.log.start()?;
    let signals = Signals::take()?;
    let listen = options.listen;
    let what = format!("--listen {listen}");
    let socket = UdpSocket::bind(listen).map_err(|error| Failure::of_io(&what, &error))?;
    socket.set_nonblocking(true).map_err(|error| Failure::of_io(&what, &error))?;
    let address = socket.local_addr().map_err(|error| Failure::of_io(&what, &error))?;
    let mut events = EventLoop::new()?;
    events.add(&socket, SOCKET, Interest::Read)?;
    events.add(&signals, SIGNALS, Interest::Read)?;
    let mut machine = Reflector::new(super::measure::entropy());
    output::progress(&format!("answers probes on {address}, until Ctrl-C"));
    service::ready(&format!("listening on {address}"));
    // Strangers send to it, and it needs nothing but its socket.
    let nobody = user::is_root().then(User::nobody);
    capability::keep_only(&[], nobody.as_ref())?;
    seccomp::keep_only_needed(false)?;
    driver::run(&mut machine, &mut ReflectorHost { socket, signals }, &mut events)?;
    info!(answered = machine.count, refused = machine.refused, "reflector ends");
    Ok(())
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;

    use super::*;

    fn probe(number: u32) -> Probe {
        Probe { number, nonce: 1 }
    }

    #[test]
    fn it_keeps_the_contract() {
        let home: SocketAddr = "192.168.1.5:9".parse().unwrap();
        let inputs: Vec<_> =
            (0..50).map(|n| (Instant::from_millis(u64::from(n) * 10), (home, probe(n)))).collect();
        let outputs = check_machine(|| Reflector::new(1), &inputs, Instant::from_secs(10));
        assert_eq!(outputs.len(), 50);
    }

    #[test]
    fn an_answer_says_how_long_it_waited_and_none_comes_early() {
        let mut reflector = Reflector::new(1);
        let home: SocketAddr = "192.168.1.5:9".parse().unwrap();
        (0..200).for_each(|number| reflector.handle_input((home, probe(number)), Instant::ZERO));
        assert_eq!(reflector.poll_output(), None);
        let mut waits = Vec::new();
        while let Some(Timeout { at, .. }) = reflector.poll_timeout() {
            reflector.handle_timeout(at);
            while let Some((to, _, waited)) = reflector.poll_output() {
                assert_eq!((to, Instant::ZERO.saturating_add(waited)), (home, at));
                waits.push(waited.as_secs_f64());
            }
        }
        assert_eq!(waits.len(), 200);
        let mean = waits.iter().sum::<f64>() / 200.0;
        assert!((0.4..0.6).contains(&mean) && waits.iter().all(|wait| (0.0..=1.0).contains(wait)), "{mean}");
    }

    #[test]
    fn a_late_answer_says_so() {
        let mut reflector = Reflector::new(1);
        reflector.handle_input(("10.0.0.1:1".parse().unwrap(), probe(0)), Instant::ZERO);
        reflector.handle_timeout(Instant::from_nanos(3_000_000_000));
        assert_eq!(reflector.poll_output().unwrap().2, Span::from_secs(3));
    }

    #[test]
    fn public_addresses_and_floods_get_no_answer() {
        let mut reflector = Reflector::new(1);
        for from in ["198.51.100.1:1", "[2001:db8::1]:1", "[::ffff:198.51.100.1]:1"] {
            reflector.handle_input((from.parse().unwrap(), probe(0)), Instant::ZERO);
        }
        assert_eq!((reflector.waiting.len(), reflector.refused), (0, 3));
        for number in 0..5_000 {
            reflector.handle_input(("[fe80::1]:1".parse().unwrap(), probe(number)), Instant::ZERO);
        }
        assert_eq!(reflector.waiting.len(), WAITING_MAX);
    }
}
