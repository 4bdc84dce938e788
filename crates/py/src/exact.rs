//! What can be counted on paper, counted by the code that ships: overheads, the E2TCP header, and single ends that are
//! handed a few packets.
//!
//! For reproductions of worked examples, where a formula written a second time would prove nothing. Sizes are bytes,
//! overheads are fractions. Left out: anything that needs a simulated link; that is a scenario.

use std::collections::VecDeque;
use std::net::IpAddr;

use airwatt_base::{Instant, Machine, Rate, Seq, Size, Span};
use airwatt_energy::overhead::{self, MIXES, Mix};
use airwatt_proto::e2tcp::{
    Acknowledgement, Addresses, Block, Connection, ControlFlags, E2tcpConfig, E2tcpTimer, Endpoint, Header,
    Input, Output, Packet, Table, TableConfig, TableInput, TableOutput,
};
use airwatt_proto::tcp::{self, TcpConfig};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::errors::InputError;

/// A sender's or receiver's address and port.
type Place = (String, u16);

fn wrong(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The extra bytes sent over the payload's (2.3), as a fraction.
#[pyfunction]
pub(crate) fn data_overhead(sent_bytes: u64, payload_bytes: u64) -> PyResult<f64> {
    overhead::data_overhead(Size::from_bytes(sent_bytes), Size::from_bytes(payload_bytes)).map_err(wrong)
}

/// The extra time over the payload's at `rate_bps` (2.4), as a fraction.
#[pyfunction]
pub(crate) fn time_overhead(elapsed_ns: u64, payload_bytes: u64, rate_bps: u64) -> PyResult<f64> {
    let (elapsed, rate) = (Span::from_nanos(elapsed_ns), Rate::from_bps(rate_bps));
    overhead::time_overhead(elapsed, Size::from_bytes(payload_bytes), rate).map_err(wrong)
}

/// The two overheads weighed as a kind of radio would (2.5).
#[pyfunction]
pub(crate) fn energy_overhead(data_overhead: f64, time_overhead: f64, radio: &str) -> PyResult<f64> {
    Ok(overhead::energy_overhead(data_overhead, time_overhead, mix(radio)?))
}

/// The efficiency that belongs to an overhead (2.8, 2.10).
#[pyfunction]
pub(crate) fn efficiency(overhead: f64) -> f64 {
    overhead::efficiency(overhead)
}

/// The two efficiencies weighed as a kind of radio would (2.12).
#[pyfunction]
pub(crate) fn energy_efficiency(data_overhead: f64, time_overhead: f64, radio: &str) -> PyResult<f64> {
    Ok(overhead::energy_efficiency(data_overhead, time_overhead, mix(radio)?))
}

/// The kinds of radio: name, weight of the data overhead, weight of the time overhead.
#[pyfunction]
pub(crate) fn radio_mixes() -> Vec<(&'static str, f64, f64)> {
    MIXES.iter().map(|mix| (mix.name, mix.data, mix.time)).collect()
}

fn mix(radio: &str) -> PyResult<Mix> {
    MIXES.iter().find(|mix| mix.name == radio).copied().ok_or_else(|| {
        let names: Vec<_> = MIXES.iter().map(|mix| mix.name).collect();
        wrong(format!("radio: {radio:?}; allowed are {}", names.join(", ")))
    })
}

/// The bytes of an E2TCP packet. Raises `InputError` for what no sender makes.
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
        return Err(wrong("blocks: allowed are up to two, with an acknowledgement"));
    }
    let mut blocks =
        blocks.into_iter().map(|(first, last)| Block { first: Seq::new(first), last: Seq::new(last) });
    let blocks = [blocks.next(), blocks.next()];
    let header = Header {
        control: control_of(control)?,
        addresses: addresses.map(addresses_of).transpose()?,
        sequence: sequence.map(Seq::new),
        urgent,
        acknowledgement: acknowledgement.map(|number| Acknowledgement { number: Seq::new(number), blocks }),
        window,
        ..Header::new(connection)
    };
    let mut bytes = Vec::new();
    header.encode(&payload, &mut bytes);
    Ok(PyBytes::new(py, &bytes))
}

fn control_of(name: Option<&str>) -> PyResult<ControlFlags> {
    match name {
        None => Ok(ControlFlags::NONE),
        Some("syn") => Ok(ControlFlags::SYN),
        Some("fin") => Ok(ControlFlags::FIN),
        Some("rst") => Ok(ControlFlags::RST),
        Some(other) => Err(wrong(format!("control: {other:?}; allowed are syn, fin, rst"))),
    }
}

fn addresses_of((sender, receiver): (Place, Place)) -> PyResult<Addresses> {
    Addresses::new(endpoint_of(sender)?, endpoint_of(receiver)?)
        .ok_or_else(|| wrong("addresses: allowed are two of one IP version"))
}

fn endpoint_of((ip, port): Place) -> PyResult<Endpoint> {
    let parsed: Result<IpAddr, _> = ip.parse();
    let ip = parsed.map_err(|_| wrong(format!("addresses: {ip:?}; allowed are IP addresses")))?;
    Ok(Endpoint { ip, port })
}

/// An E2TCP packet's header as a JSON object, and its payload. Raises `InputError` for bytes that are none.
#[pyfunction]
pub(crate) fn e2tcp_decode<'py>(py: Python<'py>, packet: &[u8]) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (header, payload) = Header::decode(packet).map_err(wrong)?;
    let place = |endpoint: Endpoint| json!([endpoint.ip.to_string(), endpoint.port]);
    let ControlFlags { syn, fin, rst } = header.control;
    let document = json!({
        "connection": header.connection,
        "syn": syn,
        "fin": fin,
        "rst": rst,
        "addresses": header.addresses.map(|both| json!([place(both.sender()), place(both.receiver())])),
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

/// The packets that a fresh E2TCP end sends at once for `stream_bytes` written to it, as bytes with a payload of zeros.
#[pyfunction]
pub(crate) fn e2tcp_packets(
    py: Python<'_>,
    stream_bytes: u64,
    payload_bytes: u16,
) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let config = E2tcpConfig { payload: payload_bytes, ..E2tcpConfig::default() };
    config.check().map_err(wrong)?;
    let mut end: Connection = Connection::established(config.clone(), &config, 0);
    end.handle_input(Input::Write(stream_bytes), Instant::ZERO);
    Ok(sent(&mut end).iter().map(|packet| PyBytes::new(py, &encoded(packet))).collect())
}

/// The acknowledgements of an E2TCP receiver that gets a packet for each of `(first byte, last byte)`, in this order.
#[pyfunction]
pub(crate) fn e2tcp_acknowledgements(
    py: Python<'_>,
    received: Vec<(u32, u32)>,
) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let answers = acknowledgements(received)?;
    Ok(answers.iter().map(|packet| PyBytes::new(py, &encoded(packet))).collect())
}

/// What the same acknowledgements would take as TCP segments, in bytes: as the simulator charges them with TCP's headers.
#[pyfunction]
pub(crate) fn e2tcp_acknowledgements_as_tcp(received: Vec<(u32, u32)>) -> PyResult<Vec<u32>> {
    let answers = acknowledgements(received)?;
    Ok(answers.iter().map(|packet| airwatt_sim::apps::e2tcp_bytes(packet, true)).collect())
}

fn acknowledgements(received: Vec<(u32, u32)>) -> PyResult<Vec<Packet>> {
    let config = E2tcpConfig::default();
    let mut end: Connection = Connection::established(config.clone(), &config, 0);
    let mut answers = Vec::new();
    for (first, last) in received {
        let len = last.checked_sub(first).and_then(|less| u16::try_from(less + 1).ok());
        let Some(len) = len else {
            return Err(wrong(format!(
                "received: ({first}, {last}); allowed are up to 65535 bytes, in order"
            )));
        };
        let header = Header { sequence: Some(Seq::new(last)), ..Header::new(0) };
        end.handle_input(Input::Packet(Packet { header, len }, ()), Instant::ZERO);
        answers.extend(sent(&mut end));
    }
    Ok(answers)
}

fn sent(end: &mut Connection) -> Vec<Packet> {
    std::iter::from_fn(|| end.poll_output())
        .filter_map(|output| match output {
            Output::Transmit(packet) => Some(packet),
            Output::Event(_) => None,
        })
        .collect()
}

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.header.encode(&vec![0; usize::from(packet.len)], &mut bytes);
    bytes
}

/// How many connections two hosts have open when the next one is refused.
#[pyfunction]
pub(crate) fn e2tcp_connections() -> usize {
    let mut table: Table = Table::new(TableConfig::default());
    let ip = |host| IpAddr::from([10, 0, 0, host]);
    for port in 0..=u16::MAX {
        let sender = Endpoint { ip: ip(1), port };
        let Some(addresses) = Addresses::new(sender, Endpoint { ip: ip(2), port: 80 }) else { break };
        table.handle_input(TableInput::Open(addresses), Instant::ZERO);
        let outputs: Vec<_> = std::iter::from_fn(|| table.poll_output()).collect();
        if outputs.iter().any(|output| matches!(output, TableOutput::Refused(..))) {
            break;
        }
    }
    table.in_use()
}

/// When the retransmission timer and the transmission timer of an E2TCP sender expire, in seconds: a packet is sent again
/// at `again_s`, a new one leaves at `new_s`, and both timers run for `timer_s`.
#[pyfunction]
pub(crate) fn e2tcp_timers(again_s: u64, new_s: u64, timer_s: u64) -> PyResult<(Option<f64>, Option<f64>)> {
    if again_s > new_s {
        return Err(wrong(format!("again_s: {again_s}; allowed is up to new_s")));
    }
    let config = E2tcpConfig { initial_rto: Span::from_secs(timer_s), ..E2tcpConfig::default() };
    config.check().map_err(wrong)?;
    let mut end: Connection = Connection::established(config.clone(), &config, 0);
    end.handle_input(Input::Write(2 * u64::from(config.payload)), Instant::ZERO);
    // The second packet arrived, the first did not: it is sent again.
    let payload = u32::from(config.payload);
    let block = Block { first: Seq::new(payload + 1), last: Seq::new(2 * payload) };
    let acknowledgement = Some(Acknowledgement { number: Seq::new(0), blocks: [Some(block), None] });
    let packet = Packet { header: Header { acknowledgement, ..Header::new(0) }, len: 0 };
    end.handle_input(Input::Packet(packet, ()), Instant::from_secs(again_s));
    end.handle_input(Input::Write(u64::from(config.payload)), Instant::from_secs(new_s));
    let expires = |timer| end.timer(timer).map(|at| at.as_secs_f64());
    Ok((expires(E2tcpTimer::Retransmission), expires(E2tcpTimer::Transmission)))
}

/// Bytes sent both ways by two ends, TCP's (`tcp`) or E2TCP's (`e2tcp`), for `packets` packets of `payload_bytes`, each
/// acknowledged at once; the `lost`-th packet is lost, or none for zero.
///
/// A loss of the last packet is the plainest: with nothing behind it, it is found by the timer alone, and no acknowledgement
/// has blocks.
#[pyfunction]
#[pyo3(signature = (transport, packets, payload_bytes, lost = 0))]
pub(crate) fn bytes_sent(transport: &str, packets: u32, payload_bytes: u16, lost: u32) -> PyResult<u64> {
    let stream = u64::from(packets) * u64::from(payload_bytes);
    match transport {
        "tcp" => {
            let config = TcpConfig { mss: payload_bytes.into(), delayed_ack: None, ..TcpConfig::default() };
            config.check().map_err(wrong)?;
            let end = || tcp::Connection::established(config.clone(), &config);
            let mut ends: [tcp::Connection; 2] = [end(), end()];
            let size = |segment: &tcp::Segment| u64::from(config.packet_bytes(segment));
            Ok(bytes_until_quiet(&mut ends, tcp::Input::Write(stream), lost, |output| match output {
                tcp::Output::Transmit(segment) => Some((size(&segment), tcp::Input::Segment(segment, ()))),
                tcp::Output::Event(_) => None,
            }))
        }
        "e2tcp" => {
            let config = E2tcpConfig { payload: payload_bytes, ..E2tcpConfig::default() };
            config.check().map_err(wrong)?;
            let end = || Connection::established(config.clone(), &config, 0);
            let mut ends: [Connection; 2] = [end(), end()];
            Ok(bytes_until_quiet(&mut ends, Input::Write(stream), lost, |output| match output {
                Output::Transmit(packet) => Some((packet.bytes() as u64, Input::Packet(packet, ()))),
                Output::Event(_) => None,
            }))
        }
        other => Err(wrong(format!("transport: {other:?}; allowed are tcp, e2tcp"))),
    }
}

/// Lets the first end send what it is given to the second, over a path of 50 ms that loses the first end's `lost`-th packet;
/// gives the bytes sent both ways. `transmission` says what an output puts on the path: its size, and what arrives.
fn bytes_until_quiet<M: Machine>(
    ends: &mut [M; 2],
    given: M::Input,
    lost: u32,
    transmission: impl Fn(M::Output) -> Option<(u64, M::Input)>,
) -> u64 {
    const DELAY: Span = Span::from_millis(50);
    let mut path: VecDeque<(Instant, usize, M::Input)> = VecDeque::from([(Instant::ZERO, 0, given)]);
    let (mut bytes, mut packets) = (0, 0);
    loop {
        let timeout = |end: &M| end.poll_timeout().map_or(Instant::FOREVER, |timeout| timeout.at);
        let (arrival, [first, second]) =
            (path.front().map_or(Instant::FOREVER, |(at, ..)| *at), [timeout(&ends[0]), timeout(&ends[1])]);
        let now = arrival.min(first).min(second);
        if now == Instant::FOREVER {
            return bytes;
        }
        let who = if arrival == now
            && let Some((_, who, input)) = path.pop_front()
        {
            ends[who].handle_input(input, now);
            who
        } else {
            let who = usize::from(first != now);
            ends[who].handle_timeout(now);
            who
        };
        while let Some(output) = ends[who].poll_output() {
            let Some((size, input)) = transmission(output) else { continue };
            bytes += size;
            packets += u32::from(who == 0);
            if who == 1 || packets != lost {
                path.push_back((now + DELAY, 1 - who, input));
            }
        }
    }
}
