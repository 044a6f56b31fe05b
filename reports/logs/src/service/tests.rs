use super::super::{Judged, LogError, Options, Verdict};
use std::{fs, path::PathBuf, time::Duration};

/// Judges files of a folder of the test's own.
fn judged(files: &[(&str, &str)], options: &Options) -> Result<Judged, LogError> {
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let folder = std::env::temp_dir().join(format!("fencepost-service-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).expect("a file"));
    let judged = options.judge(&paths);
    fs::remove_dir_all(&folder).expect("the folder is ours");
    judged
}

fn verdict(text: &str) -> Verdict {
    judged(&[("log", text)], &Options::default()).unwrap_or_else(|why| panic!("{why}:\n{text}")).judgement.verdict
}

fn why(text: &str) -> String {
    let why = judged(&[("log", text)], &Options::default()).err().unwrap_or_else(|| panic!("it is judged:\n{text}"));
    assert!(!why.what.contains('\n'), "{why}");
    why.to_string()
}

/// A Lease as `kubectl` prints it: its version, holder, seconds of acquisition and renewal, and token.
fn lease(name: &str, (version, holder, acquired, renewed, token): (u32, &str, u32, u32, u32)) -> String {
    let time = |s: u32| format!("2026-05-01T10:{:02}:{:02}.000000Z", s / 60, s % 60);
    let (acquired, renewed) = (time(acquired), time(renewed));
    format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  creationTimestamp: \"2026-05-01T09:00:00Z\"\n  name: {name}\n  \
         namespace: billing\n  resourceVersion: \"{version}\"\n  uid: 6f1c\nspec:\n  acquireTime: \"{acquired}\"\n  \
         holderIdentity: {holder}\n  leaseDurationSeconds: 15\n  leaseTransitions: {token}\n  renewTime: \"{renewed}\"\n"
    )
}

type Version = (u32, &'static str, u32, u32, u32);
const GOOD: [Version; 5] =
    [(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (3, "\"\"", 12, 12, 0), (4, "b", 13, 13, 1), (5, "b", 13, 20, 1)];
/// B takes the lease ten seconds before it ends.
const BAD: [Version; 4] = [(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (4, "b", 15, 15, 1), (5, "b", 15, 20, 1)];

fn yaml(versions: &[Version], between: &str) -> String {
    versions.iter().map(|version| lease("jobs", *version)).collect::<Vec<_>>().join(between)
}

#[test]
fn leases_are_grants_and_end_by_time_or_by_release() {
    for between in ["", "---\n"] {
        assert_eq!(verdict(&yaml(&GOOD, between)), Verdict::Pass);
        assert_eq!(verdict(&yaml(&BAD, between)), Verdict::Safety);
    }
    // Versions count, not the order of the file, and a version is one state.
    let mut mixed = [&GOOD[2..], &GOOD[..3]].concat();
    assert_eq!(verdict(&yaml(&mixed, "---\n")), Verdict::Pass);
    mixed = [&BAD[2..], &BAD[..3]].concat();
    assert_eq!(verdict(&yaml(&mixed, "---\n")), Verdict::Safety);
    // Renewed late, after it had run out, while nobody took it.
    assert_eq!(verdict(&yaml(&[(1, "a", 0, 0, 0), (2, "a", 0, 40, 0), (3, "b", 60, 60, 1)], "")), Verdict::Pass);
    assert_eq!(verdict(&yaml(&[(1, "a", 0, 0, 0), (2, "a", 0, 40, 0), (3, "b", 50, 50, 1)], "")), Verdict::Safety);
    // The watch missed how b took it.
    assert_eq!(verdict(&yaml(&[(1, "a", 0, 0, 0), (3, "b", 5, 40, 1)], "")), Verdict::Safety);
    // Nobody can act beside a single holder.
    assert_eq!(verdict(&yaml(&GOOD[..2], "")), Verdict::Vacuous);
    // A count that stays the same is no token.
    assert_eq!(verdict(&yaml(&[(1, "a", 0, 0, 0), (2, "b", 30, 30, 0)], "")), Verdict::Vacuous);
    // A Lease that was deleted and made again starts to count again.
    assert_eq!(verdict(&yaml(&[(1, "a", 0, 0, 3), (2, "b", 5, 5, 0)], "")), Verdict::Safety);
}

#[test]
fn each_lease_of_a_watch_is_judged_on_its_own() {
    let of = |name: &str, all: &[Version]| all.iter().map(|one| lease(name, *one)).collect::<Vec<_>>();
    let zip = |one: Vec<String>, other: Vec<String>| {
        let most = one.len().max(other.len());
        let at = |all: &[String], n: usize| all.get(n).cloned().unwrap_or_default();
        (0..most).map(|n| at(&one, n) + &at(&other, n)).collect::<String>()
    };
    assert_eq!(verdict(&zip(of("jobs", &GOOD), of("mail", &GOOD))), Verdict::Pass);
    assert_eq!(verdict(&zip(of("jobs", &GOOD), of("mail", &BAD))), Verdict::Safety);
    // Heartbeats of nodes are no elections, and there may be many.
    let heartbeat =
        |n: u32| lease(&format!("n{n}"), BAD[0]).replace("namespace: billing", "namespace: kube-node-lease");
    assert_eq!(verdict(&((0..100).map(heartbeat).collect::<String>() + &yaml(&GOOD, ""))), Verdict::Pass);
    let many = (0..100).map(|n| lease(&format!("n{n}"), BAD[0])).collect::<String>();
    let why =
        judged(&[("log", &many)], &Options::default()).map(|judged| judged.judgement.verdict).map_err(|why| why.what);
    assert!(why.is_err_and(|why| why.ends_with("--only resource=NAME")));
    let one = judged(&[("log", &many)], &Options::default().only("resource", Some("billing/n7"))).expect("a Lease");
    assert_eq!(one.judgement.verdict, Verdict::Vacuous);
}

#[test]
fn holders_date_leases_by_their_own_clocks() {
    // B takes the lease 200 ms before a's clock says that it ends.
    let close = |b: u32| yaml(&[(1, "a", 0, 0, 0), (4, "b", b, b, 1), (5, "b", b, 20, 1)], "");
    let skew = |text: &str, ms: u64| {
        judged(&[("log", text)], &Options::default().skew(Duration::from_millis(ms))).expect("a log").judgement.verdict
    };
    assert_eq!(skew(&close(14), 500), Verdict::Safety);
    assert_eq!(skew(&close(14), 1_000), Verdict::Vacuous);
    assert_eq!(skew(&close(16), 1_000), Verdict::Vacuous);
    assert_eq!(skew(&close(16), 500), Verdict::Pass);
    let told = judged(&[("log", &close(14))], &Options::default()).expect("a log");
    assert!(told.notes.iter().any(|note| note.contains("Pass --skew 1000ms")), "{:?}", told.notes);
    // A clock that is behind does not make a release come after what followed it.
    let behind = [(1, "a", 0, 0, 0), (2, "\"\"", 9, 9, 0), (3, "b", 8, 8, 1), (4, "b", 8, 12, 1)];
    assert_eq!(verdict(&yaml(&behind, "")), Verdict::Pass);
}

#[test]
fn leases_come_as_json_too() {
    let one = |version: Version, wide: bool| {
        let text = lease("jobs", version);
        let value: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
        if wide { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.expect("JSON") + "\n"
    };
    for wide in [false, true] {
        let of = |all: &[Version]| all.iter().map(|version| one(*version, wide)).collect::<String>();
        assert_eq!(verdict(&of(&GOOD)), Verdict::Pass);
        assert_eq!(verdict(&of(&BAD)), Verdict::Safety);
        let watched = |all: &[Version]| {
            let event = |version: &Version| format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", one(*version, wide));
            all.iter().map(event).collect::<String>()
        };
        assert_eq!(verdict(&watched(&GOOD)), Verdict::Pass);
        assert_eq!(verdict(&watched(&BAD)), Verdict::Safety);
    }
}

#[test]
fn what_is_wrong_with_a_lease_is_said_in_one_sentence() {
    let whole = yaml(&BAD[2..3], "");
    for (text, must) in [
        (
            whole.replace("  renewTime: \"2026-05-01T10:00:15.000000Z\"\n", ""),
            "which b holds, without a renewTime; is the file cut off?",
        ),
        (whole.replace("10:00:15", "soon"), "which is no time"),
        (whole.replace("leaseTransitions: 1", "leaseTransitions: -1"), "whose leaseTransitions is -1"),
        (
            whole.replace("leaseDurationSeconds: 15", "leaseDurationSeconds: 99999999999"),
            "whose leaseDurationSeconds is 99999999999",
        ),
        (whole.split("spec:").next().unwrap_or_default().to_owned(), "which has no `spec`; is the file cut off?"),
        (whole.replace("  name: jobs\n", ""), "without a name"),
        (whole.replace("  holderIdentity: b\n", ""), "holds no events"),
        (whole[..whole.len() - 3].to_owned(), "cut off or no YAML"),
    ] {
        let why = why(&text);
        assert!(why.contains(must), "{why}");
    }
    // Wherever it is cut off, the rest is refused, or says no more than it does.
    let text = yaml(&BAD, "---\n");
    for end in 0..text.len() {
        if let Ok(judged) = judged(&[("log", &text[..end])], &Options::default()) {
            assert_ne!(judged.judgement.verdict, Verdict::Pass, "{}", &text[..end]);
        }
    }
}

#[test]
fn files_of_several_services_are_kept_apart() {
    let (good, bad) = (yaml(&GOOD, ""), yaml(&BAD, ""));
    let of = |one: &str, other: &str| {
        judged(&[("one.log", one), ("two.log", other)], &Options::default())
            .map(|judged| judged.judgement.verdict)
            .map_err(|why| why.what)
    };
    // Two watches of one Lease, and two clusters.
    assert_eq!(of(&good, &good), Ok(Verdict::Pass));
    assert_eq!(of(&bad, &bad), Ok(Verdict::Safety));
    let other = good.replace("uid: 6f1c", "uid: 77ab");
    assert!(of(&good, &other).is_err_and(|why| why.contains("judge each cluster on its own")));
    // Of Redlock's servers, one may refuse what another grants.
    let [one, two] = [("va", A), ("vb", B)].map(|(value, client)| {
        monitor(&[(1, client, &format!("SET lock {value} NX PX 5000")), (2, client, "PEXPIRE lock 5000")])
    });
    assert_ne!(of(&one, &two), Ok(Verdict::Safety));
    // A write in the same file would be passed over.
    let write = "{\"t_us\":1,\"node\":\"a\",\"token\":1,\"resource\":\"r\",\"verdict\":\"ok\"}\n";
    let event = r#"{"apiVersion":"v1","kind":"Event","reason":"LeaderElection","message":"a became leader","eventTime":"2026-05-01T10:00:00Z"}"#;
    assert!(why(&format!("{event}\n{write}")).contains("no object of Kubernetes"));
    let operation = r#"{"type":"ok","f":"acquire","process":0,"time":1}"#;
    assert!(why(&format!("{operation}\n{write}")).contains("no operation of Jepsen's"));
    assert!(why(&(monitor(&[(1, A, "SET lock va NX PX 5000")]) + write)).contains("no whole command of MONITOR"));
    let history = operations(&[(1, "ok", "acquire", 0, "nil")], false);
    assert!(of(&history, &history).is_err_and(|why| why.contains("judge one at a time")));
}

#[test]
fn events_say_who_became_leader_and_who_stopped() {
    let event = |at: u32, said: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Event","metadata":{{"name":"x","namespace":"csi"}},"involvedObject":{{"kind":"Lease","name":"jobs"}},"reason":"LeaderElection","message":"{said}","firstTimestamp":"2026-01-10T10:00:{at:02}Z","lastTimestamp":"2026-01-10T10:00:{at:02}Z","count":1}}"#
        ) + "\n"
    };
    let of = |all: [(u32, &str); 4]| verdict(&all.map(|(at, said)| event(at, said)).concat());
    let good = [(0, "a became leader"), (9, "a stopped leading"), (12, "b became leader"), (20, "b stopped leading")];
    assert_eq!(of(good), Verdict::Pass);
    assert_eq!(of([good[0], good[2], (16, "a stopped leading"), good[3]]), Verdict::Safety);
    assert_eq!(of([good[0], good[2], (16, "a became leader"), (20, "b became leader")]), Verdict::Vacuous);
    assert!(why(&event(0, "a is what it is")).contains("neither who became leader"));
}

fn operations(all: &[(u32, &str, &str, u32, &str)], vector: bool) -> String {
    let one = |(at, kind, f, process, value): &(u32, &str, &str, u32, &str)| {
        format!("{{:type :{kind}, :f :{f}, :value {value}, :process {process}, :time {at}000000000}}\n")
    };
    let all: String = all.iter().map(one).collect();
    if vector { format!("[{all}]\n") } else { all }
}

#[test]
fn operations_of_jepsen_on_a_lock_are_judged() {
    let good = [
        (1, "invoke", "acquire", 0, "nil"),
        (2, "ok", "acquire", 0, "7"),
        (3, "invoke", "acquire", 1, "nil"),
        (4, "invoke", "release", 0, "nil"),
        (5, "ok", "acquire", 1, "8"),
        (6, "ok", "release", 0, "nil"),
        (7, "invoke", "release", 1, "nil"),
        (8, "ok", "release", 1, "nil"),
    ];
    // The release of process 0 begins after process 1 has the lock.
    let mut bad = good;
    (bad[3].0, bad[4].0) = (5, 4);
    bad.sort_by_key(|operation| operation.0);
    for vector in [false, true] {
        assert_eq!(verdict(&operations(&good, vector)), Verdict::Pass);
        assert_eq!(verdict(&operations(&bad, vector)), Verdict::Safety);
    }
    // A token that falls, and one that comes back.
    let with = |token: &'static str| {
        let mut all = good;
        all[4].4 = token;
        verdict(&operations(&all, false))
    };
    assert_eq!(
        (with("6"), with("7"), with("{:fence 7}"), with("nil")),
        (Verdict::Safety, Verdict::Vacuous, Verdict::Vacuous, Verdict::Pass)
    );
    // Each lock on its own.
    let keyed = |key: u32| {
        let mut all: Vec<_> =
            bad.iter().map(|o| (o.0, o.1, o.2, o.3, format!("[{} nil]", if o.3 == 0 { 1 } else { key }))).collect();
        all.extend(good.iter().map(|o| (o.0 + 20, o.1, o.2, o.3, "[1 nil]".to_owned())));
        verdict(&operations(&all.iter().map(|o| (o.0, o.1, o.2, o.3, o.4.as_str())).collect::<Vec<_>>(), false))
    };
    assert_eq!((keyed(1), keyed(2)), (Verdict::Safety, Verdict::Pass));
    // Reentrant, or broken.
    let mut again = good.to_vec();
    again.insert(2, (2, "ok", "acquire", 0, "7"));
    again.insert(4, (3, "invoke", "release", 0, "nil"));
    assert_eq!(verdict(&operations(&again, false)), Verdict::Vacuous);
    assert!(why("{:type :ok, :f :read, :value 1, :process 0, :time 1}\n").contains("its operations are read"));
    assert!(
        why("{:type :ok, :f :acquire, :process 0, :time 1}\n{:type :ok, :f :acquire, :process 1}")
            .contains("has a time where")
    );
    assert!(why("{:type :ok, :f :acquire, :process 0, :time 1.5}\n").contains("whole nanoseconds"));
}

/// Lines of MONITOR: second, client, and the command's words.
fn monitor(all: &[(u32, &str, &str)]) -> String {
    let one = |(at, client, words): &(u32, &str, &str)| {
        let words: Vec<String> = words.split(' ').map(|word| format!("\"{word}\"")).collect();
        format!("15591030{at:02}.000000 [0 {client}] {}\n", words.join(" "))
    };
    format!("OK\n{}", all.iter().map(one).collect::<String>())
}

const A: &str = "10.0.0.1:501";
const B: &str = "10.0.0.2:502";

#[test]
fn locks_of_redis_follow_from_the_commands() {
    let eval = |value: &str| format!("EVAL script 1 lock {value}");
    let (eval_a, eval_b) = (eval("va"), eval("vb"));
    let good = [
        (1, A, "SET lock va NX PX 10000"),
        (5, A, "PEXPIRE lock 10000"),
        (6, B, "SET lock vb NX PX 10000"),
        (9, A, &eval_a),
        (9, "lua", "get lock"),
        (9, "lua", "del lock"),
        (10, B, "SET lock vb NX PX 10000"),
        (15, B, &eval_b),
        (15, "lua", "get lock"),
        (15, "lua", "del lock"),
    ];
    assert_eq!(verdict(&monitor(&good)), Verdict::Pass);
    // A renews what b holds: from another port of its host, too.
    for port in [A, "10.0.0.1:777"] {
        let bad = [&good[..2], &[(16, B, "SET lock vb NX PX 10000"), (18, port, "PEXPIRE lock 10000")]].concat();
        assert_eq!(verdict(&monitor(&bad)), Verdict::Safety);
    }
    // A lock that is set only while it is held, and one that is taken in its last millisecond.
    let set = |at: &str, words: &str| {
        let text = monitor(&[
            (1, A, "SET lock va NX PX 10000"),
            (5, A, "GET lock"),
            (8, B, words),
            (9, B, "PEXPIRE lock 10000"),
        ]);
        verdict(&text.replace("08.000000", at).replace("09.000000", "12.000000"))
    };
    assert_eq!(set("11.000500", "SET lock vb NX PX 10000"), Verdict::Vacuous);
    assert_eq!(set("11.002000", "SET lock vb NX PX 10000"), Verdict::Pass);
    assert_eq!(set("11.002000", "SET lock vb XX PX 10000"), Verdict::Vacuous);
    assert_eq!(set("08.000000", "SET lock vb XX PX 10000"), Verdict::Safety);
    // A deletes b's lock, and c takes it while b goes by it.
    let deleted = |who: &'static str| {
        let all = [
            &good[..1],
            &[(12, B, "SET lock vb NX PX 10000"), (13, who, "DEL lock"), (14, "10.0.0.3:1", "SET lock vc NX PX 10000")],
        ];
        verdict(&monitor(&all.concat()))
    };
    assert_eq!((deleted(A), deleted(B)), (Verdict::Safety, Verdict::Pass));
    // A gives back late what b has taken: whether it worked until then is open.
    let late = [&good[..1], &[(12, B, "SET lock vb NX PX 10000"), (13, A, &eval_a), (13, "lua", "get lock")]].concat();
    assert_eq!(verdict(&monitor(&late)), Verdict::Vacuous);
    // Without a script's own commands nobody knows what it did.
    let untold: Vec<_> = good.into_iter().filter(|(_, client, _)| *client != "lua").collect();
    assert_eq!(verdict(&monitor(&untold)), Verdict::Vacuous);
    // Who held it before the first line shows itself, for certain only in a script that compares.
    let freed = |words: &'static str, script: &'static str| {
        let all = [
            (1, B, "SET lock vb NX PX 10000"),
            (3, A, words),
            (3, "lua", script),
            (20, B, "SET lock vb NX PX 10000"),
            (31, "10.0.0.3:1", "SET lock vc NX PX 10000"),
        ];
        verdict(&monitor(&all))
    };
    assert_eq!(freed("DEL lock", "get other"), Verdict::Vacuous);
    assert_eq!(freed("EVAL script 1 lock va", "del lock"), Verdict::Pass);
}

#[test]
fn values_that_tell_nobody_apart_prove_nothing() {
    let of = |one: &'static str, other: &'static str| {
        let all = [
            (1, one, "SET lock 1 NX PX 4000"),
            (3, other, "SET lock 1 NX PX 4000"),
            (6, other, "SET lock 1 NX PX 4000"),
            (9, one, "PING"),
        ];
        verdict(&monitor(&all))
    };
    assert_eq!(of(A, B), Verdict::Pass);
    assert_eq!(of(A, "10.0.0.1:9"), Verdict::Vacuous);
}

#[test]
fn redisson_s_lock_is_known_by_its_script() {
    let take = |at: u32, client: &'static str, who: &'static str| {
        let call = format!("EVAL script 1 lock 30000 {who}");
        [
            (at, client, call),
            (at, "lua", "exists lock".to_owned()),
            (at, "lua", format!("hincrby lock {who} 1")),
            (at, "lua", "pexpire lock 30000".to_owned()),
        ]
    };
    let give = |at: u32, client: &'static str, who: &'static str| {
        let call = format!("EVAL script 2 lock channel 0 30000 {who}");
        [
            (at, client, call),
            (at, "lua", format!("hexists lock {who}")),
            (at, "lua", format!("hincrby lock {who} -1")),
            (at, "lua", "del lock".to_owned()),
        ]
    };
    let text = |all: Vec<[(u32, &'static str, String); 4]>| {
        let all: Vec<_> = all.iter().flatten().map(|(at, client, words)| (*at, *client, words.as_str())).collect();
        monitor(&all)
    };
    assert_eq!(
        verdict(&text(vec![take(1, A, "a:1"), give(5, A, "a:1"), take(6, B, "b:1"), give(9, B, "b:1")])),
        Verdict::Pass
    );
    let kept =
        text(vec![take(1, A, "a:1")]) + &monitor(&[(3, "10.0.0.9:1", "DEL lock")]) + &text(vec![take(6, B, "b:1")]);
    assert_eq!(verdict(&kept), Verdict::Safety);
}

#[test]
fn what_is_wrong_with_monitor_is_said_in_one_sentence() {
    let lines = monitor(&[(1, A, "SET lock va NX PX 10000"), (2, A, "PEXPIRE lock 10000")]);
    for (text, must) in [
        (lines[..lines.len() - 4].to_owned(), "no whole command of MONITOR"),
        (monitor(&[(2, A, "SET a 1 NX"), (1, A, "DEL a")]), "is before the line above it"),
        (monitor(&[(2, A, "SET a 1"), (3, A, "GET a")]), "nobody takes a lock"),
        (
            monitor(&[
                (2, A, "SET a 1 NX PX"),
                (3, A, "PEXPIRE a 99999999999999999999999"),
                (4, A, "DEL"),
                (5, A, "EVAL"),
                (5, A, "SET"),
            ]),
            "",
        ),
    ] {
        if must.is_empty() {
            assert_ne!(verdict(&text), Verdict::Pass);
        } else {
            let why = why(&text);
            assert!(why.contains(must), "{why}");
        }
    }
}
