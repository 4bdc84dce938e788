//! Messages of another implementation of WireGuard's handshake: boringtun 0.7.1 with private keys of 32 equal bytes (initiator 1,
//! responder 2, shared beforehand 9), recorded against this one. Both accepted the other's messages in both roles.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::guard::{Labels, append_macs, open_cookie};
use super::key::SecretKey;
use super::mac::mac;
use super::noise::Party;

/// The texts of WireGuard.
const WIREGUARD: Labels =
    Labels { prologue: b"WireGuard v1 zx2c4 Jason@zx2c4.com", mac1: b"mac1----", cookie: b"cookie--" };
const INITIATOR: SecretKey = SecretKey::from_bytes([1; 32]);
const RESPONDER: SecretKey = SecretKey::from_bytes([2; 32]);
const SHARED: SecretKey = SecretKey::from_bytes([9; 32]);
/// An IPv4 packet with UDP in it.
const PACKET: &str = "4500001c00000000401100000a0000010a0000020009000900080000";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Decrypts a data message of WireGuard, which does not authenticate its header.
fn open(key: &[u8; 32], message: &[u8]) -> Vec<u8> {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&message[8..16]);
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).unwrap());
    let mut sealed = message[16..].to_vec();
    key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed).unwrap().to_vec()
}

#[test]
fn the_other_implementation_begins() {
    let initiation = bytes(
        "01000000014d00009aa5d192e477cd035e6af848e6e74e343e216b4f1c644475fb62810330f84327bd763364643f2cff9eb919dbc33314becf4c51d9\
         17f0cb7df9daf4d1e6441fe742de731c8a4ea1ca0a5e5c74d4d17662a5bced27086801ce9da56baba92e452dcead7abd6d1162964bc90ddf66c75811\
         5c6987b0ff796ca1d8b6619d00000000000000000000000000000000",
    );
    assert_eq!(mac(&WIREGUARD.mac1_key(&RESPONDER.public()), &[&initiation[..116]]), initiation[116..132]);
    let party = Party { private: &RESPONDER, prologue: WIREGUARD.prologue, ephemeral: &[6; 32] };
    let read = party.read_initiation(initiation[8..116].try_into().unwrap()).unwrap();
    assert_eq!(read.from, INITIATOR.public());
    let (noise, keys) = read.respond(&SHARED).unwrap();
    let mut response = bytes("0200000044332211014d0000");
    response.extend(noise);
    append_macs(&mut response, &WIREGUARD.mac1_key(&INITIATOR.public()), None);
    let accepted = bytes(
        "0200000044332211014d0000f5b2d6e60f9477e310c2982daaa6c9136c108a1777c5947e448fa37d681745577bea412870d3f3621e483ddcc5c0419c\
         7b8558929a4f5dc77708ebd5772b8a5b00000000000000000000000000000000",
    );
    assert_eq!(response, accepted);
    let keep_alive = bytes("040000004433221100000000000000006bed350fbb58e4b771cc3b702a6bc5ea");
    assert!(open(&keys.receive, &keep_alive).is_empty());
    let data = bytes(
        "04000000443322110100000000000000096e191a75a4442981188d0153c0a03c57adb5d3da648be3c891bf4a9808c27773d9a4e81c07ada15e2adde1",
    );
    assert_eq!(open(&keys.receive, &data), bytes(PACKET));
}

#[test]
fn the_other_implementation_answers() {
    let timestamp = [0x40, 0, 0, 0, 0x6b, 0, 0, 0, 0, 0, 0, 1];
    let party = Party { private: &INITIATOR, prologue: WIREGUARD.prologue, ephemeral: &[5; 32] };
    let noise = party.initiate(&RESPONDER.public(), &SHARED, &timestamp).unwrap();
    let mut initiation = bytes("0100000044332211");
    initiation.extend(noise);
    let mac1 = append_macs(&mut initiation, &WIREGUARD.mac1_key(&RESPONDER.public()), None);
    let accepted = bytes(
        "010000004433221150a61409b1ddd0325e9b16b700e719e9772c07000b1bd7786e907c653d20495df34bf57f5c26ab391a4a1b2f459b4e3e06562fda\
         968197c59b322db677d2f88e24ac29d1422af4f60611f30454917cdc4b3926798d3ad415e13570df7c4a8b9bc20ef809b7ddff067406bab9495f8627\
         7d0593e69e8db1a1041fd12f00000000000000000000000000000000",
    );
    assert_eq!(initiation, accepted);
    let response = bytes(
        "02000000014e0000443322114f30146e89c0ee9607df48f3243fe00a29959ad346f68d34ad72b1ee8a232b458b77073ad029cdcc5e1bd2f90298310a\
         2491016330456774746df0bbfa50144c00000000000000000000000000000000",
    );
    let of_noise = response[12..60].try_into().unwrap();
    let keys = party.complete(&RESPONDER.public(), &SHARED, &timestamp, of_noise).unwrap();
    let data = bytes(
        "04000000443322110000000000000000b6c00d1f5f0d57f820833745785e305f171864dc75fd250277a36da63d69994780155f442b3a21dd0cb2516b",
    );
    assert_eq!(open(&keys.receive, &data), bytes(PACKET));
    assert!(
        party.complete(&RESPONDER.public(), &INITIATOR, &timestamp, of_noise).is_none(),
        "the shared key"
    );
    // Its cookie reply to this initiation.
    let reply = bytes(
        "03000000443322114f3af94a2bc1b79e6767191a76945fe3bc142509ef4a68c90837c367891531371e2230a585378888b6941ace23f7dbccb66185ea\
         11d64c06",
    );
    let (nonce, sealed) = (reply[8..32].try_into().unwrap(), reply[32..].try_into().unwrap());
    let cookie = open_cookie(&WIREGUARD.cookie_key(&RESPONDER.public()), &mac1, nonce, sealed);
    assert_eq!(cookie.map(Vec::from), Some(bytes("3b0fed8e276c0845d9b4bb34025bd6bf")));
}
