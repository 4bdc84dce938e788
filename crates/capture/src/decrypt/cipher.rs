//! CCMP and GCMP with keys of 128 bits (802.11-2020 12.5.3 and 12.5.5): from a protected body to what it carries.

use aes::Aes128;
use airwatt_dot11::{Frame, FrameControl, QosControl};
use ccm::aead::generic_array::typenum::{U8, U13};
use ccm::aead::{AeadInPlace, KeyInit};
use ring::aead;

/// Octets of the header that both ciphers put before the data: packet number and key identifier.
pub(super) const HEADER_BYTES: usize = 8;

/// A cipher of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    /// AES in CCM with a checksum of 8 octets.
    Ccmp,
    /// AES in GCM with a checksum of 16 octets.
    Gcmp,
}

/// A key for the frames between two stations, or for those of a group.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct TemporalKey {
    pub(super) cipher: Cipher,
    pub(super) octets: [u8; 16],
}

/// The header before the data of a protected body.
#[derive(Clone, Copy)]
pub(super) struct CipherHeader {
    /// The packet number, most significant octet first.
    number: [u8; 6],
    /// Which of a group's keys protects it.
    pub(super) key: u8,
}

impl CipherHeader {
    /// Reads it; `None` for a body that is too short, and for one of WEP, whose header has no extended IV.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let [first, second, _, key, third, fourth, fifth, sixth] = *body.first_chunk::<HEADER_BYTES>()?;
        let number = [sixth, fifth, fourth, third, second, first];
        (key & 0x20 != 0).then_some(Self { number, key: key >> 6 })
    }
}

impl TemporalKey {
    /// What the protected body of a frame carries; `None` if its checksum does not fit.
    pub(super) fn open(&self, frame: &Frame<'_>, header: CipherHeader) -> Option<Vec<u8>> {
        let is_amsdu = frame.header().qos.is_some_and(QosControl::amsdu);
        // Stations that both know signalled and protected A-MSDUs protect the bit that says that it is one.
        let forms = if is_amsdu { &[false, true][..] } else { &[false] };
        forms.iter().find_map(|spp| self.open_as(frame, header, *spp))
    }

    fn open_as(&self, frame: &Frame<'_>, header: CipherHeader, spp: bool) -> Option<Vec<u8>> {
        let sender = frame.header().address2?.0;
        let aad = authenticated(frame, spp);
        let mut data = frame.body().get(HEADER_BYTES..)?.to_vec();
        match self.cipher {
            Cipher::Ccmp => {
                let priority = frame.header().qos.map_or(0, QosControl::tid);
                let nonce = [&[priority][..], &sender, &header.number].concat();
                let cipher = ccm::Ccm::<Aes128, U8, U13>::new(&self.octets.into());
                cipher.decrypt_in_place(nonce.as_slice().into(), &aad, &mut data).ok()?;
            }
            Cipher::Gcmp => {
                let mut nonce = [0; 12];
                nonce[..6].copy_from_slice(&sender);
                nonce[6..].copy_from_slice(&header.number);
                let key = aead::UnboundKey::new(&aead::AES_128_GCM, &self.octets).ok()?;
                let nonce = aead::Nonce::assume_unique_for_key(nonce);
                let opened =
                    aead::LessSafeKey::new(key).open_in_place(nonce, aead::Aad::from(&aad), &mut data);
                let length = opened.ok()?.len();
                data.truncate(length);
            }
        }
        Some(data)
    }
}

/// The octets of the MAC header that the checksum protects besides the data (802.11-2020 12.5.3.3.3): without what changes in a
/// retransmission, and with the A-MSDU bit where both sides protect it (`spp`).
fn authenticated(frame: &Frame<'_>, spp: bool) -> Vec<u8> {
    const SUBTYPE_WITHOUT_QOS: u16 = 0x0070;
    let header = frame.header();
    let control = FrameControl {
        retry: false,
        power_management: false,
        more_data: false,
        protected: true,
        order: header.control.order && header.qos.is_none(),
        ..header.control
    };
    let mut octets = (control.to_bits() & !SUBTYPE_WITHOUT_QOS).to_le_bytes().to_vec();
    let addresses = [Some(header.address1), header.address2, header.address3];
    for address in addresses.into_iter().flatten() {
        octets.extend_from_slice(&address.0);
    }
    // The fragment number without the sequence number.
    octets.extend_from_slice(&(header.sequence_control.unwrap_or_default() & 0x000f).to_le_bytes());
    if let Some(address) = header.address4 {
        octets.extend_from_slice(&address.0);
    }
    if let Some(qos) = header.qos {
        let kept = if spp { 0x008f } else { 0x000f };
        octets.extend_from_slice(&(qos.0 & kept).to_le_bytes());
    }
    octets
}
