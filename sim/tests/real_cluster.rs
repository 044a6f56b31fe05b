//! A fleet of real processes keeps its promise while its leader is paused, cut off and killed: every number is handed out
//! once, in order, and what a former leader still sends is refused; and without fencing it is not.
#![cfg(real_mode)]

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Clients, and how many numbers each asks for at least.
const CLIENTS: usize = 4;
const NUMBERS_EACH: usize = 2_500;
/// From one request of a client to its next, so that the faults fall among them.
const PACE: Duration = Duration::from_millis(8);
/// Nothing that is waited for takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

const PROGRAM: &str = env!("CARGO_BIN_EXE_fencepost");

/// A running `fencepost cluster`.
struct Cluster {
    child: Child,
    folder: PathBuf,
    nodes: Vec<(String, SocketAddr)>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.signal("-INT");
        let _ = self.child.wait();
    }
}

impl Cluster {
    fn start(name: &str, options: &[&str]) -> Cluster {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{name}"));
        let mut command = Command::new(PROGRAM);
        command.args(["cluster", "--lease-ttl", "1s", "--dir"]).arg(&folder).args(options);
        let child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("the program starts");
        let mut cluster = Cluster { child, folder, nodes: Vec::new() };
        cluster.nodes = wait_for("the cluster's card", || {
            let text = fs::read_to_string(cluster.folder.join("cluster.json")).ok()?;
            let card: Value = serde_json::from_str(&text).ok()?;
            let node = |n: &Value| Some((n[0].as_str()?.to_owned(), n[1].as_str()?.parse().ok()?));
            card["nodes"].as_array()?.iter().map(node).collect()
        });
        wait_for("a leader", || cluster.acting());
        cluster
    }

    fn signal(&mut self, signal: &str) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
    }

    /// The token of whoever acts.
    fn acting(&self) -> Option<u64> {
        let token = |address: &SocketAddr| {
            let (_, status) = exchange(&mut connect(*address)?, "GET", "/status", "").ok()?;
            if status["acting"] == true { status["fence_token"].as_u64() } else { None }
        };
        self.nodes.iter().filter_map(|(_, address)| token(address)).max()
    }

    /// Has something happen to the leader, and waits until another leadership acts, be it of the same node.
    fn chaos(&self, arguments: &[&str]) {
        let before = wait_for("a leader", || self.acting());
        let mut command = Command::new(PROGRAM);
        let done =
            command.arg("chaos").args(arguments).arg("--dir").arg(&self.folder).output().expect("the program runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        wait_for(&format!("a successor after {arguments:?}"), || self.acting().filter(|now| *now > before));
    }

    /// Ends the cluster, and gives its store's audit.
    fn end(mut self) -> PathBuf {
        self.signal("-INT");
        let status = self.child.wait().expect("the cluster ends");
        assert!(status.success(), "the cluster ended with {status}");
        let audit = self.folder.join("audit.jsonl");
        let out = fs::File::create(&audit).expect("writable");
        let data = self.folder.join("store.redb");
        let done = Command::new(PROGRAM).args(["audit", "--data"]).arg(data).stdout(out).status();
        assert!(done.expect("the program runs").success());
        audit
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(started.elapsed() < PATIENCE, "{what} did not come within {} s", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(20));
    }
}

fn connect(address: SocketAddr) -> Option<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(1_000))).ok()?;
    stream.set_nodelay(true).ok()?;
    Some(BufReader::new(stream))
}

/// One request on a connection that is kept: status and JSON body.
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

/// Asks for numbers, each until it is answered, until there are enough and `over`. Gives (token, seq) in order.
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
                // Silence, or nobody knows: ask the next one.
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

fn check(audit: &Path) -> Value {
    let judged = Command::new(PROGRAM).args(["check", "--json"]).arg(audit).output().expect("the program runs");
    serde_json::from_slice(&judged.stdout).expect("a report")
}

/// Every sequence number that was accepted, with how often.
fn accepted(audit: &Path) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for line in fs::read_to_string(audit).expect("readable").lines() {
        let event: Value = serde_json::from_str(line).expect("JSON lines");
        if event["event"] == "apply" && event["resource"] == "sequence" && event["verdict"] == "ok" {
            *times.entry(event["seq"].as_u64().expect("a number")).or_default() += 1;
        }
    }
    times
}

/// Says when dropped that it is over.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Numbers are asked for while the leader is paused, cut off and killed.
fn drill(name: &str, options: &[&str]) -> (Vec<Vec<(u64, u64)>>, PathBuf) {
    let cluster = Cluster::start(name, options);
    let (over, answers) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        // However this ends, the clients do too.
        let _over = Over(&over);
        for client in 0..CLIENTS {
            let (cluster, over, answers) = (&cluster, &over, &answers);
            scope.spawn(move || {
                let numbers = ask(client, &cluster.nodes, over);
                answers.lock().expect("no client failed").push(numbers);
            });
        }
        cluster.chaos(&["gc-pause-leader", "--ms", "3000"]);
        cluster.chaos(&["partition-leader", "--secs", "5"]);
        cluster.chaos(&["kill-leader", "--restart-after", "1s"]);
        cluster.chaos(&["gc-pause-leader", "--ms", "3000"]);
        // Long enough for the sleeper to wake and to send what it had in its hands.
        thread::sleep(Duration::from_millis(3_500));
        cluster.chaos(&["resign-leader"]);
    });
    (answers.into_inner().expect("no client failed"), cluster.end())
}

fn holds(name: &str, options: &[&str]) {
    let (answers, audit) = drill(name, options);
    let report = check(&audit);
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
    assert!(distinct.iter().all(|seq| applied.get(seq) == Some(&1)), "an acknowledged write is not in the audit once");
    for numbers in &answers {
        assert!(numbers.is_sorted_by(|a, b| a.1 < b.1), "one client's numbers do not rise");
    }
    eprintln!("{name}: {} numbers, each once, in order; {fenced} stale writes refused", all.len());
}

#[test]
fn on_etcd_every_number_is_handed_out_once() {
    holds("etcd", &["--backend", "etcd"]);
}

#[test]
fn on_redis_every_number_is_handed_out_once() {
    holds("redis", &["--backend", "redis"]);
}

#[test]
fn without_fencing_the_same_drill_hands_out_duplicates() {
    let (_, audit) = drill("etcd-off", &["--backend", "etcd", "--fencing", "off"]);
    let report = check(&audit);
    assert_eq!(report["verdict"], "safety", "{report:#}");
    let twice = accepted(&audit).values().filter(|times| **times > 1).count();
    assert!(twice > 0, "no number was handed out twice");
    eprintln!("etcd-off: {twice} numbers were handed out twice");
}
