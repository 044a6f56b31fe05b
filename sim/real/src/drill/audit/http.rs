//! A store of the drill's own, for a fleet that has no database: `POST /` writes, and `?token=7` shows a fencing token.
//! It answers 200 to a write that it accepts, and 409 to one whose token is too low, if it is to check tokens.

use super::{Row, Told};
use crate::error::Failed;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use protocols_real::log::true_time_us;
use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{net::TcpListener, sync::mpsc::UnboundedSender, task::JoinSet};

/// Its address, and the rows that it writes.
pub struct Store {
    listener: TcpListener,
    fence: bool,
}

/// What it has accepted.
#[derive(Default)]
struct Kept {
    highest: u64,
    count: u64,
}

impl Store {
    /// # Errors
    /// No port is free.
    pub async fn start(fence: bool) -> Result<Store, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Failed::cannot("listen as the store"))?;
        Ok(Store { listener, fence })
    }

    /// # Errors
    /// The system does not know.
    pub fn address(&self) -> Result<SocketAddr, Failed> {
        self.listener.local_addr().map_err(Failed::cannot("listen as the store"))
    }

    /// Serves until nobody listens.
    pub async fn serve(self, rows: UnboundedSender<Told>) {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let mut connections = JoinSet::new();
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                () = rows.closed() => return,
                accepted = self.listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(_) => continue,
                },
                Some(_) = connections.join_next() => continue,
            };
            let (kept, rows, fence) = (kept.clone(), rows.clone(), self.fence);
            let answer = service_fn(move |asked: Request<Incoming>| {
                let answered = answer(&asked, peer.port(), fence, &kept, &rows);
                async move { Ok::<_, Infallible>(answered) }
            });
            connections
                .spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await });
        }
    }
}

fn answer<B>(
    asked: &Request<B>,
    port: u16,
    fence: bool,
    kept: &Mutex<Kept>,
    rows: &UnboundedSender<Told>,
) -> Response<Full<Bytes>> {
    let value = |name: &str| {
        let pairs = asked.uri().query().unwrap_or_default().split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if asked.method() != Method::POST {
        return said(StatusCode::OK, format!("{{\"accepted\":{},\"token\":{}}}\n", kept.count, kept.highest));
    }
    let shown: Option<u64> = match value("token").map(str::parse).transpose() {
        Ok(shown) => shown,
        Err(_) => return said(StatusCode::BAD_REQUEST, "a token is a whole number, 0 or more\n".to_owned()),
    };
    if fence && shown.is_none() {
        return said(StatusCode::BAD_REQUEST, "this store checks tokens: add ?token=N\n".to_owned());
    }
    let accepted = !fence || shown.is_none_or(|shown| shown >= kept.highest);
    if accepted {
        kept.highest = kept.highest.max(shown.unwrap_or(0));
        kept.count += 1;
    }
    // The drill may be over.
    let _ = rows.send(Told::Row(Row { t_us: true_time_us(), port, accepted }));
    match accepted {
        true => said(StatusCode::OK, "accepted\n".to_owned()),
        false => said(StatusCode::CONFLICT, format!("stale: the token {} has been seen\n", kept.highest)),
    }
}

fn said(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = status;
    answer
}
