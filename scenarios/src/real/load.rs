//! The plan's clients against real nodes: the same open-loop core as in the simulation, over HTTP.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use protocols::{
    candidate::{self, Port},
    core::Input,
    env::tokio::TokioEnv,
    history::Kind,
    load::Client,
    message::Message,
    real::{directory::Directory, log::Log, node::REQUEST_HEADER},
    types::{NodeId, RequestId},
};
use serde::Deserialize;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::{self, UnboundedSender},
    task::AbortHandle,
};

/// An answer that has not come by then is nobody's any more.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Longest answer that is read, bytes.
const ANSWER_MAX: usize = 4096;

type Http = HttpClient<HttpConnector, Empty<Bytes>>;

/// One client and where it reaches each node.
pub struct Load {
    /// Its number in the topology.
    pub me: NodeId,
    /// Its name.
    pub name: String,
    /// The nodes, by number.
    pub nodes: Vec<SocketAddr>,
    /// From one request to the next, nanoseconds.
    pub interval: u64,
    /// The first one's phase, nanoseconds.
    pub phase: u64,
}

/// Ends its client when dropped.
pub struct Asking(AbortHandle);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct HttpPort {
    name: String,
    nodes: Vec<SocketAddr>,
    http: Http,
    log: Log,
    directory: Arc<Directory>,
    inputs: UnboundedSender<Input>,
}

#[derive(Deserialize)]
struct Next {
    token: u64,
    seq: u64,
}

#[derive(Deserialize)]
struct Refused {
    leader: Option<String>,
}

impl Load {
    /// Starts asking. What happens goes to `log`.
    pub fn start(self, log: Log, directory: Arc<Directory>) -> Asking {
        let Load { me, name, nodes, interval, phase } = self;
        let mut http = HttpClient::builder(TokioExecutor::new());
        let http = http.pool_idle_timeout(Duration::from_secs(10)).build_http();
        let (inputs, to_core) = mpsc::unbounded_channel();
        let core = Client::new(me, nodes.len() as u16, interval, phase, 0);
        let port = HttpPort { name, nodes, http, log, directory, inputs };
        let env = TokioEnv::new(u64::from(me.0));
        Asking(tokio::spawn(candidate::drive(env, port, Box::new(core), None, to_core)).abort_handle())
    }
}

impl Port for HttpPort {
    fn send(&mut self, to: NodeId, message: Message) {
        let Message::Next { request } = message else { return };
        let Some(address) = self.nodes.get(to.index()) else { return };
        let (http, inputs) = (self.http.clone(), self.inputs.clone());
        let name = format!("{}:{}", self.name, request.number);
        let asked = hyper::Request::post(format!("http://{address}/next"));
        let Ok(asked) = asked.header(REQUEST_HEADER, name).body(Empty::new()) else { return };
        let directory = self.directory.clone();
        tokio::spawn(async move {
            // No answer is silence: the client's own patience deals with it.
            let answer = tokio::time::timeout(ANSWER_WITHIN, ask(http, asked, request, &directory)).await;
            if let Ok(Some(message)) = answer {
                let _ = inputs.send(Input::Message { from: to, message });
            }
        });
    }

    fn record(&mut self, kind: Kind) {
        self.log.record(kind);
    }
}

async fn ask(
    http: Http,
    asked: hyper::Request<Empty<Bytes>>,
    request: RequestId,
    directory: &Directory,
) -> Option<Message> {
    let answer = http.request(asked).await.ok()?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await.ok()?.to_bytes();
    match status.as_u16() {
        200 => {
            let Next { token, seq } = serde_json::from_slice(&body).ok()?;
            Some(Message::NextIs { request, token, seq })
        }
        409 => {
            let Refused { leader } = serde_json::from_slice(&body).ok()?;
            let leader = leader.and_then(|name| directory.member(&name));
            Some(Message::NotLeader { request, leader })
        }
        _ => None,
    }
}
