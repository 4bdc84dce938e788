//! Operators of quantities that are those of their counts.

/// Implements operators: `Instant Sub::sub - Span.0 => Instant` subtracts the count of a span from that of an instant.
macro_rules! operators {
    ($($left:ident $trait:ident::$method:ident $op:tt $right:ident $(.$count:tt)? => $output:ident;)+) => {$(
        impl $trait<$right> for $left {
            type Output = $output;
            fn $method(self, right: $right) -> $output {
                $output(self.0 $op right $(.$count)?)
            }
        }
    )+};
}
pub(super) use operators;

/// Implements operators that change their left side.
macro_rules! assignments {
    ($($left:ident $trait:ident::$method:ident $op:tt $right:ident;)+) => {$(
        impl $trait<$right> for $left {
            fn $method(&mut self, right: $right) {
                self.0 $op right.0;
            }
        }
    )+};
}
pub(super) use assignments;
