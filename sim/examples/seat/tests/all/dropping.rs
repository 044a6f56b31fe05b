//! What is dropped leaves nothing behind.

use crate::world::{
    AnyPart, HANDOFF_S, all, all_services, at, lines, lines_with, node, play_any, served, settings, sleep_s, until_s,
};
use fencepost_seat::Backend;
use scenarios::fault::{Fault, Who};
use std::{future::pending, time::Duration};
use tokio::time::{Instant, timeout};

struct GivesUp;

impl AnyPart for GivesUp {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            // It leads, and lets go after both others have asked.
            "n1" => {
                let term = seat.campaign().await;
                // Sooner than the lease of the one that gives up would run out.
                until_s(began, 5.5).await;
                println!("n1: {:?}", term.finish().await);
            }
            // It queues before n3, and gives up.
            "n2" => {
                until_s(began, 4.2).await;
                assert!(timeout(Duration::from_millis(800), seat.campaign()).await.is_err());
                println!("n2 gives up");
            }
            _ => {
                until_s(began, 4.6).await;
                let _term = seat.campaign().await;
                println!("n3 leads");
                pending::<()>().await;
            }
        }
    }
}

#[test]
fn who_gives_up_a_campaign_is_not_in_the_way() {
    for service in all_services() {
        let lines = lines(service, || play_any(GivesUp));
        println!("{}:{}", service.name, all(&lines));
        assert!((4.9..5.1).contains(&at(&lines, "n2 gives up")));
        let handoff = at(&lines, "n3 leads") - at(&lines, "n1: Resigned");
        assert!((0.0..HANDOFF_S).contains(&handoff), "{handoff}");
    }
}

struct GivesUpAnywhere;

impl AnyPart for GivesUpAnywhere {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            // Whatever is under way.
            "n1" => {
                for tenths in (1..400).cycle() {
                    drop(timeout(Duration::from_micros(tenths * 100), seat.campaign()).await);
                    if began.elapsed() > Duration::from_secs(4) {
                        break;
                    }
                }
                println!("n1 gives up");
            }
            "n2" => {
                until_s(began, 4.2).await;
                let _term = seat.campaign().await;
                println!("n2 leads after {} ms", (began.elapsed() - Duration::from_millis(4_200)).as_millis());
                pending::<()>().await;
            }
            _ => {}
        }
    }
}

#[test]
fn a_campaign_can_be_dropped_anywhere() {
    for service in all_services() {
        let lines = lines(service, || play_any(GivesUpAnywhere));
        println!("{}:{}", service.name, all(&lines));
        let gave_up = at(&lines, "n1 gives up");
        assert!((4.0..4.2).contains(&gave_up), "{gave_up}");
        let waited = lines.iter().find_map(|line| line.text.strip_prefix("n2 leads after ")?.strip_suffix(" ms"));
        let waited: u64 = waited.expect("n2 leads").parse().unwrap();
        // A lease that was left behind would last for three seconds.
        assert!(waited < 1_600, "{waited} ms");
    }
}

struct GivesUpAsking;

impl AnyPart for GivesUpAsking {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            "n1" => {
                // It has a connection, and asks at once.
                seat.campaign().await.finish().await;
                until_s(began, 2.0).await;
                assert!(timeout(Duration::from_millis(150), seat.campaign()).await.is_err());
                println!("n1 gives up");
            }
            "n2" => {
                until_s(began, 2.75).await;
                let _term = seat.campaign().await;
                println!("n2 leads");
                pending::<()>().await;
            }
            _ => {}
        }
    }
}

#[test]
fn who_gives_up_while_it_asks_gives_back_what_it_gets_and_asks_for_no_more() {
    for service in served() {
        let slow = Fault::Latency { from: vec![Who::Service], to: vec![node("n1")], extra_us: 300_000, for_ms: None };
        let lines = lines_with(service, || play_any(GivesUpAsking), vec![(1.5, slow)]);
        println!("{}:{}", service.name, all(&lines));
        assert!((2.1..2.3).contains(&at(&lines, "n1 gives up")));
        assert!((2.7..2.9).contains(&at(&lines, "n2 leads")));
    }
}

struct DropsAll;

impl AnyPart for DropsAll {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let (began, seat) = (Instant::now(), settings(backend).member(name).unwrap());
        match name {
            "n1" => {
                let term = seat.campaign().await;
                let _task = term.lead().spawn_blocking(|| {
                    std::thread::sleep(Duration::from_secs(5));
                    println!("n1's thread has ended");
                });
                until_s(began, 3.0).await;
                // All handles at once.
                drop(term);
                drop(seat);
                println!("n1 has dropped all");
            }
            "n2" => {
                until_s(began, 1.0).await;
                let _term = seat.campaign().await;
                println!("n2 leads");
                pending::<()>().await;
            }
            _ => {}
        }
    }
}

#[test]
fn a_term_that_is_dropped_is_released_once_its_work_has_stopped() {
    for service in all_services() {
        let lines = lines(service, || play_any(DropsAll));
        println!("{}:{}", service.name, all(&lines));
        let handoff = at(&lines, "n2 leads") - at(&lines, "n1's thread has ended");
        assert!((0.0..HANDOFF_S).contains(&handoff), "{handoff}");
    }
}

struct DropsServing;

impl AnyPart for DropsServing {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        let seat = settings(backend).member(name).unwrap();
        match name {
            "n1" => {
                let serving = seat.serve(async |_| {
                    println!("n1 leads");
                    pending::<Result<(), String>>().await
                });
                assert!(timeout(Duration::from_secs(4), serving).await.is_err());
                println!("n1 drops it");
                sleep_s(3.0).await;
                let _term = seat.campaign().await;
                println!("n1 leads again");
                pending::<()>().await;
            }
            "n2" => {
                sleep_s(1.0).await;
                println!("n2: {:?}", seat.serve(async |_| Ok::<_, String>(())).await);
            }
            _ => {}
        }
    }
}

#[test]
fn serving_can_be_dropped() {
    for service in served() {
        let lines = lines(service, || play_any(DropsServing));
        println!("{}:{}", service.name, all(&lines));
        let dropped = at(&lines, "n1 drops it");
        assert!((0.0..HANDOFF_S).contains(&(at(&lines, "n2: Ok(Resigned)") - dropped)));
        assert!((3.0..3.1).contains(&(at(&lines, "n1 leads again") - dropped)), "there is no key in the way");
    }
}
