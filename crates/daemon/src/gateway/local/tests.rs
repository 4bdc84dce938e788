use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};

use super::*;

#[test]
fn a_request_names_a_server_and_two_shares() {
    let request = parse("open 192.0.2.1 80 90 100").unwrap();
    assert_eq!((request.to.to_string().as_str(), request.shares.wanted), ("192.0.2.1:80", 90));
    assert_eq!(parse("open 2001:db8::1 443 0 50").unwrap().shares.offered, 50);
    for wrong in ["", "open", "open host 80 1 1", "open 192.0.2.1 65536 1 1", "close 192.0.2.1 80 1 1"] {
        assert!(parse(wrong).unwrap_err().starts_with("expected open ADDRESS PORT"), "{wrong}");
    }
    let error = parse("open 192.0.2.1 80 101 100").unwrap_err();
    assert_eq!(error, "expected reliabilities of 0 to 100 per cent, got 101 and 100");
}

/// Takes a few bytes at a time.
struct Slow(Vec<u8>, usize);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = bytes.len().min(7);
        self.0.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn frames_are_whole_whatever_the_stream_takes() {
    let (mut frames, mut stream) = (Frames::default(), Slow(Vec::new(), 0));
    frames.push_line("ok");
    frames.push(b'G', 3, 2, &[]);
    let data = b"abc\0\0fghij";
    let mut taken = 0;
    while taken < data.len() || frames.has_pending() {
        taken += frames.write(&mut stream, &data[taken..]).unwrap();
    }
    frames.push(b'L', 3, 2, b"de");
    while !frames.end(&mut stream).unwrap() {
        frames.push(b'L', 0, 1, b"too late");
    }
    let mut expected = b"ok\nG\0\0\0\0\0\0\0\x03\0\0\0\x02D\0\0\0\0\0\0\0\0\0\0\0\x0a".to_vec();
    expected.extend_from_slice(data);
    expected.extend_from_slice(b"L\0\0\0\0\0\0\0\x03\0\0\0\x02de");
    expected.extend_from_slice(b"E\0\0\0\0\0\0\0\x0a\0\0\0\0");
    assert_eq!(stream.0, expected);
}

/// Many programs may ask at once: those that have sent their lines get them read, also beside some that never send one.
#[test]
fn programs_that_have_asked_are_not_dropped_for_others() {
    let folder = std::env::temp_dir().join(format!("airwatt-local-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
    let path = folder.join("socket");
    let mut local = Local::bind(&path).unwrap();
    let events = airwatt_linux::event_loop::EventLoop::new().unwrap();
    let silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let asking: Vec<UnixStream> = (0..100)
        .map(|_| {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(b"open 192.0.2.1 80 90 100\n").unwrap();
            stream
        })
        .collect();
    let asked = local.accept(&events.sources().unwrap(), Token(7)).unwrap();
    assert_eq!(asked.len(), asking.len());
    assert!(asked.iter().all(|(_, request)| request.is_ok()));
    assert_eq!(local.waiting.len(), silent.len());
    drop(local);
    // Somebody else could put a link in the place of the socket before it is opened to all.
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = Local::bind(&path).err().unwrap().to_string();
    assert!(error.contains("that only its owner can write to") && !path.exists(), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
