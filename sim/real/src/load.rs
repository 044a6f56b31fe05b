//! The plan's clients against real nodes: the simulation's open-loop client core, over HTTP.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use protocols::{
    core::Input,
    history::Kind,
    load::Client,
    message::Message,
    types::{NodeId, RequestId},
};
use protocols_clients::{
    env::tokio::TokioEnv,
    task_driver::{self, Port},
};
use protocols_real::{directory::Directory, log::Log, node::REQUEST_HEADER};
use serde::Deserialize;
use std::{
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, UnboundedSender},
    },
    task::AbortHandle,
};

/// Later answers are discarded.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// The limit of requests in flight per client and node, each on its own connection: a silent node must not exhaust this
/// process's file descriptors, two more of which each proxied connection takes.
const UNDER_WAY_MAX: usize = 64;
/// The longest answer read, in bytes.
const ANSWER_MAX: usize = 4096;

type Http = HttpClient<HttpConnector, Empty<Bytes>>;

/// One client, and the address of each node.
pub struct Load {
    /// Its number in the topology.
    pub me: NodeId,
    pub name: String,
    /// By node number.
    pub nodes: Vec<SocketAddr>,
    /// Between requests, in nanoseconds.
    pub interval: u64,
    /// The first request's phase, in nanoseconds.
    pub phase: u64,
    /// The interval and phase of its reads, if it reads.
    pub reads: Option<(u64, u64)>,
}

/// Counts a client's answers.
#[derive(Debug, Default)]
struct Tally {
    /// Normal answers: a number, "not the leader", "not now".
    expected: AtomicU64,
    /// Requests refused as malformed (HTTP 4xx except 409).
    refused: AtomicU64,
    /// The first refusal's text.
    why: OnceLock<String>,
}

impl Tally {
    fn count(&self, status: u16, body: &[u8]) {
        if !(400..500).contains(&status) || status == 409 {
            self.expected.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.why.get_or_init(|| format!("{status}, {}", String::from_utf8_lossy(body).trim_end()));
    }

    /// Why the nodes refused all of this client's requests, if they did.
    fn shut_out(&self) -> Option<&str> {
        let none = self.expected.load(Ordering::Relaxed) == 0 && self.refused.load(Ordering::Relaxed) > 0;
        self.why.get().filter(|_| none).map(String::as_str)
    }
}

/// A running client; dropping it stops the client.
pub struct Asking {
    name: String,
    tally: Arc<Tally>,
    task: AbortHandle,
}

impl Asking {
    /// A sentence if the nodes refused every request: then the load was not the plan's.
    pub fn complaint(&self) -> Option<String> {
        let why = self.tally.shut_out()?;
        Some(format!(
            "every request of the client `{}` was refused as wrong ({why}): the load was not the plan's",
            self.name
        ))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct HttpPort {
    name: String,
    nodes: Vec<(SocketAddr, Arc<Semaphore>)>,
    http: Http,
    log: Log,
    directory: Arc<Directory>,
    inputs: UnboundedSender<Input>,
    tally: Arc<Tally>,
}

#[derive(Deserialize)]
struct Number {
    token: u64,
    seq: u64,
}

#[derive(Deserialize)]
struct Refused {
    leader: Option<String>,
}

impl Load {
    /// Starts the client, which records its events in `log`.
    pub fn start(self, log: Log, directory: Arc<Directory>) -> Asking {
        let Load { me, name, nodes, interval, phase, reads } = self;
        let mut http = HttpClient::builder(TokioExecutor::new());
        let http = http.pool_idle_timeout(Duration::from_secs(10)).build_http();
        let (inputs, to_core) = mpsc::unbounded_channel();
        let core = Client::new(me, nodes.len() as u16, interval, phase, 0);
        let core = match reads {
            Some((interval, phase)) => core.with_reads(interval, phase),
            None => core,
        };
        let tally = Arc::new(Tally::default());
        let nodes = nodes.into_iter().map(|node| (node, Arc::new(Semaphore::new(UNDER_WAY_MAX)))).collect();
        let port = HttpPort { name: name.clone(), nodes, http, log, directory, inputs, tally: tally.clone() };
        let env = TokioEnv::new(u64::from(me.0));
        let task = tokio::spawn(task_driver::drive(env, port, Box::new(core), Vec::new(), to_core)).abort_handle();
        Asking { name, tally, task }
    }
}

impl Port for HttpPort {
    fn send(&mut self, to: NodeId, message: Message) {
        let (request, read) = match message {
            Message::Next { request } => (request, false),
            Message::Read { request } => (request, true),
            _ => return,
        };
        let Some((address, under_way)) = self.nodes.get(to.index()) else { return };
        // A request beyond the limit goes unanswered; the client core times it out.
        let Ok(room) = under_way.clone().try_acquire_owned() else { return };
        let (http, inputs) = (self.http.clone(), self.inputs.clone());
        let name = format!("{}:{}", self.name, request.number);
        let asked = match read {
            true => hyper::Request::get(format!("http://{address}/last")),
            false => hyper::Request::post(format!("http://{address}/next")),
        };
        let Ok(asked) = asked.header(REQUEST_HEADER, name).body(Empty::new()) else { return };
        let (directory, tally) = (self.directory.clone(), self.tally.clone());
        tokio::spawn(async move {
            let asked_at = Instant::now();
            let answer = ask(http, asked, (request, read), &directory, &tally).await;
            drop(room);
            if let Some(message) = answer.filter(|_| asked_at.elapsed() < ANSWER_WITHIN) {
                // The client may be gone.
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
    (request, read): (RequestId, bool),
    directory: &Directory,
    tally: &Tally,
) -> Option<Message> {
    let answer = http.request(asked).await.ok()?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await.ok()?.to_bytes();
    tally.count(status.as_u16(), &body);
    match status.as_u16() {
        200 => {
            let Number { token, seq } = serde_json::from_slice(&body).ok()?;
            Some(if read { Message::ReadIs { request, token, seq } } else { Message::NextIs { request, token, seq } })
        }
        409 => {
            let Refused { leader } = serde_json::from_slice(&body).ok()?;
            let leader = leader.and_then(|name| directory.member(&name));
            Some(Message::NotLeader { request, leader })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_only_refused_is_noticed() {
        let tally = Tally::default();
        assert_eq!(tally.shut_out(), None);
        tally.count(400, b"{\"error\":\"not that name\"}\n");
        tally.count(400, b"again");
        assert_eq!(tally.shut_out(), Some("400, {\"error\":\"not that name\"}"));
        for status in [200, 409, 503] {
            let tally = Tally::default();
            tally.count(400, b"once");
            tally.count(status, b"");
            assert_eq!(tally.shut_out(), None, "{status} is an answer");
        }
    }

    #[tokio::test]
    async fn a_node_that_never_answers_is_asked_so_often_at_once_and_no_more() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let nodes = vec![silent.local_addr().expect("an address")];
        let names = ["n1", "c1"].map(str::to_owned).to_vec();
        let load = Load { me: NodeId(1), name: "c1".to_owned(), nodes, interval: 1_000_000, phase: 0, reads: None };
        let _asking = load.start(Log::off(), Arc::new(Directory::new(names)));
        let mut connections = Vec::new();
        let next = || tokio::time::timeout(Duration::from_secs(1), silent.accept());
        while let Ok(accepted) = next().await {
            connections.push(accepted.expect("a connection"));
        }
        assert_eq!(connections.len(), UNDER_WAY_MAX);
    }
}
