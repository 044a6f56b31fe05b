//! Serves the model over etcd's gRPC services, for the genuine client.
//!
//! HTTP/2 is `hyper`'s, driven by [`Env`] alone, without timers or tasks of tonic's server. A member's three loops run
//! along with it: the scan for expired leases (every 500 ms), the resynchronisation of watches (every 100 ms), and one
//! task per open stream.

use super::{
    model::{EXPIRY_SCAN, Error, Model, RESYNC, Renewal, StreamId},
    recipes,
};
use crate::service::grants;
use etcd_client::proto::*;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use protocols::history::GrantEnd;
use protocols_clients::{
    env::{Env, Listener},
    etcd::channel::{EnvExecutor, EnvTimer},
};
use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{
    Notify,
    mpsc::{UnboundedSender, unbounded_channel},
    watch,
};
use tokio_stream::{Stream, StreamExt, wrappers::UnboundedReceiverStream};
use tonic::{Request, Response, Status, Streaming, service::Routes};

pub(super) type Answer<T> = Result<Response<T>, Status>;
pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
type WatchSender = UnboundedSender<Result<PbWatchResponse, Status>>;

/// Serves `model` on `port` until the process ends or the future is dropped, which breaks every connection. The process
/// is a newly elected member: leases are extended and watches are gone; everything else is unchanged.
///
/// # Errors
/// The port cannot be listened on, or the socket closed.
pub async fn serve<E: Env>(env: E, port: u16, model: Arc<Mutex<Model>>) -> io::Result<()> {
    serve_changing(env, port, model, Arc::default()).await
}

/// The same for a model that is also changed from outside, which must notify `changed`.
///
/// # Errors
/// As for [`serve`].
pub async fn serve_changing<E: Env>(
    env: E,
    port: u16,
    model: Arc<Mutex<Model>>,
    changed: Arc<Notify>,
) -> io::Result<()> {
    serve_as(env, port, model, changed, false).await
}

/// The same; with `by_wall_clock`, the wrong clock decides when leases end.
///
/// # Errors
/// As for [`serve`].
pub(super) async fn serve_as<E: Env>(
    env: E,
    port: u16,
    model: Arc<Mutex<Model>>,
    changed: Arc<Notify>,
    by_wall_clock: bool,
) -> io::Result<()> {
    let (watches, scanned, moved) = Default::default();
    let server = EtcdServer { env: env.clone(), model, watches, scanned, moved, by_wall_clock };
    server.model().promote(server.lessor_now());
    let routes = Routes::new(PbKvServer::new(server.clone()))
        .add_service(PbLeaseServer::new(server.clone()))
        .add_service(PbWatchServer::new(server.clone()));
    let routes = recipes::added(routes, server.clone()).prepare();
    let _expiry = env.spawn(server.clone().expiry());
    let _resync = env.spawn(server.clone().resync());
    let _changes = env.spawn(async move {
        loop {
            changed.notified().await;
            server.apply(|_, _| {});
        }
    });
    listen(env, port, routes).await
}

/// Serves clients until the future is dropped.
pub(super) async fn listen<E: Env>(env: E, port: u16, routes: Routes) -> io::Result<()> {
    // Dropping this sender ends all connections.
    let (_alive, serving) = watch::channel(());
    let mut listener = env.listen(port).await?;
    loop {
        let stream = listener.accept().await?;
        let mut builder = hyper::server::conn::http2::Builder::new(EnvExecutor(env.clone()));
        // A date header would put the machine's clock into the bytes.
        builder.timer(EnvTimer(env.clone())).auto_date_header(false);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes.clone()));
        let mut serving = serving.clone();
        env.spawn_detached(async move {
            // Nobody needs to know how the connection ended.
            tokio::select! {
                biased;
                _ = serving.changed() => {}
                _ = connection => {}
            }
        });
    }
}

struct EtcdServer<E> {
    env: E,
    model: Arc<Mutex<Model>>,
    watches: Arc<Mutex<BTreeMap<StreamId, WatchSender>>>,
    /// Notified after every scan for expired leases.
    scanned: Arc<Notify>,
    /// Notified after every change of the revision.
    moved: Arc<Notify>,
    by_wall_clock: bool,
}

impl<E: Clone> Clone for EtcdServer<E> {
    fn clone(&self) -> Self {
        EtcdServer {
            env: self.env.clone(),
            model: self.model.clone(),
            watches: self.watches.clone(),
            scanned: self.scanned.clone(),
            moved: self.moved.clone(),
            by_wall_clock: self.by_wall_clock,
        }
    }
}

impl<E: Env> EtcdServer<E> {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time by which leases end.
    fn lessor_now(&self) -> u64 {
        let now = self.env.now();
        // `EXPIRES_BY_WALL_CLOCK`.
        if self.by_wall_clock { now.wall } else { now.mono }
    }

    /// Changes the model at the present time, and sends the resulting watch events.
    fn apply<T>(&self, action: impl FnOnce(&mut Model, u64) -> T) -> T {
        self.change(GrantEnd::Released, action)
    }

    /// The same; `why` says how a leadership that this ends has ended.
    fn change<T>(&self, why: GrantEnd, action: impl FnOnce(&mut Model, u64) -> T) -> T {
        let now = self.lessor_now();
        let mut model = self.model();
        let revision = model.revision();
        let answer = action(&mut model, now);
        if model.revision() != revision {
            grants::tell_each(why, |group| model.holder(group), |key| model.holder_of(key));
            self.moved.notify_waiters();
        }
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        for (stream, response) in model.take_watch_responses() {
            if let Some(sender) = watches.get(&stream) {
                // The client's own task notices that it is gone.
                let _ = sender.send(Ok(response));
            }
        }
        answer
    }

    fn answer<T>(&self, action: impl FnOnce(&mut Model, u64) -> Result<T, Error>) -> Answer<T> {
        Ok(Response::new(self.apply(action)?))
    }

    /// A tick within the period that has just passed. A server has run for a while when clients come, so its phase is
    /// random; with a fixed phase, simulated failover times varied less than measured ones.
    fn some_tick(&self, period: u64) -> u64 {
        self.env.now().mono.saturating_sub(self.env.random() % period)
    }

    async fn expiry(self) {
        let mut at = self.some_tick(EXPIRY_SCAN);
        loop {
            at = next_tick(at, EXPIRY_SCAN, self.env.now().mono);
            self.env.sleep_until(at).await;
            self.change(GrantEnd::Expired, Model::expire_leases);
            self.scanned.notify_waiters();
        }
    }

    async fn resync(self) {
        let mut at = self.some_tick(RESYNC);
        loop {
            at = next_tick(at, RESYNC, self.env.now().mono);
            self.env.sleep_until(at).await;
            if self.model().watch_unsynced() {
                self.apply(|model, _| model.watch_sync());
            }
        }
    }

    /// The answer to one keepalive; if the lease has expired but is not yet revoked, waits for that.
    async fn renew(&self, id: i64) -> PbLeaseKeepAliveResponse {
        loop {
            let scanned = self.scanned.notified();
            match self.apply(|model, now| model.lease_keep_alive(now, id)) {
                Renewal::Answered(answer) => return answer,
                Renewal::Expired => scanned.await,
            }
        }
    }

    async fn watch(self, stream: StreamId, mut requests: Streaming<PbWatchRequest>) {
        while let Some(Ok(request)) = requests.next().await {
            self.apply(|model, _| model.watch_request(stream, request));
        }
        self.apply(|model, _| model.watch_close(stream));
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream);
    }
}

impl<E: Env> recipes::Server for EtcdServer<E> {
    async fn range(&self, request: PbRangeRequest) -> Result<PbRangeResponse, Status> {
        Ok(self.apply(|model, _| model.range(&request))?)
    }

    async fn txn(&self, request: PbTxnRequest) -> Result<PbTxnResponse, Status> {
        Ok(self.apply(|model, _| model.txn(&request))?)
    }

    async fn delete_range(&self, request: PbDeleteRequest) -> Result<PbDeleteResponse, Status> {
        Ok(self.apply(|model, _| model.delete_range(&request))?)
    }

    async fn grant(&self, request: PbLeaseGrantRequest) -> Result<PbLeaseGrantResponse, Status> {
        Ok(self.apply(|model, now| model.lease_grant(now, &request))?)
    }

    fn abandon(&self, request: PbDeleteRequest) {
        let _ = self.apply(|model, _| model.delete_range(&request));
    }

    fn changed(&self) -> Arc<Notify> {
        self.moved.clone()
    }
}

/// The next tick of a loop whose last tick was `last`; skips those that were slept through.
fn next_tick(last: u64, period: u64, now: u64) -> u64 {
    last + (now.saturating_sub(last) / period + 1) * period
}

#[tonic::async_trait]
impl<E: Env> PbKvService for EtcdServer<E> {
    async fn range(&self, request: Request<PbRangeRequest>) -> Answer<PbRangeResponse> {
        self.answer(|model, _| model.range(request.get_ref()))
    }

    type RangeStreamStream = Answers<PbRangeStreamResponse>;

    async fn range_stream(&self, _: Request<PbRangeRequest>) -> Answer<Self::RangeStreamStream> {
        Err(Status::unimplemented("streamed ranges are newer than the etcd that is modelled"))
    }

    async fn put(&self, request: Request<PbPutRequest>) -> Answer<PbPutResponse> {
        self.answer(|model, _| model.put(request.get_ref()))
    }

    async fn delete_range(&self, request: Request<PbDeleteRequest>) -> Answer<PbDeleteResponse> {
        self.answer(|model, _| model.delete_range(request.get_ref()))
    }

    async fn txn(&self, request: Request<PbTxnRequest>) -> Answer<PbTxnResponse> {
        self.answer(|model, _| model.txn(request.get_ref()))
    }

    async fn compact(&self, request: Request<PbCompactionRequest>) -> Answer<PbCompactionResponse> {
        self.answer(|model, _| model.compact(request.get_ref()))
    }
}

#[tonic::async_trait]
impl<E: Env> PbLeaseService for EtcdServer<E> {
    async fn lease_grant(&self, request: Request<PbLeaseGrantRequest>) -> Answer<PbLeaseGrantResponse> {
        self.answer(|model, now| model.lease_grant(now, request.get_ref()))
    }

    async fn lease_revoke(&self, request: Request<PbLeaseRevokeRequest>) -> Answer<PbLeaseRevokeResponse> {
        self.answer(|model, _| model.lease_revoke(request.get_ref()))
    }

    type LeaseKeepAliveStream = Answers<PbLeaseKeepAliveResponse>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<PbLeaseKeepAliveRequest>>,
    ) -> Answer<Self::LeaseKeepAliveStream> {
        let mut requests = request.into_inner();
        let (sender, answers) = unbounded_channel();
        let server = self.clone();
        self.env.spawn_detached(async move {
            while let Some(Ok(request)) = requests.next().await {
                if sender.send(Ok(server.renew(request.id).await)).is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(answers))))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<PbLeaseTimeToLiveRequest>,
    ) -> Answer<PbLeaseTimeToLiveResponse> {
        self.answer(|model, now| Ok(model.lease_time_to_live(now, request.get_ref())))
    }

    async fn lease_leases(&self, _: Request<PbLeaseLeasesRequest>) -> Answer<PbLeaseLeasesResponse> {
        self.answer(|model, _| Ok(model.lease_leases()))
    }
}

#[tonic::async_trait]
impl<E: Env> PbWatchService for EtcdServer<E> {
    type WatchStream = Answers<PbWatchResponse>;

    async fn watch(&self, request: Request<Streaming<PbWatchRequest>>) -> Answer<Self::WatchStream> {
        let (sender, responses) = unbounded_channel();
        let stream = self.model().watch_open();
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).insert(stream, sender);
        self.env.spawn_detached(self.clone().watch(stream, request.into_inner()));
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(responses))))
    }
}
