//! What the pages of two times consist of.
//!
//! **About 2010**: 50 to 65 objects of 300 to 500 kB together, both drawn uniformly, as in the BA-TA paper, which took its own from a site
//! that collected them. Ramachandran's *Web metrics* (Google, 2010) found 44 and 320 kB on the average. Sizes within a page are
//! log-normal with a given deviation, by default the one that Barford and Crovella (*Generating representative Web workloads*,
//! SIGMETRICS 1998) give for the body of the distribution; a heavy tail has no place in a page of a given size.
//!
//! **2025**: the weight of a page is drawn from the percentiles of HTTP Archive's Web Almanac 2025 (crawl of July 2025, chapter *Page
//! weight*), linearly in the logarithm between them, and not beyond the tenth and the ninetieth: lighter and heavier pages have the
//! weight of these. It is divided among the kinds of resources as the medians of home pages are, and among the objects of a kind as in 2010. The
//! requests are 71 and 66, as in the edition of 2024 (that of 2025 was not seen to have them), 24 of them scripts; 8 style sheets and 4 fonts
//! are assumed. The document names all others. Urgencies are those that Chrome is said to have (RFC 9218): the document 0, style sheets and fonts 1, scripts
//! 2, images 3. What is below that of images keeps a page from painting.
//!
//! Left out: the time that a server takes, caches of browsers, and scripts that ask for more.

use std::collections::VecDeque;

use airwatt_base::RandomStream;
use airwatt_proto::powersave::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Connection;

/// Least and largest number of objects of a page of 2010.
const OBJECTS: (u32, u32) = (50, 65);
/// Least and largest size of such a page in bytes.
const PAGE_BYTES: (u32, u32) = (300_000, 500_000);
/// Size of the smallest reply in bytes: a status line and headers.
pub(super) const LEAST_OBJECT: u64 = 200;

/// The handshake of TLS 1.3 before the first request of a connection: a ClientHello of 517 bytes, to which browsers pad it (RFC 7685),
/// and a flight of 3 kB with the server's certificates, which is assumed.
pub(super) const HANDSHAKE: Exchange = Exchange { request: 517, reply: 3_000, urgency: 0 };
/// The client's last message of the handshake in bytes (RFC 8446 4.4.4: a Finished of 36 in a record of 22, and a change of ciphers
/// of 6), which leaves with the first request.
pub(super) const FINISHED: u32 = 64;
/// The least urgent objects that keep a page from painting.
pub(super) const BLOCKING: u8 = 2;
/// Deviation of the logarithm of an object's size in per mille: that of Barford and Crovella.
pub(super) const SPREAD: Ratio = Ratio::from_permille(1_318);

/// The browser to which a page is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// A computer's.
    #[default]
    Desktop,
    /// A phone's.
    Mobile,
}

/// The version of HTTP that a browser speaks over TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1: six connections to an origin, each with one object at a time.
    #[serde(rename = "http/1.1")]
    OnePointOne,
    /// HTTP/2: a connection to an origin, and all objects at once.
    #[default]
    #[serde(rename = "h2")]
    Two,
}

impl HttpVersion {
    /// Connections to an origin.
    pub const fn connections(self) -> Connection {
        match self {
            Self::OnePointOne => 6,
            Self::Two => 1,
        }
    }
}

/// Statistics of pages.
#[derive(Clone, Copy, Debug)]
struct Almanac {
    /// Weight in kB at the percentiles 10, 25, 50, 75 and 90.
    weight: [f64; 5],
    /// Of each kind of object the median kB of a home page, the number, and the urgency, in the order of the urgencies.
    kinds: [(f64, u32, u8); 5],
}

impl Device {
    const fn almanac(self) -> Almanac {
        match self {
            Self::Desktop => Almanac {
                weight: [607.0, 1_275.0, 2_412.0, 4_570.0, 9_179.0],
                kinds: [(22.0, 1, 0), (82.0, 8, 1), (139.0, 4, 1), (697.0, 24, 2), (1_059.0, 34, 3)],
            },
            Self::Mobile => Almanac {
                weight: [516.0, 1_127.0, 2_164.0, 4_119.0, 8_337.0],
                kinds: [(22.0, 1, 0), (77.0, 8, 1), (122.0, 4, 1), (632.0, 24, 2), (911.0, 29, 3)],
            },
        }
    }
}

/// The percentiles of [`Almanac::weight`], as shares.
const PERCENTILES: [f64; 5] = [0.10, 0.25, 0.50, 0.75, 0.90];

/// A request and what is sent in return, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Bytes of the request.
    pub request: u32,
    /// Bytes of the reply.
    pub reply: u32,
    /// Its urgency (RFC 9218).
    pub urgency: u8,
}

/// The objects of a page of 2010, each requested on its own.
pub(super) fn of_2010(request: u32, spread: Ratio, random: &mut RandomStream) -> Vec<Exchange> {
    let mut between = |(least, most): (u32, u32)| least + random.below(most - least + 1);
    let (count, bytes) = (between(OBJECTS), between(PAGE_BYTES));
    let sizes = sizes(count, f64::from(bytes), spread, random);
    // The last one is the document.
    sizes.into_iter().rev().map(|reply| Exchange { request, reply, urgency: BLOCKING }).collect()
}

/// Sizes of `count` objects of `bytes` bytes together.
fn sizes(count: u32, bytes: f64, spread: Ratio, random: &mut RandomStream) -> Vec<u32> {
    let spread = spread.as_f64();
    let weights: Vec<f64> = (0..count).map(|_| (spread * random.normal()).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| ((weight / sum * bytes) as u64).max(LEAST_OBJECT) as u32).collect()
}

/// The objects of a page of 2025 in the order of their urgencies, the document first.
pub(super) fn of_2025(device: Device, request: u32, random: &mut RandomStream) -> Vec<Exchange> {
    let Almanac { weight, kinds } = device.almanac();
    let bytes = 1e3 * weight_at(&weight, random.unit());
    let sum: f64 = kinds.iter().map(|(part, ..)| part).sum();
    let mut objects = Vec::new();
    for (part, count, urgency) in kinds {
        let sizes = sizes(count, bytes * part / sum, SPREAD, random);
        objects.extend(sizes.into_iter().map(|reply| Exchange { request, reply, urgency }));
    }
    objects
}

/// For each origin what is requested at once, and after it: the document from the first, then the others, from one origin after another; all
/// of an origin at once if its connection is multiplexed.
pub(super) fn divided(
    objects: Vec<Exchange>,
    origins: usize,
    is_multiplexed: bool,
) -> Vec<VecDeque<Vec<Exchange>>> {
    let mut queues = vec![VecDeque::new(); origins];
    let (document, others) = objects.split_at(1);
    queues[0].push_back(document.to_vec());
    for (origin, queue) in queues.iter_mut().enumerate() {
        let of_origin: Vec<Exchange> = others.iter().skip(origin).step_by(origins).copied().collect();
        if is_multiplexed {
            queue.push_back(of_origin);
        } else {
            queue.extend(of_origin.into_iter().map(|object| vec![object]));
        }
    }
    queues
}

/// The weight that this share of all pages does not exceed.
fn weight_at(weights: &[f64; 5], share: f64) -> f64 {
    let share = share.clamp(PERCENTILES[0], PERCENTILES[4]);
    let above = PERCENTILES.iter().position(|percentile| share <= *percentile).unwrap_or(4).max(1);
    let (low, high) = (PERCENTILES[above - 1], PERCENTILES[above]);
    let along = (share - low) / (high - low);
    weights[above - 1] * (weights[above] / weights[above - 1]).powf(along)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 pages: percentiles as published, within 3 %; kinds in the proportions of the medians, but for objects that are made as large as
    /// the smallest reply.
    #[test]
    fn pages_of_2025_have_the_almanacs_weights() {
        for device in [Device::Desktop, Device::Mobile] {
            let mut random = RandomStream::new(1, "test");
            let almanac = device.almanac();
            let published: f64 = almanac.kinds.iter().map(|(part, ..)| part).sum();
            let mut weights: Vec<u32> = (0..20_000)
                .map(|_| {
                    let objects = of_2025(device, 100, &mut random);
                    let bytes = |urgency: u8| -> u32 {
                        let of_it = objects.iter().filter(|object| object.urgency == urgency);
                        of_it.map(|object| object.reply).sum()
                    };
                    let all: u32 = (0..4).map(bytes).sum();
                    for (part, urgency) in [(almanac.kinds[3].0, 2), (almanac.kinds[4].0, 3)] {
                        let share = f64::from(bytes(urgency)) / f64::from(all);
                        assert!((share / (part / published) - 1.0).abs() < 0.02, "{device:?}: {share}");
                    }
                    all
                })
                .collect();
            weights.sort_unstable();
            for (percentile, published) in [(0.11, 0), (0.25, 1), (0.50, 2), (0.75, 3), (0.89, 4)] {
                let seen = f64::from(weights[(percentile * 20_000.0) as usize]) / 1e3;
                // The tenth and the ninetieth percentile are the ends of what is drawn.
                let within = if published % 4 == 0 { 0.1 } else { 0.03 };
                assert!((seen / almanac.weight[published] - 1.0).abs() < within, "{device:?}: {seen} kB");
            }
            assert!((f64::from(weights[0]) / (1e3 * almanac.weight[0]) - 1.0).abs() < 0.01);
            assert!((f64::from(weights[19_999]) / (1e3 * almanac.weight[4]) - 1.0).abs() < 0.01);
        }
    }

    /// A page has as many requests as published, whatever the origins, and nothing is sent twice.
    #[test]
    fn requests_are_counted_and_divided() {
        for (device, requests) in [(Device::Desktop, 71), (Device::Mobile, 66)] {
            let page = of_2025(device, 100, &mut RandomStream::new(1, "test"));
            assert_eq!(page.len(), requests);
            assert!(page.is_sorted_by_key(|object| object.urgency));
            for (origins, is_multiplexed) in [(1, true), (1, false), (12, true), (15, false)] {
                let queues = divided(page.clone(), origins, is_multiplexed);
                let mut divided: Vec<Exchange> = queues.iter().flatten().flatten().copied().collect();
                let batches: usize = queues.iter().map(VecDeque::len).sum();
                assert_eq!(batches, if is_multiplexed { 1 + origins } else { requests });
                divided.sort_unstable_by_key(|object| (object.urgency, object.reply));
                let mut whole = page.clone();
                whole.sort_unstable_by_key(|object| (object.urgency, object.reply));
                assert_eq!(divided, whole);
            }
        }
    }
}
