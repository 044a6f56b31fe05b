//! HTTP/1.1 for models: requests read to their end, one at a time a connection, over `hyper` on any [`Env`].
//!
//! Bytes depend on nothing but what was asked and what was answered: no date header, and no timer.

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

/// The body of an answer: all of it, or in pieces as they come.
pub type Body = Either<Full<Bytes>, StreamBody<UnboundedReceiverStream<Result<Frame<Bytes>, Infallible>>>>;
/// An answer.
pub type Answer = Response<Body>;

/// The longest body that is read, bytes.
const BODY_MAX: usize = 3 << 20;

/// Serves until the process ends or the future is dropped, which breaks every connection.
///
/// # Errors
/// The port cannot be listened on, or the socket is gone.
pub async fn serve<E, F>(
    env: E,
    port: u16,
    answer: impl Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
) -> io::Result<()>
where
    E: Env,
    F: Future<Output = Answer> + Send + 'static,
{
    // Connections end when this sender is gone.
    let (_alive, serving) = watch::channel(());
    let mut listener = env.listen(port).await?;
    loop {
        let stream = listener.accept().await?;
        let answer = answer.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer.clone();
            async move { Ok::<_, Infallible>(read_and_answer(request, answer).await) }
        });
        let mut builder = http1::Builder::new();
        builder.auto_date_header(false).header_read_timeout(None);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut serving = serving.clone();
        env.spawn_detached(async move {
            // However it ended, there is nobody to tell.
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

/// A body that is all there.
pub fn whole(body: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(body.into()))
}

/// An answer of text, as Go's `http.Error` gives it but for the line's end.
pub fn text(status: StatusCode, words: impl Into<Bytes>) -> Answer {
    with_type(status, "text/plain; charset=utf-8", words)
}

/// An answer of JSON.
pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Answer {
    // Values of models are maps with keys of text, which serialise.
    with_type(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

/// An answer without a body.
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

/// With a header, if its value can be one.
pub fn with_header(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    if let Ok(value) = value.parse() {
        answer.headers_mut().insert(name, value);
    }
    answer
}
