//! Action frames about target wake time, as a capture has them.

use airwatt_base::{Instant, Span};
use airwatt_dot11::{NextTwtBytes, TwtAction, TwtCommand, TwtSetup, WakeDuration, WakeInterval};
use airwatt_proto::powersave::{WakeAgreement, WakeAnswer, WakeFrame, WakeProposal, WakeRequest};

/// The flow identifier: a station has one agreement.
const FLOW: u8 = 0;
const SHORT_UNIT: Span = Span::from_micros(256);
const TIME_UNIT: Span = Span::from_micros(1_024);

/// The action frame that says this. The access point's clock began with the run.
pub(super) fn action(frame: WakeFrame) -> TwtAction {
    match frame {
        WakeFrame::Request { token, proposal: WakeProposal { request, start } } => {
            let command = if start.is_some() { TwtCommand::Demand } else { TwtCommand::Suggest };
            TwtAction::Setup(TwtSetup { request: true, ..setup(token, command, request, start) })
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
            let information_disabled = !information;
            TwtAction::Setup(TwtSetup { information_disabled, ..setup(token, command, request, first) })
        }
        WakeFrame::Teardown => TwtAction::Teardown { flow: Some(FLOW) },
        WakeFrame::Information { next } => TwtAction::Information {
            flow: Some(FLOW),
            response_requested: false,
            next_requested: false,
            next: next.map(|at| (at.as_nanos() / 1_000, NextTwtBytes::Eight)),
        },
    }
}

fn setup(dialog_token: u8, command: TwtCommand, request: WakeRequest, target: Option<Instant>) -> TwtSetup {
    let units = request.duration.whole(SHORT_UNIT);
    let is_short = units <= u64::from(u8::MAX) && SHORT_UNIT * units == request.duration;
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
        duration: if is_short {
            WakeDuration::Short(units as u8)
        } else {
            WakeDuration::TimeUnits(request.duration.whole(TIME_UNIT) as u8)
        },
        interval: WakeInterval::at_most(request.interval),
        channel: 0,
    }
}
