//! Logs in real systems' formats, each good and bad. A human reader decided which is which.

/// A log's file name, and its good and bad twins.
pub type Twins = (&'static str, String, String);

const EPOCH: u64 = 1_777_861_800;

fn iso(s: u64) -> String {
    format!("2026-05-04T02:{:02}:{:02}.125Z", 30 + s / 60, s % 60)
}

fn lines<R>(rows: &[R], line: impl Fn(&R) -> String) -> String {
    rows.iter().map(|row| line(row) + "\n").collect()
}

/// Second, node, and whether it begins or stops to lead.
type Turn = (u64, &'static str, bool);
const IN_TURN: [Turn; 4] = [(0, "a", true), (20, "a", false), (22, "b", true), (50, "b", false)];
const AT_ONCE: [Turn; 4] = [(0, "a", true), (9, "b", true), (20, "a", false), (50, "b", false)];

/// A store's decision: second, node, token, and whether the write was accepted.
type Write = (u64, &'static str, u64, bool);

fn decided(refuses: bool) -> [Write; 5] {
    [(0, "w-1", 7, true), (1, "w-1", 7, true), (5, "w-2", 8, true), (6, "w-1", 7, !refuses), (7, "w-2", 8, true)]
}

/// Logs of elections, by the text for beginning and stopping, and the line's format.
pub fn elections() -> Vec<Twins> {
    type Form = fn(u64, &str, &str) -> String;
    let klog: Form = |s, who, msg| {
        let ms = (EPOCH + s) * 1_000;
        format!(
            r#"{{"ts":{ms}.25,"caller":"leaderelection.go:258","msg":"{msg}","identity":"{who}","lock":"kube-system/sched"}}"#
        )
    };
    let curator: Form = |s, who, msg| {
        let ms = (EPOCH + s) * 1_000;
        format!(
            r#"{{"timeMillis":{ms},"thread":"Curator-0","level":"INFO","loggerName":"org.acme.Leader","message":"{msg}","contextMap":{{"node":"{who}"}}}}"#
        )
    };
    let vault: Form = |s, who, msg| {
        let time = iso(s);
        format!(r#"{{"@level":"info","@message":"{msg}","@module":"core","@timestamp":"{time}","node_id":"{who}"}}"#)
    };
    let patroni: Form = |s, who, msg| {
        let time = iso(s).replace(['T', 'Z'], " ").replace('.', ",");
        format!(r#"{{"asctime":"{}","levelname":"INFO","message":"{msg}","host":"{who}"}}"#, time.trim())
    };
    let lock: Form = |s, who, msg| {
        let ms = (EPOCH + s) * 1_000;
        format!(r#"{{"t":{ms},"action":"{msg}","owner":"{who}","lock":"reindex"}}"#)
    };
    let logfmt: Form = |s, who, msg| format!(r#"time={} level=info msg="{msg}" pod={who}"#, iso(s));
    let all: [(&str, Form, [&str; 2]); 7] = [
        ("klog.jsonl", klog, ["Successfully acquired lease", "Stopped leading"]),
        ("curator.jsonl", curator, ["takeLeadership", "leadership released"]),
        ("latch.jsonl", curator, ["isLeader", "notLeader"]),
        (
            "vault.jsonl",
            vault,
            ["acquired lock, enabling active operation", "stepping down from active operation to standby"],
        ),
        (
            "patroni.jsonl",
            patroni,
            ["promoted self to leader by acquiring session lock", "demoting self because DCS is not accessible"],
        ),
        ("lock.jsonl", lock, ["acquired", "released"]),
        ("raft.log", logfmt, ["entering leader state", "entering follower state"]),
    ];
    let told = |form: Form, [begins, stops]: [&str; 2], turns: &[Turn]| {
        lines(turns, |(s, who, begin)| form(*s, who, if *begin { begins } else { stops }))
    };
    all.into_iter().map(|(name, form, said)| (name, told(form, said, &IN_TURN), told(form, said, &AT_ONCE))).collect()
}

/// Logs of writes, with the store's decisions.
pub fn writes() -> Vec<Twins> {
    type Form = fn(&Write) -> String;
    let kafka: Form = |(s, who, epoch, ok)| {
        let (id, code) = (&who[2..], if *ok { "NONE" } else { "STALE_CONTROLLER_EPOCH" });
        let time = iso(*s);
        format!(
            r#"{{"time":"{time}","controllerId":{id},"controllerEpoch":{epoch},"partition":"orders-0","api":"LeaderAndIsr","errorCode":"{code}"}}"#
        )
    };
    let consul: Form = |(s, who, index, ok)| {
        let (time, status) = (iso(*s), if *ok { 200 } else { 409 });
        format!(
            r#"{{"Timestamp":"{time}","Node":"{who}","Key":"service/ledger/leader","LockIndex":{index},"Status":{status}}}"#
        )
    };
    let invoices: Form = |(s, who, fence, ok)| {
        let (time, rows) = (iso(*s), u8::from(*ok));
        format!(
            r#"{{"ts":"{time}","level":"info","instance":"{who}","fence":{fence},"invoice":{},"rows_affected":{rows}}}"#,
            900 + s
        )
    };
    let etcd: Form = |(s, who, revision, ok)| {
        let time = iso(*s);
        format!(
            r#"{{"level":"info","ts":"{time}","caller":"apply.go:91","msg":"txn","member":"{who}","create_revision":{revision},"succeeded":{ok},"key":"/plan"}}"#
        )
    };
    // Epochs that begin at 0.
    let object: Form = |(s, who, epoch, ok)| {
        let (time, status, epoch) = (iso(*s), if *ok { 200 } else { 412 }, epoch - 7);
        format!(r#"{{"time":"{time}","writer":"{who}","writer_epoch":{epoch},"key":"manifest","status":{status}}}"#)
    };
    let logfmt: Form = |(s, who, term, ok)| {
        let level = if *ok { "info" } else { "warn" };
        format!(r#"ts={} level={level} msg="leader write" pod={who} term={term} applied={ok}"#, iso(*s))
    };
    let all: [(&str, Form); 6] = [
        ("kafka.jsonl", kafka),
        ("consul.jsonl", consul),
        ("invoices.jsonl", invoices),
        ("etcd.jsonl", etcd),
        ("object.jsonl", object),
        ("writes.log", logfmt),
    ];
    let of = |form: Form, refuses: bool| lines(&decided(refuses), form);
    let mut twins: Vec<Twins> = all.into_iter().map(|(name, form)| (name, of(form, true), of(form, false))).collect();
    twins.extend([shards(), tenants(), cron(), outbox()]);
    twins
}

/// Each shard has terms of its own, and the shards' lines are interleaved.
fn shards() -> Twins {
    let line = |(s, who, shard, term): &(u64, &str, &str, u64)| {
        format!(r#"{{"at":"{}","pod":"{who}","shard":"{shard}","term":{term},"outcome":"ok"}}"#, iso(*s))
    };
    let good = [(0, "a", "s1", 3), (1, "b", "s2", 9), (2, "a", "s1", 3), (4, "c", "s1", 4), (5, "b", "s2", 9)];
    let ends = [[(6, "a", "s2", 10), (7, "c", "s1", 4)], [(6, "a", "s1", 3), (7, "c", "s1", 4)]];
    let [good, bad] = ends.map(|end| lines(&[&good[..], &end].concat(), line));
    ("shards.jsonl", good, bad)
}

/// The same with numeric tenants.
fn tenants() -> Twins {
    let line = |(s, who, tenant, epoch): &(u64, &str, u64, u64)| {
        format!(r#"{{"ts":"{}","node":"{who}","tenant_id":{tenant},"fencing_token":{epoch},"status":"ok"}}"#, iso(*s))
    };
    let good = [(0, "a", 1, 3), (1, "b", 2, 9), (2, "a", 1, 3), (4, "c", 1, 4), (5, "b", 2, 9)];
    let ends = [[(6, "a", 2, 10), (7, "c", 1, 4)], [(6, "a", 1, 3), (7, "c", 1, 4)]];
    let [good, bad] = ends.map(|end| lines(&[&good[..], &end].concat(), line));
    ("tenants.jsonl", good, bad)
}

/// Runs of a job, with their beginnings and ends.
fn cron() -> Twins {
    let run = |(from, to, host): &(u64, u64, &str)| {
        let [from, to] = [from, to].map(|s| iso(*s));
        format!(r#"{{"job":"billing","host":"{host}","started_at":"{from}","finished_at":"{to}","exit_code":0}}"#)
    };
    let of = |first_to: u64| lines(&[(0, first_to, "h1"), (60, 88, "h2"), (120, 149, "h1")], run);
    ("cron.jsonl", of(30), of(95))
}

/// Messages sent by two relays; one of them twice.
fn outbox() -> Twins {
    let line = |(s, who, message): &(u64, &str, &str)| {
        format!(r#"{{"@timestamp":"{}","service.instance":"{who}","message_id":"{message}","status":"sent"}}"#, iso(*s))
    };
    let of =
        |third: &'static str| lines(&[(0, "r1", "m-1"), (1, "r1", "m-2"), (6, "r2", third), (7, "r2", "m-4")], line);
    ("outbox.jsonl", of("m-3"), of("m-2"))
}
