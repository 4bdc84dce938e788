//! The simulator's cell as the medium of a kernel's simulated Wi-Fi radios (mac80211_hwsim): real access points, stations, TCP
//! and programs over the air of a scenario.
//!
//! The MAC above contention is the kernel's: association, power-save buffers, TIM, PM bits, U-APSD. Rates, air time, contention,
//! retransmissions, losses and the energy of each radio are the simulator's ([`air`]). One document is printed for each SIGHUP,
//! and one at the end (SIGTERM): what each radio did since the beginning.
//!
//! The clock is that of the kernel. In a user-mode kernel in virtual time the work of this program takes no time; elsewhere
//! its lateness adds to delays.

mod air;
mod power;

use std::io::Write as _;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Rate};
use airwatt_linux::Error;
use airwatt_linux::driver::{self, MachineHost};
use airwatt_linux::event_loop::{EventLoop, Interest, ReadySource, Token};
use airwatt_linux::hwsim::{Hwsim, RadioAddress, SentFrame};
use airwatt_linux::signals::{Signal, Signals};
use airwatt_sim::net::{MediumKind, NetworkPlan};
use airwatt_sim::scenario::Checked;
use tracing::warn;

use self::air::{Air, Output};
use crate::EmulateError;

const FRAMES: Token = Token(0);
const SIGNALS: Token = Token(1);
/// Where the kernel lists its simulated radios.
const RADIOS: &str = "/sys/class/mac80211_hwsim";
/// Signal of every frame if the scenario has no distances.
const SIGNAL_DBM: i32 = -40;

/// The program between the radios.
struct Medium {
    hwsim: Hwsim,
    signals: Signals,
    data_rate: Rate,
    signal_dbm: i32,
    /// Whether a report is asked for.
    asked: bool,
}

impl MachineHost<Air> for Medium {
    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<SentFrame>) -> Result<ControlFlow<()>, Error> {
        if ready.token == FRAMES {
            match self.hwsim.read()? {
                Some(frames) => inputs.extend(frames),
                None => warn!("frames were lost: the kernel had no room for them"),
            }
            return Ok(ControlFlow::Continue(()));
        }
        let signal = self.signals.read()?;
        self.asked |= signal.is_some();
        Ok(if signal == Some(Signal::Terminate) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn carry_out(&mut self, output: Output, _now: Instant) -> Result<(), Error> {
        let rate = self.data_rate.as_bps();
        match output {
            Output::Deliver { to, frame } => self.hwsim.deliver(to, &frame, rate, self.signal_dbm),
            Output::Report { frame, acknowledged, attempts } => {
                self.hwsim.report(&frame, acknowledged, attempts, rate, self.signal_dbm)
            }
        }
    }

    fn settle(&mut self, air: &mut Air, now: Instant) -> Result<(), Error> {
        if std::mem::take(&mut self.asked) {
            let report = serde_json::to_string(&air.report(now)).expect("numbers and texts");
            let mut out = std::io::stdout().lock();
            writeln!(out, "{report}")
                .and_then(|()| out.flush())
                .map_err(|error| Error::new("standard output", error))?;
        }
        Ok(())
    }
}

/// Is the medium of this kernel's simulated radios until SIGTERM. The cell and its stations' radio are the first of the
/// scenario.
///
/// # Errors
/// If the scenario has no cell, or the kernel has no simulated radios or another medium between them.
pub fn be_the_medium(scenario: &Checked, seed: u64) -> Result<(), EmulateError> {
    let plan = NetworkPlan::new(&scenario.ready().map_err(EmulateError::Input)?, seed);
    let bss = plan.media.into_iter().find_map(|medium| match medium.kind {
        MediumKind::Cell(bsss) => bsss.into_iter().find(|bss| !bss.stations.is_empty()),
        _ => None,
    });
    let bss = bss.ok_or_else(|| {
        EmulateError::Input(format!("{}: expected a cell with a station, got none", scenario.name))
    })?;
    if !bss.hidden.is_empty() {
        let refused = "station.hidden_from has no effect between simulated radios of the kernel: all of them hear each other";
        return Err(EmulateError::Input(format!("{}: {refused}", scenario.name)));
    }
    let missing =
        || EmulateError::Failed("this kernel has no simulated Wi-Fi radios (mac80211_hwsim)".to_owned());
    let signals = Signals::take()?;
    let hwsim = Hwsim::open()?.ok_or_else(missing)?;
    let radios = radios();
    if radios.is_empty() {
        return Err(missing());
    }
    let station = &bss.stations[0];
    let mut air = Air::new(&bss.config, station, &radios, seed);
    let signal_dbm = station.signal_dbm.map_or(SIGNAL_DBM, |dbm| dbm as i32);
    let data_rate = bss.config.data.rate();
    let mut events = EventLoop::new()?;
    events.add(&hwsim, FRAMES, Interest::Read)?;
    events.add(&signals, SIGNALS, Interest::Read)?;
    let mut medium = Medium { hwsim, signals, data_rate, signal_dbm, asked: false };
    Ok(driver::run(&mut air, &mut medium, &mut events)?)
}

/// The radios of this kernel. Their addresses are 42:00:00:00:NN:00 in the order of their numbers.
fn radios() -> Vec<RadioAddress> {
    let count = std::fs::read_dir(RADIOS).map_or(0, |entries| entries.flatten().count());
    (0..count).map(|number| [0x42, 0, 0, (number >> 8) as u8, number as u8, 0]).collect()
}
