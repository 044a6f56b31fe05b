//! Faults of drills that need more than a signal: a service with several members, and clocks.

use super::{
    common::{Folder, servers},
    drills::{drilled, example},
};
use std::{fs, path::Path};

/// The example's file with another text, beside nothing else: its folder's files are named by their whole path.
fn with(name: &str, file: &str, changes: &[(&str, &str)], folder: &Folder) -> String {
    let path = example(name, file);
    let mut text = fs::read_to_string(&path).expect("the example");
    for (from, to) in changes {
        assert!(text.contains(from), "{from} in {}", path.display());
        text = text.replace(from, to);
    }
    folder.write(file, text)
}

fn beside(name: &str, file: &str) -> String {
    example(name, file).canonicalize().expect("it is there").display().to_string()
}

#[test]
fn etcd_with_three_members() {
    let what = "the drill on three members of etcd";
    let package = Path::new("/usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency");
    let found = [servers::find("etcd", "etcd-server", what), servers::find("go", "golang-go", what)];
    let library = servers::find_file(package, "golang-etcd-server-dev", what);
    if library.is_none() || found.iter().any(Option::is_none) {
        return;
    }
    let (folder, program) = (Folder::new(), beside("etcd-go", "main.go"));
    let changes = [("etcd = {}", "etcd = { members = 3 }"), ("main.go", &program)];
    let file = with("etcd-go", "drill.toml", &changes, &folder);
    let (code, said) = drilled(file.as_ref(), "gc-pause", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    let file = with("etcd-go", "fenced.toml", &changes, &folder);
    let (code, said) = drilled(file.as_ref(), "isolate-leader,service-restart,service-leader-restart", &folder);
    assert!(code == Some(0) && said.contains("3 runs, all of them pass"), "{code:?}\n{said}");
}

#[test]
fn zookeeper_with_three_members() {
    let what = "the drill on three members of ZooKeeper";
    let found = [
        servers::find_zookeeper(what),
        servers::find("initdb", "postgresql", what),
        servers::find("python3", "python3-venv", what),
    ];
    if found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let beside = ["requirements.txt", "billing.py", "schema.sql"].map(|file| (file, beside("kazoo", file)));
    let mut changes = vec![("zookeeper = {}", "zookeeper = { members = 3 }")];
    changes.extend(beside.iter().map(|(file, path)| (*file, path.as_str())));
    let file = with("kazoo", "fenced.toml", &changes, &folder);
    let (code, said) = drilled(file.as_ref(), "service-leader-restart", &folder);
    assert_eq!(code, Some(0), "{said}");
}

/// It takes one member of the service that cannot be reached for the end of the leader.
const ONE_IS_ALL: &str = r#"
lead() {
  echo {node} leads
  while curl -sf -X POST http://{store}/ >/dev/null; do sleep 0.05; done
}
ask() { curl -sf -m 2 http://$1/v3/kv/range -d '{"key":"bGVhZGVy"}' >/dev/null; }
[ {number} = 1 ] && lead
while ask {etcd.1} && ask {etcd.2} && ask {etcd.3}; do sleep 0.1; done
lead
"#;

#[test]
fn a_fleet_that_takes_one_member_for_the_service_is_found() {
    let what = "the drill of a fleet that takes one member for the service";
    let found = [servers::find("etcd", "etcd-server", what), servers::find("curl", "curl", what)];
    if found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let file = format!(
        "[fleet]\nmembers = 2\ncommand = [\"sh\", \"-c\", '''{ONE_IS_ALL}''']\nlease = \"1s\"\n[service]\netcd = {{ members = 3 }}\n\
         [store]\nhttp = {{}}\n[log]\nelected = \"leads\"\ndeposed = []\n"
    );
    let file = folder.write("fleet.toml", file);
    let (code, said) = drilled(file.as_ref(), "steady", &folder);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = drilled(file.as_ref(), "service-leader-restart", &folder);
    assert!(code == Some(1) && said.contains("leaders_acting_by_effect"), "{code:?}\n{said}");
}
