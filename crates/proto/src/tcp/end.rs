//! A connection as an end.

use airwatt_base::{Instant, Machine, Timeout};

use super::{Connection, Input, Output, ReceiveBuffer, ReceiveBytes, Segment, SendBuffer, TcpTimer};
use crate::end::{End, EndOutput, Stream, end_of_connection};

end_of_connection!(Segment, Segment, reset, TcpTimer);
