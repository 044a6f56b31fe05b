//! Drills of the examples, as their documentation tells people to write them, and of fleets that are broken on purpose.

use super::common::{Folder, fencepost, program, servers, text};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub fn example(name: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/drills").join(name).join(file)
}

/// The exit code and the report of one drill.
pub fn drilled(file: &Path, scenario: &str, folder: &Folder) -> (Option<i32>, String) {
    let (file, to) = (file.to_str().expect("a name"), folder.file("drill"));
    // It takes longer than other commands may.
    let done = program().args(["drill", file, scenario, "--dir", &to]).output().expect("it starts");
    (done.status.code(), text(&done.stdout) + &text(&done.stderr))
}

/// Without a fence a former leader's write is accepted; with one it is refused, and the drill passes.
fn is_held_by_its_fence(name: &str, scenario: &str) {
    let folder = Folder::new();
    let (code, said) = drilled(&example(name, "drill.toml"), scenario, &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{name}: {code:?}\n{said}");
    let (code, said) = drilled(&example(name, "fenced.toml"), scenario, &folder);
    assert_eq!(code, Some(0), "{name}, fenced:\n{said}");
    if scenario.starts_with("gc-pause") {
        assert_eq!(said.matches("the stale write was refused").count(), scenario.split(',').count(), "{said}");
    }
}

#[test]
fn kazoo_on_zookeeper_writes_to_postgres() {
    let what = "the drill of kazoo's Election";
    let found = [servers::find_zookeeper(what), servers::find("initdb", "postgresql", what), python(what)];
    if found.iter().all(Option::is_some) {
        is_held_by_its_fence("kazoo", "gc-pause");
    }
}

#[test]
fn redis_py_s_lock() {
    let what = "the drill of redis-py's Lock";
    let found = [servers::find("redis-server", "redis-server", what), python(what)];
    if found.iter().all(Option::is_some) {
        is_held_by_its_fence("redis-lock", "gc-pause,late-write");
        let folder = Folder::new();
        let (code, said) = drilled(&example("redis-lock", "keys.toml"), "gc-pause", &folder);
        assert!(code == Some(1) && said.contains("the stale write was accepted"), "{code:?}\n{said}");
    }
}

#[test]
fn ioredis_with_two_scripts() {
    let what = "the drill of ioredis";
    let found = [servers::find("redis-server", "redis-server", what), servers::find("npm", "npm", what)];
    if found.iter().all(Option::is_some) {
        is_held_by_its_fence("ioredis", "gc-pause");
    }
}

#[test]
fn etcd_s_own_package_in_go() {
    let what = "the drill of etcd's package concurrency";
    let package = Path::new("/usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency");
    let found = [servers::find("etcd", "etcd-server", what), servers::find("go", "golang-go", what)];
    let library = servers::find_file(package, "golang-etcd-server-dev", what);
    if library.is_some() && found.iter().all(Option::is_some) {
        is_held_by_its_fence("etcd-go", "gc-pause");
    }
}

#[test]
fn consul_s_own_command() {
    let what = "the drill of `consul lock`";
    let found = [servers::find_consul(what), servers::find("curl", "curl", what)];
    if found.iter().all(Option::is_some) {
        is_held_by_its_fence("consul-lock", "gc-pause");
    }
}

#[test]
fn client_go_on_a_lease() {
    let what = "the drill of client-go's leaderelection";
    let found = [servers::find_kubernetes(what), servers::find("etcd", "etcd-server", what)];
    // The compiler of Kubernetes' source, which the example is compiled in, too.
    let go = servers::find_file(Path::new("/usr/lib/go-1.19/bin/go"), "golang-1.19-go", what);
    if go.is_some() && found.iter().all(Option::is_some) {
        is_held_by_its_fence("client-go", "gc-pause");
    }
}

#[test]
fn curator_s_leader_selector() {
    let what = "the drill of Curator's LeaderSelector";
    let found = [servers::find_zookeeper(what), servers::find("javac", "default-jdk-headless", what)];
    let recipes = Path::new("/usr/share/java/curator-recipes.jar");
    let library = servers::find_file(recipes, "libcurator-recipes-java", what);
    if library.is_some() && found.iter().all(Option::is_some) {
        is_held_by_its_fence("curator", "gc-pause");
    }
}

/// The lock lasts as long as its session, so a leader that stops keeps it; one that is cut off does not.
#[test]
fn postgres_s_advisory_lock() {
    let what = "the drill of an advisory lock";
    if servers::find("initdb", "postgresql", what).is_some()
        && servers::find("psql", "postgresql-client", what).is_some()
    {
        is_held_by_its_fence("advisory-lock", "isolate-leader");
    }
}

/// RedBeat checks its lock once in a tick, and the broker takes whatever is sent after that. A scheduler that cannot reach its lock
/// sends nothing.
#[test]
fn celery_s_beat_with_redbeat() {
    let what = "the drill of Celery's beat";
    let found = [servers::find("redis-server", "redis-server", what), python(what)];
    if found.iter().all(Option::is_some) {
        breaks_and_holds("redbeat", "gc-pause", "isolate-leader,graceful-step-down");
    }
}

/// Patroni without a watchdog: a PostgreSQL that was stopped with it takes writes until Patroni has learnt that another one leads.
/// One that is cut off from etcd stops before its successor begins.
#[test]
fn patroni_on_etcd() {
    let what = "the drill of Patroni";
    let found = [
        servers::find("etcd", "etcd-server", what),
        servers::find("initdb", "postgresql", what),
        servers::find("psql", "postgresql-client", what),
        python(what),
    ];
    // A Python of another place may be closed to the user that PostgreSQL runs as, and Debian's makes no environment without this.
    let python = servers::find_file(Path::new("/usr/share/python-wheels"), "python3-venv", what);
    if python.is_some() && found.iter().all(Option::is_some) {
        breaks_and_holds("patroni", "gc-pause-between-writes", "isolate-leader");
    }
}

/// A former leader's write is accepted in one scenario, and none is in the others.
fn breaks_and_holds(name: &str, breaks: &str, holds: &str) {
    let folder = Folder::new();
    let (code, said) = drilled(&example(name, "drill.toml"), breaks, &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{name}: {code:?}\n{said}");
    let (code, said) = drilled(&example(name, "drill.toml"), holds, &folder);
    assert_eq!(code, Some(0), "{name}, {holds}:\n{said}");
}

/// Whoever is among LEADS leads, and writes to a store of its own once it is asked; the others can take over, but end, and can
/// again after a while.
const OWN_STORES: &str = r#"
[fleet]
command = ["sh", "-c", """
case LEADS in *{node}*) echo leads;; *) if mkdir {data}/once; then echo can lead; exit; fi; sleep 4; echo can lead; sleep 600;; esac
while :; do [ -e {dir}/{port} ] && echo wrote; sleep 0.05; done
"""]
lease = "1s"
[store]
log = { accepted = "wrote" }
[log]
elected = "leads"
deposed = []
ready = "can lead"
pause_at = "wrote"
[load]
command = ["sh", "-c", "touch {dir}/{port}; sleep 600"]
"#;

#[test]
fn stores_of_the_members_own_are_judged_by_their_logs_once_all_are_ready() {
    let folder = Folder::new();
    let (code, said) =
        drilled(folder.write("two.toml", OWN_STORES.replace("LEADS", "n1n2")).as_ref(), "steady", &folder);
    assert!(code == Some(1) && said.contains("leaders_acting_by_effect"), "{code:?}\n{said}");
    let (code, said) = drilled(folder.write("one.toml", OWN_STORES.replace("LEADS", "n1")).as_ref(), "steady", &folder);
    assert_eq!(code, Some(0), "{said}");
    // They are started again after a second, and say so after four; then the leader is watched for a lease, and everybody for four
    // seconds. Otherwise the fault would have come after what the plan says.
    let (lasted, works) =
        (in_steady(&folder, "history.jsonl", "t_us") / 1_000, in_steady(&folder, "plan.json", "works_ms"));
    assert!(works < 4_000 && lasted >= 5_000 + 1_000 + 4_000, "{lasted} ms, of which {works} before the fault");
    let ends = OWN_STORES.replace("LEADS", "n1").replace("; sleep 600\"]", "\"]");
    let (code, said) = drilled(folder.write("ends.toml", ends).as_ref(), "steady", &folder);
    assert!(code == Some(2) && said.contains("the client of n1 has ended"), "{code:?}\n{said}");
}

/// The last number of that name in a file of the run.
fn in_steady(folder: &Folder, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(folder.path().join("drill/steady/0").join(file)).expect("a file of the run");
    let (_, after) = text.rsplit_once(&format!("\"{name}\":")).expect("a field");
    after.trim().chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
}

/// The first one leads at once; the last one listens after four seconds, and is well, and says so, after six.
const STARTS_LATE: &str = r#"
import http.client, http.server, threading, time
start = time.monotonic()
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204 if time.monotonic() > start + wait + 2 else 503)
        self.end_headers()
def lead():
    print("leads", flush=True)
    while True:
        store = http.client.HTTPConnection("{store}")
        store.request("POST", "/")
        store.getresponse()
        time.sleep(0.1)
if {number} == 1: threading.Thread(target=lead).start()
wait = 4 if {number} == 3 else -2
time.sleep(max(wait, 0))
server = http.server.HTTPServer(("127.0.0.1", {port}), Health)
threading.Thread(target=server.serve_forever).start()
time.sleep(max(start + wait + 2 - time.monotonic(), 0))
print("well", flush=True)
"#;

#[test]
fn nothing_is_done_to_the_leader_before_all_members_have_started() {
    if servers::find("python3", "python3", "the drill of a fleet that starts slowly").is_none() {
        return;
    }
    let folder = Folder::new();
    for (ready, after_ms) in [("{ port = true }", 4_000), ("{ http = \"/healthz\" }", 6_000), ("\"well\"", 6_000)] {
        let file = format!(
            "[fleet]\ncommand = [\"python3\", \"-S\", \"-c\", '''{STARTS_LATE}''']\nlease = \"1s\"\nready = {ready}\n\
             [store]\nhttp = {{}}\n[log]\nelected = \"leads\"\ndeposed = []\n"
        );
        let (code, said) = drilled(folder.write("fleet.toml", file).as_ref(), "steady", &folder);
        assert_eq!(code, Some(0), "{ready}: {said}");
        let (lasted, works) =
            (in_steady(&folder, "history.jsonl", "t_us") / 1_000, in_steady(&folder, "plan.json", "works_ms"));
        // The leader works for what the plan says, and is watched for a lease and four seconds.
        assert!(lasted >= after_ms + works + 5_000, "{ready}: {lasted} ms, of which {works} before the fault");
    }
}

fn python(what: &str) -> Option<PathBuf> {
    servers::find("python3", "python3-venv", what)
}

/// A fleet of shell scripts that ask nobody: each says that it leads, and writes.
pub fn everybody(folder: &Folder, mark: &str) -> PathBuf {
    let script = format!("echo leads {mark}; while curl -sf -X POST http://{{store}}/ >/dev/null; do sleep 0.05; done");
    let file = format!(
        "[fleet]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nlease = \"1s\"\n[service]\nredis = {{}}\n[store]\nhttp = {{}}\n\
         [log]\nelected = \"leads\"\ndeposed = []\n"
    );
    folder.write("fleet.toml", file).into()
}

#[test]
fn two_that_lead_at_once_are_found_though_nothing_goes_wrong() {
    let what = "the drill of leaders that ask nobody";
    let found = [servers::find("redis-server", "redis-server", what), servers::find("curl", "curl", what)];
    if found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let (code, said) = drilled(&everybody(&folder, "at once"), "steady", &folder);
    assert!(code == Some(1) && said.contains("leaders_acting_by_effect"), "{code:?}\n{said}");
}

/// It checks its lock, says so, and works for a moment before it writes.
pub const CHECKS_FIRST: &str = r#"
ask() { redis-cli -p {redis.port} "$@"; }
while :; do
  if [ "$(ask SET lock {node} NX PX 1000)" = OK ]; then
    echo {node} leads
    while [ "$(ask GET lock)" = {node} ]; do
      ask PEXPIRE lock 1000 >/dev/null
      echo checked
      sleep 0.1
      curl -sf -X POST http://{store}/ >/dev/null
    done
    echo {node} leads no more
  fi
  sleep 0.1
done
"#;

#[test]
fn a_leader_is_stopped_at_a_line_of_its_log() {
    let what = "a pause at a line of a log";
    let found = [servers::find("redis-server", "redis-server", what), servers::find("curl", "curl", what)];
    if found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let file = format!(
        "[fleet]\ncommand = [\"sh\", \"-c\", '''{CHECKS_FIRST}''']\nlease = \"1s\"\n[service]\nredis = {{}}\n[store]\nhttp = {{}}\n\
         [log]\nelected = \"leads\"\ndeposed = \"leads no more\"\npause_at = \"checked\"\n"
    );
    let file = folder.write("fleet.toml", file);
    let (code, said) = drilled(file.as_ref(), "pause-at-line", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
}

#[test]
fn what_cannot_be_drilled_is_said_before_anything_starts() {
    let folder = Folder::new();
    let said = |toml: &str, more: &[&str]| {
        let file = folder.write("wrong.toml", toml);
        let done =
            fencepost(["drill", &file, "--dir", &folder.file("none")].iter().copied().chain(more.iter().copied()));
        assert_eq!(done.status.code(), Some(64), "{}", text(&done.stderr));
        let why: String = text(&done.stderr).lines().filter(|line| !line.contains(" is left out: ")).collect();
        assert!(why.starts_with("fencepost: ") && why.matches("fencepost: ").count() == 1, "{why}");
        why
    };
    let good = "[fleet]\ncommand = \"true\"\n[store]\nhttp = {}\n[log]\nelected = \"leads\"\ndeposed = []\n";
    assert!(said(&good.replace("command = \"true\"\n", ""), &[]).contains("neither `command` nor `image`"));
    assert!(said(good, &["isolate-leader"]).contains("the fleet has no `[service]`"));
    assert!(said(good, &["gc-pauze"]).contains("gc-pause"));
    assert!(said(&good.replace("leads", "{"), &[]).contains("`[log]`: `{` opens a brace"));
    assert!(said(&format!("{good}preset = \"klog2\"\n"), &[]).contains("is no preset"));
    for logger in ["zap", "slog", "Logback", "json"] {
        let why = said(&format!("{good}preset = \"{logger}\"\n"), &[]);
        assert!(why.contains("lines of any logger are read without one; say by `elected` and `deposed`"), "{why}");
    }
    let list = fencepost(["drill", "--list"]);
    assert!(list.status.success() && text(&list.stdout).contains("late-write"));
}
