//! Translates requests and streams to calls of the genuine client, and its answers back.

use etcd_client::{
    Client, Compare, CompareOp, Error, EventType, GetOptions, GetResponse, KeyValue, PutOptions, SortOrder, SortTarget,
    Txn, TxnOp, TxnOpResponse, WatchFilterType, WatchOptions, WatchStream,
};
use protocols::{
    error::Failure,
    service::etcd::{Item, KeyState, Reply, Request, StreamRequest},
};
use tokio::sync::mpsc::Receiver;
use tonic::Code;

/// Carries out one request.
///
/// # Errors
/// Rejected, in etcd's own words; unknown for everything else, including an answer that makes no sense.
pub(super) async fn request(mut client: Client, request: Request) -> Result<Reply, Failure> {
    match request {
        Request::Grant { ttl_s } => {
            let answer = client.lease_grant(ttl_s, None).await.map_err(failure)?;
            Ok(Reply::Granted { lease: answer.id(), ttl_s: answer.ttl() })
        }
        Request::Revoke { lease } => client.lease_revoke(lease).await.map(|_| Reply::Revoked).map_err(failure),
        Request::CreateKey { key, value, lease } => create(client, key, value, lease).await,
        Request::Proclaim { key, value, lease, create_revision } => {
            let put = TxnOp::put(key.clone(), value, Some(PutOptions::new().with_lease(lease)));
            guarded(client, key, create_revision, put).await.map(|done| Reply::Proclaimed { done })
        }
        Request::DeleteKey { key, create_revision } => {
            let delete = TxnOp::delete(key.clone(), None);
            guarded(client, key, create_revision, delete).await.map(|done| Reply::Deleted { done })
        }
        Request::DeleteAnyKey { key } => {
            client.delete(key, None).await.map(|answer| Reply::Deleted { done: answer.deleted() > 0 }).map_err(failure)
        }
        Request::Predecessor { prefix, max_create_revision } => {
            let options = top(SortOrder::Descend).with_max_create_revision(max_create_revision);
            found(client.get(prefix, Some(options)).await)
        }
        Request::First { prefix } => found(client.get(prefix, Some(top(SortOrder::Ascend))).await),
        Request::Queue { prefix } => {
            let options = GetOptions::new().with_prefix().with_sort(SortTarget::Create, SortOrder::Ascend);
            let answer = client.get(prefix, Some(options)).await.map_err(failure)?;
            Ok(Reply::Queue { keys: answer.kvs().iter().map(key_state).collect() })
        }
        Request::HandOver { key, create_revision, heir, passed_over } => {
            let mut gone = passed_over;
            gone.push((key.into_bytes(), create_revision));
            let guard =
                |(key, revision): &(Vec<u8>, i64)| Compare::create_revision(key.clone(), CompareOp::Equal, *revision);
            let guards: Vec<Compare> = gone.iter().chain([&heir]).map(guard).collect();
            let deletions: Vec<TxnOp> = gone.into_iter().map(|(key, _)| TxnOp::delete(key, None)).collect();
            let answer = client.txn(Txn::new().when(guards).and_then(deletions)).await.map_err(failure)?;
            Ok(Reply::HandedOver { done: answer.succeeded() })
        }
        Request::GetKey { key } => found(client.get(key, None).await),
    }
}

/// Selects a prefix's oldest or newest key by creation.
fn top(order: SortOrder) -> GetOptions {
    GetOptions::new().with_prefix().with_sort(SortTarget::Create, order).with_limit(1)
}

async fn create(mut client: Client, key: String, value: String, lease: i64) -> Result<Reply, Failure> {
    let absent = Compare::create_revision(key.clone(), CompareOp::Equal, 0);
    let put = TxnOp::put(key.clone(), value.clone(), Some(PutOptions::new().with_lease(lease)));
    let txn = Txn::new().when([absent]).and_then([put]).or_else([TxnOp::get(key, None)]);
    let answer = client.txn(txn).await.map_err(failure)?;
    let revision = answer.header().map(|h| h.revision()).ok_or_else(|| odd("no header"))?;
    if answer.succeeded() {
        return Ok(Reply::Created { created: true, create_revision: revision, value, lease, revision });
    }
    match answer.op_responses().first() {
        Some(TxnOpResponse::Get(read)) => {
            let key = read.kvs().first().map(key_state).ok_or_else(|| odd("the key is neither absent nor there"))?;
            let KeyState { create_revision, value, lease, .. } = key;
            Ok(Reply::Created { created: false, create_revision, value, lease, revision })
        }
        _ => Err(odd("no read in the answer")),
    }
}

/// Performs `operation` if the key has the create revision `revision`; returns whether it did.
async fn guarded(mut client: Client, key: String, revision: i64, operation: TxnOp) -> Result<bool, Failure> {
    let guard = Compare::create_revision(key, CompareOp::Equal, revision);
    let answer = client.txn(Txn::new().when([guard]).and_then([operation])).await.map_err(failure)?;
    Ok(answer.succeeded())
}

fn found(answer: Result<GetResponse, Error>) -> Result<Reply, Failure> {
    let answer = answer.map_err(failure)?;
    let revision = answer.header().map(|h| h.revision()).ok_or_else(|| odd("no header"))?;
    Ok(Reply::Found { key: answer.kvs().first().map(key_state), revision })
}

fn key_state(key: &KeyValue) -> KeyState {
    KeyState {
        key: key.key().to_vec(),
        value: String::from_utf8_lossy(key.value()).into_owned(),
        create_revision: key.create_revision(),
        lease: key.lease(),
    }
}

fn odd(what: &str) -> Failure {
    Failure::Unknown(format!("an answer that makes no sense: {what}"))
}

/// Runs one stream and passes its items to `give`. Returns when the stream ends, with the reason.
pub(super) async fn stream(
    client: Client,
    request: StreamRequest,
    pushes: Receiver<()>,
    give: impl Fn(Item) + Send,
) -> Failure {
    match request {
        StreamRequest::Keepalive { lease, ttl_s } => keepalive(client, lease, ttl_s, pushes, give).await,
        StreamRequest::WatchDelete { key, start_revision } => {
            let options = WatchOptions::new().with_start_revision(start_revision);
            watch(client, key, options.with_filters([WatchFilterType::NoPut]), give).await
        }
        StreamRequest::WatchPrefix { prefix, start_revision } => {
            let options = WatchOptions::new().with_prefix().with_start_revision(start_revision);
            watch(client, prefix.into_bytes(), options.with_filters([WatchFilterType::NoDelete]), give).await
        }
    }
}

async fn keepalive(
    mut client: Client,
    lease: i64,
    ttl_s: i64,
    mut pushes: Receiver<()>,
    give: impl Fn(Item) + Send,
) -> Failure {
    let (mut keeper, mut answers) = match client.lease_keep_alive(lease).await {
        Ok(open) => open,
        // The library's own words for a first answer without any time to live.
        Err(Error::LeaseKeepAliveError(why)) if why.contains("lease not found") => {
            give(Item::KeptAlive { ttl_s: 0 });
            return Failure::Rejected(why);
        }
        Err(error) => return failure(error),
    };
    give(Item::KeptAlive { ttl_s });
    loop {
        let answer = tokio::select! {
            biased;
            Some(()) = pushes.recv() => match keeper.keep_alive().await {
                Ok(()) => continue,
                Err(error) => return failure(error),
            },
            answer = answers.message() => answer,
        };
        match answer {
            Ok(Some(answer)) => give(Item::KeptAlive { ttl_s: answer.ttl() }),
            Ok(None) => return Failure::Unknown("the stream ended".into()),
            Err(error) => return failure(error),
        }
    }
}

async fn watch(mut client: Client, key: Vec<u8>, options: WatchOptions, give: impl Fn(Item) + Send) -> Failure {
    let mut stream: WatchStream = match client.watch(key, Some(options)).await {
        Ok(stream) => stream,
        Err(error) => return failure(error),
    };
    loop {
        let answer = match stream.message().await {
            Ok(Some(answer)) => answer,
            Ok(None) => return Failure::Unknown("the stream ended".into()),
            Err(error) => return failure(error),
        };
        for event in answer.events() {
            match (event.event_type(), event.kv()) {
                (EventType::Delete, _) => give(Item::Deleted),
                (EventType::Put, Some(key)) => give(Item::Changed { key: key_state(key) }),
                (EventType::Put, None) => return odd("an event without its key"),
            }
        }
        if answer.canceled() {
            let compacted = answer.compact_revision();
            let why = answer.cancel_reason();
            return Failure::Rejected(format!("watch cancelled: compacted at revision {compacted}; {why}"));
        }
    }
}

/// Sorts the client's errors: rejected by etcd itself, or unknown.
pub(super) fn failure(error: Error) -> Failure {
    let text = error.to_string();
    let no = match &error {
        Error::InvalidArgs(_) => true,
        Error::GRpcStatus(status) => match status.code() {
            Code::NotFound
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented => true,
            // The client library also uses these codes for oversized answers, whose requests may have taken effect.
            Code::OutOfRange | Code::ResourceExhausted => status.message().starts_with("etcdserver:"),
            _ => false,
        },
        _ => false,
    };
    if no { Failure::Rejected(text) } else { Failure::Unknown(text) }
}
