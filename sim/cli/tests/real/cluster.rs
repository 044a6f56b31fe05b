//! A fleet of real processes keeps its promise while its leader is paused, cut off and killed: every number is issued
//! once, in order, and a former leader's writes are refused; without fencing they are not.
use super::common::{
    Folder, Process, SOON, eventually, fencepost,
    fleet::accepted,
    http, program, run, say,
    servers::{self, find},
    text,
};
use serde_json::Value;
use sim_real::control::{self, Card};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Number of clients, and the least number of requests of each.
const CLIENTS: usize = 4;
const NUMBERS_EACH: usize = 2_500;
/// Time between a client's requests, so that the faults fall among them.
const PACE: Duration = Duration::from_millis(8);
/// A request without an answer for this long counts as unanswered.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `fencepost cluster`.
struct Cluster {
    process: Process,
    folder: Folder,
    card: Card,
    /// The options that locate its ledgers, and the environment they need.
    keep: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Cluster {
    fn start(options: &[&str], postgres: Option<&servers::Postgres>) -> Cluster {
        let folder = Folder::new();
        let files = folder.file("cluster");
        let mut command = program();
        // Raft's followers wait for up to four times this before they stand, and no pause of the drill may be shorter.
        let lease_ttl = if options.contains(&"raft") { "400ms" } else { "1s" };
        command.args(["cluster", "--lease-ttl", lease_ttl, "--dir", &files]).args(options);
        let (mut keep, mut environment) = (vec!["--data".to_owned(), format!("{files}/store.redb")], Vec::new());
        if let Some(postgres) = postgres {
            keep = vec!["--postgres".to_owned(), postgres.url()];
            environment.push(("PGPASSWORD".to_owned(), PASSWORD.to_owned()));
            command.args(&keep).envs(environment.clone());
        }
        let process = Process::start(command, &folder.path().join("cluster.log"));
        let card = eventually("the cluster says where it is", SOON, || control::card(files.as_ref()).ok());
        let cluster = Cluster { process, folder, card, keep, environment };
        eventually("somebody leads", SOON, || cluster.acting());
        cluster
    }

    /// The nodes that act, with their statuses.
    fn actors(&self) -> impl Iterator<Item = (&str, Value)> {
        let status = |address: &SocketAddr| exchange(&mut connect(*address)?, "GET", "/status", "").ok();
        let statuses = self.card.nodes.iter().filter_map(move |(name, address)| Some((&**name, status(address)?.1)));
        statuses.filter(|(_, status)| status["acting"] == true)
    }

    /// The token of the acting leader; 0 if the protocol has none.
    fn acting(&self) -> Option<u64> {
        self.actors().map(|(_, status)| status["fence_token"].as_u64().unwrap_or_default()).max()
    }

    /// Strikes the leader, and waits until another leadership acts, perhaps of the same node.
    fn chaos(&self, arguments: &[&str]) {
        let before = eventually("somebody leads", SOON, || self.acting());
        let folder = self.folder.file("cluster");
        let done = fencepost([&["chaos"], arguments, &["--dir", &folder]].concat());
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
        eventually(&format!("a successor after {arguments:?}"), SOON, || self.acting().filter(|now| *now > before));
    }

    /// Ends the cluster. Returns its store's audit, and the judgement of it.
    fn end(mut self) -> (String, Value) {
        let ended = self.process.end();
        assert!(ended.success(), "the cluster ended with {ended}: {}", self.process.log());
        let mut command = program();
        command.arg("audit").args(&self.keep).envs(self.environment.clone());
        let audit = run(command);
        assert!(audit.status.success(), "{}", text(&audit.stderr));
        let file = self.folder.write("audit.jsonl", &audit.stdout);
        let judged = fencepost(["check", "--json", &file]);
        (text(&audit.stdout), serde_json::from_slice(&judged.stdout).expect("a report"))
    }
}

const PASSWORD: &str = "the-drill's-password";

fn connect(address: SocketAddr) -> Option<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(1_000))).ok()?;
    stream.set_nodelay(true).ok()?;
    Some(BufReader::new(stream))
}

/// One request on a persistent connection: status and JSON body.
fn exchange(
    connection: &mut BufReader<TcpStream>,
    method: &str,
    path: &str,
    headers: &str,
) -> std::io::Result<(u16, Value)> {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: node\r\ncontent-length: 0\r\n{headers}\r\n");
    connection.get_mut().write_all(request.as_bytes())?;
    let (mut line, mut status, mut length) = (String::new(), 0, 0);
    loop {
        line.clear();
        if connection.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let text = line.trim_end().to_ascii_lowercase();
        if let Some(code) = text.strip_prefix("http/1.1 ") {
            status = code.split(' ').next().and_then(|c| c.parse().ok()).unwrap_or_default();
        } else if let Some(bytes) = text.strip_prefix("content-length: ") {
            length = bytes.parse().unwrap_or_default();
        } else if text.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Asks for numbers, each until it is answered, until there are enough and `over` is set. Returns (token, seq) in
/// order.
fn ask(client: usize, nodes: &[(String, SocketAddr)], over: &AtomicBool) -> Vec<(u64, u64)> {
    let (mut numbers, mut target, mut connection) = (Vec::new(), client % nodes.len(), None);
    while numbers.len() < NUMBERS_EACH || !over.load(Ordering::Relaxed) {
        let name = format!("fencepost-request: client-{client}:{}\r\n", numbers.len() + 1);
        let started = Instant::now();
        loop {
            assert!(
                started.elapsed() < PATIENCE,
                "request {} of client {client} was never answered",
                numbers.len() + 1
            );
            let answer = match &mut connection {
                Some(connection) => exchange(connection, "POST", "/next", &name).ok(),
                None => None,
            };
            match answer {
                Some((200, body)) => {
                    numbers.push((body["token"].as_u64().expect("a token"), body["seq"].as_u64().expect("a number")));
                    break;
                }
                Some((409, body)) if body["leader"].is_string() => {
                    target = nodes.iter().position(|(name, _)| body["leader"] == **name).unwrap_or_default();
                }
                // No answer, or an unknown outcome: ask the next one.
                _ => {
                    target = (target + 1) % nodes.len();
                    thread::sleep(Duration::from_millis(10));
                }
            }
            connection = connect(nodes[target].1);
        }
        thread::sleep(PACE);
    }
    numbers
}

/// Signals the end on drop.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Clients ask for numbers while the leader is paused, cut off, killed, and asked to resign. Returns the numbers by
/// client, the audit and its judgement.
fn drill(options: &[&str], postgres: Option<&servers::Postgres>) -> (Vec<Vec<(u64, u64)>>, String, Value) {
    let cluster = Cluster::start(options, postgres);
    let (over, answers) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        // The clients end whichever way this ends.
        let _over = Over(&over);
        for client in 0..CLIENTS {
            let (cluster, over, answers) = (&cluster, &over, &answers);
            scope.spawn(move || {
                let numbers = ask(client, &cluster.card.nodes, over);
                answers.lock().expect("no client failed").push(numbers);
            });
        }
        cluster.chaos(&["gc-pause-leader", "--ms", "3000"]);
        cluster.chaos(&["partition-leader", "--secs", "5"]);
        cluster.chaos(&["kill-leader", "--restart-after", "1s"]);
        cluster.chaos(&["gc-pause-leader", "--ms", "3000"]);
        // Long enough for the sleeper to wake and to send its pending write.
        thread::sleep(Duration::from_millis(3_500));
        cluster.chaos(&["resign-leader"]);
    });
    let (audit, report) = cluster.end();
    (answers.into_inner().expect("no client failed"), audit, report)
}

fn holds(name: &str, options: &[&str], postgres: Option<&servers::Postgres>) {
    let (answers, audit, report) = drill(options, postgres);
    assert_eq!(report["verdict"], "pass", "{report:#}");
    assert_eq!(report["metrics"]["leaders_acting_by_effect_max"], 1, "{report:#}");
    let fenced = report["metrics"]["writes_fenced"].as_u64().unwrap_or_default();
    assert!(fenced > 0, "no stale write reached the store: {report:#}");
    let all: Vec<u64> = answers.iter().flatten().map(|(_, seq)| *seq).collect();
    assert!(all.len() >= CLIENTS * NUMBERS_EACH);
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), all.len(), "a number was handed out twice");
    let applied = accepted(&audit);
    assert!(applied.is_sorted_by(|a, b| a < b), "accepted numbers do not rise");
    let missing = distinct.iter().find(|seq| applied.binary_search(seq).is_err());
    assert_eq!(missing, None, "an acknowledged write is not in the audit");
    for numbers in &answers {
        assert!(numbers.is_sorted_by(|a, b| a.1 < b.1), "one client's numbers do not rise");
    }
    say(&format!("{name}: {} numbers, each once, in order; {fenced} stale writes refused", all.len()));
}

#[test]
fn on_raft_among_the_nodes_every_number_is_handed_out_once() {
    holds("raft", &["--backend", "raft"], None);
}

#[test]
fn on_etcd_every_number_is_handed_out_once() {
    if find("etcd", "etcd-server", "a cluster on etcd").is_some() {
        holds("etcd", &["--backend", "etcd"], None);
    }
}

#[test]
fn on_redis_every_number_is_handed_out_once() {
    if find("redis-server", "redis-server", "a cluster on Redis").is_some() {
        holds("redis", &["--backend", "redis"], None);
    }
}

#[test]
fn on_redis_with_the_store_on_postgres_too() {
    let what = "a cluster on Redis and PostgreSQL";
    let folder = Folder::new();
    if find("redis-server", "redis-server", what).is_some()
        && let Some(postgres) = servers::postgres(&folder, what, servers::Access::Password(PASSWORD))
    {
        holds("redis and postgres", &["--backend", "redis"], Some(&postgres));
    }
}

#[test]
fn without_fencing_the_same_drill_hands_out_duplicates() {
    if find("etcd", "etcd-server", "a cluster without fencing").is_none() {
        return;
    }
    let (_, audit, report) = drill(&["--backend", "etcd", "--fencing", "off"], None);
    assert_eq!(report["verdict"], "safety", "{report:#}");
    let mut applied = accepted(&audit);
    let all = applied.len();
    applied.sort_unstable();
    applied.dedup();
    assert!(applied.len() < all, "no number was handed out twice");
    say(&format!("without fencing: {} numbers were handed out twice", all - applied.len()));
}

/// A cluster on each service, with the servers that it starts itself: it serves, hands over on request, serves again,
/// and leaves no process behind.
#[test]
fn clusters_on_every_service_serve_hand_over_and_end() {
    const WHAT: &str = "clusters on every service";
    let installed = [
        servers::find_zookeeper(WHAT).is_some(),
        servers::find_consul(WHAT).is_some(),
        servers::find_kubernetes(WHAT).is_some(),
        find("etcd", "etcd-server", WHAT).is_some(),
        find("initdb", "postgresql", WHAT).is_some(),
        find("redis-server", "redis-server", WHAT).is_some(),
    ];
    if installed.contains(&false) {
        return;
    }
    for backend in ["zookeeper", "consul", "kubernetes", "postgres", "pg-advisory", "redlock", "sentinel"] {
        let cluster = Cluster::start(&["--backend", backend], None);
        let number = |name: &str| {
            eventually("a number", SOON, || {
                cluster.card.nodes.iter().find_map(|(_, node)| http::next(*node, name).and_then(|answer| answer.seq()))
            })
        };
        let first = number("shop:1");
        let led = eventually("somebody leads", SOON, || cluster.actors().next().map(|(name, _)| name.to_owned()));
        let resigned = fencepost(["chaos", "resign-leader", "--dir", &cluster.folder.file("cluster")]);
        assert!(resigned.status.success(), "{backend}: {}", text(&resigned.stderr));
        eventually("somebody else leads", SOON, || cluster.actors().any(|(name, _)| name != led).then_some(()));
        let second = number("shop:2");
        let services = cluster.card.services.clone();
        assert!(!services.is_empty() && services.iter().all(|service| TcpStream::connect(service.1).is_ok()));
        let (audit, report) = cluster.end();
        assert_eq!(report["verdict"], "pass", "{backend}: {report:#}");
        assert_eq!(accepted(&audit), [first, second], "{backend}");
        let left: Vec<_> = services.iter().filter(|service| TcpStream::connect(service.1).is_ok()).collect();
        assert!(left.is_empty(), "{backend}: {left:?} still listen");
    }
}

/// As in `cargo real cluster | head -1`.
#[test]
fn a_cluster_whose_output_nobody_reads_any_more_ends() {
    let folder = Folder::new();
    let files = folder.file("cluster");
    // Nothing is left running if this fails.
    let mut command = Command::new("timeout");
    command
        .arg("60")
        .arg(program().get_program())
        .args(["real", "cluster", "--lease-ttl", "400ms"])
        .args(["--dir", &files]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut cluster = command.spawn().expect("it starts");
    let mut out = BufReader::new(cluster.stdout.take().expect("its output"));
    out.read_line(&mut String::new()).expect("it says something");
    let acts = || fencepost(["watch", "--once", "--dir", &files]).status.success().then_some(());
    eventually("somebody acts", SOON, acts);
    drop(out);
    // From now on, a cluster at peace has nothing to say.
    let ended = eventually("it ends", SOON, || cluster.try_wait().expect("it can be asked"));
    assert_eq!(ended.code(), Some(0));
    assert!(control::card(files.as_ref()).is_err(), "its nodes have been stopped, too");
}
