//! Target wake time as a capture has it: action frames, and the schedule in beacons.

use airwatt_base::{Instant, Span};
use airwatt_dot11::{
    NextTwtBytes, TIME_UNIT, TwtAction, TwtCommand, TwtSchedule, TwtSetup, WakeDuration, WakeInterval,
};
use airwatt_proto::powersave::{WakeAgreement, WakeAnswer, WakeFrame, WakeProposal, WakeRequest};

/// The flow identifier: a station has one agreement.
const FLOW: u8 = 0;
const SHORT_UNIT: Span = Span::from_micros(256);

/// The number of the access point's schedule; 0 would be for stations that have not joined.
const SCHEDULE: u8 = 1;
/// It holds until another beacon says otherwise.
const PERSISTENT: u8 = 255;

/// Appends the body of an action frame. The access point's clock began with the run.
pub(super) fn push_action(frame: WakeFrame, out: &mut Vec<u8>) {
    match frame {
        WakeFrame::Request { token, proposal: WakeProposal { request, start } } => {
            let command = if start.is_some() { TwtCommand::Demand } else { TwtCommand::Suggest };
            if request.broadcast {
                return schedule(request, Instant::ZERO).push_set_up(token, command, true, out);
            }
            TwtAction::Setup(TwtSetup { request: true, ..setup(token, command, request, start) }).encode(out);
        }
        WakeFrame::Answer { token, information, answer } => {
            let (command, request, first) = match answer {
                WakeAnswer::Accept(WakeAgreement { request, first }) => {
                    (TwtCommand::Accept, request, Some(first))
                }
                WakeAnswer::Alternate(request) => (TwtCommand::Alternate, request, None),
                WakeAnswer::Dictate(request) => (TwtCommand::Dictate, request, None),
                WakeAnswer::Reject(request) => (TwtCommand::Reject, request, None),
            };
            if request.broadcast {
                return schedule(request, first.unwrap_or_default()).push_set_up(token, command, false, out);
            }
            let information_disabled = !information;
            let answer = TwtSetup { information_disabled, ..setup(token, command, request, first) };
            TwtAction::Setup(answer).encode(out);
        }
        WakeFrame::Teardown { broadcast: true } => TwtSchedule::push_teardown(SCHEDULE, out),
        WakeFrame::Teardown { broadcast: false } => TwtAction::Teardown { flow: Some(FLOW) }.encode(out),
        WakeFrame::Information { next } => TwtAction::Information {
            flow: Some(FLOW),
            response_requested: false,
            next_requested: false,
            next: next.map(|at| (at.as_nanos() / 1_000, NextTwtBytes::Eight)),
        }
        .encode(out),
    }
}

/// Appends the element of a beacon whose first bit is on the air at `at`.
pub(super) fn push_schedule(agreement: WakeAgreement, at: Instant, out: &mut Vec<u8>) {
    schedule(agreement.request, agreement.start_after(at)).push(out);
}

fn schedule(request: WakeRequest, next: Instant) -> TwtSchedule {
    TwtSchedule {
        id: SCHEDULE,
        trigger: request.trigger_enabled,
        unannounced: !request.announced,
        recommendation: 0,
        target: (next.as_nanos() / TIME_UNIT.as_nanos()) as u16,
        duration: duration(request),
        interval: WakeInterval::at_most(request.interval),
        persistence: PERSISTENT,
        restricted: false,
    }
}

fn duration(request: WakeRequest) -> WakeDuration {
    let units = request.duration.whole(SHORT_UNIT);
    if units <= u64::from(u8::MAX) && SHORT_UNIT * units == request.duration {
        WakeDuration::Short(units as u8)
    } else {
        WakeDuration::TimeUnits(request.duration.whole(TIME_UNIT) as u8)
    }
}

fn setup(dialog_token: u8, command: TwtCommand, request: WakeRequest, target: Option<Instant>) -> TwtSetup {
    TwtSetup {
        dialog_token,
        request: false,
        command,
        trigger: request.trigger_enabled,
        implicit: true,
        unannounced: !request.announced,
        flow: FLOW,
        protection: false,
        // No station here takes them.
        information_disabled: true,
        target_us: target.map(|at| at.as_nanos() / 1_000),
        duration: duration(request),
        interval: WakeInterval::at_most(request.interval),
        channel: 0,
    }
}
