//! The flows of a scenario over kernel sockets: the applications of a simulation over the TCP of the kernel.
//!
//! The server listens on one port for each flow, the station connects, and data flows in the direction of the flow.
//! Each flow has a writer and a reader thread, which sleep in the kernel. Congestion control and receive window are set
//! on each socket, and each host's kernel is tuned to the scenario's TCP ([`tuning`]).

mod endpoints;

use std::io;
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use airwatt_base::{RandomStream, Span};
use airwatt_proto::cc::Algorithm;
use airwatt_sim::live::OutsideHost;
use airwatt_sim::net::{FlowPlan, NetworkPlan, Traffic as Carried};
use airwatt_sim::record::Responses;
use airwatt_sim::route::NodeId;
use airwatt_sim::scenario::{Direction, Ready, TcpControl, Transport};
use airwatt_sim::stack::application::{Content, Dialogue, Source};
use airwatt_sim::stack::role::Role;
use nix::sys::socket::sockopt::{KeepAlive, RcvBufForce, ReuseAddr, TcpCongestion};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, setsockopt, socket,
};

use crate::error::{EmulateError, failed};
use crate::hosts::{Hosts, address};
use crate::kernel::{self, Priority};
use crate::report::{Report, Reports};
use crate::tuning;
use endpoints::{connect_to, pause, run_dialogue, transfer, udp};

/// The server's port of flow 0; the others follow in order.
const FIRST_PORT: u16 = 5_001;

/// A flow with its sockets, before it begins.
#[derive(Debug)]
struct Flow {
    plan: FlowPlan,
    application: FlowApplication,
    start: Span,
    /// Largest window in bytes that its ends advertise.
    window: u32,
    ends: Option<FlowSockets>,
}

/// The application of a flow.
#[derive(Clone, Debug)]
enum FlowApplication {
    /// One end writes, the other reads.
    Source(Source),
    /// The ends exchange requests and responses; the durations of responses are recorded.
    Dialogue(Box<Dialogue>, Durations),
}

/// Durations of responses so far.
type Durations = Arc<Mutex<Vec<Span>>>;

impl FlowApplication {
    fn is_finite(&self) -> bool {
        match self {
            Self::Source(source) => source.size().is_some(),
            Self::Dialogue(dialogue, _) => dialogue.count().is_some(),
        }
    }
}

/// Properties of a flow that its packets do not show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KnownFlow {
    /// Its number.
    pub(crate) id: u32,
    /// Its transport.
    pub(crate) transport: &'static str,
    /// Durations of responses, if its ends exchange requests and responses.
    pub(crate) responses: Option<Responses>,
}

#[derive(Debug)]
enum FlowSockets {
    /// The server's listener, and the station's socket that will connect to it.
    Tcp {
        listener: TcpListener,
        station: OwnedFd,
    },
    Udp {
        from: UdpSocket,
        to: UdpSocket,
    },
}

/// The flows of a scenario.
#[derive(Debug)]
pub(crate) struct Traffic {
    flows: Vec<Flow>,
    open: OpenSockets,
    threads: Vec<JoinHandle<()>>,
}

/// Sockets in which a thread may block, and the flag that stops all of them.
#[derive(Clone, Debug, Default)]
struct OpenSockets {
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    stop: Arc<AtomicBool>,
}

impl OpenSockets {
    /// Registers a socket, connected, listening or neither.
    fn register(&self, socket: impl AsFd) -> io::Result<()> {
        let socket = TcpStream::from(socket.as_fd().try_clone_to_owned()?);
        if self.is_over() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A blocked thread wakes up with an error. An error here means that the socket is closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Traffic {
    /// Opens the sockets of the scenario's flows.
    pub(crate) fn prepare(scenario: &Ready<'_>, seed: u64, hosts: &Hosts) -> Result<Self, EmulateError> {
        let plan = NetworkPlan::new(scenario, seed);
        tuning::apply(scenario, &plan, hosts)?;
        let (server, window) = (plan.server(), plan.tcp.receive_window);
        let keep_alive = [false, true].map(|is_client| scenario.tcp.keep_alive_of(is_client).is_some());
        let mut flows = Vec::with_capacity(plan.flows.len());
        for (index, flow) in plan.flows.into_iter().enumerate() {
            flows.push(Flow::prepare(flow, server, seed, index, (window, keep_alive), hosts)?);
        }
        let open = OpenSockets::default();
        for flow in &flows {
            if let Some(FlowSockets::Tcp { listener, station }) = &flow.ends {
                open.register(listener).and_then(|()| open.register(station)).map_err(failed("a socket"))?;
            }
        }
        Ok(Self { flows, open, threads: Vec::new() })
    }

    /// Number of flows.
    pub(crate) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Number of flows that end by themselves.
    pub(crate) fn finite(&self) -> usize {
        self.flows.iter().filter(|flow| flow.application.is_finite()).count()
    }

    /// The flow whose server has this port.
    pub(crate) fn flow_on_port(&self, port: u16) -> Option<KnownFlow> {
        let index = port.checked_sub(FIRST_PORT)?;
        let flow = self.flows.get(usize::from(index))?;
        let responses = match &flow.application {
            FlowApplication::Source(_) => None,
            FlowApplication::Dialogue(_, durations) => {
                Responses::of(&durations.lock().unwrap_or_else(PoisonError::into_inner))
            }
        };
        Some(KnownFlow { id: u32::from(index), transport: flow.plan.transport.name(), responses })
    }

    /// Starts the flows, each at its start time from now.
    pub(crate) fn start(&mut self, reports: &Reports) {
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let Some(ends) = flow.ends.take() else { continue };
            let (application, data, window, start) =
                (flow.application.clone(), flow.plan.data, flow.window, flow.start);
            let (reports, open) = (reports.clone(), self.open.clone());
            let server = SocketAddrV4::new(address(OutsideHost::Server), FIRST_PORT + index as u16);
            let carry = move || {
                let _priority = Priority::of_traffic();
                pause(start, &open.stop);
                let outcome = match (ends, application) {
                    (FlowSockets::Tcp { listener, station }, application) => {
                        connect_to(&listener, station, server, &open).and_then(|(server, station)| {
                            let (from, to) = ends_of(data, server, station);
                            match application {
                                FlowApplication::Source(source) => transfer(from, to, window, source, &open),
                                FlowApplication::Dialogue(dialogue, durations) => {
                                    let (client, server) = match dialogue.client() {
                                        Role::Receiver => (to, from),
                                        Role::Sender => (from, to),
                                    };
                                    run_dialogue(&client, server, *dialogue, &durations, &open)
                                }
                            }
                        })
                    }
                    (FlowSockets::Udp { from, to }, FlowApplication::Source(source)) => {
                        udp(&from, &to, source, &open.stop)
                    }
                    (FlowSockets::Udp { .. }, FlowApplication::Dialogue(..)) => Ok(()),
                };
                match outcome {
                    _ if open.is_over() => {}
                    Ok(()) => reports.send(Report::FlowDone),
                    Err(error) => reports.send(Report::FlowFailed(format!("flow {index}: {error}"))),
                }
            };
            // If a thread cannot be started, its flow never ends.
            if let Ok(thread) = thread::Builder::new().name(format!("flow{index}")).spawn(carry) {
                self.threads.push(thread);
            }
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.open.close();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Flow {
    /// Opens the sockets of a flow. `at_server` is the node of the server that the hosts have. Connections have this receive window, and
    /// keep-alives where the server, and where the station has them.
    fn prepare(
        plan: FlowPlan,
        at_server: NodeId,
        seed: u64,
        index: usize,
        (window, keep_alive): (u32, [bool; 2]),
        hosts: &Hosts,
    ) -> Result<Self, EmulateError> {
        let port = u16::try_from(index).ok().and_then(|index| FIRST_PORT.checked_add(index));
        let Some(port) = port else {
            return Err(EmulateError::Input(format!("flow {index}: there are no more ports")));
        };
        let unable = |what: &str| {
            EmulateError::Input(format!(
                "flow.{index}: expected any application over reno, newreno, sack or cubic, each also +ackloss, bbr1 or udp, \
                 got {what}; hint: kernel sockets also carry commands of your own"
            ))
        };
        let application = match &plan.traffic {
            Carried::Transfer { content: Content::Dialogue(config), .. } if config.connections() > 1 => {
                return Err(unable("pages over several connections"));
            }
            Carried::Transfer { content: Content::Dialogue(config), .. } => FlowApplication::Dialogue(
                Box::new(Dialogue::new(*config, false, seed, index)),
                Durations::default(),
            ),
            Carried::Transfer { content: Content::Source(source), .. }
            | Carried::Datagrams { source, answers: None, .. } => {
                FlowApplication::Source(Source::new(*source, seed, index))
            }
            Carried::Datagrams { .. } => return Err(unable("answers to datagrams")),
            _ => return Err(unable("a saturated queue")),
        };
        let Some(station) = plan.station else { return Err(unable("a neighbour's flow")) };
        if plan.server != at_server {
            return Err(unable("a flow on a line of its own"));
        }
        let (server, station) = (hosts.get(OutsideHost::Server), hosts.get(OutsideHost::Station(station)));
        let ends = match plan.transport {
            Transport::Udp => {
                let (from, to) = ends_of(plan.data, server, station);
                let here = SocketAddrV4::new(address(from.host), port);
                let there = SocketAddrV4::new(address(to.host), port);
                let from = from.namespace.run(move || UdpSocket::bind(here)).map_err(failed("a socket"))?;
                let to = to.namespace.run(move || UdpSocket::bind(there)).map_err(failed("a socket"))?;
                from.connect(there).map_err(failed("a socket"))?;
                FlowSockets::Udp { from, to }
            }
            transport @ (Transport::Tcp(_) | Transport::Bbr1) => {
                let name = congestion_control(transport).ok_or_else(|| unable(transport.name()))?;
                let here = SocketAddrV4::new(address(OutsideHost::Server), port);
                let listener = server
                    .namespace
                    .run(move || listener(here, name, window, keep_alive[0]))
                    .map_err(absent(index, name))?;
                let station = station
                    .namespace
                    .run(move || tcp_socket(name, window, keep_alive[1]))
                    .map_err(absent(index, name))?;
                FlowSockets::Tcp { listener, station }
            }
            other => return Err(unable(other.name())),
        };
        let drawn =
            RandomStream::new(seed, &format!("flow/{index}/start")).unit() * plan.start_spread.as_secs_f64();
        let start = plan.start + Span::from_secs_f64(drawn);
        Ok(Self { application, start, window, ends: Some(ends), plan })
    }
}

/// The error for a socket that does not accept this congestion control.
fn absent(flow: usize, name: &'static str) -> impl FnOnce(io::Error) -> EmulateError {
    move |error| {
        if error.kind() != io::ErrorKind::NotFound {
            return failed(format_args!("flow {flow}: a socket"))(error);
        }
        let cure = if name.starts_with("ackloss") { "; `airwattd cc load` brings it" } else { "" };
        EmulateError::Missing(format!("flow {flow}: the kernel has no TCP congestion control {name}{cure}"))
    }
}

fn tcp_socket(congestion: &str, window: u32, keep_alive: bool) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, TcpCongestion, &congestion.into())?;
    setsockopt(&socket, KeepAlive, &keep_alive)?;
    // Setting SO_RCVBUF disables autotuning of the buffer and with it of the window. The value is doubled to cover
    // per-packet overhead.
    setsockopt(&socket, RcvBufForce, &(window as usize).saturating_mul(2))?;
    kernel::clamp_window(&socket, window)?;
    Ok(socket)
}

fn listener(at: SocketAddrV4, congestion: &str, window: u32, keep_alive: bool) -> io::Result<TcpListener> {
    use std::os::fd::AsRawFd;

    let socket = tcp_socket(congestion, window, keep_alive)?;
    setsockopt(&socket, ReuseAddr, &true)?;
    bind(socket.as_raw_fd(), &SockaddrIn::from(at))?;
    listen(&socket, Backlog::new(1)?)?;
    Ok(TcpListener::from(socket))
}

/// Number of listening TCP sockets in the calling thread's network namespace.
pub(crate) fn listening() -> usize {
    const LISTEN: &str = "0A";
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default();
    table.lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some(LISTEN)).count()
}

/// The kernel's congestion control for a transport; `None` if there is none.
fn congestion_control(transport: Transport) -> Option<&'static str> {
    let Transport::Tcp(TcpControl { congestion, ackloss }) = transport else {
        return (transport == Transport::Bbr1).then_some("bbr");
    };
    match (congestion, ackloss) {
        (Algorithm::Reno | Algorithm::NewReno | Algorithm::Sack, false) => Some("reno"),
        (Algorithm::Reno | Algorithm::NewReno | Algorithm::Sack, true) => Some("ackloss"),
        (Algorithm::Cubic, false) => Some("cubic"),
        (Algorithm::Cubic, true) => Some("ackloss_cubic"),
        (Algorithm::Tahoe | Algorithm::Westwood | Algorithm::Veno | Algorithm::Jersey, _) => None,
    }
}
/// Who sends data of this direction, and who receives them.
fn ends_of<T>(data: Direction, server: T, station: T) -> (T, T) {
    match data {
        Direction::Down => (server, station),
        Direction::Up => (station, server),
    }
}
