use std::io::Read;
use std::thread;

use super::*;
use crate::event_loop::{EventLoop, Interest, Token};

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airwatt-control-{}-{name}", std::process::id()))
}

/// Serves in a thread until `end` is commanded.
fn daemon(path: &Path) -> thread::JoinHandle<u64> {
    let mut control = Control::bind(path).unwrap();
    thread::spawn(move || {
        let mut events = EventLoop::new().unwrap();
        events.add(&control, Token(0), Interest::Read).unwrap();
        let mut goes_on = true;
        while goes_on {
            events.wait(None).unwrap();
            control
                .serve(|command| match command {
                    "status" => Ok(json!({ "peers": 3 })),
                    "end" => {
                        goes_on = false;
                        Ok(json!({}))
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
    assert!(Control::bind(&path).unwrap_err().to_string().contains("another daemon listens there"));
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
