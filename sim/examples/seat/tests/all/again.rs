//! One seat that is led more than once, and what does not reach from one leadership into the next.

use crate::world::{
    AnyPart, HANDOFF_S, Part, SERVICES, all, all_services, at, find, here, lines, play, play_any, served, settings,
    sleep_s, successor, until_s,
};
use fencepost_seat::{Backend, Ended, Fenced};
use std::{cell::RefCell, future::pending, time::Duration};
use tokio::time::{Instant, timeout};

struct Tokens;

impl Part for Tokens {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (seat, mut before) = (settings(backend).member(name).unwrap(), 0);
        for round in 1..=3 {
            let term = seat.campaign().await;
            println!("n1's token {round} is higher: {}", term.lead().token() > before);
            before = term.lead().token();
            println!("n1: {:?}", term.finish().await);
        }
    }
}

#[test]
fn each_leadership_has_a_higher_token() {
    for service in SERVICES {
        let lines = lines(service, || play(Tokens));
        println!("{}:{}", service.name, all(&lines));
        for round in 1..=3 {
            at(&lines, &format!("n1's token {round} is higher: true"));
        }
    }
}

struct AskedOnce;

impl AnyPart for AskedOnce {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            "n1" => {
                let resigner = seat.resigner();
                let asks = tokio::spawn(async move {
                    until_s(began, 3.0).await;
                    resigner.resign();
                    // n2 leads, and n1 stands behind it.
                    until_s(began, 8.0).await;
                    resigner.resign();
                });
                let first = seat.serve(async |lead| {
                    lead.resigning().await;
                    Ok::<_, String>(())
                });
                println!("n1: {:?}", first.await);
                let again = seat.serve(async |lead| {
                    let asked = timeout(Duration::from_secs(4), lead.resigning()).await;
                    println!("n1 is asked again: {}", asked.is_ok());
                    Ok::<_, String>(())
                });
                println!("n1, again: {:?}", again.await);
                asks.await.unwrap();
            }
            "n2" => {
                until_s(began, 1.0).await;
                let term = seat.campaign().await;
                println!("n2 leads");
                until_s(began, 12.0).await;
                term.finish().await;
            }
            _ => {}
        }
    }
}

#[test]
fn a_request_to_resign_is_for_the_leadership_of_that_moment() {
    for service in all_services() {
        let lines = lines(service, || play_any(AskedOnce));
        println!("{}:{}", service.name, all(&lines));
        assert!((3.0..3.2).contains(&at(&lines, "n1: Ok(Resigned)")));
        assert!(at(&lines, "n2 leads") < 3.0 + HANDOFF_S);
        let again = at(&lines, "n1 is asked again: false");
        assert!((16.0..16.0 + HANDOFF_S).contains(&again), "{again}");
    }
}

struct Generous;

impl AnyPart for Generous {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).member(name).unwrap();
        loop {
            let work = async |_: &_| {
                println!("n1 leads");
                sleep_s(3.0).await;
                Ok::<_, String>(())
            };
            println!("n1: {:?}", seat.serve(work).await);
        }
    }
}

#[test]
fn who_has_resigned_lets_others_go_first() {
    for service in all_services() {
        let lines = lines(service, || play_any(Generous));
        println!("{}:{}", service.name, all(&lines));
        assert!((0.0..HANDOFF_S).contains(&(at(&lines, "n2 leads") - at(&lines, "n1: Ok(Resigned)"))));
        assert_eq!(lines.iter().filter(|line| line.text == "n1 leads").count(), 1);
    }
}

struct TwoAtOnce;

impl AnyPart for TwoAtOnce {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let seat = settings(backend).hold_down(Duration::from_secs(8)).member(name).unwrap();
        let first = async {
            let fails = seat.serve(async |_| {
                sleep_s(3.0).await;
                Err::<(), _>("the disk is full")
            });
            println!("n1: {:?}", fails.await);
        };
        let second = async {
            sleep_s(1.0).await;
            let _term = seat.campaign().await;
            println!("n1 leads again");
            pending::<()>().await;
        };
        tokio::join!(first, second);
    }
}

#[test]
fn two_campaigns_of_a_seat_take_turns_and_keep_away_together() {
    for service in all_services() {
        let lines = lines(service, || play_any(TwoAtOnce));
        println!("{}:{}", service.name, all(&lines));
        let again = at(&lines, "n1 leads again") - at(&lines, "n1: Err(\"the disk is full\")");
        assert!((7.9..8.0 + HANDOFF_S).contains(&again), "{again}");
    }
}

struct Recovers;

impl Part for Recovers {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let seat = settings(backend).member(name).unwrap();
        for round in 1..=7 {
            let ended = seat.serve(async |lead| {
                // Its resource is well in the sixth leadership, and in no other.
                if round != 6 {
                    lead.refused();
                    pending::<()>().await;
                }
                Ok::<_, String>(())
            });
            println!("n1, round {round}: {:?}", ended.await);
        }
        println!("n1, at last: {:?}", seat.serve(async |_| Ok::<_, String>(())).await);
    }
}

#[test]
fn who_is_refused_after_it_has_led_well_waits_no_longer_than_the_first_time() {
    for service in SERVICES {
        let lines = lines(service, || play(Recovers));
        println!("{}:{}", service.name, all(&lines));
        let long = at(&lines, "n1, round 6: Ok(Resigned)") - at(&lines, "n1, round 5: Ok(Refused)");
        let short = at(&lines, "n1, at last: Ok(Resigned)") - at(&lines, "n1, round 7: Ok(Refused)");
        assert!(long > 3.9 && short < HANDOFF_S, "{long} {short}");
    }
}

struct Outlives;

impl AnyPart for Outlives {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (seat, kept) = (settings(backend).member(name).unwrap(), RefCell::new(None));
        let ended = seat.serve(async |lead| {
            *kept.borrow_mut() = Some(lead.clone());
            sleep_s(5.0).await;
            let remaining = lead.remaining();
            // A renewal was sent half a lease ago at most, and the margin is a tenth of the lease.
            let belief = here().belief;
            println!("n1 has time: {}", (belief * 0.44..=belief).contains(&remaining.as_secs_f64()));
            Ok::<_, String>(())
        });
        assert_eq!(ended.await, Ok(Ended::Resigned));
        let lead = kept.take().unwrap();
        println!("n1: {:?} with {:?} left, {:?}", lead.check(), lead.remaining(), lead.ended().await);
    }
}

#[test]
fn a_handle_that_outlives_its_leadership_says_that_it_is_over() {
    for service in served() {
        let lines = lines(service, || play_any(Outlives));
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1 has time: true");
        let over = at(&lines, "n1: Err(Resigned) with 0ns left, Resigned");
        assert!((5.0..5.5).contains(&over), "{over}");
    }
}

struct ShutDown;

impl AnyPart for ShutDown {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            "n1" => {
                let term = seat.campaign().await;
                until_s(began, 8.0).await;
                println!("n1: {:?}", term.finish().await);
            }
            "n2" => {
                until_s(began, 1.0).await;
                seat.serve_until(until_s(began, 4.0), async |_| pending::<Result<(), String>>().await).await;
                println!("n2 has ended");
            }
            _ => {
                until_s(began, 2.0).await;
                let _term = seat.campaign().await;
                println!("n3 leads");
                pending::<()>().await;
            }
        }
    }
}

#[test]
fn who_is_shut_down_while_it_waits_ends_at_once_and_is_not_in_the_way() {
    for service in all_services() {
        let lines = lines(service, || play_any(ShutDown));
        println!("{}:{}", service.name, all(&lines));
        assert!((3.9..4.1).contains(&at(&lines, "n2 has ended")));
        assert!((0.0..HANDOFF_S).contains(&(at(&lines, "n3 leads") - at(&lines, "n1: Resigned"))));
        assert!(find(&lines, "n2 leads").is_none());
    }
}
