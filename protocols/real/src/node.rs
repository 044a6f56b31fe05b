//! A node of the fleet as a process: it campaigns, does the leader's work, and answers over HTTP.

mod api;
mod election;
mod health;
mod metrics;
mod seated;
mod spans;
mod waiting;
mod watched;

pub use api::REQUEST_HEADER;

use super::{
    directory::Directory,
    http,
    log::Log,
    store::link::{self, Link},
};
use api::Api;
use election::Election;
use health::Health;
use metrics::Metrics;
use protocols::{
    core::Input,
    election::{Protocol, Timings},
    history::Kind,
    message::Message,
    node::{Node, Place, STORE_SILENCE, Standing, Tenure},
    types::NodeId,
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    site::Site,
    task_driver::{self, Port},
};
use seated::Candidate;
use spans::Spans;
use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};
use tokio_rustls::TlsAcceptor;
use waiting::{Answer, WaitingClients};
use watched::Watched;

/// A node's configuration.
pub struct NodeSettings {
    /// Its name, one of the directory's first.
    pub name: String,
    /// The members' HTTP addresses, in the order of their numbers.
    pub addresses: Vec<String>,
    /// Names and numbers: members first, then the service, then the store, then the others.
    pub directory: Arc<Directory>,
    pub protocol: &'static Protocol,
    pub timings: Timings,
    /// Whether reads are answered from memory during leadership.
    pub read_lease: bool,
    /// The scheduler's tick interval, nanoseconds.
    pub tick: u64,
    /// When the node resigns by itself.
    pub tenure: Tenure,
    /// Distinguishes this process's generations from those of earlier ones.
    pub starts: u32,
    /// The addresses of the coordination service or of the other members.
    pub site: Site,
    /// How to reach the service, through TLS if configured.
    pub service_env: TokioEnv,
    /// The node's clocks and points.
    pub env: TokioEnv,
    /// How to reach the store.
    pub store: link::LinkSettings,
    /// The HTTP listener.
    pub listener: TcpListener,
    /// TLS for the HTTP listener.
    pub tls: Option<TlsAcceptor>,
    /// Its part of the history.
    pub log: Log,
    /// The commit it was built from, for its metrics.
    pub commit: &'static str,
}

/// Sends messages to the store, and answers to waiting clients.
struct RealPort {
    store: NodeId,
    link: Link,
    waiting: Arc<WaitingClients>,
    log: Log,
}

impl Port for RealPort {
    fn send(&mut self, to: NodeId, message: Message) {
        match message {
            message if to == self.store => self.link.send(message),
            Message::NextIs { request, token, seq } | Message::ReadIs { request, token, seq } => {
                self.waiting.answer(request, Answer::Number { token, seq });
            }
            Message::NotLeader { request, leader } => self.waiting.answer(request, Answer::NotLeader(leader)),
            _ => {}
        }
    }

    fn redial(&mut self, to: NodeId) {
        if to == self.store {
            self.link.redial();
        }
    }

    fn record(&mut self, kind: Kind) {
        self.log.record(kind);
    }
}

/// Why a node did not start, or stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NodeError {
    #[error("`{0}` is not among the peers")]
    NoPeer(String),
    #[error("the names do not include `store`")]
    NoStore,
    #[error("{0}")]
    Ended(String),
}

/// Runs a node until `shutdown` ends. The node then takes no new work, waits for requests under way, resigns and
/// returns.
///
/// # Errors
/// The core ended unexpectedly, as one sentence.
pub async fn run(settings: NodeSettings, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), NodeError> {
    let NodeSettings { name, addresses, directory, protocol, timings, read_lease, tick, tenure, starts, .. } = settings;
    let NodeSettings { site, service_env, env, store: link_settings, listener, tls, log, commit, .. } = settings;
    let node = directory.member(&name).ok_or_else(|| NodeError::NoPeer(name.clone()))?;
    let store = directory.member("store").ok_or(NodeError::NoStore)?;
    let (inputs, to_core) = mpsc::unbounded_channel();
    let (standing_sender, standing) = watch::channel(Standing::default());
    let (requests_sender, under_way) = watch::channel(0);
    let (waiting, metrics) = (Arc::<WaitingClients>::default(), Arc::new(Metrics::new(&name, protocol.name, commit)));
    let names = directory.fleet()[..addresses.len()].to_vec();
    let service_at = site.service.iter().map(|at| format!("{}:{}", at.host, at.port)).collect::<Vec<_>>().join(",");
    let health = Arc::new(Health::new(names.clone(), protocol.service, service_at));
    // The directory may contain a service that this protocol does not use.
    let service = (addresses.len() as u16..store.0).take(site.service.len()).map(NodeId).collect();
    // An embedded service runs on the node's own clocks.
    let client_env = if protocol.service.process.is_some() { service_env } else { env.clone() };
    let candidate = Candidate { protocol, node, names, service, timings, site, env: env.clone(), client_env };
    let (ending, elector) = (Arc::new(AtomicBool::new(false)), election::elector(&candidate));
    let place = Place { node, store, starts, tick, silence: STORE_SILENCE, read_lease };
    let node = Node::new(place, elector).with_tenure(tenure);
    let (seen, ends) = (waiting.clone(), ending.clone());
    let core = Watched::new(node, standing_sender, requests_sender, seen, metrics.clone(), health.clone(), ends);
    let core = core.with_spans(Spans::new(&name, directory.clone()));

    let election = Election::start(candidate, inputs.clone());
    let port = RealPort { store, link: link_to(store, link_settings, inputs.clone()), waiting: waiting.clone(), log };
    let driver =
        tokio::spawn(task_driver::drive(env.clone(), port, Box::new(core), vec![election.requests.clone()], to_core));

    let api = Arc::new(Api {
        name: name.clone(),
        election: protocol.name.to_owned(),
        transfers: protocol.transfers,
        read_lease,
        addresses,
        scheme: if tls.is_some() { "https" } else { "http" },
        directory,
        own: store.index() + 1,
        env: env.clone(),
        inputs: inputs.clone(),
        waiting,
        standing: standing.clone(),
        metrics,
        health,
        // Continues above the numbers of earlier processes, since time has passed.
        unnamed: AtomicU64::new((env.now().wall & (u64::MAX >> 3)).max(1)),
    });
    let (end_http, http_ends) = watch::channel(());
    let serving = tokio::spawn(http::serve(listener, tls, api::router(api), ended(http_ends)));
    tracing::info!(node = name, protocol = protocol.name, "running");

    tokio::select! {
        biased;
        over = driver => return Err(NodeError::Ended(core_ended(over))),
        () = shutdown => {}
    }
    ending.store(true, Ordering::Relaxed);
    election.leave();
    resign(&env, &inputs, standing, under_way, &timings).await;
    drop(end_http);
    // The drain is bounded.
    let _ = serving.await;
    // The seat gives a release two.
    election.end(&env, 3 * timings.request_timeout).await;
    tracing::info!(node = name, "ended");
    Ok(())
}

/// The link to the store, which passes its events to the core.
fn link_to(store: NodeId, settings: link::LinkSettings, core: mpsc::UnboundedSender<Input>) -> Link {
    Link::watched(settings, move |event| {
        // A core that has ended takes no more inputs.
        let _ = core.send(match event {
            link::Event::Answer(message) => Input::Message { from: store, message },
            link::Event::Renewed => Input::Disconnected { peer: store },
        });
    })
}

fn core_ended(over: Result<(), tokio::task::JoinError>) -> String {
    match over {
        Ok(()) => "the node's core has ended".to_owned(),
        Err(error) => format!("the node's core has failed: {error}"),
    }
}

async fn ended(mut sender_gone: watch::Receiver<()>) {
    while sender_gone.changed().await.is_ok() {}
}

/// Gives up leadership, after its work, and waits until that is done, or for a lease's length at most.
async fn resign(
    env: &TokioEnv,
    inputs: &mpsc::UnboundedSender<Input>,
    mut standing: watch::Receiver<Standing>,
    mut under_way: watch::Receiver<u64>,
    timings: &Timings,
) {
    if standing.borrow().incarnation.is_none() {
        return;
    }
    tracing::info!("resigning");
    let _ = inputs.send(Input::Resign);
    let let_go = async { drop(standing.wait_for(|s| s.incarnation.is_none()).await) };
    if env.timeout(timings.lease_ttl, let_go).await.is_none() {
        tracing::warn!("the lease could not be given back; it will run out");
        return;
    }
    // The release itself may still be under way.
    let released = async { drop(under_way.wait_for(|requests| *requests == 0).await) };
    if env.timeout(timings.request_timeout, released).await.is_none() {
        tracing::warn!("the service has not confirmed that the lease was given back");
    }
}
