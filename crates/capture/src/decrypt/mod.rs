//! Decryption of data frames with the passphrase or the key of a network with WPA2-Personal, and its handshakes in the capture.
//!
//! Frames are taken in the order of the file, so a frame is opened with the newest key whose handshake precedes it, or with the
//! one before: a station that renews its key may still have frames in its queue. Each cipher's checksum decides; what does not fit
//! stays as it is and is counted with its reason. Nothing of keys and passphrases leaves this module.
//!
//! Left out: TKIP and WEP, keys of 256 bits, SAE (no key follows from its frames), 802.1X, fast transition, protected
//! management frames, and frames of which the capture lacks bytes, whose checksum cannot be verified.

mod cipher;
mod handshake;
mod keys;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use airwatt_dot11::{Elements, Frame, MacAddress, snap_payload};
use schemars::JsonSchema;
use serde::Serialize;

use self::cipher::{CipherHeader, TemporalKey};
use self::handshake::{KeyFrame, Message, Nonce, PairwiseKeys, Suite, TYPE_EAPOL};
use self::keys::MasterKey;
pub use self::keys::{NetworkKey, ParseKeyError};

#[cfg(test)]
mod tests;

/// Pairs of access point and station that are followed, networks whose names are kept, and keys that are derived from passphrases,
/// which takes milliseconds each: what a hostile file may cost.
const MOST_PAIRS: usize = 4_096;
const MOST_NETWORKS: usize = 4_096;
const MOST_DERIVED: usize = 256;
/// Keys that are kept of each pair and of each of a group's key identifiers, the newest last.
const KEPT_KEYS: usize = 2;
/// Stations that a report names for each reason.
const MOST_NAMED: usize = 20;

/// The decryption of a capture's data frames.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DecryptionReport {
    /// `decrypted`: every frame; `partly`; `undecidable`: none, or there is none.
    pub verdict: &'static str,
    /// Protected data frames, without those that are damaged.
    pub protected_frames: u64,
    /// Those that were decrypted.
    pub decrypted_frames: u64,
    /// Why the others were not, the most frequent reason first.
    pub undecidable: Vec<UndecryptedReport>,
}

impl DecryptionReport {
    /// Why no frame was decrypted, if none was.
    pub(crate) fn locked(&self) -> Option<String> {
        Some(self.undecidable.first().filter(|_| self.decrypted_frames == 0)?.reason.clone())
    }
}

/// Frames that could not be decrypted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UndecryptedReport {
    /// The reason, in words.
    pub reason: String,
    /// Their number.
    pub frames: u64,
    /// The packet number of the first of them.
    pub first_packet: u32,
    /// The number of stations whose frames they are; all group-addressed frames of a cell count as one.
    pub station_count: usize,
    /// Their addresses, up to 20; that of the access point for group-addressed frames.
    pub stations: Vec<String>,
}

/// The reason for which a frame was not decrypted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    NoHandshake,
    NoName,
    OtherName(String),
    WrongKey,
    Suite(&'static str),
    NoGroupKey,
    Wep,
    Cut,
    Damaged,
    TooMany,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHandshake => {
                "no 4-way handshake before them in the capture, of which message 2, and 1 or 3, are needed"
            }
            Self::NoName => {
                "the name of their network is not in the capture before them; hint: --wpa-pwd PASSPHRASE:SSID"
            }
            Self::OtherName(name) => return write!(f, "no passphrase is given for their network, {name:?}"),
            Self::WrongKey => "no given passphrase or key fits their handshake",
            Self::Suite(what) => what,
            Self::NoGroupKey => {
                "the handshake that brings the group's key was not captured or not decrypted before them"
            }
            Self::Wep => "they are protected by WEP, or their header is cut short",
            Self::Cut => "the capture keeps too few of their bytes",
            Self::Damaged => "their checksums do not fit the keys of the handshake before them: a later handshake is missing",
            Self::TooMany => "the capture has more pairs of stations, or more networks, than are followed",
        })
    }
}

/// Follows the handshakes of a capture and opens its frames.
#[derive(Default)]
pub(crate) struct Decryption {
    keys: Vec<NetworkKey>,
    /// Names of networks by BSSID.
    names: BTreeMap<MacAddress, Vec<u8>>,
    /// Master keys by the place of the key in `keys` and the name of the network.
    derived: BTreeMap<(usize, Vec<u8>), MasterKey>,
    /// By access point and station.
    pairs: BTreeMap<(MacAddress, MacAddress), Pair>,
    /// By access point and key identifier.
    groups: BTreeMap<(MacAddress, u8), Vec<TemporalKey>>,
    /// Which file is read.
    file: usize,
    protected: u64,
    decrypted: u64,
    tallies: BTreeMap<Reason, Tally>,
}

/// Frames that were not decrypted for one reason.
struct Tally {
    frames: u64,
    /// The first packet, by its file and its number there.
    first: (usize, u32),
    stations: BTreeSet<MacAddress>,
}

/// An access point and a station.
#[derive(Default)]
struct Pair {
    /// The access point's nonce with the replay counter of the first message that has it.
    offer: Option<(Nonce, u64)>,
    answer: Option<Answer>,
    /// The message with the group's key that could not be opened yet.
    group_message: Option<KeyFrame>,
    /// The newest last, with the suite of their handshake.
    keys: Vec<(Suite, PairwiseKeys)>,
    /// Why the newest handshake gave no key.
    failure: Option<Reason>,
}

/// The second message of a handshake.
struct Answer {
    frame: KeyFrame,
    suite: Result<Suite, &'static str>,
    /// Whether it was compared with the offer as it stands.
    is_tried: bool,
}

impl Decryption {
    pub(crate) fn new(keys: &[NetworkKey]) -> Self {
        Self { keys: keys.to_vec(), ..Self::default() }
    }

    /// The next packets are those of another file of the capture.
    pub(crate) fn next_file(&mut self) {
        self.file += 1;
    }

    /// Takes the name of a network from a management frame.
    pub(crate) fn name(&mut self, bssid: MacAddress, elements: Elements<'_>) {
        let name =
            elements.ssid().filter(|name| !self.keys.is_empty() && name.iter().any(|octet| *octet != 0));
        let Some(name) = name else { return };
        if self.names.len() < MOST_NETWORKS || self.names.contains_key(&bssid) {
            self.names.insert(bssid, name.to_vec());
        }
    }

    /// Takes the body of a data frame that is not protected, for the handshakes.
    pub(crate) fn observe(&mut self, frame: &Frame<'_>, body: &[u8]) {
        let header = frame.header();
        let Some(sender) = header.address2.filter(|_| !self.keys.is_empty()) else { return };
        let Some((TYPE_EAPOL, eapol)) = snap_payload(body) else { return };
        let Some(message) = KeyFrame::read(eapol) else { return };
        let ends = if header.control.from_ds { (sender, header.address1) } else { (header.address1, sender) };
        if self.pairs.len() < MOST_PAIRS || self.pairs.contains_key(&ends) {
            self.handshake(ends, message);
        }
    }

    /// What a protected data frame carries; `None` if it cannot be decrypted, or no key is given. `whole` says whether no byte of it is missing.
    pub(crate) fn open(&mut self, frame: &Frame<'_>, whole: bool, packet: u32) -> Option<Vec<u8>> {
        if self.keys.is_empty() {
            return None;
        }
        self.protected += 1;
        match self.opened(frame, whole) {
            Ok(body) => {
                self.decrypted += 1;
                self.observe(frame, &body);
                Some(body)
            }
            Err((reason, station)) => {
                let first = (self.file, packet);
                let new = || Tally { frames: 0, first, stations: BTreeSet::new() };
                let tally = self.tallies.entry(reason).or_insert_with(new);
                tally.frames += 1;
                if tally.stations.len() < MOST_PAIRS {
                    tally.stations.insert(station);
                }
                None
            }
        }
    }

    fn opened(&mut self, frame: &Frame<'_>, whole: bool) -> Result<Vec<u8>, (Reason, MacAddress)> {
        let header = frame.header();
        let sender = header.address2.unwrap_or_default();
        let is_group = header.address1.is_group();
        let station = if header.control.from_ds && !is_group { header.address1 } else { sender };
        let failed = |reason| (reason, station);
        let cipher_header = CipherHeader::read(frame.body()).ok_or(failed(Reason::Wep))?;
        let mut failure = None;
        let keys: Vec<&TemporalKey> = if is_group {
            let keys = self.groups.get(&(sender, cipher_header.key)).ok_or(failed(Reason::NoGroupKey))?;
            keys.iter().collect()
        } else {
            let (down, up) = ((sender, header.address1), (header.address1, sender));
            let ends = match (header.control.from_ds, header.control.to_ds) {
                // Between two access points either may have begun the handshake.
                (true, true) if !self.pairs.contains_key(&down) => up,
                (true, _) => down,
                _ => up,
            };
            self.try_again(ends);
            let pair = self.pairs.get(&ends);
            failure = pair.and_then(|pair| pair.failure.clone());
            let keys = pair.map_or(&[][..], |pair| &pair.keys);
            if keys.is_empty() {
                let is_full = pair.is_none() && self.pairs.len() >= MOST_PAIRS;
                let unknown = if is_full { Reason::TooMany } else { Reason::NoHandshake };
                return Err(failed(failure.unwrap_or(unknown)));
            }
            keys.iter().map(|(_, keys)| &keys.temporal).collect()
        };
        if !whole {
            return Err(failed(Reason::Cut));
        }
        let opened = keys.into_iter().rev().find_map(|key| key.open(frame, cipher_header));
        opened.ok_or_else(|| failed(failure.unwrap_or(Reason::Damaged)))
    }

    /// A message of a handshake between an access point and a station.
    fn handshake(&mut self, ends: (MacAddress, MacAddress), frame: KeyFrame) {
        let pair = self.pairs.entry(ends).or_default();
        let tries = |pair: &mut Pair| pair.answer.iter_mut().for_each(|answer| answer.is_tried = false);
        match frame.message() {
            Message::First => {
                pair.offer = Some((frame.nonce, frame.replay));
                tries(pair);
            }
            Message::Second => {
                let suite = frame.suite();
                pair.answer = Some(Answer { frame, suite, is_tried: false });
            }
            Message::Third => {
                // Its counter is one above that of the first message, which has the same nonce.
                pair.offer = Some((frame.nonce, frame.replay.wrapping_sub(1)));
                tries(pair);
                pair.group_message = Some(frame);
            }
            Message::Group => pair.group_message = Some(frame),
            Message::Last => return,
        }
        self.try_again(ends);
    }

    /// Tries the given keys at a handshake that none has fit so far, and opens the message with the group's key.
    fn try_again(&mut self, ends: (MacAddress, MacAddress)) {
        let Some(mut pair) = self.pairs.remove(&ends) else { return };
        if let Some((suite, keys)) = self.fitting(ends, &mut pair)
            && !pair.keys.last().is_some_and(|(_, last)| *last == keys)
        {
            push(&mut pair.keys, (suite, keys));
        }
        let genuine = pair.group_message.as_ref().and_then(|message| {
            let (suite, keys) =
                pair.keys.iter().rev().find(|(suite, keys)| message.is_genuine(*suite, keys))?;
            Some(message.group_key(*suite, keys))
        });
        if let Some(key) = genuine {
            pair.group_message = None;
            if let Some((identifier, key)) = key {
                let known = self.groups.entry((ends.0, identifier)).or_default();
                if known.last() != Some(&key) {
                    push(known, key);
                }
            }
        }
        self.pairs.insert(ends, pair);
    }

    /// The keys that fit the checksum of the second message, if it was not tried before.
    fn fitting(&mut self, ends: (MacAddress, MacAddress), pair: &mut Pair) -> Option<(Suite, PairwiseKeys)> {
        let (nonce, replay) = pair.offer?;
        let answer = pair.answer.as_mut().filter(|answer| !answer.is_tried)?;
        let suite = match answer.suite {
            Ok(suite) => suite,
            Err(what) => {
                pair.failure = Some(Reason::Suite(what));
                return None;
            }
        };
        match self.master_keys(ends.0) {
            Ok(candidates) => {
                answer.is_tried = true;
                let keys = candidates
                    .iter()
                    .map(|master| PairwiseKeys::derive(master, suite, ends, (&nonce, &answer.frame.nonce)));
                let fitting = keys.into_iter().find(|keys| answer.frame.is_genuine(suite, keys));
                // Messages of two handshakes prove nothing about the key.
                let is_proof = answer.frame.replay == replay;
                match &fitting {
                    Some(_) => pair.failure = None,
                    None if is_proof => pair.failure = Some(Reason::WrongKey),
                    None => {}
                }
                Some((suite, fitting?))
            }
            Err(reason) => {
                pair.failure = Some(reason);
                None
            }
        }
    }

    /// The master keys that the network of an access point may have.
    fn master_keys(&mut self, ap: MacAddress) -> Result<Vec<MasterKey>, Reason> {
        let name = self.names.get(&ap);
        let mut found = Vec::new();
        for (place, key) in
            self.keys.iter().enumerate().filter(|(_, key)| key.is_for(name.map(Vec::as_slice)))
        {
            if name.is_none() && !key.needs_no_name() {
                continue;
            }
            let entry = (place, name.cloned().unwrap_or_default());
            if self.derived.len() >= MOST_DERIVED && !self.derived.contains_key(&entry) {
                return Err(Reason::TooMany);
            }
            let master =
                self.derived.get(&entry).copied().or_else(|| key.master_key(name.map(Vec::as_slice)));
            if let Some(master) = master {
                self.derived.insert(entry, master);
                found.push(master);
            }
        }
        match name {
            _ if !found.is_empty() => Ok(found),
            Some(name) => Err(Reason::OtherName(String::from_utf8_lossy(name).into_owned())),
            None => Err(Reason::NoName),
        }
    }

    /// What became of the protected frames; `None` if no key was given. `number` gives the number in the capture of a packet of a file.
    pub(crate) fn report(&self, number: impl Fn(usize, u32) -> u32) -> Option<DecryptionReport> {
        let undecidable = |(reason, tally): (&Reason, &Tally)| UndecryptedReport {
            reason: reason.to_string(),
            frames: tally.frames,
            first_packet: number(tally.first.0, tally.first.1),
            station_count: tally.stations.len(),
            stations: tally.stations.iter().take(MOST_NAMED).map(MacAddress::to_string).collect(),
        };
        let mut undecidable: Vec<UndecryptedReport> = self.tallies.iter().map(undecidable).collect();
        undecidable.sort_by_key(|one| std::cmp::Reverse(one.frames));
        let verdict = match (self.decrypted, self.protected) {
            (0, _) => "undecidable",
            (some, all) if some == all => "decrypted",
            _ => "partly",
        };
        (!self.keys.is_empty()).then_some(DecryptionReport {
            verdict,
            protected_frames: self.protected,
            decrypted_frames: self.decrypted,
            undecidable,
        })
    }
}

/// Appends the newest of a list that keeps the last few.
fn push<T>(list: &mut Vec<T>, newest: T) {
    if list.len() == KEPT_KEYS {
        list.remove(0);
    }
    list.push(newest);
}
