//! The event loop: one thread that sleeps until a file descriptor is ready, another thread wakes it, or a time comes.
//!
//! It is epoll(7) with one timerfd(2) whose expiry is an absolute time, so that a wake-up comes when it is asked for, to
//! the precision of the kernel's timers, and never otherwise: there is no tick. A source is registered under a [`Token`]
//! of the caller's choice.
//!
//! Left out: other threads than the one that waits; each thread has a loop of its own.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use airwatt_base::Instant;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::Error;
use crate::clock::Clock;

/// Largest number of ready sources that one wait reports. The others follow in the next one.
const READY_AT_ONCE: usize = 64;
/// The token of the timer, which is not reported.
const TIMER: u64 = u64::MAX;

/// The number by which the caller knows a source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// What a source is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// It can be read; reported again until it has been read.
    Read,
    /// It can be written to.
    Write,
    /// It can be read, or written to.
    ReadWrite,
    /// Nothing but errors, and that both directions have ended; each is reported once.
    Errors,
}

/// A source that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadySource {
    /// The source.
    pub token: Token,
    /// Whether it can be read, which includes the end of its data and errors.
    pub readable: bool,
    /// Whether it can be written to.
    pub writable: bool,
}

/// The sources of a loop: a handle by which others than the owner of the loop register theirs.
#[derive(Debug)]
pub struct Sources {
    epoll: OwnedFd,
}

impl Sources {
    /// Waits for `source` from now on. It must live as long as it is registered, and not be registered twice.
    ///
    /// # Errors
    /// If the kernel refuses, as for a regular file.
    pub fn add(&self, source: impl AsFd, token: Token, interest: Interest) -> Result<(), Error> {
        epoll::add(&self.epoll, source, epoll::EventData::new_u64(token.0), flags(interest))
            .map_err(Error::of("epoll"))
    }

    /// Changes what a registered source is waited for.
    ///
    /// # Errors
    /// If the source is not registered.
    pub fn modify(&self, source: impl AsFd, token: Token, interest: Interest) -> Result<(), Error> {
        epoll::modify(&self.epoll, source, epoll::EventData::new_u64(token.0), flags(interest))
            .map_err(Error::of("epoll"))
    }

    /// No longer waits for a source. A source that is closed everywhere needs no removal.
    ///
    /// # Errors
    /// If the source is not registered.
    pub fn remove(&self, source: impl AsFd) -> Result<(), Error> {
        epoll::delete(&self.epoll, source).map_err(Error::of("epoll"))
    }
}

/// An event loop with a clock.
#[derive(Debug)]
pub struct EventLoop {
    sources: Sources,
    timer: OwnedFd,
    clock: Clock,
    /// The time for which the timer is set.
    set: Option<Instant>,
    /// Number of times that the kernel let the thread go on.
    wakeups: u64,
    ready: Vec<ReadySource>,
    /// The loop's own ends, so that a wake-up outlives the last handle of the caller.
    wakers: Vec<Waker>,
}

impl EventLoop {
    /// Creates a loop whose clock starts now.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn new() -> Result<Self, Error> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(Error::of("epoll"))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .map_err(Error::of("a timer"))?;
        // Edge-triggered, because the timer is set anew instead of being read.
        epoll::add(
            &epoll,
            &timer,
            epoll::EventData::new_u64(TIMER),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )
        .map_err(Error::of("epoll"))?;
        Ok(Self {
            sources: Sources { epoll },
            timer,
            clock: Clock::start(),
            set: None,
            wakeups: 0,
            ready: Vec::new(),
            wakers: Vec::new(),
        })
    }

    /// The loop's clock.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// The time on the loop's clock.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Number of times that a wait has returned after the thread may have slept.
    pub const fn wakeups(&self) -> u64 {
        self.wakeups
    }

    /// Waits for `source` from now on, as [`Sources::add`].
    ///
    /// # Errors
    /// If the kernel refuses, as for a regular file.
    pub fn add(&self, source: impl AsFd, token: Token, interest: Interest) -> Result<(), Error> {
        self.sources.add(source, token, interest)
    }

    /// Changes what a registered source is waited for.
    ///
    /// # Errors
    /// If the source is not registered.
    pub fn modify(&self, source: impl AsFd, token: Token, interest: Interest) -> Result<(), Error> {
        self.sources.modify(source, token, interest)
    }

    /// A handle of the sources.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn sources(&self) -> Result<Sources, Error> {
        let epoll = rustix::io::fcntl_dupfd_cloexec(&self.sources.epoll, 0).map_err(Error::of("epoll"))?;
        Ok(Sources { epoll })
    }

    /// Creates a handle by which other threads wake this loop; each wake-up is reported as `token` being readable.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn waker(&mut self, token: Token) -> Result<Waker, Error> {
        let waker = Waker::new()?;
        self.wake_by(&waker, token)?;
        Ok(waker)
    }

    /// As [`EventLoop::waker`], with a handle that exists already; it may have been used.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wake_by(&mut self, waker: &Waker, token: Token) -> Result<(), Error> {
        // Edge-triggered, because each write is an edge and the counter is never read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&self.sources.epoll, &*waker.0, epoll::EventData::new_u64(token.0), flags)
            .map_err(Error::of("epoll"))?;
        self.wakers.push(waker.clone());
        Ok(())
    }

    /// Sleeps until a source is ready, but at most until `until`, and returns the sources that are ready. Without a time
    /// it sleeps until a source is ready; with a time that has passed it does not sleep. It may return early with nothing.
    ///
    /// # Errors
    /// If the kernel refuses, which would be a fault of this program.
    pub fn wait(&mut self, until: Option<Instant>) -> Result<&[ReadySource], Error> {
        let is_due = until.is_some_and(|until| until <= self.now());
        if !is_due {
            self.set_timer(until)?;
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
                READY_AT_ONCE];
        let count = match epoll::wait(&self.sources.epoll, &mut events[..], is_due.then_some(&zero)) {
            Err(Errno::INTR) => 0,
            count => count.map_err(Error::of("epoll"))?,
        };
        self.wakeups += u64::from(!is_due);
        self.ready.clear();
        for event in &events[..count] {
            let (flags, data) = (event.flags, event.data);
            if data.u64() == TIMER {
                // The timer has expired; the same time may be asked for again.
                self.set = None;
                continue;
            }
            self.ready.push(ReadySource {
                token: Token(data.u64()),
                readable: flags.intersects(
                    epoll::EventFlags::IN
                        | epoll::EventFlags::HUP
                        | epoll::EventFlags::RDHUP
                        | epoll::EventFlags::ERR,
                ),
                writable: flags.intersects(epoll::EventFlags::OUT | epoll::EventFlags::ERR),
            });
        }
        Ok(&self.ready)
    }

    fn set_timer(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let until = until.filter(|until| *until != Instant::FOREVER);
        if self.set == until {
            return Ok(());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A time of zero disarms the timer.
        let it_value = until.map_or(zero, |until| self.clock.absolute(until));
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: zero, it_value })
            .map_err(Error::of("a timer"))?;
        self.set = until;
        Ok(())
    }
}

/// Readable when a source is ready, so that a loop can be a source of another one.
impl AsFd for EventLoop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sources.epoll.as_fd()
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        Interest::Read => epoll::EventFlags::IN,
        Interest::Write => epoll::EventFlags::OUT,
        // What the kernel reports in any case cannot be acted on before something else has happened.
        Interest::Errors => epoll::EventFlags::ET,
        Interest::ReadWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
    }
}

/// Wakes an [`EventLoop`] from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Creates a handle that no loop knows yet.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn new() -> Result<Self, Error> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(Error::of("an event counter"))?;
        Ok(Self(Arc::new(fd)))
    }

    /// Wakes the loop. Several calls before it wakes count as one.
    pub fn wake(&self) {
        // The counter would have to reach 2^64 - 1 for an error.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests;
