//! Raft by the genuine openraft crate, which runs in the candidate's own process.

use super::{
    network::Links,
    runtime::Scope,
    server::{RaftServer, RaftSettings, best_successor, other_voters},
    store::Raft,
    wire::{Answer, Change, Types},
};
use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Site,
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
    };
    let peers = site.peers.into_iter().enumerate().map(|(peer, endpoint)| (peer as u64, endpoint));
    let links = Links::new(env.clone(), peers.filter(|(peer, _)| *peer != id));
    let scope = Scope::new(env.clone());
    let queue = Queue::new(env.clone(), &SERVICE, deliver);
    let restart = Arc::new(AtomicBool::new(false));
    let client = Client { env, scope: scope.clone(), settings, links, queue, told: BTreeMap::new(), restart };
    scope.run(client.run(outputs)).await;
}

/// Why a Raft node is stopped.
enum Over {
    /// The elector has closed its channel.
    Closed,
    /// It failed, or is to be restarted.
    Restart,
}

struct Client<E: Env, D> {
    env: E,
    scope: Scope,
    settings: RaftSettings,
    links: Links<E>,
    queue: Queue<E, Api, D>,
    /// The last item of each open watch.
    told: BTreeMap<StreamNumber, Item>,
    /// Set by a restart request, which is done once the node has been started again.
    restart: Arc<AtomicBool>,
}

struct Node<'a, E: Env> {
    env: &'a E,
    scope: &'a Scope,
    server: &'a RaftServer<E>,
    restart: &'a Arc<AtomicBool>,
}

impl<E: Env> Backend for Node<'_, E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, server) = (self.env.clone(), self.server);
        let work: Boxed<Result<Reply, Failure>> = match request {
            Request::Transfer { to } => {
                Box::pin(transfer(server.raft(), to.map(|to| u64::from(to.0)), self.restart.clone()))
            }
            Request::AddVoter { node } => Box::pin(change(server.change(Change::Add(node.0.into()), timeout))),
            Request::RemoveVoter { node } => Box::pin(change(server.change(Change::Remove(node.0.into()), timeout))),
        };
        Box::pin(self.scope.run(async move { within(&env, timeout, work).await }))
    }

    fn stream(&self, request: StreamRequest, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {
            StreamRequest::Watch => None,
        }
    }
}

impl<E: Env, D: Fn(ServiceInput)> Client<E, D> {
    async fn run(mut self, mut outputs: UnboundedReceiver<ServiceOutput>) {
        loop {
            match RaftServer::start(self.env.clone(), self.scope.clone(), &self.settings, self.links.clone()).await {
                Ok(server) => {
                    let over = self.serve(&server, &mut outputs).await;
                    server.stop().await;
                    if matches!(over, Over::Closed) {
                        return;
                    }
                }
                // A disk or a port may become available later.
                Err(_) if !outputs.is_closed() => self.env.sleep(self.settings.lease()).await,
                Err(_) => return,
            }
        }
    }

    async fn serve(&mut self, server: &RaftServer<E>, outputs: &mut UnboundedReceiver<ServiceOutput>) -> Over {
        let mut metrics = server.metrics();
        let node = Node { env: &self.env, scope: &self.scope, server, restart: &self.restart };
        loop {
            let item = {
                let metrics = metrics.borrow_watched();
                if metrics.running_state.is_err() {
                    return Over::Restart;
                }
                item(&metrics, self.env.now().mono)
            };
            if let Some(item) = item {
                self.queue.tell(&item, &mut self.told);
            }
            self.queue.start_next(&node);
            tokio::select! {
                biased;
                output = outputs.recv() => match output {
                    Some(output) => self.queue.accept(output, &node),
                    None => return Over::Closed,
                },
                Some(event) = self.queue.event() => {
                    self.queue.settle(event).await;
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
}

/// The item for the elector; none while a new leader is unacknowledged.
fn item(metrics: &RaftMetrics<Types>, now: u64) -> Option<Item> {
    let term = metrics.current_term;
    match metrics.state {
        ServerState::Leader => {
            // Nobody acknowledges a sole voter, and openraft then gives no time.
            let alone = other_voters(metrics, metrics.id).next().is_none();
            let acked_at = if alone { Some(now) } else { metrics.last_quorum_acked.map(|at| at.0) };
            acked_at.map(|acked_at| Item::Leading { term, acked_at })
        }
        ServerState::Candidate => Some(Item::Candidate { term }),
        ServerState::Follower | ServerState::Learner => {
            // A founder's first vote is for itself, and a leader that has stepped down still names itself.
            let leader = metrics.current_leader.filter(|leader| *leader != metrics.id);
            Some(Item::Following { term, leader: leader.and_then(|id| u16::try_from(id).ok()).map(NodeId) })
        }
        ServerState::Shutdown => None,
    }
}

async fn transfer(raft: Raft, to: Option<u64>, restart: Arc<AtomicBool>) -> Result<Reply, Failure> {
    let refused = |why: &str| Err(Failure::Rejected(why.to_owned()));
    let mut metrics = raft.metrics();
    let (term, to, alone) = {
        let metrics = metrics.borrow_watched();
        if metrics.state != ServerState::Leader {
            return refused("this node does not lead");
        }
        let to = to.filter(|to| other_voters(&metrics, metrics.id).any(|voter| voter == *to));
        let alone = other_voters(&metrics, metrics.id).next().is_none();
        (metrics.current_term, to.or_else(|| best_successor(&metrics)), alone)
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
