//! What operators do to the sessions of Consul, and what a session must not outlive.

use crate::world::{
    AnyPart, HANDOFF_S, POSTGRES_LOCK, Part, all, at, figures, find, lines, lines_with, node, play, play_any, served,
    settings, successor, until_s,
};
use fencepost_seat::{Backend, Fenced};
use protocols::service::{consul, zookeeper};
use scenarios::fault::{Fault, Who};
use std::{
    future::pending,
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};
use tokio::time::Instant;

/// Where the seat's lock is.
const LOCK: &str = "/v1/kv/fencepost/test/.lock";

/// Asks Consul, as an operator does, and returns the answer's body.
fn operate(method: &str, target: &str) -> String {
    let mut stream = TcpStream::connect("consul:8500").unwrap();
    let head = format!("{method} {target} HTTP/1.1\r\nHost: consul\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// n1 leads, n2 stands behind it, and the operator acts after 8 s.
struct Operated {
    act: fn(),
}

impl Part for Operated {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            "n1" => {
                let term = seat.campaign().await;
                println!("n1 leads with {}", term.lead().token());
                tokio::select! {
                    ended = term.lead().ended() => println!("n1 leads no more: {ended:?}"),
                    () = until_s(began, 20.0) => println!("n1 still leads"),
                }
                println!("n1: {:?}", term.finish().await);
            }
            "n2" => {
                until_s(began, 2.0).await;
                let term = seat.campaign().await;
                println!("n2 leads");
                println!("n2 leads with {}", term.lead().token());
                pending::<()>().await;
            }
            _ => {
                until_s(began, 8.1).await;
                (self.act)();
                println!("it is done");
            }
        }
    }
}

/// The token that this one has printed.
fn token(lines: &[sim::program::Line], name: &str) -> u64 {
    let printed = format!("{name} leads with ");
    lines.iter().find_map(|line| line.text.strip_prefix(&printed)?.parse().ok()).unwrap()
}

fn destroy_the_session() {
    let found = operate("GET", LOCK);
    let session = found.split("\"Session\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(operate("PUT", &format!("/v1/session/destroy/{session}")), "true");
}

#[test]
fn a_session_that_ends_early_lets_nobody_in_beside_its_leader() {
    // So does a session whose agent is taken for dead.
    let cut = Fault::Partition { from: vec![node("n1")], to: vec![Who::Service], one_way: false, for_ms: None };
    let lines = lines_with(&consul::SERVICE, || play(Operated { act: destroy_the_session }), vec![(8.0, cut)]);
    println!("{}", all(&lines));
    let (ended, next) = (at(&lines, "n1 leads no more: Expired"), at(&lines, "n2 leads"));
    assert!(next > ended + 0.9, "{ended} {next}: nobody has told the leader");
    // The session's end is followed by a lock-delay.
    assert!((18.1..18.1 + 1.0 + HANDOFF_S).contains(&next), "{next}");
}

#[test]
fn a_session_that_an_operator_ends_is_lost_at_once() {
    let lines = lines(&consul::SERVICE, || play(Operated { act: destroy_the_session }));
    println!("{}", all(&lines));
    assert!(at(&lines, "n1 leads no more: Lost") < at(&lines, "it is done") + 0.1, "its watch tells it");
    assert!(at(&lines, "n2 leads") > 18.1);
}

#[test]
fn a_key_that_is_deleted_takes_no_token_back() {
    let delete = || assert_eq!(operate("DELETE", LOCK), "true");
    let lines = lines(&consul::SERVICE, move || play(Operated { act: delete }));
    println!("{}", all(&lines));
    let done = at(&lines, "it is done");
    assert!(at(&lines, "n1 leads no more: Lost") < done + 0.1 && at(&lines, "n2 leads") < done + 0.1);
    assert!(token(&lines, "n2") > token(&lines, "n1"));
}

#[test]
fn a_key_that_somebody_writes_is_still_the_lock() {
    let write = || {
        // Without the flags by which Consul's own client knows a lock.
        assert_eq!(operate("PUT", LOCK), "true");
        std::thread::sleep(Duration::from_secs(4));
        destroy_the_session();
    };
    let lines = lines(&consul::SERVICE, move || play(Operated { act: write }));
    println!("{}", all(&lines));
    assert!(at(&lines, "n1 leads no more: Lost") > 12.1, "the write does not take the lock from it");
    assert!((22.1..22.1 + 1.0 + HANDOFF_S).contains(&at(&lines, "n2 leads")));
    assert!(token(&lines, "n2") > token(&lines, "n1"));
}

/// n1 asks for a longer session than the server grants.
struct AsksForLong;

impl Part for AsksForLong {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name == "n1" {
            let seat = settings(backend).ttl(Duration::from_secs(60)).member(name).unwrap();
            let term = seat.campaign().await;
            println!("n1 leads");
            println!("n1 leads no more: {:?}", term.lead().ended().await);
        }
    }
}

#[test]
fn a_belief_counts_by_the_session_that_was_granted() {
    let cut = Fault::Partition { from: vec![node("n1")], to: vec![Who::Service], one_way: false, for_ms: None };
    let lines = lines_with(&zookeeper::SERVICE, || play(AsksForLong), vec![(8.0, cut)]);
    println!("{}", all(&lines));
    let ended = at(&lines, "n1 leads no more: Expired");
    // 40 s were granted, so it has two thirds of them, less a tenth.
    assert!((16.0..8.0 + 40.0 * (2.0 / 3.0 - 0.1) + 0.05).contains(&ended), "{ended}");
}

/// n1 has a thread that works on when its leadership is over.
struct WorksOn;

impl AnyPart for WorksOn {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).stop_within(Duration::from_secs(90)).member(name).unwrap();
        let ended = seat.serve(async |lead| {
            let _task = lead.spawn_blocking(|| std::thread::sleep(Duration::from_secs(100)));
            let _said = Stops;
            pending::<Result<(), String>>().await
        });
        println!("n1: {:?}", ended.await);
    }
}

struct Stops;

impl Drop for Stops {
    fn drop(&mut self) {
        println!("n1 stops");
    }
}

#[test]
fn a_lease_that_is_over_runs_out_even_if_the_work_does_not_stop() {
    // A lock of PostgreSQL is kept until the work has stopped.
    for service in served().filter(|service| service.name != POSTGRES_LOCK.name) {
        // What n1 asks for is done, and the answers come too late.
        let slow = Fault::Latency { from: vec![Who::Service], to: vec![node("n1")], extra_us: 2_500_000, for_ms: None };
        let lines = lines_with(service, || play_any(WorksOn), vec![(8.0, slow)]);
        println!("{}:{}", service.name, all(&lines));
        let (stops, next) = (at(&lines, "n1 stops"), at(&lines, "n2 leads"));
        assert!(next < stops + figures(service.name).lease + HANDOFF_S, "{stops} {next}");
        assert!(find(&lines, "n1: Ok(Expired)").is_none());
    }
}
