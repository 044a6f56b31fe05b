//! The model behind etcd's own gRPC services, so that the genuine client runs against it.
//!
//! HTTP/2 is `hyper`'s, driven by [`Env`] alone: no timer or task of tonic's own server. A member's three loops run beside
//! it: the scan for expired leases (every 500 ms), the resynchronisation of watches (every 100 ms), and one task for each
//! stream that a client opened.

use super::model::{EXPIRY_SCAN, Error, Model, RESYNC, Renewal, StreamId};
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

/// Serves `model` on `port` of the process until the process ends or the future is dropped, which breaks every connection.
/// The process is a member that has just been elected:
/// leases are extended, watches are gone, everything else is as it was.
///
/// # Errors
/// The port cannot be listened on, or the socket is gone.
pub async fn serve<E: Env>(env: E, port: u16, model: Arc<Mutex<Model>>) -> io::Result<()> {
    serve_changing(env, port, model, Arc::default()).await
}

/// The same for a model that is also changed from outside; whoever does notifies `changed`.
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

/// The same; the wrong clock decides when leases end if `by_wall_clock` says so.
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
    let (watches, scanned) = Default::default();
    let server = EtcdServer { env: env.clone(), model, watches, scanned, by_wall_clock };
    server.model().promote(server.lessor_now());
    let routes = Routes::new(PbKvServer::new(server.clone()))
        .add_service(PbLeaseServer::new(server.clone()))
        .add_service(PbWatchServer::new(server.clone()))
        .prepare();
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

/// Answers clients by these services until the future is dropped.
pub(super) async fn listen<E: Env>(env: E, port: u16, routes: Routes) -> io::Result<()> {
    // Connections end when this sender is gone.
    let (_alive, serving) = watch::channel(());
    let mut listener = env.listen(port).await?;
    loop {
        let stream = listener.accept().await?;
        let mut builder = hyper::server::conn::http2::Builder::new(EnvExecutor(env.clone()));
        // A date header would bring the machine's clock into the bytes.
        builder.timer(EnvTimer(env.clone())).auto_date_header(false);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes.clone()));
        let mut serving = serving.clone();
        env.spawn_detached(async move {
            // However it ended, there is nobody to tell.
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
    /// Told after every scan for expired leases.
    scanned: Arc<Notify>,
    by_wall_clock: bool,
}

impl<E: Clone> Clone for EtcdServer<E> {
    fn clone(&self) -> Self {
        let (model, watches, scanned) = (self.model.clone(), self.watches.clone(), self.scanned.clone());
        EtcdServer { env: self.env.clone(), model, watches, scanned, by_wall_clock: self.by_wall_clock }
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

    /// Does something to the model at the present time, and sends what the watches have to say about it.
    fn apply<T>(&self, action: impl FnOnce(&mut Model, u64) -> T) -> T {
        self.change(GrantEnd::Released, action)
    }

    /// The same; `why` says how a leadership that is over after it has ended.
    fn change<T>(&self, why: GrantEnd, action: impl FnOnce(&mut Model, u64) -> T) -> T {
        let now = self.lessor_now();
        let mut model = self.model();
        let revision = model.revision();
        let answer = action(&mut model, now);
        if model.revision() != revision {
            (0..grants::groups()).for_each(|group| grants::tell_of(group, model.holder(group), why));
        }
        let watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        for (stream, response) in model.take_watch_responses() {
            if let Some(sender) = watches.get(&stream) {
                // A client that is gone is noticed by its own task.
                let _ = sender.send(Ok(response));
            }
        }
        answer
    }

    fn answer<T>(&self, action: impl FnOnce(&mut Model, u64) -> Result<T, Error>) -> Answer<T> {
        Ok(Response::new(self.apply(action)?))
    }

    /// A tick within the period that has just gone by. A server has run for a while when its clients come, so the phase is
    /// anything; with a fixed one, simulated failover times were narrower than measured ones.
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

    /// One keepalive's answer; for a lease that has expired but is not revoked yet it waits until it is.
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

/// The next tick of a loop with that period whose last was `last`; ticks that were slept through are left out.
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
