//! A connection as an end.

use airwatt_base::{Instant, Machine};

use super::{Connection, E2tcpPacket, Input, Output};
use crate::end::{End, EndOutput, Stream, end_of_connection};
use crate::tcp::{ReceiveBuffer, SendBuffer};

end_of_connection!(E2tcpPacket, Packet, refusal);
