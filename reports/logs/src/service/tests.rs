mod jepsen;
mod judged;
mod kubernetes;
mod redis;

use super::super::{Options, Verdict};
use jepsen::operations;
use judged::{judged, why};
use kubernetes::{BAD, GOOD, yaml};
use redis::{A, B, monitor};

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
