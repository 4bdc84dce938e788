//! A station's request for what is buffered, a frame that came long after one, and what may explain that.

use std::borrow::Cow;
use std::fmt;

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use super::cell::NOT_FREE;
use super::finding::FindingKind;
use super::sequence::Counter;
use super::{IN_FLIGHT, Mark};
use crate::packet::{AirFrame, CapturedPacket};

/// A frame of the station that requests what is buffered: a PS-Poll, a trigger, or one with which it leaves power save.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) mark: Mark,
    /// Whether an acknowledgement of it was captured.
    pub(super) is_heard: bool,
    /// The time at which the monitor's radio received it ([`AirFrame::received_us`]).
    pub(super) received_us: Option<u64>,
    /// Whether the station opened another service period after it.
    pub(super) is_asked_again: bool,
    /// Whether nothing had answered it when a later beacon announced a frame, which is another finding, or when the station entered power save
    /// again, which ends it.
    pub(super) is_unanswered: bool,
}

impl Request {
    pub(super) fn new(packet: &CapturedPacket, frame: &AirFrame, is_heard: bool) -> Self {
        Self {
            mark: (packet.at, packet.number),
            is_heard,
            received_us: frame.received_us,
            is_asked_again: false,
            is_unanswered: false,
        }
    }
}

/// A frame with the More Data bit: another one was buffered from then on. Or a beacon with the station's TIM bit, if that is what `by` says.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) by: Announcer,
    pub(super) mark: Mark,
    pub(super) counter: Option<Counter>,
    /// When frames last said that the buffer was empty before it.
    pub(super) emptied_at: Option<Instant>,
    /// The station's request for what it announced.
    pub(super) requested: Option<Request>,
    /// The beacons that had to announce it, and did not.
    pub(super) concealing: Vec<Mark>,
    /// Up to when its beacons are read.
    pub(super) read_until: Instant,
    /// Whether no other beacon has to announce it: one had the bit.
    pub(super) is_settled: bool,
    /// Whether the station left power save after it.
    pub(super) has_woken: bool,
    /// The station's last request after it.
    pub(super) asked: Option<Instant>,
    /// Why it may announce nothing.
    pub(super) doubt: Option<&'static str>,
}

/// What says that a frame is buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcer {
    MoreData,
    Tim,
    /// A frame of another station of the cell that brought the frame to the access point.
    Relay,
}

/// Why More Data of a frame without an acknowledgement announces nothing for certain: an access point that transmits it again sets the bit anew.
const UNACKNOWLEDGED: &str = "no acknowledgement of the frame with More Data was captured, and a retransmission may have cleared the bit";
/// The same where one was captured that may be another's: without its rate no time on the air of the frame is known.
const LATE_ACKNOWLEDGEMENT: &str = "the acknowledgement of the frame with More Data came so late that it may be that of a retransmission, which may have cleared the bit";

impl Promise {
    /// More Data of a frame. A beacon right after it was composed before it.
    pub(super) fn new(
        mark: Mark,
        counter: Option<Counter>,
        emptied_at: Option<Instant>,
        [acknowledged, at_once]: [Option<bool>; 2],
    ) -> Self {
        let doubt = if acknowledged == Some(true) { LATE_ACKNOWLEDGEMENT } else { UNACKNOWLEDGED };
        Self {
            by: Announcer::MoreData,
            mark,
            counter,
            emptied_at,
            requested: None,
            concealing: Vec::new(),
            read_until: mark.0 + IN_FLIGHT,
            is_settled: false,
            has_woken: false,
            asked: None,
            doubt: (at_once != Some(true)).then_some(doubt),
        }
    }

    /// A beacon with the bit, and the later ones without it.
    pub(super) const fn of_beacon(mark: Mark, concealing: Vec<Mark>) -> Self {
        Self::settled(Announcer::Tim, mark, concealing)
    }

    /// A frame of another station that brought the frame, and the later beacons without the bit.
    pub(super) const fn of_relay(mark: Mark, concealing: Vec<Mark>) -> Self {
        Self::settled(Announcer::Relay, mark, concealing)
    }

    const fn settled(by: Announcer, mark: Mark, concealing: Vec<Mark>) -> Self {
        Self {
            by,
            mark,
            counter: None,
            emptied_at: None,
            requested: None,
            concealing,
            read_until: mark.0,
            is_settled: true,
            has_woken: false,
            asked: None,
            doubt: None,
        }
    }

    /// Another transmission of the frame: the one that was acknowledged counts, unless they disagree.
    pub(super) fn repeated(&mut self, more_data: bool, acknowledged: Option<bool>) {
        if !more_data {
            self.doubt = Some("a retransmission of the frame had no More Data");
        } else if acknowledged == Some(true) {
            self.doubt.take_if(|doubt| [UNACKNOWLEDGED, LATE_ACKNOWLEDGEMENT].contains(doubt));
        }
    }
}

/// Beacons that did not announce what More Data did, until a frame came.
#[derive(Clone, Debug)]
pub(super) struct Concealed {
    pub(super) promise: Promise,
    /// The frame that came.
    pub(super) came: Mark,
    /// Why that does not have to be the announced one, or no beacon had to announce it.
    pub(super) doubt: Option<Cow<'static, str>>,
    /// What a verdict assumes.
    pub(super) assumption: &'static str,
    /// Whether the monitor heard the access point so well that it would have heard it acknowledge that the station left power save for each of
    /// the beacons.
    pub(super) hears_naps: bool,
    /// Whether the access point acknowledged a frame of a station with QoS that was not captured, as a QoS Null frame, which has no number.
    pub(super) was_unseen: bool,
    /// The times of each of the beacons (`Cell::times_of`).
    pub(super) times: Vec<(Instant, Span)>,
}

/// PS-Polls in a row to which neither an acknowledgement nor data followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unheard {
    pub(super) first: Mark,
    pub(super) last: Mark,
    pub(super) polls: u32,
}

/// PS-Polls without a response, from the first one on that the access point acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Unanswered {
    /// Each of them, and whether the access point acknowledged it.
    pub(super) polls: Vec<(Mark, bool)>,
    /// The frame whose More Data announced what they ask for, if one did, and why it may announce nothing.
    pub(super) promise: Option<(Mark, Option<&'static str>)>,
    /// The last frame to the station before.
    pub(super) from: Option<Instant>,
    /// When the buffer was last known to be empty.
    pub(super) emptied_at: Option<Instant>,
    /// Whether nobody acknowledged the last frame to the station, so that a retransmission of it may have been missed.
    pub(super) is_unheard: bool,
    /// Whether a beacon long after the first of them was captured, and whether it has the station's TIM bit.
    pub(super) is_still_announced: Option<bool>,
    /// The first beacon after them without the bit.
    pub(super) gone: Option<Mark>,
    /// The time of each on the air.
    pub(super) air: Span,
}

impl Unanswered {
    pub(super) fn first(&self) -> Mark {
        self.polls[0].0
    }

    pub(super) fn last(&self) -> Mark {
        self.polls[self.polls.len() - 1].0
    }

    /// Whether the frame may still be in the buffer: beacons say so, or none was captured so far.
    pub(super) fn may_be_buffered(&self) -> bool {
        self.gone.is_none() && self.is_still_announced != Some(false)
    }
}

/// PS-Polls that nothing answered for long, or of which the last was answered long after the first, what ended that, and what was known of the station then.
#[derive(Clone, Debug)]
pub(super) struct EndedPolls {
    pub(super) of: Unanswered,
    pub(super) until: Instant,
    /// The response.
    pub(super) answer: Option<Mark>,
    /// Whether an earlier transmission of it was missed.
    pub(super) is_copy: bool,
    pub(super) bssid: MacAddress,
    pub(super) aid: u16,
    pub(super) counters: Vec<Counter>,
    pub(super) listen_interval: Option<u16>,
    pub(super) is_multi_link: Option<bool>,
}

/// A frame that More Data announced and a request did not bring, with what was known of the station then.
#[derive(Clone, Debug)]
pub(super) struct Unkept {
    pub(super) promise: Mark,
    pub(super) request: Mark,
    /// When the wait for it was over.
    pub(super) until: Instant,
    /// Why it is undecidable, as far as that was known then.
    pub(super) doubt: Option<&'static str>,
    /// The counters of QoS data whose numbers have to show that none was sent; empty where the shared one has shown it.
    pub(super) counters: Vec<Counter>,
    pub(super) bssid: MacAddress,
    pub(super) aid: Option<u16>,
    pub(super) listen_interval: Option<u16>,
}

/// Another explanation than the access point for a frame that came late.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doubt {
    /// No acknowledgement of the request was captured.
    Unheard,
    /// The station asked again, as it does if a QoS Null frame has ended its service period: that frame has no number.
    Again,
    /// The access point called the station before, by an RTS or a block acknowledgement request.
    Called,
    /// An earlier transmission of the frame was missed, by its Retry bit.
    Copy,
    /// The frame with which the access point answered may have been missed: by its numbers one is missing, or nothing shows that none is.
    Missed,
    /// A beacon after the request had no TIM bit, or none was captured of it: the frame is another one.
    Emptied,
    /// Nothing says that a frame was buffered when the station asked.
    Unannounced(&'static str),
    /// The channel was not free for long enough.
    Busy,
    /// The radio of the monitor received it sooner, or later, after the request.
    RadioDisagrees(i128),
    /// The frames have no time of the radio, and the longest silence may be the monitor's.
    Stalled(Span),
    /// By the beacons around it the clock of the capture jumped.
    Jumped,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unheard => f.write_str("no acknowledgement of the request was captured"),
            Self::Again => f.write_str(
                "the monitor may have missed a Null frame that said that there was nothing, since the station asked again or sent a frame unseen",
            ),
            Self::Copy => f.write_str("its Retry bit says that the monitor missed an earlier transmission of it"),
            Self::Missed => f.write_str(
                "no sequence number shows that the monitor did not miss the frame that answered",
            ),
            Self::Emptied => f.write_str(
                "no bit for the station was captured in a beacon after the request, so that it may be another frame",
            ),
            Self::Called => f.write_str("the access point called the station in time, which may not have answered"),
            Self::Unannounced(why) => f.write_str(why),
            Self::Busy => f.write_str(NOT_FREE),
            Self::RadioDisagrees(apart_us) => write!(
                f,
                "by the clock of the monitor's radio (TSFT) it came {:.3} s after it",
                *apart_us as f64 / 1e6
            ),
            Self::Stalled(silence) => write!(
                f,
                "the monitor may have stalled in the {:.3} s of it without any frame, since the frames have no time of its radio (TSFT)",
                silence.as_secs_f64()
            ),
            Self::Jumped => f.write_str("by the beacons around it the clock of the capture jumped"),
        }
    }
}

/// How long something was late for a fault. Whether the clock of the capture jumped meanwhile is known when the segment has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    pub(super) kind: FindingKind,
    pub(super) since: Instant,
    pub(super) until: Instant,
    pub(super) bssid: Option<MacAddress>,
}

/// A frame that a station requested too late after the beacon that announced it, by the clock of the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    pub(super) beacon: Mark,
    /// The beacon for which its listen interval had to wake it up, if that was captured.
    pub(super) woken_by: Mark,
    pub(super) fetched: Mark,
    pub(super) mark: Mark,
    /// What leaves it undecidable.
    pub(super) doubt: Option<&'static str>,
    pub(super) assumption: &'static str,
    pub(super) bssid: Option<MacAddress>,
}

/// A frame that came more than 50 ms (`PROMPT`) after its request, by the clock of the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) request: Mark,
    pub(super) mark: Mark,
    /// What announced the frame before the request, and the last beacon before it.
    pub(super) announced: [Option<Mark>; 2],
    /// Time for which the channel was free.
    pub(super) free: Span,
    /// Another explanation for it.
    pub(super) doubt: Option<Doubt>,
    /// What remains assumed without one.
    pub(super) assumption: &'static str,
    pub(super) bssid: Option<MacAddress>,
}
