//! What the pages of two times consist of.
//!
//! **About 2010**: 50 to 65 objects of 300 to 500 kB together, both drawn uniformly, as in the BA-TA paper, which took its own from a site
//! that collected them. Ramachandran's *Web metrics* (Google, 2010) found 44 and 320 kB on the average. Sizes within a page are
//! log-normal with a given deviation, by default the one that Barford and Crovella (*Generating representative Web workloads*,
//! SIGMETRICS 1998) give for the body of the distribution; a heavy tail has no place in a page of a given size.
//!
//! **2025**: the weight of a page is drawn from the percentiles of HTTP Archive's Web Almanac 2025 (crawl of July 2025, chapter *Page
//! weight*), linearly in the logarithm between them, and not beyond the tenth and the ninetieth: lighter and heavier pages have the
//! weight of these. It is divided among the kinds of resources as the medians of home pages are. The requests are 71 and 66, as in the
//! edition of 2024 (that of 2025 was not seen to have them), 24 of them scripts; 8 style sheets and 4 fonts are assumed. A browser
//! asks first for the document, then for what keeps it from painting (style sheets, fonts, scripts), then for the rest. Over HTTP/2
//! the requests of one such step leave together, and their replies come one after another, in the order of their priorities.
//!
//! Left out: the time that a server takes, caches of browsers, scripts that ask for more, and the ten to fifteen other origins of a
//! page, each with a connection of its own: all of the page comes over one.

use airwatt_base::RandomStream;
use airwatt_proto::powersave::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Least and largest number of objects of a page of 2010.
const OBJECTS: (u32, u32) = (50, 65);
/// Least and largest size of such a page in bytes.
const PAGE_BYTES: (u32, u32) = (300_000, 500_000);
/// Size of the smallest reply in bytes: a status line and headers.
pub(super) const LEAST_OBJECT: u64 = 200;

/// The handshake of TLS 1.3 before the first request of a connection: a ClientHello of 517 bytes, to which browsers pad it (RFC 7685),
/// and a flight of 3 kB with the server's certificates, which is assumed.
const HANDSHAKE: Exchange = Exchange { request: 517, reply: 3_000 };
/// The client's last message of the handshake in bytes (RFC 8446 4.4.4: a Finished of 36 in a record of 22, and a change of ciphers
/// of 6), which leaves with the first request.
const FINISHED: u32 = 64;

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

/// Statistics of pages.
#[derive(Clone, Copy, Debug)]
struct Almanac {
    /// Weight in kB at the percentiles 10, 25, 50, 75 and 90.
    weight: [f64; 5],
    /// Median kB of a home page's document, of what keeps it from painting, and of its images.
    parts: [f64; 3],
    /// Requests of the last two.
    requests: [u32; 2],
}

impl Device {
    const fn almanac(self) -> Almanac {
        match self {
            Self::Desktop => Almanac {
                weight: [607.0, 1_275.0, 2_412.0, 4_570.0, 9_179.0],
                parts: [22.0, 82.0 + 139.0 + 697.0, 1_059.0],
                requests: [36, 34],
            },
            Self::Mobile => Almanac {
                weight: [516.0, 1_127.0, 2_164.0, 4_119.0, 8_337.0],
                parts: [22.0, 77.0 + 122.0 + 632.0, 911.0],
                requests: [36, 29],
            },
        }
    }
}

/// The percentiles of [`Almanac::weight`], as shares.
const PERCENTILES: [f64; 5] = [0.10, 0.25, 0.50, 0.75, 0.90];

/// A request, or several at once, and what is sent in return, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Bytes of the request.
    pub request: u32,
    /// Bytes of the reply.
    pub reply: u32,
}

/// The objects of a page of 2010, each requested on its own; the next one last.
pub(super) fn of_2010(request: u32, spread: Ratio, random: &mut RandomStream) -> Vec<Exchange> {
    let spread = spread.as_f64();
    let mut between = |(least, most): (u32, u32)| least + random.below(most - least + 1);
    let (count, bytes) = (between(OBJECTS), between(PAGE_BYTES));
    let weights: Vec<f64> = (0..count).map(|_| (spread * random.normal()).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let sizes = weights.iter().map(|weight| (weight / sum * f64::from(bytes)) as u64);
    sizes.map(|size| Exchange { request, reply: size.max(LEAST_OBJECT) as u32 }).collect()
}

/// The steps of a page of 2025, the next one last. The first page of a connection begins with the handshake.
pub(super) fn of_2025(device: Device, request: u32, first: bool, random: &mut RandomStream) -> Vec<Exchange> {
    let Almanac { weight, parts, requests: [blocking, images] } = device.almanac();
    let bytes = 1e3 * weight_at(&weight, random.unit());
    let sum: f64 = parts.iter().sum();
    let [document, blockers, rest] = parts.map(|part| (bytes * part / sum).round() as u32);
    let finished = if first { FINISHED } else { 0 };
    let mut steps = vec![
        Exchange { request: images * request, reply: rest },
        Exchange { request: blocking * request, reply: blockers },
        Exchange { request: request + finished, reply: document },
    ];
    steps.extend(first.then_some(HANDSHAKE));
    steps
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

    /// 20,000 pages: percentiles as published, within 3 %; parts in the proportions of the medians.
    #[test]
    fn pages_of_2025_have_the_almanacs_weights() {
        for device in [Device::Desktop, Device::Mobile] {
            let mut random = RandomStream::new(1, "test");
            let almanac = device.almanac();
            let mut weights: Vec<u32> = (0..20_000)
                .map(|_| {
                    let steps = of_2025(device, 100, false, &mut random);
                    let [rest, blockers, document] = [0, 1, 2].map(|step| f64::from(steps[step].reply));
                    assert!((document / rest - almanac.parts[0] / almanac.parts[2]).abs() < 1e-3);
                    assert!((blockers / rest - almanac.parts[1] / almanac.parts[2]).abs() < 1e-3);
                    steps.iter().map(|step| step.reply).sum()
                })
                .collect();
            weights.sort_unstable();
            for (percentile, published) in [(0.11, 0), (0.25, 1), (0.50, 2), (0.75, 3), (0.89, 4)] {
                let seen = f64::from(weights[(percentile * 20_000.0) as usize]) / 1e3;
                // The tenth and the ninetieth percentile are the ends of what is drawn.
                let within = if published % 4 == 0 { 0.1 } else { 0.03 };
                assert!((seen / almanac.weight[published] - 1.0).abs() < within, "{device:?}: {seen} kB");
            }
            assert!((f64::from(weights[0]) - 1e3 * almanac.weight[0]).abs() < 3.0);
            assert!((f64::from(weights[19_999]) - 1e3 * almanac.weight[4]).abs() < 3.0);
        }
    }

    /// A page has as many requests as published, and the first one of a connection its handshake before them.
    #[test]
    fn requests_are_counted_and_the_first_page_has_a_handshake() {
        for (device, requests) in [(Device::Desktop, 71), (Device::Mobile, 66)] {
            let mut random = RandomStream::new(1, "test");
            let asked = |steps: &[Exchange]| steps.iter().map(|step| step.request).sum::<u32>();
            let page = of_2025(device, 100, false, &mut random);
            assert_eq!((page.len(), asked(&page)), (3, requests * 100));
            let first = of_2025(device, 100, true, &mut random);
            assert_eq!((first.len(), asked(&first)), (4, requests * 100 + 64 + 517));
            assert_eq!(first[3], HANDSHAKE);
        }
    }
}
