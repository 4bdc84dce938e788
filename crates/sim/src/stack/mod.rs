//! What runs on the nodes of a network: sockets, applications on them, and programs through which packets pass.
//!
//! * [`transport`]: the transports of a socket: TCP, E2TCP and UDP, as the network sees them alike.
//! * `socket`: one end of a conversation, with its addresses and its application.
//! * [`application`]: what sends data and waits for it.
//! * [`role`]: which end of a conversation a socket is.
//! * `program`: machines through which packets pass on their way: gateways, impairments, tunnels.
//! * [`flow`]: what is measured of a flow.
//! * [`impairment`]: delay, loss and reordering of what a node forwards.

pub mod application;
pub mod flow;
pub mod impairment;
pub(crate) mod program;
pub mod role;
pub(crate) mod socket;
pub mod transport;
