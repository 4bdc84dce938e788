//! What a machine of the network leaves to do when it has served an input.

use airwatt_base::Instant;

/// The state of a medium that its driver acts on; of a wire, that of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Whether there is an output.
    pub has_output: bool,
    /// The time of the next timer, [`Instant::FOREVER`] if there is none. Outputs that are taken may move it.
    pub due: Instant,
}
