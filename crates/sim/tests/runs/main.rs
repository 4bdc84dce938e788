//! Tests of whole runs, through the interface that the Python module and the command line use.
//!
//! They are one program: each further one would be compiled and linked with the whole simulator once more.

mod applications;
mod bad_input;
mod causes;
mod determinism;
mod extremes;
mod fairness;
mod fingerprints;
mod fresh_connections;
mod group;
mod hidden_facts;
mod hops;
mod ladders;
mod linux_hosts;
mod lower_bound;
mod progress;
mod quic;
mod radios;
mod rates;
mod scans;
mod support;
mod target_wake;
mod topology;
mod transports;
mod tshark;
mod validation_air;
mod validation_bata_time;
mod validation_models;
mod validation_peers;
mod wires;
