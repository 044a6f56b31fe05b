//! Authenticated requests, after Chubby's sequencers: a forged high token could block a resource for good (fencing
//! rule 4).
//!
//! The MAC of a request is HMAC-SHA256 in hex, over its fields in the order of [`wire`], each behind a NUL, with
//! decimal numbers, so a shell can compute one:
//!
//! ```text
//! printf 'fencepost seal 2\0%s\0%s\0%s\0%s\0%s' sequence n1 65537 7 false | openssl dgst -sha256 -hmac "$(cat key)"
//! printf 'fencepost write 2\0%s\0%s\0%s\0%s\0%s\0%s\0%s\0%s\0%s\0%s' sequence n1 65537 7 42 41 shop:9 record '' '' | …
//! ```
//!
//! It covers the whole request, so one that was overheard authenticates only the very same request again. A network
//! that delivers twice or late does no less: the ledger answers it as a duplicate, or fences it. The key can
//! authenticate any request, so only the fleet may have it. Source: Burrows, "The Chubby lock service" (OSDI 2006),
//! §2.4; RFC 2104.

use super::wire::{self, Request, Seal, Write};
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

    /// The same request with its MAC; one for the state has none.
    pub fn sign(&self, mut request: Request) -> Request {
        let signature = self.start(&request).map(|mac| HEXLOWER_PERMISSIVE.encode(&mac.finalize().into_bytes()));
        if let (Request::Seal(Seal { mac, .. }) | Request::Write(Write { mac, .. }), Some(signature)) =
            (&mut request, signature)
        {
            *mac = signature;
        }
        request
    }

    /// Whether the request's MAC authenticates it, or it needs none. Takes constant time for wrong digits.
    pub fn verify(&self, request: &Request) -> bool {
        let (Some(by), Some(expected)) = (request.authority(), self.start(request)) else { return true };
        let mac = HEXLOWER_PERMISSIVE.decode(by.mac.as_bytes()).unwrap_or_default();
        expected.verify_slice(&mac).is_ok()
    }

    fn start(&self, request: &Request) -> Option<Hmac<Sha256>> {
        // No field contains a NUL, and the first one says how many there are, so the encoding is unambiguous.
        let text = match request {
            Request::State(_) => return None,
            Request::Seal(Seal { resource, node, generation, token, payload, mac: _ }) => {
                let resource = wire::name((*resource).into());
                format!("fencepost seal 2\0{resource}\0{node}\0{generation}\0{token}\0{payload}")
            }
            Request::Write(Write {
                resource,
                node,
                generation,
                token,
                seq,
                read_version,
                request,
                operation,
                payload,
                mac: _,
            }) => {
                let (resource, operation) = (wire::name((*resource).into()), operation.name());
                let recorded = payload.map_or("\0".to_owned(), |p| format!("{}\0{}", p.number, p.at_us));
                format!(
                    "fencepost write 2\0{resource}\0{node}\0{generation}\0{token}\0{seq}\0{read_version}\0{request}\0{operation}\0{recorded}"
                )
            }
        };
        Some(self.0.clone().chain_update(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAL: &str = r#"{"seal":{"resource":"sequence","node":"n1","generation":65537,"token":7}}"#;
    const WRITE: &str = r#"{"write":{"resource":"sequence","node":"n1","generation":65537,"token":7,"seq":42,"read_version":41,"request":"shop:9","payload":{"number":3,"at_us":5}}}"#;

    fn key() -> TokenKey {
        TokenKey::new(b"  0123456789abcdef\n").expect("long enough")
    }

    fn signed(line: &str) -> String {
        wire::line(&key().sign(wire::parse(line).expect("a request")))
    }

    fn vouches(key: &TokenKey, line: &str) -> bool {
        key.verify(&wire::parse(line).expect("a request"))
    }

    #[test]
    fn a_mac_vouches_for_one_request_with_all_its_fields() {
        let other = TokenKey::new(b"fedcba9876543210").expect("long enough");
        for line in [SEAL, WRITE] {
            let line = signed(line);
            assert!(vouches(&key(), &line) && !vouches(&other, &line), "{line}");
            for (from, to) in [
                ("sequence", "schedule"),
                ("n1", "n2"),
                ("65537", "65538"),
                ("\"token\":7", "\"token\":8"),
                ("\"token\":7", "\"token\":7,\"payload\":true"),
                ("\"seq\":42", "\"seq\":43"),
                ("\"read_version\":41", "\"read_version\":40"),
                ("shop:9", "shop:8"),
                ("shop:9", "thief:9"),
                ("shop:9\"", "shop:9\",\"operation\":\"make\""),
                ("\"number\":3", "\"number\":4"),
                ("\"at_us\":5", "\"at_us\":6"),
                (",\"payload\":{\"number\":3,\"at_us\":5}", ""),
            ] {
                let changed = line.replacen(from, to, 1);
                // Seals have fewer fields, and writes no flag for the payload.
                let Ok(request) = wire::parse(&changed) else { continue };
                assert!(changed == line || !key().verify(&request), "{changed}");
            }
        }
    }

    #[test]
    fn a_mac_of_a_seal_is_none_of_a_write() {
        let mac = signed(SEAL).split("\"mac\":").nth(1).map(str::to_owned).expect("it has one");
        let write = WRITE.replace("}}}", &format!("}},\"mac\":{mac}"));
        assert!(!vouches(&key(), &write), "{write}");
    }

    #[test]
    fn missing_and_broken_macs_vouch_for_nothing() {
        let line = signed(SEAL);
        let mac = line.split('"').rev().nth(1).expect("the last string").to_owned();
        assert_eq!(mac.len(), MAC_DIGITS);
        assert!(vouches(&key(), &line.replace(&mac, &mac.to_uppercase())));
        for wrong in [&mac[..62], "", "garbage"] {
            assert!(!vouches(&key(), &line.replace(&mac, wrong)), "{wrong}");
        }
        assert!(vouches(&key(), r#"{"state":{"resource":"sequence"}}"#), "it needs none");
    }

    /// The output of `openssl dgst -sha256 -hmac 0123456789abcdef`.
    #[test]
    fn anybody_can_compute_it() {
        let plain = WRITE.replace(r#","payload":{"number":3,"at_us":5}"#, "");
        for (line, mac) in [
            (SEAL, "2001331554ecbe29e2aa0855f82ca428f8a1c45535b2b3b336be84c4ade05f4d"),
            (plain.as_str(), "eb234db63140b809ce1957c82e9a4c32d2331eddf24bb0e3c6b82f5a5f015ca2"),
            (WRITE, "02fd6ceddf44bf639af5911cd68eaa86adafd015d428f440fd3638134c4c1447"),
        ] {
            assert!(signed(line).contains(&format!(r#""mac":"{mac}""#)), "{}", signed(line));
        }
    }

    #[test]
    fn a_short_key_is_refused_and_none_is_shown() {
        assert_eq!(TokenKey::new(b" short \n").map(|_| ()), Err(KeyError::Short(5)));
        assert_eq!(format!("{:?}", key()), "TokenKey(secret)");
        assert!(TokenKey::read(Path::new("/nowhere/key")).is_err());
    }
}
