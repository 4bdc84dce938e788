//! The rules and routes that lead packets to a daemon, made again when somebody has removed them: a network manager removes rules that it does
//! not know when it starts, and the kernel the routes of an interface that goes down.
//!
//! Without them packets would leave in the clear that a tunnel is for, and connections would wait for a gateway that does not hear of them. Left
//! out: routes that are removed one by one while their interface stays up.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use airwatt_linux::changes::Change;
use airwatt_linux::route::RouteNews;
use airwatt_linux::{Error, link};
use tracing::{debug, warn};

/// What leads packets here, and news that something of it may be gone.
pub(crate) struct Ways {
    news: RouteNews,
    made: Vec<Change>,
    /// Interface, address and length of the prefix: those of IPv6 go with an interface that goes down.
    addresses: Vec<(u32, IpAddr, u8)>,
}

impl Ways {
    /// Watches rules and interfaces from now on.
    ///
    /// # Errors
    /// If the kernel tells no news.
    pub(crate) fn watch(made: Vec<Change>, addresses: Vec<(u32, IpAddr, u8)>) -> Result<Self, Error> {
        Ok(Self { news: RouteNews::of_rules()?, made, addresses })
    }

    /// What leads packets here has changed.
    pub(crate) fn replace(&mut self, made: Vec<Change>) {
        self.made = made;
    }

    /// Takes the news, and makes again what is gone.
    ///
    /// # Errors
    /// If the news cannot be read.
    pub(crate) fn restore(&self) -> Result<(), Error> {
        self.news.take()?;
        for (index, address, length) in &self.addresses {
            say(&format!("{address}/{length}"), again(link::add_address(*index, *address, *length)));
        }
        for change in &self.made {
            say(&change.describe(), again(change.make()));
        }
        Ok(())
    }
}

impl AsFd for Ways {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// Whether it was gone, by an attempt to make it.
fn again(made: Result<(), Error>) -> Result<bool, Error> {
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.io().kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn say(what: &str, gone: Result<bool, Error>) {
    match gone {
        Ok(true) => warn!("somebody has removed what leads packets here; made again: {what}"),
        Ok(false) => {}
        // An interface that is down can have no routes.
        Err(error) => debug!(%error, "not made again"),
    }
}
