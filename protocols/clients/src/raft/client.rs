//! Raft by the genuine openraft crate, which runs in the candidate's own process.

use super::{
    network::Links,
    runtime::Scope,
    server::{Server, Settings, best_successor, other_voters},
    types::Types,
    wire::{Answer, Change},
};
use crate::{env::Env, site::Site};
use openraft::{RaftMetrics, ServerState, async_runtime::WatchReceiver};
use protocols::{
    elector::{RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Payload,
    service::raft::{Item, Reply, Request, StreamRequest},
    types::NodeId,
};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Runs openraft for one elector until `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    site: Site,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    let Some(election_timeout) = site.timings.election_timeout else { return };
    let id = u64::from(site.node.0);
    let settings = Settings {
        id,
        founders: site.founders.iter().map(|node| u64::from(node.0)).collect(),
        port: site.port,
        election_timeout,
        heartbeat: site.timings.renew_interval,
    };
    let peers = site.peers.into_iter().enumerate().map(|(peer, endpoint)| (peer as u64, endpoint));
    let links = Links::new(env.clone(), peers.filter(|(peer, _)| *peer != id));
    let scope = Scope::new(env.clone());
    scope.run(Client { env, scope: scope.clone(), settings, links, books: Books::new(deliver) }.run(outputs)).await;
}

/// Why a Raft node is stopped.
enum Over {
    /// Nobody wants it any more.
    Closed,
    /// It failed, or is to begin anew.
    Restart,
}

/// How a request ended.
enum Done {
    Reply(Result<Reply, Failure>),
    /// It is done once the node has been started again.
    Restart,
}

struct Waiting {
    number: RequestNumber,
    request: Request,
    timeout: u64,
}

/// What is under way.
struct Books<E: Env, D> {
    deliver: D,
    done: UnboundedSender<(RequestNumber, Done)>,
    finished: UnboundedReceiver<(RequestNumber, Done)>,
    running: BTreeMap<RequestNumber, E::Task>,
    /// The one of `running` that those in `waiting` wait for.
    first: Option<RequestNumber>,
    waiting: VecDeque<Waiting>,
    /// Open watches, and what each was told last.
    watches: BTreeMap<StreamNumber, Option<Item>>,
}

struct Client<E: Env, D> {
    env: E,
    scope: Scope,
    settings: Settings,
    links: Links<E>,
    books: Books<E, D>,
}

impl<E: Env, D: Fn(ServiceInput)> Books<E, D> {
    fn new(deliver: D) -> Self {
        let (done, finished) = unbounded_channel();
        let (running, waiting, watches) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Books { deliver, done, finished, running, first: None, waiting, watches }
    }

    fn reply(&self, number: RequestNumber, reply: Result<Reply, Failure>) {
        (self.deliver)(ServiceInput::Reply { number, reply: reply.map(Payload::erase) });
    }

    /// Forgets a request, dropping it if it is under way; was it?
    fn finish(&mut self, number: RequestNumber) -> bool {
        self.waiting.retain(|w| w.number != number);
        self.first.take_if(|first| *first == number);
        self.running.remove(&number).is_some()
    }

    fn tell(&mut self, item: Item) {
        for (number, told) in &mut self.watches {
            if *told != Some(item) {
                *told = Some(item);
                (self.deliver)(ServiceInput::Item { number: *number, item: item.erase() });
            }
        }
    }
}

impl<E: Env, D: Fn(ServiceInput) + Clone + Send + Sync + 'static> Client<E, D> {
    async fn run(mut self, mut outputs: UnboundedReceiver<ServiceOutput>) {
        loop {
            match Server::start(self.env.clone(), self.scope.clone(), &self.settings, self.links.clone()).await {
                Ok(server) => {
                    let over = self.serve(&server, &mut outputs).await;
                    server.stop().await;
                    if matches!(over, Over::Closed) {
                        return;
                    }
                }
                // A disk or a port may be back later.
                Err(_) if !outputs.is_closed() => self.env.sleep(self.settings.lease()).await,
                Err(_) => return,
            }
        }
    }

    async fn serve(&mut self, server: &Server<E>, outputs: &mut UnboundedReceiver<ServiceOutput>) -> Over {
        let mut metrics = server.metrics();
        loop {
            let item = {
                let metrics = metrics.borrow_watched();
                if metrics.running_state.is_err() {
                    return Over::Restart;
                }
                item(&metrics, self.env.now().mono)
            };
            if let Some(item) = item {
                self.books.tell(item);
            }
            self.start_next(server);
            tokio::select! {
                biased;
                output = outputs.recv() => match output {
                    Some(output) => self.carry_out(output, server),
                    None => return Over::Closed,
                },
                Some((number, done)) = self.books.finished.recv() => {
                    let restart = matches!(done, Done::Restart);
                    if self.books.finish(number) {
                        self.books.reply(number, match done { Done::Reply(reply) => reply, Done::Restart => Ok(Reply::Done) });
                    }
                    if restart {
                        return Over::Restart;
                    }
                }
                changed = metrics.changed() => if changed.is_err() {
                    return Over::Restart;
                },
            }
        }
    }

    fn carry_out(&mut self, output: ServiceOutput, server: &Server<E>) {
        match output {
            ServiceOutput::Request { number, request, timeout, concurrent } => {
                let Ok(request) = Request::restore(request) else {
                    let why = "Raft cannot carry out another service's request";
                    return self.books.reply(number, Err(Failure::Rejected(why.into())));
                };
                let waiting = Waiting { number, request, timeout };
                match concurrent {
                    true => self.start(waiting, server),
                    false => self.books.waiting.push_back(waiting),
                }
            }
            ServiceOutput::Cancel(number) => drop(self.books.finish(number)),
            ServiceOutput::Open { number, request } if request.get() == Some(&StreamRequest::Watch) => {
                self.books.watches.insert(number, None);
            }
            ServiceOutput::Open { number, .. } => {
                let failure = Failure::Rejected("Raft has no such stream".into());
                (self.books.deliver)(ServiceInput::Ended { number, failure });
            }
            ServiceOutput::Push(_) => {}
            ServiceOutput::Close(number) => drop(self.books.watches.remove(&number)),
        }
    }

    fn start_next(&mut self, server: &Server<E>) {
        if self.books.first.is_none()
            && let Some(next) = self.books.waiting.pop_front()
        {
            self.books.first = Some(next.number);
            self.start(next, server);
        }
    }

    fn start(&mut self, Waiting { number, request, timeout }: Waiting, server: &Server<E>) {
        let (env, done) = (self.env.clone(), self.books.done.clone());
        let task: std::pin::Pin<Box<dyn Future<Output = Done> + Send>> = match request {
            Request::Transfer { to } => Box::pin(transfer(server.raft(), to.map(|to| u64::from(to.0)))),
            Request::AddVoter { node } => Box::pin(change(server.change(Change::Add(node.0.into()), timeout))),
            Request::RemoveVoter { node } => Box::pin(change(server.change(Change::Remove(node.0.into()), timeout))),
        };
        let task = self.env.spawn(self.scope.run(async move {
            let result = env.timeout(timeout, task).await;
            let result = result.unwrap_or_else(|| Done::Reply(Err(Failure::Unknown("timed out".into()))));
            let _ = done.send((number, result));
        }));
        self.books.running.insert(number, task);
    }
}

/// What the elector is told of a Raft node; nothing while a new leader has not been acknowledged.
fn item(metrics: &RaftMetrics<Types>, now: u64) -> Option<Item> {
    let term = metrics.current_term;
    match metrics.state {
        ServerState::Leader => {
            // Nobody acknowledges the only voter, and openraft says no time then.
            let alone = other_voters(metrics, metrics.id).next().is_none();
            let acked_at = if alone { Some(now) } else { metrics.last_quorum_acked.map(|at| at.0) };
            acked_at.map(|acked_at| Item::Leading { term, acked_at })
        }
        ServerState::Candidate => Some(Item::Candidate { term }),
        ServerState::Follower | ServerState::Learner => {
            // A founder's first vote is for itself, and a leader that steps down is none.
            let leader = metrics.current_leader.filter(|leader| *leader != metrics.id);
            Some(Item::Following { term, leader: leader.and_then(|id| u16::try_from(id).ok()).map(NodeId) })
        }
        ServerState::Shutdown => None,
    }
}

async fn transfer(raft: super::types::Raft, to: Option<u64>) -> Done {
    let refused = |why: &str| Done::Reply(Err(Failure::Rejected(why.to_owned())));
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
        None if alone => return Done::Restart,
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
                return Done::Reply(Ok(Reply::Done));
            }
        }
        if metrics.changed().await.is_err() {
            return Done::Reply(Err(Failure::Unknown("openraft has ended".into())));
        }
    }
}

async fn change(answer: impl Future<Output = Answer>) -> Done {
    Done::Reply(match answer.await {
        Answer::Changed => Ok(Reply::Done),
        Answer::Refused(why) => Err(Failure::Rejected(why)),
        _ => Err(Failure::Unknown("the leader answered something else".into())),
    })
}
