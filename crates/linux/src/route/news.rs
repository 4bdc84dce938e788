//! That addresses, routes or rules of a network namespace have changed (rtnetlink(7)); which ones is not told.

use std::os::fd::{AsFd, BorrowedFd};

use crate::Error;
use crate::netlink::NetlinkSocket;

// linux/rtnetlink.h.
const RTMGRP_IPV4_IFADDR: u32 = 0x10;
const RTMGRP_IPV4_ROUTE: u32 = 0x40;
const RTMGRP_IPV6_IFADDR: u32 = 0x100;
const RTMGRP_IPV6_ROUTE: u32 = 0x400;
const ROUTES: u32 = RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE;
const RTMGRP_LINK: u32 = 0x1;
const RTMGRP_IPV4_RULE: u32 = 0x80;
/// Of RTNLGRP_IPV6_RULE, which is 19.
const RTMGRP_IPV6_RULE: u32 = 1 << 18;
const RULES: u32 = RTMGRP_LINK | RTMGRP_IPV4_RULE | RTMGRP_IPV6_RULE;

/// A source that is ready to be read when there is news.
#[derive(Debug)]
pub struct RouteNews(NetlinkSocket);

impl RouteNews {
    /// Watches addresses and routes of the network namespace of this thread.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn watch() -> Result<Self, Error> {
        Self::of(ROUTES)
    }

    /// Watches its rules, and its interfaces, which go up and down.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn of_rules() -> Result<Self, Error> {
        Self::of(RULES)
    }

    fn of(groups: u32) -> Result<Self, Error> {
        let socket = NetlinkSocket::open()?;
        socket.join(groups)?;
        Ok(Self(socket))
    }

    /// Takes all news that there are, without waiting.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn take(&self) -> Result<(), Error> {
        self.0.discard()
    }
}

impl AsFd for RouteNews {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
