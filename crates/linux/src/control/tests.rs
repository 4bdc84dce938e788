use std::io::Read;
use std::thread;

use super::*;
use crate::event_loop::{EventLoop, Interest, Token};

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airwatt-control-{}-{name}", std::process::id()))
}

/// Serves in a thread until `end` is commanded.
fn daemon(path: &Path) -> thread::JoinHandle<u64> {
    let mut control = ControlSocket::bind(path).unwrap();
    thread::spawn(move || {
        let mut events = EventLoop::new().unwrap();
        events.add(&control, Token(0), Interest::Read).unwrap();
        let mut goes_on = true;
        while goes_on {
            events.wait(None).unwrap();
            control
                .serve(|command| match command {
                    "status" => Ok(json!({ "peers": 3 }).to_string()),
                    "end" => {
                        goes_on = false;
                        Ok(json!({}).to_string())
                    }
                    other => Err(format!("{other}: expected status or end")),
                })
                .unwrap();
        }
        events.wakeups()
    })
}

#[test]
fn commands_get_their_documents_and_clients_may_do_anything() {
    let folder = folder("commands");
    let path = folder.join("test.sock");
    let daemon = daemon(&path);
    assert_eq!(ask(&path, "status").unwrap(), json!({ "peers": 3 }));
    let error = ask(&path, "fly").unwrap_err().to_string();
    assert!(error.ends_with("fly: expected status or end"), "{error}");
    // No JSON, two commands at once, half a command, too much without an end, and no command at all.
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"hello\n{\"command\":\"status\"}\n{\"command\":").unwrap();
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("{\"error\":\"expected {\\\"command\\\": NAME}"));
    assert_eq!(lines.next().unwrap().unwrap(), "{\"peers\":3}");
    client.write_all(b"\"status\"}\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "{\"peers\":3}");
    let mut flood = UnixStream::connect(&path).unwrap();
    let _ = flood.write_all(&[b'x'; 1 << 18]);
    let mut rest = Vec::new();
    let _ = flood.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    let idle: Vec<_> = (0..40).map(|_| UnixStream::connect(&path).unwrap()).collect();
    assert_eq!(ask(&path, "status").unwrap(), json!({ "peers": 3 }));
    drop(idle);
    // A second daemon is refused.
    assert!(ControlSocket::bind(&path).unwrap_err().to_string().contains("another daemon listens there"));
    ask(&path, "end").unwrap();
    daemon.join().unwrap();
    assert!(!path.exists());
    assert!(ask(&path, "status").is_err());
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_socket_that_was_left_is_replaced() {
    let folder = folder("left");
    let path = folder.join("test.sock");
    drop(Folder::create(&folder).unwrap());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let daemon = daemon(&path);
    ask(&path, "end").unwrap();
    daemon.join().unwrap();
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn the_socket_is_its_owners_alone() {
    let folder = folder("mode");
    drop(Folder::create(&folder).unwrap());
    let path = folder.join("test.sock");
    let control = ControlSocket::bind(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(control);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let folder = folder("file");
    drop(Folder::create(&folder).unwrap());
    let (file, link) = (folder.join("notes"), folder.join("link"));
    std::fs::write(&file, "mine").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        let error = ControlSocket::bind(path).unwrap_err().to_string();
        assert!(error.ends_with("got another file, which is left as it is"), "{error}");
        // It may have come since the configuration was read.
        let address = crate::metrics::MetricsAddress::Unix(path.clone());
        assert!(crate::metrics::Metrics::bind(&address).is_err());
        assert!(!remove_dead(path));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Serves as long as anything is ready, a thousand times at most. Returns how many commands were answered, and whether it ended.
fn serve_what_is_ready(control: &mut ControlSocket) -> (u32, bool) {
    let mut events = EventLoop::new().unwrap();
    events.add(&*control, Token(0), Interest::Read).unwrap();
    let mut answered = 0;
    for _ in 0..1_000 {
        if events.wait(Some(airwatt_base::Instant::ZERO)).unwrap().is_empty() {
            return (answered, true);
        }
        let answer = |_: &str| {
            answered += 1;
            Ok(json!("x".repeat(10_000)).to_string())
        };
        control.serve(answer).unwrap();
    }
    (answered, false)
}

#[test]
fn a_client_that_never_reads_is_answered_as_much_as_its_socket_holds() {
    let folder = folder("deaf");
    let mut control = ControlSocket::bind(&folder.join("test.sock")).unwrap();
    let mut client = UnixStream::connect(folder.join("test.sock")).unwrap();
    client.set_nonblocking(true).unwrap();
    let commands = "{\"command\":\"status\"}\n".repeat(1_000);
    let (mut answered, mut sent) = (0, 0);
    while let Ok(count) = client.write(commands.as_bytes()) {
        sent += count;
        let (now, ended) = serve_what_is_ready(&mut control);
        assert!(ended, "it waits for the client");
        answered += now;
        assert!(sent < 1 << 20, "what a client may send is bounded too");
    }
    // A Unix socket holds 208 KiB here, and more elsewhere.
    assert!((1..200).contains(&answered), "{answered} answers of 10 kB");
    // The client has nothing more to say, and still reads nothing.
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(serve_what_is_ready(&mut control), (0, true));
    // It gets every answer when it reads, and the connection ends.
    client.set_nonblocking(false).unwrap();
    let reading = thread::spawn(move || BufReader::new(client).lines().map_while(Result::ok).count());
    let mut events = EventLoop::new().unwrap();
    events.add(&control, Token(0), Interest::Read).unwrap();
    while !reading.is_finished() {
        events.wait(Some(events.now() + Span::from_millis(20))).unwrap();
        answered += serve_what_is_ready(&mut control).0;
    }
    let lines = reading.join().unwrap();
    assert_eq!(lines, answered as usize);
    assert!(lines >= sent / 21 - 1, "{lines} answers for {sent} bytes");
    drop(control);
    std::fs::remove_dir(&folder).unwrap();
}
