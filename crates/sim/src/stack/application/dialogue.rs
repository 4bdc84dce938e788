//! Applications that answer: a client asks, a server replies over the same connection, and the client asks again.
//!
//! * **Web**, HTTP/1.1 with a persistent connection: the objects of a page one after another, each asked for when the one
//!   before has arrived whole. The page is the unit whose time counts, from its first request to its last byte.
//! * **Request and response**, as keys typed into a remote shell: a small packet there, a small one back, and time to think.
//!
//! Pages are those of about 2010, when the BA-TA paper drew its own from a site that collected them: 50 to 65 objects of 300
//! to 500 kB together, both drawn evenly. Ramachandran's *Web metrics* (Google, 2010) found 44 and 320 kB on the average.
//! Sizes within a page are log-normal with the deviation that Barford and Crovella (*Generating representative Web
//! workloads*, SIGMETRICS 1998) give for the body of the distribution; a heavy tail has no place in a page of a given size.
//!
//! Left out: several connections to a server, pipelining, servers that take their time, and what a browser has cached.

use airwatt_base::{Instant, Span, Stream};

/// Standard deviation of the logarithm of an object's size.
const OBJECT_SIGMA: f64 = 1.318;
/// Objects of a page.
const OBJECTS: (u32, u32) = (50, 65);
/// Bytes of a page.
const PAGE_BYTES: (u32, u32) = (300_000, 500_000);
/// No reply is smaller: a status line and headers.
const LEAST_OBJECT: u64 = 200;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// Pages of objects.
    Pages,
    /// So many bytes each time.
    Fixed(u32),
}

/// A dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialogueConfig {
    /// What the client asks for.
    pub replies: Replies,
    /// Bytes of a request.
    pub request: u32,
    /// Mean of the exponential time between a unit's end and the next one's first request.
    pub think: Span,
    /// How many units; `None` for as long as the run lasts.
    pub count: Option<u32>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The client thinks until then.
    Thinking(Instant),
    /// The server has yet to get so many bytes of a request.
    Asking(u64),
    /// The client has yet to get so many bytes of a reply.
    Replying(u64),
    Over,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// Who asks.
    Client,
    /// Who replies.
    Server,
}

/// One dialogue as it goes.
#[derive(Clone, Debug)]
pub struct Dialogue {
    config: DialogueConfig,
    random: Stream,
    turn: Turn,
    /// Replies of the unit that are still to come, the next one last.
    objects: Vec<u32>,
    /// When the unit's first request was made.
    asked: Instant,
    /// What is to be written.
    speech: Option<(Speaker, u64)>,
    /// How long each unit took.
    pub durations: Vec<Span>,
}

impl Dialogue {
    /// The dialogue of flow `flow` of the run with this seed.
    pub fn new(config: DialogueConfig, seed: u64, flow: usize) -> Self {
        let random = Stream::new(seed, &format!("flow/{flow}/dialogue"));
        let (turn, asked) = (Turn::Thinking(Instant::FOREVER), Instant::ZERO);
        Self { config, random, turn, objects: Vec::new(), asked, speech: None, durations: Vec::new() }
    }

    /// How many units it has, if it ends.
    pub const fn count(&self) -> Option<u32> {
        self.config.count
    }

    /// Whether every unit is done.
    pub fn is_over(&self) -> bool {
        self.turn == Turn::Over
    }

    /// When the client has thought enough.
    pub const fn due(&self) -> Option<Instant> {
        match self.turn {
            Turn::Thinking(until) => Some(until),
            _ => None,
        }
    }

    /// The client begins at once.
    pub fn begin(&mut self, now: Instant) {
        self.turn = Turn::Thinking(now);
        self.handle_timeout(now);
    }

    /// The client asks for the next unit, if it has thought enough.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        self.asked = now;
        self.objects = match self.config.replies {
            Replies::Fixed(bytes) => vec![bytes],
            Replies::Pages => self.page(),
        };
        self.ask();
    }

    /// So many bytes have come to the server's (`Speaker::Server`) or to the client's application.
    pub fn heard(&mut self, by: Speaker, bytes: u64, now: Instant) {
        match (&mut self.turn, by) {
            (Turn::Asking(left), Speaker::Server) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    let reply = u64::from(self.objects.pop().unwrap_or_default());
                    self.turn = Turn::Replying(reply);
                    self.speech = Some((Speaker::Server, reply));
                }
            }
            (Turn::Replying(left), Speaker::Client) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    self.replied(now);
                }
            }
            _ => {}
        }
    }

    /// What is to be written now, and by whom.
    pub const fn take_speech(&mut self) -> Option<(Speaker, u64)> {
        self.speech.take()
    }

    fn replied(&mut self, now: Instant) {
        if !self.objects.is_empty() {
            return self.ask();
        }
        self.durations.push(now - self.asked);
        self.turn = if self.config.count.is_some_and(|count| self.durations.len() >= count as usize) {
            Turn::Over
        } else {
            let think = self.random.exponential(self.config.think.as_secs_f64());
            Turn::Thinking(now + Span::from_secs_f64(think))
        };
    }

    fn ask(&mut self) {
        let request = u64::from(self.config.request);
        self.turn = Turn::Asking(request);
        self.speech = Some((Speaker::Client, request));
    }

    /// The sizes of a page's objects.
    fn page(&mut self) -> Vec<u32> {
        let mut between = |(least, most): (u32, u32)| least + self.random.below(most - least + 1);
        let (count, bytes) = (between(OBJECTS), between(PAGE_BYTES));
        let weights: Vec<f64> = (0..count).map(|_| (OBJECT_SIGMA * self.normal()).exp()).collect();
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
    fn converse(dialogue: &mut Dialogue) -> (Vec<u64>, Vec<u64>, Instant) {
        let (mut requests, mut replies, mut now) = (Vec::new(), Vec::new(), Instant::from_millis(100));
        dialogue.begin(now);
        while !dialogue.is_over() {
            now = dialogue.due().unwrap_or(now);
            dialogue.handle_timeout(now);
            if let Some((speaker, bytes)) = dialogue.take_speech() {
                let (said, by) = match speaker {
                    Speaker::Client => (&mut requests, Speaker::Server),
                    Speaker::Server => (&mut replies, Speaker::Client),
                };
                said.push(bytes);
                now += STEP;
                // In two parts, and once to who is not meant.
                dialogue.heard(speaker, bytes, now);
                dialogue.heard(by, bytes - 1, now);
                assert_eq!(dialogue.take_speech(), None);
                dialogue.heard(by, 1, now);
            }
        }
        (requests, replies, now)
    }

    #[test]
    fn keys_go_there_and_back() {
        let config = DialogueConfig {
            replies: Replies::Fixed(48),
            request: 36,
            think: Span::from_millis(200),
            count: Some(2_000),
        };
        let mut dialogue = Dialogue::new(config, 1, 0);
        let (requests, replies, end) = converse(&mut dialogue);
        assert_eq!((requests, replies), (vec![36; 2_000], vec![48; 2_000]));
        assert!(dialogue.durations.iter().all(|took| *took == STEP * 2));
        // 1,999 gaps of 200 ms on the average: their mean's standard error is 2.2 %.
        let mean = (end.as_secs_f64() - 0.1 - 2_000.0 * 0.02) / 1_999.0;
        assert!((mean / 0.2 - 1.0).abs() < 0.07, "{mean}");
    }

    /// Every object is asked for on its own, and a page has as many and is as large as the statistics say.
    #[test]
    fn pages_are_objects_one_after_another() {
        let config = DialogueConfig {
            replies: Replies::Pages,
            request: 400,
            think: Span::from_secs(5),
            count: Some(1),
        };
        let mut sizes = Vec::new();
        for flow in 0..200 {
            let mut dialogue = Dialogue::new(config, 1, flow);
            let (requests, replies, end) = converse(&mut dialogue);
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
