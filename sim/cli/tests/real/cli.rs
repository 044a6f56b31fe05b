//! The command line of real mode: wrong arguments and input give one sentence and the right exit code, and processes
//! start and end as operators expect.

use super::common::{
    Folder, Process, SOON, eventually, fencepost,
    fleet::{Fleet, accepted},
    free_address, http, program, run, servers, text,
};
use std::{
    net::TcpListener,
    process::Output,
    time::{Duration, Instant},
};

/// Asserts that a command was rejected with `code`, in one sentence that contains `word`.
fn refused(shown: &str, output: &Output, code: i32, word: &str) {
    let (errors, code_was) = (text(&output.stderr), output.status.code());
    assert_eq!(code_was, Some(code), "{shown}: {errors}");
    assert!(output.stdout.is_empty(), "{shown}: {}", text(&output.stdout));
    let lines: Vec<_> = errors.lines().collect();
    assert!(lines.len() == 1 && lines[0].starts_with("fencepost: "), "{shown}: {errors}");
    assert!(lines[0].contains(word), "{shown}: `{word}` is not in: {errors}");
    assert!(!errors.contains("panicked") && !errors.contains("backtrace"), "{shown}: {errors}");
}

/// Runs each line's command, split at blanks, with `%` for the folder, and asserts that it is rejected.
pub(super) fn all_refused(folder: &Folder, common: &str, cases: &[(&str, i32, &str)]) {
    for (line, code, word) in cases {
        let line = format!("{common} {line}").replace('%', &folder.file(""));
        refused(&line, &fencepost(line.split_whitespace()), *code, word);
    }
}

pub(super) fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("short.key", "short\n");
    folder.write("good.key", "a key of more than sixteen bytes\n");
    folder.write("garbage", (0..=255).cycle().skip(128).take(100_000).collect::<Vec<u8>>());
    folder
}

#[test]
fn a_store_says_what_is_wrong_with_its_arguments() {
    let folder = folder();
    let cases = [
        ("--data %a", 64, "token key"),
        ("--data %a --token-key %short.key", 64, "too short; it needs at least 16"),
        ("--data %a --token-key %missing.key", 64, "missing.key cannot be read"),
        ("--data %a --token-key %good.key --insecure", 64, "exclude each other"),
        ("--token-key %good.key", 64, "--data FILE or --postgres URL"),
        ("--token-key %good.key --data %a --postgres postgresql://u@h/x", 64, "cannot be used with"),
        ("--token-key %good.key --data %garbage", 70, "garbage cannot be opened"),
        ("--token-key %good.key --data %no-folder/a", 70, "cannot be opened"),
        ("--token-key %good.key --postgres postgresql://u:hunter2@h/x", 64, "PGPASSWORD"),
        ("--token-key %good.key --postgres nonsense", 64, "not a PostgreSQL URL"),
        ("--token-key %good.key --postgres postgresql://u@127.0.0.1:1/x", 70, "PostgreSQL"),
        ("--token-key %good.key --postgres postgresql://u@h/x?sslmode=require", 64, "whose certificates to trust"),
        ("--token-key %good.key --data %a --listen nonsense", 64, "`nonsense` is no address"),
        ("--token-key %good.key --data %a --listen 127.0.0.1:99999", 64, "`127.0.0.1:99999` is no address"),
        ("--token-key %good.key --data %a --tls-cert %good.key", 64, "belong together"),
        ("--token-key %good.key --data %a --tls-cert %good.key --tls-key %good.key", 64, "good.key"),
        ("--token-key %good.key --data %a --tls-mutual", 64, "mutual TLS"),
        ("--token-key %good.key --data %a --fencing maybe", 64, "`maybe` is neither"),
        ("--token-key %good.key --data %a --audit-keep some", 64, "`some` is neither `all`"),
        ("--token-key %good.key --data %a --audit-keep 0GiB", 64, "`0GiB` is neither `all`"),
        ("--token-key %good.key --postgres postgresql://u@h/x --audit-keep 10m", 64, "--audit-keep"),
        ("--token-key %good.key --data %a --nonsense", 64, "--nonsense"),
    ];
    all_refused(&folder, "store", &cases);
    assert!(!folder.path().join("a").exists(), "a store that is refused leaves nothing behind");
}

#[test]
fn a_node_says_what_is_wrong_with_its_arguments() {
    let folder = folder();
    let most = "node --listen 127.0.0.1:1 --store 127.0.0.1:1 --token-key %good.key";
    let cases = [
        ("--service 127.0.0.1:1 --id n3 --peers n1=h:1,n2=h:2", "--id n3 is not among the peers: n1, n2"),
        ("--service 127.0.0.1:1 --id n1 --peers n1=h:1,n1=h:2", "two peers are called `n1`"),
        ("--service 127.0.0.1:1 --id n1 --peers n1", "`n1` is no peer"),
        ("--service 127.0.0.1:1 --id n1 --peers n1=h", "`n1=h` is no peer"),
        ("--service 127.0.0.1:1 --id a/b --peers a/b=h:1", "`a/b=h:1` is no peer"),
        ("--service 127.0.0.1:1 --id etcd --peers etcd=h:1", "must not be called `etcd`"),
        ("--service 127.0.0.1:1 --id store --peers store=h:1", "must not be called `store`"),
        ("--service h:1,h:2 --backend redlock --id redis-2 --peers redis-2=h:1", "must not be called `redis-2`"),
        (
            "--backend redis-lease --service h:1,h:2 --id n1 --peers n1=h:1",
            "--service has 2 addresses; `redis-lease` uses one server",
        ),
        ("--backend etcd --id n1 --peers n1=h:1", "--service"),
        ("--service nonsense --id n1 --peers n1=h:1", "`nonsense` is no HOST:PORT"),
        ("--service h:99999 --id n1 --peers n1=h:1", "`h:99999` is no HOST:PORT"),
        ("--service redis://h:1 --id n1 --peers n1=h:1", "is no HOST:PORT"),
        ("--backend raft --id n1 --peers n1=h:1", "--elect-listen HOST:PORT is missing"),
        (
            "--backend raft --id n1 --peers n1=h:1 --elect-listen 127.0.0.1:1 --electors n1=127.0.0.1:1 --data %d",
            "--elect-insecure",
        ),
        ("--backend bully --id n1 --peers n1=h:1 --elect-listen 127.0.0.1:1 --data %d", "runs only in the simulation"),
        ("--service h:1 --elect-listen 127.0.0.1:1 --id n1 --peers n1=h:1", "asks a service"),
        ("--service h:1 --elect-insecure --id n1 --peers n1=h:1", "asks a service"),
    ];
    all_refused(&folder, most, &cases.map(|(line, word)| (line, 64, word)));
    let most = "node --id n1 --peers n1=h:1 --service h:1 --store h:1 --listen 127.0.0.1:1";
    let cases = [
        ("", "token key"),
        ("--token-key %short.key", "too short"),
        ("--token-key %good.key --backend chubby", "there is no protocol `chubby`;"),
        ("--token-key %good.key --lease-ttl=-3s", "`-3s` is negative"),
        ("--token-key %good.key --lease-ttl 3", "`3` is not a duration"),
        ("--token-key %good.key --clock-skew=-200ms --lease-ttl 0s", "--lease-ttl must be between 1ms and a day"),
        ("--token-key %good.key --clock-skew=-5x", "`5x` is not a duration"),
        ("--token-key %good.key --lease-ttl 0s", "--lease-ttl must be between 1ms and a day"),
        ("--token-key %good.key --lease-ttl 1441m", "--lease-ttl must be between 1ms and a day"),
        ("--token-key %good.key --lease-ttl 3s --renew-interval 3s", "below the lease, which is 3000 ms"),
        ("--token-key %good.key --renew-interval 0s", "--renew-interval must be above 0"),
        ("--token-key %good.key --request-timeout 0s", "--request-timeout must be between 1ms and a day"),
        ("--token-key %good.key --tick 0s", "--tick must be between 1ms and a day"),
        ("--token-key %good.key --clock-skew=-9223372036854775808", "--clock-skew must be within"),
        ("--token-key %good.key --clock-drift=-1000000", "--clock-drift must be within 500000 ppm"),
        ("--token-key %good.key --election-timeout 1s", "`etcd-election-from-sending` draws no election timeouts"),
        ("--token-key %good.key --service-tls", "authority"),
        ("--token-key %good.key --store-tls", "authority"),
        ("--token-key %good.key --history %no-folder/x", "cannot write"),
    ];
    all_refused(&folder, most, &cases.map(|(line, word)| (line, 64, word)));
}

#[test]
fn a_port_in_use_is_named() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = taken.local_addr().expect("it has an address").port();
    let store = format!("store --data %a --token-key %good.key --listen 127.0.0.1:{port}");
    let node = format!(
        "node --id n1 --peers n1=h:1 --service h:1 --store h:1 --token-key %good.key --listen 127.0.0.1:{port}"
    );
    let word = format!("cannot listen on 127.0.0.1:{port}");
    all_refused(&folder, "", &[(&store, 64, &word), (&node, 64, &word)]);
}

#[test]
fn audit_and_check_say_what_is_wrong_with_a_file() {
    let folder = folder();
    let cases = [
        ("audit", 64, "--data FILE or --postgres URL"),
        ("audit --data %missing", 64, "there is no store at"),
        ("raise-token --backend raft --service h:1 --above 5", 64, "`raft` draws no tokens from a service"),
        ("raise-token --backend redis-lease --service h:1 --above 5", 64, "draws no tokens from a service"),
        ("raise-token --backend redis --service nonsense --above 5", 64, "`nonsense` is no HOST:PORT"),
        ("raise-token --backend redis --service 127.0.0.1:1 --above 5", 70, "Redis at 127.0.0.1:1 says"),
        ("audit --data %garbage", 70, "garbage cannot be opened"),
        ("audit --postgres postgresql://u:hunter2@h/x", 64, "PGPASSWORD"),
        ("check %missing", 64, "cannot read"),
        ("check %garbage", 64, "garbage: is text whose lines do not name their fields"),
    ];
    all_refused(&folder, "", &cases);
}

#[test]
fn a_cluster_and_its_chaos_say_what_is_wrong() {
    let folder = folder();
    for (name, card) in [
        ("half", r#"{"control":"#),
        ("empty", "{}"),
        ("gone", r#"{"control":"127.0.0.1:1","secret":"x","nodes":[],"store":"127.0.0.1:1","service":"127.0.0.1:1"}"#),
    ] {
        std::fs::create_dir(folder.path().join(name)).expect("folders can be made");
        folder.write(&format!("{name}/cluster.json"), card);
    }
    folder.write("empty.json", "{}");
    folder.write("garbage.json", [0xff; 100]);
    let cases = [
        ("cluster --dir %c --nodes 0", 64, "`0` must be a number of nodes"),
        ("cluster --dir %c --nodes 65", 64, "`65` must be a number of nodes"),
        ("cluster --dir %c --lease-ttl 0s", 64, "--lease-ttl is 0ms"),
        ("cluster --dir %c --backend chubby", 64, "there is no protocol `chubby`"),
        ("cluster --dir %c --backend etcd --service nonsense", 64, "`nonsense` is no HOST:PORT"),
        ("cluster --dir %c --backend object-lease", 64, "no `objects` is started here; give --service HOST:PORT"),
        ("cluster --dir %c --service 127.0.0.1:1", 64, "`raft` asks no service"),
        ("cluster --dir %c --backend swim", 64, "runs only in the simulation"),
        ("cluster --dir %c --postgres postgresql://u:hunter2@h/x", 64, "PGPASSWORD"),
        ("cluster --dir %half", 64, "give another --dir"),
        ("chaos kill-leader --dir %nowhere", 64, "no cluster runs in"),
        ("chaos kill-leader --dir %half", 64, "no cluster runs in"),
        ("chaos resign-leader --dir %empty", 64, "no cluster runs in"),
        ("chaos resign-leader --dir %gone", 70, "the cluster cannot be reached"),
        ("chaos gc-pause-leader --ms 0", 64, "`0` must be a number above 0"),
        ("chaos partition-leader --secs=-1", 64, "`-1` must be a number above 0"),
        ("chaos gc-pause-leader --ms 5s --dir %nowhere", 64, "no cluster runs in"),
        ("chaos gc-pause-leader --pause 5s --dir %nowhere", 64, "no cluster runs in"),
        ("chaos partition-leader --secs 500ms --dir %nowhere", 64, "no cluster runs in"),
        ("chaos partition-leader --for 8s --dir %nowhere", 64, "no cluster runs in"),
        ("chaos partition-leader --for 8x --dir %nowhere", 64, "`8x` is not a duration"),
        ("cluster --dir %c --backend etcd --lease-ttl 2s --renew-interval 3s --clock-skew 5ms", 64, "renew"),
        ("chaos run no-such --dir %c", 64, "there is no scenario `no-such`"),
        ("chaos run %missing.json --dir %c", 64, "cannot read"),
        ("chaos run %empty.json --dir %c", 64, "the plan is wrong"),
        ("chaos run %garbage.json --dir %c", 64, "cannot read"),
        ("chaos run steady --dir %c --postgres postgresql://u:hunter2@h/x", 64, "PGPASSWORD"),
    ];
    all_refused(&folder, "", &cases);
}

/// Nodes have clocks of their own; the machine's clock cannot be set without affecting everybody else.
#[test]
fn a_plan_with_a_clock_fault_of_the_store_is_for_the_simulation() {
    let folder = folder();
    let Some(redis) = servers::redis(&folder, "a plan that real mode cannot play", servers::Tls::Off) else { return };
    let without_reads = scenarios::Params { reads_per_s: Some(0), ..scenarios::Params::default() };
    let compiled = scenarios::scenario::find("steady").expect("a scenario").compile(
        &without_reads,
        protocols::election::find("redis-fenced").expect("a protocol"),
        1,
    );
    let mut plan = compiled.expect("the parameters make sense");
    let fault = r#"{"when":{"at":{"ms":1000.0}},"what":{"clock-step":{"node":"store","by_ms":500}}}"#;
    plan.faults.push(serde_json::from_str(fault).expect("a fault as plans have it"));
    let file = folder.write("plan.json", plan.to_json_pretty());
    let (dir, service) = (folder.file("c"), redis.address.to_string());
    let output = fencepost(["chaos", "run", &file, "--dir", &dir, "--service", &service]);
    assert_eq!(output.status.code(), Some(64), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("`clock-step` is for the simulation; on real machines only nodes have"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn real_processes_form_one_group() {
    let cases = [("--groups 2", 64, "real processes form one group; leave `groups` out")];
    all_refused(&folder(), "chaos run steady --backend raft --dir %r", &cases);
}

/// The lease would last a minute: only a hand-over leads to a quick succession.
#[test]
fn a_leader_that_is_asked_to_end_hands_over_first() {
    let folder = Folder::new();
    let Some(etcd) = servers::etcd(&folder, "a graceful end", servers::Tls::Off) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "60s"]);
    fleet.start_nodes(2, "etcd", etcd.address);
    let leader = fleet.leader();
    let mut numbers: Vec<u64> = (1..=5).map(|n| fleet.number(&format!("shop:{n}"))).collect();
    // A follower names the leader, or redirects on request.
    let follower = fleet.nodes.keys().find(|name| **name != leader).expect("there are two").clone();
    eventually("the follower knows the leader", SOON, || {
        let refused = http::next(fleet.node(&follower), "shop:1")?;
        (refused.status == 409 && refused.body["address"] == fleet.node(&leader).to_string()).then_some(())
    });
    let sent = http::send(
        fleet.node(&follower),
        http::request("POST", "/next?redirect", &["fencepost-request: shop:1"]).as_bytes(),
    );
    let place = format!("location: http://{}/next?redirect=on\r\n", fleet.node(&leader));
    assert!(sent.starts_with("HTTP/1.1 307 ") && sent.to_ascii_lowercase().contains(&place), "{sent}");
    let asked = Instant::now();
    let mut gone = fleet.nodes.remove(&leader).expect("it leads");
    assert_eq!(gone.process.end().code(), Some(0), "{}", gone.process.log());
    let successor = fleet.leader();
    assert!(asked.elapsed() < Duration::from_secs(10), "after {:?}", asked.elapsed());
    assert_ne!(successor, leader);
    assert!(gone.process.log().contains("resigning"), "{}", gone.process.log());
    numbers.extend((6..=10).map(|n| fleet.number(&format!("shop:{n}"))));
    assert_eq!(accepted(&fleet.audit(&[])), numbers);
}

#[test]
fn a_store_that_was_killed_starts_again_with_what_it_had() {
    let folder = Folder::new();
    let Some(redis) = servers::redis(&folder, "a store that is killed", servers::Tls::Off) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.start_nodes(2, "redis", redis.address);
    let mut numbers = Vec::new();
    for life in 0..3 {
        numbers.extend((1..=20).map(|n| fleet.number(&format!("life{life}:{n}"))));
        let leader = fleet.leader();
        fleet.store().process.kill();
        // A node without its store answers but issues no numbers, and soon gives the reason.
        let answer = http::next(fleet.node(&leader), &format!("dark{life}:1")).expect("an answer");
        assert!(answer.status == 504 || answer.status == 503 || answer.status == 409, "{answer:?}");
        eventually("a leader that does not act says why", SOON, || {
            let status = http::status(fleet.node(&leader));
            let reason = status["reason"].as_str().unwrap_or_default();
            (status["acting"] == false && reason.contains("the store has not answered")).then_some(())
        });
        fleet.restart_store();
        // The same request, now with a store: it takes effect once.
        numbers.push(fleet.number(&format!("dark{life}:1")));
        assert_eq!(fleet.number(&format!("life{life}:20")), numbers[numbers.len() - 2]);
    }
    let audit = fleet.audit(&[]);
    assert_eq!(accepted(&audit), numbers);
    assert!(numbers.windows(2).all(|w| w[0] < w[1]), "{numbers:?}");
}

#[test]
fn the_audit_of_a_store_that_runs_is_refused() {
    let mut fleet = Fleet::new(Folder::new());
    fleet.start_store(&[]);
    let data = fleet.folder.file("store.redb");
    let output = fencepost(["audit", "--data", &data]);
    refused("audit", &output, 70, "store.redb");
    assert_eq!(fleet.store().process.end().code(), Some(0));
    let output = fencepost(["audit", "--data", &data]);
    assert!(output.status.success() && output.stdout.is_empty(), "nothing was decided");
}

#[test]
fn help_is_help_and_nothing_is_started_without_a_command() {
    for command in ["node", "store", "audit", "check", "cluster", "chaos"] {
        let output = fencepost([command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("Usage") && output.stderr.is_empty());
    }
    let output = run(program());
    assert_eq!(output.status.code(), Some(64));
}

/// The service does not answer, but the node can still be queried and ended.
#[test]
fn a_node_without_its_services_is_no_leader_and_ends_when_asked() {
    let mut fleet = Fleet::new(Folder::new());
    fleet.start_store(&[]);
    fleet.store().process.kill();
    fleet.start_nodes(1, "etcd", free_address());
    let n1 = fleet.node("n1");
    assert_eq!(http::status(n1)["role"], "candidate");
    assert_eq!(http::ask(n1, "GET", "/readyz").map(|a| a.status), Some(503));
    assert_eq!(http::next(n1, "shop:1").map(|a| a.status), Some(409));
    let asked = Instant::now();
    let node = &mut fleet.nodes.get_mut("n1").expect("it was started").process;
    assert_eq!(node.end().code(), Some(0));
    assert!(asked.elapsed() < SOON / 2);
    eventually("its log says so", SOON, || node.log().contains("ended").then_some(()));
}

/// The live processes that `parent` has started.
fn children(parent: u32) -> Vec<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let processes = std::fs::read_dir("/proc").expect("this is Linux");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        // proc_pid_stat(5): the name in brackets, the state, the parent.
        let stat = stat(*pid).unwrap_or_default();
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.next().is_some_and(|state| state != "Z") && fields.next() == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

/// A closed terminal sends SIGHUP; the out-of-memory killer sends SIGKILL. Either way no process is left behind.
#[test]
fn a_cluster_that_ends_leaves_no_process_behind() {
    for signal in ["HUP", "KILL"] {
        let folder = Folder::new();
        let mut command = program();
        command.args(["cluster", "--dir", &folder.file("c")]);
        let mut cluster = Process::start(command, &folder.path().join("cluster.log"));
        let started = eventually("a store and three nodes", SOON, || {
            // Before it has become its program, it is not tied to the cluster.
            let is_tied = |pid: &u32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                !text(&line).contains("leashed")
            };
            Some(children(cluster.pid())).filter(|children| children.len() == 4 && children.iter().all(is_tied))
        });
        // A stopped process must not be forgotten.
        let paused = started[3].to_string();
        let stopped = std::process::Command::new("kill").args(["-STOP", &paused]).status();
        assert!(stopped.is_ok_and(|s| s.success()));
        cluster.signal(signal);
        let ended = cluster.wait(SOON);
        assert_eq!(ended.code(), if signal == "HUP" { Some(0) } else { None }, "{}", cluster.log());
        eventually(&format!("the end of all after SIG{signal}"), SOON, || {
            let ours = |pid: &u32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                text(&line).contains(&folder.file("c"))
            };
            (!started.iter().any(ours)).then_some(())
        });
    }
}
