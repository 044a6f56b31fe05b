//! Interoperation on ZooKeeper: our nodes and kazoo's `Election` queue up in one folder.

use super::common::{
    Folder, Process, SOON, eventually,
    fleet::{Fleet, accepted},
    http, servers,
};
use std::{
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

/// The folder of `zk-election`'s queue.
const FOLDER: &str = "/fencepost/latch";
/// Sessions of both; the shortest that ZooKeeper grants.
const SESSION: Duration = Duration::from_secs(4);

/// Stands for election until asked to end. Other recipes' nodes have other names, which kazoo's lock has to be told.
const STAND: &str = r#"
import signal, sys, threading
from kazoo.client import KazooClient
from kazoo.recipe.election import Election
client = KazooClient(hosts="127.0.0.1:" + sys.argv[1], timeout=4)
client.start()
election = Election(client, sys.argv[2], sys.argv[3])
election.lock = client.Lock(sys.argv[2], sys.argv[3], extra_lock_patterns=["-latch-"])
ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
def watch():
    while not election.lock.contenders().count(sys.argv[3]):
        ended.wait(0.05)
    print("queues", flush=True)
threading.Thread(target=watch, daemon=True).start()
def lead():
    print("leads", flush=True)
    while not ended.wait(0.05):
        pass
election.run(lead)
print("released", flush=True)
client.stop()
"#;

fn stand(library: &PathBuf, folder: &Folder, zookeeper: SocketAddr, name: &str) -> Process {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", library).args(["-c", STAND, &zookeeper.port().to_string(), FOLDER, name]);
    Process::start(command, &folder.path().join(format!("{name}.log")))
}

fn says(process: &Process, word: &str) -> Option<()> {
    process.log().lines().any(|line| line == word).then_some(())
}

#[test]
fn a_kazoo_election_and_our_node_wait_behind_each_other() {
    const WHAT: &str = "an election shared with kazoo";
    let folder = Folder::new();
    let packages = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kazoo");
    let Some(library) = servers::python(packages, &["kazoo"], "kazoo.client", WHAT) else { return };
    let Some(zookeeper) = servers::zookeeper(&folder, WHAT) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "4s"]);
    fleet.start_nodes(1, "zookeeper", zookeeper.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");

    // It waits behind ours, for longer than a session lasts.
    let mut stranger = stand(&library, &fleet.folder, zookeeper.address, "stranger");
    eventually("kazoo is in the queue", SOON, || says(&stranger, "queues"));
    sleep(SESSION + Duration::from_secs(1));
    assert!(says(&stranger, "leads").is_none() && http::leads(n1), "{}", stranger.log());

    // It wins when ours resigns; ours goes to the end of the queue, and issues no numbers.
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    let resigned = Instant::now();
    eventually("kazoo wins", SOON, || says(&stranger, "leads"));
    assert!(resigned.elapsed() < Duration::from_secs(3), "handed over, not run out: {:?}", resigned.elapsed());
    let refused = http::next(n1, "shop:2").expect("an answer");
    assert_eq!((refused.status, &refused.body["leader"]), (409, &serde_json::Value::Null));
    sleep(SESSION + Duration::from_secs(1));
    assert!(!http::leads(n1) && !stranger.has_ended());

    // Ours takes over when it ends.
    assert_eq!(stranger.end().code(), Some(0), "{}", stranger.log());
    eventually("our node leads", Duration::from_secs(5), || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");
    assert!(second > first);

    // And kazoo once more when ours ends for good.
    let stranger = stand(&library, &fleet.folder, zookeeper.address, "second");
    eventually("kazoo is in the queue", SOON, || says(&stranger, "queues"));
    assert_eq!(accepted(&fleet.audit(&[])), [first, second]);
    eventually("kazoo wins", SOON, || says(&stranger, "leads"));
}
