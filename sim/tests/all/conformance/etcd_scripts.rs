//! etcd: the scripts, and generated leases that expire.

use super::{
    etcd::Etcd,
    number, report,
    script::{self, Arm, Replies, Script},
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use servers::Version;
use std::{
    thread,
    time::{Duration, Instant},
};

/// An arm, and its replies to every script.
type Played = (Etcd, Vec<Replies>);

async fn play(mut arm: Etcd, scripts: &[Script]) -> Played {
    let mut replies = Vec::new();
    for script in scripts {
        replies.push(script.play(&mut arm).await);
    }
    (arm, replies)
}

fn check((arm, replies): &Played, scripts: &[Script], wrong: &mut Vec<String>) {
    let checked = scripts.iter().zip(replies).map(|(script, replies)| script.check(arm, replies));
    wrong.extend(checked.filter_map(Result::err));
}

/// Both versions and the model give every reply of every script.
#[test]
fn etcd_scripts() {
    let mut scripts = script::all("etcd");
    let all = &scripts;
    // Most of the time is waiting, so the arms run in parallel.
    let (model, real) = thread::scope(|scope| {
        let model = scope.spawn(|| super::run(async { play(Etcd::model().await, all).await }));
        let real = [Version::Etcd35, Version::Etcd34]
            .map(|version| scope.spawn(move || super::run(async { Some(play(Etcd::real(version)?, all).await) })));
        let real = real.map(|thread| thread.join().expect("it was played"));
        (model.join().expect("it was played"), real.into_iter().flatten().collect::<Vec<_>>())
    });
    // Recorded from the newer version; the older one must agree.
    if let Some((_, replies)) = real.first().filter(|_| super::updating()) {
        scripts.iter_mut().zip(replies).for_each(|(script, replies)| script.update(replies.clone()));
    }
    let mut wrong = Vec::new();
    [&model].into_iter().chain(&real).for_each(|played| check(played, &scripts, &mut wrong));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let count = scripts.iter().map(Script::commands).sum();
    real.iter().for_each(|(arm, _)| report(&arm.name(), count, "scripted"));
}

// etcd: generated leases that expire, at the same time on each arm. Checks that each ends no sooner than its time to
// live after the last refresh, and no later after that than a scan takes.

/// Leases per round.
const LEASES: usize = 40;
/// The time between actions.
const STEP: Duration = Duration::from_millis(25);
/// A scan comes every half second, revocations are queued, and a loaded machine is slow.
const LATE: Duration = Duration::from_millis(2_500);
/// The tolerance for clocks and an answer's latency.
const EARLY: Duration = Duration::from_millis(20);

/// A lease: its time to live, and after how many steps it is refreshed, if at all.
#[derive(Clone, Copy)]
struct Lease {
    ttl_s: u64,
    refreshed: Option<usize>,
}

fn leases() -> Vec<Lease> {
    let mut random = ChaCha8Rng::seed_from_u64(number("FENCEPOST_CONFORMANCE_SEED", 1));
    let mut draw = |below: u64| random.next_u64() % below;
    (0..LEASES)
        .map(|_| Lease { ttl_s: 2 + draw(3), refreshed: (draw(2) == 0).then(|| LEASES + draw(40) as usize) })
        .collect()
}

/// Plays them; returns the deleted keys, with the deviation from their times.
async fn play_expiry(mut arm: Etcd, leases: &[Lease]) -> (Etcd, usize) {
    arm.reset().await;
    for line in ["watch open", "watch create 1 k prefix", "watch read 1 1"] {
        arm.ask("a", line).await;
    }
    let mut count = 0;
    let mut due = vec![None; LEASES];
    for step in 0..2 * LEASES {
        if let Some(lease) = leases.get(step) {
            // Taken before the request: the server may count from any time until it answers.
            let asked = Instant::now();
            arm.ask("a", &format!("grant {} lease:{:x}", lease.ttl_s, step + 1)).await;
            arm.ask("a", &format!("put k{step:02} v lease:{:x}", step + 1)).await;
            due[step] = Some((asked, Instant::now()));
            count += 2;
        }
        for (place, lease) in leases.iter().enumerate().filter(|(_, lease)| lease.refreshed == Some(step)) {
            let asked = Instant::now();
            let answer = arm.ask("a", &format!("keepalive lease:{:x}", place + 1)).await;
            count += 1;
            if answer[0].ends_with(&format!("ttl {}", lease.ttl_s)) {
                due[place] = Some((asked, Instant::now()));
            }
        }
        tokio::time::sleep(STEP).await;
    }
    for _ in 0..2 * LEASES {
        let item = arm.read_watch(1, 1).await.remove(0);
        let Some(key) = item.strip_prefix("watch 0 delete k") else { continue };
        let place: usize = key[..2].parse().expect("a number");
        let (earliest, latest) = due[place].take().expect("a lease ends once");
        let (ttl, now) = (Duration::from_secs(leases[place].ttl_s), Instant::now());
        assert!(now + EARLY >= earliest + ttl, "{}: lease {place} of {ttl:?} ended early", arm.name());
        // It may have been noticed late, while this was still making other requests.
        assert!(now <= latest + ttl + LATE, "{}: lease {place} of {ttl:?} ended late", arm.name());
    }
    assert!(due.iter().all(Option::is_none), "{}: a lease never ended", arm.name());
    (arm, count)
}

/// Every lease ends in time, on the model and on both versions.
#[test]
fn etcd_leases_end_in_time_generated() {
    let leases = &leases();
    thread::scope(|scope| {
        let model = scope.spawn(|| super::run(async { play_expiry(Etcd::model().await, leases).await }));
        let real = [Version::Etcd35, Version::Etcd34].map(|version| {
            scope.spawn(move || super::run(async { Some(play_expiry(Etcd::real(version)?, leases).await) }))
        });
        model.join().expect("every lease ends in time");
        for (arm, count) in real.into_iter().filter_map(|thread| thread.join().expect("every lease ends in time")) {
            report(&arm.name(), count, "generated, expiring");
        }
    });
}
