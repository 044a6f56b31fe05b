//! etcd's own lock and election, which clients ask for in one call: the server waits in the queue for them.
//!
//! Reference: etcd-io/etcd 3.5, `server/etcdserver/api/v3lock/lock.go`, `.../v3election/election.go`,
//! `client/v3/concurrency/mutex.go, election.go, key.go: waitDeletes`, `session.go`. The server's client is within its
//! process, so it waits for nothing but the keys before its own. Not modelled: `Observe`; and a session keeps its lease
//! alive once, at its start, which a real server may do, too.

use etcd_client::proto::*;
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::Notify;
use tonic::{
    Request, Response, Status,
    body::Body,
    server::{Grpc, NamedService, UnaryService},
    service::Routes,
};
use tonic_prost::ProstCodec;

/// These services do not translate the errors of the server's client: they have a code of their own.
fn unknown_code(error: Status) -> Status {
    Status::unknown(error.message())
}

/// What these need of a server: its own client.
pub(super) trait Server: Clone + Send + Sync + 'static {
    /// A linearizable read.
    fn range(&self, request: PbRangeRequest) -> impl Future<Output = Result<PbRangeResponse, Status>> + Send;

    fn txn(&self, request: PbTxnRequest) -> impl Future<Output = Result<PbTxnResponse, Status>> + Send;

    fn delete_range(&self, request: PbDeleteRequest) -> impl Future<Output = Result<PbDeleteResponse, Status>> + Send;

    fn grant(&self, request: PbLeaseGrantRequest) -> impl Future<Output = Result<PbLeaseGrantResponse, Status>> + Send;

    /// Deletes without waiting for an answer.
    fn abandon(&self, request: PbDeleteRequest);

    /// Notified when this server's revision has changed.
    fn changed(&self) -> Arc<Notify>;
}

#[derive(Clone, PartialEq, prost::Message)]
struct LockRequest {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct UnlockRequest {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct CampaignRequest {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    lease: i64,
    #[prost(bytes = "vec", tag = "3")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LeaderRequest {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResignRequest {
    #[prost(message, optional, tag = "1")]
    leader: Option<PbLeaderKey>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ProclaimRequest {
    #[prost(message, optional, tag = "1")]
    leader: Option<PbLeaderKey>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// The lease of a session without one, in seconds.
const SESSION_TTL: i64 = 60;

/// A place in a queue.
struct Place {
    key: Vec<u8>,
    /// The revision that made the key.
    revision: i64,
    /// The value that the key has, if it was there before.
    value: Option<Vec<u8>>,
    header: Option<PbResponseHeader>,
}

fn put(key: &[u8], value: &[u8], lease: i64) -> PbTxnRequestOp {
    let put = PbPutRequest { key: key.to_vec(), value: value.to_vec(), lease, ..PbPutRequest::default() };
    PbTxnRequestOp { request: Some(PbTxnOpRequest::RequestPut(put)) }
}

fn get(key: &[u8]) -> PbTxnRequestOp {
    let range = PbRangeRequest { key: key.to_vec(), ..PbRangeRequest::default() };
    PbTxnRequestOp { request: Some(PbTxnOpRequest::RequestRange(range)) }
}

/// If a key was made at this revision; 0: if there is none.
fn made_at(key: &[u8], revision: i64) -> PbCompare {
    let target = PbCompareTarget::Create as i32;
    PbCompare {
        key: key.to_vec(),
        target,
        target_union: Some(PbTargetUnion::CreateRevision(revision)),
        ..PbCompare::default()
    }
}

/// The lease of a session, which is made if there is none.
async fn session<S: Server>(server: &S, lease: i64) -> Result<i64, Status> {
    if lease != 0 {
        return Ok(lease);
    }
    let request = PbLeaseGrantRequest { ttl: SESSION_TTL, id: 0 };
    Ok(server.grant(request).await.map_err(unknown_code)?.id)
}

/// Takes a place in the queue of a name, or finds it taken with the same lease.
async fn queue<S: Server>(server: &S, name: &[u8], lease: i64, value: &[u8]) -> Result<Place, Status> {
    let key = [name, format!("/{lease:x}").as_bytes()].concat();
    let compare = vec![made_at(&key, 0)];
    let request = PbTxnRequest { compare, success: vec![put(&key, value, lease)], failure: vec![get(&key)] };
    let answer = server.txn(request).await.map_err(unknown_code)?;
    let header = answer.header;
    let found = answer.responses.first().and_then(|response| match &response.response {
        Some(PbTxnOpResponse::ResponseRange(range)) => range.kvs.first().cloned(),
        _ => None,
    });
    Ok(match found {
        Some(kv) => Place { key, revision: kv.create_revision, value: Some(kv.value), header },
        None => Place { key, revision: header.as_ref().map_or(0, |header| header.revision), value: None, header },
    })
}

/// Waits until no key of the queue is older than this place.
async fn wait<S: Server>(server: &S, name: &[u8], place: &Place) -> Result<(), Status> {
    let (changed, prefix) = (server.changed(), [name, b"/"].concat());
    // The first key after all that begin with the prefix: `0` follows `/`.
    let range_end = [name, b"0"].concat();
    let max_create_revision = place.revision - 1;
    let older = PbRangeRequest { key: prefix, range_end, max_create_revision, ..PbRangeRequest::default() };
    loop {
        let notified = changed.notified();
        if max_create_revision == 0 || server.range(older.clone()).await.map_err(unknown_code)?.kvs.is_empty() {
            return Ok(());
        }
        notified.await;
    }
}

/// Gives a place up if whoever waits for it is gone.
struct Waiting<'a, S: Server> {
    server: &'a S,
    place: &'a Place,
    over: bool,
}

impl<S: Server> Drop for Waiting<'_, S> {
    fn drop(&mut self) {
        if !self.over {
            // The key may be gone already.
            self.server.abandon(delete(&self.place.key));
        }
    }
}

fn delete(key: &[u8]) -> PbDeleteRequest {
    PbDeleteRequest { key: key.to_vec(), ..PbDeleteRequest::default() }
}

async fn lock<S: Server>(server: S, request: LockRequest) -> Result<PbLockResponse, Status> {
    let lease = session(&server, request.lease).await?;
    let place = queue(&server, &request.name, lease, b"").await?;
    let mut waiting = Waiting { server: &server, place: &place, over: false };
    wait(&server, &request.name, &place).await?;
    waiting.over = true;
    let range = PbRangeRequest { key: place.key.clone(), ..PbRangeRequest::default() };
    let own = server.range(range).await.map_err(unknown_code)?;
    if own.kvs.is_empty() {
        return Err(Status::unknown("mutex: session is expired"));
    }
    Ok(PbLockResponse { header: own.header, key: place.key.clone() })
}

async fn unlock<S: Server>(server: S, request: UnlockRequest) -> Result<PbUnlockResponse, Status> {
    let answer = server.delete_range(delete(&request.key)).await.map_err(unknown_code)?;
    Ok(PbUnlockResponse { header: answer.header })
}

/// Unlike [`lock`], it does not look whether its own key is still there: a candidate whose lease has ended while it
/// waited is told that it leads.
async fn campaign<S: Server>(server: S, request: CampaignRequest) -> Result<PbCampaignResponse, Status> {
    let lease = session(&server, request.lease).await?;
    let place = queue(&server, &request.name, lease, &request.value).await?;
    let leader = PbLeaderKey { name: request.name.clone(), key: place.key.clone(), rev: place.revision, lease };
    if place.value.as_ref().is_some_and(|value| *value != request.value) {
        proclaim_as(&server, &leader, &request.value).await?;
    }
    let mut waiting = Waiting { server: &server, place: &place, over: false };
    wait(&server, &request.name, &place).await?;
    waiting.over = true;
    Ok(PbCampaignResponse { header: place.header, leader: Some(leader) })
}

async fn proclaim_as<S: Server>(server: &S, leader: &PbLeaderKey, value: &[u8]) -> Result<PbTxnResponse, Status> {
    let compare = vec![made_at(&leader.key, leader.rev)];
    let request = PbTxnRequest { compare, success: vec![put(&leader.key, value, leader.lease)], failure: Vec::new() };
    let answer = server.txn(request).await.map_err(unknown_code)?;
    if answer.succeeded { Ok(answer) } else { Err(Status::unknown("election: not leader")) }
}

fn missing() -> Status {
    Status::unknown("\"leader\" field must be provided")
}

async fn proclaim<S: Server>(server: S, request: ProclaimRequest) -> Result<PbProclaimResponse, Status> {
    let leader = request.leader.ok_or_else(missing)?;
    Ok(PbProclaimResponse { header: proclaim_as(&server, &leader, &request.value).await?.header })
}

async fn resign<S: Server>(server: S, request: ResignRequest) -> Result<PbResignResponse, Status> {
    let leader = request.leader.ok_or_else(missing)?;
    let operation = PbTxnRequestOp { request: Some(PbTxnOpRequest::RequestDeleteRange(delete(&leader.key))) };
    let compare = vec![made_at(&leader.key, leader.rev)];
    let request = PbTxnRequest { compare, success: vec![operation], failure: Vec::new() };
    Ok(PbResignResponse { header: server.txn(request).await.map_err(unknown_code)?.header })
}

async fn leader<S: Server>(server: S, request: LeaderRequest) -> Result<PbLeaderResponse, Status> {
    let (key, range_end) = ([&request.name[..], b"/"].concat(), [&request.name[..], b"0"].concat());
    let range = PbRangeRequest { key, range_end, ..PbRangeRequest::default() };
    let answer = server.range(range).await.map_err(unknown_code)?;
    let first = answer.kvs.into_iter().min_by_key(|kv| kv.create_revision);
    let first = first.ok_or_else(|| Status::unknown("election: no leader"))?;
    Ok(PbLeaderResponse { header: answer.header, kv: Some(first) })
}

/// With both services.
pub(super) fn added<S: Server>(routes: Routes, server: S) -> Routes {
    routes.add_service(Lock(server.clone())).add_service(Election(server))
}

type Answering<T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>;

/// A call by its function.
struct Unary<S, Q, A>(S, fn(S, Q) -> Answering<A>);

impl<S: Server, Q, A> UnaryService<Q> for Unary<S, Q, A>
where
    A: 'static,
{
    type Response = A;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, Status>> + Send>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let answering = self.1(self.0.clone(), request.into_inner());
        Box::pin(async move { answering.await.map(Response::new) })
    }
}

type Served = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

fn served<S, Q, A>(server: &S, request: http::Request<Body>, call: fn(S, Q) -> Answering<A>) -> Served
where
    S: Server,
    Q: prost::Message + Default + 'static,
    A: prost::Message + Default + 'static,
{
    let unary = Unary(server.clone(), call);
    Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(unary, request).await) })
}

fn unknown() -> Served {
    crate::service::grants::tell_refused("etcd", "this call of its lock and election services is not modelled");
    Box::pin(async { Ok(Status::unimplemented("this call is not modelled").into_http()) })
}

#[derive(Clone)]
struct Lock<S>(S);

impl<S> NamedService for Lock<S> {
    const NAME: &'static str = "v3lockpb.Lock";
}

impl<S: Server> tower::Service<http::Request<Body>> for Lock<S> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Served;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Served {
        match request.uri().path() {
            "/v3lockpb.Lock/Lock" => served(&self.0, request, |server, asked| Box::pin(lock(server, asked))),
            "/v3lockpb.Lock/Unlock" => served(&self.0, request, |server, asked| Box::pin(unlock(server, asked))),
            _ => unknown(),
        }
    }
}

#[derive(Clone)]
struct Election<S>(S);

impl<S> NamedService for Election<S> {
    const NAME: &'static str = "v3electionpb.Election";
}

impl<S: Server> tower::Service<http::Request<Body>> for Election<S> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Served;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Served {
        match request.uri().path() {
            "/v3electionpb.Election/Campaign" => {
                served(&self.0, request, |server, asked| Box::pin(campaign(server, asked)))
            }
            "/v3electionpb.Election/Proclaim" => {
                served(&self.0, request, |server, asked| Box::pin(proclaim(server, asked)))
            }
            "/v3electionpb.Election/Resign" => {
                served(&self.0, request, |server, asked| Box::pin(resign(server, asked)))
            }
            "/v3electionpb.Election/Leader" => {
                served(&self.0, request, |server, asked| Box::pin(leader(server, asked)))
            }
            _ => unknown(),
        }
    }
}
