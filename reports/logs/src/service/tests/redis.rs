use super::{
    super::super::Verdict,
    judged::{verdict, why},
};

/// Lines of MONITOR: second, client, and the command's words.
pub fn monitor(all: &[(u32, &str, &str)]) -> String {
    let one = |(at, client, words): &(u32, &str, &str)| {
        let words: Vec<String> = words.split(' ').map(|word| format!("\"{word}\"")).collect();
        format!("15591030{at:02}.000000 [0 {client}] {}\n", words.join(" "))
    };
    format!("OK\n{}", all.iter().map(one).collect::<String>())
}

pub const A: &str = "10.0.0.1:501";
pub const B: &str = "10.0.0.2:502";

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
                (5, A, "EVAL s 18446744073709551615 a"),
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
