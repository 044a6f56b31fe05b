//! Raft by the genuine openraft crate, which runs in the candidate's own process.

use super::{
    network::Links,
    runtime::Scope,
    server::{NOBODY, RaftServer, RaftSettings, StartError, best_successor, other_voters},
    store::Raft,
    wire::{Answer, Change, Types},
};
use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::{Endpoint, Site},
};
use openraft::{RaftMetrics, ServerState, async_runtime::WatchReceiver};
use protocols::{
    elector::{ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    service::raft::{Api, Item, Reply, Request, SERVICE, StreamRequest},
    types::NodeId,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::mpsc::UnboundedReceiver;

/// No elector's stream.
const NOWHERE: StreamNumber = StreamNumber::MAX;

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site, outputs, move |input| deliver(input))),
    }
}

/// Runs openraft for one elector until `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    site: Site,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let Some(election_timeout) = site.timings.election_timeout else { return };
    let id = u64::from(site.node.0);
    let settings = RaftSettings {
        id,
        founders: site.founders.iter().map(|node| u64::from(node.0)).collect(),
        port: site.port,
        election_timeout,
        heartbeat: site.timings.renew_interval,
        fleet: None,
    };
    let peers: Vec<(u64, Endpoint)> = (0..).zip(site.peers).collect();
    let ids = peers.iter().map(|(peer, _)| *peer).collect();
    let process = Process::new(env.clone(), settings, peers, ids, 0);
    let mut elector = Elector::new(env, outputs, deliver);
    process.scope.clone().run(async move { process.run(&mut elector).await }).await;
}

/// Why a Raft node is stopped.
pub(super) enum Over {
    /// The elector has closed its channel.
    Closed,
    /// It failed, or is to be restarted.
    Restart,
}

/// A process with a Raft node.
pub(super) struct Process<E: Env> {
    pub(super) env: E,
    pub(super) scope: Scope,
    pub(super) settings: RaftSettings,
    links: Links<E>,
    /// The nodes' ids, indexed by [`NodeId`].
    ids: Vec<u64>,
    /// Added to terms.
    tokens_above: u64,
    /// Set by a restart request, which is done once the node has been started again.
    restart: Arc<AtomicBool>,
}

/// An elector, which a Raft node informs.
pub(super) struct Elector<E: Env, D> {
    outputs: UnboundedReceiver<ServiceOutput>,
    queue: Queue<E, Api, D>,
    /// The last item of each open watch.
    told: BTreeMap<StreamNumber, Item>,
}

struct Node<'a, E: Env> {
    process: &'a Process<E>,
    server: &'a RaftServer<E>,
}

impl<E: Env> Backend for Node<'_, E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let Node { process, server } = *self;
        let (env, id) = (process.env.clone(), |node: NodeId| process.id(node));
        let work: Boxed<Result<Reply, Failure>> = match request {
            Request::Transfer { to } => {
                Box::pin(transfer(server.raft(), process.links.clone(), to.map(id), process.restart.clone()))
            }
            Request::AddVoter { node } => Box::pin(change(server.change(Change::Add(id(node)), timeout))),
            Request::RemoveVoter { node } => Box::pin(change(server.change(Change::Remove(id(node)), timeout))),
        };
        Box::pin(process.scope.run(async move { within(&env, timeout, work).await }))
    }

    fn stream(&self, request: StreamRequest, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {
            StreamRequest::Watch => None,
        }
    }
}

impl<E: Env, D: Fn(ServiceInput)> Elector<E, D> {
    pub(super) fn new(env: E, outputs: UnboundedReceiver<ServiceOutput>, deliver: D) -> Self {
        Elector { outputs, queue: Queue::new(env, &SERVICE, deliver), told: BTreeMap::new() }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.outputs.is_closed()
    }

    /// Says why there is no node.
    pub(super) fn fail(&self, why: &str) {
        self.queue.deliver(ServiceInput::Ended { number: NOWHERE, failure: Failure::Rejected(why.to_owned()) });
    }
}

impl<E: Env> Process<E> {
    /// `peers` may have this process itself.
    pub(super) fn new(
        env: E,
        settings: RaftSettings,
        peers: Vec<(u64, Endpoint)>,
        ids: Vec<u64>,
        tokens_above: u64,
    ) -> Self {
        let others = peers.into_iter().filter(|(peer, _)| *peer != settings.id);
        let dial_within = settings.fleet.map_or(0, |_| settings.lease());
        let links = Links::new(env.clone(), settings.fleet, dial_within, others);
        let scope = Scope::new(env.clone());
        Process { env, scope, settings, links, ids, tokens_above, restart: Arc::default() }
    }

    /// Starts the node.
    ///
    /// # Errors
    /// Those of [`RaftServer::start`].
    pub(super) async fn start(&self) -> Result<RaftServer<E>, StartError> {
        RaftServer::start(self.env.clone(), self.scope.clone(), &self.settings, self.links.clone()).await
    }

    async fn run(&self, elector: &mut Elector<E, impl Fn(ServiceInput)>) {
        loop {
            match self.start().await {
                Ok(server) => {
                    let over = self.serve(&server, elector).await;
                    server.stop().await;
                    if matches!(over, Over::Closed) {
                        return;
                    }
                }
                // A disk or a port may become available later.
                Err(_) if !elector.is_gone() => self.env.sleep(self.settings.lease()).await,
                Err(_) => return,
            }
        }
    }

    /// Informs an elector and does what it asks.
    pub(super) async fn serve(&self, server: &RaftServer<E>, elector: &mut Elector<E, impl Fn(ServiceInput)>) -> Over {
        let Elector { outputs, queue, told } = elector;
        let mut metrics = server.metrics();
        let node = Node { process: self, server };
        loop {
            let item = {
                let metrics = metrics.borrow_watched();
                if metrics.running_state.is_err() {
                    return Over::Restart;
                }
                self.item(&metrics)
            };
            if let Some(item) = item {
                queue.tell(&item, told);
            }
            queue.start_next(&node);
            tokio::select! {
                biased;
                output = outputs.recv() => match output {
                    Some(output) => queue.accept(output, &node),
                    None => return Over::Closed,
                },
                Some(event) = queue.event() => {
                    queue.settle(event).await;
                    if self.restart.swap(false, Ordering::Relaxed) {
                        return Over::Restart;
                    }
                }
                changed = metrics.changed() => if changed.is_err() {
                    return Over::Restart;
                },
            }
        }
    }

    fn id(&self, node: NodeId) -> u64 {
        self.ids.get(node.index()).copied().unwrap_or(NOBODY)
    }

    /// The item for the elector; none while a new leader is unacknowledged.
    fn item(&self, metrics: &RaftMetrics<Types>) -> Option<Item> {
        let term = self.tokens_above.saturating_add(metrics.current_term);
        match metrics.state {
            ServerState::Leader => {
                // Nobody acknowledges a sole voter, and openraft then gives no time.
                let alone = other_voters(metrics, metrics.id).next().is_none();
                let acked_at = match alone {
                    true => Some(self.env.now().mono),
                    false => metrics.last_quorum_acked.map(|at| at.0),
                };
                acked_at.map(|acked_at| Item::Leading { term, acked_at })
            }
            ServerState::Candidate => Some(Item::Candidate { term }),
            ServerState::Follower | ServerState::Learner => {
                // A founder's first vote is for itself, and a leader that has stepped down still names itself.
                let leader = metrics.current_leader.filter(|leader| *leader != metrics.id);
                let place = leader.and_then(|leader| self.ids.iter().position(|id| *id == leader));
                Some(Item::Following { term, leader: place.and_then(|place| u16::try_from(place).ok()).map(NodeId) })
            }
            ServerState::Shutdown => None,
        }
    }
}

/// Hands leadership over, by default to whose log is longest; done when this node no longer leads.
async fn transfer<E: Env>(
    raft: Raft,
    links: Links<E>,
    to: Option<u64>,
    restart: Arc<AtomicBool>,
) -> Result<Reply, Failure> {
    let refused = |why: &str| Err(Failure::Rejected(why.to_owned()));
    let mut metrics = raft.metrics();
    let (term, to, alone) = {
        let metrics = metrics.borrow_watched();
        if metrics.state != ServerState::Leader {
            return refused("this node does not lead");
        }
        let to = to.filter(|to| other_voters(&metrics, metrics.id).any(|voter| voter == *to));
        let alone = other_voters(&metrics, metrics.id).next().is_none();
        (metrics.current_term, to.or_else(|| best_successor(&metrics, |voter| links.stands(voter))), alone)
    };
    match to {
        None if alone => {
            restart.store(true, Ordering::Relaxed);
            return Ok(Reply::Done);
        }
        None => return refused("there is nobody to hand over to"),
        Some(to) => {
            if let Err(error) = raft.trigger().transfer_leader(to).await {
                return refused(&error.to_string());
            }
        }
    }
    loop {
        {
            let metrics = metrics.borrow_watched();
            if metrics.state != ServerState::Leader || metrics.current_term != term {
                return Ok(Reply::Done);
            }
        }
        if metrics.changed().await.is_err() {
            return Err(Failure::Unknown("openraft has ended".into()));
        }
    }
}

async fn change(answer: impl Future<Output = Answer>) -> Result<Reply, Failure> {
    match answer.await {
        Answer::Changed => Ok(Reply::Done),
        Answer::Refused(why) => Err(Failure::Rejected(why)),
        _ => Err(Failure::Unknown("the leader answered something else".into())),
    }
}
