//! Drills of what is late on the wire, or held back there: answers of the service, and writes in a protocol that a drill does not know.

use super::{
    common::{Folder, servers},
    drills::{drilled, example},
};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

/// It renews its lease beside its work, and trusts it for so long from COUNTS.
const RENEWS: &str = r#"
import http.client, socket, threading, time

class Redis:
    def __init__(self):
        self.answers = socket.create_connection(("{redis.host}", {redis.port})).makefile("rwb", buffering=0)
    def ask(self, command):
        self.answers.write(command.encode() + b"\r\n")
        return self.answers.readline().strip()

own = """EVAL "if redis.call('GET', 'lock') == ARGV[1] then return redis.call('PEXPIRE', 'lock', 2000) end return 0" 0 {node}"""
redis, until = Redis(), 0

def renew():
    global until
    while time.monotonic() < until:
        time.sleep(0.2)
        sent = time.monotonic()
        if redis.ask(own) != b":1":
            return
        answered = time.monotonic()
        until = COUNTS + 1.9

while True:
    sent = time.monotonic()
    if redis.ask("SET lock {node} NX PX 2000") == b"+OK":
        answered = time.monotonic()
        until = COUNTS + 1.9
        print("{node} leads", flush=True)
        renewing = threading.Thread(target=renew)
        renewing.start()
        store = http.client.HTTPConnection("{store.host}", {store.port})
        while time.monotonic() < until:
            store.request("POST", "/")
            store.getresponse().read()
            time.sleep(0.02)
        print("{node} leads no more", flush=True)
        renewing.join()
    time.sleep(0.02)
"#;

fn python(script: &str, rest: &str) -> String {
    format!(
        "[fleet]\ncommand = [\"python3\", \"-S\", \"-c\", '''{script}''']\nlease = \"2s\"\n[service]\nredis = {{}}\n{rest}\n\
         [log]\nelected = \"leads\"\ndeposed = \"leads no more\"\n"
    )
}

/// What is needed for such fleets.
fn has_python_and_redis(what: &str) -> bool {
    let found = [servers::find("redis-server", "redis-server", what), servers::find("python3", "python3", what)];
    found.iter().all(Option::is_some)
}

#[test]
fn a_lease_that_is_counted_from_the_answer_is_found_by_answers_that_are_late() {
    if !has_python_and_redis("the drill of late answers") {
        return;
    }
    let folder = Folder::new();
    let fleet = |counts: &str| python(&RENEWS.replace("COUNTS", counts), "[store]\nhttp = {}");
    let from_the_answer = folder.write("answered.toml", fleet("answered"));
    let (code, said) = drilled(from_the_answer.as_ref(), "late-answer", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    // No other cut finds it: whoever is cut off has heard the last answer at once.
    let (code, said) = drilled(from_the_answer.as_ref(), "isolate-leader", &folder);
    assert_eq!(code, Some(0), "{said}");
    let from_the_request = folder.write("sent.toml", fleet("sent"));
    let (code, said) = drilled(from_the_request.as_ref(), "late-answer", &folder);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn etcd_s_client_counts_from_the_answer_and_a_fence_makes_up_for_it() {
    let what = "the drill of late answers of etcd";
    let found = [servers::find("etcd", "etcd-server", what), servers::find("go", "golang-go", what)];
    let package = Path::new("/usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency");
    if servers::find_file(package, "golang-etcd-server-dev", what).is_none() || found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let (code, said) = drilled(&example("etcd-go", "drill.toml"), "late-answer", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    let (code, said) = drilled(&example("etcd-go", "fenced.toml"), "late-answer", &folder);
    assert_eq!(code, Some(0), "{said}");
}

/// It checks its lock before each write, which is a line to a store of its own protocol, and tells what came of it.
const WRITES_LINES: &str = r#"
import socket, time

def connect(host, port):
    return socket.create_connection((host, port)).makefile("rwb", buffering=0)

def ask(server, line):
    server.write(line.encode() + b"\r\n")
    answer = server.readline().strip().decode()
    return server.readline().strip().decode() if answer.startswith("$") and answer != "$-1" else answer

redis, store = connect("{redis.host}", {redis.port}), connect("{store.host}", {store.port})
while True:
    if ask(redis, "SET lock {node} NX PX 1500") == "+OK":
        token = ask(redis, "INCR token")[1:]
        print("{node} leads", flush=True)
        while ask(redis, "GET lock") == "{node}" and ask(redis, "PEXPIRE lock 1500"):
            said = ask(store, "put " + token)
            print("the store says", said, flush=True)
            if said != "stored":
                break
            ask(store, "get")
            time.sleep(0.02)
        print("{node} leads no more", flush=True)
    time.sleep(0.02)
"#;

/// A store of lines: `put TOKEN` is answered with `stored`, or with `stale` if it is fenced and has seen a higher token.
fn store_of_lines(is_fenced: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = listener.local_addr().expect("its address");
    let highest = Arc::new(Mutex::new(0u64));
    let serve = move |mut stream: TcpStream| {
        let highest = highest.clone();
        let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
        thread::spawn(move || {
            while let Some(Ok(line)) = lines.next() {
                let mut highest = highest.lock().expect("no thread panics");
                let token = line.strip_prefix("put ").map(|token| token.parse::<u64>().expect("a token"));
                let is_stale = is_fenced && token.is_some_and(|token| token < *highest);
                *highest = token.unwrap_or(0).max(*highest);
                let answered = stream.write_all(if is_stale { b"stale\n" } else { b"stored\n" });
                // The member may have been killed.
                if answered.is_err() {
                    break;
                }
            }
        });
    };
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    at
}

#[test]
fn a_write_is_held_back_by_its_text_if_the_store_is_not_known() {
    if !has_python_and_redis("the drill of a store of lines") {
        return;
    }
    let folder = Folder::new();
    let drill = |is_fenced: bool, refused: &str, scenarios: &str| {
        let store = format!(
            "[store]\nlog = {{ accepted = \"says stored\", {refused}address = \"{}\", write = \"put \" }}",
            store_of_lines(is_fenced)
        );
        drilled(folder.write("fleet.toml", python(WRITES_LINES, &store)).as_ref(), scenarios, &folder)
    };
    for scenario in ["gc-pause", "late-write"] {
        let (code, said) = drill(false, "", scenario);
        assert!(code == Some(1) && said.contains("no_stale_write"), "{scenario}: {code:?}\n{said}");
        assert!(said.contains("the stale write was accepted"), "{said}");
    }
    let (code, said) = drill(true, "refused = \"says stale\", ", "gc-pause,late-write");
    assert!(code == Some(0) && said.matches("the stale write was refused").count() == 2, "{code:?}\n{said}");
    // Nobody says what came of the write.
    let (code, said) = drill(true, "", "gc-pause");
    assert!(code == Some(2) && said.contains("neither accepted nor refused"), "{code:?}\n{said}");
}
