//! The client beside a socket that plays the gateway.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use airwatt_partial::{PieceKind, RequiredShares, connect};

/// Answers one program with `reply`. Returns the path of the socket, and the request.
fn gateway(name: &str, reply: Vec<u8>) -> (PathBuf, JoinHandle<(String, UnixStream)>) {
    let path = std::env::temp_dir().join(format!("airwatt-partial-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = String::new();
        while !request.ends_with('\n') {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(char::from(byte[0]));
        }
        stream.write_all(&reply).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        (request, stream)
    });
    (path, serving)
}

fn piece(kind: u8, position: u64, length: u32, data: &[u8]) -> Vec<u8> {
    [&[kind], &position.to_be_bytes()[..], &length.to_be_bytes(), data].concat()
}

#[test]
fn data_gaps_and_late_bytes_are_read_and_what_is_written_arrives() {
    let reply = [
        b"ok\n".to_vec(),
        piece(b'G', 2, 3, &[]),
        piece(b'D', 0, 6, b"ab\0\0\0f"),
        piece(b'L', 2, 1, b"c"),
        piece(b'E', 6, 0, &[]),
    ];
    let (path, serving) = gateway("pieces", reply.concat());
    let shares = RequiredShares { wanted: 90, ..RequiredShares::default() };
    let mut stream = connect(&path, "[fd00::1]:80".parse().unwrap(), shares).unwrap();
    stream.write_all(b"hello").unwrap();
    stream.end().unwrap();
    let (request, mut there) = serving.join().unwrap();
    assert_eq!(request, "open fd00::1 80 90 100\n");
    let mut sent = Vec::new();
    there.read_to_end(&mut sent).unwrap();
    assert_eq!(sent, b"hello");
    let mut read = Vec::new();
    while let Some(piece) = stream.read_piece().unwrap() {
        read.push((piece.kind, piece.position, piece.length, piece.data));
    }
    let expected = [
        (PieceKind::Gap, 2, 3, vec![]),
        (PieceKind::Data, 0, 6, b"ab\0\0\0f".to_vec()),
        (PieceKind::Late, 2, 1, b"c".to_vec()),
    ];
    assert_eq!(read, expected);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn refusals_and_what_no_gateway_sends_are_errors() {
    let server = "192.0.2.1:80".parse().unwrap();
    let refused = |name: &str, reply: &[u8]| {
        let (path, serving) = gateway(name, reply.to_vec());
        let error = connect(&path, server, RequiredShares::default()).map(|_| ()).unwrap_err();
        drop(serving);
        std::fs::remove_file(path).unwrap();
        (error.kind(), error.to_string())
    };
    assert_eq!(refused("refused", b"error refused\n"), (ErrorKind::ConnectionRefused, "refused".to_owned()));
    assert_eq!(refused("ended", b"o").0, ErrorKind::ConnectionReset);
    let read = |name: &str, bytes: Vec<u8>| {
        let (path, serving) = gateway(name, [b"ok\n".to_vec(), bytes].concat());
        let mut stream = connect(&path, server, RequiredShares::default()).unwrap();
        drop(serving.join());
        std::fs::remove_file(path).unwrap();
        stream.read_piece().unwrap_err().kind()
    };
    assert_eq!(read("kind", piece(b'X', 0, 1, b"x")), ErrorKind::InvalidData);
    assert_eq!(read("long", piece(b'D', 0, u32::MAX, b"x")), ErrorKind::InvalidData);
    assert_eq!(read("short", piece(b'D', 0, 9, b"x")), ErrorKind::UnexpectedEof);
    assert_eq!(read("cut off", Vec::new()), ErrorKind::UnexpectedEof);
    let nowhere = std::env::temp_dir().join(format!("airwatt-pieces-{}-nowhere", std::process::id()));
    let nowhere = connect(&nowhere, server, RequiredShares::default()).map(|_| ()).unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::NotFound);
}
