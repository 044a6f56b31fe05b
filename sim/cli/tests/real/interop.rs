//! Interoperation: our nodes share an election, a lock and a ledger with programs by others.

use super::common::{
    Folder, Process, SOON, eventually,
    fleet::{Fleet, accepted},
    http, run, servers, text,
};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// The election's name for `concurrency.NewElection`: the library appends a `/` and the lease.
const ELECTION: &str = "fencepost/leader";
/// The lock's key.
const LOCK: &str = "leader:fencepost";

/// `etcdctl elect` as a candidate.
struct Etcdctl {
    program: PathBuf,
    etcd: SocketAddr,
}

impl Etcdctl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.etcd.to_string()]).args(arguments);
        command
    }

    fn elect(&self, folder: &Folder, name: &str) -> Process {
        let log = folder.path().join(format!("{name}.log"));
        Process::start(self.command(&["elect", ELECTION, name]), &log)
    }

    /// Candidates' values in the order of the queue.
    fn queue(&self) -> Vec<String> {
        let output = run(self.command(&["get", "--prefix", "--sort-by=CREATE", "--print-value-only", ELECTION]));
        text(&output.stdout).lines().map(str::to_owned).collect()
    }
}

/// etcdctl prints key and value of the leader that it has become.
fn has_won(candidate: &Process, name: &str) -> bool {
    let log = candidate.log();
    let lines: Vec<_> = log.lines().collect();
    lines.windows(2).any(|w| w[0].starts_with(&format!("{ELECTION}/")) && w[1] == name)
}

#[test]
fn etcdctl_and_our_node_wait_behind_each_other() {
    const WHAT: &str = "an election shared with etcdctl";
    let folder = Folder::new();
    let Some(program) = servers::find("etcdctl", "etcd-client", WHAT) else { return };
    let Some(etcd) = servers::etcd(&folder, WHAT, servers::Tls::Off) else { return };
    let ctl = Etcdctl { program, etcd: etcd.address };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "3s"]);
    fleet.start_nodes(1, "etcd", etcd.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");

    // It waits behind ours, for longer than the lease lasts.
    let mut stranger = ctl.elect(&fleet.folder, "stranger");
    eventually("both are in the queue", SOON, || (ctl.queue() == ["n1", "stranger"]).then_some(()));
    sleep(Duration::from_secs(4));
    assert!(!has_won(&stranger, "stranger") && http::leads(n1), "{}", stranger.log());

    // It wins when ours resigns; ours goes to the end of the queue, and issues no numbers.
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    let resigned = Instant::now();
    eventually("etcdctl wins", SOON, || has_won(&stranger, "stranger").then_some(()));
    assert!(resigned.elapsed() < Duration::from_secs(3), "handed over, not run out: {:?}", resigned.elapsed());
    eventually("ours queues again", SOON, || (ctl.queue() == ["stranger", "n1"]).then_some(()));
    let refused = http::next(n1, "shop:2").expect("an answer");
    assert_eq!((refused.status, &refused.body["leader"]), (409, &serde_json::Value::Null));
    sleep(Duration::from_secs(4));
    assert!(!http::leads(n1) && !stranger.has_ended());

    // Ours takes over when it ends.
    stranger.signal("INT");
    stranger.wait(SOON);
    eventually("our node leads", Duration::from_secs(5), || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");
    assert!(second > first);

    // And once more when ours ends for good.
    let stranger = ctl.elect(&fleet.folder, "second");
    eventually("both are in the queue", SOON, || (ctl.queue() == ["n1", "second"]).then_some(()));
    assert_eq!(accepted(&fleet.audit(&[])), [first, second]);
    eventually("etcdctl wins", SOON, || has_won(&stranger, "second").then_some(()));
}

#[test]
fn consul_lock_and_our_node_exclude_each_other() {
    const WHAT: &str = "a lock shared with `consul lock`";
    let folder = Folder::new();
    let Some(consul) = servers::consul(&folder, WHAT) else { return };
    let program = servers::look("consul").expect("it runs");
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "10s", "--retry-period", "1s"]);
    fleet.start_nodes(1, "consul", consul.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");
    // It reports that it holds the lock, and holds it until asked to end.
    let lock = |patience: &str, name: &str| {
        let mut command = Command::new(&program);
        let address = format!("-http-addr={}", consul.address);
        command.args(["lock", &address, &format!("-timeout={patience}"), "-child-exit-code", "fencepost/leader"]);
        command.arg("echo held; exec sleep 600");
        Process::start(command, &fleet.folder.path().join(name))
    };

    // Ours excludes it.
    let mut excluded = lock("4s", "excluded.log");
    assert_ne!(excluded.wait(SOON).code(), Some(0), "{}", excluded.log());
    assert!(!excluded.log().contains("held") && http::leads(n1), "{}", excluded.log());

    // It takes the lock when ours resigns, and excludes ours as long as it holds it.
    let mut held = lock("30s", "held.log");
    sleep(Duration::from_secs(1));
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    eventually("consul lock holds the lock", SOON, || held.log().contains("held").then_some(()));
    for _ in 0..60 {
        assert!(!http::leads(n1) && !held.has_ended(), "{}", held.log());
        sleep(Duration::from_millis(100));
    }
    assert_eq!(http::next(n1, "shop:2").map(|a| a.status), Some(409));

    // It gives the lock back when asked to end.
    held.signal("TERM");
    held.wait(SOON);
    eventually("our node leads again", SOON, || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");
    assert!(second > first);
    assert_eq!(accepted(&fleet.audit(&[])), [first, second]);
}

#[test]
fn client_go_and_our_node_exclude_each_other() {
    const WHAT: &str = "a Lease shared with client-go";
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/seat-on-servers/compare/leader.go");
    let main = std::fs::read_to_string(main).expect("the program is there");
    let folder = Folder::new();
    let Some(server) = servers::kubernetes(&folder, WHAT) else { return };
    let Some(program) = servers::find_client_go("leader", &main, WHAT) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "15s"]);
    fleet.start_nodes(1, "k8s", server.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");

    // Ours excludes it: for longer than its lease, it does not lead.
    let mut command = Command::new(&program);
    command.args([&format!("http://{}", server.address), "fencepost-leader", "stranger"]);
    let log = fleet.folder.path().join("stranger.log");
    let file = std::fs::File::create(&log).expect("logs can be written");
    // It ends with its input, and so with this test.
    let mut stranger = command.stdin(Stdio::piped()).stdout(file).stderr(Stdio::null()).spawn().expect("it starts");
    let leads = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("leads"));
    for _ in 0..170 {
        assert!(http::leads(n1) && !leads());
        sleep(Duration::from_millis(100));
    }

    // It takes the Lease when ours resigns, and excludes ours as long as it holds it. Both ask every two seconds: ours may be first again.
    eventually("client-go leads", SOON, || {
        let resigns = http::leads(n1).then(|| http::ask(n1, "POST", "/resign"));
        assert!(resigns.flatten().is_none_or(|answer| [202, 409].contains(&answer.status)));
        leads().then_some(())
    });
    for _ in 0..60 {
        assert!(!http::leads(n1) && stranger.try_wait().is_ok_and(|ended| ended.is_none()));
        sleep(Duration::from_millis(100));
    }
    assert_eq!(http::next(n1, "shop:2").map(|a| a.status), Some(409));

    // Ours leads again once it has not renewed for a lease.
    stranger.kill().and_then(|()| stranger.wait()).expect("it can be killed");
    eventually("our node leads again", SOON, || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");
    assert!(second > first);
    assert_eq!(accepted(&fleet.audit(&[])), [first, second]);
}

/// Python with redis-py; `None`, with a message, if it is not available.
fn redis_py(what: &str) -> Option<Command> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("redis-py");
    let folder = servers::python(folder, &["redis"], "redis.lock", what)?;
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", folder);
    Some(python)
}

/// Takes the lock, reports it, and releases it when asked to end; or reports a timeout.
const HOLD: &str = r#"
import redis, signal, sys, time
lock = redis.Redis(port=int(sys.argv[1])).lock(sys.argv[2], timeout=60, blocking_timeout=float(sys.argv[3]))
if not lock.acquire():
    sys.exit("excluded")
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
print("held", flush=True)
while not ended:
    lock.extend(60, replace_ttl=True)
    time.sleep(0.05)
lock.release()
print("released", flush=True)
"#;

#[test]
fn a_redis_py_lock_and_our_node_exclude_each_other() {
    const WHAT: &str = "a lock shared with redis-py";
    let folder = Folder::new();
    let Some(mut python) = redis_py(WHAT) else { return };
    let Some(redis) = servers::redis(&folder, WHAT, servers::Tls::Off) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "2s"]);
    fleet.start_nodes(1, "redis", redis.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");
    let port = redis.address.port().to_string();

    // Ours excludes it, for longer than the lease lasts.
    python.args(["-c", HOLD, &port, LOCK]);
    let lock = |patience: &str, name: &str| {
        let mut command = Command::new(python.get_program());
        command.args(python.get_args()).arg(patience);
        command.envs(python.get_envs().filter_map(|(k, v)| Some((k, v?))));
        Process::start(command, &fleet.folder.path().join(name))
    };
    let mut excluded = lock("3", "excluded.log");
    assert_eq!(excluded.wait(SOON).code(), Some(1));
    assert!(excluded.log().contains("excluded"), "{}", excluded.log());
    assert!(http::leads(n1));

    // It gets the lock when ours resigns, and excludes ours as long as it holds it.
    let mut held = lock("20", "held.log");
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    eventually("redis-py holds the lock", SOON, || held.log().contains("held").then_some(()));
    for _ in 0..50 {
        assert!(!http::leads(n1) && !held.has_ended(), "{}", held.log());
        sleep(Duration::from_millis(100));
    }
    assert_eq!(http::next(n1, "shop:2").map(|a| a.status), Some(409));

    // Our node never deleted or renewed another's lock: it can still be released.
    assert_eq!(held.end().code(), Some(0), "{}", held.log());
    assert!(held.log().contains("released"));
    eventually("our node leads again", SOON, || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");
    assert_eq!(accepted(&fleet.audit(&[])), [first, second]);
}

#[test]
fn psql_sees_the_ledger() {
    const WHAT: &str = "the ledger as psql sees it";
    const PASSWORD: &str = "only-in-the-environment";
    let folder = Folder::new();
    let Some(postgres) = servers::postgres(&folder, WHAT, servers::Access::Password(PASSWORD)) else { return };
    let Some(redis) = servers::redis(&folder, WHAT, servers::Tls::Off) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.environment.push(("PGPASSWORD".to_owned(), PASSWORD.to_owned()));
    fleet.start_store(&["--postgres", &postgres.url()]);
    fleet.tell_nodes(&["--lease-ttl", "3s"]);
    fleet.start_nodes(2, "redis", redis.address);
    let leader = fleet.leader();
    let token = http::status(fleet.node(&leader))["fence_token"].as_u64().expect("a leader has a token");
    let mut numbers: Vec<u64> = (1..=20).map(|n| fleet.number(&format!("shop:{n}"))).collect();
    let last = numbers[19];

    let ledger = postgres.psql("select name, last_seq, owner_token from sequence where name = 'sequence'");
    assert_eq!(ledger, Ok(format!("sequence|{last}|{token}\n")));
    let resource = postgres.psql("select max_token, owner_node, version from fenced_resource where name = 'sequence'");
    assert_eq!(resource, Ok(format!("{token}|{leader}|20\n")));
    let requests = postgres.psql("select seq from fenced_request where client = 'shop' order by number");
    assert_eq!(requests, Ok(numbers.iter().map(|n| format!("{n}\n")).collect()));

    // A successor's token is higher, and the row has it from the transaction that seals it.
    fleet.nodes.get_mut(&leader).expect("it leads").process.kill();
    let gone = fleet.nodes.remove(&leader).expect("it led");
    let successor = fleet.leader();
    assert_ne!(successor, leader);
    numbers.push(fleet.number("shop:21"));
    let resource = postgres.psql("select max_token, owner_node from fenced_resource where name = 'sequence'");
    assert_eq!(resource, Ok(format!("{}|{successor}\n", token + 1)));
    assert!(!gone.process.log().contains("panicked"));
    assert_eq!(accepted(&fleet.audit(&["--postgres", &postgres.url()])), numbers);
}
