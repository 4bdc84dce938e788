"""The keys of a scenario, for `airwatt.Scenario.of`. Written by `make docs` from the schema of scenarios."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from airwatt._core import Quantity

class AccessPoint(TypedDict, total=False):
    """The access point."""

    beacon_interval: str | Quantity
    """Time between beacons. Real access points have whole time units of 1.024 ms, 100 as a rule. Another
    interval, as publications have, is declared by a vendor-specific element in the beacons of a capture, since
    their field would round it."""
    beacon_length: str | Quantity
    """Length of beacons with MAC header and FCS. What exceeds the default follows the TIM. Default: the
    elements of 802.11n, 143 bytes for up to eight stations and one more for each further eight, which is also
    the least. Beacons with the elements of 802.11ax have some 200 to 400 bytes, and those of multi-link devices
    300 to 600."""
    buffer: str | Quantity
    """Packets in the transmission queue, which all stations share, and as many in that of group-addressed
    packets."""
    codel_interval: str | Quantity
    """For how long they may wait longer than that. Default 100 ms."""
    codel_since: Literal["release", "arrival"]
    """From when on they wait: from the `release` of a packet by power save, the default, or from its `arrival`,
    as in Linux, where packets of a dozing station are in the same queue."""
    codel_target: str | Quantity
    """How long packets may wait before CoDel drops some. Default: 5 ms in `fq-codel` (RFC 8290), 20 ms in the
    queues of mac80211."""
    dtim_period: int
    """Every how many beacons group-addressed frames follow."""
    group: Sequence[GroupTraffic]
    """Group-addressed packets of neighbours, one table a kind. Default: none."""
    node: str
    """In a `[[cell]]`: the node that is the access point."""
    power_save_buffer: str | Quantity
    """Drop-tail power-save buffer of each station. Default: as `buffer`."""
    priority: bool
    """Whether the access point's data goes ahead of the stations': after PIFS, without backoff."""
    queue: Literal["drop-tail", "two-queues", "fq-codel", "mac80211", "ath9k"]
    """How the transmission queue is served: `drop-tail` first come, first served, `two-queues` TCP's
    acknowledgements and all else take turns, each with half of `buffer` (Ha and Choi 2006), `fq-codel` flows
    take turns (RFC 8290), `mac80211` as in Linux FQ-CoDel for each station, turns of stations by air time and a
    limit in air time (AQL), `ath9k` the same with two PPDUs ahead instead of that limit. `buffer` bounds
    each."""
    radio: Literal["shared"]
    """In a `[[cell]]`: `shared` if the access point uses the radio that its node has as a station of an earlier
    cell on the same channel. Default: it has a radio of its own, whose energy is not accounted for."""
    twt_agreements: int
    """Most target wake time agreements that hold at a time; with 0 every request is rejected. Default 16, as
    the hardware of Linux's drivers mt7915 and mt7996 has."""
    twt_information: bool
    """Whether the access point takes information frames, by which a station suspends an agreement for its
    traffic. Default: it does not, as Linux's mac80211 and these drivers say."""
    twt_least_duration: str | Quantity
    """Least duration of the service periods of an agreement; a request for less is answered with it (Dictate
    TWT). Default 16.384 ms, as these drivers do."""
    twt_schedule: WakeSchedule
    """The service periods that beacons announce to all stations (broadcast target wake time). Default: none."""
    uapsd: bool
    """Whether the access point offers U-APSD."""
    wait_for_room: bool
    """Whether frames wait in the power-save buffer until the transmission queue has room for them. Default: no,
    a released frame that finds the queue full is dropped."""

class AckLossConfig(TypedDict, total=False):
    """The detector's settings."""

    beta_shift: int
    """Weight of a sample in the estimate of b: 2^-beta_shift, 1 to 10. Default 5: beta = 1/32."""
    rule: Literal["published", "stretch"]
    """The rule that decides what counts as a loss. Default: `stretch`, since today's receivers stretch their
    acknowledgements without any loss."""
    segments_per_ack: Literal["estimated"] | int
    """The source of b. Default: an estimate."""
    threshold: int
    """Lost acknowledgements that halve the window. Default 1, the value that the thesis calls best."""

class Aggregation(TypedDict, total=False):
    """The largest A-MPDU. Stations and access point have the same."""

    amsdu: str | Quantity
    """Longest A-MSDU: packets to one receiver share a frame of at most this length, as far as the longest MPDU
    allows (4095 bytes within an A-MPDU of HT, 11454 with VHT and HE). Where a frame is damaged all its packets
    are lost. Up to 7935 bytes with HT and 11398 with VHT and HE; devices often have 3839. Default: each packet
    has a frame of its own."""
    bytes: str | Quantity
    """Longest A-MPDU. Default: the longest of the format, 65535 bytes with HT, 1048575 with VHT, and 6500631
    with HE."""
    missed_block_ack: Literal["resend", "request"]
    """What follows if the block acknowledgement of an A-MPDU is missing: `resend`, all its frames are sent
    again, as by ath9k and most drivers, or `request`, a BlockAckReq asks what has arrived, as in ns-3."""
    mpdus: int
    """Most frames, 1 to the largest window of the format: 64 with HT and VHT, 256 with HE. Default: that
    window."""
    retry_limit: int
    """Largest number of retransmissions of a data frame where A-MPDUs are sent, 0 to 255. Default:
    `wifi.retry_limit`. The receiver learns of a frame that is given up by a BlockAckReq; if that is lost as
    well, it waits for 100 ms, as Linux."""
    start_spacing: str | Quantity
    """Least time from the start of one frame of an A-MPDU to the start of the next, 0 to 16 us: shorter frames
    are followed by empty delimiters. It is what the receiver asks for (Minimum MPDU Start Spacing, 802.11-2020
    9.4.2.55.3); devices often ask for 4 or 8 us."""
    time: str | Quantity
    """Longest time on the air, up to 5.484 ms; with a TXOP limit an A-MPDU and its block acknowledgement are no
    longer than that either."""

class BulkApplication(TypedDict, total=False):
    """everything is available from the start"""

    kind: Literal["bulk"]
    size: str | Quantity
    """How much is sent. Without it the transfer lasts for the whole run."""

class InteractiveApplication(TypedDict, total=False):
    """packets at random times, as somebody types"""

    kind: Literal["interactive"]
    mean_gap: str | Quantity
    """Mean time between packets; the times are exponentially distributed."""
    packet: str | Quantity
    """Data in a packet."""
    size: str | Quantity
    """How much is sent. Without it the application runs for the whole run."""

class CbrApplication(TypedDict, total=False):
    """packets at a constant bit rate"""

    kind: Literal["cbr"]
    packet: str | Quantity
    """Data in a packet."""
    rate: str | Quantity
    """Rate of the data."""
    size: str | Quantity
    """How much is sent. Without it the application runs for the whole run."""

class StreamingApplication(TypedDict, total=False):
    """media in blocks: the first seconds at once, then at the rate of the encoding"""

    block: str | Quantity
    """Size of the blocks in which the rest is sent."""
    kind: Literal["streaming"]
    media: str | Quantity
    """Length of the media."""
    rate: str | Quantity
    """Rate of the encoding."""
    size: str | Quantity
    """How much is sent, instead of `media`. Without either the stream lasts for the whole run."""
    startup: str | Quantity
    """The part of the media that is sent at once, to fill the player's buffer."""

class DashApplication(TypedDict, total=False):
    """video in segments whose rate the player adapts to the path (DASH, HLS)"""

    buffer: str | Quantity
    """How much of the video the player's buffer holds. Default: 30 s, as in dash.js."""
    kind: Literal["dash"]
    media: str | Quantity
    """Length of the video. Without it the video lasts for the whole run."""
    rates: Sequence[str | Quantity]
    """Rates in which the video exists, from the lowest on, at most 16. Default: those that Apple's *HLS
    authoring specification* lists for H.264, from 145 kbit/s to 7.8 Mbit/s."""
    request: str | Quantity
    """Data of a request. Default 400 bytes: one with its headers, assumed."""
    rule: Literal["throughput", "bola"]
    """How the player chooses the next segment's rate: `throughput` takes at most 0.9 of what the last three
    segments had, `bola` goes by the time in its buffer (BOLA-BASIC)."""
    segment: str | Quantity
    """Length of a segment. Default: 6 s, as that specification has it."""

class WebApplication(TypedDict, total=False):
    """pages over persistent HTTP/1.1 connections: one, or several as browsers have"""

    connections: int
    """Number of connections over which the objects of a page are requested. Default 1: one object after
    another. Browsers have 6 to a server: the document is requested alone, then each connection requests the
    next object when it has received one."""
    count: int
    """Number of pages. Without it as many as the run has time for."""
    kind: Literal["web"]
    mean_gap: str | Quantity
    """Mean time to read a page before the next request."""
    object_spread: float
    """Standard deviation of the logarithm of an object's size. Default 1.318, that of Barford and Crovella; 0
    makes the objects of a page equal."""
    request: str | Quantity
    """Data of a request. Default 400 bytes: one for an object of a page, with the headers that browsers sent
    about 2010."""

class PageApplication(TypedDict, total=False):
    """pages with the weights of 2025 over HTTP/1.1, HTTP/2 or, with QUIC, HTTP/3"""

    count: int
    """Number of pages. Without it as many as the run has time for."""
    device: Literal["desktop", "mobile"]
    """The browser: `desktop` or `mobile`, whose pages are lighter."""
    http: Literal["http/1.1", "h2"]
    """The version of HTTP over TCP, by the name that TLS has for it: `h2`, the default, or `http/1.1`. Over
    QUIC it is HTTP/3."""
    kind: Literal["page"]
    mean_gap: str | Quantity
    """Mean time to read a page before the next request. Default: 30 s, the reading time of 3GPP2's traffic
    model (C.R1002-0)."""
    origins: int
    """Number of origins among which the objects of a page are divided, each with connections of its own.
    Default 1; a page of 2025 has 10 to 15 (unsure)."""
    request: str | Quantity
    """Data of a request. Default 100 bytes: headers that are compressed by their difference from the last ones
    (RFC 7541), assumed."""

class RequestResponseApplication(TypedDict, total=False):
    """small requests and responses, as keys typed into a remote shell"""

    begins: Literal["sender", "receiver"]
    """The end that begins, which sends the requests: `receiver` if the flow's data, whose direction `direction`
    is, are the responses, `sender` if they are the requests."""
    burst: int
    """Number of requests before each pause, as the keys of a command before its output is read. Without it
    there are no pauses."""
    count: int
    """Number of requests. Without it as many as the run has time for."""
    fresh: bool
    """Whether the end that begins opens a connection for each request, from a port of its own, as `curl` in a
    loop does; `count` says how many."""
    kind: Literal["request-response"]
    mean_gap: str | Quantity
    """Mean time before the next request."""
    pause: str | Quantity
    """Mean time of a pause."""
    request: str | Quantity
    """Data of a request."""
    response: str | Quantity
    """Data of a response."""

class CallApplication(TypedDict, total=False):
    """audio, video and reports of one end of a call, in datagrams"""

    audio: str | Quantity
    """Rate of the audio, without headers; `0bps` for none. Default: 32 kbit/s, a rate of Opus for speech (RFC
    7587 3.1.1)."""
    dtx: bool
    """Whether a silent speaker sends a packet each 400 ms only (DTX). Default: no, as RFC 7587 has it
    (`usedtx`)."""
    frame_rate: int
    """Frames of video a second. Default: 30."""
    kind: Literal["call"]
    reports: str | Quantity
    """Time between two reports on what is received (RTCP); `0ms` for none. Default: 100 ms, assumed."""
    video: str | Quantity
    """Rate of the video, without headers; `0bps` for none. Default: 1 Mbit/s; on a free link Zoom, Meet and
    Teams took 0.8 to 1.9 Mbit/s (MacMillan et al., IMC 2021)."""

class GameApplication(TypedDict, total=False):
    """packets of one end of a game, in datagrams"""

    kind: Literal["game"]
    model: Literal["status-sync", "lockstep"]
    """The game: `status-sync`, in which the server tells each player what has changed, or `lockstep`, in which
    it sends the inputs of all players to each."""
    sends: Literal["server", "player"]
    """The end that sends the flow's packets: `server`, or `player`. A game has a flow for each."""

class PeriodicApplication(TypedDict, total=False):
    """a message once in each interval, with a reply or without, as a sensor reports"""

    begins: Literal["sender", "receiver"]
    """The end that begins, which sends the messages: `sender` if the flow's data, whose direction `direction`
    is, are the messages, `receiver` if they are the replies."""
    count: int
    """Number of messages. Without it as many as the run has time for."""
    fresh: bool
    """Whether the end that begins opens a connection for each message, from a port of its own, as a monitor
    does; `count` says how many. It needs a `reply`."""
    interval: str | Quantity
    """Time from one message to the next."""
    jitter: str | Quantity
    """Each message is late by a random time, uniform up to this, which is shorter than the interval."""
    kind: Literal["periodic"]
    packet: str | Quantity
    """Data in a message."""
    phase: str | Quantity
    """When the first message comes, after the flow's start. A flow's `start_spread` draws it for each
    station."""
    reply: str | Quantity
    """Data in the other end's reply. Without it there is none."""

class MqttApplication(TypedDict, total=False):
    """keep-alives of MQTT over TLS, and reports that its server acknowledges"""

    interval: str | Quantity
    """Time from one report to the next, which goes with `report`."""
    keep_alive: str | Quantity
    """Keep-alive of the CONNECT packet, after which a client that has sent nothing else sends a ping. 60 s is
    the default of common client libraries."""
    kind: Literal["mqtt"]
    record: str | Quantity
    """What TLS adds to each message: 22 B with TLS 1.3 (RFC 8446 5.2: header 5, content type 1, tag 16), 29 B
    with TLS 1.2 and AES-GCM (RFC 5288: header 5, nonce 8, tag 16), 0 B without TLS."""
    report: str | Quantity
    """Topic and payload of a report, which the client publishes at QoS 1 once in each `interval`. Without it
    there are keep-alives alone."""

class CoapApplication(TypedDict, total=False):
    """the keep-alives of CoAP over DTLS: an empty message and its reset"""

    interval: str | Quantity
    """Time between two messages. CoAP has no keep-alive of its own; 2 min is the least time for which a NAT
    must keep a UDP binding (RFC 4787 REQ-5); many keep it for 30 s only."""
    kind: Literal["coap"]
    record: str | Quantity
    """What DTLS adds to each message: 29 B with DTLS 1.2 and AES-CCM-8, CoAP's mandatory suite (RFC 7252 9.1.3;
    RFC 6347 4.1: header 13; RFC 6655: nonce 8, tag 8), 0 B without DTLS."""

class Lwm2mApplication(TypedDict, total=False):
    """the updates of a registration by which LwM2M keeps it alive"""

    interval: str | Quantity
    """Time between two updates, less than the registration's lifetime. The default is the lifetime of 86,400 s
    that LwM2M is said to have by default (not verified), less the 247 s that an exchange of CoAP may take (RFC
    7252 4.8.2)."""
    kind: Literal["lwm2m"]
    record: str | Quantity
    """What DTLS adds to each message: 29 B with DTLS 1.2 and AES-CCM-8 (RFC 6347 4.1, RFC 6655), 0 B without
    DTLS."""

class MatterApplication(TypedDict, total=False):
    """the empty reports by which Matter keeps a subscription alive"""

    interval: str | Quantity
    """Longest interval of the subscription, after which an empty report is due. Up to 60 min (not verified)."""
    kind: Literal["matter"]
    record: str | Quantity
    """The integrity check of each message, 16 B."""

class SaturatedApplication(TypedDict, total=False):
    """a transmission queue at the head of the air that never runs empty (UDP only)"""

    kind: Literal["saturated"]

ApplicationConfig: TypeAlias = (
    BulkApplication
    | InteractiveApplication
    | CbrApplication
    | StreamingApplication
    | DashApplication
    | WebApplication
    | PageApplication
    | RequestResponseApplication
    | CallApplication
    | GameApplication
    | PeriodicApplication
    | MqttApplication
    | CoapApplication
    | Lwm2mApplication
    | MatterApplication
    | SaturatedApplication
)

class BaTaStrConfig(TypedDict, total=False):
    """Settings of BA-TA+Str: those of BA-TA and those for streams, in one table."""

    alpha: float
    """Share of the past in smoothed values."""
    attempt_at_once: bool
    """Whether the first opportunity for active mode is used. Otherwise the `n_max`-th is, since nothing is
    known of active mode before. The paper gives no initial value of its counter."""
    count_max: int
    """Updates between two changes of the interval."""
    first_sample: bool
    """Whether the smoothed throughput starts from its first sample instead of zero. The paper gives no initial
    value."""
    forget_after: str | Quantity
    """The time without data after which the estimates for a connection are dropped. The paper gives none; 10
    s."""
    gain: float
    """How strongly the interval responds to the ratio: the paper's G."""
    gamma: float
    """The rise of the ratio that active mode has to bring; a fall by twice as much is acted on at once."""
    history: str | Quantity
    """How long the throughput has to stay stable."""
    int_max: str | Quantity
    """Longest time between two triggers."""
    int_min: str | Quantity
    """Shortest time between two triggers."""
    leave_below: float
    """The change of the ratio below which active mode is left. Default `gamma`, as line 40 of the listing has
    it: active mode has to go on bringing more."""
    n_max: int
    """Number of opportunities for active mode of which one is used although recent attempts brought nothing."""
    n_trig_max: int
    """Triggers within one update time that may find nothing before the interval grows."""
    part: str | Quantity
    """The time over which each of the compared means is taken."""
    ratio_min: float
    """The share of the path's peak rate that the controller aims at."""
    step_min: str | Quantity
    """The growth of the interval in that case."""
    surplus: float
    """The multiple of the application's estimated rate at which the estimate is dropped, because it was too
    low."""
    t_update: str | Quantity
    """Time between two runs of the controller."""
    tolerance: float
    """The largest spread of these means, as a share of their mean."""
    update_on_beacons: bool
    """Whether the controller runs at beacons: at the first one that comes `t_update` after its last run, or up
    to half a beacon interval before that. Otherwise a timer runs it, from the first packet on. The paper says
    that `t_update` allows for either."""
    util_min: float
    """The share of the air time up to which active mode counts as wasted on a path that is slower than the air.
    The paper gives none; 0.9."""

class Burst(TypedDict, total=False):
    """Bursts of loss that come at fixed times."""

    every: str | Quantity
    """From the beginning of a burst to that of the next one."""
    first: str | Quantity
    """The beginning of the first burst."""
    length: str | Quantity
    """Length of a burst."""
    loss: float
    """Probability that a packet is lost during a burst."""

class Cell(TypedDict, total=False):
    """An 802.11 cell: an access point with its stations, or an ad-hoc network."""

    access_point: AccessPoint
    """The access point."""
    channel: str
    """Its radio channel, by any name. Cells on one channel share it and receive each other. Default: a channel
    of its own."""
    links: Sequence[Sequence[str]]
    """Of an ad-hoc cell: the pairs of nodes that send to each other. All members receive each other in any
    case. Default: all pairs."""
    mode: Literal["infrastructure", "ad-hoc"]
    """Whether it has an access point."""
    name: str
    """Its name."""
    station: Sequence[StationGroup]
    """Its stations."""
    wifi: Wifi
    """How its members use the air: a name of a shipped set, or a table."""

class Cross(TypedDict, total=False):
    """Packets of others at a constant rate over a wired link."""

    packet: str | Quantity
    """Length of each IP packet."""
    rate: str | Quantity
    """Their rate, at most the link's."""

class E2tcpConfig(TypedDict, total=False):
    """One end's settings. Both ends are given the same [`E2tcpConfig::assumed_window`]. Windows are in packets.
    Fields that are no keys of files are derived ([`E2tcpConfig::derived`]) or belong to a device."""

    ack_every: int
    """Full packets in order that one acknowledgement answers while nothing is lost, 1 to `max_window`. Default
    1, as in the thesis."""
    after_timeout: int
    """Window after a timeout in packets. Default 5."""
    back_off: bool
    """Whether each timeout in a row doubles the next. Default yes, although the thesis describes no such rule:
    without it, a link whose queue takes longer than a timeout is filled with copies for ever."""
    burst_reaction: Literal["windows", "detector"]
    """The response to bursts of errors: `windows`, the window management of the thesis, or `detector`, the
    earlier detector that it is compared with. Default `windows`."""
    counted: Literal["travelling", "missing", "span"]
    """What keeps new data out of the window. Default what travels: packets believed lost have left the link."""
    duplicate_ack: Literal["ignored", "go-back", "one-then-all"]
    """Without blocks, what an acknowledgement that repeats its number means. Default `ignored`."""
    error_limit: int
    """Packets newly lost in one acknowledgement up to which they are static noise; more are a burst error.
    Default 5; the thesis writes both "below" and "exceeds", read as: equal is static."""
    header: Literal["e2tcp", "tcp"]
    """What the headers of packets cost in a simulation. Default E2TCP's own."""
    increase: Literal["ack", "window"]
    """How the window grows. Default with each acknowledgement."""
    increase_every: int
    """With `increase = "ack"`, acknowledgements that show no loss for each growth. Default 1."""
    infer_relost: bool
    """Whether a retransmission counts as lost when an acknowledgement reports a packet sent after it. Default
    no: only the retransmission timer finds such losses, as in the thesis."""
    initial_rto: str | Quantity
    """Timeout before the first sample. Default 1 s."""
    learn_window: bool
    """Whether the largest window is learned from the hop: twice what its rate delivers in its shortest round
    trip, at least `max_window` and at most what the peer offers. Default no: `max_window`, as in the thesis."""
    max_window: int
    """Largest window in packets, until the peer's window field says otherwise. Default 25."""
    min_window: int
    """Window to begin with, and least window while losses look like static noise, in packets. Default 12."""
    receive_window: str | Quantity
    """Largest window that is offered in bytes. Default 65535: blocks and the window field hold no more. A
    simulator that counts packets, as the thesis did, may set more, as no packet of it goes over a wire."""
    rto_margin: str | Quantity
    """Added to the timeout, so that it stays above the round trip of a quiet link. Default 10 ms."""
    rto_percent: int
    """The timeout in per cent of the largest of the last five round trips. Default 125: "slightly higher"."""
    selective: bool
    """Whether the receiver reports blocks. Default yes; without, loss is found by the timers alone."""

class NoneError(TypedDict, total=False):
    """no packet is damaged"""

    model: Literal["none"]

class UniformError(TypedDict, total=False):
    """each packet with one probability"""

    error_rate: float
    """Error rate."""
    model: Literal["uniform"]

class TwoStateError(TypedDict, total=False):
    """good and bad times, which both directions share"""

    bad: str | Quantity
    """Length of a bad time, or its least length."""
    bad_error_rate: float
    """Error rate in a bad time."""
    bad_max: str | Quantity
    """Longest bad time, if lengths are drawn. Default: all have the length `bad`."""
    good: str | Quantity
    """Length of a good time, or its least length."""
    good_error_rate: float
    """Error rate in a good time."""
    good_max: str | Quantity
    """Longest good time, if lengths are drawn. Default: all have the length `good`."""
    model: Literal["two-state"]

class GilbertElliottError(TypedDict, total=False):
    """good and bad packets, each direction for itself"""

    bad_error_rate: float
    """Error rate of bad packets."""
    good_error_rate: float
    """Error rate of good packets."""
    model: Literal["gilbert-elliott"]
    to_bad: float
    """Probability that the packet after a good one is a bad one."""
    to_good: float
    """Probability that the packet after a bad one is a good one."""

class ListedError(TypedDict, total=False):
    """the packets with these numbers"""

    listed_down: Sequence[int]
    """Damaged packets towards the station."""
    listed_up: Sequence[int]
    """Damaged packets from the station."""
    model: Literal["listed"]

ErrorConfig: TypeAlias = NoneError | UniformError | TwoStateError | GilbertElliottError | ListedError

class FlowGroup(TypedDict, total=False):
    """A group of identical flows: one for each of its stations or neighbours, or for each node that `from` and
    `to` name."""

    application: ApplicationConfig
    """What the application does: `kind`, and the settings of that kind."""
    count: int
    """With `from` and `to`: number of flows between each pair of nodes. Default: 1."""
    direction: Literal["down", "up"]
    """Towards the station or from it; in the short form, instead of `from` and `to`. It is the direction of the
    data; who begins is said by the application's key `begins`. Of `web` and `request-response` the data are the
    responses: with `down` the station asks and the server answers, with `up` the server asks the station."""
    dscp: int
    """The differentiated services code point of its packets in both directions, 0 to 63, which says their
    access category where a cell tells them apart (`wifi.categories`): 46 is voice (EF), 34 video (AF41), 8
    background (CS1). Of a tunnel's packets it is 0."""
    neighbours: int
    """Number of hosts on a wire at the access point, instead of stations. Their flows share the wired path with
    those of the stations and never come to the air."""
    reliability: int
    """Transports `e2tcp` and `prtp`: the share of the data that has to arrive, in per cent."""
    reliability_window: int
    """Number of packets over which that share is counted, the last ones. Default: all of the connection's."""
    start: str | Quantity
    """When the flow begins."""
    start_spread: str | Quantity
    """The beginning is drawn uniformly from this long after `start`."""
    stations: Sequence[int]
    """The stations, by number. Default: all."""
    to: str | Sequence[str]
    """The nodes that receive the data. Either `from` or `to` is a single node."""
    transport: Literal[
        "tahoe",
        "reno",
        "newreno",
        "sack",
        "cubic",
        "westwood",
        "veno",
        "jersey",
        "tahoe+ackloss",
        "reno+ackloss",
        "newreno+ackloss",
        "sack+ackloss",
        "cubic+ackloss",
        "westwood+ackloss",
        "veno+ackloss",
        "jersey+ackloss",
        "bbr1",
        "bbr3",
        "prtp",
        "split",
        "snoop",
        "e2tcp",
        "e2tcp-base",
        "quic",
        "udp",
    ]
    """Transport: a name that `airwatt transports` lists, or a congestion control of your own,
    `FILE.py:CLASS`."""
    wired: Wired
    """A wired path that these flows share among themselves, instead of the scenario's."""

class Gateway(TypedDict, total=False):
    """The gateway at the access point: where connections of `split`, `e2tcp` and `e2tcp-base` meet, and the
    agent of `snoop`."""

    buffer: str | Quantity
    """Data that it holds for each connection at most, beside what it has not read yet; with `snoop`, copies
    that it keeps."""
    cell: str
    """The cell or point-to-point link for which it is: flows that leave its node over another one have end-to-
    end connections. Default: any."""
    transport: Literal[
        "tahoe",
        "reno",
        "newreno",
        "sack",
        "cubic",
        "westwood",
        "veno",
        "jersey",
        "tahoe+ackloss",
        "reno+ackloss",
        "newreno+ackloss",
        "sack+ackloss",
        "cubic+ackloss",
        "westwood+ackloss",
        "veno+ackloss",
        "jersey+ackloss",
        "bbr1",
        "bbr3",
        "prtp",
        "split",
        "snoop",
        "e2tcp",
        "e2tcp-base",
        "quic",
        "udp",
    ]
    """TCP between server and gateway, on the last hop of `split`, and from end to end with `snoop`: a name that
    `airwatt transports` lists."""

class GroupTraffic(TypedDict, total=False):
    """Group-addressed packets of one kind."""

    hosts: int
    """Number of hosts that send them."""
    interval: str | Quantity
    """Mean time between two packets of one host. The times between are exponentially distributed."""
    kind: Literal["arp", "mdns", "neighbour-discovery"]
    """What the packets are: `arp`, `mdns` or `neighbour-discovery`."""
    packet: str | Quantity
    """Length of a packet in the frame, without the MAC and LLC headers. Default: ARP 46 bytes, since an
    Ethernet frame is padded; mDNS 200 bytes, assumed; neighbour discovery 72 bytes, a solicitation with the
    sender's address (RFC 4861 4.3)."""

class HostCommands(TypedDict, total=False):
    """The commands of one host of an emulation, each as the shell reads it."""

    name: str
    """`server`, or `station0` and so on."""
    run: Sequence[str]
    """Start when the servers listen; the emulation ends when all of them have ended."""
    serve: Sequence[str]
    """Run until the emulation ends, as servers do."""

class HostEnergyConfig(TypedDict, total=False):
    """The energy model of a host: a shipped profile, and values that take the place of its own."""

    active: str | Quantity
    """Power while the processor is busy, without the radio."""
    copy_kilobyte: str | Quantity
    """Processor time for each 1000 bytes copied between application and kernel, with the checksum."""
    idle: str | Quantity
    """Power while the processor is idle, without the radio."""
    interface_kilobyte: str | Quantity
    """Processor time for each 1000 bytes copied between kernel and network interface."""
    packet_received: str | Quantity
    """Processor time for each packet that is received."""
    packet_sent: str | Quantity
    """Processor time for each packet that is sent."""
    profile: str
    """The name of a shipped profile."""
    sack_block: str | Quantity
    """Processor time for each SACK block received or sent."""
    timeout: str | Quantity
    """Processor time for each retransmission timeout."""

class Link(TypedDict, total=False):
    """A link between two nodes."""

    between: Sequence[str]
    """Its two nodes; of a point-to-point link the base station first, the station second."""
    cut_through: bool
    """Of a point-to-point link: whether a packet arrives `delay` after its first bit was sent instead of after
    its last."""
    delay: str | Quantity
    """Propagation, one way."""
    errors: ErrorConfig
    """Of a point-to-point link: which packets are damaged. Default: none."""
    forward: WiredDirection
    """Of a wire: from the first node to the second."""
    kind: Literal["wire", "point-to-point"]
    """What it is."""
    name: str
    """Its name."""
    queue: str | Quantity
    """Of a point-to-point link: drop-tail queue before either transmitter; the packet in transmission is not
    counted. Default: 1000 packets."""
    radio: str
    """Of a point-to-point link: the radio profile of the station. Default: `broadcom-4311`."""
    rate: str | Quantity
    """Of a point-to-point link: rate of each direction, counted over whole packets."""
    reverse: WiredDirection
    """Of a wire: from the second node to the first."""

class MsduLifetime(TypedDict, total=False):
    """The lifetimes of packets by access category (`dot11EDCATableMSDULifetime`; ns-3's `MaxDelay`). A packet
    is discarded when it is over, unless it is on the air just then, and is not sent again after that."""

    background: str | Quantity
    """Of background traffic, with `wifi.categories`."""
    best_effort: str | Quantity
    """Of best effort, and of all packets without `wifi.categories`."""
    video: str | Quantity
    """Of video, with `wifi.categories`."""
    voice: str | Quantity
    """Of voice, with `wifi.categories`."""

class NodeGroup(TypedDict, total=False):
    """A node, or a group of like nodes."""

    count: int
    """Number of nodes in a group. Default: a single node with the bare name."""
    first: int
    """The number of the first member of a group."""
    forward: bool
    """Whether it forwards packets of others although it has a single interface. Access points and nodes with
    several interfaces always forward."""
    host_energy: HostEnergyConfig
    """What the host draws beside its radio. Default: it is not accounted for."""
    name: str
    """Its name. The members of a group are called by it and their numbers: `station0`, `station1`, ..."""
    program: Sequence[ProgramConfig]
    """What it runs for packets that arrive at it. Such a packet goes through the list in its order, to the
    first program that wants it."""
    route: Sequence[StaticRoute]
    """Routes that take the place of the ones with fewest hops."""

class Outage(TypedDict, total=False):
    """A time during which nothing passes."""

    at: str | Quantity
    """Its beginning."""
    length: str | Quantity
    """Its length."""

class PathLoss(TypedDict, total=False):
    """Signals that weaken over the distance: frame errors, and capture."""

    capture_db: float
    """The access point hears one of several frames at once if it is so many decibels stronger than the others
    together."""
    errors: Literal["sensitivity", "nist", "table"]
    """How errors follow from the signal: `sensitivity`, a tenth of the frames of 1000 bytes fails at what the
    standard demands of a receiver; by the signal-to-noise ratio, `nist`, a model of decoders, or `table`, a
    simulated receiver. The latter two are those of ns-3; 802.11b has `sensitivity` with each. Default:
    `sensitivity`."""
    exponent: float
    """Exponent of the loss over distance. Default: ITU-R P.1238 for offices, 3.1 at 5 GHz and 3.0 at 2.4
    GHz."""
    noise_figure_db: float
    """What a receiver adds to thermal noise, in decibels, with `nist` and `table`. Default: 7."""
    shadowing_db: float
    """Standard deviation in decibels of what walls and furniture add to the loss of each station or take from
    it, normal and constant for a run. Default: 0."""
    tx_power: str | Quantity
    """Transmission power of access point and stations."""

class PointToPoint(TypedDict, total=False):
    """A full-duplex wireless link between the base station and one station."""

    cut_through: bool
    """Whether a packet arrives `delay` after its first bit was sent instead of after its last."""
    delay: str | Quantity
    """Propagation, one way."""
    errors: ErrorConfig
    """Which packets are damaged: `model`, and the settings of that model."""
    queue: str | Quantity
    """Drop-tail queue before either transmitter; the packet in transmission is not counted."""
    rate: str | Quantity
    """Rate of each direction, counted over whole packets."""

class ActivePowerSave(TypedDict, total=False):
    """never sleeps (CAM)"""

    policy: Literal["active"]

class TimeoutPowerSave(TypedDict, total=False):
    """awake during traffic, asleep between beacons after a time without (what phones and Linux do)"""

    policy: Literal["timeout"]
    timeout: str | Quantity
    """Time without traffic before the radio sleeps. Default: the timeout with which the chip comes, if its
    profile has one, otherwise 100 ms, as in Linux mac80211's dynamic power save."""

class PsmPowerSave(TypedDict, total=False):
    """U-APSD at beacons: one trigger for each beacon that announces frames, uplink frames trigger too"""

    policy: Literal["psm"]

class PsmLegacyPowerSave(TypedDict, total=False):
    """one PS-Poll for each frame that a beacon or the More Data bit announces"""

    policy: Literal["psm-legacy"]

class UapsdPowerSave(TypedDict, total=False):
    """U-APSD at beacons, and a trigger at a fixed interval after the last uplink frame"""

    interval: str | Quantity
    """Time between triggers. Default 20 ms, the packet interval of common voice codecs."""
    policy: Literal["uapsd"]

class BaTaPowerSave(TypedDict, total=False):
    """U-APSD with a trigger interval that follows the path's bottleneck, awake where that pays"""

    alpha: float
    """Share of the past in smoothed values."""
    attempt_at_once: bool
    """Whether the first opportunity for active mode is used. Otherwise the `n_max`-th is, since nothing is
    known of active mode before. The paper gives no initial value of its counter."""
    count_max: int
    """Updates between two changes of the interval."""
    first_sample: bool
    """Whether the smoothed throughput starts from its first sample instead of zero. The paper gives no initial
    value."""
    forget_after: str | Quantity
    """The time without data after which the estimates for a connection are dropped. The paper gives none; 10
    s."""
    gain: float
    """How strongly the interval responds to the ratio: the paper's G."""
    gamma: float
    """The rise of the ratio that active mode has to bring; a fall by twice as much is acted on at once."""
    int_max: str | Quantity
    """Longest time between two triggers."""
    int_min: str | Quantity
    """Shortest time between two triggers."""
    leave_below: float
    """The change of the ratio below which active mode is left. Default `gamma`, as line 40 of the listing has
    it: active mode has to go on bringing more."""
    n_max: int
    """Number of opportunities for active mode of which one is used although recent attempts brought nothing."""
    n_trig_max: int
    """Triggers within one update time that may find nothing before the interval grows."""
    policy: Literal["ba-ta"]
    ratio_min: float
    """The share of the path's peak rate that the controller aims at."""
    step_min: str | Quantity
    """The growth of the interval in that case."""
    t_update: str | Quantity
    """Time between two runs of the controller."""
    update_on_beacons: bool
    """Whether the controller runs at beacons: at the first one that comes `t_update` after its last run, or up
    to half a beacon interval before that. Otherwise a timer runs it, from the first packet on. The paper says
    that `t_update` allows for either."""
    util_min: float
    """The share of the air time up to which active mode counts as wasted on a path that is slower than the air.
    The paper gives none; 0.9."""

class BaTaStrPowerSave(TypedDict, total=False):
    """as ba-ta, and distinguishes application-limited streams from slow paths"""

    policy: Literal["ba-ta+str"]

class LatencyGuardPowerSave(TypedDict, total=False):
    """as timeout, and within reach of flows that would wait longer than a bound (airwattd station)"""

    answer: str | Quantity
    """The longest time for which the radio stays awake for an answer. Default 300 ms, a round trip to another
    continent."""
    bound: str | Quantity
    """The longest time for which a packet of a flow that somebody waits for may wait for the radio. If beacons
    come at least as often, power save keeps the bound by itself. Default 30 ms."""
    hold: str | Quantity
    """The longest time without a break for which the station stays within reach of a silent peer. Default 5
    min."""
    policy: Literal["latency-guard"]
    reach: Literal["active", "polls", "triggers"]
    """How the station stays within reach of a peer that may send at any time. Default polls, which need nothing
    of the access point."""
    timeout: str | Quantity
    """Time without traffic after which the driver's own power save sleeps. A device has a timeout of its own,
    and this one is for simulations only. Default 100 ms, as in Linux mac80211."""
    worth: str | Quantity
    """The time awake that it is worth to save a packet, which a peer sends unasked, its wait for a beacon.
    Peers that cost more on average are left to power save, since they send rarely and at random; 0 s leaves all
    to it. Default 20 s."""

class TwtPowerSave(TypedDict, total=False):
    """target wake time: asleep from one agreed service period to the next, past beacons"""

    announced: bool
    """Whether the access point waits for a frame of the station before it sends. Default: it does."""
    beacons_after: int
    """Beacons received after each service period, from 0 to 10. Default 0, unless the device says otherwise: a
    beacon is received after a period without a frame, for the time."""
    broadcast: bool
    """Whether the station joins the schedule that its access point announces (`ap.twt_schedule`), which says
    all of the above. Default: it asks for an agreement of its own."""
    device: Literal["nrf70", "siwx917", "st67w611"]
    """The device whose behaviour the station has, where its maker documents one: what the keys below say unless
    they are set, and the limits of interval and duration. Default: none."""
    duration: str | Quantity
    """Least time awake in a service period that is not ended early, rounded up to what the element can carry.
    Default 16.384 ms, the least that access points with Linux's driver mt7915 accept."""
    early_end: bool
    """Whether the station sleeps as soon as the access point ends the service period (EOSP). Default: it does,
    unless its device stays awake for the whole duration."""
    interval: str | Quantity
    """Time from the start of one service period to that of the next, rounded down to what the TWT element can
    carry. Default 1 s."""
    outside: Literal["sent", "held", "discarded"]
    """What becomes of frames of the user outside service periods: they are `sent` at once, `held` for the next
    period, or held and `discarded` if they are left at its end. Default `sent`, unless the device says
    otherwise. In a trigger-enabled agreement all of them wait."""
    overhead: str | Quantity
    """Time for which the device is awake before each service period, beside the guard time and the time that
    its radio takes to wake up; at most 1 s. Default 0, unless the device says otherwise."""
    policy: Literal["twt"]
    resume_after: str | Quantity
    """Time without a packet after which an agreement that was suspended for traffic holds again. Default: none,
    traffic does not suspend it."""
    suspend_at: int
    """Packets received in one service period that suspend the agreement; a frame of the user always does. Only
    with `resume_after`; default 2."""
    trigger_enabled: bool
    """Whether the station sends only in answer to Trigger frames, of which the access point sends one at the
    start of each service period. Frames of the user wait for it. Default: the station contends."""

class BaTaTwtPowerSave(TypedDict, total=False):
    """target wake time whose service periods follow the path's bottleneck and the traffic, awake where that
    pays"""

    duration: str | Quantity
    """Least duration of a service period. Default 16.384 ms, the least that access points with Linux's driver
    mt7915 accept."""
    forget_after: str | Quantity
    """The time without a packet after which the idle agreement is asked for again. Default 5 s."""
    idle_interval: str | Quantity
    """Interval of the agreement of a station without traffic. Default 1 s, as that of `twt`."""
    int_max: str | Quantity
    """Longest interval between service periods of traffic. Default 100 ms, as between BA-TA's triggers."""
    int_min: str | Quantity
    """Shortest interval between service periods. Default 20 ms, as between BA-TA's triggers."""
    policy: Literal["ba-ta-twt"]
    probe: str | Quantity
    """Time for which traffic has to last in active mode before an agreement is asked for it. Default 1 s."""
    ratio_min: float
    """The share of the rate in active mode that an agreement aims at. Default 0.9, which in BA-TA is of the
    peak rate."""
    renegotiate_after: str | Quantity
    """Least time between two requests. Default 5 s: the firmware of ath11k removes an agreement in 5 s, and
    adds one a second."""
    retry_after: str | Quantity
    """The time after which a station that has to stay awake for its traffic, or was refused, asks again.
    Default 30 s."""
    timeout: str | Quantity
    """Time without traffic after which active mode ends. Default 100 ms, as under `timeout`."""

class PsmThrottlingPowerSave(TypedDict, total=False):
    """active, but shapes streams that their server throttles into bursts"""

    forget_after: str | Quantity
    """The time without data after which the traffic is over."""
    measure: str | Quantity
    """Duration of the measurement of traffic."""
    period: str | Quantity
    """Time between two bursts."""
    policy: Literal["psm-throttling"]
    quiet: str | Quantity
    """A burst ends after this time without a packet, or after `round_trips` if that is less. A round trip to
    the server has to fit."""
    round_trips: int
    """After this many round trips without a packet the application counts as silent, and not the path. If the
    station did not begin the exchange, no round trip is known, and `quiet` is used instead."""
    throttled_below: float
    """The share of the path's bandwidth below which traffic counts as throttled by its server."""
    used_up_max: int
    """After this many windows in succession that were used up, each further one is doubled."""

PowerSaveConfig: TypeAlias = (
    ActivePowerSave
    | TimeoutPowerSave
    | PsmPowerSave
    | PsmLegacyPowerSave
    | UapsdPowerSave
    | BaTaPowerSave
    | BaTaStrPowerSave
    | LatencyGuardPowerSave
    | TwtPowerSave
    | BaTaTwtPowerSave
    | PsmThrottlingPowerSave
)

class GatewayProgram(TypedDict, total=False):
    """ends TCP connections and continues them over the last hop, for split, e2tcp and e2tcp-base; keeps copies
    for snoop"""

    buffer: str | Quantity
    """Data that it holds for each connection at most, beside what it has not read yet; with `snoop`, copies
    that it keeps."""
    cell: str
    """The cell or point-to-point link for which it is: flows that leave its node over another one have end-to-
    end connections. Default: any."""
    kind: Literal["gateway"]
    transport: Literal[
        "tahoe",
        "reno",
        "newreno",
        "sack",
        "cubic",
        "westwood",
        "veno",
        "jersey",
        "tahoe+ackloss",
        "reno+ackloss",
        "newreno+ackloss",
        "sack+ackloss",
        "cubic+ackloss",
        "westwood+ackloss",
        "veno+ackloss",
        "jersey+ackloss",
        "bbr1",
        "bbr3",
        "prtp",
        "split",
        "snoop",
        "e2tcp",
        "e2tcp-base",
        "quic",
        "udp",
    ]
    """TCP between server and gateway, on the last hop of `split`, and from end to end with `snoop`: a name that
    `airwatt transports` lists."""

class ImpairmentProgram(TypedDict, total=False):
    """delay, loss and reordering of the packets that the node forwards"""

    burst: Burst
    """Bursts of loss at fixed times."""
    data_only: bool
    """Whether loss, bursts and reordering concern packets with data alone, not pure acknowledgements."""
    delay: str | Quantity
    """Time for which each packet is held, in either direction."""
    kind: Literal["impairment"]
    loss: float
    """Probability that a packet is lost outside bursts."""
    loss_length: str | Quantity
    """The length of a packet that is lost with the probability `loss`; others are lost outside bursts with 1 -
    (1 - `loss`)^(length / this), as if each byte could be lost by itself. Default: the length does not
    matter."""
    outage: Sequence[Outage]
    """Times during which every packet is lost, in order."""
    queue: int
    """Packets that are held at most; more are lost."""
    reorder: float
    """Probability that a packet is held until later ones have passed it."""
    reorder_depth: int
    """Number of later packets that pass it."""
    reorder_wait: str | Quantity
    """The longest time for which it is held for them."""
    step: str | Quantity
    """Held packets leave at multiples of this, at the first one when their delay is over. `0ms` for exact
    delays."""
    towards: str | Sequence[str]
    """Loss, bursts and reordering concern packets to these nodes alone. Default: all packets."""

class TunnelProgram(TypedDict, total=False):
    """all packets between the node and stations of its cells or links, in bursts"""

    kind: Literal["tunnel"]
    peer: str | Sequence[str]
    """The stations at the other ends: a name, a group, a range such as `station1..station3`, or a list."""
    settings: TunnelConfig
    """The settings at both ends, as `[tunnel]` has them in the short form."""

ProgramConfig: TypeAlias = GatewayProgram | ImpairmentProgram | TunnelProgram

class QuicConfig(TypedDict, total=False):
    """Settings of both ends of a QUIC connection."""

    ack_delay: str | Quantity
    """The longest time for which an acknowledgement waits. Default 25 ms (RFC 9000 section 18.2); a shorter
    time is asked for by an ACK_FREQUENCY frame, and a longer one holds up to a round trip."""
    ack_every: int
    """Packets that elicit an acknowledgement for each one that is sent. Default 2 (RFC 9000 section 13.2.2);
    another number is asked for by an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency)."""
    ack_rule: Literal["fixed", "chrome"]
    """When a receiver acknowledges. Default `fixed`: by `ack_every` and `ack_delay`. `chrome`: each second of
    the first hundred packets, then each tenth or after a quarter of the least round-trip time (25 ms at most),
    whichever is first, and gaps at once. No frame asks for it."""
    congestion: Literal["newreno", "cubic"]
    """Congestion control. Default `cubic`."""
    initial_window: str | Quantity
    """The first window. Default 12000 bytes, ten packets of the first size (RFC 9002 section 7.2); Chrome has
    32 packets."""
    mtu: str | Quantity
    """Largest UDP payload that path MTU discovery tries, in bytes; 1200 tries none. Default 1452, as quinn and
    Chrome."""
    stream_window: str | Quantity
    """The receive window of a stream. Default 1.25 MB, as quinn; there is none for all streams together."""

class ScanConfig(TypedDict, total=False):
    """Scans of an associated station. The defaults are those of Linux's mac80211 that scans the 13 channels of
    2.4 GHz actively: at most 125 ms away, time for two channels, and 200 ms back (`net/mac80211/scan.c`)."""

    absences: int
    """How often the radio leaves the channel in a scan."""
    interval: str | Quantity
    """Time from the beginning of a scan to that of the next."""
    pause: str | Quantity
    """Time back on the channel between two absences."""
    time: str | Quantity
    """Time away from the channel of the access point, each time."""

class StaticRoute(TypedDict, total=False):
    """A route of a node."""

    over: str
    """The link or cell by which they leave, if several lead to that neighbour."""
    to: str
    """The node or group to which packets go."""
    via: str
    """The neighbour to which they are sent."""

class StationGroup(TypedDict, total=False):
    """A group of identical stations."""

    beacon_error_rate: float
    """Probability that a beacon arrives broken at a station, at each one and for each beacon by itself; from 0
    to below 1. The station has then missed it and listens to the end of its wait for a beacon (`beacon.wait` of
    its profile)."""
    buffer: str | Quantity
    """Packets in a station's own transmission queue."""
    clock_error_ppm: float
    """Error of the frequency of the stations' sleep clock in parts per million, positive if it is fast; from
    -1000 to 1000. The radio wakes up early by its guard time (`sleep_clock` of its profile), which the error
    may exceed. Default: the stations know the access point's time."""
    count: int
    """Number of stations. In a `[[cell]]` it follows from `node`."""
    data_rate: str | Quantity
    """Rate of the data frames to and from these stations. Default: as `wifi` has it."""
    distance: str | Quantity
    """Distance to the access point."""
    frame_wait: str | Quantity
    """How long a station waits for the next frame of a service period, for the answer to a PS-Poll and for the
    next group-addressed frame, before it sleeps without; at most 10 s. 802.11 has no such limit and chips do
    not say theirs. It should be longer than what the access point lets a frame wait behind others."""
    hidden_from: str | Sequence[str]
    """Stations of the same access point that these do not hear, and that do not hear these: a name, a group, a
    range such as `station1..station3`, or a list. The name of the own group says that its stations do not hear
    each other. All hear the access point."""
    hide: Sequence[Literal["service", "tim", "air-time"]]
    """What the policy does not see: `service` (More Data, EOSP and the end of service periods), `tim`, `air-
    time`. An interface of Linux hides all three."""
    listen_interval: int | Literal["dtim"]
    """Beacons from one that is received to the next: 1 receives each, `"dtim"` the DTIM beacons only
    (`ap.dtim_period`). Default 1, or the DTIM beacons only, if the chip's own power save wakes up for these by
    its profile."""
    lower_bound: bool
    """Whether the result reports the station's lower bound instead of what its radio spent under `active`.
    Policy `ideal` stands for both."""
    mode: str
    """How data frames to and from these stations are sent, as `wifi.mode`. It replaces `data_rate`."""
    node: str | Sequence[str]
    """In a `[[cell]]`: the nodes that are these stations: a name, a group, a range such as
    `station1..station3`, or a list."""
    power_save: PowerSaveConfig
    """How the stations save power: `policy`, a name that `airwatt policies` lists, and the settings of that
    policy; or a class of your own, `FILE.py:CLASS`."""
    radio: str
    """Radio profile: a name that `airwatt radios` lists, or a TOML file."""
    receive_dtims: bool
    """Whether every DTIM beacon is received as well (`ap.dtim_period`), as required to receive group-addressed
    frames."""
    scan: ScanConfig
    """Scans of other channels, during which the station neither sends nor receives. Default: none."""

class TcpSettings(TypedDict, total=False):
    """TCP at both ends."""

    accecn: bool
    """Whether connections ask for AccECN instead (RFC 9768, `tcp_ecn=3` of Linux, without its option):
    acknowledgements count the marks, and what counts none is taken as with `ecn`. For the profile `linux`."""
    delayed_ack: bool
    """Whether acknowledgements are delayed: one for every `delayed_ack_segments`, or after
    `delayed_ack_timeout`."""
    delayed_ack_segments: int
    """Segments that a delayed acknowledgement covers. Default 2 (RFC 5681 section 4.2)."""
    delayed_ack_timeout: str | Quantity
    """The longest delay of an acknowledgement."""
    dup_ack_threshold: int
    """Duplicate acknowledgements that indicate a loss (RFC 5681 section 3.2: 3)."""
    ecn: bool
    """Whether connections ask for ECN (RFC 3168, `tcp_ecn=1` of Linux): queues with CoDel mark their data
    instead of dropping them, and the sender reduces its window for a mark as for a loss, without a
    retransmission. For the profile `linux`."""
    handshake: bool
    """Whether connections begin with a SYN exchange."""
    header: str | Quantity
    """IP and TCP header: 40 bytes, 52 with timestamps."""
    initial_rto: str | Quantity
    """Retransmission timeout before the first measurement (RFC 6298: 1 s)."""
    initial_ssthresh: str | Quantity
    """Initial slow-start threshold. Default: none (as large as the receive window)."""
    initial_window: int
    """Initial window in segments. Default: RFC 6928 (ten segments of 1448 bytes)."""
    keep_alive: Literal["client", "server", "both"]
    """Which ends probe a peer that is silent (`SO_KEEPALIVE` of Linux): `client`, `server` or `both`. Default:
    none, as in the kernel. For the profile `linux`."""
    keep_alive_interval: str | Quantity
    """The wait for an answer before the next probe (`tcp_keepalive_intvl`)."""
    keep_alive_probes: int
    """Unanswered probes after which the connection is reset (`tcp_keepalive_probes`)."""
    keep_alive_time: str | Quantity
    """The silence before the first probe (`tcp_keepalive_time`)."""
    limited_transmit: bool
    """Limited Transmit (RFC 3042): each of the first two duplicate acknowledgements releases a new segment."""
    max_rto: str | Quantity
    """Largest retransmission timeout."""
    min_rto: str | Quantity
    """Lower bound of the retransmission timeout, or of the part of it that `min_rto_of` names."""
    min_rto_of: Literal["timeout", "variance"]
    """What `min_rto` bounds: the `timeout`, or its `variance` term alone, as Linux does."""
    mtu: str | Quantity
    """Largest IP packet."""
    paced: bool
    """Whether packets leave at a pacing rate, as with the queueing discipline `fq`. For the profile `linux`;
    BBR always paces."""
    partial_ack_timer: Literal["impatient", "slow-but-steady"]
    """Which partial acknowledgements restart the retransmission timer in fast recovery (RFC 6582 section 4)."""
    profile: Literal["rfc", "linux", "linux-settings", "linux-2.6.28", "ns2-2001", "freebsd-4.3", "opnet"]
    """The stack whose settings apply to keys that are not given. `linux` has a sender and a receiver of its
    own, and of the other keys `mtu`, `receive_window`, `initial_window`, `min_rto` and `max_rto`. Default: each
    key's own default."""
    receive_window: str | Quantity
    """Receive window, in bytes or in full-sized segments (`20packets`)."""
    repeated_timeout: Literal["keep", "reduce"]
    """What a further timeout of the same segment does to the slow-start threshold: `keep` as RFC 5681 section
    3.1 has it, or `reduce` to two segments as in 4.4BSD and ns-2."""
    rto_clock: Literal["fine", "coarse"]
    """How round-trip times are measured: `fine` as RFC 6298 with every segment timed, `coarse` in ticks and one
    segment at a time as in 4.4BSD and the simulators of its time."""
    rto_min_ticks: int
    """Smallest retransmission timeout of the coarse clock in ticks, if `min_rto` is not more."""
    rto_tick: str | Quantity
    """Tick of the coarse clock: 500 ms in 4.4BSD, 100 ms in simulators."""
    sack_recovery: Literal["rfc6675", "pipe", "openbsd"]
    """How losses are recovered with selective acknowledgements: `rfc6675`, or the older `pipe`, a counter that
    falls with each duplicate acknowledgement, or `openbsd`, the pipe as OpenBSD 2.9 had it."""
    timestamps: bool
    """Whether both ends use the timestamps option (RFC 7323), the main evidence of `+ackloss` senders. Default:
    `header` has room for the option, and nothing reads it."""
    window_growth: Literal["bytes", "acks"]
    """What congestion avoidance counts, but for CUBIC, `bytes` or `acks` (RFC 5681 section 3.1)."""
    window_rules: Literal["rfc5681", "whole-segments", "bsd"]
    """How the window is computed where stacks differ: `rfc5681` halves the data in flight; `whole-segments`
    (ns-2) and `bsd` halve the window, in whole segments, and `bsd` also ends slow start and fast recovery as
    4.4BSD does. For the classic algorithms."""

class TunnelConfig(TypedDict, total=False):
    """Settings of a tunnel, at either end."""

    answer: bool
    """Whether what is held is sent when the peer's burst has ended, since the radio is awake then."""
    association: Literal["datagrams", "sctp", "sctp-reliable"]
    """What carries packets to the peer; the same at both ends. Default: `datagrams`."""
    bundle: str | Quantity
    """Largest outer packet in which several inner packets share a datagram; `0B` for one inner packet in
    each."""
    burst: int
    """Number of packets in a burst, 1 to 64; with a delay budget the largest. Default: 5, with a delay budget
    64."""
    delay_budget: str | Quantity
    """Mean delay that the tunnel may add to a packet. Bursts are as large as this permits at the measured rate,
    and no packet is held for more than twice as long."""
    hold: str | Quantity
    """Time for which a packet is held at most. Default: 20 ms, with a delay budget twice the budget."""
    keep_alive: str | Quantity
    """Time without a datagram after which an empty one is sent, so that mappings of addresses on the path stay.
    Each costs a wake-up of the radio. Default: never."""
    plain: bool
    """Whether datagrams are neither encrypted nor authenticated. For measurement."""
    thin_acks: bool
    """Whether a held TCP acknowledgement is dropped if a later one of the same flow makes it superfluous."""
    triggers: bool
    """Whether a client fetches what the peer's bursts may have become, by empty datagrams where it has nothing
    to send. They open service periods of U-APSD; under any other power save they keep the radio awake for
    nothing."""

class WakeSchedule(TypedDict, total=False):
    """Service periods for all stations that have joined (`broadcast = true` of policy `twt`)."""

    announced: bool
    """Whether the access point waits for a frame of a station before it sends to it. Default: it does."""
    duration: str | Quantity
    """Least time awake in a service period that is not ended early. Default 16.384 ms."""
    interval: str | Quantity
    """Time from the start of one service period to that of the next, rounded down to time units of 1.024 ms.
    Default ten beacon intervals."""
    trigger_enabled: bool
    """Whether stations send only in answer to Trigger frames, of which the access point sends one to each at
    the start of a period. Default: they contend."""

class Wifi(TypedDict, total=False):
    """How stations and access point use the air."""

    access: Literal["dcf", "edca"]
    """How backoff slots are counted: `dcf` when they have passed idle, `edca` at their beginning."""
    aggregation: Aggregation
    """Frames that one access sends together and one block acknowledgement answers (A-MPDUs), with 802.11n, ac
    and ax. Default: one frame an exchange."""
    aifsn: int
    """Slots of the arbitration inter-frame space; 2 makes it DIFS. (802.11-2020 table 9-155: best effort 3.)"""
    ap_rts_threshold: str | Quantity
    """The access point sends RTS before MPDUs longer than this; default never."""
    beacon_rate: str | Quantity
    """Rate of beacons. Default: 1 Mbit/s at 2.4 GHz, as access points come, and 6 Mbit/s at 5 GHz."""
    categories: Literal["standard", "linux"]
    """Four access categories by the code points of packets (`flow.dscp`), each with a queue for each receiver
    and parameters of its own: `standard` has the defaults of 802.11-2020 table 9-155, `linux` those of hostapd
    for stations and for access points. They take the place of `aifsn`, `cw_min`, `cw_max` and `ap.priority`.
    Default: all data has one category."""
    channel: str
    """The radio channel, by any name. Cells on one channel share it and receive each other; a cell without a
    channel has one of its own."""
    control_rate: str | Quantity
    """Rate of RTS, CTS and ACK. Default: the highest mandatory rate that is not above `data_rate`, or above the
    rate of 802.11a with the same modulation as `mode`."""
    cw_max: int
    """Largest contention window. Default: the PHY's."""
    cw_min: int
    """Smallest contention window, a power of two less one. Default: the PHY's."""
    data_rate: str | Quantity
    """Rate of data frames: of 802.11b, a and g, and of 802.11n in a channel of 20 MHz with the long guard
    interval. Required without `mode`, and without effect beside it."""
    frame_error_rate: float
    """Probability that one attempt at a frame fails for noise, 0 to below 1. Beacons and group-addressed
    frames, which nobody repeats, arrive."""
    group_rate: str | Quantity
    """Rate of group-addressed frames. Default: that of beacons."""
    mac_overhead: str | Quantity
    """What a data MPDU adds to an IP packet: QoS MAC header 26, LLC and SNAP 8, FCS 4 bytes."""
    mode: str
    """How data frames are sent, of 802.11n, ac and ax: format and width, MCS, streams (`x1` goes without
    saying; HT has them in its MCS) and guard interval (0.8 us goes without saying), as in `HE80 MCS 11 x2 GI
    0.8us`. It replaces `data_rate`."""
    msdu_lifetime: MsduLifetime
    """How long a packet waits in a transmission queue before it is discarded. Time in the power-save buffer and
    in the queues of flows and stations (`ap.queue`) does not count. Default: for ever, as in Linux; the
    standard and ns-3 have 500 ms."""
    path_loss: PathLoss
    """Signals that weaken over the distance. Default: every signal is strong enough, and of frames at once none
    is heard."""
    rate_control: Literal["fixed", "minstrel-ht"]
    """How the mode of data is chosen: `fixed`, it is `mode` or `data_rate`; `minstrel-ht`, among all modes of
    the format up to it in streams, width and MCS, by the algorithm of Linux, for each link by itself. With HE
    the algorithm is an assumption: there Linux leaves rates to firmware. Default: `fixed`."""
    response_error_rate: float
    """Probability that the response to a frame fails for noise, 0 to below 1: the frame has arrived, and is
    sent again. Default: 0."""
    retry_limit: int
    """Retransmissions of a frame before it is given up."""
    rts_after_failures: int
    """Stations and access point send RTS before data after so many attempts at it in a row without a response,
    as Linux's rate control does behind the first rate of its chain. Default: never."""
    short_preamble: bool
    """Whether frames at 2, 5.5 and 11 Mbit/s have the short preamble of 96 us instead of 192 us. Frames at 1
    Mbit/s never have."""
    standard: Literal[
        "802.11b",
        "802.11a",
        "802.11g",
        "802.11n",
        "802.11n-2.4GHz",
        "802.11ac",
        "802.11ax",
        "802.11ax-2.4GHz",
        "802.11ax-6GHz",
    ]
    """The PHY, which gives slot, SIFS and frame times."""
    station_rts_threshold: str | Quantity
    """Stations send RTS before MPDUs longer than this; default never."""
    txop: str | Quantity
    """How long one access may last; `0ms` for one frame exchange."""
    txop_duration_rts_threshold: str | Quantity
    """Stations and access point send RTS before data that takes longer than this with its response: what
    802.11ax announces as the TXOP Duration RTS Threshold of HE Operation, here with every standard. Default:
    never."""

class Wired(TypedDict, total=False):
    """A wired path."""

    down: WiredDirection
    """Towards the stations."""
    rtt: str | Quantity
    """Round-trip time between server and access point without queueing and transmission; half of it each
    way."""
    up: WiredDirection
    """Towards the server."""

class WiredDirection(TypedDict, total=False):
    """One direction of the wired path."""

    cross: Cross
    """Traffic of others over that link, which never comes to the air."""
    discipline: Literal["drop-tail", "fq-codel", "fq", "cake", "cake-ack-filter"]
    """How packets wait in it: `drop-tail`, the default, `fq-codel` (RFC 8290), `fq` (flows take turns), `cake`
    (hosts and flows do), or `cake-ack-filter`, which drops acknowledgements that two newer ones cover."""
    jitter: str | Quantity
    """Mean of a random delay of each packet beside the fixed one, exponentially distributed; packets keep their
    order."""
    queue: str | Quantity
    """Queue before that link; the packet in transmission is not counted."""
    rate: str | Quantity
    """Rate of the slowest link, counted over IP packets."""

class Scenario(TypedDict, total=False):
    """A scenario."""

    ackloss: AckLossConfig
    """How senders with `+ackloss` detect lost acknowledgements."""
    ap: AccessPoint
    """The access point."""
    base: str
    """The scenario that this one starts from."""
    cell: Sequence[Cell]
    """General form: 802.11 cells."""
    description: str
    """One line for `airwatt scenarios`."""
    duration: str | Quantity
    """Stop after this time. Without it the run ends when every flow with a size is complete."""
    e2tcp: E2tcpConfig
    """E2TCP at both ends of its flows. A packet carries `tcp.mtu` less `tcp.header` bytes."""
    fairness_capacity: str | Quantity
    """What the flows could have together, for the fairness indices. Default: from the wire's and the air's
    rates."""
    fairness_windows: Sequence[str | Quantity]
    """Windows of the sliding-window method, which averages each fairness index over the positions of a window:
    whole multiples of 100 ms."""
    flow: Sequence[FlowGroup]
    """Flows, one table a group."""
    gateway: Gateway
    """The gateway at the access point, for `split`, `snoop`, `e2tcp` and `e2tcp-base`."""
    host: Sequence[HostCommands]
    """What hosts run in an emulation, one table a host; a simulation has no use for it."""
    latency_percentiles: bool
    """Whether the result has percentiles of the time of data packets from host to host, beside its mean."""
    link: PointToPoint | Sequence[Link]
    """Short form: a point-to-point wireless link to the one station, instead of `wifi`. General form: the links
    between nodes, as `[[link]]`."""
    measure_from: str | Quantity
    """From when on throughputs and fairness are measured: `measured_bps` of each flow and of a run, which
    tables, comparisons and reports show. Default: a flow's throughput from its start."""
    name: str
    """What the result document calls it; the file's name without ending where it is not given."""
    node: Sequence[NodeGroup]
    """General form: nodes, and groups of like ones."""
    quic: QuicConfig
    """QUIC at both ends of its flows."""
    source: str
    """Where the values come from."""
    station: Sequence[StationGroup]
    """Stations, one table a group of like ones; numbered from 0 in order."""
    tcp: TcpSettings
    """TCP at both ends of each flow."""
    time_limit: str | Quantity
    """A run without `duration` that is not complete by then has failed."""
    tunnel: TunnelConfig
    """A tunnel between the access point and each station: all packets between them pass through it, in
    bursts."""
    wifi: Wifi | str
    """The 802.11 air. A name of a shipped set (`wifi = "fast-wifi"`) or a table, which may begin from one
    (`base = "fast-wifi"`)."""
    wired: Wired
    """The path between the server and the base station, which all flows share that have none of their own.
    Without it the server is at the base station."""
