//! Requests and replies: a client sends a request, a server replies over the same connection, and the client sends the next.
//!
//! * **Web**, HTTP/1.1 with a persistent connection: the objects of a page one after another, each requested when the
//!   previous one has arrived completely. The page is the unit whose time counts, from its first request to its last byte.
//! * **Request and response**, as keys typed into a remote shell: a small packet in each direction, and time to think.
//! * **Periodic**: a small packet in each direction once in each interval, as things report and keep connections alive.
//!
//! Pages are those of about 2010, when the BA-TA paper took its own from a site that collected them: 50 to 65 objects of 300
//! to 500 kB together, both drawn uniformly. Ramachandran's *Web metrics* (Google, 2010) found 44 and 320 kB on the average.
//! Sizes within a page are log-normal with a given deviation, by default the one that Barford and Crovella (*Generating
//! representative Web workloads*, SIGMETRICS 1998) give for the body of the distribution; a heavy tail has no place in a
//! page of a given size.
//!
//! Left out: several connections to a server, pipelining, the time that a server needs for a reply, and caches of browsers.

use airwatt_base::{Instant, RandomStream, Span};
use airwatt_proto::powersave::Ratio;

use super::{Answers, Period, SourceConfig};
use crate::stack::role::Role;

/// Least and largest number of objects of a page.
const OBJECTS: (u32, u32) = (50, 65);
/// Least and largest size of a page in bytes.
const PAGE_BYTES: (u32, u32) = (300_000, 500_000);
/// Size of the smallest reply in bytes: a status line and headers.
const LEAST_OBJECT: u64 = 200;

/// The replies that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// Pages of objects.
    Pages {
        /// Standard deviation of the logarithm of their sizes.
        spread: Ratio,
    },
    /// The same number of bytes each time.
    Fixed(u32),
}

/// When a client sends the first request of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At a time after the end of the last unit that is exponentially distributed with this mean.
    Think(Span),
    /// Once in each interval, but not before the last unit is over.
    Each(Period),
}

/// Settings of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialogueConfig {
    /// The replies that the client requests.
    pub replies: Replies,
    /// Bytes of a request.
    pub request: u32,
    /// The pace of the requests.
    pub pace: Pace,
    /// The end that sends requests: [`Role::Receiver`] if the flow's data are the replies, [`Role::Sender`] if they are the
    /// requests.
    pub client: Role,
    /// Number of units; `None` for as long as the run lasts.
    pub count: Option<u32>,
}

impl DialogueConfig {
    /// The same in datagrams, if it has a pace of its own and replies of one packet: a source, and what answers it.
    pub fn datagrams(&self) -> Option<(SourceConfig, Answers)> {
        let (Pace::Each(period), Replies::Fixed(bytes)) = (self.pace, self.replies) else { return None };
        let size = self.count.map(|count| u64::from(count) * u64::from(self.request));
        let source = SourceConfig::Periodic { size, period, packet: self.request };
        Some((source, Answers { bytes, begins: self.client }))
    }
}

/// The progress of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The client sends the next request at this time.
    Thinking(Instant),
    /// Bytes of a request that the server has not received yet.
    Asking(u64),
    /// Bytes of a reply that the client has not received yet.
    Replying(u64),
    /// All units are complete.
    Over,
}

/// One end of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// Sends requests.
    Client,
    /// Sends replies.
    Server,
}

/// A dialogue in progress.
#[derive(Clone, Debug)]
pub struct Dialogue {
    config: DialogueConfig,
    random: RandomStream,
    turn: Turn,
    /// When it began, and the number of requests that had their time since.
    began: Instant,
    asked_units: u64,
    /// Sizes of the replies that the unit still lacks, the next one last.
    objects: Vec<u32>,
    /// Time of the unit's first request.
    asked: Instant,
    /// Bytes that an end is to write.
    message: Option<(Party, u64)>,
    /// Duration of each unit.
    pub durations: Vec<Span>,
}

impl Dialogue {
    /// The dialogue of flow `flow` of the run with this seed.
    pub fn new(config: DialogueConfig, seed: u64, flow: usize) -> Self {
        let random = RandomStream::new(seed, &format!("flow/{flow}/dialogue"));
        let (turn, asked) = (Turn::Thinking(Instant::FOREVER), Instant::ZERO);
        Self {
            config,
            random,
            turn,
            began: asked,
            asked_units: 0,
            objects: Vec::new(),
            asked,
            message: None,
            durations: Vec::new(),
        }
    }

    /// Number of units; `None` if it lasts as long as the run.
    pub const fn count(&self) -> Option<u32> {
        self.config.count
    }

    /// The end that sends requests.
    pub const fn client(&self) -> Role {
        self.config.client
    }

    /// The role of a party in the flow.
    pub const fn role(&self, party: Party) -> Role {
        match (party, self.config.client) {
            (Party::Client, client) => client,
            (Party::Server, Role::Sender) => Role::Receiver,
            (Party::Server, Role::Receiver) => Role::Sender,
        }
    }

    /// Whether every unit is complete.
    pub fn is_over(&self) -> bool {
        self.turn == Turn::Over
    }

    /// The time of the next request, if the client is waiting for it.
    pub const fn due(&self) -> Option<Instant> {
        match self.turn {
            Turn::Thinking(until) => Some(until),
            _ => None,
        }
    }

    /// Begins at `now`: the client sends its first request at once, or at the first time of its period.
    pub fn begin(&mut self, now: Instant) {
        self.began = now;
        self.turn = Turn::Thinking(match self.config.pace {
            Pace::Think(_) => now,
            Pace::Each(period) => period.time(now, 0, &mut self.random),
        });
        self.handle_timeout(now);
    }

    /// The time of the request after one that was answered at `now`.
    fn next(&mut self, now: Instant) -> Instant {
        match self.config.pace {
            Pace::Think(mean) => now + Span::from_secs_f64(self.random.exponential(mean.as_secs_f64())),
            Pace::Each(period) => {
                self.asked_units += 1;
                period.time(self.began, self.asked_units, &mut self.random).max(now)
            }
        }
    }

    /// Sends the request of the next unit, if it is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        self.asked = now;
        self.objects = match self.config.replies {
            Replies::Fixed(bytes) => vec![bytes],
            Replies::Pages { spread } => self.page(spread),
        };
        self.ask();
    }

    /// Processes `bytes` bytes that have arrived at one end.
    pub fn received(&mut self, by: Party, bytes: u64, now: Instant) {
        match (&mut self.turn, by) {
            (Turn::Asking(left), Party::Server) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    let reply = u64::from(self.objects.pop().unwrap_or_default());
                    self.turn = Turn::Replying(reply);
                    self.message = Some((Party::Server, reply));
                }
            }
            (Turn::Replying(left), Party::Client) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    self.replied(now);
                }
            }
            _ => {}
        }
    }

    /// What is to be written now, and by whom.
    pub const fn take_message(&mut self) -> Option<(Party, u64)> {
        self.message.take()
    }

    fn replied(&mut self, now: Instant) {
        if !self.objects.is_empty() {
            return self.ask();
        }
        self.durations.push(now - self.asked);
        self.turn = if self.config.count.is_some_and(|count| self.durations.len() >= count as usize) {
            Turn::Over
        } else {
            Turn::Thinking(self.next(now))
        };
    }

    fn ask(&mut self) {
        let request = u64::from(self.config.request);
        self.turn = Turn::Asking(request);
        self.message = Some((Party::Client, request));
    }

    /// The sizes of a page's objects.
    fn page(&mut self, spread: Ratio) -> Vec<u32> {
        let spread = spread.as_f64();
        let mut between = |(least, most): (u32, u32)| least + self.random.below(most - least + 1);
        let (count, bytes) = (between(OBJECTS), between(PAGE_BYTES));
        let weights: Vec<f64> = (0..count).map(|_| (spread * self.normal()).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let sizes = weights.iter().map(|weight| (weight / sum * f64::from(bytes)) as u64);
        sizes.map(|size| size.max(LEAST_OBJECT) as u32).collect()
    }

    /// A standard normal number (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.random.exponential(1.0)).sqrt();
        radius * (std::f64::consts::TAU * self.random.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Span = Span::from_millis(10);

    /// Lets a dialogue go on with everything delivered a step later. Returns bytes asked and replied, and the end.
    fn run(dialogue: &mut Dialogue) -> (Vec<u64>, Vec<u64>, Instant) {
        let (mut requests, mut replies, mut now) = (Vec::new(), Vec::new(), Instant::from_millis(100));
        dialogue.begin(now);
        while !dialogue.is_over() {
            now = dialogue.due().unwrap_or(now);
            dialogue.handle_timeout(now);
            if let Some((party, bytes)) = dialogue.take_message() {
                let (said, by) = match party {
                    Party::Client => (&mut requests, Party::Server),
                    Party::Server => (&mut replies, Party::Client),
                };
                said.push(bytes);
                now += STEP;
                // In two parts, and once to who is not meant.
                dialogue.received(party, bytes, now);
                dialogue.received(by, bytes - 1, now);
                assert_eq!(dialogue.take_message(), None);
                dialogue.received(by, 1, now);
            }
        }
        (requests, replies, now)
    }

    #[test]
    fn keys_go_there_and_back() {
        let config = DialogueConfig {
            replies: Replies::Fixed(48),
            request: 36,
            pace: Pace::Think(Span::from_millis(200)),
            client: Role::Receiver,
            count: Some(2_000),
        };
        let mut dialogue = Dialogue::new(config, 1, 0);
        let (requests, replies, end) = run(&mut dialogue);
        assert_eq!((requests, replies), (vec![36; 2_000], vec![48; 2_000]));
        assert!(dialogue.durations.iter().all(|took| *took == STEP * 2));
        // 1,999 gaps of 200 ms on the average: their mean's standard error is 2.2 %.
        let mean = (end.as_secs_f64() - 0.1 - 2_000.0 * 0.02) / 1_999.0;
        assert!((mean / 0.2 - 1.0).abs() < 0.07, "{mean}");
    }

    /// A request whose time has come waits for the answer before it: with intervals of 15 ms and answers after 20 ms each is sent
    /// as soon as the answer before it is there.
    #[test]
    fn a_periodic_request_waits_for_the_answer_before_it() {
        let each = |millis| DialogueConfig {
            replies: Replies::Fixed(2),
            request: 2,
            pace: Pace::Each(Period {
                interval: Span::from_millis(millis),
                jitter: Span::ZERO,
                phase: Span::from_millis(7),
            }),
            client: Role::Sender,
            count: Some(4),
        };
        for (interval, last) in [(60_000, 180_000), (15, 60)] {
            let (_, _, end) = run(&mut Dialogue::new(each(interval), 1, 0));
            assert_eq!(end, Instant::from_millis(100 + 7 + last + 20), "{interval} ms");
        }
    }

    /// Every object is asked for on its own, and a page has as many and is as large as the statistics say.
    #[test]
    fn pages_are_objects_one_after_another() {
        let config = DialogueConfig {
            replies: Replies::Pages { spread: Ratio::from_permille(1_318) },
            request: 400,
            pace: Pace::Think(Span::from_secs(5)),
            client: Role::Receiver,
            count: Some(1),
        };
        let mut sizes = Vec::new();
        for flow in 0..200 {
            let mut dialogue = Dialogue::new(config, 1, flow);
            let (requests, replies, end) = run(&mut dialogue);
            assert!(requests.len() == replies.len() && (50..=65).contains(&replies.len()));
            let page: u64 = replies.iter().sum();
            assert!((300_000 - 65..=500_000 + 65 * LEAST_OBJECT).contains(&page), "{page}");
            assert_eq!(dialogue.durations, [end - Instant::from_millis(100)]);
            sizes.extend(replies);
        }
        sizes.sort_unstable();
        let (mean, median) = (sizes.iter().sum::<u64>() as f64 / sizes.len() as f64, sizes[sizes.len() / 2]);
        // exp(sigma^2 / 2) = 2.4 is the ratio of a log-normal's mean to its median; pages are cut to size.
        assert!((6_000.0..8_000.0).contains(&mean), "{mean}");
        assert!((1.9..2.7).contains(&(mean / median as f64)), "{mean} {median}");
    }
}
