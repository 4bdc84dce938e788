"""What the Rust core gives to Python. Documents cross as JSON text, columns as raw little-endian buffers."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, BinaryIO, final, overload

from airwatt import _settings
from airwatt.own import CongestionControl, Policy

__version__: str
SCHEMA: int
LEAST_CORRELATION: float
NO_DELAY_S: float
CONFIRM: int
MOST_BORROWED: float
WIDE_BAND: float
LARGEST_PROFILE_ERROR: float

class AirwattError(Exception):
    """Base of every error of this package. Its text is one line that names the place, the value and what is allowed."""

class InputError(AirwattError):
    """The input is wrong: a scenario, an option, a file. Exit status 2."""

class RunError(AirwattError):
    """The input was right and the run failed. Exit status 1."""

class MissingFeature(AirwattError):  # noqa: N818
    """A privilege, a kernel feature or an optional package is missing. Exit status 4."""

@final
class Control:
    """Watches and stops one run from another thread. All of it is safe while the run goes on."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Asks the run to stop; it raises `KeyboardInterrupt` in its own thread soon after."""
    @property
    def cancelled(self) -> bool:
        """Whether it was asked to stop."""
    @property
    def fraction(self) -> float:
        """Share of the run that is done, from 0 to 1, as far as it can be known."""
    @property
    def simulated_s(self) -> float:
        """Simulated time so far, in seconds."""
    @property
    def bytes_read(self) -> int:
        """Bytes of the file that have been read so far."""
    @property
    def bytes_total(self) -> int:
        """Size of the file in bytes; 0 if it is not known."""
    @property
    def events(self) -> int:
        """Events so far."""

@final
class Quantity:
    """A number with its unit, as in `Quantity("20ms")`. Its text is accepted wherever a text with a unit is.

    `+` and `-` take quantities of one dimension. `*` and `/` take numbers, and quantities where the result has a
    dimension: a size over a rate is a time, a power times a time is an energy. Anything else raises `InputError`.
    """

    def __new__(cls, text: str | Quantity, dimension: str | None = ...) -> Quantity: ...
    @staticmethod
    def of(value: float, unit: str) -> Quantity:
        """A number of SI units: s, b/s, B, b, W, J, A, V, m. Raises `InputError` for another unit."""
    @property
    def value(self) -> float:
        """The number in SI units."""
    @property
    def unit(self) -> str:
        """The SI unit of `value`."""
    @property
    def dimension(self) -> str:
        """What it measures: time, rate, size, bits, power, energy, current, voltage, distance."""
    def __eq__(self, other: object) -> bool: ...
    def __ne__(self, other: object) -> bool: ...
    def __lt__(self, other: str | Quantity) -> bool: ...
    def __le__(self, other: str | Quantity) -> bool: ...
    def __gt__(self, other: str | Quantity) -> bool: ...
    def __ge__(self, other: str | Quantity) -> bool: ...
    def __hash__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __add__(self, other: str | Quantity) -> Quantity: ...
    def __radd__(self, other: str | Quantity) -> Quantity: ...
    def __sub__(self, other: str | Quantity) -> Quantity: ...
    def __rsub__(self, other: str | Quantity) -> Quantity: ...
    def __neg__(self) -> Quantity: ...
    def __mul__(self, other: float | str | Quantity) -> Quantity: ...
    def __rmul__(self, other: float | str | Quantity) -> Quantity: ...
    @overload
    def __truediv__(self, other: float) -> Quantity: ...
    @overload
    def __truediv__(self, other: str | Quantity) -> Any: ...

@final
class Scenario:
    """A scenario that was read and checked."""

    @staticmethod
    def load(name_or_path: str, overrides: Sequence[tuple[str, str]] = ...) -> Scenario:
        """Reads a file, or a scenario that ships, and applies `KEY=VALUE` pairs in order. Raises `InputError`."""
    @staticmethod
    def of(
        values: _settings.Scenario | Mapping[str, object],
        overrides: Sequence[tuple[str, str]] = ...,
        *,
        name: str = ...,
    ) -> Scenario:
        """A scenario of nested mappings, as a file has them: plain values, `Quantity`, lists. `base` names another.

        `name` stands in errors. Raises `InputError`.
        """
    @staticmethod
    def from_toml(text: str, overrides: Sequence[tuple[str, str]] = ..., *, name: str = ...) -> Scenario:
        """A scenario of a TOML text, as a file has it. `name` stands in errors. Raises `InputError`."""
    @property
    def name(self) -> str:
        """The name that result documents carry."""
    def canonical(self) -> str:
        """The text that decides a run together with its seed: scenarios with equal texts have equal results."""
    def replace(self, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """The same scenario with `KEY=VALUE` pairs applied in order. Raises `InputError`."""
    def shortened(self, length: str) -> Scenario:
        """The same scenario, its run at most so long (`20s`), measured over the same share. Raises `InputError`."""
    def to_toml(self, *, expand: bool = ...) -> str:
        """The whole scenario, defaults filled in, as it would stand in a file; with `expand` in the general form."""
    def to_dict(self, *, expand: bool = ...) -> dict[str, Any]:
        """The whole scenario, defaults filled in, as nested dicts of plain values and `Quantity`.

        With `expand` in the general form.
        """
    def own(self) -> list[tuple[str, str, str, bool]]:
        """The mechanisms from outside that it names.

        Of each what an error about it begins with, its name, the text of its file, and whether it is a policy.
        """

@final
class Column:
    """One column of a trace."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """`i64`, `u32`, `bool` (a byte each), or `code`: `u32` indices into `labels`."""
    @property
    def labels(self) -> list[str]: ...
    @property
    def length(self) -> int: ...
    @property
    def data(self) -> bytes: ...

@final
class Run:
    """One finished run."""

    @property
    def json(self) -> str:
        """The result document."""
    def traces(self) -> list[tuple[str, list[Column]]]:
        """The traces by name; empty unless the run was traced."""
    def write_pcapng(self, file: BinaryIO) -> None:
        """Writes the frames on the air as radiotap pcapng into a binary file object. Raises what it raises."""
    def write_perfetto(self, file: BinaryIO) -> None:
        """Writes radio states, frames, windows and queues for the Perfetto viewer. Raises what the file raises."""

def run(
    scenario: Scenario,
    seed: int,
    *,
    trace: bool = ...,
    pcapng: BinaryIO | None = ...,
    limit: str | None = ...,
    own: Mapping[str, Callable[[], Policy | CongestionControl]] = ...,
    control: Control | None = ...,
) -> Run:
    """Simulates. Lets other threads run meanwhile; raises `RunError`, or `KeyboardInterrupt` when stopped.

    Into `pcapng`, a binary file object, the frames on the air are written while the run goes on. `limit` bounds the
    events, as in `events=1e9`; beyond it the run fails. `own` makes the mechanisms written in Python that the scenario
    names, by their names; it raises what they raise.
    """

def check_mechanisms(scenario: Scenario, own: Mapping[str, Callable[[], Policy | CongestionControl]]) -> None:
    """Checks the mechanisms written in Python that a scenario names, with an instance of each.

    Raises `InputError` for what is no mechanism or declares wrong attributes, and what making an instance raises.
    """

def emulate(
    scenario: Scenario,
    seed: int,
    *,
    bound: str,
    host: str | None = ...,
    command: Sequence[str] | None = ...,
    user: str | None = ...,
    output_to_error: bool = ...,
    trace: bool = ...,
    control: Control | None = ...,
) -> Run:
    """Emulates. Lets other threads run meanwhile. Stopped through its control it returns what there is until then."""

def analyze(
    path: str | PathLike[str],
    *,
    stations: Sequence[str] = ...,
    radio: str | None = ...,
    policies: Sequence[str] = ...,
    settings: Sequence[tuple[str, str]] = ...,
    seed: int = ...,
    trace: bool = ...,
    current: str | PathLike[str] | None = ...,
    offset: float | None = ...,
    load: tuple[float, float] = ...,
    wpa_pwd: Sequence[str] = ...,
    wpa_psk: Sequence[str] = ...,
    limit: str | None = ...,
    user: str | None = ...,
    control: Control | None = ...,
) -> str:
    """Analyses a capture; returns the document, or with several stations (or `all`) one for each, as `analyses`.

    With `trace` a document has a `timeline`.

    With `user` this process opens the file, becomes that user for good, and ends with its parent.

    Raises `InputError`, `RunError` if a limit is exceeded or the capture holds nothing to analyse, or
    `KeyboardInterrupt` when stopped.
    """

def annotate(
    path: str | PathLike[str],
    file: BinaryIO,
    *,
    remarks: Sequence[tuple[int, str]] = ...,
    wpa_pwd: Sequence[str] = ...,
    wpa_psk: Sequence[str] = ...,
    limit: str | None = ...,
    user: str | None = ...,
    control: Control | None = ...,
) -> None:
    """Writes a copy of a capture with comments at its frames. Raises what `analyze` and the file raise."""

def anonymize(
    path: str | PathLike[str], file: BinaryIO, *, user: str | None = ..., control: Control | None = ...
) -> None:
    """Writes a capture without addresses and contents, as pcapng. Raises what `analyze` and the file raise."""

def write_timeline_perfetto(timeline: str, findings: Sequence[tuple[str, int, int]], file: BinaryIO) -> None:
    """Writes the time line of an analysis, as JSON, for the Perfetto viewer. Raises what the file raises."""

def log_to_stderr(levels: str) -> None:
    """Writes events of the core to standard error: `debug`, or levels by module. Raises `InputError`."""

def advise_policies() -> str:
    """What decides how a device is set to a policy, as JSON by its name."""

def advise_candidates() -> str:
    """All candidates of an advice, as a JSON list of `{policy, parameters}`."""

def advise_scenario(
    scenario: Scenario,
    budget_s: float,
    confirm: int,
    tries_listen_intervals: bool,
    tries_wake_times: bool,
) -> str:
    """What the models give for a scenario, as JSON: candidates, which of them to simulate, and tunnels."""

def advise_analysis(analysis: Mapping[str, Any], budget_s: float, confirm: int, tries_listen_intervals: bool) -> str:
    """What the models give for captured traffic, as JSON, from an analysis with a replay of `active`."""

def advise_added_delays(
    with_policy: Sequence[Sequence[float | None]], awake: Sequence[Sequence[float | None]]
) -> list[float] | None:
    """The delay that a candidate adds in each run, of the flow that suffers most; None if no flow has delays.

    Both have a delay of each flow, run by run with equal seeds.
    """

def advise_change(alone: object, beside: object, budget_s: float) -> tuple[float, bool, bool]:
    """What a setting beside a candidate changes: a share of its energy, whether it has an effect and is advised."""

def wake_request(interval: str) -> tuple[int, int, int]:
    """Mantissa and exponent of an interval of target wake time, and its duration in units of 256 us."""

def advise_deep_sleep(
    associated_w: float, deep_w: float, awake_w: float, interval_s: float, reconnection_s: float | None = None
) -> str:
    """Deep sleep with a reconnection for each report beside a candidate that stays associated, as JSON."""

def advise_choose(rows: Sequence[object], budget_s: float) -> str:
    """Decides between candidates, each with attributes `model` and `simulation`; gives indices of rows, as JSON."""

def read_text(path: str) -> str:
    """The text of a regular file of up to 16 MB. Raises `InputError`."""

def schema() -> str:
    """The JSON schema of scenario files."""

def result_schema() -> str:
    """The JSON schema of the document of one run."""

def analysis_schema() -> str:
    """The JSON schema of the document of an analysis."""

def scenarios() -> str:
    """What ships, as a JSON list of `{name, description}`."""

def radios() -> str:
    """The radio profiles that ship, as a JSON list."""

def radio(name: str) -> str:
    """One radio profile, by the name of one that ships or by the path of a file, as JSON. Raises `InputError`."""

def radio_text(name: str) -> str:
    """The TOML text of the file of a radio profile, named as for `radio`. Raises `InputError`."""

def radio_fit(
    name: str,
    averages: Sequence[tuple[int, float]],
    powers: Sequence[tuple[str, float]],
    between: tuple[float, float] | None,
    is_own: bool,
) -> str:
    """A profile fitted on averages (DTIM period and power in watts), with other powers of states.

    `between` is the lowest and the mean power between the beacons of a trace; `is_own` says whether the profile is that
    of the board's chip. `load_w` of the result is what was measured asleep above the chip, which all states have that
    were not measured. Raises `InputError`.
    """

def tcp_segments(path: str | PathLike[str]) -> list[tuple[float, str, str, int, int, int, int]]:
    """The TCP segments of a capture in order of time, without 802.11 retransmissions.

    Each has its time in seconds, as the file states it, its sender and its receiver with their ports, its sequence and
    acknowledgement number, the bytes of its payload, and its flags. Raises `InputError`, or `RunError` for a capture
    without packets.
    """

def trace_means(
    path: str | PathLike[str], times: Sequence[tuple[float, float, int | None]]
) -> list[tuple[float | None, tuple[float, float] | None, int | None, float, tuple[int, float, float, float] | None]]:
    """The mean current of a trace in each of several times, in amperes; with a DTIM period those between beacons, too.

    These are the usual and the mean one. Then come the DTIM period by which the device wakes up, up to when, in
    seconds, the trace lasts within that time, and wake-ups that are far longer than those for beacons: their number,
    begin and length of the first in seconds, and their share of the charge. Each is None where the trace does not show
    it. Raises `InputError`.
    """

def radio_template() -> str:
    """A commented profile to start from, as TOML."""

def finding_kinds() -> list[tuple[str, str]]:
    """The names of all kinds of findings about captures, with their severities."""

def policies() -> str:
    """The power-save policies, as a JSON list of `{name, description, needs, replayed_by_default}`."""

def transports() -> str:
    """The transports, as a JSON list of `{name, description}`."""

def toml_value(value: object) -> str:
    """A Python value as a scenario file writes it, for an override; a text stays as it is. Raises `InputError`."""

def data_overhead(sent_bytes: int, payload_bytes: int) -> float:
    """The extra bytes sent over the payload's, as a fraction. Raises `InputError` without payload."""

def time_overhead(elapsed_ns: int, payload_bytes: int, rate_bps: int) -> float:
    """The extra time over the payload's at a rate, as a fraction. Raises `InputError` without payload or rate."""

def energy_overhead(data_overhead: float, time_overhead: float, radio: str) -> float:
    """The two overheads weighed as a kind of radio would. Raises `InputError` for an unknown one."""

def efficiency(overhead: float) -> float:
    """The efficiency that belongs to an overhead."""

def energy_efficiency(data_overhead: float, time_overhead: float, radio: str) -> float:
    """The two efficiencies weighed as a kind of radio would. Raises `InputError` for an unknown one."""

def radio_mixes() -> list[tuple[str, float, float]]:
    """The kinds of radio: name, weight of the data overhead, weight of the time overhead."""

def e2tcp_encode(
    connection: int,
    *,
    control: str | None = ...,
    addresses: tuple[tuple[str, int], tuple[str, int]] | None = ...,
    sequence: int | None = ...,
    urgent: int | None = ...,
    acknowledgement: int | None = ...,
    blocks: Sequence[tuple[int, int]] = ...,
    window: int | None = ...,
    payload: bytes = ...,
) -> bytes:
    """The bytes of an E2TCP packet; `control` is syn, fin or rst, blocks are first and last byte."""

def e2tcp_decode(packet: bytes) -> tuple[str, bytes]:
    """An E2TCP packet's header as a JSON object, and its payload. Raises `InputError` for bytes that are none."""

def e2tcp_size(packet: bytes, *, tcp_headers: bool = ...) -> int:
    """The size in bytes that the simulator gives a packet; `tcp_headers` that of a TCP segment with its content."""

@final
class Radio:
    """A station's radio, while its policy handles a fact. Times are in nanoseconds, sizes in bytes.

    `why` is the reason under which a wake-up is counted, if a request wakes the radio; a name of `wakeups_by_reason`.
    """

    @property
    def now_ns(self) -> int:
        """The simulated time."""
    @property
    def in_power_save(self) -> bool:
        """Whether the station is in power save: its frames carry PM = 1."""
    @property
    def backlog(self) -> int:
        """The number of the user's frames that wait to be sent."""
    @property
    def in_service(self) -> bool | None:
        """Whether a service period is open or a poll's answer is expected; None if the station hides it."""
    @property
    def listening_interval_ns(self) -> int:
        """The longest time between two beacons that the station receives."""
    def set_power_save(self, on: bool, *, why: str | None = ...) -> None:
        """Enters or leaves power save, and announces it. In power save the radio dozes whenever nothing is pending.

        Needs `switch`.
        """
    def trigger(self, *, why: str | None = ...) -> None:
        """Asks for a service period, unless one is open or asked for. Needs `trigger`."""
    def poll(self, *, why: str | None = ...) -> None:
        """Asks for one buffered frame, unless one is expected or asked for. Needs `poll`."""
    def set_timer(self, timer: str, at_ns: int | None) -> None:
        """Sets the timer `inactivity`, `trigger` (which wakes the radio, in time) or `update`; None stops it.

        Raises `ValueError` for a time in the past; in `on_timer` also for the present.
        """
    def measure_air_time(self) -> None:
        """Asks for `on_air_time`, which comes after the present fact. Needs `air-time`."""
    def grant(self, nbytes: int | None) -> None:
        """Lets the peers of the station's connections send this many bytes; None removes the limit. Needs `grant`."""

@final
class CongestionWindow:
    """The congestion window of a sender, while its congestion control handles an event, in bytes.

    Its `on_...` methods do what the algorithm of this package does that repairs losses in the same way.
    """

    @property
    def cwnd(self) -> int:
        """The congestion window: one segment to 2^30 bytes. Raises `ValueError` for another number."""
    @cwnd.setter
    def cwnd(self, nbytes: int) -> None: ...
    @property
    def ssthresh(self) -> int:
        """The slow-start threshold; 2^32 - 1 before the first loss."""
    @ssthresh.setter
    def ssthresh(self, nbytes: int) -> None: ...
    @property
    def mss(self) -> int:
        """The maximum segment size."""
    @property
    def in_slow_start(self) -> bool:
        """Whether the window still grows exponentially: it is below the threshold."""
    def is_used_by(self, flight: int) -> bool:
        """Whether less than a segment of the window was free with `flight` bytes in flight (RFC 7661 section 4)."""
    def half_of(self, flight: int) -> int:
        """Half of the data in flight, but at least two segments (RFC 5681 equation (4))."""
    def on_ack(self, ack: Acknowledged) -> None:
        """Grows as RFC 5681 says, unless the sender did not use the window."""
    def on_enter_recovery(self, flight: int, duplicates: int) -> None:
        """Reduces window and threshold at the start of fast recovery."""
    def on_duplicate_ack(self) -> None:
        """Inflates the window by a segment, if the algorithm does that."""
    def on_partial_ack(self, ack: Acknowledged) -> None:
        """Deflates the window by what was acknowledged, if the algorithm does that."""
    def on_leave_recovery(self) -> None:
        """Sets the window to the threshold."""
    def on_timeout(self, flight: int, reduces: bool, recovering: bool) -> None:
        """Sets the threshold, if the timeout `reduces` it, and the loss window of one segment."""
    def on_ack_loss(self) -> None:
        """Halves the window after lost acknowledgements."""
    def on_idle(self, restart_window: int) -> None:
        """Reduces the window to at most `restart_window` bytes."""

@final
class Acknowledged:
    """An acknowledgement of new data."""

    @property
    def nbytes(self) -> int:
        """Bytes acknowledged for the first time."""
    @property
    def flight(self) -> int:
        """Bytes that were in flight before it arrived."""
    @property
    def now_ns(self) -> int:
        """Time of arrival in nanoseconds."""
    @property
    def srtt_ns(self) -> int:
        """The smoothed round-trip time in nanoseconds; 0 before the first sample."""

@final
class E2tcpEndpoint:
    """One end of an established E2TCP connection that is handed packets and the time. Its payload is zeros."""

    def __new__(
        cls,
        *,
        payload_bytes: int = ...,
        initial_rto_s: float | None = ...,
        reliability: int = ...,
        reliability_window: int | None = ...,
    ) -> E2tcpEndpoint: ...
    def write(self, length: int, at_s: float = ...) -> list[bytes]:
        """The application writes `length` bytes. Returns the packets that are sent at once."""
    def receive(self, packet: bytes, at_s: float = ...) -> list[bytes]:
        """A packet arrives. Returns the packets that are sent at once. Raises `InputError` for bytes that are none."""
    def wake(self, at_s: float) -> list[bytes]:
        """Serves the timers that are due. Returns the packets that are sent at once."""
    @property
    def position(self) -> int:
        """Bytes of the peer's stream that the application has, or that were given up."""
    @property
    def gaps(self) -> list[tuple[int, int]]:
        """What was given up and has not arrived since: the first byte of each gap, and the one after its last."""
    @property
    def unacknowledged(self) -> int:
        """The bytes that were written and are not acknowledged."""
    def timers(self) -> list[tuple[str, float]]:
        """The armed timers: name, and the time in seconds at which it expires."""

@final
class E2tcpTable:
    """The E2TCP connections of one host."""

    def __new__(cls) -> E2tcpTable: ...
    def open(self, sender: tuple[str, int], receiver: tuple[str, int]) -> bool:
        """Opens a connection between two `(IP address, port)`. Returns whether there was an identifier for it."""
    @property
    def in_use(self) -> int:
        """The number of connections that have an identifier."""

def fairness_index(throughputs: Sequence[float], capacity: float | None = ..., alpha: float | None = ...) -> float:
    """Jain's index, or with a capacity one that counts its use. Raises `InputError`."""

def fairness_sliding(
    amounts: Sequence[Sequence[float]],
    bin_s: float,
    window_bins: int,
    capacity: float | None = ...,
    alpha: float | None = ...,
) -> float:
    """The same, averaged over the positions of a window that slides over bins. Raises `InputError`."""

def models() -> str:
    """The analytical models with their parameters and results, as a JSON list."""

def model_values(model: str, parameter: str, text: str) -> list[float]:
    """Reads values of a parameter as a user writes them: one, a list, a range. Raises `InputError`."""

def model_solve(model: str, parameters: Sequence[object], results: object, first: int | None = ...) -> None:
    """Solves a model at every point, into one buffer of doubles with a row a result. Raises `InputError`."""

def ack_gaps(throughput_bps: float, rtt_s: float, m: int, q: float) -> list[tuple[float, float]]:
    """The distribution of the gaps between acknowledgements: `(gap_s, expected number)` pairs. Raises `InputError`."""
