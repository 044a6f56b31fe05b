//! A seat whose former work has not stopped, and one that two callers of a process share.

use crate::world::{
    AnyPart, HANDOFF_S, all, all_services, at, figures, find, lines, play_any, served, settings, sleep_s, until_s,
};
use fencepost_seat::Backend;
use std::{future::pending, time::Duration};
use tokio::time::{Instant, timeout};

/// n1 serves again although a thread of its first leadership is still at work.
struct ServesAgain;

impl AnyPart for ServesAgain {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let seat = settings(backend).stop_within(Duration::from_millis(500)).member(name).unwrap();
        let first = seat.serve(async |lead| {
            lead.spawn_blocking(|| {
                std::thread::sleep(Duration::from_secs(15));
                println!("n1's thread has ended");
            });
            sleep_s(1.0).await;
            Ok::<_, String>(())
        });
        println!("n1: {:?}", first.await);
        // A caller that gives up waiting does not let the next one through.
        println!("n1 gives up: {}", timeout(Duration::from_secs(2), seat.campaign()).await.is_err());
        let second = seat.serve(async |_| {
            println!("n1 leads again");
            Ok::<_, String>(())
        });
        println!("n1, again: {:?}", second.await);
    }
}

#[test]
fn nobody_leads_again_beside_what_its_last_leadership_has_left_running() {
    for service in all_services() {
        let lines = lines(service, || play_any(ServesAgain));
        println!("{}:{}", service.name, all(&lines));
        let (stopped, again) = (at(&lines, "n1's thread has ended"), at(&lines, "n1 leads again"));
        assert!(at(&lines, "n1: Ok(UncleanStop)") < stopped && at(&lines, "n1 gives up: true") < stopped);
        // What is left of the lease runs out meanwhile, unless whoever comes watches it for as long.
        let lease = figures(service.name).lease;
        assert!((stopped..stopped + lease + HANDOFF_S).contains(&again), "{again}");
        at(&lines, "n1, again: Ok(Resigned)");
    }
}

/// n1's work fails, and a thread of it goes on.
struct FailsAndGoesOn;

impl AnyPart for FailsAndGoesOn {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let format = tracing_subscriber::fmt().without_time().with_ansi(false).with_target(false);
        tracing::subscriber::set_global_default(format.finish()).unwrap();
        let seat = settings(backend).stop_within(Duration::from_millis(500)).hold_down(Duration::from_secs(12));
        let seat = seat.member(name).unwrap();
        let fails = seat.serve(async |lead| {
            lead.spawn_blocking(|| std::thread::sleep(Duration::from_secs(2)));
            sleep_s(1.0).await;
            Err::<(), _>("the disk is full")
        });
        println!("n1: {:?}", fails.await);
        let _term = seat.campaign().await;
        println!("n1 leads again");
        pending::<()>().await;
    }
}

#[test]
fn an_error_of_work_that_does_not_stop_is_logged_and_keeps_its_member_away() {
    // Where the lease runs out before that.
    for service in served().filter(|service| figures(service.name).lease <= 8.0) {
        let lines = lines(service, || play_any(FailsAndGoesOn));
        println!("{}:{}", service.name, all(&lines));
        let unclean = at(&lines, "n1: Ok(UncleanStop)");
        let says = |line: &&sim::program::Line| {
            line.text.contains("the work has failed") && line.text.contains("error=the disk is full")
        };
        assert!(lines.iter().any(|line| says(&line)), "nobody learns why");
        let away = at(&lines, "n1 leads again") - unclean;
        let lease = figures(service.name).lease;
        assert!((11.9..12.0 + lease + HANDOFF_S).contains(&away), "{away}");
    }
}

/// n1 leads by a term, and serves the same seat, which is shut down meanwhile.
struct LeadsByHandToo;

impl AnyPart for LeadsByHandToo {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        let term = seat.campaign().await;
        println!("n1 leads");
        let serves = async {
            let serving = seat.serve_until(until_s(began, 4.0), async |_| {
                println!("n1 serves");
                pending::<Result<(), String>>().await
            });
            println!("n1 has ended: {:?}", timeout(Duration::from_secs(20), serving).await);
        };
        let by_hand = async {
            let asked = timeout(Duration::from_secs(8), term.lead().resigning()).await;
            println!("n1's term is asked to finish: {}", asked.is_ok());
            term.finish().await;
        };
        tokio::join!(serves, by_hand);
    }
}

#[test]
fn a_shutdown_is_for_what_serves_and_not_for_another_term_of_the_seat() {
    for service in all_services() {
        let lines = lines(service, || play_any(LeadsByHandToo));
        println!("{}:{}", service.name, all(&lines));
        let ended = at(&lines, "n1 has ended: Ok(Resigned)");
        assert!((3.9..4.1).contains(&ended), "{ended}");
        at(&lines, "n1's term is asked to finish: false");
        assert!(find(&lines, "n1 serves").is_none());
    }
}
