//! Redis: generated commands of several sessions, on both arms in turn.

use super::{generate, redis::Redis, report, script::Arm};
use proptest::{prelude::*, sample::select};
use std::time::Duration;

/// The lines of a script.
type Sequence = Vec<String>;

/// Each arm has its own clock; this is how far apart a command may reach them.
const TTL_TOLERANCE_MS: i64 = 40;
/// On a stalled machine a key may have expired on one arm only, so a difference must repeat this often.
const TRIES: usize = 3;

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = String> {
    word(&["k", "k", "l", "n", "n", "leader", "token", "\"\""])
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => word(&["a", "b", "c"]),
        2 => word(&["1", "41", "-1", "9223372036854775806", "9223372036854775807", "007", "1.5", "\" 1\""]),
        1 => word(&["-9223372036854775808", "9007199254740992", "\"\""]),
        1 => word(&["\"x y\"", "\"\\r\\n\"", "\"\\x00\\xff\"", "999999999999999999999"]),
    ]
}

/// Milliseconds that end during a sequence or long after it, or malformed values.
fn ttl() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => word(&["15", "25"]),
        6 => word(&["60000", "90000", "300000"]),
        2 => word(&["0", "-1", "ten", "\"\"", "+5", "9223372036854775807", "9223372036854775808", "-9223372036854775808"]),
    ]
}

fn set_option() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => word(&["NX", "XX", "GET", "KEEPTTL", "nx", "Get"]),
        3 => (word(&["PX", "px"]), ttl()).prop_map(|(word, ttl)| format!("{word} {ttl}")),
        1 => word(&["EX 60", "EX 100", "EXAT 9999999999", "PXAT 9999999999999", "EXAT 1", "PXAT 1", "EX 9223372036854775"]),
        1 => word(&["EX", "PX", "FOO", "\"\""]),
    ]
}

fn many(what: impl Strategy<Value = String>, size: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(what, size).prop_map(|words| words.join(" "))
}

fn script() -> impl Strategy<Value = String> {
    let name = || word(&["compare-and-pexpire", "compare-and-delete", "acquire-fenced", "lock", "hand-over"]);
    let held = (word(&["EVAL @", "EVALSHA #"]), word(&["compare-and-pexpire 1", "compare-and-delete 1"]));
    prop_oneof![
        4 => (held, key(), value(), ttl()).prop_map(|((how, name), key, value, ttl)| {
            format!("{how}{name} {key} {value} {ttl}")
        }),
        4 => (word(&["EVAL @", "EVALSHA #"]), key(), key(), value(), ttl()).prop_map(|(how, key, token, value, ttl)| {
            format!("{how}acquire-fenced 2 {key} {token} {value} {ttl}")
        }),
        4 => (word(&["EVAL @", "EVALSHA #"]), key(), value(), ttl()).prop_map(|(how, key, value, ttl)| {
            format!("{how}lock 1 {key} {value} {ttl}")
        }),
        4 => (word(&["EVAL @", "EVALSHA #"]), key(), key(), value(), value(), ttl()).prop_map(
            |(how, key, token, value, to, ttl)| format!("{how}hand-over 2 {key} {token} {value} {to} {ttl}")
        ),
        1 => (word(&["EVAL @", "EVALSHA #"]), name(), word(&["0", "1", "2", "3", "-1", "x"]), many(value(), 0..4))
            .prop_map(|(how, name, keys, args)| format!("{how}{name} {keys} {args}")),
        1 => (word(&["SCRIPT LOAD @", "SCRIPT EXISTS #"]), name()).prop_map(|(how, name)| how + &name),
        1 => word(&["SCRIPT FLUSH", "SCRIPT FLUSH ASYNC", "SCRIPT FLUSH SYNC", "EVALSHA abc 0", "SCRIPT", "SCRIPT NO"]),
    ]
}

fn connection() -> impl Strategy<Value = String> {
    let names = &["CLIENT SETNAME one", "CLIENT SETNAME \"\"", "CLIENT SETNAME \"a b\"", "CLIENT GETNAME", "CLIENT ID"];
    prop_oneof![
        word(names),
        word(&["HELLO", "HELLO 2", "HELLO 3", "HELLO 4", "HELLO x", "HELLO 3 SETNAME two", "HELLO 2 SETNAME"]),
        word(&[
            "HELLO 3 AUTH default x",
            "HELLO 2 AUTH nobody x",
            "HELLO 3 AUTH default x SETNAME \"a b\"",
            "HELLO 2 FOO"
        ]),
        word(&["SELECT 0", "SELECT 1", "SELECT 1", "SELECT 16", "SELECT x", "SELECT 99999999999"]),
        word(&["PING", "PING there", "TIME", "CLIENT SETINFO LIB-NAME redis-rs", "CLIENT FOO"]),
    ]
}

/// Any command with any arguments, mostly of the wrong number.
fn nonsense() -> impl Strategy<Value = String> {
    let names = word(&[
        "SET",
        "GET",
        "DEL",
        "EXISTS",
        "INCR",
        "EXPIRE",
        "PEXPIRE",
        "TTL",
        "PTTL",
        "FLUSHALL",
        "EVAL @compare-and-delete",
        "EVALSHA",
        "PING",
        "SELECT",
        "TIME",
        "CLIENT",
        "SCRIPT",
        "NOPE",
        "\"\"",
        "\"N'O\\r\\nPE\"",
    ]);
    (names, many(prop_oneof![key(), value(), ttl()], 0..5)).prop_map(|(name, args)| format!("{name} {args}"))
}

fn command() -> impl Strategy<Value = String> {
    let expire = (
        word(&["PEXPIRE", "pexpire", "PEXPIREAT"]),
        key(),
        ttl(),
        many(word(&["NX", "XX", "GT", "LT", "FOO", "\"\\r\\nFOO\\n\""]), 0..3),
    );
    prop_oneof![
        8 => (key(), value(), many(set_option(), 0..3)).prop_map(|(key, value, o)| format!("SET {key} {value} {o}")),
        6 => key().prop_map(|key| format!("GET {key}")),
        3 => (word(&["DEL", "EXISTS"]), many(key(), 1..4)).prop_map(|(name, keys)| format!("{name} {keys}")),
        4 => key().prop_map(|key| format!("INCR {key}")),
        4 => expire.prop_map(|(name, key, ttl, options)| format!("{name} {key} {ttl} {options}")),
        1 => (key(), word(&["60", "100", "-1", "9223372036854775"])).prop_map(|(key, s)| format!("EXPIRE {key} {s}")),
        4 => (word(&["PTTL", "PTTL", "TTL"]), key()).prop_map(|(name, key)| format!("{name} {key}")),
        8 => script(),
        3 => connection(),
        2 => nonsense(),
        1 => word(&["FLUSHALL", "FLUSHALL ASYNC", "FLUSHALL NO"]),
    ]
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        60 => (word(&["a", "b", "c"]), command()).prop_map(|(session, command)| format!("{session}> {command}")),
        1 => Just("! wait 40".to_owned()),
        1 => word(&["! reconnect a", "! reconnect b"]),
    ]
}

/// Whether the replies to a command agree; times to live may differ slightly.
fn agree(line: &str, model: &str, real: &str) -> bool {
    let near = |unit: i64| {
        let number = |text: &str| text.strip_prefix(':')?.parse::<i64>().ok().filter(|left| *left >= 0);
        number(model).zip(number(real)).is_some_and(|(m, r)| (m - r).abs() <= unit)
    };
    let command = line.split_once(' ').map_or("", |(_, command)| command).to_ascii_lowercase();
    let near = match command.split(' ').next() {
        Some("pttl") => near(TTL_TOLERANCE_MS),
        Some("ttl") => near(1),
        _ => false,
    };
    model == real || near
}

/// Plays a sequence on both; returns the conversation up to the first difference, if any.
async fn play(sequence: &Sequence, model: &mut Redis, real: &mut Redis) -> Result<usize, String> {
    model.reset().await;
    real.reset().await;
    let (mut count, mut told) = (0, String::new());
    for line in sequence {
        told += &format!("  {line}\n");
        match line.split_once(' ').expect("a line has a session") {
            ("!", "wait 40") => tokio::time::sleep(Duration::from_millis(40)).await,
            ("!", reconnect) => {
                let session = reconnect.strip_prefix("reconnect ").expect("a session");
                model.reconnect(session).await;
                real.reconnect(session).await;
            }
            (session, command) => {
                let (m, r) = (model.ask(session, command).await, real.ask(session, command).await);
                count += 1;
                if !agree(line, &m[0], &r[0]) {
                    return Err(format!("{told}  {} said  {}\n  the model said  {}", real.name(), r[0], m[0]));
                }
                told += &format!("  < {}\n", r[0]);
            }
        }
    }
    Ok(count)
}

/// Model and server agree on any commands in any order.
#[test]
fn redis_generated() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _context = runtime.enter();
    let Some(mut real) = Redis::real() else { return };
    let mut model = Redis::model();
    let mut compared = 0;
    generate(prop::collection::vec(line(), 1..60), 500, |sequence| {
        let mut result = Ok(());
        for _ in 0..TRIES {
            match runtime.block_on(play(sequence, &mut model, &mut real)) {
                Ok(count) => {
                    compared += count;
                    return Ok(());
                }
                Err(why) => result = Err(why),
            }
        }
        result
    });
    report(&real.name(), compared, "generated");
}
