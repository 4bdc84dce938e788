use std::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn a_connection_is_found_by_its_addresses_alone_and_a_listener_is_none() {
    for at in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(at) else { continue };
        let here = listener.local_addr().unwrap();
        let client = TcpStream::connect(here).unwrap();
        let (server, from) = listener.accept().unwrap();
        let nobody = SocketAddr::new(from.ip(), 1);
        let asked = [(here, from), (from, here), (here, nobody), (nobody, here)];
        assert_eq!(tcp_retransmissions(&asked).unwrap(), [Some(0), Some(0), None, None], "{at}");
        // The end that closes first is in TIME-WAIT, and the other one gone.
        drop(client);
        drop(server);
        assert_eq!(tcp_retransmissions(&asked).unwrap(), [None; 4], "{at}");
    }
    assert_eq!(tcp_retransmissions(&[]).unwrap(), [] as [Option<u32>; 0]);
}
