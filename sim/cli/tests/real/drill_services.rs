//! Drills of services with several members, whose leader is killed or cut off from the others, and of one that was running.

use super::{
    common::{Folder, Process, free_address, servers},
    drill_faults::{beside, shell, with},
    drills::drilled,
};
use std::{fs, path::Path};

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
    let (code, said) = drilled(file.as_ref(), "service-leader-restart,service-leader-isolated", &folder);
    assert!(code == Some(0) && said.contains("2 runs, all of them pass"), "{code:?}\n{said}");
}

#[test]
fn consul_with_three_members() {
    let what = "the drill on three members of Consul";
    let found = [servers::find_consul(what), servers::find("curl", "curl", what)];
    if found.iter().any(Option::is_none) {
        return;
    }
    let (folder, campaign) = (Folder::new(), beside("consul-lock", "campaign.sh"));
    // `consul lock` knows one address: each member has a server of its own.
    let own = format!(
        "command = [\"sh\", \"-c\", \"case {{number}} in 1) at={{consul.1}};; 2) at={{consul.2}};; *) at={{consul.3}};; esac; \
         cd $(dirname {campaign}) && exec sh campaign.sh {{node}} $at {{store}}\"]"
    );
    let changes = [
        ("command = \"sh campaign.sh {node} {consul} {store}\"", own.as_str()),
        ("consul = {}", "consul = { members = 3 }"),
    ];
    let file = with("consul-lock", "fenced.toml", &changes, &folder);
    let (code, said) = drilled(file.as_ref(), "gc-pause,service-leader-isolated", &folder);
    assert!(code == Some(0) && said.contains("2 runs, all of them pass"), "{code:?}\n{said}");
}

/// The leader keeps its lease at the member that leads the service, and asks that one whether it still leads; all others stand at
/// the other members.
const ONE_IS_ASKED: &str = r#"
ask() { curl -sf -m 2 http://$1 -d "$2"; }
lead() {
  echo {node} leads
  while ask $1/v3/kv/range '{"key":"bGVhZGVy","serializable":ASKS}' | grep -q "\"lease\":\"$2\""; do
    curl -sf -X POST http://{store}/ >/dev/null
    ask $1/v3/lease/keepalive "{\"ID\":\"$2\"}" >/dev/null
    sleep 0.1
  done
  echo {node} leads no more
}
stand() {
  lease=$(ask $1/v3/lease/grant '{"TTL":"2"}' | sed -n 's/.*"ID":"\([0-9]*\)".*/\1/p')
  put="{\"requestPut\":{\"key\":\"bGVhZGVy\",\"value\":\"eA==\",\"lease\":\"$lease\"}}"
  absent='{"key":"bGVhZGVy","target":"CREATE","result":"EQUAL","createRevision":"0"}'
  ask $1/v3/kv/txn "{\"compare\":[$absent],\"success\":[$put]}" | grep -q succeeded && lead $1 $lease
}
for at in {etcd.1} {etcd.2} {etcd.3}; do
  status=$(ask $at/v3/maintenance/status '{}')
  own=$(echo $status | sed 's/.*"member_id":"\([0-9]*\)".*/\1/')
  case $status in *\"leader\":\"$own\"*) first=$at;; *) others="$others $at";; esac
done
[ {number} = 1 ] && stand $first
[ {number} = 1 ] || sleep 1
while :; do for at in $others; do stand $at; sleep 0.2; done; done
"#;

#[test]
fn a_leader_that_asks_a_member_which_asks_nobody_is_found() {
    let what = "the drill of a leader that asks one member";
    let found = [servers::find("etcd", "etcd-server", what), servers::find("curl", "curl", what)];
    if found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let drill = |serializable: &str| {
        let script = ONE_IS_ASKED.replace("ASKS", serializable);
        let file = fs::read_to_string(shell(&script, &folder)).expect("written");
        let file = folder.write("fleet.toml", file.replace("redis = {}", "etcd = { members = 3 }"));
        drilled(file.as_ref(), "service-leader-isolated", &folder)
    };
    let (code, said) = drill("true");
    assert!(code == Some(1) && said.contains("leaders_acting_by_effect"), "{code:?}\n{said}");
    // A member that asks the others first cannot answer.
    let (code, said) = drill("false");
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

/// Whoever leads gives up for ever once the service cannot be reached.
const GIVES_UP: &str = r#"
[ {number} = 1 ] || exec sleep 1000
echo {node} leads
while curl -sf -m 2 http://{etcd.1}/v3/kv/range -d '{"key":"bGVhZGVy"}' >/dev/null; do
  curl -sf -X POST http://{store}/ >/dev/null
  sleep 0.1
done
echo {node} leads no more
exec sleep 1000
"#;

#[test]
fn a_fleet_that_does_not_come_back_after_the_service_is_found() {
    let what = "the drill of a fleet that gives up";
    let found = [servers::find("etcd", "etcd-server", what), servers::find("curl", "curl", what)];
    if found.iter().any(Option::is_none) {
        return;
    }
    let folder = Folder::new();
    let file = fs::read_to_string(shell(GIVES_UP, &folder)).expect("written");
    let file = file.replace("redis = {}", "etcd = { members = 3 }").replace("2s", "1s");
    let file = folder.write("fleet.toml", file);
    let (code, said) = drilled(file.as_ref(), "service-restart", &folder);
    assert!(code == Some(3) && said.contains("liveness"), "{code:?}\n{said}");
}

/// As beside a cluster: an API server that was running, to which `kubectl proxy` logs in.
#[test]
fn an_api_server_of_somebody_else_s_behind_kubectl_proxy() {
    let what = "the drill through `kubectl proxy`";
    let go = servers::find_file(Path::new("/usr/lib/go-1.19/bin/go"), "golang-1.19-go", what);
    let Some((kubectl, _)) = servers::find("kubectl", "kubernetes-client", what).zip(go) else { return };
    let folder = Folder::new();
    let Some(server) = servers::kubernetes(&folder, what) else { return };
    let (at, mut command) = (free_address(), std::process::Command::new(kubectl));
    command
        .args(["proxy", "--server", &format!("http://{}", server.address), "--port", &at.port().to_string()])
        .env("HOME", folder.path());
    let mut proxy = Process::start(command, &folder.path().join("proxy.log"));
    assert!(proxy.listens(at), "{}", proxy.log());
    let (address, script) = (format!("kubernetes = {{ address = \"{at}\" }}"), beside("client-go", "build.sh"));
    let changes = [("kubernetes = {}", address.as_str()), ("build.sh", &script)];
    let file = with("client-go", "drill.toml", &changes, &folder);
    let (code, said) = drilled(file.as_ref(), "gc-pause", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    let file = with("client-go", "fenced.toml", &changes, &folder);
    let (code, said) = drilled(file.as_ref(), "gc-pause,isolate-leader,clean-kill", &folder);
    assert!(code == Some(0) && said.contains("3 runs, all of them pass"), "{code:?}\n{said}");
    let (code, said) = drilled(file.as_ref(), "service-restart", &folder);
    assert!(code == Some(64) && said.contains("a service that was running is never killed"), "{code:?}\n{said}");
    assert!(!proxy.has_ended());
}
