//! Fencepost's own store, `cargo real store`: it gives each request a number, in one order for all leaders.

use super::{
    FenceError,
    common::{begin, refused},
};
use crate::{
    backend::{
        AddressError,
        reach::{endpoint, fresh_env, without_password},
    },
    lead::{Fenced, Lead},
};
use protocols::types::Resource;
use protocols_clients::{
    env::{Env, tokio::Stream, tokio::TokioEnv},
    site::Endpoint,
    store::{
        token::{KEY_MIN, TokenKey},
        wire::{self, LINE_MAX, Reply, Request, Verdict},
    },
};
use std::{fmt, io, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// Where the store listens, and the fleet's key. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    env: TokioEnv,
    endpoint: Endpoint,
    key: Option<TokenKey>,
    within: Duration,
}

/// Why a request has no number, or may not have one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error(transparent)]
    Address(AddressError),
    #[error("a key of {0} bytes is too short: the store demands at least {KEY_MIN}")]
    ShortKey(usize),
    #[error("`{0}` is no resource of the store: it has {known}", known = wire::RESOURCES.join(", "))]
    NoResource(String),
    #[error("`{0}` is no name of a request: use CLIENT:NUMBER, such as `shop:17`, the number at most 2^63 - 1")]
    BadRequest(String),
    /// The request may have its number: ask again under the same name.
    #[error("no answer from the store: {0}")]
    NoAnswer(String),
    /// Its key is another one, for instance. Nothing was written.
    #[error("the store refuses: {0}")]
    Refused(String),
    /// The store remembers the latest million requests, and of earlier ones only each
    /// client's highest: whether this one was among them, it cannot tell. Nothing was written.
    #[error("`{0}` is older than the store remembers")]
    TooOld(String),
}

/// The number of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Number {
    New(u64),
    /// The request has had it already, from this leader or another one, or by an attempt whose answer was lost.
    Before(u64),
}

impl Number {
    pub fn get(self) -> u64 {
        match self {
            Number::New(number) | Number::Before(number) => number,
        }
    }
}

impl Store {
    /// The store at `HOST:PORT`. `key` is what its `--token-key` file has; whoever knows it can write. Dials when there
    /// is something to ask.
    ///
    /// # Errors
    /// An address that cannot be used, or a key that is too short.
    pub fn connect(address: &str, key: &[u8]) -> Result<Store, StoreError> {
        Store::with(fresh_env(), address, Some(key))
    }

    /// The same by TLS. The store's certificate must be of that host; `tls` says whose signature it needs, and has the
    /// client's own certificate if the store asks for one.
    ///
    /// # Errors
    /// As for [`Store::connect`].
    #[cfg(feature = "tls")]
    pub fn connect_tls(
        address: &str,
        key: &[u8],
        tls: &tokio_rustls::rustls::ClientConfig,
    ) -> Result<Store, StoreError> {
        use crate::backend::reach::{Handshake, secure_env};
        Store::with(secure_env(tls, Handshake { alpn: b"", asks: false }), address, Some(key))
    }

    /// A store that runs with `--insecure`: whoever reaches it can keep all leaders out for good.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn connect_insecure(address: &str) -> Result<Store, StoreError> {
        Store::with(fresh_env(), address, None)
    }

    fn with(env: TokioEnv, address: &str, key: Option<&[u8]>) -> Result<Store, StoreError> {
        let wrong = || StoreError::Address(AddressError::Wrong(without_password(address), "HOST:PORT"));
        let endpoint = endpoint(address, 0).filter(|endpoint| endpoint.port > 0).ok_or_else(wrong)?;
        let read = |key: &[u8]| TokenKey::new(key).map_err(|_| StoreError::ShortKey(key.trim_ascii().len()));
        Ok(Store { env, endpoint, key: key.map(read).transpose()?, within: Duration::from_secs(5) })
    }

    /// How long an answer may take, connecting included: 5 s unless you say otherwise.
    #[must_use]
    pub fn within(self, within: Duration) -> Store {
        Store { within, ..self }
    }

    /// Keeps all former leaders out of `resource`, one of those that the store has, such as `sequence`.
    ///
    /// # Errors
    /// A leadership that is over, a refused token, a name that the store does not know, a store that does not answer.
    pub async fn numbers(&self, lead: &Lead<Fenced>, resource: &str) -> Result<Numbers, FenceError<StoreError>> {
        let unknown = || FenceError::Write(StoreError::NoResource(resource.to_owned()));
        let resource = wire::find(resource).ok_or_else(unknown)?;
        let mut numbers = Numbers { store: self.clone(), lead: lead.clone(), resource, stream: None, at: None };
        let opened = self.env.timeout(self.nanoseconds(), numbers.opened()).await.unwrap_or_else(too_late)?;
        numbers.keep(opened);
        Ok(numbers)
    }

    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.within.as_nanos()).unwrap_or(u64::MAX)
    }

    async fn ask(&self, stream: &mut BufReader<Stream>, request: Request) -> Result<Reply, StoreError> {
        let request = match &self.key {
            Some(key) => key.sign(request),
            None => request,
        };
        let line = wire::line(&request) + "\n";
        let answer = async {
            stream.write_all(line.as_bytes()).await?;
            stream.flush().await?;
            let mut answer = Vec::new();
            stream.take(LINE_MAX as u64).read_until(b'\n', &mut answer).await?;
            Ok(answer)
        };
        let answer = answer.await.map_err(lost)?;
        if answer.is_empty() {
            return Err(StoreError::NoAnswer("it has closed the connection".to_owned()));
        }
        match serde_json::from_slice(&answer) {
            Ok(Reply::Refused { why }) => Err(StoreError::Refused(why)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(strange()),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Store").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// A leader's numbers of one resource.
///
/// Each request has one number, whoever leads and however often it is asked for, and a later request has a higher one. No
/// former leader gets a number once a newer one has asked for its first. Numbers may be left out: a request that comes
/// again uses one up. What the store has answered is on its disk.
///
/// What it does not promise: that what you do with a number happens once, or in this order. Write the number with it, and
/// compare.
pub struct Numbers {
    store: Store,
    lead: Lead<Fenced>,
    resource: Resource,
    stream: Option<BufReader<Stream>>,
    at: Option<At>,
}

/// The last number, and the version that the next write is based on.
#[derive(Clone, Copy, Debug)]
struct At {
    seq: u64,
    version: u64,
}

type Opened = (BufReader<Stream>, At);

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Numbers").field("store", &self.store).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Numbers {
    /// The number of `request`: `CLIENT:NUMBER`, where a client counts its own requests, and a name has 1 to 64 letters,
    /// digits, `-`, `_` and `.`.
    ///
    /// # Errors
    /// A leadership that is over, a refused token, a store that does not answer: ask again under the same name.
    pub async fn next(&mut self, request: &str) -> Result<Number, FenceError<StoreError>> {
        if wire::request_id(request).is_none() {
            return Err(FenceError::Write(StoreError::BadRequest(request.to_owned())));
        }
        let (env, within) = (self.store.env.clone(), self.store.nanoseconds());
        env.timeout(within, self.numbered(request)).await.unwrap_or_else(too_late)
    }

    async fn numbered(&mut self, request: &str) -> Result<Number, FenceError<StoreError>> {
        let mut again = true;
        loop {
            let known = self.stream.is_some();
            let answer = match self.opened().await {
                Ok((stream, at)) => self.write(stream, at, request).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(Verdict::Ok) => return Ok(Number::New(self.at.map_or(0, |at| at.seq))),
                Ok(Verdict::Duplicate { seq }) => return Ok(Number::Before(seq)),
                Ok(Verdict::Fenced { .. }) => return refused(&self.lead),
                // An attempt whose answer was lost may have come in between.
                Ok(Verdict::Failed { .. }) if again => {}
                Ok(Verdict::Failed { .. }) => {
                    return Err(FenceError::Write(StoreError::TooOld(request.to_owned())));
                }
                // The store closes a connection that nobody has used for a minute.
                Err(FenceError::Write(StoreError::NoAnswer(_))) if known && again => {}
                Err(error) => return Err(error),
            }
            again = false;
        }
    }

    /// What is cancelled leaves no connection behind, on which an answer would still come.
    async fn write(
        &mut self,
        mut stream: BufReader<Stream>,
        at: At,
        request: &str,
    ) -> Result<Verdict, FenceError<StoreError>> {
        begin(&self.lead)?;
        let (node, generation) = self.owner();
        let next = At { seq: at.seq + 1, version: at.version + 1 };
        let write = wire::Write {
            resource: self.resource.into(),
            node,
            generation,
            token: self.lead.token(),
            seq: next.seq,
            read_version: at.version,
            request: request.to_owned(),
            operation: Default::default(),
            payload: None,
            mac: String::new(),
        };
        let reply = self.store.ask(&mut stream, Request::Write(write)).await.map_err(FenceError::Write)?;
        let Reply::Written(written) = reply else { return Err(FenceError::Write(strange())) };
        self.stream = Some(stream);
        // Whether any other answer has used up the number is asked before the next write.
        self.at = (written.verdict == Verdict::Ok).then_some(next);
        Ok(written.verdict)
    }

    fn keep(&mut self, (stream, at): Opened) {
        (self.stream, self.at) = (Some(stream), Some(at));
    }

    /// A connection, and where the resource is once it is sealed.
    async fn opened(&mut self) -> Result<Opened, FenceError<StoreError>> {
        begin(&self.lead)?;
        let mut stream = match (self.stream.take(), self.at.take()) {
            (Some(stream), Some(at)) => return Ok((stream, at)),
            (Some(stream), None) => stream,
            (None, _) => {
                let connecting = self.store.env.connect(&self.store.endpoint);
                BufReader::new(connecting.await.map_err(|error| FenceError::Write(lost(error)))?)
            }
        };
        let (node, generation) = self.owner();
        let (resource, token) = (self.resource.into(), self.lead.token());
        let seal = wire::Seal { resource, node, generation, token, payload: false, mac: String::new() };
        match self.store.ask(&mut stream, Request::Seal(seal)).await.map_err(FenceError::Write)? {
            Reply::Sealed(sealed) if sealed.verdict == Verdict::Ok => {
                Ok((stream, At { seq: sealed.seq, version: sealed.version }))
            }
            Reply::Sealed(_) => refused(&self.lead),
            _ => Err(FenceError::Write(strange())),
        }
    }

    /// Who the store takes this leadership for: the member, and a part of what tells its leaderships apart.
    fn owner(&self) -> (String, u32) {
        let (member, nonce) = self.lead.holder.rsplit_once('/').unwrap_or((&self.lead.holder, ""));
        let generation = nonce.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        (member.to_owned(), generation.unwrap_or_default())
    }
}

fn too_late<T>() -> Result<T, FenceError<StoreError>> {
    Err(FenceError::Write(StoreError::NoAnswer("it took too long".to_owned())))
}

fn lost(error: io::Error) -> StoreError {
    StoreError::NoAnswer(error.to_string())
}

fn strange() -> StoreError {
    StoreError::NoAnswer("what it says is not a store's".to_owned())
}
