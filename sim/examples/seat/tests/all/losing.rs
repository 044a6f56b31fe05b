//! How a seat learns that its leadership is over.

use crate::world::{
    AnyPart, HANDOFF_S, POSTGRES_LOCK, Part, SERVICES, all, all_services, at, figures, find, here, lines, lines_with,
    node, play, play_any, served, settings, sleep_s,
};
use fencepost_seat::{Backend, Fenced};
use scenarios::fault::{Fault, Who};
use std::{future::pending, time::Duration};

/// Everybody serves for ever, and says what happens.
struct Serves;

impl AnyPart for Serves {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let seat = settings(backend).members(["n1", "n2", "n3"]).member(name).unwrap();
        if name != "n1" {
            sleep_s(0.5).await;
        }
        loop {
            let said = seat.serve(async |lead| {
                println!("{name} leads");
                let _said = Stops(name);
                let checks = lead.clone();
                // Between two reads of the clock it may be paused.
                let _task = lead.spawn(async move {
                    while checks.check().is_ok() {
                        sleep_s(0.01).await;
                    }
                });
                lead.ended().await;
                unreachable!("the work is dropped first");
                #[expect(unreachable_code, reason = "for its type")]
                Ok::<_, String>(())
            });
            println!("{name}: {:?}", said.await);
        }
    }
}

struct Stops<'a>(&'a str);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        println!("{} stops", self.0);
    }
}

/// When the next one leads.
fn next(lines: &[sim::program::Line]) -> f64 {
    find(lines, "n2 leads").into_iter().chain(find(lines, "n3 leads")).fold(f64::MAX, f64::min)
}

#[test]
fn a_leader_that_is_cut_off_stops_before_its_lease_ends() {
    for service in served() {
        let cut = Fault::Partition { from: vec![node("n1")], to: vec![Who::Service], one_way: false, for_ms: None };
        let lines = lines_with(service, || play_any(Serves), vec![(8.0, cut)]);
        println!("{}:{}", service.name, all(&lines));
        let ended = at(&lines, "n1 stops");
        assert!(find(&lines, "n1: Ok(Expired)").is_some());
        let figures = figures(service.name);
        // The last renewal was sent up to half a lease before; a tenth of the lease is the margin.
        assert!((8.0 + figures.belief * 0.44 - 0.1..8.0 + figures.belief + 0.05).contains(&ended), "{ended}");
        let next = next(&lines);
        assert!(next > ended + figures.ttl * 0.09, "{next}: the margin is kept");
        assert!(next < 8.0 + figures.lease + HANDOFF_S, "{next}");
    }
}

#[test]
fn a_leader_that_was_paused_knows_it_when_it_goes_on() {
    for service in all_services() {
        let pause_s = 2.0 * figures(service.name).ttl;
        let pause = Fault::Pause { node: node("n1"), for_ms: pause_s * 1_000.0 };
        let lines = lines_with(service, || play_any(Serves), vec![(8.0, pause)]);
        println!("{}:{}", service.name, all(&lines));
        let ended = at(&lines, "n1 stops");
        assert!(find(&lines, "n1: Ok(Expired)").is_some());
        assert!((8.0 + pause_s..8.2 + pause_s).contains(&ended), "{ended}");
    }
}

#[test]
fn answers_that_take_long_do_not_prolong_a_belief() {
    for service in served() {
        // An answer is on its way for so long, and the request is not.
        let slow = Fault::Latency { from: vec![Who::Service], to: vec![node("n1")], extra_us: 800_000, for_ms: None };
        let cut = Fault::Partition { from: vec![node("n1")], to: vec![Who::Service], one_way: false, for_ms: None };
        // Soon after an answer.
        let cut_s = if service.name == "consul" { 17.6 } else { 20.0 };
        let lines = lines_with(service, || play_any(Serves), vec![(8.0, slow), (cut_s, cut)]);
        println!("{}:{}", service.name, all(&lines));
        let ended = at(&lines, "n1 stops");
        assert!(find(&lines, "n1: Ok(Expired)").is_some());
        let (next, figures) = (next(&lines), figures(service.name));
        assert!(next > ended + figures.ttl * 0.09, "{next} {ended}");
        // The last answer that arrived was to a request that had been sent as long before.
        assert!(ended < cut_s - 0.8 + figures.belief + 0.05, "{ended}");
    }
}

/// n1's resource refuses it.
struct Refused;

impl Part for Refused {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let seat = settings(backend).member(name).unwrap();
        if name == "n1" {
            loop {
                let ended = seat
                    .serve(async |lead| {
                        println!("n1 leads");
                        lead.refused();
                        pending::<Result<(), String>>().await
                    })
                    .await;
                println!("n1: {ended:?}");
            }
        }
    }
}

#[test]
fn who_is_refused_steps_down_and_waits_longer_each_time() {
    for service in SERVICES {
        let lines = lines(service, || play(Refused));
        println!("{}:{}", service.name, all(&lines));
        let times: Vec<f64> =
            lines.iter().filter(|line| line.text == "n1: Ok(Refused)").map(|line| line.now as f64 / 1e9).collect();
        let apart: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(times.len() >= 5 && times.len() < 12, "{times:?}");
        assert!(apart.windows(2).skip(1).take(2).all(|pair| pair[1] > pair[0] * 1.3), "{apart:?}");
    }
}

/// Two seats of one process, on one connection.
struct Two;

impl AnyPart for Two {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (mine, theirs) = (format!("seat-of-{name}"), format!("seat-of-{}", if name == "n1" { "n2" } else { "n1" }));
        if name == "n3" {
            return;
        }
        let ttl = Duration::from_secs_f64(here().ttl);
        let mine = fencepost_seat::Seat::new(backend.clone(), &mine).ttl(ttl).member(name).unwrap();
        let theirs = fencepost_seat::Seat::new(backend, &theirs).ttl(ttl).member(name).unwrap();
        let _mine = mine.campaign().await;
        println!("{name} has its own");
        sleep_s(1.0).await;
        let _theirs = theirs.campaign().await;
        println!("{name} has both");
        pending::<()>().await;
    }
}

#[test]
fn seats_share_a_connection_and_nothing_else() {
    for service in served() {
        let kill = Fault::Kill { node: node("n2"), restart_after_ms: None };
        let lines = lines_with(service, || play_any(Two), vec![(10.0, kill)]);
        println!("{}:{}", service.name, all(&lines));
        assert!(at(&lines, "n1 has its own") < 2.0 && at(&lines, "n2 has its own") < 2.0);
        let both = at(&lines, "n1 has both");
        let figures = figures(service.name);
        // A session ends with its process, and its lock with it.
        let least = if service.name == POSTGRES_LOCK.name { 0.0 } else { figures.ttl / 2.0 };
        assert!((10.0 + least..10.0 + figures.lease + HANDOFF_S).contains(&both), "{both}");
        assert!(find(&lines, "n2 has both").is_none());
    }
}
