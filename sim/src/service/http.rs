//! HTTP/1.1 for models, over `hyper` on any [`Env`]: reads whole requests, one at a time per connection.
//!
//! The bytes depend only on requests and answers: no date header, no timer.

use http_body_util::{BodyExt, Either, Full, Limited, StreamBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    header::CONTENT_TYPE,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use protocols_clients::env::{Env, Listener};
use std::{convert::Infallible, future::Future, io};
use tokio::sync::watch;
use tokio_stream::wrappers::UnboundedReceiverStream;

/// An answer's body, whole or streamed.
pub type Body = Either<Full<Bytes>, StreamBody<UnboundedReceiverStream<Result<Frame<Bytes>, Infallible>>>>;
pub type Answer = Response<Body>;

/// The longest request body, in bytes.
const BODY_MAX: usize = 3 << 20;

/// Serves until the process ends or the future is dropped, which breaks every connection.
///
/// # Errors
/// The port cannot be listened on, or the socket closed.
pub async fn serve<E, F>(
    env: E,
    port: u16,
    answer: impl Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
) -> io::Result<()>
where
    E: Env,
    F: Future<Output = Answer> + Send + 'static,
{
    serve_to(env, port, |_| (), move |(), request| answer(request)).await
}

/// The same; each answer knows of its connection what `from` says.
///
/// # Errors
/// As [`serve`].
pub async fn serve_to<E, F, P>(
    env: E,
    port: u16,
    from: impl Fn(&E::Stream) -> P,
    answer: impl Fn(P, Request<Bytes>) -> F + Clone + Send + Sync + 'static,
) -> io::Result<()>
where
    E: Env,
    F: Future<Output = Answer> + Send + 'static,
    P: Copy + Send + Sync + 'static,
{
    // Dropping this sender ends all connections.
    let (_alive, serving) = watch::channel(());
    let mut listener = env.listen(port).await?;
    loop {
        let stream = listener.accept().await?;
        let (from, answer) = (from(&stream), answer.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer.clone();
            async move { Ok::<_, Infallible>(read_and_answer(request, |request| answer(from, request)).await) }
        });
        let mut builder = http1::Builder::new();
        builder.auto_date_header(false).header_read_timeout(None);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut serving = serving.clone();
        env.spawn_detached(async move {
            // Nobody needs to know how the connection ended.
            tokio::select! {
                biased;
                _ = serving.changed() => {}
                _ = connection => {}
            }
        });
    }
}

async fn read_and_answer<F: Future<Output = Answer>>(
    request: Request<Incoming>,
    answer: impl Fn(Request<Bytes>) -> F,
) -> Answer {
    let (head, body) = request.into_parts();
    match Limited::new(body, BODY_MAX).collect().await {
        Ok(body) => answer(Request::from_parts(head, body.to_bytes())).await,
        Err(_) => text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long, or did not arrive whole"),
    }
}

pub fn whole(body: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(body.into()))
}

/// A text answer like Go's `http.Error`, without its final newline.
pub fn text(status: StatusCode, words: impl Into<Bytes>) -> Answer {
    with_type(status, "text/plain; charset=utf-8", words)
}

pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Answer {
    // Values of models are maps with string keys, which always serialise.
    with_type(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

pub fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(whole(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

fn with_type(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(whole(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    answer
}

/// Adds a header, unless its value is invalid.
pub fn with_header(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    if let Ok(value) = value.parse() {
        answer.headers_mut().insert(name, value);
    }
    answer
}
