//! Commands on connections, the clock and scripts.
//!
//! Reference: redis/redis 7.0.15, `src/networking.c: helloCommand, clientSetNameOrReply, clientCommand`, `src/db.c:
//! selectCommand`, `src/server.c: pingCommand, timeCommand`, `src/eval.c: evalGenericCommand, evalShaCommand,
//! scriptCommand`.

use super::{
    call::{Call, Command, NOT_AN_INTEGER, Outcome, integer, text, wrong_arity},
    lua,
    resp::{Protocol, Resp},
    script::Script,
};

const NO_SCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";
/// The default number of databases.
const DATABASES: i64 = 16;

/// `CLIENT …`. `SETINFO` exists since Redis 7.2; clients that send it expect the error.
pub(super) const CLIENT: [Command; 3] = [
    Command {
        name: "client|setname",
        arity: 3,
        run: |call| set_name(call, &call.args[2]).map(|()| Resp::Status("OK")),
    },
    Command {
        name: "client|getname",
        arity: 2,
        run: |call| {
            let name = &call.session.name;
            Ok(if name.is_empty() { Resp::Nil } else { Resp::bulk(name) })
        },
    },
    Command { name: "client|id", arity: 2, run: |call| Ok(Resp::Integer(call.session.id)) },
];

/// `SCRIPT …`.
pub(super) const SCRIPT: [Command; 3] = [
    Command {
        name: "script|load",
        arity: 3,
        run: |call| {
            let script = load(call, 2)?;
            Ok(Resp::bulk(script.digest()))
        },
    },
    Command {
        name: "script|exists",
        arity: -3,
        run: |call| {
            let exists = |digest: &Vec<u8>| Resp::Integer(find(call, digest).is_some().into());
            Ok(Resp::Array(call.args[2..].iter().map(exists).collect()))
        },
    },
    Command {
        name: "script|flush",
        arity: -2,
        run: |call| match &call.args[2..] {
            [mode] if !mode.eq_ignore_ascii_case(b"sync") && !mode.eq_ignore_ascii_case(b"async") => {
                Err("ERR SCRIPT FLUSH only support SYNC|ASYNC option".into())
            }
            [] | [_] => {
                call.model.scripts.clear();
                Ok(Resp::Status("OK"))
            }
            _ => Err("ERR SCRIPT FLUSH only support SYNC|ASYNC option".into()),
        },
    },
];

pub(super) fn ping(call: &mut Call) -> Outcome {
    match &call.args[1..] {
        [] => Ok(Resp::Status("PONG")),
        [echo] => Ok(Resp::bulk(echo)),
        _ => Err(wrong_arity("ping")),
    }
}

/// Seconds and microseconds; this server's clock has millisecond resolution.
pub(super) fn time(call: &mut Call) -> Outcome {
    let (seconds, micros) = (call.now_ms / 1000, call.now_ms % 1000 * 1000);
    Ok(Resp::Array(vec![Resp::bulk(seconds.to_string()), Resp::bulk(micros.to_string())]))
}

pub(super) fn select(call: &mut Call) -> Outcome {
    let database = integer(&call.args[1])?;
    if i32::try_from(database).is_err() {
        return Err("ERR value is out of range, value must between -2147483648 and 2147483647".into());
    }
    if !(0..DATABASES).contains(&database) {
        return Err("ERR DB index is out of range".into());
    }
    call.session.database = database as u8;
    Ok(Resp::Status("OK"))
}

fn set_name(call: &mut Call, name: &[u8]) -> Result<(), String> {
    if !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Err("ERR Client names cannot contain spaces, newlines or special characters.".into());
    }
    call.session.name = name.to_vec();
    Ok(())
}

/// The default user has no password, so any is accepted.
pub(super) fn hello(call: &mut Call) -> Outcome {
    let mut args = call.args[1..].iter();
    let protocol = match args.next() {
        None => call.session.protocol,
        Some(version) => match integer(version) {
            Ok(2) => Protocol::Resp2,
            Ok(3) => Protocol::Resp3,
            Ok(_) => return Err("NOPROTO unsupported protocol version".into()),
            Err(_) => return Err("ERR Protocol version is not an integer or out of range".into()),
        },
    };
    let mut rest = args.as_slice();
    loop {
        rest = match rest {
            [] => break,
            [auth, user, _, rest @ ..] if auth.eq_ignore_ascii_case(b"auth") => {
                if user != b"default" {
                    return Err("WRONGPASS invalid username-password pair or user is disabled.".into());
                }
                rest
            }
            [option, name, rest @ ..] if option.eq_ignore_ascii_case(b"setname") => {
                set_name(call, name)?;
                rest
            }
            [option, ..] => return Err(format!("ERR Syntax error in HELLO option '{}'", text(option))),
        };
    }
    call.session.protocol = protocol;
    let pair = |key: &str, value: Resp| (Resp::bulk(key), value);
    Ok(Resp::Map(vec![
        pair("server", Resp::bulk("redis")),
        pair("version", Resp::bulk("7.0.15")),
        pair("proto", Resp::Integer(if protocol == Protocol::Resp3 { 3 } else { 2 })),
        pair("id", Resp::Integer(call.session.id)),
        pair("mode", Resp::bulk("standalone")),
        pair("role", Resp::bulk("master")),
        pair("modules", Resp::Array(Vec::new())),
    ]))
}

pub(super) fn eval(call: &mut Call) -> Outcome {
    run_script(call, |call| load(call, 1))
}

/// Loads the script that this argument is.
fn load(call: &mut Call, at: usize) -> Result<Script, String> {
    let script = Script::load(&call.args[at])?;
    call.model.scripts.insert(script.digest().to_owned(), script.clone());
    Ok(script)
}

/// A loaded script. Digests are case-insensitive.
fn find(call: &Call, digest: &[u8]) -> Option<Script> {
    let digest = std::str::from_utf8(digest).ok()?.to_ascii_lowercase();
    call.model.scripts.get(&digest).cloned()
}

pub(super) fn evalsha(call: &mut Call) -> Outcome {
    if call.args[1].len() != 40 {
        return Err(NO_SCRIPT.into());
    }
    run_script(call, |call| find(call, &call.args[1]).ok_or_else(|| NO_SCRIPT.into()))
}

fn run_script(call: &mut Call, script: fn(&mut Call) -> Result<Script, String>) -> Outcome {
    let keys = integer(&call.args[2]).map_err(|_| NOT_AN_INTEGER)?;
    let args = &call.args[3..];
    if keys > args.len() as i64 {
        return Err("ERR Number of keys can't be greater than number of args".into());
    }
    let keys = usize::try_from(keys).map_err(|_| "ERR Number of keys can't be negative")?;
    let script = script(call)?;
    let (keys, argv) = args.split_at(keys);
    lua::run(&script, call, keys, argv)
}
