//! Five independent Redis servers: each server that `redis-cli` locks counts as one of five votes.

use super::common::{
    Folder, SOON, eventually,
    fleet::{Fleet, accepted},
    http, run,
    servers::{self, find},
    text,
};
use std::{
    path::PathBuf,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

/// The lock's key.
const LOCK: &str = "leader:fencepost";
const LEASE: Duration = Duration::from_secs(2);

/// `redis-cli` at each of the five.
struct Servers {
    program: PathBuf,
    /// In the order in which they are asked.
    all: Vec<(Folder, servers::Server)>,
}

impl Servers {
    fn start(what: &str) -> Option<Servers> {
        let program = find("redis-cli", "redis-tools", what)?;
        let server = || {
            let folder = Folder::new();
            let server = servers::redis(&folder, what, servers::Tls::Off)?;
            Some((folder, server))
        };
        Some(Servers { program, all: (0..5).map(|_| server()).collect::<Option<_>>()? })
    }

    fn addresses(&self) -> String {
        let addresses: Vec<String> = self.all.iter().map(|(_, server)| server.address.to_string()).collect();
        addresses.join(",")
    }

    /// One server's answer to a command.
    fn tell(&self, server: usize, command: &[&str]) -> String {
        let mut cli = Command::new(&self.program);
        let port = self.all[server].1.address.port().to_string();
        text(
            &run({
                cli.args(["-p", &port]).args(command);
                cli
            })
            .stdout,
        )
        .trim()
        .to_owned()
    }

    /// The stranger tries to lock this server, as Redlock would; `redis-cli` prints nil as an empty line.
    fn lock(&self, server: usize) -> bool {
        self.tell(server, &["SET", LOCK, "stranger", "NX", "PX", "600000"]) == "OK"
    }

    /// How many servers this holder has locked.
    fn held_by(&self, holder: &str) -> usize {
        let is_held = |server: &usize| self.tell(*server, &["GET", LOCK]).split('/').next() == Some(holder);
        (0..self.all.len()).filter(is_held).count()
    }
}

#[test]
fn redis_cli_at_one_of_five_is_one_vote() {
    let Some(redis) = Servers::start("a lock shared with redis-cli") else { return };
    let mut fleet = Fleet::new(Folder::new());
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "2s"]);
    fleet.start_nodes(1, "redlock", redis.addresses());
    let n1 = fleet.node(&fleet.leader());
    let leads_on = |for_so_long: Duration| {
        let until = Instant::now() + for_so_long;
        while Instant::now() < until {
            assert!(http::leads(n1));
            sleep(Duration::from_millis(100));
        }
    };
    let leads_never = |for_so_long: Duration| {
        let until = Instant::now() + for_so_long;
        while Instant::now() < until {
            assert!(!http::leads(n1));
            sleep(Duration::from_millis(100));
        }
    };
    let first = fleet.number("shop:1");

    // Ours has all five, and excludes redis-cli at each.
    assert_eq!(redis.held_by("n1"), 5);
    assert_eq!((0..5).filter(|server| redis.lock(*server)).count(), 0);

    // Losing one vote changes nothing, and ours leaves it alone, for longer than a lease lasts.
    let steal = |server| redis.tell(server, &["SET", LOCK, "stranger", "PX", "600000"]);
    assert_eq!(steal(4), "OK");
    leads_on(2 * LEASE);
    assert_eq!((redis.held_by("stranger"), redis.held_by("n1")), (1, 4));

    // Without a majority ours stops leading, releases its locks, and cannot lead again.
    assert_eq!((steal(3), steal(2)), ("OK".to_owned(), "OK".to_owned()));
    eventually("our node leads no more", LEASE, || (!http::leads(n1)).then_some(()));
    leads_never(2 * LEASE);
    assert_eq!(redis.held_by("stranger"), 3);
    assert_eq!(http::next(n1, "shop:2").map(|a| a.status), Some(409));

    // A vote that is given back makes ours the holder of three.
    redis.tell(3, &["DEL", LOCK]);
    eventually("our node leads again", SOON, || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");

    // When ours resigns, the votes are free at once, and it stays away for a lease: redis-cli may take them.
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    for server in [0, 1, 3] {
        eventually("redis-cli has the vote", LEASE / 2, || redis.lock(server).then_some(()));
    }
    leads_never(2 * LEASE);
    (0..5).for_each(|server| drop(redis.tell(server, &["DEL", LOCK])));
    eventually("our node leads once more", SOON, || http::leads(n1).then_some(()));
    let third = fleet.number("shop:3");
    assert_eq!(accepted(&fleet.audit(&[])), [first, second, third]);
}
