//! What services without tokens hold, and what they do not.

use crate::world::{
    AnyPart, HANDOFF_S, POSTGRES_LOCK, REDLOCK, all, at, figures, find, lines, lines_with, node, play_any, settings,
    successor, until_s,
};
use fencepost_seat::Backend;
use protocols::service::postgres;
use scenarios::fault::{Fault, Who};
use std::{future::pending, time::Duration};
use tokio::time::Instant;
use tokio_postgres::NoTls;

/// Ends every session of PostgreSQL but its own, as an operator does.
async fn end_sessions() {
    let (client, connection) = tokio_postgres::connect("postgres://operator@postgres/invoices", NoTls).await.unwrap();
    tokio::spawn(connection);
    let own: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    for other in 1..own {
        client.simple_query(&format!("SELECT pg_terminate_backend({other})")).await.unwrap();
    }
}

/// n1 leads, n2 stands behind it, and n3 may act after 8.1 s.
struct Stand {
    ends_sessions: bool,
}

impl AnyPart for Stand {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            "n1" => {
                let term = seat.campaign().await;
                println!("n1 leads");
                let mut watch = seat.watch();
                let fails = async {
                    loop {
                        if let Some(why) = watch.changed().await.failing {
                            println!("n1 fails: {why}");
                        }
                    }
                };
                tokio::select! {
                    ended = term.lead().ended() => println!("n1 leads no more: {ended:?}"),
                    () = until_s(began, 30.0) => println!("n1 still leads"),
                    () = fails => {}
                }
                term.finish().await;
            }
            "n2" => {
                until_s(began, 1.0).await;
                let _term = seat.campaign().await;
                println!("n2 leads");
                pending::<()>().await;
            }
            _ if self.ends_sessions => {
                until_s(began, 8.1).await;
                end_sessions().await;
                println!("it is done");
            }
            _ => {}
        }
    }
}

fn cut(from: &str, to: Vec<Who>) -> Fault {
    Fault::Partition { from: vec![node(from)], to, one_way: false, for_ms: None }
}

#[test]
fn a_session_that_an_operator_ends_ends_its_leadership_at_once() {
    let lines = lines(POSTGRES_LOCK, || play_any(Stand { ends_sessions: true }));
    println!("{}", all(&lines));
    let (ended, done) = (at(&lines, "n1 leads no more: Lost"), at(&lines, "it is done"));
    assert!((8.1..done + 0.05).contains(&ended), "{ended}: it does not wait for its next ping");
    assert!((done..done + HANDOFF_S).contains(&at(&lines, "n2 leads")));
}

/// What nobody can do without a token: the leader cannot know that its session is gone.
#[test]
fn a_session_that_ends_unheard_of_is_believed_in_for_its_ttl_at_most() {
    let away = vec![(8.0, cut("n1", vec![Who::Service]))];
    let lines = lines_with(POSTGRES_LOCK, || play_any(Stand { ends_sessions: true }), away);
    println!("{}", all(&lines));
    let (ended, next) = (at(&lines, "n1 leads no more: Expired"), at(&lines, "n2 leads"));
    assert!(next < ended, "both believe");
    assert!(ended < 8.0 + figures(POSTGRES_LOCK.name).belief + 0.05, "{ended}");
}

#[test]
fn a_process_that_is_paused_keeps_its_lock() {
    let pause = Fault::Pause { node: node("n1"), for_ms: 10_000.0 };
    let lines = lines_with(POSTGRES_LOCK, || play_any(Stand { ends_sessions: false }), vec![(8.0, pause)]);
    println!("{}", all(&lines));
    let ended = at(&lines, "n1 leads no more: Expired");
    assert!((18.0..18.2).contains(&ended), "{ended}");
    let next = at(&lines, "n2 leads");
    assert!((ended..ended + HANDOFF_S).contains(&next), "{next}");
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
            let _task = lead.spawn_blocking(|| {
                std::thread::sleep(Duration::from_secs(25));
                println!("n1's thread has ended");
            });
            println!("n1's belief is over: {:?}", lead.ended().await);
            pending::<Result<(), String>>().await
        });
        println!("n1: {:?}", ended.await);
    }
}

#[test]
fn a_lock_is_kept_until_the_work_has_stopped_even_if_the_belief_is_over() {
    // What n1 asks for is done, and the answers come too late.
    let slow = Fault::Latency { from: vec![Who::Service], to: vec![node("n1")], extra_us: 2_900_000, for_ms: None };
    let lines = lines_with(POSTGRES_LOCK, || play_any(WorksOn), vec![(8.0, slow)]);
    println!("{}", all(&lines));
    let stopped = at(&lines, "n1's thread has ended");
    assert!((25.0..25.5).contains(&stopped), "{stopped}");
    assert!(find(&lines, "n1: Ok(Expired)").is_some());
    let handoff = at(&lines, "n2 leads") - stopped;
    assert!((0.0..HANDOFF_S).contains(&handoff), "{handoff}: nobody leads beside that thread");
}

#[test]
fn behind_a_pool_in_transaction_mode_everybody_leads() {
    let lines = lines(&postgres::POOLED, || play_any(Stand { ends_sessions: false }));
    println!("{}", all(&lines));
    assert!(at(&lines, "n1 leads") < 1.0 && at(&lines, "n2 leads") < 2.0);
    at(&lines, "n1 still leads");
}

fn servers(range: std::ops::RangeInclusive<u8>) -> Vec<Who> {
    range.map(|server| node(&format!("redis-{server}"))).collect()
}

#[test]
fn a_minority_of_silent_servers_costs_nothing_and_is_no_failure() {
    let away = vec![(8.0, cut("n1", servers(1..=2)))];
    let lines = lines_with(REDLOCK, || play_any(Stand { ends_sessions: false }), away);
    println!("{}", all(&lines));
    at(&lines, "n1 still leads");
    assert!(!lines.iter().any(|line| line.text.starts_with("n1 fails")), "a majority is the service");
    assert!(at(&lines, "n2 leads") > 30.0);
}

#[test]
fn a_minority_keeps_no_belief_alive() {
    let away = vec![(8.0, cut("n1", servers(1..=3)))];
    let lines = lines_with(REDLOCK, || play_any(Stand { ends_sessions: false }), away);
    println!("{}", all(&lines));
    let (ended, figures) = (at(&lines, "n1 leads no more: Expired"), figures(REDLOCK.name));
    assert!(ended < 8.0 + figures.belief + 0.05, "{ended}");
    let next = at(&lines, "n2 leads");
    assert!((ended + figures.ttl * 0.09..8.0 + figures.lease + HANDOFF_S).contains(&next), "{next}");
}

#[test]
fn a_minority_elects_nobody() {
    // n1 leads as soon as it reaches more of them, which is never.
    let lines =
        lines_with(REDLOCK, || play_any(Stand { ends_sessions: false }), vec![(0.0, cut("n1", servers(1..=3)))]);
    println!("{}", all(&lines));
    assert!(find(&lines, "n1 leads").is_none());
    // What n1 has asked of the others is not in the way.
    assert!(at(&lines, "n2 leads") < 1.0 + HANDOFF_S);
}
