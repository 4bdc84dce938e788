//! The air against analysis: saturated stations against Bianchi's model, one station against Jun et al.'s formula.
//!
//! Both models get their frame times from the simulator's PHY tables, so what is compared is how contention shares the
//! air. Beacons, of which neither model knows, are moved out of the way. What the two sides do not share, and how it is
//! dealt with:
//!
//! * **Counting of slots.** A station's counter in the model also moves in a slot in which somebody else sends. EDCA
//!   counts so, DCF does not: there a station that has just sent draws from zero while all others are a slot behind. The
//!   model describes `access = "edca"`; the difference with `dcf` is held within bounds of its own.
//! * **After a collision** those who collided resume at ACKTimeout + AIFS, and everybody else at EIFS, which for OFDM is
//!   15 us later, one slot and two thirds (802.11-2020 10.3.2.3.7, 10.3.2.11). The model knows one Tc for all. The
//!   channel is free again, and is used, from ACKTimeout on, so that is Tc here. With EIFS as Tc the model says 1.7 %
//!   less at 50 stations than with ACKTimeout; both stand side by side in docs/validation.md.
//! * `contention_alone` drives the contention by itself, with everybody resuming together as the model has it: there Tc is
//!   no matter of choice.

use airwatt_base::{Instant, RandomStream, Rate, Span};
use airwatt_dot11::{Standard, TxVector};
use airwatt_models::{dcf_saturation, max_throughput};
use airwatt_sim::media::cell::access::contention::{Access, AccessMethod, Contention};
use airwatt_sim::scenario::Scenario;

use crate::support::{difference, in_parallel, scenario, simulate};

const STATIONS: [u32; 6] = [1, 2, 5, 10, 20, 50];
const IP_BYTES: u32 = 1500;
const MAC_BYTES: u32 = 38;
const ACK_BYTES: u32 = 14;
const NO_BEACONS: (&str, &str) = ("ap.beacon_interval", "60s");

fn frame(standard: Standard, rate: Rate, bytes: u32) -> Span {
    standard.layout(rate).expect("a rate of the PHY").time(bytes)
}

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// Data, acknowledgement and the spaces of the `saturation` scenario.
struct Times {
    slot: Span,
    success: Span,
    /// Until those who collided contend again, and until everybody else does.
    collision: [Span; 2],
}

fn times() -> Times {
    let timing = Standard::A.timing();
    let data = frame(Standard::A, rate("54Mbps"), IP_BYTES + MAC_BYTES);
    let ack = frame(Standard::A, rate("24Mbps"), ACK_BYTES);
    let difs = timing.sifs + timing.slot * 2;
    let ack_timeout = timing.sifs + timing.slot + timing.rx_start_delay;
    let eifs = timing.sifs + frame(Standard::A, timing.lowest_rate, ACK_BYTES) + difs;
    let success = data + timing.sifs + ack + difs;
    Times { slot: timing.slot, success, collision: [data + ack_timeout + difs, data + eifs] }
}

/// The model's throughput in bit/s of IP packets.
fn bianchi(stations: u32, times: &Times, collision: Span) -> f64 {
    let params = dcf_saturation::Params {
        stations,
        window: 16,
        stages: 6,
        retries: None,
        slot_s: times.slot.as_secs_f64(),
        success_s: times.success.as_secs_f64(),
        collision_s: collision.as_secs_f64(),
        payload_bits: f64::from(IP_BYTES) * 8.0,
    };
    dcf_saturation::solve(&params).expect("parameters in range").throughput_bps
}

/// The IP bytes of a datagram's packet of `bytes` bytes over its payload.
fn per_payload(bytes: f64) -> f64 {
    bytes / (bytes - 28.0)
}

/// The rate of all stations' IP packets in bit/s.
fn saturated(stations: u32, access: &str) -> f64 {
    let count = stations.to_string();
    let set = [("station.0.count", count.as_str()), ("wifi.access", access), ("duration", "60s"), NO_BEACONS];
    let run = simulate(&scenario("saturation", &set), 1);
    let payload: f64 = run.result.flows.iter().map(|flow| flow.goodput_bps).sum();
    payload * per_payload(1_500.0)
}

/// 802.11a at 54 Mbit/s, 1500 bytes, W = 16, m = 6.
#[test]
fn saturation_throughput_is_bianchis() {
    let times = times();
    let simulated =
        in_parallel(&STATIONS, |stations| [saturated(*stations, "edca"), saturated(*stations, "dcf")]);
    let mut table = "stations  edca      dcf       Tc=ACKTimeout     Tc=EIFS (Mbit/s)\n".to_owned();
    let mut worst = [0.0_f64; 2];
    for (stations, [edca, dcf]) in STATIONS.into_iter().zip(simulated) {
        let models = times.collision.map(|collision| bianchi(stations, &times, collision));
        worst[0] = worst[0].max(difference(edca, models[0]).abs());
        worst[1] = worst[1].max(difference(dcf, models[0]).abs());
        table += &format!(
            "{stations:8} {:8.4} {:8.4}  {:8.4} {:+.2} %  {:8.4} {:+.2} %, dcf {:+.2} %\n",
            edca / 1e6,
            dcf / 1e6,
            models[0] / 1e6,
            100.0 * difference(edca, models[0]),
            models[1] / 1e6,
            100.0 * difference(edca, models[1]),
            100.0 * difference(dcf, models[0]),
        );
    }
    show(&table);
    assert!(worst[0] < 0.02, "EDCA counting is what the model describes\n{table}");
    assert!(worst[1] < 0.03, "DCF counting differs in a known direction only\n{table}");
}

/// Two saturated stations of which one is slow: each access is as likely for either, so both send as many frames and the fast one has
/// no more than the slow one (Heusse et al., Performance anomaly of 802.11b, INFOCOM 2003). In Bianchi's model a success takes the
/// mean of both times, and a collision the longer one.
#[test]
fn a_slow_station_slows_the_fast_one_down() {
    let text = "base = \"saturation\"\nstation = [\n\
        { count = 1, power_save = { policy = \"active\" }, radio = \"halperin-2010\" },\n\
        { count = 1, power_save = { policy = \"active\" }, radio = \"halperin-2010\", data_rate = \"6Mbps\" },\n]\n";
    let set = [("duration", "60s"), NO_BEACONS].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let run = simulate(&Scenario::from_text(text, "anomaly", &set).unwrap(), 1);
    let goodputs: Vec<f64> = run.result.flows.iter().map(|flow| flow.goodput_bps).collect();
    let [fast, slow] = goodputs[..] else { panic!("two flows: {goodputs:?}") };
    assert!(difference(fast, slow).abs() < 0.02, "{fast} {slow}");
    let timing = Standard::A.timing();
    let difs = timing.sifs + timing.slot * 2;
    let of = |data: &str, ack: &str| {
        [(data, IP_BYTES + MAC_BYTES), (ack, ACK_BYTES)]
            .map(|(at, bytes)| frame(Standard::A, rate(at), bytes))
    };
    // The slow station's frames are acknowledged at their own rate.
    let [[fast_data, fast_ack], [slow_data, slow_ack]] = [of("54Mbps", "24Mbps"), of("6Mbps", "6Mbps")];
    let both = fast_data + fast_ack + slow_data + slow_ack;
    let collision = slow_data + timing.sifs + timing.slot + timing.rx_start_delay + difs;
    let success = Span::from_nanos(both.as_nanos() / 2) + timing.sifs + difs;
    let model = bianchi(2, &Times { slot: timing.slot, success, collision: [collision; 2] }, collision);
    let simulated = (fast + slow) * per_payload(1_500.0);
    let percent = 100.0 * difference(simulated, model);
    show(&format!("54 and 6 Mbit/s: {:.4} {:.4} {percent:+.2} %\n", simulated / 1e6, model / 1e6));
    assert!(percent.abs() < 2.0, "{simulated} {model}");
}

/// One saturated station with A-MPDUs at 130 Mbit/s against T = AIFS + 9 CWmin / 2 + T_PPDU(n) + SIFS + T_response and S = 8 n L / T, for
/// each number of frames; 64 frames are cut to the 42 that 65,535 bytes hold. `9 CWmin / 2` is the mean backoff in microseconds.
#[test]
fn aggregates_carry_what_the_closed_form_says() {
    let (subframe, last) = (f64::from(4 + 1_540), f64::from(4 + IP_BYTES + MAC_BYTES));
    let timing = Standard::N.timing();
    let mut table = "frames  simulated  form (Mbit/s)\n".to_owned();
    let mut worst = 0.0_f64;
    let jobs = [(1, 1), (2, 2), (8, 8), (32, 32), (64, 42)];
    let runs = in_parallel(&jobs, |(mpdus, _)| {
        let mpdus = mpdus.to_string();
        let set = [
            ("station.0.count", "1"),
            ("wifi.standard", "802.11n"),
            ("wifi.data_rate", "130Mbps"),
            ("wifi.aggregation.mpdus", &mpdus),
            ("duration", "10s"),
            NO_BEACONS,
        ];
        let run = simulate(&scenario("saturation", &set), 1);
        run.result.flows[0].goodput_bps * per_payload(1_500.0)
    });
    for ((mpdus, sent), simulated) in jobs.into_iter().zip(runs) {
        let (psdu, response) = match sent {
            1 => (IP_BYTES + MAC_BYTES, ACK_BYTES),
            _ => ((f64::from(sent - 1) * subframe + last) as u32, 32),
        };
        let times = frame(Standard::N, rate("130Mbps"), psdu) + frame(Standard::N, rate("24Mbps"), response);
        let backoff = Span::from_nanos(timing.slot.as_nanos() * 15 / 2);
        let cycle = timing.sifs * 2 + timing.slot * 2 + backoff + times;
        let form = f64::from(sent * IP_BYTES * 8) / cycle.as_secs_f64();
        let percent = 100.0 * difference(simulated, form);
        worst = worst.max(percent.abs());
        table += &format!("{mpdus:6} {:9.4} {:9.4} {percent:+.2} %\n", simulated / 1e6, form / 1e6);
    }
    show(&table);
    assert!(worst < 0.5, "{table}");
}

/// One saturated station in modes of today against the same form. With VHT and HE a single frame has a delimiter, too; agreements of
/// more than 64 frames have longer block acknowledgements, and the longest PPDU takes 5.484 ms.
#[test]
fn modes_of_today_carry_what_the_closed_form_says() {
    let (subframe, last) = (4 + 1_540, 4 + IP_BYTES + MAC_BYTES);
    // The mode, the most frames, and how many a PPDU has.
    let jobs = [
        ("802.11n", "HT40 MCS 15 GI 0.4us", "64", 42),
        ("802.11ac", "VHT80 MCS 9 x1 GI 0.4us", "1", 1),
        ("802.11ac", "VHT80 MCS 9 x1 GI 0.4us", "64", 64),
        ("802.11ax", "HE20 MCS 7", "1", 1),
        ("802.11ax", "HE20 MCS 11", "256", 63),
        ("802.11ax", "HE80 MCS 11 x2", "64", 64),
        ("802.11ax", "HE80 MCS 11 x2", "256", 256),
        ("802.11ax-6GHz", "HE160 MCS 11 x2", "256", 256),
        ("802.11ax-2.4GHz", "HE40 MCS 7 GI 1.6us", "64", 64),
    ];
    let runs = in_parallel(&jobs, |(standard, mode, mpdus, _)| {
        let set = [
            ("station.0.count", "1"),
            ("wifi.standard", standard),
            ("wifi.mode", mode),
            ("wifi.control_rate", "24Mbps"),
            ("wifi.aggregation.mpdus", mpdus),
            ("duration", "1s"),
            NO_BEACONS,
        ];
        let run = simulate(&scenario("saturation", &set), 1);
        run.result.flows[0].goodput_bps * per_payload(1_500.0)
    });
    let mut table = "mode                      frames  simulated  form (Mbit/s)\n".to_owned();
    let mut worst = 0.0_f64;
    for ((name, mode, mpdus, sent), simulated) in jobs.into_iter().zip(runs) {
        let standard = Standard::ALL.into_iter().find(|standard| standard.name() == name).unwrap();
        let (timing, vector) = (standard.timing(), mode.parse::<TxVector>().unwrap());
        let psdu = (sent - 1) * subframe + last;
        let response = match (sent, mpdus) {
            (1, _) => ACK_BYTES,
            (_, "256") => 56,
            _ => 32,
        };
        let times = vector.frame_time(standard.band(), psdu) + frame(standard, rate("24Mbps"), response);
        let backoff = Span::from_nanos(timing.slot.as_nanos() * 15 / 2);
        let cycle = timing.sifs * 2 + timing.slot * 2 + backoff + times;
        let form = f64::from(sent * IP_BYTES * 8) / cycle.as_secs_f64();
        let percent = 100.0 * difference(simulated, form);
        worst = worst.max(percent.abs());
        table +=
            &format!("{mode:25} {mpdus:>6} {:10.3} {:10.3} {percent:+.2} %\n", simulated / 1e6, form / 1e6);
    }
    show(&table);
    assert!(worst < 0.5, "{table}");
}

/// One saturated station at 65 Mbit/s whose packets of 1,500 bytes share frames, AIFSN 3: two in an A-MSDU of up to 3,839 bytes, five in one
/// of up to 7,935. An A-MSDU of k is k subframes of 14 + 8 + 1,500 bytes and 2 of padding, without padding behind the last; the header and
/// the FCS add 30, a delimiter 4.
#[test]
fn shared_frames_carry_what_the_closed_form_says() {
    // The most frames, the longest A-MPDU and A-MSDU, how many frames a PPDU has, and how many packets each of them.
    let jobs =
        [("8", "65535B", "3839B", 8, 2), ("64", "32767B", "3839B", 10, 2), ("1", "65535B", "7935B", 1, 5)];
    let runs = in_parallel(&jobs, |(mpdus, bytes, amsdu, ..)| {
        let set = [
            ("station.0.count", "1"),
            ("wifi.standard", "802.11n"),
            ("wifi.mode", "HT20 MCS 7"),
            ("wifi.control_rate", "24Mbps"),
            ("wifi.aifsn", "3"),
            ("wifi.aggregation.mpdus", mpdus),
            ("wifi.aggregation.bytes", bytes),
            ("wifi.aggregation.amsdu", amsdu),
            ("duration", "3s"),
            NO_BEACONS,
        ];
        let run = simulate(&scenario("saturation", &set), 1);
        run.result.flows[0].goodput_bps * per_payload(1_500.0)
    });
    let mut table = "frames  packets  simulated  form (Mbit/s)\n".to_owned();
    let mut worst = 0.0_f64;
    for ((.., sent, packets), simulated) in jobs.into_iter().zip(runs) {
        let mpdu = 30 + 1_524 * packets - 2;
        let (psdu, response) = if sent == 1 { (mpdu, ACK_BYTES) } else { (sent * (4 + mpdu), 32) };
        let vector = "HT20 MCS 7".parse::<TxVector>().unwrap();
        let timing = Standard::N.timing();
        let times =
            vector.frame_time(Standard::N.band(), psdu) + frame(Standard::N, rate("24Mbps"), response);
        let backoff = Span::from_nanos(timing.slot.as_nanos() * 15 / 2);
        let cycle = timing.sifs * 2 + timing.slot * 3 + backoff + times;
        let form = f64::from(sent * packets * IP_BYTES * 8) / cycle.as_secs_f64();
        let percent = 100.0 * difference(simulated, form);
        worst = worst.max(percent.abs());
        table +=
            &format!("{sent:6} {packets:8} {:10.4} {:9.4} {percent:+.2} %\n", simulated / 1e6, form / 1e6);
    }
    show(&table);
    assert!(worst < 0.5, "{table}");
}

/// HE80 MCS 11 with two streams has 1,201 Mbit/s: frames of 1,538 bytes with their delimiters take 1,544 bytes each, more than 8 us are (1,204 in whole
/// delimiters), and 16 us are 2,404.
#[test]
fn frames_are_as_far_apart_as_their_receiver_asks() {
    let jobs = [("0us", 1_544), ("8us", 1_544), ("16us", 2_404)];
    let runs = in_parallel(&jobs, |(spacing, _)| {
        let set = [
            ("station.0.count", "1"),
            ("wifi.standard", "802.11ax"),
            ("wifi.mode", "HE80 MCS 11 x2"),
            ("wifi.control_rate", "24Mbps"),
            ("wifi.aifsn", "3"),
            ("wifi.aggregation.mpdus", "64"),
            ("wifi.aggregation.start_spacing", spacing),
            ("duration", "2s"),
            NO_BEACONS,
        ];
        simulate(&scenario("saturation", &set), 1).result.flows[0].goodput_bps * per_payload(1_500.0)
    });
    for ((spacing, apart), simulated) in jobs.into_iter().zip(runs) {
        let vector = "HE80 MCS 11 x2".parse::<TxVector>().unwrap();
        let timing = Standard::Ax.timing();
        let times = vector.frame_time(Standard::Ax.band(), 63 * apart + 1_542)
            + frame(Standard::Ax, rate("24Mbps"), 32);
        let backoff = Span::from_nanos(timing.slot.as_nanos() * 15 / 2);
        let cycle = timing.sifs * 2 + timing.slot * 3 + backoff + times;
        let form = f64::from(64 * IP_BYTES * 8) / cycle.as_secs_f64();
        assert!(difference(simulated, form).abs() < 0.005, "{spacing}: {simulated} for {form}");
    }
}

/// Frames sent and delivered by an aggregate, in the mean of 40,000: the oldest that are missing, then new ones, at most `most` and
/// within a window of 64 from the oldest. Each is lost with probability `loss`; responses are not.
fn selective_repeat(most: usize, loss: f64) -> [f64; 2] {
    const ROUNDS: usize = 40_000;
    let mut random = RandomStream::new(1, "selective repeat");
    let (mut missing, mut next) = (Vec::new(), 0_u64);
    let (mut sent, mut delivered) = (0, 0);
    for _ in 0..ROUNDS {
        let start = missing.first().copied().unwrap_or(next);
        while missing.len() < most && next < start + 64 {
            missing.push(next);
            next += 1;
        }
        let rest = missing.split_off(missing.len().min(most));
        sent += missing.len();
        let before = missing.len();
        missing.retain(|_| random.chance(loss));
        delivered += before - missing.len();
        missing.extend(rest);
    }
    [sent, delivered].map(|count| count as f64 / ROUNDS as f64)
}

/// A lost frame stops the window, so aggregates become shorter than the loss alone would make them.
#[test]
fn aggregates_with_losses_are_those_of_selective_repeat() {
    let losses = [0.01, 0.05, 0.1, 0.2, 0.3];
    let runs = in_parallel(&losses, |loss| {
        let loss = loss.to_string();
        let set = [
            ("station.0.count", "1"),
            ("wifi.standard", "802.11n"),
            ("wifi.data_rate", "130Mbps"),
            ("wifi.aggregation.mpdus", "32"),
            ("wifi.frame_error_rate", &loss),
            ("duration", "60s"),
            NO_BEACONS,
        ];
        let result = simulate(&scenario("saturation", &set), 1).result;
        let aggregates = result.cell.air.frames as f64;
        let sent = result.cell.air.mpdus.expect("aggregates are on") as f64;
        let delivered = result.flows[0].goodput_bps * 60.0 / 8.0 / f64::from(IP_BYTES - 28);
        [sent / aggregates, delivered / aggregates]
    });
    let mut table = "loss   simulated       model (frames sent and delivered by an aggregate)\n".to_owned();
    let mut worst = 0.0_f64;
    for (loss, simulated) in losses.into_iter().zip(runs) {
        let model = selective_repeat(32, loss);
        for (simulated, model) in simulated.into_iter().zip(model) {
            worst = worst.max(difference(simulated, model).abs());
        }
        let ([a, b], [c, d]) = (simulated, model);
        table += &format!("{loss:4}  {a:6.2} {b:6.2}  {c:6.2} {d:6.2}\n");
    }
    show(&table);
    assert!(worst < 0.01, "{table}");
}

/// Frames to and from a station at a rate of its own are those of a cell at that rate, and so is everything that follows.
#[test]
fn a_rate_of_a_station_is_that_of_its_frames() {
    let jobs = ["active", "psm", "uapsd"];
    in_parallel(&jobs, |policy| {
        let common = [("policy", *policy), ("duration", "5s"), ("wifi.control_rate", "6Mbps")];
        let of_cell =
            simulate(&scenario("fast-dsl", &[&common[..], &[("wifi.data_rate", "6Mbps")]].concat()), 3);
        let of_station = [("wifi.data_rate", "54Mbps"), ("station.data_rate", "6Mbps")];
        let of_station = simulate(&scenario("fast-dsl", &[&common[..], &of_station].concat()), 3);
        assert_eq!(of_cell.fingerprints.to_string(), of_station.fingerprints.to_string(), "{policy}");
        let joules = [&of_cell, &of_station].map(|run| run.result.stations[0].energy_j);
        assert_eq!(joules[0].to_bits(), joules[1].to_bits(), "{policy}");
    });
}

/// Contention alone, everybody resuming at once: 200 000 accesses of each number of stations.
fn contention_alone(stations: u32, counting: AccessMethod, times: &Times) -> f64 {
    let mut contention = Contention::new(times.slot, counting);
    // The spaces are part of Ts and Tc.
    let access = Access { aifs: Span::ZERO, cw_min: 15, cw_max: 1023 };
    for station in 0..stations {
        let id = contention.add(access, RandomStream::new(1, &format!("station/{station}/backoff")));
        contention.join(id, Instant::ZERO);
    }
    let (mut now, mut winners, mut successes) = (Instant::ZERO, Vec::new(), 0_u64);
    for _ in 0..200_000 {
        now = contention.next_access().expect("all are saturated");
        winners.clear();
        contention.access(now, Span::ZERO, &mut winners);
        let success = winners.len() == 1;
        successes += u64::from(success);
        now += if success { times.success } else { times.collision[1] };
        winners
            .iter()
            .for_each(|id| if success { contention.succeeded(*id) } else { contention.failed(*id) });
        contention.idle_from(now);
        winners.iter().for_each(|id| contention.join_from(*id, now));
    }
    successes as f64 * f64::from(IP_BYTES) * 8.0 / now.as_secs_f64()
}

#[test]
fn contention_by_itself_is_bianchis() {
    let times = times();
    let mut table = "stations  edca      model (Mbit/s)\n".to_owned();
    let mut worst = 0.0_f64;
    for stations in STATIONS {
        let edca = contention_alone(stations, AccessMethod::Edca, &times);
        let model = bianchi(stations, &times, times.collision[1]);
        worst = worst.max(difference(edca, model).abs());
        let percent = 100.0 * difference(edca, model);
        table += &format!("{stations:8} {:8.4} {:8.4} {percent:+.2} %\n", edca / 1e6, model / 1e6);
    }
    show(&table);
    assert!(worst < 0.01, "{table}");
}

/// One station by Jun et al.'s formula, with the PHY's own times.
fn jun(standard: Standard, data: Rate, bytes: u32) -> f64 {
    let timing = standard.timing();
    let format = standard.layout(data).expect("a rate of the PHY");
    let params = max_throughput::Params {
        payload_bytes: f64::from(bytes),
        overhead_bytes: f64::from(MAC_BYTES),
        data_rate_bps: data.as_bps() as f64,
        preamble_s: format.preamble().as_secs_f64(),
        coding_bits: format.fixed_bits() as f64,
        symbol_s: format.symbol().as_secs_f64(),
        difs_s: (timing.sifs + timing.slot * 2).as_secs_f64(),
        sifs_s: timing.sifs.as_secs_f64(),
        slot_s: timing.slot.as_secs_f64(),
        cw_min: timing.cw_min,
        ack_s: frame(standard, standard.control_rate(data), ACK_BYTES).as_secs_f64(),
        rts_cts_s: None,
        propagation_s: 13.3e-9,
    };
    max_throughput::solve(&params).expect("parameters in range").throughput_bps
}

/// Every PHY, its rates and three sizes.
#[test]
fn one_station_has_the_maximum_throughput() {
    let cases: [(Standard, &str, &[&str]); 4] = [
        (Standard::B, "802.11b", &["1Mbps", "2Mbps", "5.5Mbps", "11Mbps"]),
        (Standard::A, "802.11a", &["6Mbps", "24Mbps", "54Mbps"]),
        (Standard::G, "802.11g", &["6Mbps", "24Mbps", "54Mbps"]),
        (Standard::N, "802.11n", &["6.5Mbps", "65Mbps", "130Mbps"]),
    ];
    let mut jobs = Vec::new();
    for (standard, name, rates) in cases {
        for data in rates {
            jobs.extend([100, 576, 1500].map(|bytes| (standard, name, *data, bytes)));
        }
    }
    let simulated = in_parallel(&jobs, |&(standard, name, data, bytes)| {
        let control = format!("{}bps", standard.control_rate(rate(data)).as_bps());
        let mtu = format!("{bytes}B");
        let set = [
            ("wifi.standard", name),
            ("wifi.data_rate", data),
            ("wifi.control_rate", control.as_str()),
            ("tcp.mtu", mtu.as_str()),
            ("station.0.count", "1"),
            ("duration", "120s"),
            NO_BEACONS,
        ];
        simulate(&scenario("saturation", &set), 1).result.flows[0].goodput_bps * per_payload(f64::from(bytes))
    });
    let mut table = "PHY      rate     bytes  here      formula (Mbit/s)\n".to_owned();
    let mut worst = 0.0_f64;
    for (&(standard, name, data, bytes), here) in jobs.iter().zip(simulated) {
        let formula = jun(standard, rate(data), bytes);
        worst = worst.max(difference(here, formula).abs());
        let percent = 100.0 * difference(here, formula);
        table += &format!(
            "{name} {data:>8} {bytes:5}  {:8.4} {:8.4} {percent:+.3} %\n",
            here / 1e6,
            formula / 1e6
        );
    }
    show(&table);
    assert!(worst < 0.005, "{table}");
}

/// The tables of docs/validation.md come from here: `-- --nocapture`.
#[expect(clippy::print_stdout, reason = "a table to be read with --nocapture")]
fn show(table: &str) {
    println!("{table}");
}
