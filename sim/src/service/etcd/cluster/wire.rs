//! A member's gRPC services.

use super::{
    super::{
        model::StreamId,
        recipes,
        wire::{Answer, Answers, listen},
    },
    replica::{Server, lock, reads_only},
};
use etcd_client::proto::*;
use protocols_clients::env::Env;
use std::{io, sync::Arc};
use tokio::sync::{Notify, mpsc::unbounded_channel};
use tokio_stream::{StreamExt, wrappers::UnboundedReceiverStream};
use tonic::{Request, Response, Status, Streaming, service::Routes};

#[derive(Clone)]
struct Front(Arc<Server>);

/// Serves clients until the process ends.
///
/// # Errors
/// The port cannot be listened on, or the socket closed.
pub(super) async fn serve(server: Arc<Server>, port: u16) -> io::Result<()> {
    let env = server.env;
    let front = Front(server);
    let routes = Routes::new(PbKvServer::new(front.clone()))
        .add_service(PbLeaseServer::new(front.clone()))
        .add_service(PbWatchServer::new(front.clone()));
    listen(env, port, recipes::added(routes, front).prepare()).await
}

impl recipes::Server for Front {
    async fn range(&self, request: PbRangeRequest) -> Result<PbRangeResponse, Status> {
        self.0.linearize().await?;
        Ok(lock(&self.0.replica.model).range(&request)?)
    }

    async fn txn(&self, request: PbTxnRequest) -> Result<PbTxnResponse, Status> {
        self.0.write(&request).await
    }

    async fn delete_range(&self, request: PbDeleteRequest) -> Result<PbDeleteResponse, Status> {
        self.0.write(&request).await
    }

    async fn grant(&self, mut request: PbLeaseGrantRequest) -> Result<PbLeaseGrantResponse, Status> {
        request.id = self.0.replica.next_number().cast_signed();
        self.0.write(&request).await
    }

    fn abandon(&self, request: PbDeleteRequest) {
        let server = self.0.clone();
        self.0.env.spawn_detached(async move {
            // If it fails, the lease ends the key.
            let _ = server.write(&request).await;
        });
    }

    fn changed(&self) -> Arc<Notify> {
        self.0.replica.changed.clone()
    }
}

#[tonic::async_trait]
impl PbKvService for Front {
    async fn range(&self, request: Request<PbRangeRequest>) -> Answer<PbRangeResponse> {
        if !request.get_ref().serializable {
            self.0.linearize().await?;
        }
        Ok(Response::new(lock(&self.0.replica.model).range(request.get_ref())?))
    }

    type RangeStreamStream = Answers<PbRangeStreamResponse>;

    async fn range_stream(&self, _: Request<PbRangeRequest>) -> Answer<Self::RangeStreamStream> {
        Err(Status::unimplemented("streamed ranges are newer than the etcd that is modelled"))
    }

    async fn put(&self, request: Request<PbPutRequest>) -> Answer<PbPutResponse> {
        self.0.write(request.get_ref()).await.map(Response::new)
    }

    async fn delete_range(&self, request: Request<PbDeleteRequest>) -> Answer<PbDeleteResponse> {
        self.0.write(request.get_ref()).await.map(Response::new)
    }

    async fn txn(&self, request: Request<PbTxnRequest>) -> Answer<PbTxnResponse> {
        let (reads_only, serializable) = reads_only(request.get_ref());
        if !reads_only {
            return self.0.write(request.get_ref()).await.map(Response::new);
        }
        if !serializable {
            self.0.linearize().await?;
        }
        Ok(Response::new(self.0.replica.with(|model| model.txn(request.get_ref()))?))
    }

    async fn compact(&self, request: Request<PbCompactionRequest>) -> Answer<PbCompactionResponse> {
        self.0.write(request.get_ref()).await.map(Response::new)
    }
}

#[tonic::async_trait]
impl PbLeaseService for Front {
    async fn lease_grant(&self, request: Request<PbLeaseGrantRequest>) -> Answer<PbLeaseGrantResponse> {
        let mut request = request.into_inner();
        if request.id == 0 {
            // So that every member applies the same id.
            request.id = self.0.replica.next_number().cast_signed();
        }
        self.0.write(&request).await.map(Response::new)
    }

    async fn lease_revoke(&self, request: Request<PbLeaseRevokeRequest>) -> Answer<PbLeaseRevokeResponse> {
        self.0.write(request.get_ref()).await.map(Response::new)
    }

    type LeaseKeepAliveStream = Answers<PbLeaseKeepAliveResponse>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<PbLeaseKeepAliveRequest>>,
    ) -> Answer<Self::LeaseKeepAliveStream> {
        let mut requests = request.into_inner();
        let (sender, answers) = unbounded_channel();
        let server = self.0.clone();
        self.0.env.spawn_detached(async move {
            while let Some(Ok(PbLeaseKeepAliveRequest { id })) = requests.next().await {
                let answer = server.renew(id).await.map(|ttl| {
                    let header = lock(&server.replica.model).header_now();
                    PbLeaseKeepAliveResponse { header, id, ttl }
                });
                let failed = answer.is_err();
                if sender.send(answer).is_err() || failed {
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
        self.0.time_to_live(request.get_ref()).await.map(Response::new)
    }

    async fn lease_leases(&self, _: Request<PbLeaseLeasesRequest>) -> Answer<PbLeaseLeasesResponse> {
        Ok(Response::new(lock(&self.0.replica.model).lease_leases()))
    }
}

#[tonic::async_trait]
impl PbWatchService for Front {
    type WatchStream = Answers<PbWatchResponse>;

    async fn watch(&self, request: Request<Streaming<PbWatchRequest>>) -> Answer<Self::WatchStream> {
        let (sender, responses) = unbounded_channel();
        let stream = lock(&self.0.replica.model).watch_open();
        lock(&self.0.replica.watches).insert(stream, sender);
        self.0.env.spawn_detached(watch(self.0.clone(), stream, request.into_inner()));
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(responses))))
    }
}

async fn watch(server: Arc<Server>, stream: StreamId, mut requests: Streaming<PbWatchRequest>) {
    while let Some(Ok(request)) = requests.next().await {
        server.replica.with(|model| model.watch_request(stream, request));
    }
    server.replica.with(|model| model.watch_close(stream));
    lock(&server.replica.watches).remove(&stream);
}
