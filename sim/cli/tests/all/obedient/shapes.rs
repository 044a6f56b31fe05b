//! More logs as programs, loggers and services write them, each good and bad, from two stories: who led when, and what a
//! store decided.

use super::{systems::Twins, wrapped};

pub(super) const EPOCH: u64 = 1_777_861_800;

pub(super) fn iso(s: u64) -> String {
    format!("2026-05-04T02:{:02}:{:02}.125Z", 30 + s / 60, s % 60)
}

/// Second, node, and whether it begins or stops to lead.
pub(super) type Turn = (u64, &'static str, bool);
const TURNS: [[Turn; 4]; 2] = [
    [(0, "a", true), (20, "a", false), (22, "b", true), (50, "b", false)],
    [(0, "a", true), (9, "b", true), (20, "a", false), (50, "b", false)],
];

/// Second, node, token, and whether the write was accepted.
pub(super) type Write = (u64, &'static str, u64, bool);

pub(super) fn writes(bad: bool) -> [Write; 5] {
    [(0, "w-1", 7, true), (1, "w-1", 7, true), (5, "w-2", 8, true), (6, "w-1", 7, bad), (7, "w-2", 8, true)]
}

pub(super) fn twins(name: &'static str, of: impl Fn(bool) -> String) -> Twins {
    (name, of(false), of(true))
}

pub(super) fn of_turns(name: &'static str, line: impl Fn(u64, &str, bool) -> String) -> Twins {
    let of = |bad: bool| TURNS[usize::from(bad)].iter().map(|(s, who, begins)| line(*s, who, *begins) + "\n").collect();
    twins(name, of)
}

pub(super) fn of_writes(name: &'static str, line: impl Fn(u64, &str, u64, bool) -> String) -> Twins {
    twins(name, |bad| writes(bad).iter().map(|(s, who, token, ok)| line(*s, who, *token, *ok) + "\n").collect())
}

/// All of them.
pub fn all() -> Vec<Twins> {
    let mut all = structured();
    all.extend(wrapped::all());
    all.extend(text());
    all.extend(late());
    all.extend(kubernetes());
    all.extend(events());
    all.extend(jepsen());
    all.extend(redis());
    all
}

pub(super) fn said(begins: bool) -> &'static str {
    if begins { "became leader" } else { "lost leadership" }
}

/// Loggers' own names for time, level and message.
fn structured() -> Vec<Twins> {
    vec![
        of_writes("serilog.jsonl", |s, who, token, ok| {
            let (level, outcome) = if ok { ("", "Accepted") } else { (r#""@l":"Warning","#, "Rejected") };
            format!(
                r#"{{"@t":"{}","@mt":"Write by {{Node}}",{level}"Node":"{who}","FenceToken":{token},"Outcome":"{outcome}"}}"#,
                iso(s)
            )
        }),
        of_turns("serilog-elections.jsonl", |s, who, begins| {
            let kind = if begins { "5e1f" } else { "77ab" };
            format!(r#"{{"@t":"{}","@m":"{}","@i":"{kind}","@l":"Information","Node":"{who}"}}"#, iso(s), said(begins))
        }),
        of_writes("structlog.jsonl", |s, who, token, ok| {
            let (level, result) = if ok { ("info", "applied") } else { ("warning", "rejected") };
            format!(
                r#"{{"node":"{who}","fence":{token},"result":"{result}","event":"write","level":"{level}","logger":"store","timestamp":"{}"}}"#,
                iso(s)
            )
        }),
        of_turns("structlog-elections.jsonl", |s, who, begins| {
            let time = iso(s);
            format!(
                r#"{{"node":"{who}","event":"{}","level":"info","logger":"app.election","timestamp":"{time}"}}"#,
                said(begins)
            )
        }),
        of_writes("ecs-nested.jsonl", |s, who, token, ok| {
            let status = if ok { 200 } else { 409 };
            format!(
                r#"{{"@timestamp":"{}","log":{{"level":"info","logger":"store"}},"message":"PUT /ledger","ecs":{{"version":"1.6.0"}},"service":{{"name":"ledger"}},"host":{{"name":"{who}"}},"labels":{{"fencing_token":{token}}},"http":{{"response":{{"status_code":{status}}}}}}}"#,
                iso(s)
            )
        }),
        of_turns("ecs-dotted.jsonl", |s, who, begins| {
            format!(
                r#"{{"@timestamp":"{}","log.level":"INFO","message":"{}","ecs.version":"1.2.0","service.name":"scheduler","host.name":"{who}","process.thread.name":"main","log.logger":"app.Leader"}}"#,
                iso(s),
                said(begins)
            )
        }),
        of_turns("pino.jsonl", |s, who, begins| {
            let ms = (EPOCH + s) * 1_000 + 125;
            format!(r#"{{"level":30,"time":{ms},"pid":12,"hostname":"{who}","msg":"{}"}}"#, said(begins))
        }),
        of_turns("logback.jsonl", |s, who, begins| {
            format!(
                r#"{{"@timestamp":"{}","@version":"1","message":"{}","logger_name":"app.Leader","thread_name":"main","level":"INFO","level_value":20000,"HOSTNAME":"{who}"}}"#,
                iso(s),
                said(begins)
            )
        }),
        of_writes("gcp.jsonl", |s, who, token, ok| {
            let (severity, result) = if ok { ("INFO", "committed") } else { ("WARNING", "stale") };
            format!(
                r#"{{"insertId":"{s}x{token}","jsonPayload":{{"epoch":{token},"result":"{result}","writer":"{who}"}},"severity":"{severity}","timestamp":"{}"}}"#,
                iso(s)
            )
        }),
        of_writes("logfmt-zap.log", |s, who, token, ok| {
            format!(
                "level=info ts={} caller=store.go:91 msg=\"write\" leader={who} fencing_token={token} result={}",
                iso(s),
                if ok { "ok" } else { "fenced" }
            )
        }),
    ]
}

/// Text of known programs.
fn text() -> Vec<Twins> {
    let time = |s: u64| iso(s).replace('T', " ").replace('Z', "").replace('.', ",");
    vec![
        of_turns("patroni.log", move |s, who, begins| {
            let what = match begins {
                true => "promoted self to leader by acquiring session lock",
                false => "demoted self because DCS is not accessible and I was a leader",
            };
            format!("{who} | {} INFO: {what}", time(s))
        }),
        twins("etcd.log", |bad| {
            let line = |(s, who, begins): &Turn| {
                let (term, what) = (
                    if *who == "a" { 3 } else { 4 },
                    if *begins {
                        "became leader at term"
                    } else {
                        "stepped down to follower since quorum is not active at term"
                    },
                );
                format!("2026-05-04 02:{:02}:{:02}.000000 I | raft: {who} {what} {term}\n", 30 + s / 60, s % 60)
            };
            TURNS[usize::from(bad)].iter().map(line).collect()
        }),
        twins("kafka.log", |bad| {
            let line = |(s, who, begins): &Turn| {
                let id = u8::from(*who == "b") + 1;
                let what = match begins {
                    true => format!(
                        "{id} successfully elected as the controller. Epoch incremented to {} and epoch zk version is now {id}",
                        id + 4
                    ),
                    false => "Resigned".to_owned(),
                };
                format!("[{}] INFO [Controller id={id}] {what} (kafka.controller.KafkaController)\n", time(*s))
            };
            TURNS[usize::from(bad)].iter().map(line).collect()
        }),
        of_turns("syslog.log", |s, who, begins| {
            let state = if begins { "MASTER" } else { "BACKUP" };
            format!(
                "May  4 02:{:02}:{:02} {who} Keepalived_vrrp[1188]: (VI_1) Entering {state} STATE",
                30 + s / 60,
                s % 60
            )
        }),
    ]
}

/// What begins with more of another program's text than is looked at first.
fn late() -> Vec<Twins> {
    let chatter = |n: usize| {
        (0..n)
            .map(|n| format!("2026-05-04 02:29:00.{:03} INFO server warmed page {n} of the cache\n", n % 1_000))
            .collect::<String>()
    };
    let mut all = vec![
        twins("late-vault.log", move |bad| {
            let line = |(s, who, begins): &Turn| {
                let what = if *begins {
                    "acquired lock, enabling active operation"
                } else {
                    "leadership lost, stopping active operation"
                };
                format!("{who}  | {} [INFO]  core: {what}\n", iso(*s))
            };
            chatter(3_000) + &TURNS[usize::from(bad)].iter().map(line).collect::<String>()
        }),
        of_writes("late-json.log", |s, who, token, ok| {
            let verdict = if ok { "ok" } else { "fenced" };
            format!(
                r#"{{"t_us":"{}","node":"{who}","token":{token},"resource":"ledger","verdict":"{verdict}"}}"#,
                iso(s)
            )
        }),
    ];
    let Some((_, good, bad)) = all.last_mut() else { return all };
    (*good, *bad) = (chatter(3_000) + good, chatter(3_000) + bad);
    all
}

fn kubernetes() -> Vec<Twins> {
    // Version, holder, second of acquisition and of renewal, token; b takes it early, or after its end.
    let versions = |bad: bool| {
        let b = if bad { 22 } else { 26 };
        [(7, "a", 0, 0, 3), (9, "a", 0, 10, 3), (11, "b", b, b, 4), (12, "b", b, 32, 4)]
    };
    let yaml = move |between: &'static str| {
        move |bad: bool| {
            let one = |(version, who, from, to, token): (u32, &str, u64, u64, u32)| {
                format!(
                    "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: scheduler\n  namespace: batch\n  resourceVersion: \
                     \"{version}\"\nspec:\n  acquireTime: \"{}\"\n  holderIdentity: {who}_6f1c\n  leaseDurationSeconds: 15\n  leaseTransitions: \
                     {token}\n  renewTime: \"{}\"\n",
                    iso(from),
                    iso(to)
                )
            };
            versions(bad).map(one).join(between)
        }
    };
    let json = move |begin: &'static str, end: &'static str| {
        move |bad: bool| {
            let one = |(version, who, from, to, token): (u32, &str, u64, u64, u32)| {
                format!(
                    "{begin}{{\n    \"apiVersion\": \"coordination.k8s.io/v1\",\n    \"kind\": \"Lease\",\n    \"metadata\": {{\n        \"name\": \
                     \"scheduler\",\n        \"namespace\": \"batch\",\n        \"resourceVersion\": \"{version}\"\n    }},\n    \"spec\": {{\n        \
                     \"acquireTime\": \"{}\",\n        \"holderIdentity\": \"{who}_6f1c\",\n        \"leaseDurationSeconds\": 15,\n        \
                     \"leaseTransitions\": {token},\n        \"renewTime\": \"{}\"\n    }}\n}}{end}\n",
                    iso(from),
                    iso(to)
                )
            };
            versions(bad).map(one).concat()
        }
    };
    vec![
        twins("lease-watch.yaml", yaml("---\n")),
        twins("lease-watch-bare.yaml", yaml("")),
        twins("lease-watch.json", json("", "")),
        twins("lease-watch-events.json", json("{\"type\": \"MODIFIED\", \"object\": ", "}")),
    ]
}

fn events() -> Vec<Twins> {
    let events = |bad: bool, one: fn(u64, &str, &str) -> String| -> Vec<String> {
        let word = |begins| if begins { "became leader" } else { "stopped leading" };
        TURNS[usize::from(bad)].iter().map(|(s, who, begins)| one(*s, who, word(*begins))).collect()
    };
    let as_yaml = |s: u64, who: &str, what: &str| {
        let time = iso(s).replace(".125", "");
        format!(
            "- apiVersion: v1\n  count: 1\n  firstTimestamp: \"{time}\"\n  involvedObject:\n    kind: Lease\n    name: scheduler\n    namespace: \
             batch\n  kind: Event\n  lastTimestamp: \"{time}\"\n  message: {who}_6f1c {what}\n  metadata:\n    name: x\n    namespace: batch\n  \
             reason: LeaderElection\n  type: Normal\n"
        )
    };
    let as_json = |s: u64, who: &str, what: &str| {
        let time = iso(s).replace(".125", "");
        format!(
            r#"{{"apiVersion":"v1","count":1,"firstTimestamp":"{time}","involvedObject":{{"kind":"Lease","name":"scheduler","namespace":"batch"}},"kind":"Event","lastTimestamp":"{time}","message":"{who}_6f1c {what}","metadata":{{"name":"x","namespace":"batch"}},"reason":"LeaderElection"}}"#
        )
    };
    vec![
        twins("events.yaml", move |bad| {
            format!(
                "apiVersion: v1\nitems:\n{}kind: List\nmetadata:\n  resourceVersion: \"\"\n",
                events(bad, as_yaml).concat()
            )
        }),
        twins("events.json", move |bad| {
            format!(
                "{{\n \"apiVersion\": \"v1\",\n \"items\": [{}],\n \"kind\": \"List\"\n}}\n",
                events(bad, as_json).join(",")
            )
        }),
    ]
}

fn jepsen() -> Vec<Twins> {
    let history = |value: bool| {
        move |bad: bool| {
            let (begins, ends) = if bad { (9, 20) } else { (22, 20) };
            let mut all = vec![
                (0, "invoke", "acquire", 0, 0),
                (1, "ok", "acquire", 0, 3),
                (8, "invoke", "acquire", 1, 0),
                (begins, "ok", "acquire", 1, 4),
                (ends, "invoke", "release", 0, 0),
                (ends + 1, "ok", "release", 0, 0),
                (50, "invoke", "release", 1, 0),
                (51, "info", "release", 1, 0),
            ];
            all.sort_by_key(|operation| operation.0);
            let one = |(place, (s, kind, f, process, token)): (usize, (u64, &str, &str, u32, u32))| {
                let token = if value && token > 0 { token.to_string() } else { "nil".to_owned() };
                format!(
                    "{{:type :{kind}, :f :{f}, :value {token}, :process {process}, :time {s}000000000, :index {place}}}"
                )
            };
            all.into_iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
        }
    };
    vec![
        twins("history.edn", history(true)),
        twins("history-vector.edn", move |bad| format!("[{}]\n", history(false)(bad))),
    ]
}

fn redis() -> Vec<Twins> {
    let line = |s: u64, client: &str, words: &str| {
        let words: Vec<String> = words.split(' ').map(|word| format!("\"{word}\"")).collect();
        format!("{}.125000 [0 {client}] {}\n", EPOCH + s, words.join(" "))
    };
    let (a, b) = ("10.0.0.11:50112", "10.0.0.12:50440");
    let plain = move |bad: bool| {
        let begin = "OK\n".to_owned()
            + &line(0, a, "SET beat::lock 8f6c NX PX 10000")
            + &line(5, a, "PEXPIRE beat::lock 10000");
        let taken = line(20, b, "SET beat::lock 1b7d NX PX 10000") + &line(25, b, "PEXPIRE beat::lock 10000");
        // A renews what is no longer its own.
        begin + &taken + &if bad { line(27, a, "PEXPIRE beat::lock 10000") } else { line(27, a, "PING") }
    };
    let script = move |bad: bool| {
        let call =
            |s: u64, client: &str, value: &str| line(s, client, &format!("EVALSHA 6b1bf486c81ceb 1 lock:jobs {value}"));
        let freed = |s: u64, client: &str, value: &str| {
            call(s, client, value) + &line(s, "lua", "get lock:jobs") + &line(s, "lua", "del lock:jobs")
        };
        let begin = line(0, a, "SET lock:jobs 8f6c NX PX 30000") + &line(3, a, "PEXPIRE lock:jobs 30000");
        let taken = line(10, b, "SET lock:jobs 1b7d NX PX 30000") + &freed(19, b, "1b7d");
        // Somebody deletes the lock that a holds.
        begin + &if bad { line(5, "10.0.0.99:1", "DEL lock:jobs") } else { freed(5, a, "8f6c") } + &taken
    };
    vec![twins("monitor.txt", plain), twins("monitor-scripts.txt", script)]
}
