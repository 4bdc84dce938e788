//! Access categories: which packets belong to which, and how each contends (802.11-2020 10.23.2).
//!
//! Left out: admission control, which access points do not ask for, and parameters that an access point changes while its network
//! runs. In a service period of U-APSD the frame that is first sent last has EOSP, whatever its category; one of a higher category
//! that fails meanwhile comes again behind it.

use airwatt_base::Span;
use airwatt_dot11::{Standard, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contention::Access;

/// What a contender sends. The order is that of precedence within one MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// AC_BK.
    Background,
    /// AC_BE, which has all data where categories are not told apart.
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO. It has control and Null frames as well, as in Linux's mac80211.
    Voice,
    /// Beacons, and group-addressed frames after them.
    Beacon,
}

impl Category {
    /// Those of data, the least one first.
    pub const DATA: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// The category of packets with this differentiated services code point: by its three upper bits as the user priority, except where
    /// RFC 8325 section 4 says otherwise, as in Linux since version 6.8 (`cfg80211_classify8021d`).
    pub(crate) const fn of_dscp(dscp: u8) -> Self {
        match dscp {
            // AF11 to AF13, CS2, AF21 to AF23.
            10 | 12 | 14 | 16 | 18 | 20 | 22 => Self::BestEffort,
            // CS3, AF31 to AF33.
            24 | 26 | 28 | 30 => Self::Video,
            // Voice-Admit, EF.
            44 | 46 => Self::Voice,
            _ => Self::of_user_priority(dscp >> 3),
        }
    }

    /// The category of a user priority of IEEE 802.1D (802.11-2020 table 10-1).
    const fn of_user_priority(priority: u8) -> Self {
        match priority {
            1 | 2 => Self::Background,
            0 | 3 => Self::BestEffort,
            4 | 5 => Self::Video,
            _ => Self::Voice,
        }
    }

    /// The traffic identifier of its frames. A MAC has one block-ack agreement for each category and receiver.
    pub const fn tid(self) -> u8 {
        match self {
            Self::Background => 1,
            Self::BestEffort | Self::Beacon => 0,
            Self::Video => 5,
            Self::Voice => 6,
        }
    }

    /// The name in results and in the names of random streams.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::BestEffort => "best-effort",
            Self::Video => "video",
            Self::Voice => "voice",
            Self::Beacon => "beacon",
        }
    }
}

/// Access parameters of the four categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CategoryParameters {
    /// The defaults of the standard, at access points as well (802.11-2020 table 9-155, with TXOP limits of 0 for best effort and background).
    Standard,
    /// Those of Linux's access points: hostapd's for its stations (`wmm_ac_*`) and for its own queues (`tx_queue_*`).
    Linux,
}

/// How a contender for data contends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAccess {
    /// AIFS and contention windows.
    pub access: Access,
    /// Longest duration of a transmission opportunity; zero allows one frame exchange.
    pub txop: Span,
}

impl CategoryParameters {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Linux => "linux",
        }
    }

    /// How the categories of an access point or of a station contend, in the order of [`Category::DATA`].
    pub fn accesses(self, standard: Standard, is_access_point: bool) -> [DataAccess; 4] {
        let timing = standard.timing();
        // hostapd has the same windows for all PHYs, the standard those that follow from the PHY's.
        let cw = if self == Self::Linux { 15 } else { timing.cw_min };
        let [half, quarter] = [cw.div_ceil(2) - 1, cw.div_ceil(4) - 1];
        let is_dsss = standard == Standard::B;
        let micros = match (self, is_access_point) {
            (Self::Linux, true) => [3_000, 1_500],
            (Self::Linux, false) => [3_008, 1_504],
            (Self::Standard, _) if is_dsss => [6_016, 3_264],
            (Self::Standard, _) => [4_096, 2_080],
        };
        let [video, voice] = micros.map(Span::from_micros);
        let (first, most) = if self == Self::Linux && is_access_point { (1, 63) } else { (2, 1_023) };
        [
            data_access(&timing, 7, [cw, 1_023], Span::ZERO),
            data_access(&timing, 3, [cw, most], Span::ZERO),
            data_access(&timing, first, [half, cw], video),
            data_access(&timing, first, [quarter, half], voice),
        ]
    }
}

fn data_access(timing: &Timing, aifsn: u64, [cw_min, cw_max]: [u32; 2], txop: Span) -> DataAccess {
    DataAccess { access: Access { aifs: timing.sifs + timing.slot * aifsn, cw_min, cw_max }, txop }
}

/// Counts of one category in all MACs of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryCounts {
    /// Attempts to send a frame that carries data or control.
    pub frames: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Accesses that a category won while a higher one of the same radio won too, and so lost.
    pub internal_collisions: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of RFC 8325 section 4.1 and the code points beside it, and those without a meaning by their upper bits.
    #[test]
    fn code_points_have_the_categories_of_linux() {
        use Category::{Background, BestEffort, Video, Voice};
        for (points, category) in [
            (&[8, 9, 17][..], Background),
            (&[0, 1, 10, 12, 14, 16, 18, 20, 22, 25], BestEffort),
            (&[24, 26, 28, 30, 32, 34, 36, 38, 40, 45], Video),
            (&[44, 46, 48, 56, 63], Voice),
        ] {
            for dscp in points {
                assert_eq!(Category::of_dscp(*dscp), category, "{dscp}");
            }
        }
        for category in Category::DATA {
            assert_eq!(Category::of_user_priority(category.tid()), category);
        }
    }

    /// AIFSN, windows and TXOP limits as the tables have them, in slots of 9 us after a SIFS of 16 us; with 802.11b, whose windows begin with
    /// 31, slots of 20 us after 10 us.
    #[test]
    fn parameters_are_those_of_the_tables() {
        let shown = |parameters: CategoryParameters, standard: Standard, is_access_point| {
            let timing = standard.timing();
            parameters.accesses(standard, is_access_point).map(|DataAccess { access, txop }| {
                let aifsn = (access.aifs - timing.sifs).whole(timing.slot);
                (aifsn, access.cw_min, access.cw_max, txop.as_nanos() / 1_000)
            })
        };
        use CategoryParameters::{Linux, Standard as Default};
        let defaults = [(7, 15, 1_023, 0), (3, 15, 1_023, 0), (2, 7, 15, 4_096), (2, 3, 7, 2_080)];
        let of_dsss = [(7, 31, 1_023, 0), (3, 31, 1_023, 0), (2, 15, 31, 6_016), (2, 7, 15, 3_264)];
        let stations = [(7, 15, 1_023, 0), (3, 15, 1_023, 0), (2, 7, 15, 3_008), (2, 3, 7, 1_504)];
        let queues = [(7, 15, 1_023, 0), (3, 15, 63, 0), (1, 7, 15, 3_000), (1, 3, 7, 1_500)];
        for is_access_point in [false, true] {
            assert_eq!(shown(Default, Standard::Ax, is_access_point), defaults);
            assert_eq!(shown(Default, Standard::B, is_access_point), of_dsss);
        }
        assert_eq!(shown(Linux, Standard::Ax, false), stations);
        assert_eq!(shown(Linux, Standard::Ax, true), queues);
    }
}
