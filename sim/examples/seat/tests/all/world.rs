//! A world with one service and three processes, of which each does its own part.

use fencepost_libc::main_of;
use fencepost_seat::{
    Backend, Consul, Etcd, Fenced, Kubernetes, Postgres, PostgresLock, Raft, Redis, Redlock, Seat, Settings, Zookeeper,
};
use protocols::{
    election::program,
    service::{Service, consul, etcd, kubernetes, postgres, raft, redis, redis_servers, zookeeper},
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::{
    program::{Line, Program},
    registry::Registry,
    run::{self, Options},
};
use std::{env, time::Duration};
use tokio::{runtime::Builder, time::Instant};

/// The lease where the service grants short ones, seconds.
pub const TTL_S: f64 = 3.0;
/// The longest time from a release to the next leader: the services differ, and members of two of them poll.
pub const HANDOFF_S: f64 = 1.6;

/// The services whose leaderships have tokens.
pub const SERVICES: [&Service; 6] =
    [&etcd::SERVICE, &redis::SERVICE, &postgres::SERVICE, &kubernetes::SERVICE, &consul::SERVICE, &zookeeper::SERVICE];
/// An advisory lock of PostgreSQL.
pub const POSTGRES_LOCK: &Service = &postgres::SESSIONS;
/// Five independent servers of Redis.
pub const REDLOCK: &Service = &redis_servers::SERVICE;

/// The services on which seats stand.
pub fn served() -> impl Iterator<Item = &'static Service> {
    SERVICES.into_iter().chain([POSTGRES_LOCK, REDLOCK])
}

/// The same, and none: the members elect one of them.
pub fn all_services() -> impl Iterator<Item = &'static Service> {
    served().chain([&raft::SERVICE])
}

/// The members themselves, and the services whose leaderships have tokens.
pub fn tokened() -> impl Iterator<Item = &'static Service> {
    SERVICES.into_iter().chain([&raft::SERVICE])
}

/// Durations that differ by service, seconds.
#[derive(Clone, Copy)]
pub struct Figures {
    /// How long a run lasts.
    pub duration: f64,
    /// The lease that is asked for, which is the service's shortest if that is long.
    pub ttl: f64,
    /// How long a leader believes after it has sent a renewal.
    pub belief: f64,
    /// The longest time from a renewal until another one can have the lease.
    pub lease: f64,
}

pub fn figures(service: &str) -> Figures {
    match service {
        // A session lasts up to twice its TTL, and then the key stays locked for as long as one.
        "consul" => Figures { duration: 75.0, ttl: 10.0, belief: 9.0, lease: 31.0 },
        // The belief is two thirds of it, and the server looks for sessions to end every two seconds.
        "zookeeper" => Figures { duration: 40.0, ttl: 6.0, belief: 3.4, lease: 8.0 },
        // Votes are given after a lease, and asked for up to a lease later.
        "raft" => Figures { duration: 40.0, ttl: TTL_S, belief: TTL_S * 0.8, lease: TTL_S * 2.1 },
        // A hundredth, and 2 ms, are for clocks.
        "redis-servers" => Figures { duration: 40.0, ttl: TTL_S, belief: TTL_S * 0.89 - 0.002, lease: TTL_S },
        _ => Figures { duration: 40.0, ttl: TTL_S, belief: TTL_S * 0.9, lease: TTL_S },
    }
}

/// What processes print when each of them runs `main` beside this service, and this happens.
pub fn lines_with(service: &'static Service, main: impl Fn() + Copy + 'static, faults: Vec<(f64, Fault)>) -> Vec<Line> {
    let steady = scenario::find("steady").unwrap();
    let params = Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() };
    let mut plan: Plan = steady.compile(&params, program::of(&[service], true), 1).unwrap();
    plan.duration_ms = (figures(service.name).duration * 1_000.0) as u64;
    plan.faults = faults
        .into_iter()
        .map(|(at_s, what)| PlannedFault { when: Trigger::At { ms: at_s * 1_000.0 }, what, group: 0 })
        .collect();
    let main = main_of(main);
    let program = Program::new(main).unwrap().with_env("SERVICE", service.name);
    let program = defect().into_iter().fold(program, |program, (name, value)| program.with_env(name, &value));
    let registry = Registry::default().with_program(program, &[service], true).unwrap();
    run::run(&plan, Options { registry, ..Options::default() }).unwrap().printed
}

/// The defect that is switched on, if one is: `examples/defects` plants them, to see whether these tests find them. A
/// process of the world has no variable of this process's.
pub fn defect() -> Option<(&'static str, String)> {
    let name = "FENCEPOST_DEFECT";
    Some((name, env::var(name).ok()?))
}

pub fn lines(service: &'static Service, main: impl Fn() + Copy + 'static) -> Vec<Line> {
    lines_with(service, main, Vec::new())
}

pub fn node(name: &str) -> Who {
    Who::Named(name.to_owned())
}

/// When this was printed first, in seconds; each process puts its name in front.
pub fn at(lines: &[Line], text: &str) -> f64 {
    find(lines, text).unwrap_or_else(|| panic!("`{text}` is not in {}", all(lines)))
}

pub fn find(lines: &[Line], text: &str) -> Option<f64> {
    lines.iter().find(|line| line.text == text).map(|line| line.now as f64 / 1e9)
}

/// All lines, to be read by people.
pub fn all(lines: &[Line]) -> String {
    let line = |line: &Line| format!("\n{:9.3} {}", line.now as f64 / 1e9, line.text);
    lines.iter().map(line).collect()
}

/// What a process does in a test: it has a seat on the world's service, which has tokens.
pub trait Part {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B);
}

/// The same on any service.
pub trait AnyPart {
    async fn play<B: Backend>(self, name: &str, backend: B);
}

/// A part that needs no tokens, on a service that has them.
struct Without<P>(P);

impl<P: AnyPart> Part for Without<P> {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        self.0.play(name, backend).await;
    }
}

/// Plays a part on the service that the world has.
pub fn play(part: impl Part) {
    run_as(&mut Builder::new_multi_thread(), async |name, service| with_tokens(part, name, service).await);
}

/// The same on any service.
pub fn play_any(part: impl AnyPart) {
    run_as(&mut Builder::new_multi_thread(), async |name, service| anywhere(part, name, service).await);
}

/// The same in a process in which nothing runs beside what is running.
pub fn play_on_one_thread(part: impl AnyPart) {
    run_as(&mut Builder::new_current_thread(), async |name, service| anywhere(part, name, service).await);
}

fn run_as(runtime: &mut Builder, plays: impl AsyncFnOnce(&str, &str)) {
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (name, service) = (env::var("HOSTNAME").unwrap(), env::var("SERVICE").unwrap());
        // A part leaves its seat when it likes.
        let votes = service == "raft" && name != "n1";
        let _witness = votes.then(|| settings(among("witness")).member(format!("{name}-votes")).unwrap());
        plays(&name, &service).await;
        // A process that ends is started again.
        std::future::pending::<()>().await;
    });
}

/// The three processes of the world, who elect one of them, and two witnesses beside them.
fn among(folder: &str) -> Raft {
    let members = ["n1", "n2", "n3"].map(|name| (name, format!("{name}:7000")));
    let witnesses = [("n2-votes", "n2:7001".to_owned()), ("n3-votes", "n3:7001".to_owned())];
    Raft::in_clear(members.into_iter().chain(witnesses), folder).unwrap()
}

async fn anywhere(part: impl AnyPart, name: &str, service: &str) {
    match service {
        "postgres-sessions" => {
            part.play(name, PostgresLock::connect("postgres://invoices@postgres/invoices").unwrap()).await
        }
        "postgres-pooled" => {
            part.play(name, PostgresLock::connect("postgres://invoices@postgres:6432/invoices").unwrap()).await
        }
        "redis-servers" => {
            let servers = (1..=5).map(|server| format!("redis://redis-{server}"));
            part.play(name, Redlock::connect(servers).unwrap()).await
        }
        _ => with_tokens(Without(part), name, service).await,
    }
}

async fn with_tokens(part: impl Part, name: &str, service: &str) {
    match service {
        "consul" => part.play(name, Consul::connect("http://consul").unwrap()).await,
        "etcd" => part.play(name, Etcd::connect(["http://etcd:2379"]).unwrap()).await,
        "kubernetes" => {
            let config = kube::Config::new("http://apiserver:6443".parse().unwrap());
            part.play(name, Kubernetes::new(kube::Client::try_from(config).unwrap(), "default")).await
        }
        "raft" => part.play(name, among("raft")).await,
        "redis" => part.play(name, Redis::connect("redis://redis").unwrap()).await,
        "zookeeper" => part.play(name, Zookeeper::connect("zookeeper/services").unwrap()).await,
        _ => part.play(name, Postgres::connect("postgres://invoices@postgres/invoices").unwrap()).await,
    }
}

/// n1 leads first, in its own way; n2 comes after 1 s and stays.
pub async fn successor<B: Backend>(name: &str, backend: B) {
    if name == "n2" {
        sleep_s(1.0).await;
        let seat = settings(backend).member(name).unwrap();
        let term = seat.campaign().await;
        println!("n2 leads");
        std::future::pending::<()>().await;
        drop(term);
    }
}

/// The figures of the service that this process finds in its world.
pub fn here() -> Figures {
    figures(&env::var("SERVICE").unwrap())
}

pub fn settings<B: Backend>(backend: B) -> Settings<B> {
    Seat::new(backend, "test").ttl(Duration::from_secs_f64(here().ttl))
}

pub async fn sleep_s(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

/// Sleeps until so many seconds after the process's start.
pub async fn until_s(began: Instant, seconds: f64) {
    tokio::time::sleep_until(began + Duration::from_secs_f64(seconds)).await;
}
