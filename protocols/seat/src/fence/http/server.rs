//! The resource's side.

use super::{
    key::{BEFORE, CUT_OFF, FENCE, HANDLED, Key, REFUSED, digest},
    ledger::{Ledger, OpenError, Sealed, beside},
    once::{Begin, NotDone, Requests, name_of},
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use std::{
    error::Error,
    future::Future,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{OwnedRwLockReadGuard, RwLock},
    time::{Instant, timeout_at},
};
use tower_layer::Layer;
use tower_service::Service;
use tracing::Instrument;

/// Lets only the newest leader's requests through to the handlers of one resource.
///
/// Put it around the routes that write, and only those, and into no router that is nested in another, which would hide
/// a part of the path. A leader that is newer waits until the handlers of requests under way have ended, and they run
/// to their end even if their client has gone. What has waited for longer than [`FenceLayer::wait_limit`] is answered
/// with 503, and may be asked again: a handler that never ends keeps every newer leader out, so give each a limit. The
/// runtime needs its timers.
///
/// It orders handlers, so a write must be over when its handler ends. One in this process's memory or files is. A write
/// to another machine may not be: a statement goes on in a database after its future was dropped by a timeout, by a
/// panic, or by the end of this process. Whoever writes elsewhere compares the token there, in the same transaction;
/// the handler finds it in the request's extensions, as a [`Leader`]. A handler must not call its own service through
/// the layer: it would wait for itself.
///
/// A request that is let through may be made again by the next leader, or by this one after an error: this layer
/// gives an order. For "once", a handler that writes elsewhere remembers the `Idempotency-Key` in the transaction of what
/// it writes; for one that cannot, there is [`FenceLayer::open_once`].
#[derive(Clone, Debug)]
pub struct FenceLayer {
    shared: Arc<Shared>,
    body_limit: usize,
    wait_limit: Duration,
}

/// Who has made a request that was let through.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Leader {
    /// Its fencing token.
    pub token: u64,
    /// Its name, which no other leadership has.
    pub holder: String,
}

#[derive(Debug)]
struct Shared {
    key: Key,
    resource: String,
    ledger: Ledger,
    /// Who writes now. Each request under way has it locked for reading.
    sealed: Arc<RwLock<Option<Sealed>>>,
    /// The highest token that has asked, so that older leaders are not let in again while a newer one waits.
    asked: AtomicU64,
    /// Those that are handled once; `None` if they may be handled again.
    requests: Option<Arc<Requests>>,
}

impl FenceLayer {
    /// The layer for `resource`, which remembers the highest token in the file at `path`: it survives a crash of the
    /// machine. A file that does not exist is made, and warned of: if it was lost, or its disk is not mounted, a former
    /// leader is let through. The file is for one process; if several serve one resource, fence where they write, in
    /// their database.
    ///
    /// # Errors
    /// A file that another process has open, that is of another resource, or damaged, or that cannot be read.
    pub fn open(key: Key, resource: &str, path: impl AsRef<Path>) -> Result<FenceLayer, OpenError> {
        FenceLayer::with(key, resource, path.as_ref(), None)
    }

    /// The same, and hands each request to its handler once, by its `Idempotency-Key`, which it must have, and which the
    /// signature covers. A request whose name is known is answered without the handler: with the handler's status, an empty
    /// body and the header `Fence: handled-before`. While the handler is running, it waits for that. A name is
    /// known for as long as `keep` after its handler has ended, by this machine's wall clock, in the file `PATH.requests`:
    /// it survives a crash of the machine, and costs two writes to the disk for each request. The same name with another
    /// method, path or body is answered with 422.
    ///
    /// What this does not promise: that a request is carried out. Whatever a handler answers, errors included, is its answer,
    /// unless it says [`NotDone`]. If it panics, or its process or machine ends before it has answered, nobody but you can
    /// tell whether it has written, so it is not called again: the answer is 409 with `Fence: cut-off`, for as long as
    /// `keep`. Requests before the first opening by this function are not known.
    ///
    /// The leader reads the answer by [`accepted_once`](super::accepted_once).
    ///
    /// # Errors
    /// As for [`FenceLayer::open`].
    pub fn open_once(
        key: Key,
        resource: &str,
        path: impl AsRef<Path>,
        keep: Duration,
    ) -> Result<FenceLayer, OpenError> {
        FenceLayer::with(key, resource, path.as_ref(), Some(keep))
    }

    fn with(key: Key, resource: &str, path: &Path, keep: Option<Duration>) -> Result<FenceLayer, OpenError> {
        // Its lock is the other file's, too.
        let (ledger, sealed) = Ledger::open(path, resource)?;
        let sealed = Arc::new(RwLock::new(sealed));
        let requests = keep.map(|keep| Requests::open(beside(path, "requests"), resource, keep).map(Arc::new));
        let requests = requests.transpose()?;
        let (resource, asked) = (resource.to_owned(), AtomicU64::new(0));
        let shared = Arc::new(Shared { key, resource, ledger, sealed, asked, requests });
        Ok(FenceLayer { shared, body_limit: 1 << 20, wait_limit: Duration::from_secs(30) })
    }

    /// How many bytes a body may have, 1 MiB by default. It is read as a whole, since the signature covers it.
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// How long a request waits for the handlers of the leader before, 30 s by default and a day at most. Then it is
    /// answered with 503; it is never handled beside them. Once a newer leader has asked, older ones are refused, also if
    /// it has not been let in.
    #[must_use]
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = limit.min(Duration::from_secs(24 * 3_600));
        self
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = Fence<S>;

    fn layer(&self, inner: S) -> Fence<S> {
        Fence { layer: self.clone(), inner }
    }
}

/// Handlers behind a [`FenceLayer`].
#[derive(Clone, Debug)]
pub struct Fence<S> {
    layer: FenceLayer,
    inner: S,
}

/// What is answered instead of a handler.
type Refusal = (StatusCode, &'static str);

const NO_NAME: Refusal = (
    StatusCode::BAD_REQUEST,
    "a request here has one Idempotency-Key, of 1 to 255 visible ASCII characters without spaces",
);

impl<S, B, R> Service<Request<B>> for Fence<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: From<String> + Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let layer = self.layer.clone();
        let next = self.inner.clone();
        // The one that is ready.
        let mut inner = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let admitted = layer.admit(&parts, body).await;
            let (body, turn) = match admitted {
                Ok(admitted) => admitted,
                Err(refusal) => return Ok(answer(refusal)),
            };
            let once = match &layer.shared.requests {
                None => None,
                Some(requests) => match name_of(&parts) {
                    Some(name) => Some((requests.clone(), name, digest(&parts, &body))),
                    None => return Ok(answer(NO_NAME)),
                },
            };
            let mut request = Request::from_parts(parts, Full::new(body));
            if let Some(Sealed { token, holder }) = &*turn {
                request.extensions_mut().insert(Leader { token: *token, holder: holder.clone() });
            }
            let handling = async move {
                // The ledger is not free for another process before this has ended, either.
                let _held = (turn, layer);
                match once {
                    None => inner.call(request).await,
                    Some((requests, name, digest)) => {
                        handle_once(&requests, name, digest, async move { inner.call(request).await }).await
                    }
                }
            };
            let handled = tokio::spawn(handling.in_current_span());
            match handled.await {
                Ok(answer) => answer,
                Err(panic) if panic.is_panic() => std::panic::resume_unwind(panic.into_panic()),
                Err(_) => Ok(answer((StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"))),
            }
        })
    }
}

impl FenceLayer {
    /// The body of a request that may be handled while the guard is kept.
    async fn admit<B>(
        &self,
        parts: &http::request::Parts,
        body: B,
    ) -> Result<(Bytes, OwnedRwLockReadGuard<Option<Sealed>>), Refusal>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let body = match Limited::new(body, self.body_limit).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is too large to be compared with its signature"));
            }
            Err(_) => return Err((StatusCode::BAD_REQUEST, "the body has not arrived")),
        };
        let shared = &self.shared;
        let asks = shared.key.verify(&shared.resource, parts, &body).map_err(|why| (StatusCode::UNAUTHORIZED, why))?;
        Ok((body, shared.turn(asks, self.wait_limit).await?))
    }
}

impl Shared {
    async fn turn(
        self: &Arc<Self>,
        asks: Sealed,
        limit: Duration,
    ) -> Result<OwnedRwLockReadGuard<Option<Sealed>>, Refusal> {
        const OLDER: Refusal = (StatusCode::PRECONDITION_FAILED, "a newer leader has written, or waits to");
        const BUSY: Refusal = (StatusCode::SERVICE_UNAVAILABLE, "a handler of the leader before has not ended");
        if self.asked.fetch_max(asks.token, Ordering::AcqRel) > asks.token {
            return Err(OLDER);
        }
        let until = Instant::now() + limit;
        {
            let sealed = timeout_at(until, self.sealed.clone().read_owned()).await.map_err(|_| BUSY)?;
            match &*sealed {
                _ if self.asked.load(Ordering::Acquire) > asks.token => return Err(OLDER),
                Some(newest) if *newest == asks => return Ok(sealed),
                Some(newest) if newest.token >= asks.token => return Err(OLDER),
                _ => {}
            }
        }
        // All requests of the leader before have been handled when this has it.
        let mut sealed = timeout_at(until, self.sealed.clone().write_owned()).await.map_err(|_| BUSY)?;
        match &*sealed {
            _ if self.asked.load(Ordering::Acquire) > asks.token => return Err(OLDER),
            Some(newest) if *newest == asks => {}
            Some(newest) if newest.token >= asks.token => return Err(OLDER),
            _ => {
                let (shared, asks) = (self.clone(), asks);
                // Kept until the file is written, even if the client goes.
                sealed = tokio::task::spawn_blocking(move || {
                    shared.ledger.seal(&asks)?;
                    *sealed = Some(asks);
                    std::io::Result::Ok(sealed)
                })
                .await
                .map_err(std::io::Error::other)
                .flatten()
                .map_err(|error| {
                    tracing::warn!(%error, resource = self.resource, "the ledger cannot be written");
                    (StatusCode::SERVICE_UNAVAILABLE, "the token could not be remembered")
                })?;
            }
        }
        Ok(sealed.downgrade())
    }
}

/// Calls the handler unless this request is known.
async fn handle_once<R: From<String>, E>(
    requests: &Arc<Requests>,
    name: String,
    digest: String,
    handling: impl Future<Output = Result<Response<R>, E>>,
) -> Result<Response<R>, E> {
    let (status, why, says) = match requests.begin(name, digest).await {
        Ok(Begin::First(under_way)) => {
            let mut answer = handling.await?;
            let done = answer.extensions().get::<NotDone>().is_none();
            under_way.ends(done.then(|| answer.status())).await;
            if done {
                answer.headers_mut().insert(FENCE, HANDLED);
            }
            return Ok(answer);
        }
        Ok(Begin::Before(status)) => return Ok(answer_with(status, String::new(), Some(BEFORE))),
        Ok(Begin::CutOff) => {
            (StatusCode::CONFLICT, "the handler was cut off: it may have written, or not", Some(CUT_OFF))
        }
        Ok(Begin::Other) => (StatusCode::UNPROCESSABLE_ENTITY, "this Idempotency-Key is another request's", None),
        Err(error) => {
            tracing::warn!(%error, "the record of requests cannot be written");
            (StatusCode::SERVICE_UNAVAILABLE, "the request could not be remembered", None)
        }
    };
    Ok(answer_with(status, format!("{why}\n"), says))
}

fn answer<R: From<String>>((status, why): Refusal) -> Response<R> {
    let says = (status == StatusCode::PRECONDITION_FAILED).then_some(REFUSED);
    answer_with(status, format!("{why}\n"), says)
}

fn answer_with<R: From<String>>(status: StatusCode, body: String, says: Option<HeaderValue>) -> Response<R> {
    let mut answer = Response::new(R::from(body));
    *answer.status_mut() = status;
    if let Some(says) = says {
        answer.headers_mut().insert(FENCE, says);
    }
    answer
}
