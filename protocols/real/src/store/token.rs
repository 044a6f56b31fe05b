//! Authenticated fencing tokens, like Chubby's sequencers: a forged high token could block a resource for good (fencing
//! rule 4).
//!
//! `mac = HMAC-SHA256(key, "fencepost token 1" NUL node NUL generation NUL token)` in hex, with decimal numbers, so a
//! shell can compute one:
//!
//! ```text
//! printf 'fencepost token 1\0%s\0%s\0%s' n1 65537 7 | openssl dgst -sha256 -hmac "$(cat key)"
//! ```
//!
//! The key can authenticate any token, so only the fleet may have it. An overheard MAC can be replayed until a newer
//! token is sealed; TLS prevents that. Source: Burrows, "The Chubby lock service" (OSDI 2006), §2.4; RFC 2104.

use data_encoding::HEXLOWER_PERMISSIVE;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// The shortest key, bytes.
pub const KEY_MIN: usize = 16;
/// The length of a MAC in hex digits.
pub const MAC_DIGITS: usize = 64;

/// Why a token key, or the choice to do without one, is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    #[error("a token key of {0} bytes is too short; it needs at least {KEY_MIN}")]
    Short(usize),
    #[error("this token key cannot be used: {0}")]
    Unusable(String),
    #[error("the token key {file} cannot be read: {why}", file = file.display())]
    Unread { file: PathBuf, why: String },
    #[error("{file}: {why}", file = file.display())]
    In { file: PathBuf, why: Box<KeyError> },
    #[error("a token key and insecure exclude each other; leave one out")]
    Unwanted,
    #[error(
        "without a token key any client could brick the store with a forged token: give --token-key, or say --insecure to do \
         without"
    )]
    None,
}

/// The fleet's secret. `Debug` prints none of it.
#[derive(Clone)]
pub struct TokenKey(Hmac<Sha256>);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("TokenKey(secret)")
    }
}

impl TokenKey {
    /// A key from these bytes, without surrounding white space.
    ///
    /// # Errors
    /// They are fewer than [`KEY_MIN`]; as one sentence.
    pub fn new(secret: &[u8]) -> Result<Self, KeyError> {
        let secret = secret.trim_ascii();
        if secret.len() < KEY_MIN {
            return Err(KeyError::Short(secret.len()));
        }
        // HMAC accepts keys of any length.
        Hmac::new_from_slice(secret).map(TokenKey).map_err(|e| KeyError::Unusable(e.to_string()))
    }

    /// The key in the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or holds too few bytes; as one sentence.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let file = path.to_owned();
        let secret = fs::read(path).map_err(|e| KeyError::Unread { file: file.clone(), why: e.to_string() })?;
        Self::new(&secret).map_err(|why| KeyError::In { file, why: why.into() })
    }

    /// The MAC of `token`, in hex.
    pub fn mac(&self, node: &str, generation: u32, token: u64) -> String {
        HEXLOWER_PERMISSIVE.encode(&self.start(node, generation, token).finalize().into_bytes())
    }

    /// Whether `mac` authenticates `token`. Takes constant time for wrong digits.
    pub fn verify(&self, node: &str, generation: u32, token: u64, mac: &str) -> bool {
        let mac = HEXLOWER_PERMISSIVE.decode(mac.as_bytes()).unwrap_or_default();
        self.start(node, generation, token).verify_slice(&mac).is_ok()
    }

    fn start(&self, node: &str, generation: u32, token: u64) -> Hmac<Sha256> {
        // Names contain no NUL, so the encoding is unambiguous.
        self.0.clone().chain_update(format!("fencepost token 1\0{node}\0{generation}\0{token}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_vouches_for_one_node_one_term_and_one_token() {
        let key = TokenKey::new(b"0123456789abcdef\n").expect("long enough");
        let mac = key.mac("n1", 65_537, 7);
        assert_eq!(mac.len(), MAC_DIGITS);
        assert!(key.verify("n1", 65_537, 7, &mac) && key.verify("n1", 65_537, 7, &mac.to_uppercase()));
        assert!(!key.verify("n2", 65_537, 7, &mac) && !key.verify("n1", 65_538, 7, &mac));
        assert!(!key.verify("n1", 65_537, 8, &mac) && !key.verify("n1", 65_537, 7, &mac[..62]));
        assert!(!key.verify("n1", 65_537, 7, "") && !key.verify("n1", 65_537, 7, "garbage"));
        let other = TokenKey::new(b"fedcba9876543210").expect("long enough");
        assert!(!other.verify("n1", 65_537, 7, &mac));
    }

    /// The output of `openssl dgst -sha256 -hmac 0123456789abcdef`.
    #[test]
    fn anybody_can_compute_it() {
        let key = TokenKey::new(b"  0123456789abcdef\n").expect("long enough");
        assert_eq!(key.mac("n1", 65_537, 7), "805baab8a3fd4104eb41056eda33c2815cd538f534f3a672abf48c96f0040068");
    }

    #[test]
    fn a_short_key_is_refused_and_none_is_shown() {
        assert_eq!(TokenKey::new(b" short \n").map(|_| ()), Err(KeyError::Short(5)));
        let key = TokenKey::new(b"0123456789abcdef").expect("long enough");
        assert_eq!(format!("{key:?}"), "TokenKey(secret)");
        assert!(TokenKey::read(Path::new("/nowhere/key")).is_err());
    }
}
