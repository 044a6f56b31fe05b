//! The commands on keys, and the dispatch of commands.
//!
//! Reference: redis/redis 7.0.15, `src/server.c: processCommand, commandCheckExistence, commandCheckArity`,
//! `src/t_string.c: setGenericCommand, parseExtendedStringArgumentsOrReply, incrDecrCommand`,
//! `src/expire.c: expireGenericCommand, ttlGenericCommand`, `src/db.c: delGenericCommand, existsCommand`.

use super::{
    call::{Call, Command, Outcome, SYNTAX, integer, text, wrong_arity},
    connection,
    model::{Entry, Model, Session, name_in},
    resp::Resp,
};

const fn command(name: &'static str, arity: i32, run: fn(&mut Call) -> Outcome) -> Command {
    Command { name, arity, run }
}

const COMMANDS: [Command; 19] = [
    command("set", -3, set),
    command("get", 2, get),
    command("del", -2, del),
    command("exists", -2, exists),
    command("incr", 2, incr),
    command("expire", -3, |call| expire(call, 1000, call.now_ms)),
    command("pexpire", -3, |call| expire(call, 1, call.now_ms)),
    command("pexpireat", -3, |call| expire(call, 1, 0)),
    command("ttl", 2, |call| Ok(Resp::Integer(ttl(call, |ms| (ms + 500) / 1000)))),
    command("pttl", 2, |call| Ok(Resp::Integer(ttl(call, |ms| ms)))),
    command("flushall", -1, flushall),
    command("eval", -3, connection::eval),
    command("evalsha", -3, connection::evalsha),
    command("ping", -1, connection::ping),
    command("hello", -1, connection::hello),
    command("select", 2, connection::select),
    command("time", 1, connection::time),
    command("client", -2, |call| subcommand(call, &connection::CLIENT)),
    command("script", -2, |call| subcommand(call, &connection::SCRIPT)),
];

/// Commands that count as writes, whatever their effect.
const WRITES: [&str; 7] = ["set", "del", "incr", "expire", "pexpire", "pexpireat", "flushall"];

impl Model {
    /// Executes a command at the server's wall time `now_wall_ms`, in milliseconds since the Unix epoch. `args[0]` is
    /// the command's name. Time stands still within a command, and thus within a script.
    pub fn apply(&mut self, session: &mut Session, now_wall_ms: u64, args: &[Vec<u8>]) -> Resp {
        let now_ms = i64::try_from(now_wall_ms).unwrap_or(i64::MAX);
        if let Some(name) = args.iter().find_map(|word| name_in(word))
            && session.peer.as_deref() != Some(name)
        {
            session.peer = Some(name.to_owned());
        }
        let Model { keys, written, replicates, .. } = self;
        written.clear();
        for (database, keys) in keys {
            keys.retain(|key, entry| {
                let lives = entry.expires_at_ms.is_none_or(|at| now_ms <= at);
                if !lives && *replicates {
                    written.push((*database, vec![b"DEL".to_vec(), key.clone()]));
                }
                lives
            });
        }
        let answer = execute(self, session, now_ms, args);
        self.note_grants();
        answer
    }
}

fn execute(model: &mut Model, session: &mut Session, now_ms: i64, args: &[Vec<u8>]) -> Resp {
    let Some(name) = args.first() else { return Resp::Error("ERR no command".into()) };
    let Some(command) = COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name)) else {
        return Resp::Error(unknown(name, &args[1..]));
    };
    run(&mut Call { model, session, now_ms, name: command.name, execute, args }, command).unwrap_or_else(Resp::Error)
}

fn run(call: &mut Call, command: &Command) -> Outcome {
    let (count, arity) = (call.args.len(), command.arity.unsigned_abs() as usize);
    call.name = command.name;
    if if command.arity < 0 { count < arity } else { count != arity } {
        return Err(wrong_arity(command.name));
    }
    match call.model.refuses_writes {
        Some(why) if WRITES.contains(&command.name) => Err(why.to_owned()),
        _ => (command.run)(call),
    }
}

fn subcommand(call: &mut Call, commands: &[Command]) -> Outcome {
    let name = &call.args[1];
    let is = |command: &&Command| {
        command.name.split_once('|').is_some_and(|(_, own)| own.as_bytes().eq_ignore_ascii_case(name))
    };
    match commands.iter().find(is) {
        Some(command) => run(call, command),
        None => Err(format!(
            "ERR unknown subcommand '{}'. Try {} HELP.",
            text(&name[..name.len().min(128)]),
            call.name.to_uppercase()
        )),
    }
}

fn unknown(name: &[u8], args: &[Vec<u8>]) -> String {
    let mut quoted = String::new();
    for arg in args {
        if quoted.len() >= 128 {
            break;
        }
        let room = 128 - quoted.len();
        quoted += &format!("'{}' ", text(&arg[..arg.len().min(room)]));
    }
    crate::service::grants::tell_refused("Redis", &format!("it does not know {}", text(&name[..name.len().min(128)])));
    format!("ERR unknown command '{}', with args beginning with: {quoted}", text(&name[..name.len().min(128)]))
}

fn invalid_expire(call: &Call) -> String {
    format!("ERR invalid expire time in '{}' command", call.name)
}

fn get(call: &mut Call) -> Outcome {
    let entry = call.model.get(call.session, call.now_ms, &call.args[1]);
    Ok(entry.map_or(Resp::Nil, |entry| Resp::bulk(&entry.value)))
}

/// The options of `SET`. `NX` and `XX` exclude each other, as do the ways to set an expiry; an option may be repeated,
/// and then its last argument counts.
#[derive(Default)]
struct SetOptions<'a> {
    only_new: bool,
    only_old: bool,
    reply_old: bool,
    /// One of `EX`, `PX`, `EXAT`, `PXAT`, `KEEPTTL`, with its argument.
    ends: Option<(&'static str, &'a [u8])>,
}

impl<'a> SetOptions<'a> {
    fn parse(args: &'a [Vec<u8>]) -> Result<Self, String> {
        let mut options = SetOptions::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let is = |word: &str| arg.eq_ignore_ascii_case(word.as_bytes());
            let ends = ["EX", "PX", "EXAT", "PXAT", "KEEPTTL"].into_iter().find(|word| is(word));
            match ends {
                None if is("NX") && !options.only_old => options.only_new = true,
                None if is("XX") && !options.only_new => options.only_old = true,
                None if is("GET") => options.reply_old = true,
                Some(word) if options.ends.is_none_or(|(before, _)| before == word) => {
                    let argument = if word == "KEEPTTL" { Some(&[][..]) } else { args.next().map(Vec::as_slice) };
                    options.ends = Some((word, argument.ok_or(SYNTAX)?));
                }
                _ => return Err(SYNTAX.into()),
            }
        }
        Ok(options)
    }

    /// When the key expires, in milliseconds since the Unix epoch; `None` for no expiry, or to keep the present one.
    fn expires_at_ms(&self, call: &Call) -> Result<Option<i64>, String> {
        let Some((word, argument)) = self.ends.filter(|(word, _)| *word != "KEEPTTL") else { return Ok(None) };
        let unit = if word.starts_with('E') { 1000 } else { 1 };
        let base = if word.ends_with("AT") { 0 } else { call.now_ms };
        let value = integer(argument)?;
        let at = value.checked_mul(unit).and_then(|ms| ms.checked_add(base)).filter(|_| value > 0);
        at.map(Some).ok_or_else(|| invalid_expire(call))
    }
}

fn set(call: &mut Call) -> Outcome {
    let (key, value) = (&call.args[1], &call.args[2]);
    let options = SetOptions::parse(&call.args[3..])?;
    let mut expires_at_ms = options.expires_at_ms(call)?;
    let old = call.model.get(call.session, call.now_ms, key);
    let old_reply = old.map_or(Resp::Nil, |entry| Resp::bulk(&entry.value));
    if (options.only_new && old.is_some()) || (options.only_old && old.is_none()) {
        return Ok(if options.reply_old { old_reply } else { Resp::Nil });
    }
    if let Some(("KEEPTTL", _)) = options.ends {
        expires_at_ms = old.and_then(|entry| entry.expires_at_ms);
    }
    call.model.put(call.session, key, Entry { value: value.clone(), expires_at_ms });
    match expires_at_ms {
        Some(at) => {
            call.model.wrote(call.session, &[b"SET", key.as_slice(), value, b"PXAT", at.to_string().as_bytes()])
        }
        None => call.model.wrote(call.session, &[b"SET", key.as_slice(), value]),
    }
    Ok(if options.reply_old { old_reply } else { Resp::Status("OK") })
}

fn del(call: &mut Call) -> Outcome {
    let mut gone = 0;
    for key in &call.args[1..] {
        if call.model.remove(call.session, call.now_ms, key) {
            gone += 1;
            call.model.wrote(call.session, &[b"DEL", key.as_slice()]);
        }
    }
    Ok(Resp::Integer(gone))
}

fn exists(call: &mut Call) -> Outcome {
    let there = call.args[1..].iter().filter(|key| call.model.get(call.session, call.now_ms, key).is_some());
    Ok(Resp::Integer(there.count() as i64))
}

fn incr(call: &mut Call) -> Outcome {
    let entry = call.model.get(call.session, call.now_ms, &call.args[1]);
    let (value, expires_at_ms) = entry.map_or((&b"0"[..], None), |entry| (&entry.value, entry.expires_at_ms));
    let value = integer(value)?.checked_add(1).ok_or("ERR increment or decrement would overflow")?;
    let entry = Entry { value: value.to_string().into_bytes(), expires_at_ms };
    call.model.put(call.session, &call.args[1], entry);
    call.model.wrote(call.session, &[b"INCR", call.args[1].as_slice()]);
    Ok(Resp::Integer(value))
}

/// `EXPIRE` and its variants: `unit` is in milliseconds, and time counts from `from_ms`.
fn expire(call: &mut Call, unit: i64, from_ms: i64) -> Outcome {
    let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
    for option in &call.args[3..] {
        match option.to_ascii_lowercase().as_slice() {
            b"nx" => nx = true,
            b"xx" => xx = true,
            b"gt" => gt = true,
            b"lt" => lt = true,
            _ => return Err(format!("ERR Unsupported option {}", text(option))),
        }
    }
    if nx && (xx || gt || lt) {
        return Err("ERR NX and XX, GT or LT options at the same time are not compatible".into());
    }
    if gt && lt {
        return Err("ERR GT and LT options at the same time are not compatible".into());
    }
    let key = &call.args[1];
    let at = integer(&call.args[2])?.checked_mul(unit).and_then(|ms| ms.checked_add(from_ms));
    let at = at.ok_or_else(|| invalid_expire(call))?;
    let Some(entry) = call.model.get(call.session, call.now_ms, key) else { return Ok(Resp::Integer(0)) };
    // A key without expiry counts as endless.
    let refused = match entry.expires_at_ms {
        Some(old) => nx || (gt && at <= old) || (lt && at >= old),
        None => xx || gt,
    };
    if refused {
        return Ok(Resp::Integer(0));
    }
    if at <= call.now_ms {
        call.model.remove(call.session, call.now_ms, key);
        call.model.wrote(call.session, &[b"DEL", key.as_slice()]);
    } else {
        let entry = Entry { value: entry.value.clone(), expires_at_ms: Some(at) };
        call.model.put(call.session, key, entry);
        call.model.wrote(call.session, &[b"PEXPIREAT", key.as_slice(), at.to_string().as_bytes()]);
    }
    Ok(Resp::Integer(1))
}

/// The time left in some unit; −1 if the key has no expiry, −2 if it does not exist.
fn ttl(call: &Call, unit: fn(i64) -> i64) -> i64 {
    match call.model.get(call.session, call.now_ms, &call.args[1]) {
        None => -2,
        Some(entry) => entry.expires_at_ms.map_or(-1, |at| unit(at - call.now_ms)),
    }
}

fn flushall(call: &mut Call) -> Outcome {
    match &call.args[1..] {
        [] => {}
        [mode] if mode.eq_ignore_ascii_case(b"sync") || mode.eq_ignore_ascii_case(b"async") => {}
        _ => return Err(SYNTAX.into()),
    }
    call.model.clear();
    call.model.wrote(call.session, &[b"FLUSHALL"]);
    Ok(Resp::Status("OK"))
}
