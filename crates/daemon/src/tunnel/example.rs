//! Commented configurations to start from. A test reads both.

use super::config::End;
use crate::output;

pub(super) const CLIENT: &str = r#"# One end of an airwatt tunnel: the laptop or phone. Keep this file private (chmod 600).
interface = "airwatt0"                  # the TUN device that `airwattd tunnel up` creates
addresses = ["10.77.0.2/24"]            # of this host in the tunnel; also IPv6, as "fd77::2/64"
end = "client"
private_key = "CLIENT_PRIVATE_KEY"      # airwattd genkey; or private_key_file = "client.key"
# mtu = 1436                            # largest inner packet; less if the path carries less than 1,500 bytes
# radio = "ar5004"                      # airwatt radios; `airwattd tunnel show` estimates the joules saved by it
# fwmark = 4646                         # used if all destinations are routed into the tunnel
# metrics = "unix:/run/airwatt-metrics/airwatt0.sock"

[tunnel]
delay_budget = "10ms"                   # mean delay that bursts may add; the larger, the less energy
thin_acks = true                        # drop held TCP acknowledgements that a later one makes superfluous
triggers = false                        # true if the radio sleeps by U-APSD, which Linux' drivers leave off by default
# burst = 5                             # packets in a burst; with delay_budget the largest number (20 above 10ms)
# hold = "20ms"                         # longest time for which a packet is held
# keep_alive = "25s"                    # behind an address translator, also one that changes; each one costs a wake-up of the radio
# association = "sctp"                  # or "sctp-reliable": what is lost is sent again; the same at both ends
# answer = false                        # hold packets also when the other end's burst has just ended
# bundle = "0B"                         # one packet in each datagram; the largest datagram of several otherwise, "1500B"
# plain = true                          # without keys and encryption, between private addresses; the same at both ends

[[peer]]
name = "access-point"
# preshared_key = "..."                 # airwattd genkey: one key of both ends beside the others
public_key = "CONCENTRATOR_PUBLIC_KEY"  # airwattd pubkey, at the concentrator
endpoint = "192.168.1.1:4646"           # or a host name and a port, resolved again while the peer is silent
allowed_ips = ["10.77.0.0/24"]          # what is sent there, and may come from there; ["0.0.0.0/0"] for everything
"#;

pub(super) const CONCENTRATOR: &str = r#"# One end of an airwatt tunnel: the access point, or a host beside it. Keep this file private (chmod 600).
interface = "airwatt0"                  # the TUN device that `airwattd tunnel up` creates
addresses = ["10.77.0.1/24"]            # of this host in the tunnel; also IPv6, as "fd77::1/64"
end = "concentrator"
listen = "0.0.0.0:4646"                 # "[::]:4646" for IPv6
private_key = "CONCENTRATOR_PRIVATE_KEY"  # airwattd genkey; or private_key_file = "concentrator.key"
forward = true                          # to other hosts; the clients' addresses need a route back, or masquerading

[tunnel]
delay_budget = "10ms"                   # of what is sent to the clients
thin_acks = true

[[peer]]                                # one for each client
name = "laptop"
public_key = "CLIENT_PUBLIC_KEY"        # airwattd pubkey, at the client
allowed_ips = ["10.77.0.2/32"]          # packets with other sources are dropped and counted
"#;

/// Prints one.
pub(super) fn print(end: End) {
    output::print(match end {
        End::Client => CLIENT,
        End::Concentrator => CONCENTRATOR,
    });
}
