//! How a Raft node talks to its peers: one connection to each, dialled when there is a request and redialled after it
//! breaks.
//!
//! Every request has a deadline. When one passes unanswered, the connection is dropped with everything on it: a peer
//! behind a partition is redialled, instead of waiting for the connection to recover.

use super::wire::{Answer, Frames, Numbered, Request, Snapshot, SnapshotMeta, Types, Vote, frame};
use crate::{env::Env, site::Endpoint};
use openraft::{
    RaftNetworkFactory, RaftNetworkV2,
    errors::{RPCError, ReplicationClosed, StreamingError, Unreachable},
    network::RPCOption,
    raft::{
        AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
        VoteRequest, VoteResponse,
    },
};
use std::{
    collections::BTreeMap,
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, ReadHalf, WriteHalf},
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
};

struct Call {
    request: Request,
    /// The deadline, nanoseconds of the monotonic clock.
    due: u64,
    answer: oneshot::Sender<Answer>,
}

/// The connections to all peers. Clones share them; dropping the last clone closes them.
pub struct Links<E: Env> {
    env: E,
    links: Arc<BTreeMap<u64, Link<E>>>,
}

impl<E: Env> Clone for Links<E> {
    fn clone(&self) -> Self {
        Links { env: self.env.clone(), links: self.links.clone() }
    }
}

struct Link<E: Env> {
    calls: UnboundedSender<Call>,
    stands: Arc<AtomicBool>,
    _task: E::Task,
}

impl<E: Env> Links<E> {
    /// Links to `peers`, by their ids. Nothing is dialled yet. `dial_within` is how long dialling may take at least,
    /// nanoseconds; with zero, it is what the request has.
    pub fn new(env: E, fleet: Option<u64>, dial_within: u64, peers: impl IntoIterator<Item = (u64, Endpoint)>) -> Self {
        let link = |(id, endpoint)| {
            let (calls, to_call) = unbounded_channel();
            let stands = Arc::new(AtomicBool::new(true));
            let dialler = Dialler {
                env: env.clone(),
                fleet,
                stands: stands.clone(),
                dial_within,
                endpoint,
                calls: to_call,
                number: 0,
            };
            (id, Link { calls, stands, _task: env.spawn(dialler.run()) })
        };
        let links = Arc::new(peers.into_iter().map(link).collect());
        Links { env, links }
    }

    /// Whether that node stands for election, as it said last.
    pub fn stands(&self, id: u64) -> bool {
        self.links.get(&id).is_none_or(|link| link.stands.load(Ordering::Relaxed))
    }

    /// Sends a request to `to`, and waits for the answer for at most `ttl` nanoseconds.
    ///
    /// # Errors
    /// An unknown id, or no answer.
    pub async fn ask(&self, to: u64, request: Request, ttl: u64) -> io::Result<Answer> {
        let link = self.links.get(&to).ok_or_else(|| io::Error::other(format!("there is no node {to}")))?;
        let (answer, answered) = oneshot::channel();
        let due = self.env.now().mono.saturating_add(ttl);
        // If the link is gone, the call is dropped and so ends without an answer.
        let _ = link.calls.send(Call { request, due, answer });
        answered.await.map_err(|_| io::Error::other(format!("node {to} did not answer")))
    }
}

/// Keeps the connection to one peer.
struct Dialler<E> {
    env: E,
    fleet: Option<u64>,
    stands: Arc<AtomicBool>,
    dial_within: u64,
    endpoint: Endpoint,
    calls: UnboundedReceiver<Call>,
    number: u64,
}

impl<E: Env> Dialler<E> {
    async fn run(mut self) {
        while let Some(call) = self.calls.recv().await {
            let patience = call.due.saturating_sub(self.env.now().mono);
            if call.answer.is_closed() || patience == 0 {
                continue;
            }
            // Several round trips, with TLS: they may take longer than a heartbeat has.
            let patience = patience.max(self.dial_within);
            match self.env.timeout(patience, self.env.connect(&self.endpoint)).await {
                // It returns when the connection breaks or is dropped; unanswered calls then fail.
                Some(Ok(stream)) => drop(self.converse(stream, call).await),
                // Calls that arrived meanwhile would fail too.
                Some(Err(_)) | None => while self.calls.try_recv().is_ok() {},
            }
        }
    }

    /// Carries out calls on one connection until it breaks or an answer is overdue.
    async fn converse(&mut self, stream: E::Stream, first: Call) -> io::Result<()> {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut frames: Frames<ReadHalf<E::Stream>> = Frames::new(reader);
        let mut waiting: BTreeMap<u64, (u64, oneshot::Sender<Answer>)> = BTreeMap::new();
        if self.env.now().mono < first.due {
            self.send(&mut writer, first, &mut waiting).await?;
        }
        loop {
            let due = waiting.values().map(|(due, _)| *due).min();
            let overdue = async {
                match due {
                    Some(due) => self.env.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                answer = frames.next::<Numbered<Answer>>() => {
                    let Numbered { number, stands, body, .. } = answer?;
                    self.stands.store(stands.unwrap_or(true), Ordering::Relaxed);
                    if let Some((_, answer)) = waiting.remove(&number) {
                        // The caller may have given up.
                        let _ = answer.send(body);
                    }
                }
                call = self.calls.recv() => match call {
                    Some(call) => self.send(&mut writer, call, &mut waiting).await?,
                    None => return Ok(()),
                },
                () = overdue => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    async fn send(
        &mut self,
        writer: &mut WriteHalf<E::Stream>,
        call: Call,
        waiting: &mut BTreeMap<u64, (u64, oneshot::Sender<Answer>)>,
    ) -> io::Result<()> {
        let Call { request, due, answer } = call;
        self.number += 1;
        let bytes = frame(&Numbered { number: self.number, fleet: self.fleet, stands: None, body: request })?;
        waiting.insert(self.number, (due, answer));
        let patience = due.saturating_sub(self.env.now().mono);
        let written = self.env.timeout(patience, async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        });
        written.await.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }
}

pub struct Client<E: Env> {
    links: Links<E>,
    to: u64,
    /// The kind under which its appends are counted.
    appends: &'static str,
}

impl<E: Env> RaftNetworkFactory<Types> for Links<E> {
    type Network = Client<E>;

    async fn new_client(&mut self, to: u64, _: &openraft::EmptyNode) -> Client<E> {
        Client { links: self.clone(), to, appends: "append-entries" }
    }

    async fn new_heartbeat_client(&mut self, to: u64, _: &openraft::EmptyNode) -> Client<E> {
        Client { links: self.clone(), to, appends: "heartbeat" }
    }
}

impl<E: Env> Client<E> {
    /// Sends a request and extracts the answer. openraft backs off from peers that do not answer.
    async fn ask<T>(
        &self,
        kind: &'static str,
        request: Request,
        ttl: Duration,
        take: impl FnOnce(Answer) -> Option<T>,
    ) -> Result<T, Unreachable<Types>> {
        self.links.env.count(kind);
        let ttl = u64::try_from(ttl.as_nanos()).unwrap_or(u64::MAX);
        match self.links.ask(self.to, request, ttl).await {
            Ok(Answer::Refused(why)) => Err(Unreachable::from_string(why)),
            Ok(answer) => take(answer).ok_or_else(|| Unreachable::from_string("the answer is to another question")),
            Err(error) => Err(Unreachable::new(&error)),
        }
    }
}

type Rpc<T> = Result<T, RPCError<Types>>;

impl<E: Env> RaftNetworkV2<Types> for Client<E> {
    type SnapshotData = ();

    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Rpc<AppendEntriesResponse<Types>> {
        let take = |answer| if let Answer::Append(answer) = answer { Some(answer) } else { None };
        Ok(self.ask(self.appends, Request::Append(rpc), option.hard_ttl(), take).await?)
    }

    async fn vote(&mut self, rpc: VoteRequest<Types>, option: RPCOption) -> Rpc<VoteResponse<Types>> {
        let take = |answer| if let Answer::Vote(answer) = answer { Some(answer) } else { None };
        Ok(self.ask("vote", Request::Vote(rpc), option.hard_ttl(), take).await?)
    }

    async fn pre_vote(&mut self, rpc: VoteRequest<Types>, option: RPCOption) -> Rpc<VoteResponse<Types>> {
        let take = |answer| if let Answer::Vote(answer) = answer { Some(answer) } else { None };
        Ok(self.ask("pre-vote", Request::PreVote(rpc), option.hard_ttl(), take).await?)
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot,
        cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        let meta: SnapshotMeta = snapshot.meta;
        let take = |answer| if let Answer::Snapshot(answer) = answer { Some(answer) } else { None };
        let sent = self.ask("snapshot", Request::Snapshot { vote, meta }, option.hard_ttl(), take);
        tokio::select! {
            biased;
            answer = sent => Ok(answer?),
            closed = cancel => Err(closed.into()),
        }
    }

    async fn transfer_leader(
        &mut self,
        rpc: TransferLeaderRequest<Types>,
        option: RPCOption,
    ) -> Rpc<TransferLeaderResponse<Types>> {
        let take = |answer| if let Answer::Transfer(answer) = answer { Some(answer) } else { None };
        Ok(self.ask("transfer-leader", Request::Transfer(rpc), option.hard_ttl(), take).await?)
    }
}
