//! Analysis of a real capture.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use airwatt_capture::current::{Load, Trace};
use airwatt_capture::report::Analysis;
use airwatt_capture::timeline::Timeline;
use airwatt_capture::{
    AnalysisProgress, AnalyzeError, Capture, CapturedPacket, Current, Limits, NetworkKey, ParseKeyError,
    Question, TransportHeader, Watch,
};
use airwatt_energy::radio::average::BEACON_INTERVAL;
use airwatt_linux::capability;
use airwatt_linux::user::User;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::control::{Control, Shared};
use crate::errors::{AirwattError, InputError, RunError};
use crate::output;

/// Analyses a capture; returns the document, or with several stations (or `all`) one for each, as `analyses`. With `user`
/// this process opens the file and then becomes that user for good, and the kernel ends it with its parent. Raises
/// `InputError`, `RunError` if a limit is exceeded or the capture holds nothing to analyse, or `KeyboardInterrupt` when
/// stopped.
#[pyfunction]
#[pyo3(signature = (path, *, stations = Vec::new(), radio = None, policies = Vec::new(), settings = Vec::new(), seed = 1, trace = false, current = None, offset = None, load = (0.0, 0.0), wpa_pwd = Vec::new(), wpa_psk = Vec::new(), limit = None, user = None, control = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn analyze(
    py: Python<'_>,
    path: PathBuf,
    stations: Vec<String>,
    radio: Option<&str>,
    policies: Vec<String>,
    settings: Vec<(String, String)>,
    seed: u64,
    trace: bool,
    current: Option<PathBuf>,
    offset: Option<f64>,
    load: (f64, f64),
    wpa_pwd: Vec<String>,
    wpa_psk: Vec<String>,
    limit: Option<&str>,
    user: Option<&str>,
    control: Option<&Control>,
) -> PyResult<String> {
    let limits = limits(limit)?;
    let keys = network_keys(&wpa_pwd, &wpa_psk)?;
    let keys = keys.as_slice();
    let user = user.map(named).transpose()?;
    let station = stations.first().filter(|_| stations.len() == 1).map(String::as_str);
    let station = station.filter(|name| *name != "all");
    let load = Load { current_a: load.0, power_w: load.1 };
    let current = current.as_deref().map(|path| Current { path, offset_s: offset, load });
    let question = Question {
        station,
        radio,
        policies: &policies,
        settings: &settings,
        seed,
        trace,
        current,
        keys,
        limits,
    };
    let is_several = station.is_none() && !stations.is_empty();
    let shared = shared(control);
    let work = |watch: Watch<'_>| {
        let opened = || user.as_ref().map_or(Ok(()), give_up);
        if is_several {
            let analyses = airwatt_capture::analyze_stations(&path, &question, &stations, opened, watch)?;
            return Ok(several(&analyses));
        }
        Ok(serde_json::to_string(&airwatt_capture::analyze_then(&path, &question, opened, watch)?))
    };
    let document = py.detach(|| watched(&shared, work))?;
    document.map_err(|error| AirwattError::new_err(format!("analysis: {error}")))
}

/// The document of several analyses of one capture.
fn several(analyses: &[Analysis]) -> Result<String, serde_json::Error> {
    let capture = analyses.first().map(|analysis| &analysis.capture);
    let version = env!("CARGO_PKG_VERSION");
    serde_json::to_string(
        &serde_json::json!({ "schema": 1, "version": version, "capture": capture, "analyses": analyses }),
    )
}

/// Writes a copy of a capture with comments at its frames into a binary file object: the state of stations, findings, and
/// `remarks`, which are packet numbers with texts. `limit` and `user` are those of `analyze`. Raises what `analyze` and
/// the file raise.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[pyo3(signature = (path, file, *, remarks = Vec::new(), wpa_pwd = Vec::new(), wpa_psk = Vec::new(), limit = None, user = None, control = None))]
pub(crate) fn annotate(
    py: Python<'_>,
    path: PathBuf,
    file: Py<PyAny>,
    remarks: Vec<(u32, String)>,
    wpa_pwd: Vec<String>,
    wpa_psk: Vec<String>,
    limit: Option<&str>,
    user: Option<&str>,
    control: Option<&Control>,
) -> PyResult<()> {
    let limits = limits(limit)?;
    let keys = network_keys(&wpa_pwd, &wpa_psk)?;
    let user = user.map(named).transpose()?;
    let opened = || user.as_ref().map_or(Ok(()), give_up);
    let mut outcome = Ok(());
    let shared = shared(control);
    output::write(py, file, |out| {
        let work =
            |watch: Watch<'_>| airwatt_capture::annotate(&path, &limits, &keys, &remarks, out, opened, watch);
        outcome = watched(&shared, work);
        Ok(())
    })?;
    outcome
}

/// Writes the capture without addresses and contents as pcapng into a binary file object. Raises `InputError`, `RunError`, what the file
/// raises, and `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (path, file, *, user = None, control = None))]
pub(crate) fn anonymize(
    py: Python<'_>,
    path: PathBuf,
    file: Py<PyAny>,
    user: Option<&str>,
    control: Option<&Control>,
) -> PyResult<()> {
    let user = user.map(named).transpose()?;
    let opened = || user.as_ref().map_or(Ok(()), give_up);
    let mut outcome = Ok(());
    let shared = shared(control);
    output::write(py, file, |out| {
        let work = |watch: Watch<'_>| airwatt_capture::anonymize(&path, out, opened, watch);
        outcome = watched(&shared, work);
        Ok(())
    })?;
    outcome
}

/// Writes the time line of an analysis, as JSON, for the Perfetto viewer into a binary file object. `findings` have a name, a
/// time in nanoseconds and a packet number, in order of time. Raises what the file raises.
#[pyfunction]
pub(crate) fn write_timeline_perfetto(
    py: Python<'_>,
    timeline: &str,
    findings: Vec<(String, u64, u32)>,
    file: Py<PyAny>,
) -> PyResult<()> {
    let line: Timeline = serde_json::from_str(timeline)
        .map_err(|error| InputError::new_err(format!("timeline: expected that of an analysis: {error}")))?;
    output::write(py, file, |out| line.write_perfetto(&findings, out))
}

/// A time of a trace in seconds, and the DTIM period of a device that is idle in it.
type TraceTime = (f64, f64, Option<u32>);
/// A mean current in amperes, the usual and the mean one between beacons, the beacon intervals from one wake-up to the next, up to when
/// anything is known of the time, and of wake-ups that are far longer than those for beacons their number, begin and length of the first in
/// seconds, and their share of the charge.
type TraceMean = (Option<f64>, Option<(f64, f64)>, Option<u32>, f64, Option<(usize, f64, f64, f64)>);

/// The mean current of a trace in each of several times, in amperes, `None` where it has no samples; and with a DTIM period the usual and
/// the mean one between beacons, the DTIM period by which the device wakes up, and its long wake-ups, `None` where the trace does not show
/// them. Raises `InputError`.
#[pyfunction]
pub(crate) fn trace_means(py: Python<'_>, path: PathBuf, times: Vec<TraceTime>) -> PyResult<Vec<TraceMean>> {
    let file = path.display().to_string();
    let source = std::fs::File::open(&path)
        .map_err(|error| InputError::new_err(format!("{file}: {}", airwatt_base::reason_of(&error))))?;
    let trace = py.detach(|| Trace::read(&file, source, &mut |_| true));
    let trace = trace.map_err(|error| InputError::new_err(error.to_string()))?;
    let each_s = |dtim_period: u32| (BEACON_INTERVAL * u64::from(dtim_period)).as_secs_f64();
    let between = |from_s, until_s, dtim_period| {
        let found = trace.between_beacons(from_s, until_s, each_s(dtim_period))?;
        Some((found.floor_a, found.mean_a))
    };
    let means = times.into_iter().map(|(from_s, until_s, dtim_period)| {
        let between = dtim_period.and_then(|period| between(from_s, until_s, period));
        let interval_s = BEACON_INTERVAL.as_secs_f64();
        let apart = dtim_period.and_then(|period| trace.beacons_apart(from_s, until_s, interval_s, period));
        let long = dtim_period.and_then(|period| trace.long_wake_ups(from_s, until_s, each_s(period)));
        let long = long.map(|long| (long.count, long.from_s, long.length_s, long.share));
        (trace.mean_a(from_s, until_s), between, apart, trace.end_s().min(until_s), long)
    });
    Ok(means.collect())
}

/// A TCP segment: its time in seconds, its sender and its receiver with their ports, its sequence and acknowledgement number, the
/// bytes of its payload, and its flags.
type TcpSegment = (f64, String, String, u32, u32, u32, u8);

/// The TCP segments of a capture in order of time, without 802.11 retransmissions. Times are those of the file. Raises `InputError`,
/// or `RunError` for a capture without packets.
#[pyfunction]
pub(crate) fn tcp_segments(py: Python<'_>, path: PathBuf) -> PyResult<Vec<TcpSegment>> {
    let open = |_: Watch<'_>| {
        let capture = Capture::open(&path, &Limits::default(), &mut |_| ControlFlow::Continue(()))?;
        Ok(capture)
    };
    let capture = py.detach(|| watched(&Shared::default(), open))?;
    let segment = |packet: &CapturedPacket| {
        let ip = packet.ip?;
        let TransportHeader::Tcp(tcp) = ip.transport else { return None };
        let time_s = capture.start_unix_ns as f64 / 1e9 + packet.at.as_secs_f64();
        let [source, destination] = [(ip.source, tcp.source_port), (ip.destination, tcp.destination_port)]
            .map(|end| SocketAddr::from(end).to_string());
        let (sequence, acknowledgement) = (tcp.sequence.value(), tcp.acknowledgement.value());
        Some((time_s, source, destination, sequence, acknowledgement, tcp.payload, tcp.flags))
    };
    Ok(capture.packets.iter().filter(|packet| !packet.repeated).filter_map(segment).collect())
}

/// Passphrases, each with the name of its network or without, and keys in hexadecimal digits.
fn network_keys(passphrases: &[String], keys: &[String]) -> PyResult<Vec<NetworkKey>> {
    let named = |option: &str, key: Result<NetworkKey, ParseKeyError>| {
        key.map_err(|error| InputError::new_err(format!("{option}: {error}")))
    };
    let passphrases = passphrases.iter().map(|text| named("--wpa-pwd", NetworkKey::passphrase(text)));
    passphrases.chain(keys.iter().map(|text| named("--wpa-psk", NetworkKey::psk(text)))).collect()
}

fn limits(text: Option<&str>) -> PyResult<Limits> {
    let limits = text.map(str::parse::<Limits>).transpose();
    Ok(limits.map_err(|error| InputError::new_err(format!("--limit: {error}")))?.unwrap_or_default())
}

fn shared(control: Option<&Control>) -> Arc<Shared> {
    control.map(|control| Arc::clone(&control.shared)).unwrap_or_default()
}

/// Does a piece of work, which is to be done without the interpreter's lock, and reports its progress.
fn watched<T>(shared: &Shared, work: impl FnOnce(Watch<'_>) -> Result<T, AnalyzeError>) -> PyResult<T> {
    let mut signal = Ok(());
    let outcome = work(&mut |progress| {
        // Python checks signals in the main thread only; others are stopped through their control.
        signal = Python::attach(|py| py.check_signals());
        let goes_on = match progress {
            AnalysisProgress::Reading(reading) => shared.report_bytes(reading.bytes, reading.of),
            AnalysisProgress::Replaying(share) => shared.report(0, share, 0),
        };
        if goes_on && signal.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    signal?;
    outcome.map_err(|error| match error {
        AnalyzeError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        error if error.is_wrong_input() => InputError::new_err(error.to_string()),
        error => RunError::new_err(error.to_string()),
    })
}

/// The user of this name. `nobody` exists even where the user database does not list it.
fn named(name: &str) -> PyResult<User> {
    if name == "nobody" {
        return Ok(User::nobody());
    }
    let found = User::named(name).map_err(|error| RunError::new_err(error.to_string()))?;
    found.ok_or_else(|| {
        InputError::new_err(format!("--user: expected the name of a user of this machine, got {name:?}"))
    })
}

/// Gives this process to the user, for good. This thread, and whatever it starts, can gain no privilege any more.
fn give_up(user: &User) -> io::Result<()> {
    end_with_parent();
    if user.is_root() {
        return Ok(());
    }
    capability::keep_only(&[], Some(user)).map_err(|error| {
        let name = user.name();
        io::Error::other(format!("cannot become {name}: {error}; hint: --user root analyses it as root"))
    })?;
    // The change of user has cleared the setting.
    end_with_parent();
    tracing::debug!(user = user.name(), "privileges given up");
    Ok(())
}

/// Has the kernel kill this process when its parent ends (prctl(2), PR_SET_PDEATHSIG), which takes no privilege.
fn end_with_parent() {
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}
