//! A lease that goes to a named successor, and shards that go to whom they belong to.

use crate::world::{
    HANDOFF_S, Part, SERVICES, all, at, figures, find, here, lines, play, settings, sleep_s, tokened, until_s,
};
use fencepost_seat::{Backend, Etcd, Fenced, Redis, Seat};
use std::{env, future::pending, time::Duration};
use tokio::time::Instant;

const NAMES: [&str; 3] = ["n1", "n2", "n3"];
/// Whose leaders can choose their successor.
const CHOOSE: [&str; 2] = ["etcd", "redis"];

/// n1 leads, n2 stands behind it and n3 behind n2; n1 hands over to this one.
struct HandsOver(&'static str);

impl Part for HandsOver {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let drain = Duration::from_secs_f64(2.0 * here().ttl);
        let (began, seat) = (Instant::now(), settings(backend).drain(drain).members(NAMES).member(name).unwrap());
        match name {
            "n1" => {
                let resigner = seat.resigner();
                let asks = async {
                    until_s(began, 4.0).await;
                    resigner.resign_to(self.0);
                };
                let works = seat.serve(async |lead| {
                    lead.resigning().await;
                    // Longer than a lease.
                    sleep_s(here().ttl + 1.0).await;
                    println!("n1 has finished: {:?}", lead.check());
                    Ok::<_, String>(())
                });
                println!("n1: {:?}", tokio::join!(asks, works).1);
            }
            _ => {
                until_s(began, if name == "n2" { 0.8 } else { 1.6 }).await;
                let term = seat.campaign().await;
                println!("{name} leads: {:?}", term.lead().check());
                sleep_s(1.0).await;
                println!("{name}: {}", term.finish().await);
            }
        }
    }
}

#[test]
fn a_named_successor_leads_before_who_came_first() {
    for service in tokened() {
        let lines = lines(service, || play(HandsOver("n3")));
        println!("{}:{}", service.name, all(&lines));
        let finished = at(&lines, "n1 has finished: Ok(())");
        let [second, third] = ["n2", "n3"].map(|name| at(&lines, &format!("{name} leads: Ok(())")));
        assert!(second.min(third) - finished < HANDOFF_S);
        assert!(at(&lines, "n1: Ok(Resigned)") - finished < 1.0);
        if CHOOSE.contains(&service.name) {
            assert!(third < second, "n2 leads before the successor");
        }
    }
}

#[test]
fn without_such_a_member_whoever_comes_first_leads() {
    for service in tokened() {
        let lines = lines(service, || play(HandsOver("n9")));
        println!("{}:{}", service.name, all(&lines));
        let finished = at(&lines, "n1 has finished: Ok(())");
        let [second, third] = ["n2", "n3"].map(|name| at(&lines, &format!("{name} leads: Ok(())")));
        assert!(second.min(third) - finished < HANDOFF_S);
    }
}

#[test]
fn who_is_to_hand_over_to_itself_leads_on() {
    for service in tokened() {
        let lines = lines(service, || play(HandsOver("n1")));
        println!("{}:{}", service.name, all(&lines));
        for line in ["n1 has finished: Ok(())", "n2 leads: Ok(())", "n3 leads: Ok(())"] {
            assert_eq!(find(&lines, line), None);
        }
    }
}

/// n3 does not stand.
struct ToWhoIsGone;

impl Part for ToWhoIsGone {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        match name {
            "n3" => {}
            _ => HandsOver("n3").play(name, backend).await,
        }
    }
}

#[test]
fn a_successor_that_is_gone_delays_the_next_by_a_lease_at_most() {
    for service in SERVICES {
        let lines = lines(service, || play(ToWhoIsGone));
        println!("{}:{}", service.name, all(&lines));
        let next = at(&lines, "n2 leads: Ok(())") - at(&lines, "n1 has finished: Ok(())");
        // In Redis, nobody knows who waits: the key is n3's for a lease.
        let kept = if service.name == "redis" { figures(service.name).lease } else { 0.0 };
        assert!(next < kept + HANDOFF_S, "{next}");
    }
}

const SHARDS: u16 = 6;

/// n1 comes first and leads all shards, until it hears of the others.
struct Shards;

impl Part for Shards {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let began = Instant::now();
        until_s(began, if name == "n1" { 0.0 } else { 2.0 }).await;
        let seats = settings(backend).drain(Duration::from_secs(2)).members(NAMES).shards(SHARDS, name).unwrap();
        let work = async |shard, lead: &fencepost_seat::Lead<_>| {
            println!("{name} leads {shard}");
            lead.resigning().await;
            println!("{name} finishes {shard}");
            Ok::<_, String>(())
        };
        let rebalances = async {
            // n3 is there, but nobody has heard of it.
            until_s(began, 6.0).await;
            seats.rebalance(|name| name != "n3");
            until_s(began, 9.0).await;
            for shard in 0..SHARDS {
                println!("{name}: {shard} is of {}", seats.owner(shard, |_| true));
            }
            seats.rebalance(|_| true);
            // Once more, and nothing changes.
            until_s(began, 12.0).await;
            seats.rebalance(|_| true);
            pending::<()>().await;
        };
        let serves = seats.serve_until(until_s(began, 16.0), work);
        tokio::select! {
            why = serves => println!("{name}: {why}"),
            () = rebalances => {}
        }
    }
}

#[test]
fn shards_go_to_their_owners_and_stay_there() {
    for service in tokened().into_iter().filter(|service| CHOOSE.contains(&service.name)) {
        let lines = lines(service, || play(Shards));
        println!("{}:{}", service.name, all(&lines));
        let mut owned = [0; NAMES.len()];
        for shard in 0..SHARDS {
            assert!(at(&lines, &format!("n1 leads {shard}")) < 2.0);
            let owner = (0..NAMES.len())
                .find(|n| find(&lines, &format!("{}: {shard} is of {}", NAMES[*n], NAMES[*n])).is_some());
            let owner = owner.expect("an owner");
            owned[owner] += 1;
            // All members say the same.
            for name in NAMES {
                at(&lines, &format!("{name}: {shard} is of {}", NAMES[owner]));
            }
            let from = if owner == 2 { 9.0 } else { 6.0 };
            let leads = at(&lines, &format!("{} leads {shard}", NAMES[owner]));
            assert!(owner == 0 || (from..from + HANDOFF_S).contains(&leads), "{shard} is led at {leads}");
            // Nobody else has it until all are asked to end.
            if owner != 2 {
                let other = NAMES[if owner == 0 { 1 } else { 2 }];
                let other = find(&lines, &format!("{other} leads {shard}"));
                assert!(other.is_none_or(|at| at >= 16.0), "{shard} is led at {other:?}, too");
            }
            let finishes = at(&lines, &format!("{} finishes {shard}", NAMES[owner]));
            assert!(
                if owner == 0 { finishes >= 16.0 } else { finishes > 15.0 },
                "{shard} changes its leader at {finishes}"
            );
        }
        assert!(owned.iter().all(|owned| *owned > 0), "{owned:?}: somebody has nothing to do");
        for name in NAMES {
            at(&lines, &format!("{name}: resigned"));
        }
    }
}

/// The work of n1's first shard does not stop.
struct Stuck;

impl Part for Stuck {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let none = settings(backend.clone()).shards(0, name).unwrap_err();
        println!("n1: {none}");
        let seats = settings(backend).stop_within(Duration::from_secs(1)).shards(3, name).unwrap();
        let work = async |shard, lead: &fencepost_seat::Lead<_>| {
            println!("n1 leads {shard}");
            match shard {
                0 => {
                    sleep_s(3.0).await;
                    lead.spawn_blocking(|| std::thread::sleep(Duration::from_secs(60)));
                    // It has begun.
                    sleep_s(0.1).await;
                }
                _ => {
                    lead.resigning().await;
                    println!("n1 finishes {shard}");
                }
            }
            Ok::<_, String>(())
        };
        println!("n1: {}", seats.serve_until(pending(), work).await);
    }
}

#[test]
fn who_does_not_stop_in_one_shard_lets_go_of_the_others() {
    for service in SERVICES {
        let lines = lines(service, || play(Stuck));
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1: a fleet of no shards has nothing to lead: use at least one");
        let ended = at(&lines, "n1: the work did not stop cleanly");
        // A second after the work has ended.
        assert!((4.0..5.0).contains(&(ended - at(&lines, "n1 leads 0"))), "{ended}");
        for shard in 1..3 {
            assert!((0.0..0.5).contains(&(ended - at(&lines, &format!("n1 finishes {shard}")))));
        }
    }
}

#[tokio::main]
pub async fn on_etcd() -> Result<(), seat::Error> {
    charges_and_hands_over(Etcd::connect(["http://etcd:2379"])?).await
}

#[tokio::main]
pub async fn on_redis() -> Result<(), seat::Error> {
    charges_and_hands_over(Redis::connect("redis://redis:6379")?).await
}

/// The example's service, whose leader hands over to the next member every three seconds.
async fn charges_and_hands_over(backend: impl Backend<Fencing = Fenced>) -> Result<(), seat::Error> {
    let name = env::var("HOSTNAME")?;
    let seat = Seat::new(backend, "invoices").ttl(Duration::from_secs(3)).members(NAMES).member(&name)?;
    let (resigner, own) = (seat.resigner(), NAMES.iter().position(|other| *other == name).expect("a member"));
    seat.serve_until(pending(), async |lead| {
        println!("{name}: leads with token {}", lead.token());
        let _told = seat::Tells(&name);
        let charged = tokio::time::timeout(Duration::from_secs(3), seat::charge_all(&name, lead)).await;
        resigner.resign_to(NAMES[(own + 1) % NAMES.len()]);
        charged.unwrap_or(Ok(()))
    })
    .await;
    Err("the work did not stop".into())
}
