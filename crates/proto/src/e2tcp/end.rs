//! A connection as an end.

use airwatt_base::{Instant, Machine, Timeout};

use super::{Connection, E2tcpPacket, E2tcpTimer, Input, Output};
use crate::end::{End, EndOutput, Stream, end_of_connection};
use crate::tcp::{ReceiveBuffer, ReceiveBytes, SendBuffer};

end_of_connection!(E2tcpPacket, Packet, refusal, E2tcpTimer);
