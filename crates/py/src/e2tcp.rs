//! E2TCP without a simulation: headers to bytes and back, one endpoint that is handed packets, and the table of connections.
//!
//! The machines are those of `airwatt_proto::e2tcp`. An endpoint counts its payload instead of carrying it, as in the
//! simulator, so the payload of its packets is zeros. Left out: a path between two endpoints, which is a scenario.

use std::net::IpAddr;

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Machine, Seq, Span, TimerKind};
use airwatt_proto::e2tcp::{
    Acknowledgement, Addresses, Block, Connection, ConnectionTable, ControlFlags, E2tcpConfig, E2tcpPacket,
    E2tcpTimer, Endpoint, Event, Header, HeaderForm, Input, Output, TableConfig, TableInput, TableOutput,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::errors::InputError;

/// An IP address and a port.
type Place = (String, u16);

fn wrong(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The bytes of an E2TCP packet. Raises `InputError` for a header that no sender makes.
#[pyfunction]
#[pyo3(signature = (connection, *, control = None, addresses = None, sequence = None, urgent = None,
    acknowledgement = None, blocks = Vec::new(), window = None, payload = Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "one for each field of the header")]
pub(crate) fn e2tcp_encode<'py>(
    py: Python<'py>,
    connection: u8,
    control: Option<&str>,
    addresses: Option<(Place, Place)>,
    sequence: Option<u32>,
    urgent: Option<u16>,
    acknowledgement: Option<u32>,
    blocks: Vec<(u32, u32)>,
    window: Option<u16>,
    payload: Vec<u8>,
) -> PyResult<Bound<'py, PyBytes>> {
    if blocks.len() > 2 || (acknowledgement.is_none() && !blocks.is_empty()) {
        return Err(wrong("blocks: expected at most two, with an acknowledgement"));
    }
    let mut blocks =
        blocks.into_iter().map(|(first, last)| Block { first: Seq::new(first), last: Seq::new(last) });
    let blocks = [blocks.next(), blocks.next()];
    let addresses = addresses.map(addresses_of).transpose()?;
    let header = Header {
        control: control_of(control)?,
        addresses: addresses.map(|both| both.version()),
        sequence: sequence.map(Seq::new),
        urgent,
        acknowledgement: acknowledgement.map(|number| Acknowledgement { number: Seq::new(number), blocks }),
        window,
        ..Header::new(connection)
    };
    let mut bytes = Vec::new();
    header.encode(addresses, &payload, &mut bytes);
    Ok(PyBytes::new(py, &bytes))
}

fn control_of(name: Option<&str>) -> PyResult<ControlFlags> {
    match name {
        None => Ok(ControlFlags::NONE),
        Some("syn") => Ok(ControlFlags::SYN),
        Some("fin") => Ok(ControlFlags::FIN),
        Some("rst") => Ok(ControlFlags::RST),
        Some(other) => Err(wrong(format!("control: expected syn, fin or rst, got {other:?}"))),
    }
}

fn addresses_of((sender, receiver): (Place, Place)) -> PyResult<Addresses> {
    Addresses::new(endpoint_of(sender)?, endpoint_of(receiver)?)
        .ok_or_else(|| wrong("addresses: expected two of one IP version"))
}

fn endpoint_of((ip, port): Place) -> PyResult<Endpoint> {
    let parsed: Result<IpAddr, _> = ip.parse();
    let ip = parsed.map_err(|_| wrong(format!("addresses: expected an IP address, got {ip:?}")))?;
    Ok(Endpoint { ip, port })
}

/// An E2TCP packet's header as a JSON object, and its payload. Raises `InputError` for bytes that are none.
#[pyfunction]
pub(crate) fn e2tcp_decode<'py>(py: Python<'py>, packet: &[u8]) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (header, addresses, payload) = Header::decode(packet).map_err(wrong)?;
    let place = |endpoint: Endpoint| json!([endpoint.ip.to_string(), endpoint.port]);
    let document = json!({
        "connection": header.connection,
        "syn": header.control.syn(),
        "fin": header.control.fin(),
        "rst": header.control.rst(),
        "addresses": addresses.map(|both| json!([place(both.sender()), place(both.receiver())])),
        "sequence": header.sequence.map(Seq::value),
        "urgent": header.urgent,
        "acknowledgement": header.acknowledgement.map(|ack| ack.number.value()),
        "blocks": header.acknowledgement.map_or_else(Vec::new, |ack| {
            ack.blocks.iter().flatten().map(|block| json!([block.first.value(), block.last.value()])).collect()
        }),
        "window": header.window,
    });
    Ok((document.to_string(), PyBytes::new(py, payload)))
}

/// The size in bytes that the simulator gives this packet: its own, or with `tcp_headers` that of a TCP segment with the same
/// payload and blocks (`e2tcp.header = "tcp"`). Raises `InputError` for bytes that are no packet.
#[pyfunction]
#[pyo3(signature = (packet, *, tcp_headers = false))]
pub(crate) fn e2tcp_size(packet: &[u8], tcp_headers: bool) -> PyResult<u32> {
    let header = if tcp_headers { HeaderForm::Tcp } else { HeaderForm::E2tcp };
    Ok(E2tcpConfig { header, ..E2tcpConfig::default() }.packet_bytes(&decoded(packet)?))
}

fn decoded(packet: &[u8]) -> PyResult<E2tcpPacket> {
    let (header, _, payload) = Header::decode(packet).map_err(wrong)?;
    let len = u16::try_from(payload.len()).map_err(wrong)?;
    Ok(E2tcpPacket { header, len })
}

/// One end of an established E2TCP connection that is handed packets and the time. Its stream begins at sequence number 1.
#[pyclass(module = "airwatt")]
pub(crate) struct E2tcpEndpoint {
    connection: Connection,
    now: Instant,
    delivered: u64,
    /// Ranges of the stream that were given up and have not arrived since: the first byte, and the one after the last.
    missing: Vec<(u64, u64)>,
}

#[pymethods]
impl E2tcpEndpoint {
    /// An endpoint whose timers begin with `initial_rto_s`, and whose application wants `reliability` per cent of what it
    /// receives, of the last `reliability_window` packets or over the life of the connection; the other settings are the defaults.
    #[new]
    #[pyo3(signature = (*, payload_bytes = 1000, initial_rto_s = None, reliability = 100, reliability_window = None))]
    fn new(
        payload_bytes: u16,
        initial_rto_s: Option<f64>,
        reliability: u8,
        reliability_window: Option<u32>,
    ) -> PyResult<Self> {
        let mut config =
            E2tcpConfig { payload: payload_bytes, reliability, reliability_window, ..E2tcpConfig::default() };
        if let Some(seconds) = initial_rto_s {
            config.initial_rto = span("initial_rto_s", seconds)?;
        }
        config.check().map_err(wrong)?;
        let connection = Connection::established(config.clone(), &config, 0);
        Ok(Self { connection, now: Instant::ZERO, delivered: 0, missing: Vec::new() })
    }

    /// The application writes `length` bytes at `at_s`. Returns the packets that are sent at once.
    #[pyo3(signature = (length, at_s = 0.0))]
    fn write<'py>(&mut self, py: Python<'py>, length: u64, at_s: f64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        self.handle(py, Input::Write(length), at_s)
    }

    /// A packet arrives at `at_s`. Returns the packets that are sent at once. Raises `InputError` for bytes that are none.
    #[pyo3(signature = (packet, at_s = 0.0))]
    fn receive<'py>(
        &mut self,
        py: Python<'py>,
        packet: &[u8],
        at_s: f64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        self.handle(py, Input::Packet(decoded(packet)?, ()), at_s)
    }

    /// Serves the timers that are due at `at_s`. Returns the packets that are sent at once.
    fn wake<'py>(&mut self, py: Python<'py>, at_s: f64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        self.advance(at_s)?;
        self.connection.handle_timeout(self.now);
        Ok(self.packets(py))
    }

    /// Bytes of the peer's stream that the application has, or that were given up: how far the stream is.
    #[getter]
    fn position(&self) -> u64 {
        self.delivered
    }

    /// The gaps in what the application has: the first missing byte of each, counted from 0, and the one after the last.
    #[getter]
    fn gaps(&self) -> Vec<(u64, u64)> {
        self.missing.clone()
    }

    /// The bytes that were written and are not acknowledged.
    #[getter]
    fn unacknowledged(&self) -> u64 {
        self.connection.unacknowledged_bytes()
    }

    /// The time at which each armed timer expires, in seconds, by the timer's name.
    fn timers(&self) -> Vec<(&'static str, f64)> {
        E2tcpTimer::ALL
            .iter()
            .filter_map(|timer| Some((timer.name(), self.connection.timer(*timer)?.as_secs_f64())))
            .collect()
    }
}

impl E2tcpEndpoint {
    fn handle<'py>(
        &mut self,
        py: Python<'py>,
        input: Input,
        at_s: f64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        self.advance(at_s)?;
        self.connection.handle_input(input, self.now);
        Ok(self.packets(py))
    }

    fn advance(&mut self, at_s: f64) -> PyResult<()> {
        let now = Instant::ZERO + span("at_s", at_s)?;
        if now < self.now {
            return Err(wrong(format!("at_s: expected {} or later, got {at_s}", self.now.as_secs_f64())));
        }
        self.now = now;
        Ok(())
    }

    /// The packets that are sent now; notes what the application gets, and what it does not.
    fn packets<'py>(&mut self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let mut packets = Vec::new();
        while let Some(output) = self.connection.poll_output() {
            match output {
                Output::Transmit(packet) => {
                    let mut bytes = Vec::new();
                    packet.header.encode(None, &vec![0; usize::from(packet.len)], &mut bytes);
                    packets.push(PyBytes::new(py, &bytes));
                }
                Output::Event(Event::Delivered { bytes }) => self.delivered += bytes,
                Output::Event(Event::Gap { bytes, .. }) => {
                    // Positions are those of the stream, whose gaps and data come in order.
                    self.missing.push((self.delivered, self.delivered + bytes));
                    self.delivered += bytes;
                }
                Output::Event(Event::Late { at, bytes }) => {
                    let (start, end) = (at, at + bytes);
                    self.missing = self
                        .missing
                        .iter()
                        .flat_map(|(from, to)| {
                            [(*from, start.clamp(*from, *to)), (end.clamp(*from, *to), *to)]
                        })
                        .filter(|(from, to)| from < to)
                        .collect();
                }
                Output::Event(_) => {}
            }
        }
        packets
    }
}

/// A time from Python: seconds, not negative, of at most a year.
fn span(name: &str, seconds: f64) -> PyResult<Span> {
    const YEAR_S: f64 = 365.0 * 86_400.0;
    if (0.0..=YEAR_S).contains(&seconds) {
        Ok(Span::from_secs_f64(seconds))
    } else {
        Err(wrong(format!("{name}: expected 0 to {YEAR_S} seconds, got {seconds}")))
    }
}

/// The E2TCP connections of one host.
#[pyclass(module = "airwatt")]
pub(crate) struct E2tcpTable {
    table: ConnectionTable,
}

#[pymethods]
impl E2tcpTable {
    #[new]
    fn new() -> Self {
        Self { table: ConnectionTable::new(TableConfig::default()) }
    }

    /// Opens a connection between two `(IP address, port)`. Returns whether there was an identifier for it.
    fn open(&mut self, sender: Place, receiver: Place) -> PyResult<bool> {
        self.table.handle_input(TableInput::Open(addresses_of((sender, receiver))?), Instant::ZERO);
        let outputs: Vec<_> = std::iter::from_fn(|| self.table.poll_output()).collect();
        Ok(!outputs.iter().any(|output| matches!(output, TableOutput::Refused(..))))
    }

    /// The number of connections that have an identifier.
    #[getter]
    fn in_use(&self) -> usize {
        self.table.in_use()
    }
}
