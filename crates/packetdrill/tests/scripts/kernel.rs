//! The kernel of this host as a stack that scripts run against: sockets and a TUN device in a network namespace of their own.
//!
//! Segmentation offload is on, so that bursts are seen as the kernel makes them.

#![allow(unsafe_code, reason = "no safe function reads TCP_INFO or sets an option by its number")]

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use airwatt_base::{Instant, Seq, Span};
use airwatt_linux::namespace::isolated;
use airwatt_linux::tun::{self, TunSettings};
use airwatt_packetdrill::expression::Symbols;
use airwatt_packetdrill::script::{Literal, SystemCall};
use airwatt_packetdrill::settings::KernelSetting;
use airwatt_packetdrill::{Refused, Sent, Stack};
use airwatt_proto::tcp::linux::{Options, Packet, Stamps, bits};
use etherparse::{IpNumber, Ipv4Header, Ipv4HeaderSlice, TcpHeader, TcpHeaderSlice, TcpOptionElement};
use nix::libc;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::{ClockId, clock_gettime};
use tun_rs::SyncDevice;

/// The header that the kernel puts before each packet of a device with offload (virtio_net_hdr).
const VNET_HEADER: usize = 10;
const HOST: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 2);
const HOST_PORT: u16 = 8080;
const PEER_PORT: u16 = 40_000;
/// How late a loaded host may be.
const SLACK: Span = Span::from_millis(10);

/// The kernel, from its namespace.
pub(crate) struct Kernel {
    device: SyncDevice,
    begin: u64,
    sockets: BTreeMap<i64, Socket>,
    last: Option<i64>,
    sent: VecDeque<Sent>,
    /// The port of the kernel's end, once it has sent a packet.
    port: u16,
}

struct Socket {
    fd: OwnedFd,
    non_blocking: bool,
    listens: bool,
    /// Bytes of a write that blocks which are still to be written.
    writing: Option<usize>,
}

/// Whether this process may create name spaces and devices.
pub(crate) fn is_reachable() -> bool {
    nix::unistd::geteuid().is_root() && fs::exists("/dev/net/tun").unwrap_or(false)
}

/// Runs `job` against the kernel with a fresh device in a fresh namespace.
pub(crate) fn on_a_host_of_its_own<T: Send>(job: impl FnOnce(&mut Kernel) -> T + Send) -> T {
    isolated(|| {
        let settings = TunSettings {
            name: "script0".to_owned(),
            addresses: vec![(HOST.into(), 24)],
            mtu: 1500,
            offload: true,
        };
        let device = tun::create(&settings).expect("a TUN device");
        // Measurements of an earlier connection must not count.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
        let sockets = BTreeMap::new();
        let mut kernel =
            Kernel { device, begin: clock(), sockets, last: None, sent: VecDeque::new(), port: 0 };
        job(&mut kernel)
    })
    .expect("a network namespace")
}

fn clock() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Kernel {
    fn now(&self) -> Instant {
        Instant::from_nanos(clock() - self.begin)
    }

    /// Reads what the kernel sends until `until`, or until it has sent something if `first`.
    fn listen(&mut self, until: Instant, first: bool) -> Instant {
        loop {
            self.read();
            let now = self.now();
            if now >= until || (first && !self.sent.is_empty()) {
                return now;
            }
            let left = until.saturating_since(now).as_nanos();
            let wait =
                Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
            let mut fds = [PollFd::from_borrowed_fd(self.device.as_fd(), PollFlags::IN)];
            let _ = poll(&mut fds, Some(&wait));
        }
    }

    fn read(&mut self) {
        let mut buffer = vec![0; VNET_HEADER + tun::PACKET_BYTES_MAX];
        while let Ok(length) = self.device.recv(&mut buffer) {
            let at = self.now();
            let Some(bytes) = buffer.get(VNET_HEADER..length) else { continue };
            if let Some((packet, port)) = decode(bytes) {
                self.port = port;
                self.sent.push_back(Sent { at, packet });
            }
        }
    }

    fn option(&self, number: i64, level: i32, name: i32, value: i32) -> Result<i64, Refused> {
        let fd = self.fd(number)?.as_raw_fd();
        let pointer = (&raw const value).cast();
        // SAFETY: the pointer is to a number of the length that is given, and lives during the call.
        let result = unsafe { libc::setsockopt(fd, level, name, pointer, size_of::<i32>() as u32) };
        if result == 0 { Ok(0) } else { Err(Refused::Error("EINVAL".to_owned())) }
    }

    fn fd(&self, number: i64) -> Result<&OwnedFd, Refused> {
        let socket = self.sockets.get(&number).map(|socket| &socket.fd);
        socket.ok_or_else(|| Refused::Error("EBADF".to_owned()))
    }

    fn add(&mut self, call: &SystemCall, fd: OwnedFd) -> i64 {
        let number = call.result.number().filter(|number| *number >= 0).unwrap_or(100);
        self.sockets.insert(number, Socket { fd, non_blocking: false, listens: false, writing: None });
        self.last = Some(number);
        number
    }

    fn set_option(&self, number: i64, call: &SystemCall) -> Result<i64, Refused> {
        let name = call.arguments.get(2).and_then(Literal::name).unwrap_or("");
        let value = call.arguments.get(3).and_then(Literal::number).unwrap_or(0) as i32;
        let (level, name) = match name {
            "SO_REUSEADDR" => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
            "SO_SNDBUF" => (libc::SOL_SOCKET, libc::SO_SNDBUF),
            "SO_RCVBUF" => (libc::SOL_SOCKET, libc::SO_RCVBUF),
            "SO_KEEPALIVE" => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            "TCP_KEEPIDLE" => (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
            "TCP_KEEPINTVL" => (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
            "TCP_KEEPCNT" => (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
            "TCP_NODELAY" => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            "TCP_CORK" => (libc::IPPROTO_TCP, libc::TCP_CORK),
            "TCP_MAXSEG" => (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
            "TCP_USER_TIMEOUT" => (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
            "TCP_CONGESTION" => {
                let algorithm = call.arguments.get(3).and_then(Literal::name).unwrap_or("cubic");
                let result = rustix::net::sockopt::set_tcp_congestion(self.fd(number)?, algorithm);
                return result.map(|()| 0).map_err(refused);
            }
            other => return Err(Refused::Unsupported(format!("the socket option {other}"))),
        };
        self.option(number, level, name, value)
    }

    fn write(&mut self, number: i64, call: &SystemCall) -> Result<i64, Refused> {
        let length = call.arguments.get(2).and_then(Literal::number).unwrap_or(0) as usize;
        let flags = call.arguments.get(3);
        let mut options = libc::MSG_NOSIGNAL;
        for (name, flag) in [("MSG_MORE", libc::MSG_MORE), ("MSG_EOR", libc::MSG_EOR)] {
            if flags.is_some_and(|flags| flags.has(name)) {
                options |= flag;
            }
        }
        let socket = self.sockets.get_mut(&number).ok_or_else(|| Refused::Error("EBADF".to_owned()))?;
        let left = socket.writing.unwrap_or(length);
        let flags = rustix::net::SendFlags::from_bits_retain(options as u32);
        let written = match rustix::net::send(&socket.fd, &vec![0; left], flags) {
            Err(Errno::AGAIN) if !socket.non_blocking => 0,
            result => result.map_err(refused)?,
        };
        socket.writing = Some(left - written).filter(|left| *left > 0 && !socket.non_blocking);
        if socket.writing.is_some() {
            return Err(Refused::Blocked);
        }
        Ok((length - left + written) as i64)
    }

    /// What may block, on a socket that the kernel has as non-blocking.
    fn blocking(&self, number: i64, error: Errno) -> Refused {
        let blocks = self.sockets.get(&number).is_some_and(|socket| !socket.non_blocking);
        if error == Errno::AGAIN && blocks { Refused::Blocked } else { refused(error) }
    }
}

fn refused(error: Errno) -> Refused {
    let number = nix::errno::Errno::from_raw(error.raw_os_error());
    Refused::Error(format!("{number:?}"))
}

impl Stack for Kernel {
    fn set(&mut self, setting: &KernelSetting) -> Result<(), String> {
        match setting {
            KernelSetting::Sysctl(name, value) => {
                // The namespace may not choose each congestion control; its sockets do.
                if name == "net.ipv4.tcp_congestion_control" {
                    return Ok(());
                }
                let path = format!("/proc/sys/{}", name.replace('.', "/"));
                fs::write(&path, value).map_err(|error| format!("{path}: {error}"))
            }
            KernelSetting::Fifo(None) | KernelSetting::Offload(true) | KernelSetting::HystartDetect(3) => {
                Ok(())
            }
            other => Err(format!("{other:?} on a kernel")),
        }
    }

    fn advance(&mut self, until: Instant) -> Instant {
        self.listen(until, true)
    }

    fn wait(&mut self, until: Instant) {
        self.listen(until, false);
    }

    fn inject(&mut self, packet: Packet) {
        let bytes = encode(&packet, if self.port == 0 { HOST_PORT } else { self.port });
        self.device.send(&bytes).expect("the device takes a packet");
        self.read();
    }

    fn sent(&mut self) -> Option<Sent> {
        self.read();
        self.sent.pop_front()
    }

    fn call(&mut self, call: &SystemCall) -> Result<i64, Refused> {
        let number = call.arguments.first().and_then(Literal::number).unwrap_or(-1);
        let result = match call.name.as_str() {
            "socket" => {
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let fd = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
                let fd = fd.map_err(refused)?;
                rustix::net::sockopt::set_tcp_congestion(&fd, "cubic").map_err(refused)?;
                Ok(self.add(call, fd))
            }
            "setsockopt" => self.set_option(number, call),
            "bind" => {
                let address = SocketAddrV4::new(HOST, HOST_PORT);
                rustix::net::bind(self.fd(number)?, &address).map(|()| 0).map_err(refused)
            }
            "listen" => {
                if let Some(socket) = self.sockets.get_mut(&number) {
                    socket.listens = true;
                }
                rustix::net::listen(self.fd(number)?, 1).map(|()| 0).map_err(refused)
            }
            "accept" => {
                let fd = rustix::net::accept_with(self.fd(number)?, SocketFlags::NONBLOCK);
                let fd = fd.map_err(|error| self.blocking(number, error))?;
                Ok(self.add(call, fd))
            }
            "connect" => {
                let address = SocketAddrV4::new(PEER, PEER_PORT);
                match rustix::net::connect(self.fd(number)?, &address) {
                    Ok(()) | Err(Errno::ISCONN) => Ok(0),
                    Err(Errno::INPROGRESS | Errno::ALREADY)
                        if self.sockets.get(&number).is_some_and(|socket| !socket.non_blocking) =>
                    {
                        Err(Refused::Blocked)
                    }
                    Err(error) => Err(refused(error)),
                }
            }
            "fcntl" => {
                let sets = call.arguments.get(1).is_some_and(|command| command.has("F_SETFL"));
                let on = call.arguments.get(2).is_some_and(|flags| flags.has("O_NONBLOCK"));
                if let Some(socket) = self.sockets.get_mut(&number).filter(|_| sets) {
                    socket.non_blocking = on;
                }
                Ok(if sets { 0 } else { 2 })
            }
            "write" | "send" | "sendto" => self.write(number, call),
            "read" | "recv" => {
                let most = call.arguments.get(2).and_then(Literal::number).unwrap_or(0) as usize;
                let read = rustix::io::read(self.fd(number)?, &mut vec![0; most][..]);
                read.map(|bytes| bytes as i64).map_err(|error| self.blocking(number, error))
            }
            "close" => {
                self.sockets.remove(&number).map(|_| 0).ok_or_else(|| Refused::Error("EBADF".to_owned()))
            }
            "shutdown" => {
                let how = rustix::net::Shutdown::Write;
                rustix::net::shutdown(self.fd(number)?, how).map(|()| 0).map_err(refused)
            }
            name => Err(Refused::Unsupported(format!("the call {name} on a kernel"))),
        };
        self.read();
        result
    }

    fn info(&mut self) -> Symbols {
        let mut names = Symbols::new();
        let Some(fd) = self.last.and_then(|last| self.sockets.get(&last)).map(|socket| socket.fd.as_raw_fd())
        else {
            return names;
        };
        let mut info = [0_u8; 256];
        let mut length = info.len() as u32;
        let pointer = info.as_mut_ptr().cast();
        // SAFETY: the kernel writes at most `length` bytes to the array, which lives during the call.
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &raw mut length) };
        // Offsets in struct tcp_info of linux/tcp.h.
        for (name, at) in [("state", 0), ("ca_state", 1), ("retransmits", 2), ("probes", 3), ("backoff", 4)] {
            names.insert(format!("tcpi_{name}"), i64::from(info[at]));
        }
        let words = [
            ("rto", 8),
            ("snd_mss", 16),
            ("rcv_mss", 20),
            ("unacked", 24),
            ("sacked", 28),
            ("lost", 32),
            ("retrans", 36),
            ("last_data_sent", 44),
            ("last_data_recv", 52),
            ("last_ack_recv", 56),
            ("rtt", 68),
            ("rttvar", 72),
            ("snd_ssthresh", 76),
            ("snd_cwnd", 80),
            ("advmss", 84),
            ("reordering", 88),
            ("total_retrans", 100),
            ("min_rtt", 148),
            ("delivered", 192),
            ("delivered_ce", 196),
            ("reord_seen", 220),
        ];
        for (name, at) in words {
            let word = u32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"));
            names.insert(format!("tcpi_{name}"), i64::from(word));
        }
        for (name, at) in [("busy_time", 168), ("rwnd_limited", 176), ("sndbuf_limited", 184)] {
            let value = u64::from_ne_bytes(info[at..at + 8].try_into().expect("eight bytes"));
            names.insert(format!("tcpi_{name}"), value as i64);
        }
        names
    }

    fn slack(&self) -> Span {
        SLACK
    }
}

/// A packet of the kernel, and its source port. Payload beyond the headers is not looked at.
fn decode(bytes: &[u8]) -> Option<(Packet, u16)> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    if ip.protocol() != IpNumber::TCP {
        return None;
    }
    let segment = bytes.get(usize::from(ip.ihl()) * 4..)?;
    let tcp = TcpHeaderSlice::from_slice(segment).ok()?;
    let mut options = Options::default();
    for option in tcp.options_iterator().flatten() {
        match option {
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                for (start, end) in std::iter::once(first).chain(others.into_iter().flatten()) {
                    options.sack.push(Seq::new(start), Seq::new(end));
                }
            }
            TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some(Stamps { value, echo }),
            TcpOptionElement::Noop => {}
        }
    }
    let packet = Packet {
        seq: Seq::new(tcp.sequence_number()),
        ack: Seq::new(tcp.acknowledgment_number()),
        window: tcp.window_size(),
        len: (segment.len() - usize::from(tcp.data_offset()) * 4) as u32,
        // The byte of the header with the bits, and the one before it.
        flags: u16::from_be_bytes([segment[12] & 1, segment[13]]),
        ecn: bytes[1] & 3,
        urgent: tcp.urgent_pointer(),
        options,
    };
    Some((packet, tcp.source_port()))
}

/// A packet for the kernel, with the empty header that stands before it.
fn encode(packet: &Packet, port: u16) -> Vec<u8> {
    let mut tcp = TcpHeader::new(PEER_PORT, port, packet.seq.value(), packet.window);
    tcp.acknowledgment_number = packet.ack.value();
    tcp.fin = packet.has(bits::FIN);
    tcp.syn = packet.has(bits::SYN);
    tcp.rst = packet.has(bits::RST);
    tcp.psh = packet.has(bits::PSH);
    tcp.ack = packet.has(bits::ACK);
    tcp.urg = packet.has(bits::URG);
    tcp.ece = packet.has(bits::ECE);
    tcp.cwr = packet.has(bits::CWR);
    tcp.ns = packet.has(bits::AE);
    let mut options = Vec::new();
    options.extend(packet.options.mss.map(TcpOptionElement::MaximumSegmentSize));
    options.extend(packet.options.window_scale.map(TcpOptionElement::WindowScale));
    if packet.options.sack_permitted {
        options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    let stamps = packet.options.timestamps;
    options.extend(stamps.map(|stamps| TcpOptionElement::Timestamp(stamps.value, stamps.echo)));
    let mut blocks = packet.options.sack.iter().map(|(start, end)| (start.value(), end.value()));
    if let Some(first) = blocks.next() {
        let others = [blocks.next(), blocks.next(), blocks.next()];
        options.push(TcpOptionElement::SelectiveAcknowledgement(first, others));
    }
    tcp.set_options(&options).expect("options that fit");
    let payload = vec![0; packet.len as usize];
    let length = (tcp.header_len() + payload.len()) as u16;
    let mut ip = Ipv4Header::new(length, 64, IpNumber::TCP, PEER.octets(), HOST.octets()).expect("a length");
    ip.ecn = etherparse::IpEcn::try_new(packet.ecn).expect("two bits");
    tcp.checksum = tcp.calc_checksum_ipv4(&ip, &payload).expect("a length");
    let mut bytes = vec![0; VNET_HEADER];
    ip.write(&mut bytes).expect("a vector");
    tcp.write(&mut bytes).expect("a vector");
    bytes.extend(payload);
    bytes
}
