//! A wire between two nodes: two [`Pipe`]s that do not influence each other.

use super::Pipe;

/// A wire. Member 0 is the end towards the server.
#[derive(Clone, Debug)]
pub struct Wire {
    /// From member 0 to member 1, and back.
    pub pipes: [Pipe; 2],
}

impl Wire {
    /// From member 0 to member 1.
    pub const fn down(&self) -> &Pipe {
        &self.pipes[0]
    }

    /// From member 1 to member 0.
    pub const fn up(&self) -> &Pipe {
        &self.pipes[1]
    }
}
