//! The node's HTTP interface.

use super::{
    health::Health,
    metrics::{Metrics, Role},
    spans,
    waiting::{Answer, WaitingClients},
};
use crate::{
    directory::{Directory, is_name},
    exposition,
};
use axum::{
    Json, Router,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use protocols::{
    core::Input,
    message::Message,
    node::Standing,
    types::{MILLISECOND, NodeId, RequestId},
};
use protocols_clients::env::{Env, tokio::TokioEnv};
use serde::Deserialize;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{mpsc::UnboundedSender, watch};
use tracing::Instrument;

/// The header that names a client's request, `client:number`, the same for every retry at every node, so that a retry
/// after an unknown outcome never takes a second number. Without it every request counts as a new one.
pub const REQUEST_HEADER: &str = "fencepost-request";
/// The node's name with this suffix stands in for the client of a request without the header.
const UNNAMED: &str = ".http";
/// How long a request waits for the store.
const PATIENCE: Duration = Duration::from_millis(2_000);
/// Request numbers are below this; higher ones would overflow in the store.
const NUMBER_MAX: u64 = 1 << 62;

/// The handlers' shared state.
pub struct Api {
    pub name: String,
    /// The election's name.
    pub election: String,
    /// Whether a leader can name its successor.
    pub transfers: bool,
    /// Whether the node answers reads from memory.
    pub read_lease: bool,
    /// The peers' HTTP addresses, by number.
    pub addresses: Vec<String>,
    /// `http` or `https`, which the peers use too.
    pub scheme: &'static str,
    pub directory: Arc<Directory>,
    /// How many of the directory's first names are the fleet's own: the nodes, the service if there is one, the store.
    pub own: usize,
    pub env: TokioEnv,
    /// The core's inputs.
    pub inputs: UnboundedSender<Input>,
    /// The requests that wait for answers.
    pub waiting: Arc<WaitingClients>,
    /// The core's belief.
    pub standing: watch::Receiver<Standing>,
    pub metrics: Arc<Metrics>,
    /// What keeps the node from working.
    pub health: Arc<Health>,
    /// Numbers the requests without a client's name.
    pub unnamed: AtomicU64,
}

type Shared = State<Arc<Api>>;

pub fn router(api: Arc<Api>) -> Router {
    Router::new()
        .route("/status", get(status))
        .route("/next", post(next))
        .route("/last", get(last))
        .route("/resign", post(resign))
        .route("/transfer", post(transfer))
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(|| async {
            error(
                StatusCode::NOT_FOUND,
                "no such path; there are /status, /next, /last, /resign, /transfer, /metrics, /healthz and /readyz",
            )
        })
        .method_not_allowed_fallback(|| async {
            error(
                StatusCode::METHOD_NOT_ALLOWED,
                "/next, /resign and /transfer are for POST, everything else is for GET",
            )
        })
        .with_state(api)
}

fn error(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

async fn status(State(api): Shared) -> Response {
    let (standing, mono) = (*api.standing.borrow(), api.env.now().mono);
    let role = Role::of(&standing, mono);
    let leads = role == Role::Leader;
    // An unbounded belief has no remaining time.
    let bounded = leads && standing.valid_until != u64::MAX;
    let remaining_ms = bounded.then(|| (standing.valid_until - mono) / MILLISECOND);
    let token = standing.incarnation.filter(|_| leads).map(|i| i.token);
    let leader = if leads { Some(api.name.clone()) } else { standing.observed.and_then(|n| api.directory.name(n)) };
    let acting = leads && standing.works && !api.health.store_is_silent(mono);
    let reason = if acting { None } else { api.health.trouble(mono).or_else(|| idle(&standing, leads)) };
    let body = json!({
        "node_id": api.name,
        "role": role.name(),
        "fence_token": token,
        "lease_ttl_remaining_ms": remaining_ms,
        "acting": acting,
        "reason": reason,
        "last_write_accepted_ms_ago": api.health.accepted_ago(mono).map(|ago| ago / MILLISECOND),
        "leader": leader,
    });
    Json(body).into_response()
}

/// Why a node without any trouble does not act; a follower needs no reason.
fn idle(standing: &Standing, leads: bool) -> Option<String> {
    let why = match (leads, standing.observed) {
        (true, _) => "the resources are not sealed yet",
        (false, None) => "no leader is known",
        (false, Some(_)) => return None,
    };
    Some(why.to_owned())
}

async fn ready(State(api): Shared) -> Response {
    let standing = *api.standing.borrow();
    match Role::of(&standing, api.env.now().mono) {
        Role::Candidate => error(StatusCode::SERVICE_UNAVAILABLE, "no leader is known"),
        Role::Leader | Role::Follower => "ok\n".into_response(),
    }
}

async fn metrics(State(api): Shared, asked: HeaderMap) -> Response {
    let text = api.metrics.exposition(&api.election, &api.standing.borrow(), &api.health, api.env.now().mono);
    exposition::answer(&asked, text)
}

async fn resign(State(api): Shared) -> Response {
    if api.standing.borrow().incarnation.is_none() {
        return not_leader(&api, api.standing.borrow().observed);
    }
    // A core that has ended does not lead.
    let _ = api.inputs.send(Input::Resign);
    (StatusCode::ACCEPTED, Json(json!({ "resigning": true }))).into_response()
}

/// The requested successor.
#[derive(Deserialize)]
struct Heir {
    to: String,
}

async fn transfer(State(api): Shared, heir: Result<Query<Heir>, QueryRejection>) -> Response {
    let Ok(Query(Heir { to })) = heir else {
        return error(StatusCode::BAD_REQUEST, "name the successor: /transfer?to=NAME");
    };
    if !api.transfers {
        return error(StatusCode::NOT_IMPLEMENTED, "this election cannot name a successor; ask for /resign");
    }
    let heir = api.directory.member(&to).filter(|heir| heir.index() < api.addresses.len() && to != api.name);
    let Some(heir) = heir else {
        return error(StatusCode::BAD_REQUEST, "no other member has that name");
    };
    if api.standing.borrow().incarnation.is_none() {
        return not_leader(&api, api.standing.borrow().observed);
    }
    // A core that has ended does not lead.
    let _ = api.inputs.send(Input::Transfer(heir));
    (StatusCode::ACCEPTED, Json(json!({ "transferring": to }))).into_response()
}

/// Whether the client asks for a 307 redirect to the leader, which HTTP clients follow by themselves, instead of a 409.
fn wants_redirect(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|word| word == "redirect" || word == "redirect=on"))
}

async fn next(State(api): Shared, uri: Uri, headers: HeaderMap) -> Response {
    let redirect = wants_redirect(&uri);
    let request = match request_id(&api, &headers) {
        Ok(request) => request,
        Err(why) => return error(StatusCode::BAD_REQUEST, why),
    };
    let named = || spans::request_text(Some(&api.directory), request);
    let span = tracing::debug_span!(
        target: spans::TARGET, "request", node = api.name, request = named(), status = tracing::field::Empty
    );
    let answer = number(&api, request, redirect).instrument(span.clone()).await;
    span.record("status", answer.status().as_u16());
    answer
}

/// Has the core draw the number for `request`.
async fn number(api: &Api, request: RequestId, redirect: bool) -> Response {
    let Some(answer) = api.waiting.wait(request) else {
        return error(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait already");
    };
    let message = Message::Next { request };
    if api.inputs.send(Input::Message { from: request.client, message }).is_err() {
        return error(StatusCode::SERVICE_UNAVAILABLE, "the node is shutting down");
    }
    let answer = tokio::time::timeout(PATIENCE, answer).await;
    match answer {
        Ok(Ok(Answer::Number { token, seq })) => Json(json!({ "token": token, "seq": seq })).into_response(),
        Ok(Ok(Answer::NotLeader(leader))) if redirect => elsewhere(api, leader),
        Ok(Ok(Answer::NotLeader(leader))) => not_leader(api, leader),
        Ok(Ok(Answer::Unknown) | Err(_)) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "leadership ended while the request was under way; it may have taken effect: retry it under the same name",
        ),
        Err(_) => {
            api.waiting.give_up(request);
            error(
                StatusCode::GATEWAY_TIMEOUT,
                "the store has not answered; the request may have taken effect: retry it under the same name",
            )
        }
    }
}

/// The last number, read from memory.
async fn last(State(api): Shared, headers: HeaderMap) -> Response {
    if !api.read_lease {
        return error(StatusCode::NOT_IMPLEMENTED, "this node answers nothing from memory; start it with --read-lease");
    }
    let request = match request_id(&api, &headers) {
        Ok(request) => request,
        Err(why) => return error(StatusCode::BAD_REQUEST, why),
    };
    let Some(answer) = api.waiting.wait(request) else {
        return error(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait already");
    };
    if api.inputs.send(Input::Message { from: request.client, message: Message::Read { request } }).is_err() {
        return error(StatusCode::SERVICE_UNAVAILABLE, "the node is shutting down");
    }
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(Answer::Number { token, seq })) => Json(json!({ "token": token, "seq": seq })).into_response(),
        Ok(Ok(Answer::NotLeader(leader))) => not_leader(&api, leader),
        Ok(Ok(Answer::Unknown) | Err(_)) => {
            error(StatusCode::SERVICE_UNAVAILABLE, "leadership ended while the request was under way; ask again")
        }
        Err(_) => {
            api.waiting.give_up(request);
            error(StatusCode::GATEWAY_TIMEOUT, "the node does not answer")
        }
    }
}

fn not_leader(api: &Api, leader: Option<NodeId>) -> Response {
    let address = leader.and_then(|l| api.addresses.get(l.index()));
    let name = leader.and_then(|l| api.directory.name(l));
    let body = json!({ "error": "not the leader", "leader": name, "address": address });
    (StatusCode::CONFLICT, Json(body)).into_response()
}

/// Like [`not_leader`], but redirects the client to the leader with the same request (RFC 9110, §15.4.8).
fn elsewhere(api: &Api, leader: Option<NodeId>) -> Response {
    let mut answer = not_leader(api, leader);
    let address = leader.and_then(|l| api.addresses.get(l.index()));
    let place = address.and_then(|a| format!("{}://{a}/next?redirect=on", api.scheme).parse().ok());
    if let Some(place) = place {
        *answer.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}

/// Whether `client` is one of the directory's first `own` names, or a node's with [`UNNAMED`] behind it. A client with
/// a node's name would answer in the node's place, one with the store's name would receive the store's messages, and
/// one called `NODE.http` might get a nameless client's answer.
fn is_ours(directory: &Directory, nodes: usize, own: usize, client: &str) -> bool {
    let nameless = client.strip_suffix(UNNAMED).unwrap_or(client);
    directory.member(client).is_some_and(|n| n.index() < own)
        || directory.member(nameless).is_some_and(|n| n.index() < nodes)
}

/// The request's client and number. A request without the header gets this node's name and a new number.
fn request_id(api: &Api, headers: &HeaderMap) -> Result<RequestId, &'static str> {
    const WRONG: &str = "the header fencepost-request must be client:number, the client's name up to 64 letters, digits, \
                         `-`, `_` or `.`, and the number between 1 and 2^62";
    let Some(text) = headers.get(REQUEST_HEADER) else {
        let client = api.directory.number(&format!("{}{UNNAMED}", api.name));
        return Ok(RequestId { client, number: api.unnamed.fetch_add(1, Ordering::Relaxed) });
    };
    let (client, number) = text.to_str().ok().and_then(|t| t.rsplit_once(':')).ok_or(WRONG)?;
    let number = number.parse().ok().filter(|n| (1..NUMBER_MAX).contains(n)).ok_or(WRONG)?;
    if !is_name(client) {
        return Err(WRONG);
    }
    if is_ours(&api.directory, api.addresses.len(), api.own, client) {
        return Err("a client must not have the name of a node, the service or the store, or NODE.http");
    }
    Ok(RequestId { client: api.directory.number(client), number })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a service, the store directly follows the nodes, and then comes the first client.
    #[test]
    fn clients_are_not_taken_for_the_fleet_whether_it_has_a_service_or_not() {
        for service in [None, Some("etcd")] {
            let fleet = ["n1", "n2"].into_iter().chain(service).chain(["store", "c1", "c2"]);
            let directory = Directory::new(fleet.map(str::to_owned).collect());
            let own = 3 + usize::from(service.is_some());
            for ours in ["n1", "n2", "store", "n1.http"].into_iter().chain(service) {
                assert!(is_ours(&directory, 2, own, ours), "{ours}");
            }
            for client in ["c1", "c2", "shop", "store.http", "c1.http"] {
                assert!(!is_ours(&directory, 2, own, client), "{client} with the service {service:?}");
            }
        }
    }
}
