//! The Diffie-Hellman exchange of handshakes: X25519 (RFC 7748).
//!
//! Built with `--cfg fuzzing`, as `make fuzz` does and nothing else, it is a stand-in without secrecy that takes nanoseconds: a handshake
//! has sixteen scalar multiplications, which were nearly all of the time of an input. `airwattd` refuses to be built so.

use snow::types::Dh;

/// A pair of keys, of which the private one is set later.
#[cfg(not(fuzzing))]
pub(super) fn pair() -> Box<dyn Dh> {
    use snow::resolvers::CryptoResolver as _;

    let x25519 = snow::resolvers::DefaultResolver.resolve_dh(&snow::params::DHChoice::Curve25519);
    x25519.expect("compiled in")
}

#[cfg(fuzzing)]
pub(super) fn pair() -> Box<dyn Dh> {
    Box::new(StandIn([0; 32]))
}

/// A private key is its own public key, and what two keys share is their bitwise difference, which both ends compute.
#[cfg(fuzzing)]
struct StandIn([u8; 32]);

#[cfg(fuzzing)]
impl Dh for StandIn {
    fn name(&self) -> &'static str {
        "stand-in"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, private: &[u8]) {
        self.0.copy_from_slice(private);
    }

    fn generate(&mut self, random: &mut dyn snow::types::Random) -> Result<(), snow::Error> {
        random.try_fill_bytes(&mut self.0)
    }

    fn pubkey(&self) -> &[u8] {
        &self.0
    }

    fn privkey(&self) -> &[u8] {
        &self.0
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
        out.iter_mut().zip(self.0.iter().zip(public)).for_each(|(out, (own, other))| *out = own ^ other);
        Ok(())
    }
}
