//! Simulated Wi-Fi radios of Linux (mac80211_hwsim) whose frames go through a program: the medium between them.
//!
//! A program that has [registered](Hwsim::open) is given each frame that a radio sends, delivers it to the radios that are to
//! receive it, and reports to the sender whether it was acknowledged (`drivers/net/wireless/mac80211_hwsim.h`). The program
//! has to run in the network namespace in which the radios were made.
//!
//! Left out: several channels, HT and later rates, and frames below 24 bytes, which the kernel does not take back: PS-Polls and
//! acknowledgements.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::sockopt;

use crate::Error;
use crate::netlink::attribute::Attribute;
use crate::netlink::generic::{Answer, Family, number, value};

const FAMILY: &str = "MAC80211_HWSIM";
const HWSIM_CMD_REGISTER: u8 = 1;
const HWSIM_CMD_FRAME: u8 = 2;
const HWSIM_CMD_TX_INFO_FRAME: u8 = 3;
const HWSIM_ATTR_ADDR_RECEIVER: u16 = 1;
const HWSIM_ATTR_ADDR_TRANSMITTER: u16 = 2;
const HWSIM_ATTR_FRAME: u16 = 3;
const HWSIM_ATTR_FLAGS: u16 = 4;
const HWSIM_ATTR_RX_RATE: u16 = 5;
const HWSIM_ATTR_SIGNAL: u16 = 6;
const HWSIM_ATTR_TX_INFO: u16 = 7;
const HWSIM_ATTR_COOKIE: u16 = 8;
const HWSIM_ATTR_FREQ: u16 = 19;
const HWSIM_TX_STAT_ACK: u32 = 1 << 2;
/// Shortest frame that the kernel takes back: a MAC header with three addresses.
const SHORTEST: usize = 24;
/// Attempts that a report has room for.
const RATES: usize = 4;
/// Bit rates of the driver in the 2.4 GHz band in units of 100 kbit/s; the 5 GHz band has those from the fifth on.
const BIT_RATES: [u64; 12] = [10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540];
const DSSS_RATES: usize = 4;
/// The first frequency of the 5 GHz band that a radio of this driver uses, in MHz.
const FIVE_GHZ: u32 = 5_000;

/// The address of a radio: the second address of its interfaces.
pub type RadioAddress = [u8; 6];

/// A frame that a radio sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// The radio.
    pub radio: RadioAddress,
    /// The frame without its FCS.
    pub bytes: Vec<u8>,
    /// The centre of its channel in MHz.
    pub frequency_mhz: u32,
    /// What identifies it in the report to its sender.
    cookie: u64,
    flags: u32,
}

impl SentFrame {
    /// A frame that no kernel has sent, for tests of a medium.
    pub const fn new(radio: RadioAddress, bytes: Vec<u8>, frequency_mhz: u32) -> Self {
        Self { radio, bytes, frequency_mhz, cookie: 0, flags: 0 }
    }
}

/// Bytes of frames that may wait for the medium. An access point releases its whole power-save buffer at once, which the default of
/// some 200 kB does not take. A frame that finds no room is never reported to its sender; if it was the last of a service
/// period, mac80211 keeps that period open for ever and ignores every further trigger of the station.
const RECEIVE_BUFFER: usize = 16 << 20;

/// The medium between the simulated radios of this kernel.
#[derive(Debug)]
pub struct Hwsim(Family);

impl Hwsim {
    /// Becomes the medium; `None` if this kernel has no simulated radios.
    ///
    /// # Errors
    /// If another program is the medium already, or the privilege is missing (`CAP_NET_ADMIN`).
    pub fn open() -> Result<Option<Self>, Error> {
        let Some(mut family) = Family::open(FAMILY)? else { return Ok(None) };
        sockopt::set_socket_recv_buffer_size_force(&family, RECEIVE_BUFFER)
            .map_err(Error::of("the medium of mac80211_hwsim"))?;
        family.command("the medium of mac80211_hwsim", HWSIM_CMD_REGISTER, &[])?;
        Ok(Some(Self(family)))
    }

    /// The frames that radios have sent, without waiting. Returns `None` if some were lost: the kernel has had no room for them.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn read(&self) -> Result<Option<Vec<SentFrame>>, Error> {
        let messages = self.0.unasked()?;
        Ok(messages.map(|messages| messages.iter().filter_map(sent_frame).collect()))
    }

    /// Delivers a frame to a radio, as received at this rate in bit/s with this signal.
    ///
    /// # Errors
    /// If the socket fails. The kernel drops what a radio cannot receive on its channel.
    pub fn deliver(
        &self,
        to: RadioAddress,
        frame: &SentFrame,
        rate_bps: u64,
        signal_dbm: i32,
    ) -> Result<(), Error> {
        if frame.bytes.len() < SHORTEST {
            return Ok(());
        }
        let rate = rate_index(rate_bps, frame.frequency_mhz);
        self.0.post(
            HWSIM_CMD_FRAME,
            &[
                (HWSIM_ATTR_ADDR_RECEIVER, to.to_vec()),
                (HWSIM_ATTR_FRAME, frame.bytes.clone()),
                (HWSIM_ATTR_RX_RATE, u32::from(rate).to_ne_bytes().to_vec()),
                (HWSIM_ATTR_SIGNAL, signal_dbm.to_ne_bytes().to_vec()),
                (HWSIM_ATTR_FREQ, frame.frequency_mhz.to_ne_bytes().to_vec()),
            ],
        )
    }

    /// Reports to its sender that a frame has left the medium after this many attempts at this rate.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn report(
        &self,
        frame: &SentFrame,
        acknowledged: bool,
        attempts: u32,
        rate_bps: u64,
        signal_dbm: i32,
    ) -> Result<(), Error> {
        let flags = frame.flags | if acknowledged { HWSIM_TX_STAT_ACK } else { 0 };
        let rate = rate_index(rate_bps, frame.frequency_mhz);
        let mut attempts_by_rate = Vec::from([rate, u8::try_from(attempts).unwrap_or(u8::MAX)]);
        // An index of -1 ends the list.
        (1..RATES).for_each(|_| attempts_by_rate.extend([u8::MAX, 0]));
        self.0.post(
            HWSIM_CMD_TX_INFO_FRAME,
            &[
                (HWSIM_ATTR_ADDR_TRANSMITTER, frame.radio.to_vec()),
                (HWSIM_ATTR_FLAGS, flags.to_ne_bytes().to_vec()),
                (HWSIM_ATTR_SIGNAL, signal_dbm.to_ne_bytes().to_vec()),
                (HWSIM_ATTR_TX_INFO, attempts_by_rate),
                (HWSIM_ATTR_COOKIE, frame.cookie.to_ne_bytes().to_vec()),
            ],
        )
    }
}

impl AsFd for Hwsim {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn sent_frame((command, attributes): &Answer) -> Option<SentFrame> {
    if *command != HWSIM_CMD_FRAME {
        return None;
    }
    let attributes: &[Attribute] = attributes;
    let word = |kind| number(attributes, kind).and_then(|number| u32::try_from(number).ok());
    Some(SentFrame {
        radio: value(attributes, HWSIM_ATTR_ADDR_TRANSMITTER)?.try_into().ok()?,
        bytes: value(attributes, HWSIM_ATTR_FRAME)?.to_vec(),
        frequency_mhz: word(HWSIM_ATTR_FREQ).unwrap_or(0),
        cookie: number(attributes, HWSIM_ATTR_COOKIE)?,
        flags: word(HWSIM_ATTR_FLAGS)?,
    })
}

/// The index of a rate among those of the driver: the highest that is not above it.
fn rate_index(rate_bps: u64, frequency_mhz: u32) -> u8 {
    let first = if frequency_mhz >= FIVE_GHZ { DSSS_RATES } else { 0 };
    let rates = BIT_RATES[first..].iter().enumerate().filter(|(_, rate)| **rate * 100_000 <= rate_bps);
    rates.max_by_key(|(_, rate)| **rate).map_or(0, |(index, _)| index as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(attributes: &[Attribute]) -> Answer {
        (HWSIM_CMD_FRAME, attributes.to_vec())
    }

    #[test]
    fn a_frame_is_read_and_what_is_incomplete_is_left_out() {
        let whole = [
            (HWSIM_ATTR_ADDR_TRANSMITTER, vec![0x42, 0, 0, 0, 1, 0]),
            (HWSIM_ATTR_FRAME, vec![0x80, 0]),
            (HWSIM_ATTR_FLAGS, 2_u32.to_ne_bytes().to_vec()),
            (HWSIM_ATTR_FREQ, 2_412_u32.to_ne_bytes().to_vec()),
            (HWSIM_ATTR_COOKIE, 7_u64.to_ne_bytes().to_vec()),
        ];
        let frame = sent_frame(&message(&whole)).unwrap();
        assert_eq!((frame.radio, frame.bytes.len()), ([0x42, 0, 0, 0, 1, 0], 2));
        assert_eq!((frame.frequency_mhz, frame.cookie, frame.flags), (2_412, 7, 2));
        assert_eq!(sent_frame(&message(&whole[1..])), None);
        assert_eq!(sent_frame(&message(&whole[..4])), None);
        assert_eq!(sent_frame(&(HWSIM_CMD_REGISTER, whole.to_vec())), None);
    }

    #[test]
    fn rates_are_those_of_the_driver() {
        assert_eq!(rate_index(54_000_000, 2_412), 11);
        assert_eq!(rate_index(54_000_000, 5_180), 7);
        assert_eq!(rate_index(1_000_000, 2_412), 0);
        assert_eq!(rate_index(11_000_000, 2_412), 3);
        assert_eq!(rate_index(65_000_000, 2_412), 11);
    }
}
