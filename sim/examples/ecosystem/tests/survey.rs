//! Every scenario of Fencepost that applies to programs, and a pause before every send of the leader, for every crate.
//! `docs/crates.md` has what came of it.

use fencepost::{Row, Survey, World, etcd, kubernetes, postgres, redis, store};
use std::{fs, path::Path};

const SEEDS: std::ops::Range<u64> = 0..2;

fn on_redis() -> World {
    World::new().service(redis()).env("REDIS_URL", "redis://redis:6379")
}

fn on_kubernetes() -> World {
    World::new().service(kubernetes()).env("KUBERNETES_URL", "http://apiserver:6443")
}

fn on_etcd() -> World {
    World::new().service(etcd()).env("ETCD_URL", "http://etcd:2379")
}

/// A session ends when the kernel of PostgreSQL's machine has heard nothing of it for six seconds, rather than two hours.
fn on_postgres() -> World {
    let url = "postgres://service@postgres:5432/service?options=-c%20tcp_keepalives_idle%3D3\
               %20-c%20tcp_keepalives_interval%3D1%20-c%20tcp_keepalives_count%3D3";
    World::new().service(postgres()).env("POSTGRES_URL", url)
}

/// The line of the table for a crate.
fn row(package: &str, what: &str, survey: &Survey) -> String {
    let count = |row: &Row, of: u64| match row.scenario == EVERY_SEND {
        true => format!("a pause before {of} of {} sends", row.runs),
        false => format!("{} {of} of {}", row.scenario, row.runs),
    };
    let list = |of: fn(&Row) -> u64| {
        let (whole, last) = (survey.scenarios.iter().all(|row| of(row) == row.runs), survey.scenarios.last());
        if let Some(last) = last.filter(|_| whole) {
            return format!("every run of every scenario, and {}", count(last, last.runs));
        }
        let some = survey.scenarios.iter().filter(|row| of(row) > 0).map(|row| count(row, of(row)));
        some.collect::<Vec<_>>().join(", ")
    };
    let held = survey.scenarios.iter().filter(|row| row.two_led + row.nobody_led + row.inconclusive == 0);
    let (version, held) = (version(package), held.count());
    let (two, nobody, nothing) = (list(|row| row.two_led), list(|row| row.nobody_led), list(|row| row.inconclusive));
    format!("| {package} {version}{what} | {two} | {nobody} | {nothing} | {held} |")
}

const EVERY_SEND: &str = "every-send";

/// The version of a crate that is locked.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let (_, rest) = lock.split_once(&format!("name = \"{package}\"\nversion = \"")).expect("it is locked");
    rest.split_once('"').expect("its version").0
}

/// Runs everything, and compares with the page. With `FENCEPOST_UPDATE`, writes the page's line anew.
fn is_on_the_page(package: &str, what: &str, world: World) {
    let world = world.env("STORE_URL", "http://store").leads_when(": leads").stops_when("no more");
    let world = world.every_scenario().seeds(SEEDS).pause_before_every_send();
    let survey = world.survey().unwrap_or_else(|why| panic!("{why}"));
    let row = row(package, what, &survey);
    println!("{row}\n{survey}");
    // What a service does when the world does not know its request is no finding. fred asks Redis for its version, and goes on
    // without it.
    let matters = |what: &&String| !what.ends_with("it does not know INFO");
    assert_eq!(survey.refused.iter().find(matters), None, "{survey}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/crates.md");
    let said = fs::read_to_string(&page).expect("the page");
    let begins = format!("| {package} {}{what} |", version(package));
    let line = said.lines().find(|line| line.starts_with(&begins));
    if std::env::var_os("FENCEPOST_UPDATE").is_some() && line != Some(&row) {
        // Tests run one at a time then.
        let anew = match line {
            Some(line) => said.replace(line, &row),
            None => said + &row + "\n",
        };
        return fs::write(&page, anew).expect("the page can be written");
    }
    assert_eq!(line, Some(row.as_str()), "docs/crates.md\n{survey}");
}

macro_rules! surveys {
    ($($name:ident, $package:literal, $what:literal, $world:expr, $store:expr;)*) => {
        $(#[test]
        fn $name() {
            is_on_the_page($package, $what, $world.store($store).fleet(3, ecosystem::$name::main));
        })*
    };
}

surveys! {
    armature_leader, "armature-distributed", ", `LeaderElection`", on_redis(), store().unfenced();
    armature_lock, "armature-distributed", ", `LockGuard`", on_redis(), store().unfenced();
    distributed_lock_postgres, "distributed-lock-postgres", "", on_postgres(), store().unfenced();
    distributed_lock_redis, "distributed-lock-redis", "", on_redis(), store().unfenced();
    etcd_election, "etcd-client", ", `campaign`", on_etcd(), store();
    etcd_lock, "etcd-client", ", `lock`", on_etcd(), store();
    kube_coordinate, "kube-coordinate", "", on_kubernetes(), store().unfenced();
    kube_leader_election, "kube-leader-election", "", on_kubernetes(), store().unfenced();
    kube_lease_manager, "kube-lease-manager", "", on_kubernetes(), store().unfenced();
    kubert, "kubert", "", on_kubernetes(), store().unfenced();
    redis_lock, "redis-lock", "", on_redis(), store().unfenced();
    redlock, "redlock", "", on_redis(), store().unfenced();
    redsync, "redsync", "", on_redis(), store().unfenced();
    rslock, "rslock", "", on_redis(), store().unfenced();
}
