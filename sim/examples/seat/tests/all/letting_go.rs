//! When and how a seat lets go of the lease.

use crate::world::{
    AnyPart, Figures, HANDOFF_S, all, all_services, at, figures, find, lines, play_any, served, settings, sleep_s,
    successor,
};
use fencepost_seat::{Backend, Ended};
use std::{future::pending, time::Duration};

/// From when n1 said that, until n2 leads.
fn handoff(lines: &[sim::program::Line], from: &str) -> f64 {
    at(lines, "n2 leads") - at(lines, from)
}

/// Runs a part of n1's on each service, and looks at what was printed.
fn each(part: impl Fn() + Copy + 'static, look: impl Fn(&[sim::program::Line], Figures)) {
    each_of(all_services(), part, look);
}

fn each_of(
    services: impl Iterator<Item = &'static protocols::service::Service>,
    part: impl Fn() + Copy + 'static,
    look: impl Fn(&[sim::program::Line], Figures),
) {
    for service in services {
        let lines = lines(service, part);
        println!("{}:{}", service.name, all(&lines));
        look(&lines, figures(service.name));
    }
}

struct Done;

impl AnyPart for Done {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).member(name).unwrap();
        let why = seat
            .serve(async |lead| {
                sleep_s(4.0).await;
                println!("n1 is done at {:?}", lead.check());
                Ok::<_, String>(())
            })
            .await;
        println!("n1: {why:?}");
    }
}

#[test]
fn work_that_is_done_is_followed_at_once() {
    each(
        || play_any(Done),
        |lines, _| {
            assert!(handoff(lines, "n1 is done at Ok(())") < HANDOFF_S);
            assert!(find(lines, "n1: Ok(Resigned)").is_some());
        },
    );
}

struct Fails;

impl AnyPart for Fails {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        match name {
            "n1" => {
                let seat = settings(backend).hold_down(Duration::from_secs(8)).member(name).unwrap();
                let failed = seat.serve(async |_| Err::<(), _>("the disk is full")).await;
                println!("n1: {failed:?}");
                let _term = seat.campaign().await;
                println!("n1 leads again");
                pending::<()>().await;
            }
            // It comes and goes, so that n1 could lead again at once.
            "n2" => {
                sleep_s(1.0).await;
                let seat = settings(backend).member(name).unwrap();
                println!("n2: {:?}", seat.serve(async |_| Ok::<_, String>(())).await);
            }
            _ => {}
        }
    }
}

#[test]
fn who_has_failed_stays_away_for_a_while() {
    each_of(
        served(),
        || play_any(Fails),
        |lines, _| {
            let failed = at(lines, "n1: Err(\"the disk is full\")");
            assert!(failed < 1.0, "the lease is given back at once");
            assert!((1.0..1.5).contains(&at(lines, "n2: Ok(Resigned)")));
            let again = at(lines, "n1 leads again") - failed;
            assert!((7.9..8.0 + HANDOFF_S).contains(&again), "{again}");
        },
    );
}

struct Spawns;

impl AnyPart for Spawns {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).member(name).unwrap();
        let why = seat
            .serve(async |lead| {
                println!("n1 leads");
                lead.spawn(async {
                    let _said = Says("n1's task is cancelled");
                    pending::<()>().await;
                });
                // Longer than a lease after the end: it is renewed meanwhile.
                lead.spawn_blocking(|| {
                    std::thread::sleep(Duration::from_millis(6_500));
                    println!("n1's thread has ended");
                });
                sleep_s(2.0).await;
                Ok::<_, String>(())
            })
            .await;
        println!("n1: {why:?}");
    }
}

/// Says it when it is dropped.
struct Says(&'static str);

impl Drop for Says {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

#[test]
fn nobody_else_leads_before_what_was_spawned_has_stopped() {
    each(
        || play_any(Spawns),
        |lines, _| {
            let cancelled = at(lines, "n1's task is cancelled") - at(lines, "n1 leads");
            assert!((2.0..2.5).contains(&cancelled), "{cancelled}");
            assert!((0.0..HANDOFF_S).contains(&handoff(lines, "n1's thread has ended")));
            assert!(find(lines, "n1: Ok(Resigned)").is_some());
        },
    );
}

struct DoesNotStop;

impl AnyPart for DoesNotStop {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).stop_within(Duration::from_millis(500)).member(name).unwrap();
        let why = seat
            .serve(async |lead| {
                lead.spawn_blocking(|| std::thread::sleep(Duration::from_secs(20)));
                sleep_s(4.0).await;
                println!("n1 is done");
                Ok::<_, String>(())
            })
            .await;
        assert_eq!(why, Ok(Ended::UncleanStop));
        println!("n1 has given up");
    }
}

#[test]
fn after_an_unclean_stop_the_lease_runs_out() {
    each(
        || play_any(DoesNotStop),
        |lines, figures| {
            let gave_up = at(lines, "n1 has given up") - at(lines, "n1 is done");
            assert!((0.49..0.6).contains(&gave_up), "{gave_up}");
            // The last renewal was up to half a lease before.
            let handoff = handoff(lines, "n1 is done");
            assert!((figures.ttl / 2.0 - 0.1..figures.lease + HANDOFF_S).contains(&handoff), "{handoff}");
        },
    );
}

struct Panics;

impl AnyPart for Panics {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).member(name).unwrap();
        let serving = tokio::spawn(async move {
            seat.serve(async |lead| {
                lead.spawn(async {
                    let _said = Says("n1's task is cancelled");
                    pending::<()>().await;
                });
                sleep_s(4.0).await;
                println!("n1 panics");
                if lead.check().is_ok() {
                    panic!("on purpose");
                }
                Ok::<_, String>(())
            })
            .await
        });
        println!("n1: panicked {}", serving.await.unwrap_err().is_panic());
    }
}

#[test]
fn a_panic_of_the_work_is_passed_on_and_releases_nothing() {
    each(
        || play_any(Panics),
        |lines, figures| {
            assert!(at(lines, "n1's task is cancelled") - at(lines, "n1 panics") < 0.1);
            assert!(at(lines, "n1: panicked true") - at(lines, "n1 panics") < 0.1);
            let handoff = handoff(lines, "n1 panics");
            assert!((figures.ttl / 2.0 - 0.1..figures.lease + HANDOFF_S).contains(&handoff), "{handoff}");
        },
    );
}

struct TaskPanics;

impl AnyPart for TaskPanics {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).member(name).unwrap();
        let serving = tokio::spawn(async move {
            seat.serve(async |lead| {
                let _said = Says("n1's work is dropped");
                lead.spawn(async {
                    sleep_s(4.0).await;
                    println!("n1 panics");
                    panic!("on purpose");
                });
                pending::<Result<(), String>>().await
            })
            .await
        });
        println!("n1: panicked {}", serving.await.unwrap_err().is_panic());
    }
}

#[test]
fn a_panic_of_a_task_ends_the_leadership_in_the_same_way() {
    each(
        || play_any(TaskPanics),
        |lines, figures| {
            assert!(at(lines, "n1's work is dropped") - at(lines, "n1 panics") < 0.1);
            assert!(at(lines, "n1: panicked true") - at(lines, "n1 panics") < 0.1);
            let handoff = handoff(lines, "n1 panics");
            assert!((figures.ttl / 2.0 - 0.1..figures.lease + HANDOFF_S).contains(&handoff), "{handoff}");
        },
    );
}

struct WaitsForATask;

impl AnyPart for WaitsForATask {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).member(name).unwrap();
        let serving = tokio::spawn(async move {
            seat.serve(async |lead| {
                let task = lead.spawn(async {
                    sleep_s(4.0).await;
                    println!("n1 panics");
                    panic!("on purpose");
                });
                task.await.map(drop)
            })
            .await
        });
        println!("n1: panicked {}", serving.await.is_err_and(|error| error.is_panic()));
    }
}

#[test]
fn a_panic_of_a_task_that_the_work_waits_for_is_passed_on_too() {
    each(
        || play_any(WaitsForATask),
        |lines, figures| {
            assert!(at(lines, "n1: panicked true") - at(lines, "n1 panics") < 0.1);
            let handoff = handoff(lines, "n1 panics");
            assert!((figures.ttl / 2.0 - 0.1..figures.lease + HANDOFF_S).contains(&handoff), "{handoff}");
        },
    );
}

struct Resigns;

impl AnyPart for Resigns {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).drain(Duration::from_secs(6)).member(name).unwrap();
        let resigner = seat.resigner();
        let asks = tokio::spawn(async move {
            sleep_s(4.0).await;
            println!("n1 is asked");
            resigner.resign();
        });
        let why = seat
            .serve(async |lead| {
                lead.resigning().await;
                println!("n1 finishes, and leads: {:?}", lead.check());
                // Longer than a lease: it is renewed meanwhile.
                sleep_s(5.0).await;
                println!("n1 has finished: {:?}", lead.check());
                Ok::<_, String>(())
            })
            .await;
        asks.await.unwrap();
        println!("n1: {why:?}");
    }
}

#[test]
fn who_is_asked_to_resign_finishes_first() {
    each(
        || play_any(Resigns),
        |lines, _| {
            assert!(at(lines, "n1 finishes, and leads: Ok(())") - at(lines, "n1 is asked") < 0.1);
            assert!((0.0..HANDOFF_S).contains(&handoff(lines, "n1 has finished: Ok(())")));
            assert!(find(lines, "n1: Ok(Resigned)").is_some());
        },
    );
}

struct DoesNotFinish;

impl AnyPart for DoesNotFinish {
    async fn play<B: Backend>(self, name: &str, backend: B) {
        if name != "n1" {
            return successor(name, backend).await;
        }
        let seat = settings(backend).drain(Duration::from_secs(5)).member(name).unwrap();
        let shutdown = async {
            sleep_s(4.0).await;
            println!("n1 is asked");
        };
        seat.serve_until(shutdown, async |_| {
            let _said = Says("n1's work is dropped");
            pending::<Result<(), String>>().await
        })
        .await;
        println!("n1 has ended");
    }
}

#[test]
fn who_does_not_finish_is_dropped() {
    each(
        || play_any(DoesNotFinish),
        |lines, _| {
            let drained = at(lines, "n1's work is dropped") - at(lines, "n1 is asked");
            assert!((4.9..5.1).contains(&drained), "{drained}");
            assert!((0.0..HANDOFF_S).contains(&handoff(lines, "n1's work is dropped")));
            assert!(at(lines, "n1 has ended") - at(lines, "n1's work is dropped") < 0.2);
        },
    );
}
