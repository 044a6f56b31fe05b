//! Signatures of requests.

use super::ledger::{BadName, Sealed, check_name};
use crate::{
    fence::{
        FenceError,
        common::{begin, refused},
    },
    lead::{Fenced, Lead},
};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, request::Parts};
use sha2::{Digest, Sha256};

pub(super) const FENCE: HeaderName = HeaderName::from_static("fence");
pub(super) const REQUEST: HeaderName = HeaderName::from_static("idempotency-key");
/// What a resource that refuses a token answers in the header `Fence`: a handler may have statuses of its own.
pub(super) const REFUSED: HeaderValue = HeaderValue::from_static("refused");
/// What a layer answers there that hands each request to a handler once: that it has done so now, or before, or that the
/// handler did not end.
pub(super) const HANDLED: HeaderValue = HeaderValue::from_static("handled");
pub(super) const BEFORE: HeaderValue = HeaderValue::from_static("handled-before");
pub(super) const CUT_OFF: HeaderValue = HeaderValue::from_static("cut-off");

/// The secret of leaders and resource.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// A secret that is too short: below 32 bytes it is worth guessing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a secret of {0} bytes is too short: use at least 32, from a random source")]
pub struct ShortSecret(usize);

impl Key {
    /// # Errors
    /// A secret below 32 bytes.
    pub fn new(secret: &[u8]) -> Result<Key, ShortSecret> {
        match Hmac::new_from_slice(secret) {
            Ok(mac) if secret.len() >= 32 => Ok(Key(mac)),
            _ => Err(ShortSecret(secret.len())),
        }
    }

    /// Signs a request to `resource`, whose name the layer there has. Sign it when it is complete: what changes later,
    /// the path by a proxy included, makes the resource refuse it.
    ///
    /// # Errors
    /// A leadership that is over; a name that is not visible ASCII without spaces.
    pub fn sign<B: AsRef<[u8]>>(
        &self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &mut Request<B>,
    ) -> Result<(), FenceError<BadName>> {
        begin(lead)?;
        check_name(resource).map_err(FenceError::Write)?;
        let claim = format!("{resource} {} {}", lead.token(), lead.holder);
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let mac = self.mac(&claim, request.method().as_str(), path, request.headers(), request.body().as_ref());
        let mac = HEXLOWER.encode(&mac.finalize().into_bytes());
        let value = HeaderValue::from_str(&format!("{claim} {mac}"));
        let value = value.map_err(|_| FenceError::Write(BadName(resource.to_owned())))?;
        request.headers_mut().insert(FENCE, value);
        Ok(())
    }

    /// Whose request this is.
    pub(super) fn verify(&self, resource: &str, parts: &Parts, body: &[u8]) -> Result<Sealed, &'static str> {
        let value = parts.headers.get(FENCE).ok_or("a leader's request has the header Fence")?;
        let value = value.to_str().map_err(|_| "the header Fence is damaged")?;
        let words: Vec<&str> = value.split(' ').collect();
        let [name, token, holder, mac] = words[..] else { return Err("the header Fence has four words") };
        let (Ok(token), Ok(mac)) = (token.parse(), HEXLOWER.decode(mac.as_bytes())) else {
            return Err("the header Fence is damaged");
        };
        if name != resource {
            return Err("the header Fence is for another resource");
        }
        let claim = format!("{name} {token} {holder}");
        let expected = self.mac(&claim, parts.method.as_str(), path_of(parts), &parts.headers, body);
        expected
            .verify_slice(&mac)
            .map_err(|_| "the header Fence has not been made for this request with this secret")?;
        Ok(Sealed { token, holder: holder.to_owned() })
    }

    fn mac(&self, claim: &str, method: &str, path: &str, headers: &HeaderMap, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        let parts = [b"fencepost http 1", claim.as_bytes(), method.as_bytes(), path.as_bytes(), body];
        let requests = headers.get_all(REQUEST).iter().map(HeaderValue::as_bytes);
        each_with_its_length(parts.into_iter().chain(requests), |part| mac.update(part));
        mac
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Reads a response's head: whether the resource has refused the token. Then the leadership is over.
///
/// # Errors
/// A refused token: nothing was written. Other failures are the response's own, and for the caller to see.
pub fn accepted(lead: &Lead<Fenced>, status: StatusCode, headers: &HeaderMap) -> Result<(), FenceError<NoError>> {
    match status == StatusCode::PRECONDITION_FAILED && headers.get(FENCE) == Some(&REFUSED) {
        true => refused(lead),
        false => Ok(()),
    }
}

/// Reads a response's head where each request is handled [once](super::FenceLayer::open_once): `true` if it was handled
/// now, `false` if it was before. The response's status is the handler's in both cases, and for the caller to see.
///
/// # Errors
/// A refused token; a request that was not handled, or whose handler was cut off.
pub fn accepted_once(
    lead: &Lead<Fenced>,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<bool, FenceError<NotHandled>> {
    accepted(lead, status, headers).map_err(|error| match error {
        FenceError::Over(why) => FenceError::Over(why),
        FenceError::Write(never) => match never {},
    })?;
    match headers.get(FENCE) {
        Some(says) if *says == HANDLED => Ok(true),
        Some(says) if *says == BEFORE => Ok(false),
        Some(says) if *says == CUT_OFF => Err(FenceError::Write(NotHandled::CutOff)),
        _ => Err(FenceError::Write(NotHandled::Answered(status))),
    }
}

/// Why a request that was to be handled once was not, or may not have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotHandled {
    /// An earlier attempt's handler panicked, or ended with its process. It is not called again under this name. Find out
    /// whether it has written; if not, ask under another name.
    #[error("the handler was cut off: it may have written, or not")]
    CutOff,
    /// This response is not of a handler, or of one that has [written nothing](super::NotDone). Ask again.
    #[error("the answer was {0}, and the request was not handled")]
    Answered(StatusCode),
}

/// What is asked under a name, whoever asks.
pub(super) fn digest(parts: &Parts, body: &[u8]) -> String {
    let mut digest = Sha256::new();
    let asked = [parts.method.as_str().as_bytes(), path_of(parts).as_bytes(), body];
    each_with_its_length(asked.into_iter(), |part| digest.update(part));
    HEXLOWER.encode(&digest.finalize())
}

fn path_of(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |path| path.as_str())
}

/// So that nothing can move from one part to the next.
fn each_with_its_length<'a>(parts: impl Iterator<Item = &'a [u8]>, mut take: impl FnMut(&[u8])) {
    for part in parts {
        take(&(part.len() as u64).to_be_bytes());
        take(part);
    }
}

/// Of an error that cannot happen.
pub type NoError = std::convert::Infallible;
