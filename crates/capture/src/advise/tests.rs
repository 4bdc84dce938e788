use std::collections::BTreeSet;

use airwatt_base::{Power, Span};
use airwatt_energy::{Radio, Transition};
use airwatt_proto::powersave::PowerSaveConfig;
use airwatt_sim::scenario::Scenario;

use super::choice::{AdviceVerdict, Decision, Figures, Row};
use super::measured::{SettingChange, added_delays};
use super::{Asked, Candidate, CapturedTraffic, ModelPlan, ModelQuestion, Modelled, model_radio};
use crate::report::{CellReport, GapReport, PaceReport};

fn figures(energy_j: f64, delay_s: f64) -> Figures {
    Figures {
        energy_j,
        energy_ci95_j: None,
        power_w: energy_j,
        delay_s,
        goodput_bps: None,
        delay_p95_s: None,
    }
}

/// A row with energy and delay by the model, and by a run.
fn row(model: Option<(f64, f64)>, energy_j: f64, delay_s: f64) -> Row {
    let model = model.map(|(energy_j, delay_s)| Modelled {
        energy_j,
        power_w: energy_j,
        delay_s,
        delay_p95_s: delay_s,
        goodput_bps: None,
    });
    Row { model, simulation: Some(figures(energy_j, delay_s)), is_out_of_reach: false }
}

#[test]
fn candidates_are_each_policy_with_its_settings_once() {
    let all = Candidate::all();
    assert!(all.iter().enumerate().all(|(index, one)| !all[..index].contains(one)));
    assert!(all.iter().all(|one| one.policy != "ideal"));
    // Seven times, each with three listen intervals too. The longest are those of drivers that stay awake while somebody types.
    let timeouts = || all.iter().filter(|one| one.policy == "timeout");
    assert_eq!(
        (timeouts().count(), timeouts().filter(|one| one.listen_interval.is_some()).count()),
        (28, 21)
    );
    let longest = timeouts().filter_map(|one| one.setting).map(|(_, value)| value).max();
    assert_eq!(longest, Some(Span::from_secs(2)));
    assert_eq!(all.iter().filter(|one| one.policy == "uapsd").count(), 5);
}

#[test]
fn every_policy_is_a_candidate_with_settings_that_it_has() {
    let all = Candidate::all();
    for kind in PowerSaveConfig::KINDS {
        assert!(all.iter().any(|one| one.policy == kind.name), "{}", kind.name);
    }
    for Candidate { policy, setting, .. } in all {
        let text = match setting {
            Some((key, value)) => format!("{policy}:{key}={value}"),
            None => policy.to_owned(),
        };
        let read: PowerSaveConfig = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.name(), policy);
    }
}

#[test]
fn the_least_energy_within_the_budget_is_taken() {
    let rows = [
        row(None, 3.0, 0.0),
        row(None, 1.0, 0.05),
        row(None, 2.0, 0.01),
        row(None, 2.0, 0.01),
        Row::default(),
    ];
    let choice = Decision::between(&rows, 0.02);
    assert_eq!((choice.ranked, choice.alike, choice.runner_up), (vec![2, 3, 0], vec![3], Some(0)));
    assert_eq!(choice.curve, [(0.0, 0), (0.01, 2), (0.05, 1)]);
    // A frame and its acknowledgement take longer than the delay that a budget of zero excludes.
    assert_eq!(Decision::between(&[row(None, 1.0, 0.000_09)], 0.0).ranked, [0]);
    assert_eq!(Decision::between(&[row(None, 1.0, 0.000_11)], 0.0).ranked, [0; 0]);
}

/// A timeout that some pauses exceed delays few answers, and these for long: its mean is within a budget that its 95th percentile is not.
#[test]
fn the_slow_answers_decide_and_each_row_says_why() {
    let slow = |energy_j, delay_s, p95_s| Row {
        simulation: Some(Figures { delay_p95_s: Some(p95_s), ..figures(energy_j, delay_s) }),
        ..Row::default()
    };
    let unset = Row { is_out_of_reach: true, ..slow(1.0, 0.0, 0.0) };
    let rows = [slow(2.0, 0.007, 0.064), slow(4.0, 0.001, 0.006), slow(5.0, 0.0, 0.0), unset, Row::default()];
    let choice = Decision::between(&rows, 0.03);
    assert_eq!(choice.ranked, [1, 2, 3]);
    assert_eq!(choice.curve, [(0.0, 3)]);
    let [late, taken, dearer, out_of_reach, not_run] = choice.verdicts[..] else {
        panic!("a verdict for each row")
    };
    assert!(matches!(late, Some(AdviceVerdict::Late { over_s }) if (over_s - 0.034).abs() < 1e-12));
    assert_eq!(
        (taken, out_of_reach, not_run),
        (Some(AdviceVerdict::Taken), Some(AdviceVerdict::OutOfReach), None)
    );
    assert_eq!(dearer, Some(AdviceVerdict::SpendsMore { more_j: 1.0, share: Some(0.25) }));
    assert_eq!(Decision::between(&rows, 0.1).verdicts[0], Some(AdviceVerdict::Taken));
    let beside = Figures { delay_p95_s: Some(0.064), ..figures(1.0, 0.007) };
    assert!(!SettingChange::between(&figures(2.0, 0.0), &beside, 0.03).is_advised);
}

#[test]
fn a_difference_within_the_intervals_is_chance() {
    let with = |energy_j, ci95| Row {
        model: None,
        simulation: Some(Figures { energy_ci95_j: ci95, ..figures(energy_j, 0.0) }),
        is_out_of_reach: false,
    };
    assert!(Decision::between(&[with(1.0, Some(0.1)), with(1.15, Some(0.1))], 1.0).within_chance);
    assert!(!Decision::between(&[with(1.0, Some(0.1)), with(1.25, Some(0.1))], 1.0).within_chance);
    assert!(!Decision::between(&[with(1.0, None), with(1.15, Some(0.1))], 1.0).within_chance);
}

#[test]
fn models_that_are_far_off_disagree() {
    let rows = [
        row(Some((1.2, 0.0)), 1.0, 0.0),
        row(Some((1.3, 0.0)), 1.0, 0.0),
        row(Some((1.0, 0.006)), 1.0, 0.02),
        row(Some((1.0, 0.006)), 1.0, 0.0),
        row(None, 1.0, 0.0),
    ];
    let choice = Decision::between(&rows, 0.01);
    assert_eq!((choice.disagreements, choice.late), (vec![1], vec![2, 3]));
    assert_eq!(choice.model_errors[4], None);
    assert_eq!(choice.models_choice, Some(2));
}

#[test]
fn no_policy_is_left_out_of_the_runs() {
    let scenario =
        Scenario::load("fast-dsl", &[("flow.application.size".to_owned(), "1MB".to_owned())]).unwrap();
    let plan = ModelPlan::of_scenario(&scenario, question(0.02));
    assert!(plan.tunnel.is_some());
    for asked in &plan.candidates {
        let policy = asked.candidate.policy;
        assert!(asked.model.is_none() <= asked.confirm);
        assert!(
            plan.candidates.iter().any(|other| other.candidate.policy == policy && other.confirm),
            "{policy}"
        );
    }
    assert!(plan.candidates.iter().any(|asked| !asked.confirm));
    let two = Scenario::load("fast-dsl", &[("station.count".to_owned(), "2".to_owned())]).unwrap();
    assert!(
        ModelPlan::of_scenario(&two, question(0.02)).candidates.iter().all(|asked| asked.model.is_none())
    );
}

/// Traffic of a capture: 100 packets down, each after a second of silence.
fn sparse(cell: CellReport) -> CapturedTraffic {
    let gaps = vec![(Span::from_secs(1), true); 100];
    let pace = PaceReport {
        elapsed_s: 100.0,
        packets_down: 100,
        packets_up: 0,
        gaps: GapReport::of(&gaps),
        gaps_up: Vec::new(),
    };
    CapturedTraffic { radio: "esp32-c3".to_owned(), pace, cell, transmit_s: 0.0, receive_s: 0.0 }
}

const fn usual_cell() -> CellReport {
    CellReport {
        beacon_interval_s: 0.1024,
        beacon_rate_bps: 1e6,
        beacon_bytes: 143,
        data_rate_bps: 65e6,
        listen_interval: 1,
        dtim_period: 1,
    }
}

#[test]
fn models_of_captured_traffic_follow_the_cell() {
    let usual = usual_cell();
    let psm = |cell| {
        let plan = ModelPlan::of_capture(&sparse(cell), question(1.0));
        let is_psm =
            |asked: &&Asked| asked.candidate.policy == "psm" && asked.candidate.listen_interval.is_none();
        plan.candidates.iter().find(is_psm).and_then(|asked| asked.model).expect("psm has a model")
    };
    let (once, rarely) = (psm(usual), psm(CellReport { beacon_interval_s: 0.3072, ..usual }));
    assert!((once.delay_s - 0.0512).abs() < 1e-9 && (rarely.delay_s - 0.1536).abs() < 1e-9);
    assert!(rarely.energy_j < once.energy_j);
    let skipping = psm(CellReport { listen_interval: 3, ..usual });
    assert!((skipping.delay_s - rarely.delay_s).abs() < 1e-9);
    assert!((skipping.energy_j / rarely.energy_j - 1.0).abs() < 0.01);
    let fast = psm(CellReport { beacon_rate_bps: 6e6, ..usual });
    assert!(fast.energy_j < 0.9 * once.energy_j, "{} of {} J", fast.energy_j, once.energy_j);
}

/// A trigger each 40 ms has a mean within 20 ms and spends less than one each 20 ms, but packets wait for up to 40 ms.
#[test]
fn what_is_run_is_chosen_by_the_delay_that_is_judged() {
    let mut captured = sparse(usual_cell());
    captured.pace.gaps_up.clone_from(&captured.pace.gaps);
    let plan = ModelPlan::of_capture(&captured, question(0.02));
    let uapsd = |millis| {
        let setting = Some(("interval", Span::from_millis(millis)));
        let is_it = |asked: &&Asked| asked.candidate.policy == "uapsd" && asked.candidate.setting == setting;
        plan.candidates.iter().find(is_it).expect("each interval is a candidate")
    };
    let delays = |millis| uapsd(millis).model.map(|model| (model.delay_s, model.delay_p95_s)).unwrap();
    let (mean_s, p95_s) = delays(40);
    assert!((mean_s - 0.02).abs() < 1e-9 && (p95_s - 0.038).abs() < 1e-9, "{mean_s} {p95_s}");
    assert!((delays(20).1 - 0.019).abs() < 1e-9);
    assert!(uapsd(20).confirm && uapsd(20).model.unwrap().energy_j > uapsd(40).model.unwrap().energy_j);
}

/// Of packets of which one in twenty waits the 95th percentile is none; of all, nearly the longest wait.
#[test]
fn the_modelled_percentile_follows_the_share_of_packets_that_wait() {
    let p95_s = |packets_up| {
        let mut captured = sparse(usual_cell());
        captured.pace.packets_up = packets_up;
        let plan = ModelPlan::of_capture(&captured, question(1.0));
        plan.candidates
            .iter()
            .find(|asked| asked.candidate.policy == "psm")
            .unwrap()
            .model
            .unwrap()
            .delay_p95_s
    };
    assert!((p95_s(0) - 0.95 * 0.1024).abs() < 1e-9);
    assert!((p95_s(100) - 0.9 * 0.1024).abs() < 1e-9);
    assert_eq!(p95_s(1_900), 0.0);
}

/// A radio of the models has the powers of the profile; a transition without time costs nothing, and another one its mean power.
#[test]
fn a_profile_is_a_radio_of_the_models() {
    let profile = Radio::find("esp32").unwrap();
    let radio = model_radio(&profile);
    let powers = [radio.transmit_w, radio.receive_w, radio.listen_w, radio.sleep_w];
    let expected = [profile.transmit, profile.receive, profile.listen, profile.sleep].map(Power::as_watts);
    assert_eq!(powers, expected);
    assert!(expected[0] > expected[3] && expected[3] > 0.0);
    for (change, seconds, watts) in [
        (profile.to_sleep, radio.to_sleep_s, radio.to_sleep_w),
        (profile.wake_up, radio.wake_up_s, radio.wake_up_w),
    ] {
        assert_eq!(seconds, change.time.as_secs_f64());
        assert!((watts * seconds - change.energy().as_joules()).abs() < 1e-15);
    }
    let at_once = Transition { time: Span::ZERO, ..profile.wake_up };
    let radio = model_radio(&Radio { wake_up: at_once, ..profile });
    assert_eq!((radio.wake_up_s, radio.wake_up_w), (0.0, 0.0));
}

const fn question(budget_s: f64) -> ModelQuestion {
    ModelQuestion { budget_s, confirm: 1, tries_listen_intervals: true, tries_wake_times: false }
}

#[test]
fn what_the_caller_sets_is_not_tried_and_the_models_best_are_run() {
    let count = |scenario: &Scenario, question| {
        let plan = ModelPlan::of_scenario(scenario, question);
        let skipping = plan.candidates.iter().filter(|asked| asked.candidate.listen_interval.is_some());
        (skipping.count(), plan.candidates.iter().all(|asked| asked.confirm))
    };
    let idle = Scenario::load("idle", &[]).unwrap();
    assert!(count(&idle, question(1.0)).0 > 0);
    let set = ModelQuestion { tries_listen_intervals: false, ..question(1.0) };
    assert_eq!(count(&idle, set).0, 0);
    // Of what the models describe, only the best are run.
    let download = Scenario::load("fast-dsl", &[]).unwrap();
    assert!(!count(&download, question(1.0)).1);
}

/// Listen intervals are tried beyond what a station receives anyway, of a scenario as of a capture: with DTIM beacons alone, one in so
/// many. Then that of each beacon is, too.
#[test]
fn listen_intervals_beyond_the_dtim_period_are_tried() {
    let intervals = |plan: ModelPlan| -> BTreeSet<u32> {
        plan.candidates.iter().filter_map(|asked| asked.candidate.listen_interval).collect()
    };
    let of_scenario = |dtim_period: u8, radio: &str| {
        let keys = [("station.radio", radio.to_owned()), ("ap.dtim_period", dtim_period.to_string())];
        let scenario = Scenario::load("idle", &keys.map(|(key, value)| (key.to_owned(), value))).unwrap();
        intervals(ModelPlan::of_scenario(&scenario, question(1.0)))
    };
    let of_capture = |listen_interval| {
        let cell = CellReport { listen_interval, ..usual_cell() };
        intervals(ModelPlan::of_capture(&sparse(cell), question(1.0)))
    };
    for (dtim_period, expected) in [(1, vec![3, 10]), (2, vec![1, 3, 10]), (3, vec![1, 10]), (10, vec![1])] {
        let expected = BTreeSet::from_iter(expected);
        for radio in ["esp32-c3", "broadcom-4311"] {
            assert_eq!(of_scenario(dtim_period, radio), expected, "{radio}, DTIM {dtim_period}");
        }
        assert_eq!(of_capture(u32::from(dtim_period)), expected, "DTIM {dtim_period}");
    }
}

#[test]
fn the_delay_is_that_of_the_flow_that_suffers_most_seed_by_seed() {
    let awake = [vec![Some(0.1), Some(0.5), None], vec![Some(0.2), Some(0.7), None]];
    let with = [vec![Some(0.13), Some(0.51), Some(9.0)], vec![Some(0.25), None, Some(9.0)]];
    let added = added_delays(&with, &awake).unwrap();
    assert_eq!(added.len(), 2);
    assert!((added[0] - 0.03).abs() < 1e-12 && (added[1] - 0.05).abs() < 1e-12);
    assert_eq!(added_delays(&[vec![None]], &[vec![Some(1.0)]]), None);
    assert_eq!(added_delays(&[vec![]], &[vec![]]), None);
}

#[test]
fn a_setting_beside_is_advised_if_it_saves_more_than_chance_within_the_budget() {
    let alone = Figures { energy_ci95_j: Some(0.01), ..figures(1.0, 0.01) };
    let change = |energy_j, delay_s| SettingChange::between(&alone, &figures(energy_j, delay_s), 0.02);
    assert!(change(0.97, 0.01).is_advised);
    assert!(!change(0.985, 0.01).is_advised, "less than 2 %");
    assert!(!change(0.97, 0.03).is_advised, "over the budget");
    let wide = Figures { energy_ci95_j: Some(0.05), ..figures(0.97, 0.01) };
    assert!(!SettingChange::between(&alone, &wide, 0.02).is_advised, "within chance");
    assert!(!change(1.0, 0.01).has_effect && change(1.0, 0.02).has_effect);
    assert!((change(0.9, 0.01).share + 0.1).abs() < 1e-12);
}

/// What no setting of the chip's platform gives is no advice, however little it spends, unless there is nothing else.
#[test]
fn what_is_out_of_reach_is_no_advice() {
    let cheap = Row { is_out_of_reach: true, ..row(None, 1.0, 0.01) };
    let rows = [cheap, row(None, 3.0, 0.01), row(None, 2.0, 0.01)];
    let decision = Decision::between(&rows, 0.1);
    assert_eq!((decision.ranked, decision.runner_up), (vec![2, 1, 0], Some(1)));
    let alone = Decision::between(&[cheap, Row { is_out_of_reach: true, ..row(None, 2.0, 0.01) }], 0.1);
    assert_eq!((alone.ranked, alone.runner_up), (vec![0, 1], Some(1)));
}

/// A target wake time is tried where both sides can have one, and nowhere else.
#[test]
fn wake_times_are_tried_where_both_sides_have_them() {
    let question = |tries_wake_times| ModelQuestion { tries_wake_times, ..question(0.1) };
    let scenario = Scenario::load("idle", &[]).unwrap();
    let intervals = |tries| {
        let plan = ModelPlan::of_scenario(&scenario, question(tries));
        plan.candidates.iter().filter(|asked| asked.candidate.policy == "twt").count()
    };
    assert_eq!((intervals(false), intervals(true)), (0, 4));
}

/// Above a long round trip a timeout is tried that outlasts it by little: 1 s took more than twice the energy of 220 ms for the same delay.
#[test]
fn a_timeout_just_above_a_long_round_trip_is_tried() {
    let timeouts = |rtt: &str| -> BTreeSet<Span> {
        let keys = [("wired.rtt".to_owned(), rtt.to_owned())];
        let plan = ModelPlan::of_scenario(&Scenario::load("sensor", &keys).unwrap(), question(1.0));
        let tried = plan.candidates.iter().filter(|asked| asked.candidate.policy == "timeout");
        tried.filter_map(|asked| Some(asked.candidate.setting?.1)).collect()
    };
    let usual = timeouts("20ms");
    assert_eq!(timeouts("100ms"), usual);
    for (rtt, beside) in [("200ms", 220), ("250ms", 280), ("333ms", 370)] {
        let expected: BTreeSet<Span> = usual.iter().copied().chain([Span::from_millis(beside)]).collect();
        assert_eq!(timeouts(rtt), expected, "{rtt}");
    }
}
