//! Generic netlink (linux/genetlink.h): families of commands whose numbers the kernel gives out at run time.

use std::io::ErrorKind;

use rustix::net::netlink as protocol;

use super::attribute::{self, Attribute};
use super::{NetlinkRequest, NetlinkSocket};
use crate::Error;

/// The family that knows the others, and its command and attributes.
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;
/// Size of `struct genlmsghdr`: command, version, and two reserved bytes.
const GENLMSGHDR: usize = 4;

/// A family of commands, with a socket to send them.
#[derive(Debug)]
pub struct Family {
    socket: NetlinkSocket,
    id: u16,
    /// Its multicast groups: names and numbers.
    groups: Vec<(String, u32)>,
}

/// Events of a family, as a source of an event loop.
#[derive(Debug)]
pub struct Events {
    socket: NetlinkSocket,
    id: u16,
}

/// An answer: its command and its attributes.
pub type Answer = (u8, Vec<Attribute>);

impl Family {
    /// Opens the family with this name in the network namespace of this thread; `None` if this kernel does not have it.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn open(name: &str) -> Result<Option<Self>, Error> {
        let mut socket = NetlinkSocket::of_protocol(Some(protocol::GENERIC))?;
        let mut terminated = name.as_bytes().to_vec();
        terminated.push(0);
        let body = body(CTRL_CMD_GETFAMILY, &[(CTRL_ATTR_FAMILY_NAME, terminated)]);
        let request = NetlinkRequest { kind: GENL_ID_CTRL, flags: 0, body };
        let answers = match socket.get(name, &request, GENL_ID_CTRL) {
            Ok(answers) => answers,
            Err(error) if error.io().kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let answers: Vec<Answer> = answers.iter().filter_map(|bytes| parse(bytes)).collect();
        let id = answers.iter().find_map(|(_, attributes)| number(attributes, CTRL_ATTR_FAMILY_ID));
        let groups = answers.iter().filter_map(|(_, attributes)| value(attributes, CTRL_ATTR_MCAST_GROUPS));
        let groups = groups.flat_map(attribute::parse).filter_map(|(_, group)| {
            let group = attribute::parse(&group);
            let id = number(&group, CTRL_ATTR_MCAST_GRP_ID)?;
            Some((text(&group, CTRL_ATTR_MCAST_GRP_NAME)?, u32::try_from(id).ok()?))
        });
        let groups = groups.collect();
        match id.map(u16::try_from) {
            Some(Ok(id)) => Ok(Some(Self { socket, id, groups })),
            _ => Err(Error::other(name, "the kernel names no number for this family")),
        }
    }

    /// Subscribes to events of these groups. A group that the family does not have is left out.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn events(&self, groups: &[&str]) -> Result<Events, Error> {
        let wanted = self.groups.iter().filter(|(name, _)| groups.contains(&name.as_str()));
        // The address has the first 32 groups; the numbers of generic families are given out from 1 on.
        let mask =
            wanted.filter(|(_, id)| (1..=32).contains(id)).fold(0, |mask, (_, id)| mask | 1 << (id - 1));
        let socket = NetlinkSocket::of_protocol(Some(protocol::GENERIC))?;
        socket.join(mask)?;
        Ok(Events { socket, id: self.id })
    }

    /// Sends a command and returns the answers; `what` names it in an error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn command(
        &mut self,
        what: &str,
        command: u8,
        attributes: &[Attribute],
    ) -> Result<Vec<Answer>, Error> {
        let request = NetlinkRequest { kind: self.id, flags: 0, body: body(command, attributes) };
        let answers = self.socket.get(what, &request, self.id)?;
        Ok(answers.iter().filter_map(|bytes| parse(bytes)).collect())
    }

    /// Sends a command without waiting for an answer, and without learning of a refusal.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn post(&self, command: u8, attributes: &[Attribute]) -> Result<(), Error> {
        self.socket.post(self.id, &body(command, attributes))
    }

    /// Returns the messages that the kernel has sent to this socket unasked, without waiting; `None` if some were lost.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn unasked(&self) -> Result<Option<Vec<Answer>>, Error> {
        self.socket.receive_now(self.id).map(answers)
    }

    /// Asks for a list.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn list(&mut self, command: u8, attributes: &[Attribute]) -> Result<Vec<Answer>, Error> {
        let answers = self.socket.dump(self.id, &body(command, attributes), self.id)?;
        Ok(answers.iter().filter_map(|bytes| parse(bytes)).collect())
    }
}

impl Events {
    /// Returns the events that have arrived, without waiting; `None` if some were lost.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn read(&mut self) -> Result<Option<Vec<Answer>>, Error> {
        self.socket.receive_now(self.id).map(answers)
    }
}

impl std::os::fd::AsFd for Family {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl std::os::fd::AsFd for Events {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The answers in the bodies of messages, unless some were lost.
fn answers(bodies: Option<Vec<Vec<u8>>>) -> Option<Vec<Answer>> {
    bodies.map(|bodies| bodies.iter().filter_map(|bytes| parse(bytes)).collect())
}

fn body(command: u8, attributes: &[Attribute]) -> Vec<u8> {
    let mut bytes = vec![command, 1, 0, 0];
    for (kind, value) in attributes {
        attribute::push(&mut bytes, *kind, value);
    }
    bytes
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let (header, rest) = bytes.split_first_chunk::<GENLMSGHDR>()?;
    Some((header[0], attribute::parse(rest)))
}

/// The value of the attribute `kind`.
pub fn value(attributes: &[Attribute], kind: u16) -> Option<&[u8]> {
    attributes.iter().find(|(found, _)| *found == kind).map(|(_, value)| value.as_slice())
}

/// The attribute `kind` as an unsigned number of one, two, four or eight bytes.
pub fn number(attributes: &[Attribute], kind: u16) -> Option<u64> {
    let bytes = value(attributes, kind)?;
    Some(match bytes.len() {
        1 => bytes[0].into(),
        2 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
        4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
        8 => u64::from_ne_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

/// The attribute `kind` as a text, whose terminator is left out.
pub fn text(attributes: &[Attribute], kind: u16) -> Option<String> {
    let bytes = value(attributes, kind)?;
    Some(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
}
