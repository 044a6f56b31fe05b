//! Requests that the layer hands to their handlers once.

use super::{LEDGER, ask, handle, key, request, signed};
use crate::{
    fencing::leaders,
    world::{Part, all, at, lines, lines_with, node, play, sleep_s},
};
use axum::{
    Extension, Router,
    body::to_bytes,
    extract::Path,
    response::{IntoResponse, Response},
    routing::post,
};
use fencepost_seat::{
    Backend, Fenced, Lead,
    fence::http::{FenceLayer, Leader, NotDone, accepted_once},
};
use http::{HeaderName, HeaderValue, Request, StatusCode};
use protocols::service::etcd;
use scenarios::fault::Fault;
use std::{
    fs,
    future::pending,
    io::{Read, Write},
    time::Duration,
};

/// Handles requests as [`handle`] does, and others as their names say.
async fn handle_as_named(path: Path<(String, f64)>, leader: Extension<Leader>, body: String) -> Response {
    match path.0.0.as_str() {
        "busy" => {
            println!("busy begins");
            (Extension(NotDone), StatusCode::SERVICE_UNAVAILABLE).into_response()
        }
        "fails" => {
            println!("fails begins");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        "panics" => {
            println!("panics begins");
            panic!("on purpose")
        }
        _ => (StatusCode::CREATED, handle(path, leader, body).await).into_response(),
    }
}

fn server_once() -> Router {
    let layer = FenceLayer::open_once(key(), "charges", LEDGER, Duration::from_secs(10)).unwrap();
    Router::new().route("/charges/{what}/{takes_s}", post(handle_as_named)).layer(layer)
}

/// Asks as a leader does; what has come of it.
async fn once(server: &Router, lead: &Lead<Fenced>, request: Request<String>, when: &str) {
    let answer = ask(server, request).await;
    match accepted_once(lead, answer.status(), answer.headers()) {
        Ok(now) => {
            let (status, body) = (answer.status(), to_bytes(answer.into_body(), 1_000).await.unwrap());
            println!("{when}: {}, {status}, {} bytes", if now { "now" } else { "before" }, body.len())
        }
        Err(error) => println!("{when}: {error}"),
    }
}

struct AsksAgain;

impl Part for AsksAgain {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let ((older, newer), resource) = (leaders(backend).await, server_once());
        let (old, new) = (older.lead(), newer.lead());
        once(&resource, old, signed(old, "a", 0.0), "first").await;
        once(&resource, old, signed(old, "a", 0.0), "again").await;
        once(&resource, new, signed(new, "a", 0.0), "by the newer").await;
        once(&resource, old, signed(old, "b", 0.0), "by the older").await;
        let renamed = |name: Option<&str>| {
            let mut request = request("c", 0.0);
            request.headers_mut().remove("idempotency-key");
            let name = name.map(|name| HeaderValue::from_str(name).unwrap());
            request.headers_mut().extend(name.map(|name| (HeaderName::from_static("idempotency-key"), name)));
            key().sign(new, "charges", &mut request).unwrap();
            request
        };
        for (name, when) in [(Some("a"), "another's name"), (None, "no name"), (Some("two words"), "two words")] {
            once(&resource, new, renamed(name), when).await;
        }
        for what in ["busy", "fails"] {
            once(&resource, new, signed(new, what, 0.0), &format!("{what} first")).await;
            once(&resource, new, signed(new, what, 0.0), &format!("{what} again")).await;
        }
        // One of them waits for the other.
        let (one, other) = (signed(new, "slow", 1.0), signed(new, "slow", 1.0));
        tokio::join!(once(&resource, new, one, "slow"), once(&resource, new, other, "slow"));
        // Its client has gone, and it goes on.
        let left = tokio::time::timeout(Duration::from_millis(500), ask(&resource, signed(new, "left", 1.0)));
        println!("the client has gone: {}", left.await.is_err());
        once(&resource, new, signed(new, "left", 1.0), "left").await;
        let panics = (resource.clone(), signed(new, "panics", 0.0));
        let panics = tokio::spawn(async move { ask(&panics.0, panics.1).await });
        println!("it panicked: {}", panics.await.is_err());
        once(&resource, new, signed(new, "panics", 0.0), "after the panic").await;
        drop(resource);
        let resource = server_once();
        for (what, takes_s) in [("a", 0.0), ("slow", 1.0), ("panics", 0.0)] {
            once(&resource, new, signed(new, what, takes_s), &format!("{what} after a restart")).await;
        }
        sleep_s(10.5).await;
        once(&resource, new, signed(new, "a", 0.0), "forgotten").await;
        // So many that the file is written anew.
        for number in 0..600 {
            ask(&resource, signed(new, &format!("many-{number}"), 0.0)).await;
        }
        drop(resource);
        let resource = server_once();
        once(&resource, new, signed(new, "many-0", 0.0), "one of many").await;
        let bytes = fs::metadata(format!("{LEDGER}.requests")).unwrap().len();
        println!("the file is short: {}", (50_000..100_000).contains(&bytes));
        pending::<()>().await;
    }
}

#[test]
fn a_request_that_is_handled_once_is_answered_without_its_handler_when_it_comes_again() {
    let lines = lines(&etcd::SERVICE, || play(AsksAgain));
    println!("{}", all(&lines));
    let begins = |what: &str| lines.iter().filter(|line| line.text.starts_with(&format!("{what} begins"))).count();
    at(&lines, "first: now, 201 Created, 1 bytes");
    at(&lines, "again: before, 201 Created, 0 bytes");
    at(&lines, "by the newer: before, 201 Created, 0 bytes");
    at(&lines, "by the older: not written: the resource refused the token");
    at(&lines, "another's name: the answer was 422 Unprocessable Entity, and the request was not handled");
    at(&lines, "no name: the answer was 400 Bad Request, and the request was not handled");
    at(&lines, "two words: the answer was 400 Bad Request, and the request was not handled");
    for when in ["busy first", "busy again"] {
        at(&lines, &format!("{when}: the answer was 503 Service Unavailable, and the request was not handled"));
    }
    at(&lines, "fails first: now, 500 Internal Server Error, 0 bytes");
    at(&lines, "fails again: before, 500 Internal Server Error, 0 bytes");
    at(&lines, "slow: now, 201 Created, 4 bytes");
    assert!(at(&lines, "slow: before, 201 Created, 0 bytes") >= at(&lines, "slow is done"));
    assert!(at(&lines, "left: before, 201 Created, 0 bytes") >= at(&lines, "left is done"));
    at(&lines, "it panicked: true");
    at(&lines, "after the panic: the handler was cut off: it may have written, or not");
    at(&lines, "a after a restart: before, 201 Created, 0 bytes");
    at(&lines, "slow after a restart: before, 201 Created, 0 bytes");
    at(&lines, "panics after a restart: the handler was cut off: it may have written, or not");
    at(&lines, "forgotten: now, 201 Created, 1 bytes");
    at(&lines, "one of many: before, 201 Created, 0 bytes");
    at(&lines, "the file is short: true");
    for (what, times) in [("a", 2), ("b", 0), ("c", 0), ("busy", 2), ("fails", 1), ("slow", 1), ("panics", 1)] {
        assert_eq!(begins(what), times, "{what}");
    }
}

/// The file has whole lines at its end of which the layer was told that they could not be written.
struct FailedToWrite;

impl Part for FailedToWrite {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let ((_older, newer), resource) = (leaders(backend).await, server_once());
        let new = newer.lead();
        once(&resource, new, signed(new, &"long".repeat(20), 0.0), "long").await;
        let (path, mut file) = (format!("{LEDGER}.requests"), String::new());
        fs::File::open(&path).unwrap().read_to_string(&mut file).unwrap();
        let (_, lines) = file.split_once('\n').unwrap();
        fs::File::options().append(true).open(&path).unwrap().write_all(lines.repeat(2).as_bytes()).unwrap();
        once(&resource, new, signed(new, "a", 0.0), "first").await;
        drop(resource);
        let resource = server_once();
        once(&resource, new, signed(new, "a", 0.0), "again").await;
        pending::<()>().await;
    }
}

#[test]
fn what_a_failed_write_has_left_damages_no_file() {
    let lines = lines(&etcd::SERVICE, || play(FailedToWrite));
    println!("{}", all(&lines));
    at(&lines, "first: now, 201 Created, 1 bytes");
    at(&lines, "again: before, 201 Created, 0 bytes");
}

/// Its machine loses power while a request is handled.
struct LosesPower;

impl Part for LosesPower {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let back = fs::exists(LEDGER).unwrap();
        let (_older, newer) = leaders(backend).await;
        let (new, resource) = (newer.lead(), server_once());
        if !back {
            once(&resource, new, signed(new, "done", 0.0), "first").await;
            once(&resource, new, signed(new, "cut", 20.0), "not before the end").await;
        }
        for (what, takes_s) in [("done", 0.0), ("cut", 20.0), ("new", 0.0)] {
            once(&resource, new, signed(new, what, takes_s), &format!("{what}, later")).await;
        }
        pending::<()>().await;
    }
}

#[test]
fn a_request_whose_handler_was_cut_off_by_a_loss_of_power_is_not_handed_to_it_again() {
    let fault = Fault::PowerLoss { node: node("n1"), restart_after_ms: Some(500.0) };
    let lines = lines_with(&etcd::SERVICE, || play(LosesPower), vec![(5.0, fault)]);
    println!("{}", all(&lines));
    at(&lines, "first: now, 201 Created, 4 bytes");
    assert!(at(&lines, "cut begins with \"charge cut\"") < 5.0);
    at(&lines, "done, later: before, 201 Created, 0 bytes");
    at(&lines, "cut, later: the handler was cut off: it may have written, or not");
    at(&lines, "new, later: now, 201 Created, 3 bytes");
    assert_eq!(lines.iter().filter(|line| line.text.starts_with("cut begins")).count(), 1);
}
