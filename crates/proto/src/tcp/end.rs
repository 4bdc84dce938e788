//! A connection as an end.

use airwatt_base::{Instant, Machine};

use super::{Connection, Input, Output, ReceiveBuffer, Segment, SendBuffer};
use crate::end::{End, EndOutput, Stream, end_of_connection};

end_of_connection!(Segment, Segment, reset);
