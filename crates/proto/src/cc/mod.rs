//! Congestion control, one file an algorithm.
