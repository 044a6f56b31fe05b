//! Drills of what is late on the wire, or held back there: answers of the service, and writes in a protocol that a drill does not know.

use super::{
    common::{Folder, servers},
    drills::{drilled, example},
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
    let package = std::path::Path::new("/usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency");
    if servers::find_file(package, "golang-etcd-server-dev", what).is_none() || found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let (code, said) = drilled(&example("etcd-go", "drill.toml"), "late-answer", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    let (code, said) = drilled(&example("etcd-go", "fenced.toml"), "late-answer", &folder);
    assert_eq!(code, Some(0), "{said}");
}
