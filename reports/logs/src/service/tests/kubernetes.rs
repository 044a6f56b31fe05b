use super::{
    super::super::{Options, Verdict},
    judged::{judged, verdict, why},
};
use std::time::Duration;

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

pub type Version = (u32, &'static str, u32, u32, u32);
pub const GOOD: [Version; 5] =
    [(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (3, "\"\"", 12, 12, 0), (4, "b", 13, 13, 1), (5, "b", 13, 20, 1)];
/// B takes the lease ten seconds before it ends.
pub const BAD: [Version; 4] = [(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (4, "b", 15, 15, 1), (5, "b", 15, 20, 1)];

pub fn yaml(versions: &[Version], between: &str) -> String {
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
    let late = |b: u32| {
        verdict(&yaml(
            &[(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (3, "a", 0, 40, 0), (4, "b", b, b, 1), (5, "b", b, b + 2, 1)],
            "",
        ))
    };
    assert_eq!((late(60), late(50)), (Verdict::Pass, Verdict::Safety));
    // Looked at now and then, so that renewals are missing; and without a holder in between.
    let seldom = [(1, "a", 0, 0, 0), (2, "a", 0, 60, 0), (3, "b", 100, 120, 1), (4, "b", 100, 180, 1)];
    assert_eq!(verdict(&yaml(&seldom, "")), Verdict::Vacuous);
    assert_eq!(verdict(&yaml(&[(1, "a", 0, 0, 0), (2, "b", 60, 60, 1)], "")), Verdict::Vacuous);
    let without = [(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (3, "c", 60, 60, 2), (4, "c", 60, 70, 2)];
    assert_eq!(verdict(&yaml(&without, "")), Verdict::Vacuous);
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

/// The same record, as client-go kept it in other objects.
fn annotated(kind: &str, versions: &[Version]) -> String {
    let one = |(version, holder, acquired, renewed, token): &Version| {
        let time = |s: &u32| format!("2026-05-01T10:{:02}:{:02}Z", s / 60, s % 60);
        let (holder, acquired, renewed) = (holder.trim_matches('"'), time(acquired), time(renewed));
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  annotations:\n    control-plane.alpha.kubernetes.io/leader: \
             '{{\"holderIdentity\":\"{holder}\",\"leaseDurationSeconds\":15,\"acquireTime\":\"{acquired}\",\"renewTime\":\"{renewed}\",\
             \"leaderTransitions\":{token}}}'\n  name: jobs\n  namespace: billing\n  resourceVersion: \"{version}\"\n  uid: 6f1d\n"
        )
    };
    versions.iter().map(one).collect::<Vec<_>>().join("---\n")
}

#[test]
fn records_in_annotations_are_leases_in_whole_seconds() {
    for kind in ["ConfigMap", "Endpoints"] {
        assert_eq!(verdict(&annotated(kind, &GOOD)), Verdict::Pass);
        assert_eq!(verdict(&annotated(kind, &BAD)), Verdict::Safety);
        // B takes it in the second in which it ends: before or after that, nobody can say.
        let at = |b: u32| {
            verdict(&annotated(
                kind,
                &[(1, "a", 0, 0, 0), (2, "a", 0, 10, 0), (4, "b", b, b, 1), (5, "b", b, b + 5, 1)],
            ))
        };
        assert_eq!((at(24), at(25), at(26)), (Verdict::Safety, Verdict::Vacuous, Verdict::Pass));
        // Beside a Lease of that name, it is another lock.
        let both = annotated(kind, &GOOD) + "---\n" + &yaml(&GOOD, "---\n");
        assert_eq!(verdict(&both), Verdict::Pass);
        let wrong = why(&annotated(kind, &BAD).replace("{\"holder", "\"holder"));
        assert!(wrong.contains(&format!("of the kind {kind}, and its record of the leader is no JSON")), "{wrong}");
    }
    // Any other object of that kind is none of an election.
    let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: billing\n---\n";
    assert_eq!(verdict(&(plain.to_owned() + &annotated("ConfigMap", &GOOD))), Verdict::Pass);
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
        (
            "NAME   HOLDER   AGE\njobs   a        3d\n".to_owned(),
            "is the table of `kubectl get lease`, which says neither",
        ),
        ("EVENT   NAME   HOLDER   AGE\nADDED   jobs   a   3d\n".to_owned(), "`kubectl get lease -o yaml --watch`"),
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
