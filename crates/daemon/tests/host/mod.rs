//! The C form, called through its C interface.
#![allow(unsafe_code, reason = "the functions of bpf/ackloss.h are C")]

/// `struct ackloss_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Config {
    pub(crate) threshold: u32,
    pub(crate) fixed_b: u32,
    pub(crate) beta_shift: u8,
    pub(crate) listing: u8,
    pub(crate) stretch: u8,
    pub(crate) regular_sixteenths: u8,
    pub(crate) single_sixteenths: u8,
    pub(crate) spare: [u8; 3],
    pub(crate) build: u64,
}

/// `struct ackloss_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct State {
    una: u32,
    round_end: u32,
    recover: u32,
    smoothed: u32,
    first: u32,
    losses: u32,
    gaps: u32,
    halvings: u32,
    count: u16,
    seen: u16,
    regular: u16,
    single: u16,
    proven: u16,
    early: u8,
    flags: u8,
}

unsafe extern "C" {
    fn ackloss_host_state_size() -> u32;
    fn ackloss_host_config_size() -> u32;
    fn ackloss_host_init(state: *mut State, una: u32);
    fn ackloss_host_on_ack(
        state: *mut State,
        config: *const Config,
        to: u32,
        sent: u32,
        mss: u32,
        duplicates: u32,
        evidence: u32,
    ) -> i32;
    fn ackloss_host_on_data_loss(state: *mut State, sent: u32);
    fn ackloss_host_on_timeout(state: *mut State, sent: u32);
    fn ackloss_host_b(state: *const State, config: *const Config) -> u32;
    fn ackloss_host_evidence(first: u32, last: u32, echo: u32) -> u32;
}

/// A detector in C.
pub(crate) struct Detector {
    state: State,
    config: Config,
}

impl Detector {
    pub(crate) fn new(config: Config, una: u32) -> Self {
        // SAFETY: these read nothing but constants.
        let sizes = unsafe { (ackloss_host_state_size() as usize, ackloss_host_config_size() as usize) };
        assert_eq!(sizes, (size_of::<State>(), size_of::<Config>()), "the structures have one form");
        let mut state = State::default();
        // SAFETY: the pointer is to a whole state of the form just checked.
        unsafe { ackloss_host_init(&mut state, una) };
        Self { state, config }
    }

    pub(crate) fn on_ack(&mut self, to: u32, sent: u32, mss: u32, duplicates: u32, evidence: u32) -> bool {
        // SAFETY: as in `new`; the configuration is only read, and neither pointer is kept.
        unsafe {
            ackloss_host_on_ack(&mut self.state, &self.config, to, sent, mss, duplicates, evidence) != 0
        }
    }

    pub(crate) fn on_data_loss(&mut self, sent: u32) {
        // SAFETY: as in `new`.
        unsafe { ackloss_host_on_data_loss(&mut self.state, sent) };
    }

    pub(crate) fn on_timeout(&mut self, sent: u32) {
        // SAFETY: as in `new`.
        unsafe { ackloss_host_on_timeout(&mut self.state, sent) };
    }

    /// In the order of the vectors' columns, and the halvings behind them.
    pub(crate) fn columns(&self) -> [u64; 14] {
        let State { smoothed, count, flags, round_end, recover, regular, single, proven, .. } = self.state;
        let State { losses, gaps, halvings, .. } = self.state;
        // SAFETY: as in `on_ack`.
        let b = unsafe { ackloss_host_b(&self.state, &self.config) };
        let bit = |bit: u8| u64::from(flags & bit != 0);
        [
            u64::from(smoothed),
            u64::from(b),
            u64::from(count),
            bit(1),
            bit(2),
            u64::from(round_end),
            u64::from(recover),
            u64::from(regular),
            u64::from(single),
            u64::from(proven),
            bit(16),
            u64::from(losses),
            u64::from(gaps),
            u64::from(halvings),
        ]
    }
}

/// What ticks of a timestamp tell, as a number.
pub(crate) fn evidence(first: u32, last: u32, echo: u32) -> u32 {
    // SAFETY: no pointers.
    unsafe { ackloss_host_evidence(first, last, echo) }
}
