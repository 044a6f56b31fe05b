//! etcd: its arms. Requests go out as written, over plain gRPC, so that no client library withholds anything.
//!
//! In addition to the requests of `texts::etcd` there are `watch open`, `watch create STREAM KEY …`, `watch cancel
//! STREAM WATCH`, `watch progress STREAM`, `watch close STREAM` and `watch read STREAM COUNT`, which waits for that
//! many items: created, cancelled, progress, and every event. How events are grouped in responses is not compared,
//! since it depends on timing while a watch catches up.

use super::script::Arm;
use crate::texts::etcd::*;
use etcd_client::proto::*;
use http::uri::PathAndQuery;
use protocols::types::MILLISECOND;
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    etcd::channel::Channel,
    site::Endpoint,
};
use servers::{Exact, Version};
use sim::service::etcd::Etcd as Model;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};
use tokio_stream::{StreamExt, wrappers::UnboundedReceiverStream};
use tonic::{Request, Status, Streaming, client::Grpc};
use tonic_prost::ProstCodec;

/// How long to wait for an expected item of a watch.
const PATIENCE: Duration = Duration::from_secs(6);
/// How long to listen if nothing is expected.
const SILENCE: Duration = Duration::from_millis(100);

enum Served {
    Real(Exact),
    Model { state: Arc<Model>, port: u16, task: <TokioEnv as Env>::Task },
}

struct Watching {
    requests: UnboundedSender<PbWatchRequest>,
    items: UnboundedReceiver<PbWatchResponse>,
    _reader: <TokioEnv as Env>::Task,
}

/// A server, its sessions, and their watches.
pub struct Etcd {
    env: TokioEnv,
    served: Served,
    sessions: BTreeMap<String, Channel<TokioEnv>>,
    streams: BTreeMap<i64, Watching>,
    opened: i64,
    pub names: Names,
}

type Answer<T> = Result<T, Status>;

async fn serve(env: &TokioEnv, state: &Arc<Model>, port: u16) -> <TokioEnv as Env>::Task {
    let (state, on) = (state.clone(), env.clone());
    let task = env.spawn(async move { state.serve_on(on, port).await.expect("the port is free") });
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        env.sleep(MILLISECOND).await;
    }
    task
}

/// A unary call.
async fn call<Q, A>(channel: &Channel<TokioEnv>, path: &'static str, request: Q) -> Answer<A>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Q, A>::default());
    Ok(Grpc::new(channel.clone()).unary(Request::new(request), path, codec).await?.into_inner())
}

/// A bidirectional stream, which begins with the first answer.
async fn stream<Q, A>(
    channel: Channel<TokioEnv>,
    path: &'static str,
    requests: UnboundedReceiver<Q>,
) -> Answer<Streaming<A>>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Q, A>::default());
    let request = Request::new(UnboundedReceiverStream::new(requests));
    Ok(Grpc::new(channel).streaming(request, path, codec).await?.into_inner())
}

/// The items of a response.
fn items(response: PbWatchResponse) -> Vec<PbWatchResponse> {
    if response.events.is_empty() {
        return vec![response];
    }
    let one = |event: &PbEvent| PbWatchResponse { events: vec![event.clone()], ..response.clone() };
    response.events.iter().map(one).collect()
}

fn show_item(n: &Names, item: &PbWatchResponse) -> String {
    let shown = show_watch(n, item);
    if item.events.is_empty() {
        return shown + if item.created || item.canceled { "" } else { " progress" };
    }
    // The response's revision depends on how many events share it.
    let (watch, rest) = shown.split_once(" revision ").expect("every response has one");
    format!("{watch} {}", rest.split_once(' ').expect("and an event").1)
}

// The library does not export the names of these requests' parts.

fn create(n: &Names, w: &Words) -> PbWatchRequestUnion {
    let mut request = PbWatchRequestUnion::CreateRequest(Default::default());
    if let PbWatchRequestUnion::CreateRequest(create) = &mut request {
        create.key = bytes(w.plain(3));
        create.range_end = w.end(w.plain(3));
        create.start_revision = n.to_server(w.number("start"));
        create.prev_kv = w.flag("prev_kv");
        create.watch_id = w.number("id");
        let filters = [(w.flag("no_put"), 0), (w.flag("no_delete"), 1)];
        create.filters = filters.into_iter().filter(|(is, _)| *is).map(|(_, filter)| filter).collect();
    }
    request
}

fn cancel(watch_id: i64) -> PbWatchRequestUnion {
    let mut request = PbWatchRequestUnion::CancelRequest(Default::default());
    if let PbWatchRequestUnion::CancelRequest(cancel) = &mut request {
        cancel.watch_id = watch_id;
    }
    request
}

impl Etcd {
    /// The model, served over a socket.
    pub async fn model() -> Etcd {
        let (env, state, port) = (TokioEnv::new(1), Arc::<Model>::default(), servers::free_address().port());
        let task = serve(&env, &state, port).await;
        Etcd::new(env, Served::Model { state, port, task })
    }

    /// The real server, if available.
    pub fn real(version: Version) -> Option<Etcd> {
        Some(Etcd::new(TokioEnv::new(1), Served::Real(version.start()?)))
    }

    fn new(env: TokioEnv, served: Served) -> Etcd {
        Etcd { env, served, sessions: BTreeMap::new(), streams: BTreeMap::new(), opened: 0, names: Names::default() }
    }

    fn channel(&mut self, session: &str) -> Channel<TokioEnv> {
        let port = match &self.served {
            Served::Real(real) => real.server.address.port(),
            Served::Model { port, .. } => *port,
        };
        let endpoint = Endpoint { host: "127.0.0.1".into(), port };
        let dial = || Channel::new(self.env.clone(), endpoint);
        self.sessions.entry(session.to_owned()).or_insert_with(dial).clone()
    }

    async fn request(&mut self, channel: &Channel<TokioEnv>, text: &str) -> Answer<String> {
        let (w, n) = (Words::of(text), &self.names);
        Ok(match w.plain(0) {
            "get" => show_range(n, &call(channel, "/etcdserverpb.KV/Range", range(n, &w)).await?),
            "put" => show_put(n, &call(channel, "/etcdserverpb.KV/Put", put(n, &w)).await?),
            "del" => show_delete(n, &call(channel, "/etcdserverpb.KV/DeleteRange", delete(&w)).await?),
            "txn" => {
                let request = txn(n, &mut text.split_whitespace().skip(1).map(String::from));
                show_txn(n, &call(channel, "/etcdserverpb.KV/Txn", request).await?)
            }
            "txn_of" => {
                // Too long to write out: this many operations.
                let operation = PbTxnRequestOp { request: operation(n, "get a") };
                let success = vec![operation; w.plain(1).parse().expect("a number")];
                let request = PbTxnRequest { success, ..PbTxnRequest::default() };
                let answer: PbTxnResponse = call(channel, "/etcdserverpb.KV/Txn", request).await?;
                format!("revision {} and {} answers", revision(n, &answer.header), answer.responses.len())
            }
            "compact" => {
                let wanted = n.to_server(w.plain(1).parse().expect("a number"));
                let request = PbCompactionRequest { revision: wanted, physical: w.flag("physical") };
                let answer: PbCompactionResponse = call(channel, "/etcdserverpb.KV/Compact", request).await?;
                format!("revision {}", revision(n, &answer.header))
            }
            "watch" => return self.watch(channel, &w).await,
            _ => return self.lease(channel, &w).await,
        })
    }

    async fn lease(&mut self, channel: &Channel<TokioEnv>, w: &Words<'_>) -> Answer<String> {
        let n = &self.names;
        let id = n.lease(w);
        Ok(match w.plain(0) {
            "grant" => {
                let request = PbLeaseGrantRequest { ttl: w.plain(1).parse().expect("a number"), id };
                let r: PbLeaseGrantResponse = call(channel, "/etcdserverpb.Lease/LeaseGrant", request).await?;
                let revision = revision(n, &r.header);
                if id == 0 {
                    self.names.leases.push(r.id);
                }
                format!("revision {revision} lease {} ttl {}", self.names.show_lease(r.id), r.ttl)
            }
            "revoke" => {
                let request = PbLeaseRevokeRequest { id };
                let r: PbLeaseRevokeResponse = call(channel, "/etcdserverpb.Lease/LeaseRevoke", request).await?;
                format!("revision {}", revision(n, &r.header))
            }
            "keepalive" => {
                let (sender, requests) = unbounded_channel();
                sender.send(PbLeaseKeepAliveRequest { id }).expect("the receiver is here");
                let mut answers = stream(channel.clone(), "/etcdserverpb.Lease/LeaseKeepAlive", requests).await?;
                let r: Option<PbLeaseKeepAliveResponse> = answers.message().await?;
                r.map_or("the end".into(), |r| format!("revision {} ttl {}", revision(n, &r.header), r.ttl))
            }
            "ttl" => {
                let request = PbLeaseTimeToLiveRequest { id, keys: w.flag("keys") };
                let mut r: PbLeaseTimeToLiveResponse =
                    call(channel, "/etcdserverpb.Lease/LeaseTimeToLive", request).await?;
                // Real servers return them in the order of a hash map.
                r.keys.sort();
                let keys: String = r.keys.iter().map(|key| format!(" {}", key.escape_ascii())).collect();
                format!("revision {} ttl {} of {}{keys}", revision(n, &r.header), r.ttl, r.granted_ttl)
            }
            "leases" => {
                let ids = self.leases(channel).await?;
                let shown: String = ids.into_iter().map(|id| format!(" {}", self.names.show_lease(id))).collect();
                format!("leases{shown}")
            }
            other => panic!("no such request: {other}"),
        })
    }

    async fn leases(&self, channel: &Channel<TokioEnv>) -> Answer<Vec<i64>> {
        let request = PbLeaseLeasesRequest::default();
        let answer: PbLeaseLeasesResponse = call(channel, "/etcdserverpb.Lease/LeaseLeases", request).await?;
        Ok(answer.leases.into_iter().map(|lease| lease.id).collect())
    }

    async fn watch(&mut self, channel: &Channel<TokioEnv>, w: &Words<'_>) -> Answer<String> {
        let number = || w.plain(2).parse::<i64>().expect("a stream");
        let send = |streams: &BTreeMap<i64, Watching>, request| {
            let open = streams.get(&number()).expect("the stream was opened");
            // A stream that the server has ended accepts nothing; reading it shows that.
            let _ = open.requests.send(PbWatchRequest { request_union: Some(request) });
        };
        match w.plain(1) {
            "open" => {
                self.opened += 1;
                let number = self.opened;
                let opened = self.open_watch(channel.clone());
                self.streams.insert(number, opened);
                return Ok(format!("stream {number}"));
            }
            "create" => send(&self.streams, create(&self.names, w)),
            "cancel" => send(&self.streams, cancel(w.plain(3).parse().expect("a watch"))),
            "progress" => send(&self.streams, PbWatchRequestUnion::ProgressRequest(Default::default())),
            "close" => drop(self.streams.remove(&number()).expect("the stream was opened")),
            "read" => return Ok(self.read_watch(number(), w.plain(3).parse().expect("a count")).await.join("\n")),
            other => panic!("no such thing to do with a watch: {other}"),
        }
        Ok(String::new())
    }

    fn open_watch(&self, channel: Channel<TokioEnv>) -> Watching {
        let (requests, outgoing) = unbounded_channel();
        let (sender, incoming) = unbounded_channel();
        let reader = self.env.spawn(async move {
            let Ok(mut responses) = stream(channel, "/etcdserverpb.Watch/Watch", outgoing).await else { return };
            while let Some(Ok(response)) = responses.next().await {
                for item in items(response) {
                    // The receiver may be gone.
                    let _ = sender.send(item);
                }
            }
        });
        Watching { requests, items: incoming, _reader: reader }
    }

    /// The next items of a stream; fewer if no more come.
    pub async fn read_watch(&mut self, stream: i64, count: usize) -> Vec<String> {
        let stream = self.streams.get_mut(&stream).expect("the stream was opened");
        let mut read = Vec::new();
        while read.len() < count {
            match timeout(PATIENCE, stream.items.recv()).await {
                Ok(Some(item)) => read.push(show_item(&self.names, &item)),
                Ok(None) => {
                    read.push("the end".into());
                    break;
                }
                Err(_) => {
                    read.push("nothing more".into());
                    break;
                }
            }
        }
        read
    }

    /// Every item of a stream up to one of revision `until` or the watch's end; if `until` is `None`, those that have
    /// arrived.
    pub async fn read_watch_until(&mut self, stream: i64, until: Option<i64>) -> Vec<String> {
        let stream = self.streams.get_mut(&stream).expect("the stream was opened");
        let patience = if until.is_some() { PATIENCE } else { SILENCE };
        let mut read = Vec::new();
        while let Ok(Some(item)) = timeout(patience, stream.items.recv()).await {
            read.push(show_item(&self.names, &item));
            let modified = item.events.first().and_then(|event| event.kv.as_ref()).map_or(0, |kv| kv.mod_revision);
            if item.canceled || until.is_some_and(|until| modified >= self.names.to_server(until)) {
                return read;
            }
        }
        if until.is_some() {
            read.push("nothing more".into());
        }
        read
    }
}

impl Arm for Etcd {
    fn name(&self) -> String {
        match &self.served {
            Served::Real(real) => real.version.name().to_owned(),
            Served::Model { .. } => "the model".into(),
        }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model { .. })
    }

    async fn reset(&mut self) {
        self.streams.clear();
        self.opened = 0;
        self.sessions.clear();
        self.names = Names::default();
        let (mut channel, name) = (self.channel(""), self.name());
        if self.leases(&channel).await.is_err() {
            // A request has crashed the server, and replaying its log would crash it again.
            if let Served::Real(real) = &mut self.served {
                *real = real.version.start().expect("it started before");
            }
            self.sessions.clear();
            channel = self.channel("");
        }
        for id in self.leases(&channel).await.unwrap_or_else(|status| panic!("{name} is gone: {status}")) {
            let request = PbLeaseRevokeRequest { id };
            // The lease may have expired.
            let _: Answer<PbLeaseRevokeResponse> = call(&channel, "/etcdserverpb.Lease/LeaseRevoke", request).await;
        }
        let all = PbDeleteRequest { key: vec![0], range_end: vec![0], prev_kv: false };
        let gone: PbDeleteResponse = call(&channel, "/etcdserverpb.KV/DeleteRange", all)
            .await
            .unwrap_or_else(|status| panic!("{name} is gone: {status}"));
        // An empty store is at revision 1.
        let revision = gone.header.expect("a header").revision;
        self.names.base = revision - 1;
        // It may already be compacted to that revision.
        let compact = PbCompactionRequest { revision, physical: false };
        let _: Answer<PbCompactionResponse> = call(&channel, "/etcdserverpb.KV/Compact", compact).await;
    }

    async fn ask(&mut self, session: &str, text: &str) -> Vec<String> {
        let channel = self.channel(session);
        let answer = match timeout(PATIENCE * 2, self.request(&channel, text)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(status)) => format!("{:?}: {}", status.code(), status.message()),
            Err(_) => "no answer".into(),
        };
        answer.lines().map(str::to_owned).collect()
    }

    async fn reconnect(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    async fn restart(&mut self) {
        self.sessions.clear();
        match &mut self.served {
            Served::Real(real) => real.server.restart(),
            Served::Model { state, port, task } => {
                // After its server has closed connections, a port stays in use for a while.
                *port = servers::free_address().port();
                *task = serve(&self.env, state, *port).await;
            }
        }
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut rest = Vec::new();
        for (number, stream) in &mut self.streams {
            while let Ok(Some(item)) = timeout(SILENCE, stream.items.recv()).await {
                rest.push(format!("stream {number} {}", show_item(&self.names, &item)));
            }
        }
        rest
    }
}
