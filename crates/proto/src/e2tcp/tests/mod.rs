//! Two ends over a path of fixed delay with a virtual clock; the tests say which packets are lost or doubled.
