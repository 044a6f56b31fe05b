//! ZooKeeper: generated commands of several sessions, on both arms in turn; and sessions that expire, on both at the
//! same time.

use super::{generate, in_time, number, report, script::Arm, zookeeper::Zookeeper};
use proptest::{prelude::*, sample::select};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::{
    thread,
    time::{Duration, Instant},
};

/// The lines of a script.
type Sequence = Vec<String>;

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => word(&["/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/z"]),
        3 => word(&["/a/s-0000000000", "/a/s-0000000001", "/s-0000000000", "/s-0000000002", "/a/s-", "/s-"]),
        1 => word(&["/", "/a/", "/a//b", "/a/../b", "/.", "@a", "\"\"", "@/", "/ä", "/\u{7f}", "@/zookeeper", "@//"]),
    ]
}

fn data() -> impl Strategy<Value = String> {
    word(&["one", "two", "three", "\"\"", "-"])
}

fn version() -> impl Strategy<Value = String> {
    word(&["-1", "-1", "-1", "0", "0", "1", "2", "-2", "7"])
}

fn write() -> impl Strategy<Value = String> {
    let flags = word(&["0", "0", "0", "1", "1", "2", "3", "3", "4", "5", "9", "-1"]);
    let acl = word(&["", "", "", "", "", "", "", "", "", " nobody"]);
    prop_oneof![
        6 => (path(), data(), flags, acl).prop_map(|(path, data, flags, acl)| format!("create {path} {data} {flags}{acl}")),
        4 => (path(), version()).prop_map(|(path, version)| format!("delete {path} {version}")),
        4 => (path(), data(), version()).prop_map(|(path, data, version)| format!("set {path} {data} {version}")),
    ]
}

fn in_multi() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => write(),
        2 => (path(), version()).prop_map(|(path, version)| format!("check {path} {version}")),
        1 => (path(), data()).prop_map(|(path, data)| format!("container {path} {data} 4")),
    ]
}

fn paths() -> impl Strategy<Value = String> {
    prop::collection::vec(word(&["/a", "/b", "/a/x", "/c", "/"]), 0..3).prop_map(|paths| paths.join(","))
}

fn command() -> impl Strategy<Value = String> {
    let read = word(&["exists", "get", "ls", "ls2"]);
    let set_watches = ((0..30_u8), paths(), paths(), paths());
    prop_oneof![
        12 => write(),
        2 => (path(), data(), word(&["0", "1", "2", "3"])).prop_map(|(path, data, flags)| format!("create2 {path} {data} {flags}")),
        1 => (path(), data(), word(&["4", "4", "0", "1", "2"])).prop_map(|(path, data, flags)| format!("container {path} {data} {flags}")),
        10 => (read, path(), word(&["", " watch", " watch"])).prop_map(|(name, path, watch)| format!("{name} {path}{watch}")),
        4 => prop::collection::vec(in_multi(), 0..4).prop_map(|ops| format!("multi {}", ops.join(" ; "))),
        1 => path().prop_map(|path| format!("sync {path}")),
        1 => set_watches.prop_map(|(at, data, exist, children)| {
            format!("setwatches {at} data={data} exist={exist} children={children}")
        }),
        1 => word(&["ping", "close"]),
    ]
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        40 => (word(&["a", "a", "b", "c"]), command()).prop_map(|(session, command)| format!("{session}> {command}")),
        1 => word(&["! reconnect a", "! reconnect b"]),
    ]
}

/// Plays a sequence on both; returns the conversation up to the first difference, if any.
async fn play(sequence: &Sequence, model: &mut Zookeeper, real: &mut Zookeeper) -> Result<usize, String> {
    model.reset().await;
    real.reset().await;
    let (mut count, mut told) = (0, String::new());
    for line in sequence {
        told += &format!("  {line}\n");
        let (session, command) = line.split_once(' ').expect("a line has a session");
        if session == "!" {
            let session = command.strip_prefix("reconnect ").expect("a session");
            model.reconnect(session).await;
            real.reconnect(session).await;
            continue;
        }
        let session = session.trim_end_matches('>');
        let (m, r) =
            (model.ask(session, command).await.join("\n    "), real.ask(session, command).await.join("\n    "));
        count += 1;
        if m != r {
            return Err(format!("{told}  {} said\n    {r}\n  the model said\n    {m}", real.name()));
        }
        told += &format!("  < {r}\n");
    }
    Ok(count)
}

/// Model and server agree on any commands in any order.
#[test]
fn zookeeper_generated() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _context = runtime.enter();
    let Some(mut real) = Zookeeper::real() else { return };
    let mut model = Zookeeper::model();
    let mut compared = 0;
    generate(prop::collection::vec(line(), 1..60), 400, |sequence| {
        compared += runtime.block_on(in_time(play(sequence, &mut model, &mut real)))?;
        Ok(())
    });
    report(&real.name(), compared, "generated");
}

/// Sessions per round.
const SESSIONS: usize = 12;
/// The time between actions.
const STEP: Duration = Duration::from_millis(150);
/// A tick, plus the delays of a loaded machine.
const LATE: Duration = Duration::from_millis(2_000 + 1_500);
/// The tolerance for clocks and an answer's latency.
const EARLY: Duration = Duration::from_millis(20);

/// Opens sessions of 4 s and more, each with a node, and abandons them; returns how far each node's end was from its
/// time.
async fn abandon(mut arm: Zookeeper) -> (Zookeeper, usize) {
    arm.reset().await;
    let mut random = ChaCha8Rng::seed_from_u64(number("FENCEPOST_CONFORMANCE_SEED", 1));
    let (mut due, mut count) = (Vec::new(), 0);
    for place in 0..SESSIONS {
        let timeout_ms = 4_000 + random.next_u64() % 3_000;
        arm.ask("leaver", &format!("session {timeout_ms}")).await;
        // Taken before the request: the server may count from any time until it answers.
        let asked = Instant::now();
        arm.ask("leaver", &format!("create /n{place} - 1")).await;
        arm.leave("leaver");
        due.push((asked, Instant::now(), Duration::from_millis(timeout_ms)));
        count += 2;
        tokio::time::sleep(STEP).await;
    }
    let mut left: Vec<usize> = (0..SESSIONS).collect();
    while !left.is_empty() {
        let mut still = Vec::new();
        for place in left {
            let answer = arm.ask("looker", &format!("exists /n{place}")).await;
            count += 1;
            let (now, (earliest, latest, timeout)) = (Instant::now(), due[place]);
            if answer[0].ends_with("error -101") {
                assert!(
                    now + EARLY >= earliest + timeout,
                    "{}: session {place} of {timeout:?} ended early",
                    arm.name()
                );
            } else {
                assert!(now <= latest + timeout + LATE, "{}: session {place} of {timeout:?} ends late", arm.name());
                still.push(place);
            }
        }
        left = still;
        tokio::time::sleep(STEP / 3).await;
    }
    (arm, count)
}

/// Every session ends in time, on the model and on the real server.
#[test]
fn zookeeper_sessions_end_in_time_generated() {
    thread::scope(|scope| {
        let model = scope.spawn(|| super::run(async { abandon(Zookeeper::model()).await }));
        let real = scope.spawn(|| super::run(async { Some(abandon(Zookeeper::real()?).await) }));
        model.join().expect("every session ends in time");
        if let Some((arm, count)) = real.join().expect("every session ends in time") {
            report(&arm.name(), count, "generated, expiring");
        }
    });
}
