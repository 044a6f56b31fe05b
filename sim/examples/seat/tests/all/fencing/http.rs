//! A resource behind HTTP: the layer is asked as a server asks it.

mod once;

use super::leaders;
use crate::world::{Part, all, at, find, lines, play, sleep_s};
use axum::{Extension, Router, body::Body, extract::Path, response::Response, routing::post};
use fencepost_seat::{
    Backend, Fenced, Lead,
    fence::http::{FenceLayer, Key, Leader, accepted},
};
use http::{HeaderValue, Request, StatusCode};
use protocols::service::etcd;
use std::{fs, future::pending, time::Duration};
use tower::ServiceExt;

const LEDGER: &str = "/tmp/ledger";

fn key() -> Key {
    Key::new(b"0123456789abcdef0123456789abcdef").unwrap()
}

/// Handles each request for as many seconds as it says.
async fn handle(
    Path((what, takes_s)): Path<(String, f64)>,
    Extension(leader): Extension<Leader>,
    body: String,
) -> String {
    assert!(leader.token > 0 && leader.holder.starts_with("x/"));
    println!("{what} begins with {body:?}");
    sleep_s(takes_s).await;
    println!("{what} is done");
    what
}

fn server() -> Router {
    let layer = FenceLayer::open(key(), "charges", LEDGER).unwrap().body_limit(1_000);
    Router::new().route("/charges/{what}/{takes_s}", post(handle)).layer(layer)
}

fn request(what: &str, takes_s: f64) -> Request<String> {
    let uri = format!("http://charges/charges/{what}/{takes_s}");
    Request::post(uri).header("Idempotency-Key", what).body(format!("charge {what}")).unwrap()
}

fn signed(lead: &Lead<Fenced>, what: &str, takes_s: f64) -> Request<String> {
    let mut request = request(what, takes_s);
    key().sign(lead, "charges", &mut request).unwrap();
    request
}

async fn ask(server: &Router, request: Request<String>) -> Response {
    server.clone().oneshot(request.map(Body::from)).await.unwrap()
}

/// Asks as a leader does; what has come of it.
async fn write(server: &Router, lead: &Lead<Fenced>, what: &str, takes_s: f64) {
    let answer = ask(server, signed(lead, what, takes_s)).await;
    let status = answer.status();
    match accepted(lead, status, answer.headers()) {
        Ok(()) => println!("{what}: {status}"),
        Err(error) => println!("{what}: {error}"),
    }
}

struct WritesTwice;

impl Part for WritesTwice {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (older, newer) = leaders(backend).await;
        let before = signed(older.lead(), "late", 0.0);
        let resource = server();
        for (term, what) in [(&older, "a"), (&older, "b"), (&newer, "c"), (&newer, "d"), (&older, "e")] {
            write(&resource, term.lead(), what, 0.0).await;
        }
        println!("the older is over: {:?}", older.lead().ended().await);
        println!("the newer: {:?}", newer.lead().check());
        println!("twice: {}", FenceLayer::open(key(), "charges", LEDGER).unwrap_err());
        drop(resource);
        let resource = server();
        println!("after a restart: {}", ask(&resource, before).await.status());
        write(&resource, newer.lead(), "f", 0.0).await;
        drop(resource);
        println!("another's: {}", FenceLayer::open(key(), "refunds", LEDGER).unwrap_err());
        let text = fs::read_to_string(LEDGER).unwrap();
        fs::write(LEDGER, text.trim_end()).unwrap();
        println!("damaged: {}", FenceLayer::open(key(), "charges", LEDGER).unwrap_err());
        pending::<()>().await;
    }
}

#[test]
fn a_server_lets_a_leader_through_until_a_newer_one_has_written_also_after_a_restart() {
    let lines = lines(&etcd::SERVICE, || play(WritesTwice));
    println!("{}", all(&lines));
    for what in ["a", "b", "c", "d", "f"] {
        at(&lines, &format!("{what} begins with \"charge {what}\""));
        at(&lines, &format!("{what}: 200 OK"));
    }
    at(&lines, "e: not written: the resource refused the token");
    at(&lines, "the older is over: Refused");
    at(&lines, "the newer: Ok(())");
    at(&lines, "twice: the ledger /tmp/ledger is open in another process, or twice in this one");
    at(&lines, "after a restart: 412 Precondition Failed");
    at(&lines, "another's: /tmp/ledger is no ledger of the resource `refunds`");
    at(&lines, "damaged: /tmp/ledger is no ledger of the resource `charges`");
    assert!(find(&lines, "e is done").is_none() && find(&lines, "late is done").is_none());
}

struct Waits;

impl Part for Waits {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let ((older, newer), resource) = (leaders(backend).await, server());
        let leaves = async {
            let request = signed(older.lead(), "left", 2.0);
            tokio::select! {
                _ = ask(&resource, request) => println!("stayed"),
                () = sleep_s(0.5) => println!("the client has gone"),
            }
        };
        let follows = async {
            sleep_s(1.0).await;
            write(&resource, newer.lead(), "newer", 0.0).await;
        };
        tokio::join!(leaves, write(&resource, older.lead(), "slow", 1.5), follows);
        pending::<()>().await;
    }
}

#[test]
fn a_newer_leader_waits_until_what_was_let_through_has_been_handled() {
    let lines = lines(&etcd::SERVICE, || play(Waits));
    println!("{}", all(&lines));
    at(&lines, "slow: 200 OK");
    at(&lines, "the client has gone");
    at(&lines, "newer: 200 OK");
    let newer = at(&lines, "newer begins with \"charge newer\"");
    assert!(newer >= at(&lines, "slow is done") && newer >= at(&lines, "left is done"));
    assert!(at(&lines, "left begins with \"charge left\"") >= at(&lines, "slow begins with \"charge slow\"") - 0.1);
}

struct IsKeptWaiting;

impl Part for IsKeptWaiting {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (older, newer) = leaders(backend).await;
        let layer = FenceLayer::open(key(), "charges", LEDGER).unwrap().wait_limit(Duration::from_secs(1));
        let resource = Router::new().route("/charges/{what}/{takes_s}", post(handle)).layer(layer);
        let follows = async {
            sleep_s(0.5).await;
            let answer = ask(&resource, signed(newer.lead(), "newer", 0.0)).await;
            let status = answer.status();
            let why = axum::body::to_bytes(answer.into_body(), 1_000).await.unwrap();
            println!("newer: {status}, {}", String::from_utf8_lossy(&why).trim_end());
            write(&resource, older.lead(), "again", 0.0).await;
            sleep_s(3.0).await;
            write(&resource, newer.lead(), "later", 0.0).await;
        };
        tokio::join!(write(&resource, older.lead(), "stuck", 4.0), follows);
        pending::<()>().await;
    }
}

#[test]
fn a_newer_leader_is_told_to_ask_again_when_a_handler_does_not_end_and_never_runs_beside_it() {
    let lines = lines(&etcd::SERVICE, || play(IsKeptWaiting));
    println!("{}", all(&lines));
    let told = at(&lines, "newer: 503 Service Unavailable, a handler of the leader before has not ended");
    assert!((1.4..1.6).contains(&(told - at(&lines, "stuck begins with \"charge stuck\""))));
    // The older one has not come in again meanwhile.
    at(&lines, "again: not written: the resource refused the token");
    assert!(find(&lines, "again begins with \"charge again\"").is_none());
    at(&lines, "stuck: 200 OK");
    at(&lines, "later: 200 OK");
    assert!(at(&lines, "later begins with \"charge later\"") >= at(&lines, "stuck is done"));
    assert!(find(&lines, "newer begins with \"charge newer\"").is_none());
}

struct Stops;

impl Part for Stops {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let ((older, _newer), resource) = (leaders(backend).await, server());
        let left = tokio::time::timeout(Duration::from_millis(500), ask(&resource, signed(older.lead(), "left", 2.0)));
        println!("the client has gone: {}", left.await.is_err());
        drop(resource);
        println!("the server has gone, {}", FenceLayer::open(key(), "charges", LEDGER).unwrap_err());
        sleep_s(2.0).await;
        println!("later: {}", FenceLayer::open(key(), "charges", LEDGER).is_ok());
        pending::<()>().await;
    }
}

#[test]
fn a_server_that_has_gone_keeps_its_ledger_until_the_last_handler_has_ended() {
    let lines = lines(&etcd::SERVICE, || play(Stops));
    println!("{}", all(&lines));
    at(&lines, "the client has gone: true");
    at(&lines, "the server has gone, the ledger /tmp/ledger is open in another process, or twice in this one");
    assert!(at(&lines, "later: true") >= at(&lines, "left is done"));
}

struct Forges;

impl Part for Forges {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let ((older, _newer), resource) = (leaders(backend).await, server());
        let good = || signed(older.lead(), "good", 0.0);
        let token = older.lead().token();
        let claims = |fence: String| {
            let mut request = good();
            request.headers_mut().insert("fence", HeaderValue::from_str(&fence).unwrap());
            request
        };
        let fence = good().headers()["fence"].to_str().unwrap().to_owned();
        let mut other = Request::from_parts(good().into_parts().0, "charge more".to_owned());
        println!("the body: {}", ask(&resource, other).await.status());
        other = good();
        *other.uri_mut() = "http://charges/charges/bad/0".parse().unwrap();
        println!("the path: {}", ask(&resource, other).await.status());
        other = good();
        *other.method_mut() = http::Method::PUT;
        println!("the method: {}", ask(&resource, other).await.status());
        other = good();
        other.headers_mut().insert("idempotency-key", HeaderValue::from_static("again"));
        println!("the request's name: {}", ask(&resource, other).await.status());
        other = good();
        other.headers_mut().append("idempotency-key", HeaderValue::from_static("again"));
        println!("two names: {}", ask(&resource, other).await.status());
        let raised = fence.replacen(&format!(" {token} "), &format!(" {} ", token + 1), 1);
        println!("the token: {}", ask(&resource, claims(raised)).await.status());
        println!("the resource: {}", ask(&resource, claims(fence.replacen("charges", "refunds", 1))).await.status());
        for damaged in ["", "charges", "charges x y z", "charges 1 a/b 00", "charges 1 a/b zz"] {
            println!("damaged: {}", ask(&resource, claims(damaged.to_owned())).await.status());
        }
        let mut other = request("good", 0.0);
        println!("none: {}", ask(&resource, other.clone()).await.status());
        Key::new(&[7; 32]).unwrap().sign(older.lead(), "charges", &mut other).unwrap();
        println!("another secret: {}", ask(&resource, other).await.status());
        let mut other = request("good", 0.0).map(|_| "x".repeat(1_001));
        key().sign(older.lead(), "charges", &mut other).unwrap();
        println!("too long: {}", ask(&resource, other).await.status());
        println!("a name: {}", key().sign(older.lead(), "two words", &mut request("good", 0.0)).unwrap_err());
        println!("a secret: {}", Key::new(b"short").unwrap_err());
        println!("good: {}", ask(&resource, good()).await.status());
        pending::<()>().await;
    }
}

#[test]
fn nobody_without_the_secret_claims_a_token_or_changes_what_is_written() {
    let lines = lines(&etcd::SERVICE, || play(Forges));
    println!("{}", all(&lines));
    let answered = |what: &str, status: StatusCode| at(&lines, &format!("{what}: {status}"));
    for what in
        ["the body", "the path", "the method", "the request's name", "two names", "the token", "the resource", "none"]
    {
        answered(what, StatusCode::UNAUTHORIZED);
    }
    answered("another secret", StatusCode::UNAUTHORIZED);
    answered("too long", StatusCode::PAYLOAD_TOO_LARGE);
    let unauthorized = format!("damaged: {}", StatusCode::UNAUTHORIZED);
    assert_eq!(lines.iter().filter(|line| line.text == unauthorized).count(), 5);
    let name = "a name: `two words` is no name for a resource: use 1 to 128 visible ASCII characters without spaces";
    at(&lines, name);
    at(&lines, "a secret: a secret of 5 bytes is too short: use at least 32, from a random source");
    answered("good", StatusCode::OK);
    assert_eq!(lines.iter().filter(|line| line.text.contains("begins")).count(), 1);
}
