//! The settings of a cell, of its access points and of its stations.

use airwatt_base::Span;
use airwatt_dot11::{Standard, TxVector};
use airwatt_energy::Radio;
use airwatt_proto::powersave::{self as ps, AccessPointConfig, StationId, StationPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::category::{CategoryParameters, DataAccess};
use super::access::contention::{Access, AccessMethod};
use super::frame::FrameLimits;
use super::group::GroupTraffic;
use super::phy::aggregation::Aggregation;
use super::phy::rates::RateControl;
use super::phy::snr::ErrorModel;
use crate::media::fq_codel::FqCodelConfig;

/// How a transmission queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueDiscipline {
    /// First come, first served; what finds it full is dropped.
    #[default]
    DropTail,
    /// TCP's acknowledgements without data wait apart from all else, and the two queues take turns.
    TwoQueues,
    /// Flows take turns, and queues that stand are dropped from (RFC 8290).
    FqCodel,
    /// As Linux's mac80211: FQ-CoDel for each station, turns of stations by air time, and AQL.
    Mac80211,
    /// The same with two PPDUs in the hardware instead of AQL, as with the driver ath9k.
    Ath9k,
}

impl QueueDiscipline {
    /// Whether CoDel drops from it.
    pub const fn has_codel(self) -> bool {
        match self {
            Self::DropTail | Self::TwoQueues => false,
            Self::FqCodel | Self::Mac80211 | Self::Ath9k => true,
        }
    }

    /// Whether stations take turns by the air time that they used, which the cell then has to measure.
    pub(super) const fn charges_air_time(self) -> bool {
        match self {
            Self::DropTail | Self::TwoQueues | Self::FqCodel => false,
            Self::Mac80211 | Self::Ath9k => true,
        }
    }
}

/// From when on a packet waits, as CoDel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFrom {
    /// From when power save has released it: time in which its station dozes is not counted.
    #[default]
    Release,
    /// From when it has come to the access point, as in Linux.
    Arrival,
}

/// CoDel in the queues of an access point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodelChoice {
    /// How long packets may wait for good, and longer than that, if not as the queue has it.
    pub target: Option<Span>,
    /// See [`CodelChoice::target`].
    pub interval: Option<Span>,
    /// From when on they wait.
    pub since: WaitsFrom,
}

impl CodelChoice {
    /// `config` with the times that are chosen.
    pub(super) fn of(self, config: FqCodelConfig) -> FqCodelConfig {
        let target = self.target.unwrap_or(config.target);
        FqCodelConfig { target, interval: self.interval.unwrap_or(config.interval), ..config }
    }
}

/// The lifetimes of packets by access category (`dot11EDCATableMSDULifetime`; ns-3's `MaxDelay`). A packet is discarded when it is over, unless
/// it is on the air just then, and is not sent again after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MsduLifetime {
    /// Of background traffic, with `wifi.categories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Span>,
    /// Of best effort, and of all packets without `wifi.categories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_effort: Option<Span>,
    /// Of video, with `wifi.categories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<Span>,
    /// Of voice, with `wifi.categories`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<Span>,
}

impl MsduLifetime {
    /// In the order of [`Category::DATA`](super::access::category::Category::DATA).
    pub(crate) const fn by_category(&self) -> [Option<Span>; 4] {
        [self.background, self.best_effort, self.video, self.voice]
    }
}

/// Settings of a cell.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// The PHY.
    pub standard: Standard,
    /// How data and management frames that are acknowledged are sent, where a station has no vector of its own.
    pub data: TxVector,
    /// How RTS, CTS and ACK are sent. On a link at another rate the ACK has the highest mandatory rate up to that, if it is lower.
    pub control: TxVector,
    /// How beacons are sent.
    pub beacon: TxVector,
    /// Length of beacons, MAC header to FCS, in bytes; `None` for that of [`super::frame::beacon_bytes`].
    pub beacon_bytes: Option<u32>,
    /// How group-addressed frames are sent.
    pub group_data: TxVector,
    /// Whether frames at rates of 802.11b have the short preamble.
    pub short_preamble: bool,
    /// How backoff slots are counted.
    pub access: AccessMethod,
    /// The parameters of the access categories. They are in the place of the next three; `None` if all data has one category.
    pub categories: Option<CategoryParameters>,
    /// The access point's access parameters for data.
    pub ap_access: Access,
    /// The stations' access parameters.
    pub station_access: Access,
    /// Longest duration of a transmission opportunity; zero allows one frame exchange.
    pub txop: Span,
    /// Largest number of retransmissions of a frame.
    pub retry_limit: u32,
    /// Stations send RTS before MPDUs longer than this many bytes.
    pub station_rts_threshold: Option<u32>,
    /// The access point sends RTS before MPDUs longer than this many bytes.
    pub ap_rts_threshold: Option<u32>,
    /// An RTS precedes a PPDU of data that takes longer than this with its response.
    pub txop_duration_rts_threshold: Option<Span>,
    /// An RTS precedes data after so many attempts in a row without a response.
    pub rts_after_failures: Option<u16>,
    /// How long packets wait in a transmission queue until they are discarded.
    pub msdu_lifetime: MsduLifetime,
    /// Bytes that a data MPDU adds to an IP packet: MAC header, LLC and SNAP, FCS.
    pub mac_overhead: u32,
    /// Probability that noise destroys one attempt at a frame that needs an acknowledgement.
    pub frame_error_rate: f64,
    /// Probability that noise destroys the response to a frame.
    pub response_error_rate: f64,
    /// Frames that may be sent in one PPDU.
    pub aggregation: Aggregation,
    /// Largest number of packets in the access point's transmission queue.
    pub ap_buffer: u32,
    /// How errors follow from the signals of stations that have one.
    pub errors: ErrorModel,
    /// What a receiver adds to thermal noise.
    pub noise_figure_db: f64,
    /// How the mode of data is chosen.
    pub rate_control: RateControl,
    /// Queueing discipline of the access point's transmission queue.
    pub ap_queue: QueueDiscipline,
    /// CoDel in it.
    pub ap_codel: CodelChoice,
    /// Whether the access point keeps frames in the power-save buffer until the transmission queue has room.
    pub wait_for_room: bool,
    /// Power ratio above which the access point receives the strongest of several simultaneous frames, relative to the sum of
    /// the others; `None` disables capture.
    pub capture_ratio: Option<f64>,
    /// Power save at the access point.
    pub power_save: AccessPointConfig,
    /// Group-addressed packets that come to the access point.
    pub group: Vec<GroupTraffic>,
}

impl CellConfig {
    /// How stations contend for best effort.
    pub fn best_effort(&self) -> DataAccess {
        let accesses = self.data_accesses(false);
        accesses[accesses.len().min(2) - 1]
    }

    /// How the contenders for data of an access point or of a station contend: one for each category, or one.
    pub(crate) fn data_accesses(&self, is_access_point: bool) -> Vec<DataAccess> {
        let access = if is_access_point { self.ap_access } else { self.station_access };
        self.categories.map_or_else(
            || vec![DataAccess { access, txop: self.txop }],
            |parameters| parameters.accesses(self.standard, is_access_point).to_vec(),
        )
    }

    /// The limits of a station's frames.
    pub(super) const fn station_limits(&self) -> FrameLimits {
        FrameLimits {
            retries: self.retry_limit,
            rts_threshold: self.station_rts_threshold,
            overhead: self.mac_overhead,
        }
    }
}

/// Settings of a station.
#[derive(Clone, Debug)]
pub struct CellStation {
    /// Its name, for its random streams.
    pub name: String,
    /// The settings of its power-save machine, which `policy` drives.
    pub mac_power_save: ps::StationConfig,
    /// Its power-save policy.
    pub policy: StationPolicy,
    /// Its radio profile.
    pub radio: Radio,
    /// How data to and from it is sent.
    pub data: TxVector,
    /// Largest number of packets in its transmission queue.
    pub buffer: u32,
    /// Propagation delay to the access point.
    pub propagation: Span,
    /// Probability that a beacon arrives broken.
    pub beacon_error_rate: f64,
    /// Received signal strength between the station and the access point in dBm, equal in both directions; `None` if
    /// distance has no effect on reception.
    pub signal_dbm: Option<f64>,
}

/// An access point and its stations.
#[derive(Clone, Debug)]
pub struct Bss {
    /// The name of the access point, for its random streams.
    pub name: String,
    /// Its settings. Those of the channel are equal in all BSSs of one cell.
    pub config: CellConfig,
    /// The number of the station, in an earlier BSS, whose radio the access point shares; `None` if it has a radio of its own,
    /// whose energy is not accounted for.
    pub shared_radio: Option<StationId>,
    /// Its stations.
    pub stations: Vec<CellStation>,
    /// Pairs of these stations that do not hear each other. There are some only where the access point has its channel and its radio
    /// for itself.
    pub hidden: Vec<[StationId; 2]>,
}
