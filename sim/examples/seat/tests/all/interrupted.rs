//! What does not end a leadership, what does, and what must not begin one.

use crate::world::{
    AnyPart, HANDOFF_S, POSTGRES_LOCK, Part, REDLOCK, SERVICES, TTL_S, all, all_services, at, figures, find, here,
    lines, lines_with, node, play, play_any, play_on_one_thread, served, settings, sleep_s, successor, until_s,
};
use fencepost_seat::{Backend, Fenced, Seat};
use protocols::service::{etcd, kubernetes};
use scenarios::fault::{Fault, Who};
use std::{
    future::{pending, poll_fn, ready},
    pin::pin,
    task::Poll,
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// n1 serves for ever, and nobody else does.
struct ServesAlone {
    /// Of the lease.
    ttl_s: f64,
}

impl AnyPart for ServesAlone {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let seat = settings(backend).ttl(Duration::from_secs_f64(self.ttl_s)).member(name).unwrap();
        loop {
            let ended = seat.serve(async |_| {
                println!("n1 leads");
                pending::<Result<(), String>>().await
            });
            println!("n1: {:?}", ended.await);
        }
    }
}

#[test]
fn a_service_that_is_restarted_at_once_costs_no_leadership() {
    // A session ends with its server.
    for service in served().filter(|service| service.name != POSTGRES_LOCK.name) {
        let kill = |at_s| (at_s, Fault::Kill { node: Who::Service, restart_after_ms: Some(200.0) });
        let lines =
            lines_with(service, || play_any(ServesAlone { ttl_s: TTL_S }), vec![kill(8.0), kill(16.3), kill(24.6)]);
        println!("{}:{}", service.name, all(&lines));
        assert_eq!(lines.len(), 1, "n1 leads on");
    }
}

#[test]
fn a_connection_that_hangs_costs_no_leadership() {
    // A session has one connection.
    for service in served().filter(|service| service.name != POSTGRES_LOCK.name) {
        // An idle connection is asked for a sign of life every five seconds, and closed after two: etcd allows no more.
        let main = || play_any(ServesAlone { ttl_s: 15.0 });
        let hang = Fault::Hang { from: vec![node("n1")], to: vec![Who::Service], for_ms: None };
        let lines = lines_with(service, main, vec![(8.0, hang)]);
        println!("{}:{}", service.name, all(&lines));
        assert_eq!(lines.len(), 1, "n1 leads on");
    }
}

#[test]
fn a_lease_that_the_service_has_forgotten_is_lost() {
    // On Kubernetes the leader writes its Lease again, as client-go's does, and on Redlock its keys.
    let again = ["kubernetes", REDLOCK.name];
    for service in served().filter(|service| !again.contains(&service.name)) {
        let lost = Fault::LoseData { node: Who::Service, restart_after_ms: Some(100.0) };
        let lines = lines_with(service, || play_any(ServesAlone { ttl_s: TTL_S }), vec![(8.0, lost)]);
        println!("{}:{}", service.name, all(&lines));
        // A server of ZooKeeper turns away whoever has seen more than it has: nobody tells the leader.
        let why = if service.name == "zookeeper" { "n1: Ok(Expired)" } else { "n1: Ok(Lost)" };
        let ended = at(&lines, why);
        assert!(ended < 8.0 + figures(service.name).ttl, "{ended}: it knows before the lease would have run out");
    }
}

/// n1's only thread is held up for longer than its lease lasts, so nothing can have told it.
struct IsHeldUp;

impl AnyPart for IsHeldUp {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let seat = settings(backend).member(name).unwrap();
        let ended = seat.serve(async |lead| {
            sleep_s(4.0).await;
            std::thread::sleep(Duration::from_secs_f64(here().ttl + 2.0));
            println!("n1 believes: {}, for {:?}", lead.check().is_ok(), lead.remaining());
            let mut waited = false;
            poll_fn(|context| {
                // Before anything else runs.
                context.waker().wake_by_ref();
                if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            println!("n1 begins another step");
            Ok::<_, String>(())
        });
        println!("n1: {:?}", ended.await);
    }
}

#[test]
fn a_leader_that_was_held_up_knows_it_before_its_next_step() {
    for service in all_services() {
        let lines = lines(service, || play_on_one_thread(IsHeldUp));
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1 believes: false, for 0ns");
        assert!(find(&lines, "n1 begins another step").is_none());
        at(&lines, "n1: Ok(Expired)");
    }
}

/// The same, and it waits for the end beside its work.
struct WaitsForTheEnd;

impl AnyPart for WaitsForTheEnd {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let seat = settings(backend).member(name).unwrap();
        let term = seat.campaign().await;
        let lead = term.lead().clone();
        let mut ended = pin!(lead.ended());
        tokio::select! {
            biased;
            why = &mut ended => println!("n1 is over too early: {why:?}"),
            () = sleep_s(4.0) => {}
        }
        std::thread::sleep(Duration::from_secs_f64(here().ttl + 2.0));
        tokio::select! {
            biased;
            why = &mut ended => println!("n1 is told: {why:?}"),
            () = ready(()) => println!("n1 begins another step"),
        }
        println!("n1: {:?}", term.finish().await);
    }
}

#[test]
fn who_waits_for_the_end_is_told_before_its_next_step() {
    for service in all_services() {
        let lines = lines(service, || play_on_one_thread(WaitsForTheEnd));
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1 is told: Expired");
        at(&lines, "n1: Expired");
        assert_eq!(lines.len(), 2);
    }
}

/// n1's only thread is held up while a renewal is under way, whose answer is there when the belief is over by the clock.
struct IsRenewedLate {
    from_s: f64,
}

impl AnyPart for IsRenewedLate {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let began = Instant::now();
        let seat = settings(backend).ttl(Duration::from_secs(15)).member(name).unwrap();
        let term = seat.campaign().await;
        until_s(began, self.from_s).await;
        std::thread::sleep(Duration::from_secs(9));
        let told = term.lead().check();
        sleep_s(0.5).await;
        println!("n1 is told: {told:?}, then {:?}", term.lead().check());
    }
}

/// What it says beside a service whose answers take three seconds: its belief of 12.5 s is renewed every four.
fn renewed_late(main: impl Fn() + Copy + 'static) -> String {
    let slow = Fault::Latency { from: vec![Who::Service], to: vec![node("n1")], extra_us: 3_000_000, for_ms: None };
    all(&lines_with(&kubernetes::SERVICE, main, vec![(4.0, slow)]))
}

#[test]
fn a_belief_that_is_over_does_not_come_back() {
    let told = [
        renewed_late(|| play_on_one_thread(IsRenewedLate { from_s: 20.0 })),
        renewed_late(|| play_on_one_thread(IsRenewedLate { from_s: 21.0 })),
        renewed_late(|| play_on_one_thread(IsRenewedLate { from_s: 22.0 })),
    ];
    println!("{}", told.concat());
    assert!(told.iter().any(|told| told.contains("n1 is told: Err(Expired)")), "no belief was over");
    for told in told {
        assert!(!told.contains("n1 is told: Err(Expired), then Ok(())"), "{told}");
    }
}

/// n1 is refused while a thread of its own works on.
struct IsRefusedAndGoesOn;

impl Part for IsRefusedAndGoesOn {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).stop_within(Duration::from_secs(20)).member(name).unwrap();
        let ended = seat.serve(async |lead| {
            let _task = lead.spawn_blocking(|| std::thread::sleep(Duration::from_secs(15)));
            sleep_s(4.0).await;
            println!("n1 is refused");
            lead.refused();
            pending::<Result<(), String>>().await
        });
        println!("n1: {:?}", ended.await);
    }
}

#[test]
fn a_lease_is_renewed_until_all_has_stopped_even_after_a_refusal() {
    for service in SERVICES {
        let lines = lines(service, || play(IsRefusedAndGoesOn));
        println!("{}:{}", service.name, all(&lines));
        let stopped = at(&lines, "n1: Ok(Refused)");
        assert!((15.0..15.5).contains(&stopped), "it waits for its thread");
        let handoff = at(&lines, "n2 leads") - stopped;
        assert!((0.0..HANDOFF_S).contains(&handoff), "{handoff}: nobody leads beside that thread");
    }
}

/// All stand in etcd's queue, and n1 lets go of its place in time for n2 to win shortly before a keepalive is due.
struct Queue;

impl Part for Queue {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        let place = match name {
            "n1" => 0.0,
            "n2" => 1.0,
            _ => 2.0,
        };
        until_s(began, place).await;
        let term = seat.campaign().await;
        println!("{name} leads");
        if name == "n1" {
            until_s(began, 8.4).await;
            term.finish().await;
        } else {
            println!("{name} leads no more: {}", term.lead().ended().await);
        }
    }
}

#[test]
fn a_lease_does_not_begin_anew_when_it_wins() {
    let cut = Fault::Partition { from: vec![node("n2")], to: vec![Who::Service], one_way: false, for_ms: None };
    let lines = lines_with(&etcd::SERVICE, || play(Queue), vec![(8.5, cut)]);
    println!("{}", all(&lines));
    assert!((8.4..8.5).contains(&at(&lines, "n2 leads")));
    let ended = at(&lines, "n2 leads no more: the lease could not be renewed in time");
    assert!(ended < 8.5 + TTL_S * 0.5, "{ended}: its last keepalive was sent more than a second before");
    assert!(at(&lines, "n3 leads") > ended + TTL_S * 0.09);
}

/// Two processes that have been given one name.
struct Namesakes;

impl AnyPart for Namesakes {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member("n").unwrap());
        match name {
            "n1" => {
                let term = seat.campaign().await;
                println!("n1 leads");
                println!("n1 leads no more: {}", term.lead().ended().await);
            }
            "n2" => {
                until_s(began, 1.0).await;
                assert!(timeout(Duration::from_secs(1), seat.campaign()).await.is_err());
                // Its first request is answered, and the answer is lost: it cleans up what may have come of it.
                until_s(began, 4.0).await;
                println!("n2 leads: {}", timeout(Duration::from_secs(10), seat.campaign()).await.is_ok());
            }
            _ => {}
        }
    }
}

#[test]
fn who_has_the_same_name_does_not_take_the_lease_for_its_own() {
    for service in served() {
        let (from, to) = (vec![Who::Service], vec![node("n2")]);
        let deaf = Fault::Partition { from, to, one_way: true, for_ms: Some(2_000.0) };
        let lines = lines_with(service, || play_any(Namesakes), vec![(3.5, deaf)]);
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1 leads");
        assert!((13.9..14.2).contains(&at(&lines, "n2 leads: false")));
        assert_eq!(lines.len(), 2);
    }
}

/// One seat's name is the beginning of the other's.
struct LongerNames;

impl AnyPart for LongerNames {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let seat = match name {
            "n1" => "invoices-2",
            "n2" => "invoices",
            _ => return,
        };
        let began = Instant::now();
        let seat = Seat::new(backend, seat).ttl(Duration::from_secs_f64(TTL_S)).member("n").unwrap();
        until_s(began, if name == "n1" { 0.0 } else { 2.0 }).await;
        let _term = seat.campaign().await;
        println!("{name} leads");
        pending::<()>().await;
    }
}

#[test]
fn a_seat_whose_name_begins_like_anothers_is_another_seat() {
    for service in served() {
        let lines = lines(service, || play_any(LongerNames));
        println!("{}:{}", service.name, all(&lines));
        assert!(at(&lines, "n1 leads") < 1.0 && at(&lines, "n2 leads") < 3.0);
    }
}

/// n2 waits behind n1, and looks at the seat's status.
struct Looks;

impl AnyPart for Looks {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).members(["n1", "n2"]).member(name).unwrap());
        let looks = async {
            for second in [6.0, 14.0, 22.0] {
                until_s(began, second).await;
                let status = seat.status();
                println!("{name} at {second}: {} {:?} {}", status.leads, status.leader, status.failing.is_some());
            }
        };
        match name {
            "n1" => drop(tokio::join!(looks, seat.serve(async |_| pending::<Result<(), String>>().await))),
            "n2" => {
                until_s(began, 2.0).await;
                let _ = tokio::join!(looks, seat.campaign());
            }
            _ => {}
        }
    }
}

#[test]
fn the_status_names_the_leader_and_says_whether_the_service_answers() {
    for service in served() {
        let cut =
            Fault::Partition { from: vec![node("n2")], to: vec![Who::Service], one_way: false, for_ms: Some(8_000.0) };
        let lines = lines_with(service, || play_any(Looks), vec![(8.0, cut)]);
        println!("{}:{}", service.name, all(&lines));
        for second in [6, 14, 22] {
            at(&lines, &format!("n1 at {second}: true Some(\"n1\") false"));
            if second != 14 {
                // A lock does not say who has it.
                let leader = if service.name == POSTGRES_LOCK.name { "None" } else { "Some(\"n1\")" };
                at(&lines, &format!("n2 at {second}: false {leader} false"));
            }
        }
        let cut_off = lines.iter().find(|line| line.text.starts_with("n2 at 14: false"));
        assert!(cut_off.is_some_and(|line| line.text.ends_with("true")));
    }
}
