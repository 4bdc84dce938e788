"""The document of a run, typed. Written by `make docs` from the schema of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from airwatt.record import Record


class AccessPointResult(Record):
    """One access point."""

    __slots__ = ()
    cell: str
    """Its cell."""
    drops: int
    """Packets dropped at its buffers."""
    node: str
    """Its node."""
    retry_limit_drops: int
    """Packets that it gave up at the retry limit."""
    shares_radio_of: int | None
    """The station whose radio it shares; `null` if it has one of its own, whose energy is not accounted for."""


class CategoryResult(Record):
    """One access category of a cell."""

    __slots__ = ()
    category: str
    """`background`, `best-effort`, `video` or `voice`."""
    frames: int
    """Attempts to send a data or control frame."""
    internal_collisions: int
    """Number of times that a higher category of the same sender won the channel at the same moment, and sent
    first."""
    retries: int
    """Attempts after the first."""


class CellResult(Record):
    """The last hop: the cell, or the point-to-point link with packets for frames."""

    __slots__ = ()
    airtime_utilization: float
    """Share of the time during which a frame was on the air."""
    ap_drops: int
    """Packets dropped at the access point's buffers."""
    collisions: int
    """Number of times that several nodes began to send at once."""
    damaged: int
    """Packets damaged on a point-to-point link."""
    down_queue_drops: int
    """Packets dropped at the wired queue towards the stations."""
    frames: int
    """Attempts to send a data, control or beacon frame. RTS, CTS and acknowledgements are not counted."""
    lifetime_drops: int | None
    """Packets discarded at the end of their lifetime, where they have one."""
    mpdus: int | None
    """Frames in these attempts, where an aggregate has several."""
    retries: int
    """Attempts after the first."""
    retry_limit_drops: int
    """Packets given up at the retry limit."""
    up_queue_drops: int
    """Packets dropped at the wired queue towards the server."""


class EnergyByCause(Record):
    """The energy of a radio by what it was spent on. Each nanosecond has one cause, by the precedence in
    `docs/causes.md`."""

    __slots__ = ()
    beacon: float
    """Beacons of its access point, and the time awake before they come."""
    contention: float
    """Waiting for the medium with a frame to send, and the gaps within an exchange."""
    doze: float
    """Sleep."""
    external: float
    """Packets that belong to no flow, as those of a host outside."""
    flow: Mapping[str, float]
    """Packets of flows, by number."""
    group: float
    """Group-addressed frames."""
    idle: float
    """Silence for which nothing else is a cause."""
    overhearing: float
    """Frames of others."""
    retransmission: float
    """Attempts after the first."""
    scan: float | None
    """Scans: the time on other channels. Left out if there are none."""
    service: float
    """Triggers, PS-Polls and Null frames, and silence in service periods."""
    timeout_tail: float
    """The time without traffic after which the policy lets the radio sleep."""
    tunnel: float | None
    """Datagrams of a tunnel, in which packets of several flows are. Left out if there are none."""
    wake_up: float
    """Falling asleep and waking up."""


class EnergyOverhead(Record):
    """Energy overhead for the three radio mixes of Donckers (2001), table 2.2."""

    __slots__ = ()
    ideal: float
    """A radio that draws power only for the data that it carries."""
    intermediate: float
    """Half and half."""


class HostSeconds(Record):
    """How long a host was idle and busy, in seconds."""

    __slots__ = ()
    copy: float
    """Copies between application and kernel, and checksums."""
    idle: float
    """Idle."""
    interface: float
    """Copies between kernel and network interface."""
    protocol: float
    """Protocol processing of packets."""
    sack: float
    """SACK blocks."""
    timeout: float
    """Retransmission timeouts."""


class ImpairmentResult(Record):
    """The impairment of one node, in packets."""

    __slots__ = ()
    forwarded: int
    """Forwarded."""
    lost: int
    """Lost at random outside bursts."""
    lost_in_bursts: int
    """Lost at random in bursts."""
    lost_in_outages: int
    """Lost in outages."""
    node: str
    """Its node."""
    queue_drops: int
    """Lost because too many were held."""
    reordered: int
    """Held until others had passed, or for the longest time."""


class LinkDirection(Record):
    """One direction of a link."""

    __slots__ = ()
    damaged: int
    """Packets damaged on the way."""
    packets: int
    """Packets taken in and not dropped at the queue."""
    queue_drops: int
    """Packets dropped at the full queue."""
    rate_bps: float
    """Its rate."""


class ModeAccount(Record):
    """What a time costs with the host in one mode."""

    __slots__ = ()
    average_power_w: float
    """Mean power."""
    error: float | None
    """The largest error of the profile where it predicts a published average of this mode, as a share; `null`
    if it predicts none."""
    id: str
    """The name after the colon of a radio's name."""
    name: str
    """The maker's name."""


class StateSeconds(Record):
    """How long a radio was in each state, in seconds."""

    __slots__ = ()
    listen: float
    """Awake, neither sending nor receiving."""
    receive: float
    """Receiving a frame, whoever it was for."""
    sleep: float
    """Asleep."""
    transition: float
    """Falling asleep and waking up."""
    transmit: float
    """Sending."""


class TunnelDirection(Record):
    """One direction of a tunnel."""

    __slots__ = ()
    awake_bursts: int
    """Bursts sent because the radio was awake."""
    dropped: int
    """Packets dropped at a full queue."""
    full_bursts: int
    """Bursts that had their full number of packets."""
    held_s_max: float
    """The longest such delay."""
    held_s_mean: float | None
    """Mean delay that the tunnel added to a packet at its sending end."""
    keep_alives: int
    """Empty outer packets sent to keep mappings of addresses alive."""
    outer_bytes: int
    """Their bytes."""
    outer_packets: int
    """Outer packets, each with one or more of these, or with none."""
    outer_packets_lost: int
    """Outer packets lost on the way, as the other end could see; not with SCTP."""
    outer_packets_repeated: int | None
    """Outer packets that SCTP sent again."""
    overhead: float | None
    """Bytes of outer packets over those of inner packets, less one."""
    packet_bytes: int
    """Their bytes."""
    packets: int
    """IP packets that were sent through the tunnel."""
    packets_per_burst: float | None
    """Packets in a burst, on average."""
    superseded: int
    """Acknowledgements that a later one made superfluous."""
    timed_out_bursts: int
    """Bursts sent at their time-out."""
    triggers: int
    """Empty outer packets sent as triggers."""


class WindowFairness(Record):
    """Fairness in windows of one length: the mean over all positions of a window that slides by 100 ms."""

    __slots__ = ()
    fair_utilization: float
    """Hashimoto (2013)."""
    fair_utilization_alpha1: float
    """Hashimoto (2010), with alpha = 1."""
    jain: float
    """Jain's index."""
    window_s: float
    """Length of the window."""


class Fairness(Record):
    """How the flows shared the capacity, by their throughputs over the measured interval, or each from its
    start where the scenario sets none."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"windows": WindowFairness}
    capacity_bps: float
    """Capacity that the flows share: the lowest of the payload rates of the wire and the air."""
    fair_utilization: float
    """Hashimoto (2013), equation 2.10: without the utilization term."""
    fair_utilization_alpha1: float
    """Hashimoto (2010), equations 6 and 7, with alpha = 1."""
    jain: float
    """Jain's index."""
    measured_from_s: float | None
    """The beginning of the measured interval, in seconds, if the scenario sets one."""
    windows: list[WindowFairness] | None
    """The same by the sliding-window method, for the scenario's windows."""


class FlowResult(Record):
    """One flow."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"energy_overhead": EnergyOverhead}
    ack_loss_halvings: int
    """Number of times that they halved its window."""
    ack_losses_seen: int
    """Acknowledgements that the sender counted as lost; 0 with transports that do not detect such losses."""
    acks_lost: int
    """Pure acknowledgements lost on the way."""
    block_s_mean: float | None
    """Mean duration of a block, in seconds."""
    block_s_p50: float | None
    """Median duration of a block, in seconds."""
    block_s_p95: float | None
    """95th percentile of the durations, in seconds."""
    block_s_p99: float | None
    """99th percentile of the durations, in seconds."""
    blocks: int | None
    """Number of complete blocks."""
    bytes_delivered: int
    """Payload delivered in order to the receiving application, in bytes. Headers never count."""
    bytes_skipped: int
    """Payload in bytes that the receiver acknowledged without having it, as permitted by `reliability`."""
    completed_s: float | None
    """Time at which the receiver had all data, in seconds since the beginning of the run."""
    connection_lost: bool
    """Whether the connection was given up or reset before everything had arrived."""
    data_overhead: float | None
    """Bytes sent both ways on the last hop over payload carried, less one."""
    delivery_full_s_mean: float | None
    """The same mean with the time of the transmission."""
    delivery_s_mean: float | None
    """Over a point-to-point link: mean time of data packets from the first bit of their first sending to their
    arrival, without the time that the transmission itself takes. Not known of a flow with several
    connections."""
    direction: str
    """`down` if its station receives the data, otherwise `up`; between nodes that are no stations, `down` is
    towards an access point, or else from the node that waits for the connection."""
    energy_overhead: EnergyOverhead | None
    """Both overheads, weighted for three kinds of radio."""
    goodput_bps: float
    """Delivered bits over the time from the flow's start until it was complete, or until the run ended,
    whatever `measure_from` is."""
    id: int
    """Its number."""
    latency_s_mean: float | None
    """Mean time of data packets from host to host; of a flow whose connection ends at the base station, over
    the last leg."""
    latency_s_p50: float | None
    """Median in seconds."""
    latency_s_p95: float | None
    """95th percentile in seconds."""
    latency_s_p99: float | None
    """99th percentile in seconds."""
    measured_bps: float | None
    """Delivered bits over the time from the scenario's `measure_from` until the run ended, if it is set: then
    this is the goodput that tables, comparisons and reports show."""
    render_s_mean: float | None
    """Its mean, in seconds."""
    render_s_p50: float | None
    """Its median, in seconds."""
    render_s_p95: float | None
    """Its 95th percentile, in seconds."""
    response_s_mean: float | None
    """Mean duration of a page or response, in seconds."""
    response_s_p50: float | None
    """Median duration of a page or response, in seconds."""
    response_s_p95: float | None
    """95th percentile of the durations, in seconds."""
    response_s_p99: float | None
    """99th percentile of the durations, in seconds."""
    responses: int | None
    """Number of complete pages or responses."""
    rtt_s_mean: float | None
    """Mean of the sender's measurements of the round-trip time; of several connections the mean of theirs, by
    the segments of each."""
    segments_retransmitted: int
    """Retransmissions among them."""
    segments_sent: int
    """Segments with data that the sender sent, retransmissions included."""
    station: int | None
    """The station that receives its data, or else the one that sends them; `null` if neither end is a
    station."""
    steady_s_mean: float | None
    """Their mean, in seconds."""
    steady_s_p95: float | None
    """Their 95th percentile, in seconds."""
    steady_s_p99: float | None
    """Their 99th percentile, in seconds."""
    time_overhead: float | None
    """Time until all data was acknowledged, over the time that the slowest link needs for the payload or the
    application for producing it, less one."""
    timeouts: int
    """Retransmission time-outs."""
    to: str
    """The node that receives them."""
    transport: str
    """Transport's name."""
    video_bps_mean: float | None
    """Mean rate of these segments, in bit/s."""
    video_segments: int | None
    """Number of segments of the video that arrived."""
    video_stalled_s: float | None
    """For how long nothing was played since then, in seconds."""
    video_stalls: int | None
    """Number of times that the buffer ran empty."""
    video_startup_s: float | None
    """Time from the first request until playing began, in seconds."""
    video_switches: int | None
    """Number of times that the rate changed."""


class HostResult(Record):
    """One host: what it drew beside its radio, from the beginning to the end of the run."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"time_s": HostSeconds}
    energy_j: float
    """Energy over the whole run."""
    idealized_energy_j: float
    """Energy of the time for which its processor was busy, at the whole power (Singh, 2002)."""
    marginal_energy_j: float
    """Energy beyond that of an idle host."""
    node: str
    """Its node."""
    profile: str
    """The profile of the host."""
    time_s: HostSeconds
    """How long it was idle, and busy with what."""


class LinkResult(Record):
    """One wire or point-to-point link."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"forward": LinkDirection, "reverse": LinkDirection}
    between: list[str]
    """The nodes at its ends."""
    forward: LinkDirection
    """From the first node to the second."""
    kind: str
    """`wire` or `point-to-point`."""
    name: str
    """Its name."""
    reverse: LinkDirection
    """From the second node to the first."""


class NamedCell(Record):
    """One cell."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"categories": CategoryResult}
    airtime_utilization: float
    """Share of the time during which a frame was on the air."""
    ap_drops: int
    """Packets dropped at the access point's buffers."""
    categories: list[CategoryResult] | None
    """What was sent in each access category on its channel, where they are told apart."""
    channel: str | None
    """Its channel; `null` if it has one of its own. Cells on one channel share what is counted of the air."""
    collisions: int
    """Number of times that several nodes began to send at once."""
    frames: int
    """Attempts to send a data, control or beacon frame. RTS, CTS and acknowledgements are not counted."""
    lifetime_drops: int | None
    """Packets discarded at the end of their lifetime, where they have one."""
    mpdus: int | None
    """Frames in these attempts, where an aggregate has several."""
    name: str
    """Its name."""
    retries: int
    """Attempts after the first."""
    retry_limit_drops: int
    """Packets given up at the retry limit."""


class ProfileAccount(Record):
    """What a profile says of an energy: the mode that it assumes, the power in the others, and how far it may
    be off."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"modes": ModeAccount}
    assumed: list[str]
    """Keys whose values the profile assumes and on which this energy depends: `listen` beyond that of beacons,
    `wake_up` without an average that it was fitted on, and `sleep` with no more than one."""
    band_high: float
    """See `band_low`."""
    band_low: float
    """How far the energy, the current and the days' inverse may be below and above, as shares: `error`, or
    without one the largest error of the profiles that ship, as far as the profile's averages leave room for it,
    and no less than the digits of these; what the borrowed values would make if they were those of another
    chip, what the assumed ones may make, and `load_instead`. These are independent of each other, so that it is
    the root of the sum of their squares."""
    borrowed: list[str]
    """The borrowed keys of which that share consists."""
    borrowed_share: float
    """Share of the energy that depends on values of another chip, at most."""
    digits: float | None
    """What half a unit in the last digit of the averages leaves open on which the profile is fitted, as a
    share, where `error` and what is known of other profiles are less; left out where they are not."""
    error: float | None
    """Largest error of the profile's predictions of published averages that it is not fitted on, as a share;
    `None` if there is none to compare with."""
    load_instead: float | None
    """By how much the energy is larger, as a share of it, if a load of the board makes the one average on which
    the profile is fitted, and not its wake-up; left out where nothing of that is open."""
    mode: str | None
    """The maker's name of the assumed mode; `None` if the profile has no modes."""
    modes: list[ModeAccount]
    """The same time in each mode."""
    next_average: int | None
    """The DTIM period whose average would narrow the band most if it was measured, where `error` is `null`."""


class TunnelResult(Record):
    """The tunnel of a station."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"down": TunnelDirection, "up": TunnelDirection}
    down: TunnelDirection
    """What the other end sent through it."""
    station: int
    """The number of the station."""
    up: TunnelDirection
    """What the station sent through it."""


class StationResult(Record):
    """One station."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {
        "energy_by_cause_j": EnergyByCause,
        "profile": ProfileAccount,
        "state_s": StateSeconds,
    }
    average_current_a: float | None
    """The same over the supply voltage of the radio; `None` if its profile has none."""
    average_power_w: float
    """Energy over the simulated time."""
    beacons_missed: int
    """Beacons that were expected and not received."""
    cell: str
    """The name of its cell or point-to-point link."""
    energy_by_cause_j: EnergyByCause
    """The energy by what it was spent on."""
    energy_by_peer_j: Mapping[str, float]
    """The same total by the node at the other end of each flow; `none` is everything that is no packet of a
    flow."""
    energy_j: float
    """Energy over the whole run."""
    energy_per_bit_j: float | None
    """Energy over the bits that the station's flows delivered."""
    id: int
    """Its number."""
    idealized_energy_j: float
    """Energy without that of idle listening (Singh, 2002)."""
    lower_bound_j: float
    """The least energy for the same frames of the station at the same times: that of a radio which knows them
    in advance and sleeps in every gap that is long enough."""
    name: str
    """Its name: that of its node, with the cell behind a slash if the node is a station of several cells."""
    node: str
    """Its node."""
    policy: str
    """Power-save policy."""
    profile: ProfileAccount | None
    """What the radio's profile says of the energy: the same in other modes of the host, the share that rests on
    values of another chip, and the profile's error. Absent if it says nothing."""
    ps_polls: int
    """PS-Polls."""
    radio: str
    """Radio profile."""
    service_periods: int
    """Service periods, opened by triggers and by data."""
    state_s: StateSeconds
    """How long the radio was in each state."""
    triggers: int
    """QoS Null frames that opened a service period."""
    waits_given_up: int
    """Service periods, and answers to PS-Polls, of which the station gave up waiting for a frame
    (`station.frame_wait`)."""
    wakeups: int
    """Number of wake-ups of the radio."""
    wakeups_by_reason: Mapping[str, int]
    """Number of wake-ups by reason."""


class RunResult(Record):
    """The result of one run."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {
        "access_points": AccessPointResult,
        "cell": CellResult,
        "cells": NamedCell,
        "fairness": Fairness,
        "flows": FlowResult,
        "hosts": HostResult,
        "impairments": ImpairmentResult,
        "links": LinkResult,
        "stations": StationResult,
        "tunnels": TunnelResult,
    }
    access_points: list[AccessPointResult]
    """The access points, in the order of their cells."""
    cell: CellResult
    """The first cell, or the point-to-point link, with the drops of all wires."""
    cells: list[NamedCell]
    """The cells, in the order of the scenario."""
    events: int
    """Wake-ups of machines."""
    fairness: Fairness
    """Fairness between the flows."""
    flows: list[FlowResult]
    """Flows by number."""
    hosts: list[HostResult] | None
    """Hosts whose energy beside the radio is accounted for."""
    impairments: list[ImpairmentResult] | None
    """What impairments of forwarding paths did."""
    links: list[LinkResult]
    """The links: point-to-point links, then wires."""
    scenario: str
    """Name of the scenario."""
    schema: int
    """Version of the document's schema."""
    seed: int
    """The seed."""
    simulated_s: float
    """Simulated time in seconds, until the last radio has finished its current frame."""
    stations: list[StationResult]
    """Stations by number."""
    tunnels: list[TunnelResult] | None
    """The tunnels, if the scenario has any."""
    version: str
    """Version of the program."""
    wall_s: float
    """Wall-clock time of the run in seconds; the caller sets it."""
