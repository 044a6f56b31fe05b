//! Members that are to lead if they can.

use crate::world::{
    AnyPart, Figures, HANDOFF_S, all, all_services, at, figures, find, here, lines, lines_with, node, play_any, served,
    settings, sleep_s, until_s,
};
use fencepost_seat::{Backend, Etcd, Fenced, Postgres, Raft, Redis, Seat, SettingsError};
use protocols::service::{Service, etcd, redis};
use scenarios::fault::Fault;
use sim::program::Line;
use std::{collections::BTreeMap, env, future::pending, time::Duration};
use tokio::time::Instant;

const PREFERRED: [&str; 1] = ["n1"];

/// The longest time without a leader when only members that are not preferred are left, which are two: each gives the
/// seat back once.
fn lower(figures: Figures) -> f64 {
    figures.ttl + 4.0 * HANDOFF_S
}

/// Who led, and when that began.
fn led(lines: &[Line]) -> Vec<(&str, f64)> {
    let led = lines.iter().filter(|line| line.text.ends_with(" leads"));
    led.map(|line| (&line.text[..2], line.now as f64 / 1e9)).collect()
}

/// When the preferred member's process is killed, is there again, and its successor is asked to resign.
fn times(figures: Figures) -> [f64; 3] {
    let dies = figures.ttl + 3.0;
    let back = dies + figures.lease + lower(figures);
    [dies, back, back + 4.0]
}

/// n2 and n3 come before n1, which is preferred.
struct Returns;

impl AnyPart for Returns {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, preferred) = (Instant::now(), name == "n1");
        sleep_s(if preferred { 0.5 } else { 0.0 }).await;
        let seat = settings(backend).prefer(PREFERRED).member(name).unwrap();
        let (resigner, asks_at) = (seat.resigner(), times(here())[2]);
        // Whoever leads although another is preferred.
        let asks = async {
            until_s(began, asks_at).await;
            loop {
                resigner.resign();
                sleep_s(0.1).await;
            }
        };
        let work = async |lead: &fencepost_seat::Lead<_>| {
            println!("{name} leads");
            lead.resigning().await;
            Ok::<_, String>(())
        };
        tokio::select! {
            () = asks, if !preferred => {}
            _ = seat.serve_until(pending(), work) => {}
        }
    }
}

#[test]
fn a_preferred_member_leads_first_is_followed_when_it_dies_and_leads_again_when_it_is_its_turn() {
    for service in all_services() {
        let figures = figures(service.name);
        let [dies, back, asked] = times(figures);
        let kill = Fault::Kill { node: node("n1"), restart_after_ms: Some((back - dies) * 1e3) };
        let lines = lines_with(service, || play_any(Returns), vec![(dies, kill)]);
        println!("{}:{}", service.name, all(&lines));
        let led = led(&lines);
        let [(first, first_at), (second, second_at), .., (last, last_at)] = led[..] else {
            panic!("{}: {led:?}", service.name)
        };
        // The others have won before, and their work has not begun.
        assert!(first == "n1" && first_at < 0.5 + 2.0 * HANDOFF_S, "{led:?}");
        assert!(second != "n1" && second_at < dies + figures.lease + lower(figures), "{led:?}");
        // It comes back, and waits. The third member may lead before it, and is asked, too.
        assert!(led[2..].iter().all(|(_, at)| (asked..asked + 2.0 * HANDOFF_S).contains(at)), "{led:?}");
        assert!(led.len() <= 4 && last == "n1" && last_at > second_at, "{led:?}");
    }
}

/// n1 is preferred and comes first; its work fails after a second.
struct Fails;

impl AnyPart for Fails {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        sleep_s(if name == "n1" { 0.0 } else { 0.5 }).await;
        // Shorter than the others' deference.
        let seat = settings(backend).prefer(PREFERRED).hold_down(Duration::from_millis(500)).member(name).unwrap();
        let work = async |_: &fencepost_seat::Lead<_>| {
            println!("{name} leads");
            match name {
                "n1" => {
                    sleep_s(1.0).await;
                    println!("n1 fails");
                    Err("the disk is full")
                }
                _ => pending().await,
            }
        };
        seat.serve_until(pending(), work).await;
    }
}

#[test]
fn a_preferred_member_whose_work_fails_is_followed_by_one_that_stays() {
    for service in all_services() {
        let lines = lines(service, || play_any(Fails));
        println!("{}:{}", service.name, all(&lines));
        let led = led(&lines);
        let [("n1", _), (second, second_at)] = led[..] else { panic!("{}: {led:?}", service.name) };
        assert!(second != "n1" && second_at < at(&lines, "n1 fails") + lower(figures(service.name)), "{led:?}");
    }
}

/// n1 is preferred and comes first; the others are there.
struct Works;

impl AnyPart for Works {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        sleep_s(if name == "n1" { 0.0 } else { 1.0 }).await;
        let seat = settings(backend).prefer(PREFERRED).member(name).unwrap();
        let work = async |_: &fencepost_seat::Lead<_>| {
            println!("{name} leads");
            pending::<Result<(), String>>().await
        };
        seat.serve_until(pending(), work).await;
    }
}

/// Kills the preferred member's process, which is there again before its lease is over.
fn killed(service: &'static Service, at_s: &[f64]) -> Vec<Line> {
    let kill = Fault::Kill { node: node("n1"), restart_after_ms: Some(300.0) };
    let lines = lines_with(service, || play_any(Works), at_s.iter().map(|at_s| (*at_s, kill.clone())).collect());
    println!("{}:{}", service.name, all(&lines));
    lines
}

/// Its leases are over before the next death.
fn quick() -> impl Iterator<Item = &'static Service> {
    all_services().filter(|service| figures(service.name).lease < 7.0)
}

#[test]
fn a_preferred_member_that_dies_again_and_again_does_not_keep_the_others_from_leading() {
    for service in quick() {
        let lines = killed(service, &[5.0, 14.0, 23.0, 32.0]);
        let led = led(&lines);
        let other = led.iter().position(|(name, _)| *name != "n1");
        let Some(other) = other else { panic!("{}: {led:?}", service.name) };
        // Whoever leads then stays.
        assert_eq!(other, led.len() - 1, "{led:?}");
    }
}

#[test]
fn after_five_leases_under_another_leader_the_seat_is_left_to_it_again() {
    for service in [&etcd::SERVICE, &redis::SERVICE] {
        let lines = killed(service, &[5.0, 28.0]);
        let led = led(&lines);
        let [("n1", _), ("n1", again), ("n1", third)] = led[..] else { panic!("{}: {led:?}", service.name) };
        assert!((5.0..12.0).contains(&again) && (28.0..35.0).contains(&third), "{led:?}");
    }
}

/// n1 is preferred and leads; it is asked to finish, and n2 alone is there.
struct Resigns;

impl AnyPart for Resigns {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let began = Instant::now();
        sleep_s(match name {
            "n1" => 0.0,
            "n2" => 1.0,
            _ => pending().await,
        })
        .await;
        let seat = settings(backend).members(["n1", "n2"]).prefer(PREFERRED).member(name).unwrap();
        let resigner = seat.resigner();
        let asks = async {
            until_s(began, 5.0).await;
            println!("{name} is asked");
            resigner.resign_to("n2");
            pending::<()>().await;
        };
        let work = async |lead: &fencepost_seat::Lead<_>| {
            println!("{name} leads");
            lead.resigning().await;
            Ok::<_, String>(())
        };
        tokio::select! {
            () = asks, if name == "n1" => {}
            _ = seat.serve_until(pending(), work) => {}
        }
    }
}

#[test]
fn a_preferred_member_that_is_asked_to_resign_does_not_lead_before_who_was_there() {
    for service in served() {
        let lines = lines(service, || play_any(Resigns));
        println!("{}:{}", service.name, all(&lines));
        let led = led(&lines);
        let [("n1", _), ("n2", next)] = led[..] else { panic!("{}: {led:?}", service.name) };
        assert!(next < at(&lines, "n1 is asked") + lower(figures(service.name)), "{led:?}");
    }
}

/// n2 is preferred, then n1; n3 comes before n1.
struct InOrder;

impl AnyPart for InOrder {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let began = Instant::now();
        let seat = settings(backend).prefer(["n2", "n1"]).member(name).unwrap();
        let shards = settings(Redis::connect("redis://nowhere").unwrap()).prefer(["n2"]).shards(2, name);
        assert_eq!(shards.unwrap_err(), SettingsError::PreferredForShards);
        until_s(began, BTreeMap::from([("n2", 0.0), ("n3", 0.5), ("n1", 1.0)])[name]).await;
        let work = async |_: &fencepost_seat::Lead<_>| {
            println!("{name} leads");
            pending::<Result<(), String>>().await
        };
        seat.serve_until(pending(), work).await;
    }
}

#[test]
fn of_several_that_are_preferred_the_first_that_lives_leads() {
    for service in served() {
        let figures = figures(service.name);
        let dies = figures.ttl + 3.0;
        let kill = Fault::Kill { node: node("n2"), restart_after_ms: None };
        let lines = lines_with(service, || play_any(InOrder), vec![(dies, kill)]);
        println!("{}:{}", service.name, all(&lines));
        let led = led(&lines);
        let [("n2", _), ("n1", next)] = led[..] else { panic!("{}: {led:?}", service.name) };
        assert!(next < dies + figures.lease + lower(figures), "{led:?}");
        assert_eq!(find(&lines, "n3 leads"), None);
    }
}

#[tokio::main]
pub async fn on_etcd() -> Result<(), seat::Error> {
    charges(Etcd::connect(["http://etcd:2379"])?).await
}

#[tokio::main]
pub async fn on_redis() -> Result<(), seat::Error> {
    charges(Redis::connect("redis://redis:6379")?).await
}

#[tokio::main]
pub async fn on_postgres() -> Result<(), seat::Error> {
    charges(Postgres::connect("postgres://invoices@postgres/invoices")?).await
}

#[tokio::main]
pub async fn among_themselves() -> Result<(), seat::Error> {
    let members = ["n1", "n2", "n3"].map(|name| (name, format!("{name}:7000")));
    charges(Raft::in_clear(members, "raft")?).await
}

/// The example's service, of which n1 is to lead, and then n2.
async fn charges(backend: impl Backend<Fencing = Fenced>) -> Result<(), seat::Error> {
    let name = env::var("HOSTNAME")?;
    let seat = Seat::new(backend, "invoices").ttl(Duration::from_secs(3)).prefer(["n1", "n2"]).member(&name)?;
    seat.serve_until(pending(), async |lead| {
        println!("{name}: leads with token {}", lead.token());
        let _told = seat::Tells(&name);
        seat::charge_all(&name, lead).await
    })
    .await;
    Err("the work did not stop".into())
}
