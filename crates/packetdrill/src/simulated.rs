//! The machine of the profile `linux` under the sockets that scripts use.
//!
//! One connection at a time. Left out: calls that only the socket layer answers (epoll, splice, control messages), and everything
//! that the machine has not.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Machine, Seq, Span};
use airwatt_proto::tcp::linux::{
    Connection, Control, Input, KeepAlive, LinuxConfig, Output, Packet, TimerRule,
};
use airwatt_proto::tcp::{Event, State};

use crate::expression::Symbols;
use crate::script::{Literal, SystemCall};
use crate::settings::{KernelSetting, Sysctls};
use crate::stack::{Refused, Sent, Stack};

/// The initial sequence number of the machine, so that sequence numbers wrap within a script.
const INITIAL: u32 = 0xffff_e000;
/// `O_RDWR` of fcntl(2).
const READ_WRITE: i64 = 2;

/// The machine, its sockets and its host.
#[derive(Debug)]
pub struct Simulated {
    config: LinuxConfig,
    sysctls: Sysctls,
    now: Instant,
    connection: Option<Connection>,
    sockets: BTreeMap<i64, Socket>,
    sent: VecDeque<Sent>,
    /// Options that were set before there was a connection.
    early: Vec<(String, i64)>,
    /// The times of keep-alives, which are sent if `keeps_alive`.
    keep_alive: KeepAlive,
    keeps_alive: bool,
    /// Bytes of a write that blocks which are still to be written.
    writing: Option<u64>,
    refuses: bool,
    /// The error that ended the connection, until a call has returned it.
    error: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Socket {
    listens: bool,
    non_blocking: bool,
}

impl Default for Simulated {
    fn default() -> Self {
        Self::new(LinuxConfig::default())
    }
}

impl Simulated {
    /// A host with these settings. Times of scripts are those of a kernel of 1000 Hz, and its timers are exact.
    pub fn new(config: LinuxConfig) -> Self {
        let config = LinuxConfig {
            initial_sequence: Seq::new(INITIAL),
            timers: TimerRule::Exact,
            read_at_once: false,
            ..config
        };
        Self {
            config,
            sysctls: Sysctls::default(),
            now: Instant::ZERO,
            connection: None,
            sockets: BTreeMap::new(),
            sent: VecDeque::new(),
            early: Vec::new(),
            keep_alive: KeepAlive::default(),
            keeps_alive: false,
            writing: None,
            refuses: false,
            error: None,
        }
    }

    fn input(&mut self, input: Input) {
        if let Some(connection) = &mut self.connection {
            connection.handle_input(input, self.now);
        }
        self.drain();
    }

    fn drain(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(output) = connection.poll_output() {
            match output {
                Output::Transmit(packet) => self.sent.push_back(Sent { at: self.now, packet }),
                Output::Event(Event::Reset) => self.error = Some("ECONNRESET"),
                Output::Event(Event::TimedOut) => self.error = Some("ETIMEDOUT"),
                Output::Event(_) => {}
            }
        }
    }

    fn connection(&mut self) -> Result<&mut Connection, Refused> {
        self.connection.as_mut().ok_or_else(|| Refused::error("ENOTCONN"))
    }

    /// Creates the connection with the options that were set.
    fn create(&mut self) {
        self.connection = Some(Connection::new(self.config.clone()));
        for (name, value) in std::mem::take(&mut self.early) {
            self.apply(&name, value);
        }
        self.apply_keep_alive();
        let refuses = self.refuses;
        self.input(Input::Device { refuses });
    }

    /// Sets a time or number of keep-alives. Returns whether the value of sysctl is one.
    fn keep_alive_time(&mut self, name: &str, value: &str) -> bool {
        let number = value.parse().unwrap_or(0);
        match name {
            "net.ipv4.tcp_keepalive_time" => self.keep_alive.time = Span::from_secs(number),
            "net.ipv4.tcp_keepalive_intvl" => self.keep_alive.interval = Span::from_secs(number),
            "net.ipv4.tcp_keepalive_probes" => self.keep_alive.probes = number as u32,
            _ => return false,
        }
        true
    }

    fn apply_keep_alive(&mut self) {
        let keep_alive = self.keeps_alive.then_some(self.keep_alive);
        if let Some(connection) = &mut self.connection {
            connection.set_keep_alive(keep_alive, self.now);
        }
    }

    fn socket(&self, call: &SystemCall) -> Result<Socket, Refused> {
        let number = call.arguments.first().and_then(Literal::number).unwrap_or(-1);
        self.sockets.get(&number).copied().ok_or_else(|| Refused::error("EBADF"))
    }

    /// An option of a connection that exists.
    fn apply(&mut self, name: &str, value: i64) {
        let now = self.now;
        let bytes = value.max(0) as u64;
        let Some(connection) = &mut self.connection else { return };
        match name {
            "TCP_NODELAY" => connection.set_no_delay(value != 0, now),
            "TCP_CORK" => connection.set_cork(value != 0, now),
            "SO_SNDBUF" | "SO_SNDBUFFORCE" => connection.set_send_buffer(bytes),
            "SO_RCVBUF" | "SO_RCVBUFFORCE" => connection.set_receive_buffer(bytes),
            "TCP_USER_TIMEOUT" => connection
                .change(|config| config.user_timeout = (value > 0).then(|| Span::from_millis(bytes))),
            _ => {}
        }
        self.drain();
    }

    fn set_option(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let name = call.arguments.get(2).and_then(Literal::name).unwrap_or("").to_owned();
        let argument = call.arguments.get(3);
        let value = argument.and_then(Literal::number);
        match (name.as_str(), value) {
            ("SO_REUSEADDR" | "SO_REUSEPORT" | "SO_TIMESTAMPING" | "SO_LINGER", _) => {}
            ("TCP_CONGESTION", _) => {
                let name = argument.and_then(Literal::name).unwrap_or("");
                let control = congestion_control(name).map_err(Refused::Unsupported)?;
                self.config.control = control;
                if let Some(connection) = &mut self.connection {
                    connection.change(|config| config.control = control);
                }
            }
            ("SO_KEEPALIVE" | "TCP_KEEPIDLE" | "TCP_KEEPINTVL" | "TCP_KEEPCNT", Some(value)) => {
                let number = value.max(0) as u64;
                match name.as_str() {
                    "SO_KEEPALIVE" => self.keeps_alive = value != 0,
                    "TCP_KEEPIDLE" => self.keep_alive.time = Span::from_secs(number),
                    "TCP_KEEPINTVL" => self.keep_alive.interval = Span::from_secs(number),
                    _ => self.keep_alive.probes = number as u32,
                }
                self.apply_keep_alive();
            }
            ("TCP_MAXSEG", Some(value)) => self.config.mss = self.config.mss.min(value.max(88) as u32),
            (
                "TCP_NODELAY" | "TCP_CORK" | "SO_SNDBUF" | "SO_SNDBUFFORCE" | "SO_RCVBUF" | "SO_RCVBUFFORCE"
                | "TCP_USER_TIMEOUT",
                Some(value),
            ) => {
                if self.connection.is_some() {
                    self.apply(&name, value);
                } else {
                    self.early.push((name, value));
                }
            }
            _ => return Err(Refused::Unsupported(format!("the socket option {name}"))),
        }
        Ok(0)
    }

    fn accept(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let listener = self.socket(call)?;
        let done = self.connection.as_ref().is_some_and(|connection| {
            !matches!(connection.state(), State::Closed | State::Listen | State::SynSent | State::SynReceived)
        });
        if !done {
            return Err(if listener.non_blocking { Refused::error("EAGAIN") } else { Refused::Blocked });
        }
        let flags = call.arguments.get(3);
        let non_blocking = flags.is_some_and(|flags| flags.has("SOCK_NONBLOCK"));
        Ok(self.number(call, Socket { listens: false, non_blocking }))
    }

    /// Gives a new socket the number that the script expects.
    fn number(&mut self, call: &SystemCall, socket: Socket) -> i64 {
        let free = self.sockets.keys().max().map_or(3, |last| last + 1);
        let number = call.result.number().filter(|number| *number >= 0).unwrap_or(free);
        self.sockets.insert(number, socket);
        number
    }

    fn connect(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let socket = self.socket(call)?;
        if self.connection.is_none() {
            self.create();
            self.input(Input::Open);
            return Err(if socket.non_blocking { Refused::error("EINPROGRESS") } else { Refused::Blocked });
        }
        match self.connection()?.state() {
            State::SynSent | State::SynReceived if socket.non_blocking => Err(Refused::error("EALREADY")),
            State::SynSent | State::SynReceived => Err(Refused::Blocked),
            State::Closed => Err(Refused::error(self.error.take().unwrap_or("ECONNREFUSED"))),
            _ => Ok(0),
        }
    }

    /// The bytes of a write: its length, or those of a message.
    fn length(call: &SystemCall) -> Option<u64> {
        let lengths = |message: &Literal| match message.field("msg_iov")? {
            Literal::List(parts) => parts
                .iter()
                .map(|part| match part {
                    Literal::Fields(fields) => fields.last().and_then(|(_, length)| length.number()),
                    _ => None,
                })
                .sum::<Option<i64>>(),
            _ => None,
        };
        let length = match (call.name.as_str(), call.arguments.get(1)) {
            ("sendmsg", Some(message)) => lengths(message)?,
            _ => call.arguments.get(2)?.number()?,
        };
        u64::try_from(length).ok()
    }

    fn write(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let socket = self.socket(call)?;
        let flags = match call.name.as_str() {
            "send" | "sendto" => call.arguments.get(3),
            "sendmsg" => call.arguments.get(2),
            _ => None,
        };
        let has = |flag: &str| flags.is_some_and(|flags| flags.has(flag));
        let whole = Self::length(call)
            .ok_or_else(|| Refused::Unsupported(format!("the arguments of {}", call.name)))?;
        let bytes = self.writing.unwrap_or(whole);
        if let Some(error) = self.error.take() {
            return Err(Refused::error(error));
        }
        let connection = self.connection()?;
        if !matches!(connection.state(), State::Established | State::CloseWait) {
            return Err(Refused::error("EPIPE"));
        }
        let part = bytes.min(connection.room());
        let non_blocking = socket.non_blocking || has("MSG_DONTWAIT");
        let full = part < bytes;
        if part > 0 {
            let more = has("MSG_MORE") && !full;
            self.input(Input::Write { bytes: part, more, record: has("MSG_EOR") && !full });
        }
        if full && !non_blocking {
            self.writing = Some(bytes - part);
            return Err(Refused::Blocked);
        }
        self.writing = None;
        if part == 0 && bytes > 0 {
            return Err(Refused::error("EAGAIN"));
        }
        Ok((whole - (bytes - part)) as i64)
    }

    fn read(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let socket = self.socket(call)?;
        let flags = call.arguments.get(3);
        let non_blocking = socket.non_blocking || flags.is_some_and(|flags| flags.has("MSG_DONTWAIT"));
        let most = call.arguments.get(2).and_then(Literal::number).unwrap_or(0).max(0) as u64;
        let connection = self.connection()?;
        let bytes = connection.readable().min(most);
        if bytes == 0
            && let Some(error) = self.error.take()
        {
            return Err(Refused::error(error));
        }
        let connection = self.connection()?;
        if bytes == 0 && connection.state() == State::Closed {
            return Ok(0);
        }
        if bytes == 0 && !connection.peer_closed() {
            return Err(if non_blocking { Refused::error("EAGAIN") } else { Refused::Blocked });
        }
        self.input(Input::Read(bytes));
        Ok(bytes as i64)
    }

    fn close(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let socket = self.socket(call)?;
        let number = call.arguments.first().and_then(Literal::number).unwrap_or(-1);
        self.sockets.remove(&number);
        let accepted = self.sockets.values().all(|other| other.listens);
        if !socket.listens && accepted {
            self.input(Input::Close);
        }
        Ok(0)
    }
}

impl Stack for Simulated {
    fn set(&mut self, setting: &KernelSetting) -> Result<(), String> {
        match setting {
            KernelSetting::Sysctl(name, value) => {
                self.sysctls.set(name, value);
                if !self.keep_alive_time(name, value) {
                    sysctl(&mut self.config, name, value)?;
                }
            }
            KernelSetting::Fq => self.config.paced = true,
            KernelSetting::Fifo(limit) => (self.config.paced, self.refuses) = (false, *limit == Some(0)),
            KernelSetting::Offload(on) => self.config.gso_max_size = if *on { 65_536 } else { 0 },
            KernelSetting::HystartDetect(tests) => self.config.hystart = *tests,
        }
        let (config, refuses) = (self.config.clone(), self.refuses);
        if let Some(connection) = &mut self.connection {
            connection.change(|own| {
                *own = LinuxConfig { user_timeout: own.user_timeout, keep_alive: own.keep_alive, ..config };
            });
        }
        self.apply_keep_alive();
        self.input(Input::Device { refuses });
        Ok(())
    }

    fn advance(&mut self, until: Instant) -> Instant {
        while self.sent.is_empty() {
            let due = self.connection.as_ref().and_then(Machine::poll_timeout);
            let Some(timeout) = due.filter(|timeout| timeout.at <= until) else {
                self.now = self.now.max(until);
                break;
            };
            self.now = self.now.max(timeout.at);
            if let Some(connection) = &mut self.connection {
                connection.handle_timeout(self.now);
            }
            self.drain();
        }
        self.now
    }

    fn wait(&mut self, until: Instant) {
        let mut taken = std::mem::take(&mut self.sent);
        while self.now < until {
            self.advance(until);
            taken.append(&mut self.sent);
        }
        self.sent = taken;
    }

    fn inject(&mut self, packet: Packet) {
        self.input(Input::Packet(packet));
    }

    fn sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    fn call(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        match call.name.as_str() {
            "socket" => Ok(self.number(call, Socket::default())),
            "bind" => Ok(0),
            "listen" => {
                let number = call.arguments.first().and_then(Literal::number).unwrap_or(-1);
                self.sockets.entry(number).or_default().listens = true;
                self.create();
                self.input(Input::Listen);
                Ok(0)
            }
            "setsockopt" => self.set_option(call),
            "getsockopt" if call.arguments.get(2).is_some_and(|name| name.has("SO_ERROR")) => Ok(0),
            "accept" | "accept4" => self.accept(call),
            "connect" => self.connect(call),
            "fcntl" => {
                let number = call.arguments.first().and_then(Literal::number).unwrap_or(-1);
                let socket = self.sockets.entry(number).or_default();
                if call.arguments.get(1).is_some_and(|command| command.has("F_SETFL")) {
                    socket.non_blocking = call.arguments.get(2).is_some_and(|flags| flags.has("O_NONBLOCK"));
                    return Ok(0);
                }
                Ok(READ_WRITE)
            }
            "write" | "send" | "sendto" | "sendmsg" => self.write(call),
            "read" | "recv" | "recvfrom" => self.read(call),
            "close" => self.close(call),
            "shutdown" => {
                self.input(Input::Shutdown);
                Ok(0)
            }
            name => Err(Refused::Unsupported(format!("the call {name}"))),
        }
    }

    fn info(&mut self) -> Symbols {
        let now = self.now;
        let values = self.connection.as_ref().map(|connection| connection.info(now)).unwrap_or_default();
        values.into_iter().map(|(name, value)| (name.to_owned(), value as i64)).collect()
    }

    fn slack(&self) -> Span {
        Span::ZERO
    }
}

/// The congestion control of this name.
fn congestion_control(name: &str) -> Result<Control, String> {
    let known = Control::NAMED.iter().find(|(known, _)| *known == name);
    known.map(|(_, control)| *control).ok_or_else(|| format!("congestion control {name:?}"))
}

/// Sets what a value of sysctl means for the machine.
fn sysctl(config: &mut LinuxConfig, name: &str, value: &str) -> Result<(), String> {
    let numbers: Vec<u64> = value.split_whitespace().flat_map(str::parse).collect();
    let first = numbers.first().copied().unwrap_or(0);
    let is_set = first != 0;
    let last = numbers.last().copied().unwrap_or(0);
    let second = numbers.get(1).copied().unwrap_or(first);
    match name.trim_start_matches("net.ipv4.") {
        "tcp_rmem" => config.receive_buffer = (second, last),
        "tcp_wmem" => config.send_buffer = (second, last),
        "tcp_timestamps" => config.timestamps = is_set,
        "tcp_sack" => config.sack = is_set,
        "tcp_dsack" => config.dsack = is_set,
        "tcp_window_scaling" => config.window_scaling = is_set,
        "tcp_frto" => config.frto = is_set,
        "tcp_reordering" => config.reordering = first as u32,
        "tcp_max_reordering" => config.reordering_max = first as u32,
        "tcp_slow_start_after_idle" => config.slow_start_after_idle = is_set,
        "tcp_early_retrans" => config.tail_loss_probe = first >= 3,
        "tcp_tso_win_divisor" => config.tso_win_divisor = first as u32,
        "tcp_min_tso_segs" => config.min_tso_segs = first as u32,
        "tcp_ecn" if first <= 5 => config.ecn = first as u8,
        "tcp_pacing_ss_ratio" => config.pacing_ratios.0 = first,
        "tcp_pacing_ca_ratio" => config.pacing_ratios.1 = first,
        "tcp_syn_retries" => config.syn_retries.0 = first as u32,
        "tcp_synack_retries" => config.syn_retries.1 = first as u32,
        "tcp_congestion_control" => config.control = congestion_control(value)?,
        // What the machine always does, or has no use for.
        "tcp_recovery" if is_set => {}
        "tcp_ecn_option" if !is_set => {}
        "tcp_notsent_lowat" | "tcp_no_metrics_save" | "tcp_mtu_probing" if !is_set || first >= 1 << 31 => {}
        "tcp_no_metrics_save" | "tcp_limit_output_bytes" | "tcp_invalid_ratelimit" => {}
        other => return Err(format!("the setting {other}={value}")),
    }
    Ok(())
}
