use super::{
    super::super::Verdict,
    judged::{verdict, why},
};

pub fn operations(all: &[(u32, &str, &str, u32, &str)], vector: bool) -> String {
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
