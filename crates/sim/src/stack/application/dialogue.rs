//! Requests and replies: a client sends a request, a server replies over the same connection, and the client sends the next.
//!
//! * **Web**, HTTP/1.1 with persistent connections: the objects of a page, each requested when a connection is free. The first object
//!   is the document, which names the others: it is requested alone. Then all connections are used, the second to the last opened
//!   when they are first needed, and each requests the next object when it has received one completely. The page is the unit whose
//!   time counts, from its first request to its last byte.
//! * **Request and response**, as keys typed into a remote shell: a small packet in each direction, and time to think.
//! * **Periodic**: a small packet in each direction once in each interval, as things report and keep connections alive. Either of these
//!   may open a connection for each request, as a monitor does, from a port of its own.
//! * **Pages of 2025**: the document, then everything that it names, from one origin or several. How is up to the version of HTTP: HTTP/1.1
//!   has six connections to an origin and requests one object after another over each; HTTP/2 requests all of an origin's objects at
//!   once over one connection, and the server sends them by their urgency; HTTP/3 has a stream for each object, which waits for no other.
//!   Connections of TCP begin with a handshake of TLS 1.3. HTTP/3's own framing (QPACK, control streams, frames' headers) is part of the
//!   length of a request, and is not in replies.
//! * **Video**: segment after segment, as long as the player's buffer has room.
//!
//! What pages consist of is in [`super::page_objects`], how a player chooses in [`super::player`]. Left out: pipelining, connections to
//! several servers (origins are all at the same one), the end of idle connections, and the time that a server needs for a reply.

use std::collections::VecDeque;

use airwatt_base::{Instant, RandomStream, Span};
use airwatt_proto::powersave::Ratio;

use super::page_objects::{self, BLOCKING, Device, Exchange, FINISHED, HANDSHAKE, HttpVersion};
use super::player::{Player, PlayerConfig, Viewing};
use super::{Answers, Call, Connection, Period, SocketRequest, SourceConfig};
use crate::stack::role::Role;

/// The replies that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// Pages of objects.
    Pages {
        /// Standard deviation of the logarithm of their sizes.
        spread: Ratio,
        /// Number of connections over which the client requests them.
        connections: Connection,
    },
    /// Pages of 2025.
    PagesOf2025 {
        /// The browser to which they are sent.
        device: Device,
        /// Number of origins among which their objects are divided.
        origins: Connection,
        /// The version of HTTP over TCP. Over QUIC it is HTTP/3.
        http: HttpVersion,
    },
    /// Segments of a video, in rates that a player chooses.
    Segments(PlayerConfig),
    /// The same number of bytes each time.
    Fixed(u32),
    /// To the first of this many requests a reply of so many bytes. The others are pings, which are as long as what answers them.
    Reports {
        /// Bytes of the reply to a report.
        reply: u32,
        /// Bytes of a ping, and of its answer.
        ping: u32,
        /// Requests from one report to the next.
        messages: u64,
    },
}

/// When a client sends the first request of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At a time after the end of the last unit that is exponentially distributed with this mean.
    Think(Span),
    /// As `Think`, with pauses between bursts of requests.
    Bursts {
        /// The mean time within a burst.
        mean_gap: Span,
        /// Requests in a burst.
        requests: u32,
        /// The mean time between bursts.
        pause: Span,
    },
    /// Once in each interval, but not before the last unit is over.
    Each(Period),
    /// When the player's buffer has room for it.
    Room,
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
    /// The number of connections, if the client opens one for each unit.
    pub fresh: Option<Connection>,
}

impl DialogueConfig {
    /// Number of connections.
    pub const fn connections(&self) -> Connection {
        match (self.fresh, self.replies) {
            (Some(fresh), _) => fresh,
            (None, Replies::Pages { connections, .. }) => connections,
            (None, Replies::PagesOf2025 { origins, http, .. }) => origins * http.connections(),
            (None, Replies::Segments(_) | Replies::Fixed(_) | Replies::Reports { .. }) => 1,
        }
    }

    /// Whether pages of 2025 are requested by HTTP/1.1.
    pub(crate) fn is_http_1(&self) -> bool {
        matches!(self.replies, Replies::PagesOf2025 { http: HttpVersion::OnePointOne, .. })
    }

    /// Number of connections that share a queue of what is to be requested.
    const fn sharing(&self) -> Connection {
        match self.replies {
            Replies::PagesOf2025 { http, .. } => http.connections(),
            _ => self.connections(),
        }
    }

    /// The end that opens the connections, if that follows from who asks; otherwise it is the station.
    pub fn opener(&self) -> Option<Role> {
        self.fresh.map(|_| self.client)
    }

    /// The same in datagrams, if it has a pace of its own and replies of one packet: a source, and what answers it.
    pub fn datagrams(&self) -> Option<(SourceConfig, Answers)> {
        let (Pace::Each(period), Replies::Fixed(bytes)) = (self.pace, self.replies) else { return None };
        let size = self.count.map(|count| u64::from(count) * u64::from(self.request));
        let source = SourceConfig::Periodic { size, period, packet: self.request };
        Some((source, Answers { bytes, begins: self.client }))
    }
}

/// The progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It has not been opened.
    Unopened,
    /// Nothing is requested over it.
    Free,
    /// Bytes of a request that the server has not received yet, and those of the reply.
    Asking(u64, u64),
    /// Bytes of a reply that the client has not received yet.
    Replying(u64),
    /// Streams of replies that have not ended yet.
    Streaming(usize),
}

/// A connection, and what is under way over it.
#[derive(Clone, Debug)]
struct Path {
    turn: Turn,
    /// Whether the handshake of TLS is behind it, and bytes of it that leave with the next request.
    is_secure: bool,
    finished: u32,
    /// What it requests after the handshake.
    held: Option<Vec<Exchange>>,
    /// Objects in the request under way that keep a page from painting, and the bytes of the reply that come after them.
    blockers: usize,
    after_blockers: u64,
    /// Objects requested over streams, in the order of the requests' streams.
    asked: Vec<Exchange>,
    /// Places of these objects, in the order of the replies' streams.
    answered: Vec<usize>,
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
    /// Whether each object of a page has a stream of its own (QUIC).
    has_streams: bool,
    /// Each connection. The first one is opened when the dialogue begins, unless each unit has its own.
    paths: Vec<Path>,
    /// The time of the next unit's first request, while the client waits for it.
    thinks_until: Option<Instant>,
    is_over: bool,
    /// When it began, and the number of requests that had their time since.
    began: Instant,
    asked_units: u64,
    /// What the unit has not requested yet: for each queue what is requested at once, and after it. Only the first connection requests before
    /// the document is there.
    queues: Vec<VecDeque<Vec<Exchange>>>,
    has_document: bool,
    /// Objects of the unit that keep it from painting and have not come.
    blockers: usize,
    /// The player of a video.
    player: Option<Player>,
    /// Time of the unit's first request.
    asked: Instant,
    /// What is asked of the sockets.
    calls: VecDeque<Call>,
    /// Duration of each unit.
    pub durations: Vec<Span>,
    /// Of each page of 2025, the time until all that keeps it from painting had come.
    pub renderings: Vec<Span>,
}

impl Dialogue {
    /// The dialogue of flow `flow` of the run with this seed, over connections with streams (QUIC) or without (TCP).
    pub fn new(config: DialogueConfig, has_streams: bool, seed: u64, flow: usize) -> Self {
        let path = Path {
            turn: Turn::Unopened,
            // Other traffic begins on connections that stand, and QUIC has a handshake of its own.
            is_secure: has_streams || !matches!(config.replies, Replies::PagesOf2025 { .. }),
            finished: 0,
            held: None,
            blockers: 0,
            after_blockers: 0,
            asked: Vec::new(),
            answered: Vec::new(),
        };
        let mut paths = vec![path; usize::from(config.connections())];
        if config.fresh.is_none() {
            paths[0].turn = Turn::Free;
        }
        let player = match config.replies {
            Replies::Segments(player) => Some(Player::new(player)),
            _ => None,
        };
        Self {
            config,
            random: RandomStream::new(seed, &format!("flow/{flow}/dialogue")),
            has_streams,
            paths,
            thinks_until: Some(Instant::FOREVER),
            is_over: false,
            began: Instant::ZERO,
            asked_units: 0,
            queues: Vec::new(),
            has_document: false,
            blockers: 0,
            player,
            asked: Instant::ZERO,
            calls: VecDeque::new(),
            durations: Vec::new(),
            renderings: Vec::new(),
        }
    }

    /// Whether its first connection stands before it asks for anything.
    pub(crate) const fn opens_at_once(&self) -> bool {
        self.config.fresh.is_none()
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
    const fn role(&self, party: Party) -> Role {
        match (party, self.config.client) {
            (Party::Client, client) => client,
            (Party::Server, Role::Sender) => Role::Receiver,
            (Party::Server, Role::Receiver) => Role::Sender,
        }
    }

    /// Whether every unit is complete.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The time of the next request, if the client is waiting for it.
    pub const fn due(&self) -> Option<Instant> {
        self.thinks_until
    }

    /// Begins at `now`: the client sends its first request at once, or at the first time of its period.
    pub fn begin(&mut self, now: Instant) {
        self.began = now;
        self.thinks_until = Some(match self.config.pace {
            Pace::Think(_) | Pace::Bursts { .. } | Pace::Room => now,
            Pace::Each(period) => period.time(now, 0, &mut self.random),
        });
        self.handle_timeout(now);
    }

    /// The time of the request after one that was answered at `now`.
    fn next(&mut self, now: Instant) -> Instant {
        let mut later = |mean: Span| now + Span::from_secs_f64(self.random.exponential(mean.as_secs_f64()));
        match self.config.pace {
            Pace::Think(mean) => later(mean),
            Pace::Bursts { mean_gap, requests, pause } => {
                let is_over = self.durations.len().is_multiple_of(requests as usize);
                later(if is_over { pause } else { mean_gap })
            }
            Pace::Each(period) => {
                self.asked_units += 1;
                period.time(self.began, self.asked_units, &mut self.random).max(now)
            }
            Pace::Room => self.player.as_ref().map_or(now, |player| player.has_room(now)),
        }
    }

    /// Sends the request of the next unit, if it is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        (self.thinks_until, self.asked, self.has_document) = (None, now, false);
        self.queues = self.unit(now);
        let objects = self.queues.iter().flatten().flatten();
        self.blockers = objects.filter(|object| object.urgency <= BLOCKING).count();
        self.ask(if self.config.fresh.is_some() { self.durations.len() as Connection } else { 0 });
    }

    /// What the next unit requests, by queue.
    fn unit(&mut self, now: Instant) -> Vec<VecDeque<Vec<Exchange>>> {
        let request = self.config.request;
        let one = |exchange| vec![VecDeque::from([vec![exchange]])];
        match self.config.replies {
            Replies::Fixed(reply) => one(Exchange { request, reply, urgency: BLOCKING }),
            Replies::Reports { reply, messages, .. } if self.asked_units.is_multiple_of(messages) => {
                one(Exchange { request, reply, urgency: BLOCKING })
            }
            Replies::Reports { ping, .. } => one(Exchange { request: ping, reply: ping, urgency: BLOCKING }),
            Replies::Pages { spread, .. } => {
                let objects = page_objects::of_2010(request, spread, &mut self.random);
                vec![objects.into_iter().map(|object| vec![object]).collect()]
            }
            Replies::PagesOf2025 { device, origins, http } => {
                let objects = page_objects::of_2025(device, request, &mut self.random);
                let is_multiplexed = self.has_streams || http == HttpVersion::Two;
                page_objects::divided(objects, usize::from(origins), is_multiplexed)
            }
            Replies::Segments(_) => {
                let reply = self.player.as_mut().map_or(0, |player| player.ask(now));
                one(Exchange { request, reply, urgency: BLOCKING })
            }
        }
    }

    /// Processes `bytes` bytes that have arrived at one end of a connection.
    pub fn received(&mut self, connection: Connection, by: Party, bytes: u64, now: Instant) {
        let path = &mut self.paths[usize::from(connection)];
        match (&mut path.turn, by) {
            (Turn::Asking(left, reply), Party::Server) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    let reply = *reply;
                    path.turn = Turn::Replying(reply);
                    self.call(connection, Party::Server, SocketRequest::Write(reply));
                }
            }
            (Turn::Replying(left), Party::Client) => {
                *left = left.saturating_sub(bytes);
                let is_over = *left == 0;
                let unblocked =
                    if *left <= path.after_blockers { std::mem::take(&mut path.blockers) } else { 0 };
                self.unblock(unblocked, now);
                if is_over {
                    self.free(connection, now);
                }
            }
            _ => {}
        }
    }

    /// All of a stream has arrived at one end of a connection: the request of an object, or the object. Streams are numbered in the order of
    /// their writes.
    pub(crate) fn stream_ended(&mut self, connection: Connection, by: Party, number: u64, now: Instant) {
        let path = &mut self.paths[usize::from(connection)];
        let (Turn::Streaming(left), Ok(number)) = (&mut path.turn, usize::try_from(number)) else { return };
        match by {
            Party::Server => {
                let Some(Exchange { reply, urgency, .. }) = path.asked.get(number).copied() else { return };
                path.answered.push(number);
                let request = SocketRequest::WriteStream { bytes: u64::from(reply), urgency, more: false };
                self.call(connection, Party::Server, request);
            }
            Party::Client => {
                let Some(object) = path.answered.get(number).map(|place| path.asked[*place]) else { return };
                *left -= 1;
                let is_over = *left == 0;
                self.unblock(usize::from(object.urgency <= BLOCKING), now);
                if is_over {
                    self.free(connection, now);
                }
            }
        }
    }

    /// Objects that keep a page from painting have come.
    fn unblock(&mut self, objects: usize, now: Instant) {
        self.blockers -= objects;
        if objects > 0 && self.blockers == 0 && matches!(self.config.replies, Replies::PagesOf2025 { .. }) {
            self.renderings.push(now - self.asked);
        }
    }

    /// What the viewer of a video has seen until `now`.
    pub(crate) fn viewing(&self, now: Instant) -> Option<Viewing> {
        self.player.as_ref().map(|player| player.viewing(now))
    }

    /// The next call to a socket.
    pub fn poll_call(&mut self) -> Option<Call> {
        self.calls.pop_front()
    }

    fn call(&mut self, connection: Connection, by: Party, request: SocketRequest) {
        self.calls.push_back(Call { connection, role: self.role(by), request });
    }

    /// The queue of what a connection requests.
    const fn queue(&self, connection: Connection) -> usize {
        (connection / self.config.sharing()) as usize
    }

    /// A connection has nothing to wait for any more: all that are free request what the unit lacks.
    fn free(&mut self, connection: Connection, now: Instant) {
        let path = &mut self.paths[usize::from(connection)];
        path.turn = Turn::Free;
        // The first reply is the document, or that of the handshake before it.
        self.has_document |= path.is_secure;
        path.is_secure = true;
        let is_free = |path: &Path| matches!(path.turn, Turn::Free | Turn::Unopened);
        for connection in 0..self.config.connections() {
            let may_ask = self.has_document || connection == 0;
            if may_ask && is_free(&self.paths[usize::from(connection)]) {
                self.ask(connection);
            }
        }
        if !self.paths.iter().all(is_free) {
            return;
        }
        self.durations.push(now - self.asked);
        if let Some(player) = &mut self.player {
            player.arrive(self.asked, now);
        }
        self.is_over = self.config.count.is_some_and(|count| self.durations.len() >= count as usize);
        self.thinks_until = if self.is_over { None } else { Some(self.next(now)) };
    }

    /// Requests what is next in a free connection's queue, after a handshake if there was none.
    fn ask(&mut self, connection: Connection) {
        let queue = self.queue(connection);
        let held = self.paths[usize::from(connection)].held.take();
        let Some(objects) = held.or_else(|| self.queues[queue].pop_front()) else { return };
        if self.paths[usize::from(connection)].turn == Turn::Unopened {
            self.call(connection, Party::Client, SocketRequest::Open);
        }
        let path = &mut self.paths[usize::from(connection)];
        if !path.is_secure {
            (path.finished, path.held) = (FINISHED, Some(objects));
            path.turn = Turn::Asking(u64::from(HANDSHAKE.request), u64::from(HANDSHAKE.reply));
            return self.call(connection, Party::Client, SocketRequest::Write(u64::from(HANDSHAKE.request)));
        }
        if self.has_streams && matches!(self.config.replies, Replies::PagesOf2025 { .. }) {
            path.turn = Turn::Streaming(objects.len());
            path.asked.extend(&objects);
            for (place, Exchange { request, urgency, .. }) in objects.iter().enumerate() {
                let (bytes, more) = (u64::from(*request), place + 1 < objects.len());
                let request = SocketRequest::WriteStream { bytes, urgency: *urgency, more };
                self.call(connection, Party::Client, request);
            }
            return;
        }
        let replies = |objects: &[Exchange]| objects.iter().map(|object| u64::from(object.reply)).sum();
        path.blockers = objects.iter().take_while(|object| object.urgency <= BLOCKING).count();
        path.after_blockers = replies(&objects[path.blockers..]);
        let requests: u64 = objects.iter().map(|object| u64::from(object.request)).sum();
        let asked = requests + u64::from(std::mem::take(&mut path.finished));
        path.turn = Turn::Asking(asked, replies(&objects));
        self.call(connection, Party::Client, SocketRequest::Write(asked));
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Rate;

    use super::super::page_objects::LEAST_OBJECT;
    use super::super::player::{AdaptationRule, Ladder};
    use super::*;

    const STEP: Span = Span::from_millis(10);

    /// Lets a dialogue go on with everything delivered a step later. Returns bytes asked and replied, connections opened, and the end.
    fn run(dialogue: &mut Dialogue) -> (Vec<u64>, Vec<u64>, usize, Instant) {
        let (mut requests, mut replies, mut opened) = (Vec::new(), Vec::new(), 0);
        let mut way = VecDeque::new();
        let mut now = Instant::from_millis(100);
        dialogue.begin(now);
        loop {
            while let Some(Call { connection, role, request }) = dialogue.poll_call() {
                let SocketRequest::Write(bytes) = request else {
                    opened += 1;
                    continue;
                };
                let by_client = role == dialogue.client();
                if by_client { &mut requests } else { &mut replies }.push(bytes);
                way.push_back((now + STEP, connection, by_client, bytes));
            }
            if dialogue.is_over() {
                return (requests, replies, opened, now);
            }
            let Some((at, connection, by_client, bytes)) = way.pop_front() else {
                now = dialogue.due().expect("a client that waits for nothing thinks");
                dialogue.handle_timeout(now);
                continue;
            };
            now = at;
            let [from, to] =
                if by_client { [Party::Client, Party::Server] } else { [Party::Server, Party::Client] };
            // In two parts, and once to who is not meant.
            dialogue.received(connection, from, bytes, now);
            dialogue.received(connection, to, bytes - 1, now);
            assert_eq!(dialogue.poll_call(), None);
            dialogue.received(connection, to, 1, now);
        }
    }

    #[test]
    fn keys_go_there_and_back() {
        let config = DialogueConfig {
            replies: Replies::Fixed(48),
            request: 36,
            pace: Pace::Think(Span::from_millis(200)),
            client: Role::Receiver,
            count: Some(2_000),
            fresh: None,
        };
        let mut dialogue = Dialogue::new(config, false, 1, 0);
        let (requests, replies, _, end) = run(&mut dialogue);
        assert_eq!((requests, replies), (vec![36; 2_000], vec![48; 2_000]));
        assert!(dialogue.durations.iter().all(|took| *took == STEP * 2));
        // 1,999 gaps of 200 ms on the average: their mean's standard error is 2.2 %.
        let mean = (end.as_secs_f64() - 0.1 - 2_000.0 * 0.02) / 1_999.0;
        assert!((mean / 0.2 - 1.0).abs() < 0.07, "{mean}");
    }

    /// Twelve keys 0.2 s apart, then a pause of 10 s: 100 commands take 99 pauses and 1,100 gaps.
    #[test]
    fn between_bursts_of_requests_there_are_pauses() {
        let ms = Span::from_millis;
        let config = DialogueConfig {
            replies: Replies::Fixed(48),
            request: 48,
            pace: Pace::Bursts { mean_gap: ms(200), requests: 12, pause: ms(10_000) },
            client: Role::Receiver,
            count: Some(1_200),
            fresh: None,
        };
        let (requests, _, _, end) = run(&mut Dialogue::new(config, false, 1, 0));
        let paused = end.as_secs_f64() - 1_200.0 * 0.02 - 1_100.0 * 0.2;
        assert_eq!(requests.len(), 1_200);
        // The standard error of a mean of 99 is 10 %.
        assert!((paused / 990.0 - 1.0).abs() < 0.3, "{paused}");
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
            fresh: None,
        };
        for (interval, last) in [(60_000, 180_000), (15, 60)] {
            let (.., end) = run(&mut Dialogue::new(each(interval), false, 1, 0));
            assert_eq!(end, Instant::from_millis(100 + 7 + last + 20), "{interval} ms");
        }
    }

    /// Each of three requests has a connection, which is opened when the request is due.
    #[test]
    fn a_connection_for_each_request_is_opened_for_it() {
        let period = Period { interval: Span::from_secs(1), jitter: Span::ZERO, phase: Span::from_millis(7) };
        let config = DialogueConfig {
            replies: Replies::Fixed(2),
            request: 2,
            pace: Pace::Each(period),
            client: Role::Sender,
            count: Some(3),
            fresh: Some(3),
        };
        let mut dialogue = Dialogue::new(config, false, 1, 0);
        let (requests, replies, opened, end) = run(&mut dialogue);
        assert_eq!((config.connections(), requests.len(), replies.len(), opened), (3, 3, 3, 3));
        assert!(!dialogue.opens_at_once() && dialogue.paths.iter().all(|path| path.turn == Turn::Free));
        assert_eq!(end, Instant::from_millis(100 + 7 + 2_000 + 20));
    }

    fn pages(connections: Connection) -> DialogueConfig {
        DialogueConfig {
            replies: Replies::Pages { spread: Ratio::from_permille(1_318), connections },
            request: 400,
            pace: Pace::Think(Span::from_secs(5)),
            client: Role::Receiver,
            count: Some(1),
            fresh: None,
        }
    }

    /// The document comes alone, then there are as many objects at once as connections, and the objects are those of one connection.
    #[test]
    fn a_browser_requests_objects_over_all_its_connections() {
        for flow in 0..50 {
            let (requests, replies, opened, end) = run(&mut Dialogue::new(pages(1), false, 1, flow));
            assert_eq!((opened, end), (0, Instant::from_millis(100) + STEP * 2 * requests.len() as u64));
            for connections in [2, 6, 16] {
                let mut dialogue = Dialogue::new(pages(connections), false, 1, flow);
                let several = run(&mut dialogue);
                let rounds = 1 + (requests.len() as u64 - 1).div_ceil(connections.into());
                assert_eq!(several.3, Instant::from_millis(100) + STEP * 2 * rounds, "{connections}");
                assert_eq!((&several.0, &several.1), (&requests, &replies), "{connections}");
                assert_eq!(several.2, usize::from(connections) - 1, "all but the first are opened once");
            }
        }
    }

    /// Every object is asked for on its own, and a page has as many and is as large as the statistics say.
    #[test]
    fn pages_are_objects_one_after_another() {
        let config = pages(1);
        let mut sizes = Vec::new();
        for flow in 0..200 {
            let mut dialogue = Dialogue::new(config, false, 1, flow);
            let (requests, replies, _, end) = run(&mut dialogue);
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

    fn page_of_2025(origins: Connection, http: HttpVersion) -> DialogueConfig {
        DialogueConfig {
            replies: Replies::PagesOf2025 { device: Device::Mobile, origins, http },
            request: 100,
            pace: Pace::Think(Span::from_secs(30)),
            client: Role::Receiver,
            count: Some(2),
            fresh: None,
        }
    }

    /// The first page has its handshake, its document, and everything else at once; the second one no handshake. All is rendered when it is complete,
    /// as a reply comes as a whole here.
    #[test]
    fn a_page_of_2025_is_asked_for_in_two_steps() {
        let mut dialogue = Dialogue::new(page_of_2025(1, HttpVersion::Two), false, 1, 0);
        let (requests, replies, opened, _) = run(&mut dialogue);
        assert_eq!((requests, opened), (vec![517, 164, 6_500, 100, 6_500], 0));
        assert_eq!(replies[0], 3_000);
        assert!(replies[1] < replies[2]);
        assert_eq!(dialogue.durations, [STEP * 6, STEP * 4]);
        assert_eq!(dialogue.renderings, dialogue.durations);
    }

    /// Of several origins each has its connection with a handshake, and its share of the objects; over HTTP/1.1 six, each of which requests one
    /// object after another.
    #[test]
    fn origins_share_the_objects_of_a_page() {
        let totals = |config| {
            let (requests, replies, opened, _) = run(&mut Dialogue::new(config, false, 1, 0));
            let handshakes = requests.iter().filter(|bytes| **bytes == 517).count();
            (opened, requests.len(), handshakes, replies.iter().sum::<u64>() - 3_000 * handshakes as u64)
        };
        let (.., bytes) = totals(page_of_2025(1, HttpVersion::Two));
        // A document and a request to each origin a page, and the handshakes.
        assert_eq!(totals(page_of_2025(10, HttpVersion::Two)), (9, 2 * 11 + 10, 10, bytes));
        assert_eq!(totals(page_of_2025(1, HttpVersion::OnePointOne)), (5, 2 * 66 + 6, 6, bytes));
        let (opened, requests, handshakes, all) = totals(page_of_2025(12, HttpVersion::OnePointOne));
        // 65 objects over 72 connections: some are never opened.
        assert_eq!((opened + 1, requests, all), (handshakes, 2 * 66 + handshakes, bytes));
        assert!((61..=66).contains(&handshakes), "{handshakes}");
    }

    /// Over streams each object is requested and sent on its own, with its urgency, and a page is rendered when its last blocker has
    /// come, whatever is still under way.
    #[test]
    fn an_object_is_a_stream() {
        let mut dialogue = Dialogue::new(page_of_2025(1, HttpVersion::Two), true, 1, 0);
        let mut now = Instant::from_millis(100);
        dialogue.begin(now);
        let (mut asked, mut sent) = (0, 0);
        let mut urgencies = Vec::new();
        for step in 0..2 {
            let mut requests = Vec::new();
            while let Some(call) = dialogue.poll_call() {
                requests.push(call.request);
            }
            assert_eq!(requests.len(), [1, 65][step]);
            let is_last =
                |request: &SocketRequest| matches!(request, SocketRequest::WriteStream { more: false, .. });
            assert_eq!(requests.iter().position(is_last), Some(requests.len() - 1));
            // The last requests come first.
            for number in (asked..asked + requests.len() as u64).rev() {
                dialogue.stream_ended(0, Party::Server, number, now);
                let Some(Call { request: SocketRequest::WriteStream { urgency, .. }, .. }) =
                    dialogue.poll_call()
                else {
                    panic!("a reply to each request")
                };
                urgencies.push(urgency);
            }
            asked += requests.len() as u64;
            // Replies end in the order in which they were written, but the images of the second step, which were written first, at the end.
            let images = if step == 0 { 0 } else { 29 };
            let numbers = (sent + images..asked).chain(sent..sent + images);
            for number in numbers {
                now += STEP;
                dialogue.stream_ended(0, Party::Client, number, now);
            }
            sent = asked;
        }
        assert_eq!(urgencies[0], 0);
        assert!(urgencies[1..].is_sorted_by(|one, next| one >= next), "{urgencies:?}");
        assert_eq!(dialogue.durations, [STEP * 66]);
        assert_eq!(dialogue.renderings, [STEP * (66 - 29)]);
    }

    /// A video of ten segments ends with the last of them, and the player has seen all.
    #[test]
    fn a_video_is_asked_for_in_segments() {
        let player = PlayerConfig {
            ladder: Ladder::new(&[Rate::from_bps(800_000), Rate::from_bps(8_000_000)]),
            rule: AdaptationRule::Throughput,
            segment: Span::from_secs(4),
            buffer: Span::from_secs(12),
        };
        let config = DialogueConfig {
            replies: Replies::Segments(player),
            request: 400,
            pace: Pace::Room,
            client: Role::Receiver,
            count: Some(10),
            fresh: None,
        };
        let mut dialogue = Dialogue::new(config, false, 1, 0);
        let (requests, replies, _, end) = run(&mut dialogue);
        assert_eq!((requests.len(), replies[0]), (10, 400_000));
        // 400 kB in 20 ms are more than the larger rate.
        assert_eq!(replies[1..], [4_000_000; 9]);
        // Playing begins at 20 ms. Of 40 s at most 12 s are ahead when the last segment is there, which takes 20 ms itself.
        assert_eq!(end, Instant::from_millis(100 + 20 + 28_000 + 20));
        let seen = dialogue.viewing(end).unwrap();
        assert_eq!((seen.segments, seen.stalls, seen.switches), (10, 0, 1));
        assert_eq!(seen.startup, Some(Span::from_millis(20)));
    }
}
