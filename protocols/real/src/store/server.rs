//! The store's server. Clients are not trusted: lines are bounded, connections are limited, and a slow or silent client
//! delays only itself.

use super::{
    auth::Auth,
    backend::Job,
    wire::{self, LINE_MAX, Reply, Request, Seal, Sealed, Write, Written},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{
    bytes::{Buf, BytesMut},
    codec::{Decoder, LinesCodec, LinesCodecError},
    sync::CancellationToken,
    task::TaskTracker,
};
use tracing::{Span, debug_span, field::Empty};

/// The timeout of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that accepts no bytes for this long is dropped.
const WRITE: Duration = Duration::from_secs(10);
/// How long answers may take after a client's last line.
const DRAIN: Duration = Duration::from_secs(5);
/// How long, and how many bytes, a refused client may go on sending. Closing the connection on a sending client would
/// lose the refusal.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_MAX: usize = 256 << 10;
/// The pause after file descriptors have run out, for other connections to close.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Limits per store and per connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Concurrent connections; further ones are closed at once.
    pub connections: usize,
    /// Requests under way per connection; beyond that, it is not read.
    pub outstanding: usize,
    /// A connection without a complete line and without requests under way is closed after this long.
    pub idle: Duration,
    /// The same before the first request that the store decides on, and for a line that has begun: whoever opens
    /// connections and trickles would otherwise take every place for [`Limits::idle`].
    pub unfinished: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let (idle, unfinished) = (Duration::from_secs(60), Duration::from_secs(5));
        Limits { connections: 2048, outstanding: 256, idle, unfinished }
    }
}

/// The connections' shared state.
pub(super) struct Shared {
    pub(super) jobs: mpsc::Sender<Job>,
    pub(super) auth: Auth,
    pub(super) limits: Limits,
    pub(super) stop: CancellationToken,
}

/// Accepts connections until `stop`, then lets open ones finish their requests.
pub(super) async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Shared) {
    let places = Arc::new(Semaphore::new(shared.limits.connections));
    let (shared, tasks) = (Arc::new(shared), TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            biased;
            () = shared.stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(e) => {
                tracing::warn!("no connection can be accepted: {e}");
                sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::debug!("one connection too many");
            continue;
        };
        let (shared, tls) = (shared.clone(), tls.clone());
        tasks.spawn(async move {
            greet(stream, tls, &shared).await;
            drop(place);
        });
    }
    tasks.close();
    let _ = timeout(DRAIN + LINGER * 2, tasks.wait()).await;
}

async fn greet(stream: TcpStream, tls: Option<TlsAcceptor>, shared: &Shared) {
    // Sends small answers at once; on failure they are merely late.
    let _ = stream.set_nodelay(true);
    match tls {
        None => connection(stream, shared).await,
        Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
            Ok(Ok(stream)) => connection(stream, shared).await,
            Ok(Err(e)) => tracing::debug!("a TLS handshake failed: {e}"),
            Err(_) => tracing::debug!("a TLS handshake was not completed"),
        },
    }
}

/// An answer, now or later.
enum Answer {
    Ready(Reply),
    Waiting(oneshot::Receiver<Reply>, Span),
}

/// The span of a decision: from queueing a request to writing its answer. [`crate::node`] describes how to enable
/// spans; request name and token are the same there.
fn decision(request: &Request) -> Span {
    let resource = wire::name(request.resource());
    match request {
        Request::Seal(Seal { node, token, .. }) => {
            debug_span!(target: "fencepost", "seal", resource, node, token, verdict = Empty)
        }
        Request::Write(Write { node, token, seq, request, .. }) => {
            debug_span!(target: "fencepost", "decide", resource, node, token, seq, request, verdict = Empty)
        }
        Request::State(_) => Span::none(),
    }
}

/// The outcome for the span.
fn verdict(reply: &Reply) -> &'static str {
    match reply {
        Reply::Sealed(Sealed { verdict, .. }) => verdict.name(),
        Reply::Written(Written { verdict, .. }) => verdict.name(),
        _ => "none",
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Send, shared: &Shared) {
    let (mut read, write) = tokio::io::split(stream);
    let (answers, to_write) = mpsc::channel(shared.limits.outstanding);
    let under_way = AtomicUsize::new(0);
    let mut writer = std::pin::pin!(answer(write, to_write, &under_way));
    let lingers = tokio::select! {
        biased;
        () = &mut writer => return,
        () = shared.stop.cancelled() => false,
        lingers = listen(&mut read, answers, &under_way, shared) => lingers,
    };
    if timeout(DRAIN, writer).await.is_ok() && lingers {
        let mut waste = [0; 4096];
        let waste = async {
            let mut seen = 0;
            while let Ok(n @ 1..) = read.read(&mut waste).await {
                seen += n;
                if seen > LINGER_MAX {
                    break;
                }
            }
        };
        let _ = timeout(LINGER, waste).await;
    }
}

/// Reads and queues requests until the input ends. Returns true if the connection is cut short and the client should be
/// told.
async fn listen(
    read: &mut (impl AsyncRead + Unpin),
    answers: mpsc::Sender<Answer>,
    under_way: &AtomicUsize,
    shared: &Shared,
) -> bool {
    let (mut codec, mut buffer) = (LinesCodec::new_with_max_length(LINE_MAX), BytesMut::new());
    let mut warned = false;
    // Until when the first request must have come; `None` once it has.
    let mut first = Some(Instant::now() + shared.limits.unfinished);
    loop {
        let parsed = match next_line(read, &mut codec, &mut buffer, under_way, shared.limits, first).await {
            Line::Complete(line) => wire::parse(&line).map_err(|wrong| wrong.0),
            Line::Garbage(why) => Err(why.to_owned()),
            Line::None => return false,
        };
        // A request reserves its answer's place before it is queued, which throttles a client that sends too many.
        let Ok(place) = answers.reserve().await else { return false };
        under_way.fetch_add(1, Ordering::Relaxed);
        match parsed {
            Err(why) => {
                tracing::debug!("a connection is closed: {why}");
                place.send(Answer::Ready(Reply::Refused { why }));
                return true;
            }
            Ok(request) if !shared.auth.vouches_for(&request) => {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!(node = request.authority().map(|a| a.node), "a request's MAC is wrong or missing");
                }
                let why = "the mac is missing or does not vouch for this request".to_owned();
                place.send(Answer::Ready(Reply::Refused { why }));
                if first.is_some_and(|by| Instant::now() >= by) {
                    return true;
                }
            }
            Ok(request) => {
                first = None;
                let (reply, waiting) = oneshot::channel();
                place.send(Answer::Waiting(waiting, decision(&request)));
                if shared.jobs.send(Job { request, reply }).await.is_err() {
                    return false;
                }
            }
        }
    }
}

enum Line {
    Complete(String),
    Garbage(&'static str),
    None,
}

async fn next_line(
    read: &mut (impl AsyncRead + Unpin),
    codec: &mut LinesCodec,
    buffer: &mut BytesMut,
    under_way: &AtomicUsize,
    Limits { idle, unfinished, .. }: Limits,
    first: Option<Instant>,
) -> Line {
    let (mut since, mut begun) = (Instant::now(), None);
    let decoded = |result| match result {
        Ok(line) => Line::Complete(line),
        Err(LinesCodecError::MaxLineLengthExceeded) => Line::Garbage("the line is longer than 4096 bytes"),
        Err(LinesCodecError::Io(_)) => Line::Garbage("the line is not UTF-8"),
    };
    loop {
        if let Some(result) = codec.decode(buffer).transpose() {
            return decoded(result);
        }
        if !buffer.is_empty() {
            begun.get_or_insert_with(|| Instant::now() + unfinished);
        }
        let must_finish = first.into_iter().chain(begun).min();
        let deadline = must_finish.map_or(since + idle, |by| by.min(since + idle));
        buffer.reserve(LINE_MAX);
        match tokio::time::timeout_at(deadline, read.read_buf(buffer)).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0)) => match codec.decode_eof(buffer).transpose() {
                Some(result) => {
                    buffer.advance(buffer.len());
                    return decoded(result);
                }
                None => return Line::None,
            },
            Ok(Err(_)) => return Line::None,
            Err(_) if must_finish.is_none_or(|by| by > deadline) && under_way.load(Ordering::Relaxed) > 0 => {
                since = Instant::now();
            }
            Err(_) => return Line::None,
        }
    }
}

/// Writes answers in the order of the requests, in batches as they are ready.
async fn answer(write: impl AsyncWrite, mut answers: mpsc::Receiver<Answer>, under_way: &AtomicUsize) {
    let mut write = std::pin::pin!(BufWriter::with_capacity(16 << 10, write));
    let mut ready = Vec::new();
    while answers.recv_many(&mut ready, 64).await > 0 {
        for answer in ready.drain(..) {
            let reply = match answer {
                Answer::Ready(reply) => reply,
                Answer::Waiting(mut waiting, span) => {
                    let reply = match waiting.try_recv() {
                        Ok(reply) => reply,
                        Err(oneshot::error::TryRecvError::Closed) => return,
                        Err(oneshot::error::TryRecvError::Empty) => {
                            // Ready answers do not wait for later ones.
                            if !matches!(timeout(WRITE, write.flush()).await, Ok(Ok(()))) {
                                return;
                            }
                            // The outcome is unknown, so any answer might be false.
                            let Ok(reply) = waiting.await else { return };
                            reply
                        }
                    };
                    span.record("verdict", verdict(&reply));
                    reply
                }
            };
            under_way.fetch_sub(1, Ordering::Relaxed);
            let line = wire::line(&reply) + "\n";
            if !matches!(timeout(WRITE, write.write_all(line.as_bytes())).await, Ok(Ok(()))) {
                return;
            }
        }
        if !matches!(timeout(WRITE, write.flush()).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = timeout(WRITE, write.shutdown()).await;
}
