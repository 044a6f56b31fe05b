//! What a seat lets people, dashboards and standbys see.

use crate::world::{Part, SERVICES, TTL_S, all, at, find, lines_with, node, play, settings, sleep_s, tokened, until_s};
use fencepost_seat::{Backend, Fenced, Metrics};
use prometheus_client::{encoding::text::encode, registry::Registry};
use scenarios::fault::{Fault, Who};
use std::{future::pending, time::Duration};
use tokio::{sync::oneshot, time::Instant};

const NAMES: [&str; 3] = ["n1", "n2", "n3"];

struct Follows;

impl Part for Follows {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let seat = settings(backend).members(NAMES).member(name).unwrap();
        // n1 is the first to lead.
        sleep_s(if name == "n1" { 0.0 } else { 0.5 }).await;
        let began = Instant::now();
        let leads = seat.serve_until(pending(), async |lead| {
            println!("{name} leads");
            let _told = Tells(format!("{name} leads no more"));
            match name {
                // Lets go once.
                "n1" if began.elapsed() < Duration::from_secs(4) => until_s(began, 4.0).await,
                _ => drop(lead.ended().await),
            }
            Ok::<_, String>(())
        });
        let follows = seat.follow(async |leader| {
            println!("{name} follows {}", leader.unwrap_or("nobody"));
            let _told = Tells(format!("{name} follows {} no more", leader.unwrap_or("nobody")));
            pending::<()>().await;
        });
        tokio::select! {
            why = leads => println!("{name} has ended: {why}"),
            _ = follows => {}
        }
    }
}

struct Tells(String);

impl Drop for Tells {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

#[test]
fn a_standby_follows_each_leader_and_stops_when_it_leads_itself() {
    for service in tokened() {
        let lines = lines_with(service, || play(Follows), vec![]);
        println!("{}:{}", service.name, all(&lines));
        at(&lines, "n1 leads");
        let next = if find(&lines, "n2 leads").is_some() { "n2" } else { "n3" };
        let other = if next == "n2" { "n3" } else { "n2" };
        let leads = at(&lines, &format!("{next} leads"));
        assert!(at(&lines, &format!("{next} follows n1")) < leads);
        assert!(at(&lines, &format!("{next} follows n1 no more")) <= leads + 0.1);
        // In ZooKeeper's queue, the last of three is not told who leads after a change.
        let told: &[&str] = if service.name == "zookeeper" { &["n1"] } else { &[other, "n1"] };
        for follower in told {
            assert!(at(&lines, &format!("{follower} follows {next}")) >= leads - 0.1);
        }
        assert!(find(&lines, &format!("{next} follows {next}")).is_none());
    }
}

struct Measured;

impl Part for Measured {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (seat, idle) = (settings(backend.clone()).member(name).unwrap(), settings(backend).member("idle").unwrap());
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Metrics::default().with(&seat).with(&idle)));
        let show = async |when: &str| {
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            for line in text.lines() {
                println!("{when} {line}");
            }
        };
        show("before").await;
        let began = Instant::now();
        let leads = seat.serve(async |_| {
            until_s(began, 5.0).await;
            show("leading").await;
            // The service is cut off, and the belief ends.
            pending::<Result<(), String>>().await
        });
        println!("n1: {:?}", leads.await);
        show("after").await;
        let leads = seat.serve(async |lead| {
            lead.refused();
            pending::<Result<(), String>>().await
        });
        println!("n1: {:?}", leads.await);
        show("refused").await;
        // What it has spawned does not stop.
        let term = seat.campaign().await;
        let (begins, begun) = oneshot::channel();
        drop(term.lead().spawn_blocking(|| {
            begins.send(()).unwrap();
            std::thread::sleep(Duration::from_secs(3_600));
        }));
        begun.await.unwrap();
        term.lead().refused();
        println!("n1: {:?}", term.finish().await);
        show("unclean").await;
    }
}

#[test]
fn metrics_tell_what_has_happened_to_a_seat() {
    let (from, to) = (vec![node("n1")], vec![Who::Service]);
    let away = Fault::Partition { from, to, one_way: false, for_ms: Some(10_000.0) };
    for service in SERVICES {
        let lines = lines_with(service, || play(Measured), vec![(6.0, away.clone())]);
        println!("{}:{}", service.name, all(&lines));
        let number = |when: &str, name: &str| {
            let start = format!("{when} {name} ");
            let found =
                lines.iter().find_map(|line| line.text.strip_prefix(&start)).unwrap_or_else(|| panic!("{start}"));
            found.parse::<f64>().unwrap()
        };
        let named = |name: &str| format!("{name}{{seat=\"test\",node=\"n1\"}}");
        let moved = |from: &str, to: &str| {
            format!("fencepost_transitions_total{{seat=\"test\",node=\"n1\",from=\"{from}\",to=\"{to}\"}}")
        };
        let ended = |why: &str| format!("fencepost_leaderships_ended_total{{seat=\"test\",node=\"n1\",why=\"{why}\"}}");
        let (acting, remaining) = (named("fencepost_node_acting"), named("fencepost_lease_remaining_seconds"));
        for (when, acts, elections, endings) in
            [("before", 0.0, 0.0, 0.0), ("leading", 1.0, 1.0, 0.0), ("after", 0.0, 1.0, 1.0)]
        {
            assert_eq!(number(when, &acting), acts, "{when}");
            assert_eq!(number(when, "leader_election_master_status{name=\"test\"}"), acts);
            assert_eq!(number(when, &moved("candidate", "leader")), elections);
            assert_eq!(number(when, &moved("leader", "candidate")), endings);
            assert_eq!(number(when, &ended("expired")), endings);
            assert_eq!(number(when, &ended("refused")), 0.0);
            assert_eq!(number(when, &remaining) > 0.0, acts > 0.0);
        }
        assert!(number("leading", &remaining) < if service.name == "consul" { 10.0 } else { TTL_S });
        let renewals = number("leading", &named("fencepost_renewals_total"));
        // Consul has no lease below ten seconds.
        assert!(renewals >= if service.name == "consul" { 1.0 } else { 2.0 });
        assert_eq!(number("leading", &named("fencepost_service_failures_total")), 0.0);
        assert_eq!(number("leading", &named("fencepost_service_up")), 1.0);
        assert!(number("leading", &named("fencepost_service_seconds_count")) >= 3.0);
        assert!(number("leading", &named("fencepost_service_seconds_sum")) < 1.0);
        let all = "fencepost_service_seconds_bucket{le=\"+Inf\",seat=\"test\",node=\"n1\"}";
        assert_eq!(number("leading", all), number("leading", &named("fencepost_service_seconds_count")));
        assert_eq!(number("refused", &named("fencepost_fencing_rejections_total")), 1.0);
        assert_eq!(number("refused", &ended("refused")), 1.0);
        assert_eq!(number("unclean", &named("fencepost_fencing_rejections_total")), 2.0);
        assert_eq!(number("unclean", &ended("refused")), 1.0);
        assert_eq!(number("unclean", &ended("unclean_stop")), 1.0);
        assert_eq!(number("unclean", &moved("leader", "candidate")), 3.0);
        // Another of the same seat has its own.
        assert_eq!(number("leading", "fencepost_node_acting{seat=\"test\",node=\"idle\"}"), 0.0);
        let kinds = lines.iter().filter(|line| line.text == "before # TYPE fencepost_node_acting gauge").count();
        assert_eq!(kinds, 1);
    }
}

struct Traced;

impl Part for Traced {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let format = tracing_subscriber::fmt().without_time().with_ansi(false).with_target(false);
        tracing::subscriber::set_global_default(format.finish()).unwrap();
        let seat = settings(backend).member(name).unwrap();
        let ended = seat.serve(async |lead| {
            tracing::info!("works");
            lead.spawn(async { tracing::info!("works beside it") }).await.unwrap();
            lead.spawn_blocking(|| tracing::info!("blocks")).await.unwrap();
            Ok::<_, String>(())
        });
        println!("n1: {:?}", ended.await);
    }
}

#[test]
fn what_a_leader_logs_says_under_which_token() {
    for service in tokened() {
        let lines = lines_with(service, || play(Traced), vec![]);
        println!("{}:{}", service.name, all(&lines));
        for what in ["works", "works beside it", "blocks"] {
            let end = format!(": {what}");
            let line = lines.iter().find(|line| line.text.ends_with(&end)).unwrap();
            assert!(line.text.contains("leadership{seat=\"test\" member=\"n1\" token="), "{}", line.text);
        }
        let campaign = "campaign{seat=\"test\" member=\"n1\"}: leads token=";
        assert!(lines.iter().any(|line| line.text.contains(campaign)));
    }
}
