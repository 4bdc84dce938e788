//! The cell keeps the machine contract, and contention gives the access times that the standard does.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Span, Stream};

use super::contention::{Access, Contention, Counting};
use super::{Cell, CellInput, CellOutput};
use crate::net::packet::{Packet, Payload};
use crate::net::{MediumKind, Plan};
use crate::scenario::Scenario;

const SLOT: Span = Span::from_micros(9);
const DIFS: Span = Span::from_micros(34);

fn access(cw_min: u32) -> Access {
    Access { aifs: DIFS, cw_min, cw_max: 1023 }
}

fn us(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn winners(contention: &mut Contention) -> (Instant, Vec<u32>) {
    let at = contention.next_access().expect("somebody waits");
    let mut winners = Vec::new();
    contention.access(at, Span::ZERO, &mut winners);
    (at, winners)
}

/// ```text
/// idle since 0      frame arrives at 100 us
/// |----DIFS----|--|--|--|--|--|--|--|--X the next boundary: 34 + 8 slots = 106 us
/// ```
#[test]
fn a_frame_on_an_idle_medium_goes_out_at_the_next_slot_boundary() {
    let mut contention = Contention::new(SLOT, Counting::Edca);
    let station = contention.add(access(15), Stream::new(1, "a"));
    contention.join(station, us(100));
    assert_eq!(winners(&mut contention), (us(106), vec![station]));
}

#[test]
fn a_frame_during_a_busy_medium_backs_off() {
    let mut contention = Contention::new(SLOT, Counting::Edca);
    let sender = contention.add(access(15), Stream::new(1, "a"));
    let late = contention.add(access(15), Stream::new(1, "late"));
    contention.join(sender, us(0));
    winners(&mut contention);
    contention.join(late, us(50));
    contention.idle_from(us(1_000));
    let backoff = u64::from(Stream::new(1, "late").below(16));
    assert_eq!(winners(&mut contention), (us(1_034 + 9 * backoff), vec![late]));
}

/// The slot in which another station begins to send counts for EDCA and not for DCF.
#[test]
fn backoffs_freeze_while_the_medium_is_busy() {
    for (counting, left) in [(Counting::Edca, 2), (Counting::Dcf, 3)] {
        let mut contention = Contention::new(SLOT, counting);
        let frozen = contention.add(Access { cw_min: 0, ..access(0) }, Stream::new(1, "frozen"));
        let other = contention.add(access(15), Stream::new(1, "other"));
        // Boundary 5 for the one, boundary 2 for the other.
        contention.join(frozen, us(34 + 5 * 9));
        contention.join(other, us(34 + 2 * 9));
        assert_eq!(winners(&mut contention), (us(34 + 2 * 9), vec![other]));
        contention.idle_from(us(1_000));
        assert_eq!(winners(&mut contention), (us(1_034 + 9 * left), vec![frozen]), "{counting:?}");
    }
}

#[test]
fn equal_boundaries_collide() {
    let mut contention = Contention::new(SLOT, Counting::Edca);
    let stations: Vec<u32> = (0..3).map(|n| contention.add(access(15), Stream::new(n, "s"))).collect();
    contention.join(stations[0], us(200));
    contention.join(stations[2], us(201));
    contention.join(stations[1], us(500));
    let (_, both) = winners(&mut contention);
    assert_eq!(both, [stations[0], stations[2]]);
}

/// A backoff that is drawn after a success runs although there is nothing to send, and costs no event.
#[test]
fn post_backoff_runs_without_a_frame() {
    let mut contention = Contention::new(SLOT, Counting::Edca);
    let station = contention.add(access(15), Stream::new(3, "post"));
    contention.join(station, us(0));
    winners(&mut contention);
    contention.succeeded(station);
    contention.idle_from(us(1_000));
    assert_eq!(contention.next_access(), None);
    let backoff = u64::from(Stream::new(3, "post").below(16));
    let mut early = contention.clone();
    early.join(station, us(1_010));
    assert_eq!(winners(&mut early).0, us(1_034 + 9 * backoff), "before it is over it holds");
    contention.join(station, us(5_000));
    let (at, _) = winners(&mut contention);
    assert!(at >= us(5_000) && at < us(5_000) + SLOT, "after it is over it does not");
}

#[test]
fn windows_double_up_to_the_largest_and_a_success_resets_them() {
    let mut contention = Contention::new(SLOT, Counting::Edca);
    let station = contention.add(Access { cw_max: 63, ..access(15) }, Stream::new(5, "w"));
    let mut longest = |failures: u32| {
        (0..300)
            .map(|_| {
                contention.succeeded(station);
                (0..failures).for_each(|_| contention.failed(station));
                contention.join(station, us(0));
                contention.idle_from(us(0));
                let at = contention.next_access().unwrap();
                contention.access(at, Span::ZERO, &mut Vec::new());
                (at - us(34)).whole(SLOT)
            })
            .max()
    };
    assert_eq!([longest(0), longest(1), longest(2), longest(5)], [Some(15), Some(31), Some(63), Some(63)]);
}

fn cell(policies: &[&str], set: &[(&str, &str)]) -> Cell {
    let stations: Vec<String> = policies
        .iter()
        .map(|policy| format!("[[station]]\npolicy = {policy:?}\nradio = \"ar5004\"\n"))
        .collect();
    let text = format!(
        "wifi = \"fast-wifi\"\nduration = \"1s\"\n[wired]\nrtt = \"0ms\"\ndown = {{ rate = \"1Gbps\" }}\n\
         up = {{ rate = \"1Gbps\" }}\n{}[[flow]]\ndirection = \"down\"\n",
        stations.concat()
    );
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::from_text(&text, "cell", &set).unwrap();
    let mut plan = Plan::new(&scenario, 1).unwrap();
    let MediumKind::Cell(cell, stations) = plan.media.swap_remove(0).kind else {
        unreachable!("the scenario has [wifi]")
    };
    Cell::new(*cell, stations, 1)
}

/// Packets both ways at random times, several at once now and then.
fn traffic(stations: u32, packets: u64) -> Vec<(Instant, CellInput)> {
    let mut random = Stream::new(9, "traffic");
    let mut at = Instant::ZERO;
    (0..packets as u32)
        .map(|number| {
            if !random.chance(0.4) {
                at += Span::from_secs_f64(random.exponential(0.003));
            }
            let station = random.below(stations);
            let bytes = 40 + random.below(1_461);
            let packet = Packet::datagram(number, bytes, at);
            let down = random.chance(0.6);
            (at, if down { CellInput::Down { station, packet } } else { CellInput::Up { station, packet } })
        })
        .collect()
}

#[test]
fn the_cell_keeps_the_machine_contract() {
    let every = ["active", "timeout", "psm", "psm-legacy", "uapsd"];
    for set in [
        &[][..],
        &[("wifi.frame_error_rate", "0.3"), ("wifi.txop", "0ms")],
        &[("wifi.frame_error_rate", "0.7"), ("wifi.retry_limit", "1")],
        &[("wifi.station_rts_threshold", "100B"), ("wifi.ap_rts_threshold", "500B"), ("wifi.access", "dcf")],
        &[("ap.buffer", "3packets"), ("ap.power_save_buffer", "2packets"), ("station.distance", "2km")],
        &[("ap.queue", "fq-codel"), ("ap.buffer", "5packets")],
        &[("ap.priority", "true"), ("ap.queue", "fq-codel"), ("wifi.access", "dcf")],
        &[("wifi.path_loss.capture_db", "0"), ("station.distance", "12m"), ("wifi.data_rate", "65Mbps")],
    ] {
        let inputs = traffic(every.len() as u32, 800);
        let done = check_machine(|| cell(&every, set), &inputs, Instant::from_secs(300));
        assert_accounted(&done, inputs.len(), set);
    }
}

/// No packet is invented, doubled or forgotten: each one arrives or is reported lost, once.
fn assert_accounted(done: &[(Instant, CellOutput)], sent: usize, set: &[(&str, &str)]) {
    let mut seen = vec![0; sent];
    for (_, output) in done {
        let (CellOutput::ToStation { packet, .. }
        | CellOutput::ToWire { packet, .. }
        | CellOutput::Lost { packet, .. }) = output
        else {
            continue;
        };
        if let Payload::Datagram(number) = packet.payload {
            seen[number as usize] += 1;
        }
    }
    let wrong: Vec<_> = seen.iter().enumerate().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "packets seen other than once with {set:?}: {wrong:?}");
}

#[test]
fn ledgers_add_up_at_any_time() {
    let every = ["active", "timeout", "psm", "psm-legacy", "uapsd"];
    let mut cell = cell(&every, &[("wifi.frame_error_rate", "0.2")]);
    use airwatt_base::Machine;
    for (at, input) in traffic(every.len() as u32, 500) {
        while cell.poll_timeout().is_some_and(|t| t.at <= at) {
            let due = cell.poll_timeout().unwrap().at;
            cell.handle_timeout(due);
            while cell.poll_output().is_some() {}
        }
        cell.handle_input(input, at);
        while cell.poll_output().is_some() {}
        let mut copy = cell.clone();
        let end = copy.finish(at);
        assert!(end - at < Span::from_millis(10), "a radio is never far ahead of the clock");
        (0..every.len() as u32).for_each(|id| copy.ledger(id).check(end));
    }
}
