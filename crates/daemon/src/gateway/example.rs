//! Commented configurations to start from. A test reads them.

use super::config::Mode;
use crate::output;

pub(super) const MOBILE: &str = r#"# The mobile's end of an airwatt gateway. Keep this file private (chmod 600).
interface = "airwatt-gw"                # the TUN device that `airwattd gateway up` creates
mode = "mobile"
addresses = ["192.168.1.23/32"]         # this host's addresses whose TCP connections are relayed; also IPv6
private_key = "MOBILE_PRIVATE_KEY"      # airwattd genkey; or private_key_file = "mobile.key"
# radio = "cyw43439"                    # airwatt radios; `airwattd gateway status` estimates joules by it
# rate = "54Mbps"                       # of the radio's frames, for that estimate
# fwmark = 4747                         # this mark and the next two are used, and two routing tables of these numbers
# metrics = "unix:/run/airwatt-metrics/gateway.sock"
# local = "/run/airwatt-gateway.sock"   # by it programs open connections that may lose a share of their data

# [gateway]
# buffer = "256KiB"                     # held by a connection in each direction
# half_open = 4096                      # connections that have not been set up on both sides
# fallback = "1.5s"                     # silence of the base station after which a connection goes as plain TCP
# silence = "5s"                        # silence of the other end after which its connections are reset
# mtu = 1500                            # largest packet of the hop in bytes; lowered by itself where the path carries less
# drain = "5s"                          # time for connections to finish after SIGTERM

[e2tcp]
ack_every = 4                           # packets that one acknowledgement answers while nothing is lost; 1 as in the thesis
learn_window = true                     # packets in flight follow from the hop; without it 25, 56 Mbit/s over a path of 5 ms

[[peer]]
name = "access-point"
public_key = "BASE_PUBLIC_KEY"          # airwattd pubkey, at the base station
endpoint = "192.168.1.1:4747"
"#;

pub(super) const BASE: &str = r#"# The base station's end of an airwatt gateway. Keep this file private (chmod 600).
interface = "airwatt-gw"                # the TUN device that `airwattd gateway up` creates
mode = "base"
listen = "0.0.0.0:4747"                 # "[::]:4747" for IPv6
private_key = "BASE_PRIVATE_KEY"        # airwattd genkey; or private_key_file = "base.key"
# metrics = "127.0.0.1:9747"

# [gateway]
# buffer = "256KiB"                     # held by a connection in each direction
# half_open = 4096                      # connections that have not been set up on both sides
# silence = "5s"                        # silence of the other end after which its connections are reset
# mtu = 1500                            # largest packet of the hop in bytes; lowered by itself where the path carries less

[e2tcp]
ack_every = 4                           # packets that one acknowledgement answers while nothing is lost; 1 as in the thesis
learn_window = true                     # packets in flight follow from the hop; without it 25, 56 Mbit/s over a path of 5 ms

[[peer]]                                # one for each mobile
name = "laptop"
public_key = "MOBILE_PUBLIC_KEY"        # airwattd pubkey, at the mobile
allowed_ips = ["192.168.1.23/32"]       # its addresses, as `addresses` there
"#;

pub(super) const BASE_ONLY: &str = r#"# A base station for mobiles without a daemon: their TCP connections end here and go on as TCP.
interface = "airwatt-gw"                # the TUN device that `airwattd gateway up` creates
mode = "base-only"
addresses = ["192.168.1.0/24"]          # the mobiles, whose connections through this host are split; also IPv6
# fwmark = 4747                         # this mark and the next two are used, and two routing tables of these numbers
# metrics = "127.0.0.1:9747"

# [gateway]
# buffer = "256KiB"                     # held by a connection in each direction
# half_open = 4096                      # connections that have not been set up on both sides
# drain = "5s"                          # time for connections to finish after SIGTERM
"#;

/// Prints one.
pub(super) fn print(mode: Mode) {
    output::print(match mode {
        Mode::Mobile => MOBILE,
        Mode::Base => BASE,
        Mode::BaseOnly => BASE_ONLY,
    });
}
