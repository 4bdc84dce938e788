//! The endpoints of flows over connected sockets: bulk transfers, request-response exchanges, datagrams.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use airwatt_base::{Instant, Span};
use airwatt_linux::clock::Clock;
use airwatt_sim::stack::application::{Call, Connection, Dialogue, Party, SocketRequest, Source};
use nix::sys::socket::{SockaddrIn, connect};

use super::{Durations, OpenSockets};
use crate::kernel::{self, Priority};

/// The connection of a dialogue, which has one over kernel sockets.
const ONLY: Connection = 0;
/// Bytes written or read at a time.
const CHUNK: usize = 1 << 16;
/// Time without a datagram after which a sender that has finished has none in flight.
const DATAGRAMS_SETTLE: Duration = Duration::from_millis(500);

/// Connects the station to the server; returns the server's end and the station's.
pub(super) fn connect_to(
    listener: &TcpListener,
    station: OwnedFd,
    server: SocketAddrV4,
    open: &OpenSockets,
) -> io::Result<(TcpStream, TcpStream)> {
    connect(station.as_raw_fd(), &SockaddrIn::from(server))?;
    let (server, _) = listener.accept()?;
    open.register(&server)?;
    Ok((server, TcpStream::from(station)))
}

/// Transfers data from one end to the other, until there is no more.
pub(super) fn transfer(
    from: TcpStream,
    to: TcpStream,
    window: u32,
    source: Source,
    open: &OpenSockets,
) -> io::Result<()> {
    let stopped = Arc::clone(&open.stop);
    let waker = from.try_clone()?;
    let writer =
        thread::Builder::new().name("writer".to_owned()).spawn(move || write(from, source, &stopped))?;
    let read = read(to, window);
    // If the reader fails, the writer is unblocked.
    if read.is_err() {
        let _ = waker.shutdown(Shutdown::Both);
    }
    let wrote = writer.join().unwrap_or(Ok(()));
    read.and(wrote)
}

/// Runs a request-response exchange over one connection. The server writes in a thread of its own, so that a long response is read while it
/// is written.
pub(super) fn run_dialogue(
    client: &TcpStream,
    server: TcpStream,
    mut dialogue: Dialogue,
    durations: &Durations,
    open: &OpenSockets,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut request_reader = server.try_clone()?;
    let (responses, sizes) = mpsc::channel::<u64>();
    let responder = thread::Builder::new().name("server".to_owned()).spawn(move || {
        let _priority = Priority::of_traffic();
        // A write error at the server surfaces as a read error at the client.
        let _ = sizes.into_iter().try_for_each(|bytes| send_zeros(&server, bytes));
    })?;
    let clock = Clock::start();
    let mut buffer = vec![0; CHUNK];
    dialogue.begin(clock.now());
    while !dialogue.is_over() && !open.is_over() {
        match dialogue.poll_call() {
            Some(Call { role, request: SocketRequest::Write(bytes), .. }) if role == dialogue.client() => {
                send_zeros(client, bytes)?;
                read_bytes(&mut request_reader, bytes, &mut buffer)?;
                dialogue.received(ONLY, Party::Server, bytes, clock.now());
            }
            Some(Call { request: SocketRequest::Write(bytes), .. }) => {
                let _ = responses.send(bytes);
                read_bytes(&mut &*client, bytes, &mut buffer)?;
                dialogue.received(ONLY, Party::Client, bytes, clock.now());
                durations.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&dialogue.durations);
            }
            // The connection is open.
            Some(_) => {}
            None => {
                let due = dialogue.due().unwrap_or(Instant::ZERO);
                pause(due.saturating_since(clock.now()), &open.stop);
                dialogue.handle_timeout(clock.now().max(due));
            }
        }
    }
    drop(responses);
    drop(responder.join());
    client.shutdown(Shutdown::Both)
}

/// Writes this many bytes.
fn send_zeros(mut to: &TcpStream, bytes: u64) -> io::Result<()> {
    let zeros = [0_u8; CHUNK];
    let mut left = bytes;
    while left > 0 {
        left -= to.write(&zeros[..left.min(CHUNK as u64) as usize])? as u64;
    }
    Ok(())
}

/// Reads this many bytes.
fn read_bytes(from: &mut impl Read, bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let most = left.min(buffer.len() as u64) as usize;
        let got = from.read(&mut buffer[..most])?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= got as u64;
    }
    Ok(())
}

fn write(mut to: TcpStream, mut source: Source, stop: &AtomicBool) -> io::Result<()> {
    let _priority = Priority::of_traffic();
    let zeros = [0_u8; CHUNK];
    let clock = Clock::start();
    source.begin(clock.now());
    while let Some(due) = source.due() {
        pause(due.saturating_since(clock.now()), stop);
        let mut left = source.take(due);
        while left > 0 && !stop.load(Ordering::Relaxed) {
            let chunk = left.min(CHUNK as u64) as usize;
            left -= to.write(&zeros[..chunk])? as u64;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    to.shutdown(Shutdown::Write)?;
    // The other side closes when it has received everything: the flow is over only then.
    read(to, u32::MAX >> 1)
}

/// Reads to the end of the stream, advertising at most `window` bytes.
fn read(mut from: TcpStream, window: u32) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    while from.read(&mut buffer)? > 0 {
        // Linux raises the limit again when it learns how much memory a packet takes (6.9 and later).
        kernel::clamp_window(&from, window)?;
    }
    // The shutdown is explicit because the socket has another owner, which may wake a blocked thread, and so is not
    // closed by being dropped.
    match from.shutdown(Shutdown::Write) {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        done => done,
    }
}

pub(super) fn udp(from: &UdpSocket, to: &UdpSocket, mut source: Source, stop: &AtomicBool) -> io::Result<()> {
    let zeros = [0_u8; CHUNK];
    let clock = Clock::start();
    source.begin(clock.now());
    to.set_read_timeout(Some(DATAGRAMS_SETTLE))?;
    let arrivals = to.try_clone()?;
    let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while arrivals.recv(&mut buffer).is_ok() {}
    })?;
    while let Some(due) = source.due().filter(|_| !stop.load(Ordering::Relaxed)) {
        pause(due.saturating_since(clock.now()), stop);
        let bytes = source.take(due) as usize;
        // A datagram for which the kernel has no room is lost, as anywhere on the path.
        let _ = from.send(&zeros[..bytes.min(CHUNK)]);
    }
    drop(reader.join());
    Ok(())
}

/// Sleeps, but wakes up if the emulation stops.
pub(super) fn pause(span: Span, stop: &AtomicBool) {
    const STEP: Duration = Duration::from_millis(100);
    let mut left = Duration::from_nanos(span.as_nanos());
    while !left.is_zero() && !stop.load(Ordering::Relaxed) {
        let step = left.min(STEP);
        thread::sleep(step);
        left -= step;
    }
}
