//! What Redis's `MONITOR` prints: every command with its time and client, but no answer. Locks are keys that `SET … NX`,
//! `SETNX`, or a script like Redisson's takes; who holds one follows from the commands alone, since a script's own commands
//! are printed, too.
//!
//! **Source.** Redis's documentation of MONITOR and SET; the output of Redis 7.0.15; Redisson's RedissonLock.java.

mod lock;

use super::{
    super::{
        rows::{self, Rows},
        seen::Seen,
    },
    history,
};
use lock::{If, Kind, Op, Script};
use std::{cell::RefCell, collections::BTreeMap, io::BufRead, rc::Rc};

pub const CALLED: &str = "what MONITOR of Redis printed";

type Wrong = (u64, String);

/// A line of `MONITOR`.
#[derive(PartialEq, Eq, Debug)]
pub struct Command<'t> {
    ns: u64,
    database: &'t str,
    /// The client's address, or `lua` for a script's own command.
    client: &'t str,
    args: Vec<String>,
}

/// Parses `1559103043.613204 [0 10.0.0.11:50112] "SET" "lock" "v" "NX"`.
pub fn command(line: &str) -> Option<Command<'_>> {
    let (time, rest) = line.trim_end().split_once(" [")?;
    let (seconds, micros) = time.split_once('.').filter(|(_, micros)| micros.len() == 6)?;
    let ns =
        seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(micros.parse::<u64>().ok()? * 1_000)?;
    let (client, mut rest) = rest.split_once("] \"")?;
    let (database, client) = client.split_once(' ')?;
    let mut args = Vec::new();
    loop {
        let (arg, after) = quoted(rest)?;
        args.push(arg);
        match after.strip_prefix(" \"") {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(Command { ns, database, client, args }),
        }
    }
}

/// The text up to the quote that closes it, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut said, mut chars) = (String::new(), text.char_indices());
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return Some((said, &text[place + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => said.push('\n'),
                'r' => said.push('\r'),
                't' => said.push('\t'),
                // A byte that is no letter stays as it is written.
                'x' => said.push_str("\\x"),
                c => said.push(c),
            },
            c => said.push(c),
        }
    }
    None
}

/// `of`: the server, if there are several.
pub fn rows(input: impl BufRead, of: Option<&str>, seen: &Rc<RefCell<Seen>>) -> Rows {
    read(input, of, seen).map_or_else(history::wrong, history::rows)
}

fn read(input: impl BufRead, of: Option<&str>, seen: &RefCell<Seen>) -> Result<Vec<history::Line>, Wrong> {
    let (mut locks, mut script, mut last) = (Locks::default(), None, None);
    for line in rows::lines(input) {
        let (number, bytes) = line?;
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end();
        let Some(command) = command(line) else {
            if starts_like(line) {
                return Err((number, "has no whole command of MONITOR; is the file cut off?".to_owned()));
            }
            // `OK`, and what redis-cli says of its connection.
            locks.others += u64::from(!line.is_empty() && line != "OK");
            continue;
        };
        if last.is_some_and(|last| command.ns < last) {
            return Err((
                number,
                "is before the line above it; judge what one server printed, in its order".to_owned(),
            ));
        }
        last = Some(command.ns);
        if command.client != "lua" {
            script = None;
        }
        locks.takes(number, &command, &mut script);
    }
    let mut seen = seen.borrow_mut();
    seen.others += locks.others;
    if locks.keys.is_empty() {
        return Err((1, "begins what MONITOR of Redis printed, in which nobody takes a lock with SET … NX, SETNX or Redisson's script".to_owned()));
    }
    let mut lines = Vec::new();
    for (key, ops) in &locks.keys {
        let key = of.map_or_else(|| key.clone(), |server| format!("{key} of {server}"));
        lock::judged(&key, ops, locks.scripts_are_told, &mut seen, &mut lines);
    }
    Ok(lines)
}

/// May it be a part of a command's line? Only what redis-cli says of its connection is passed over.
fn starts_like(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || c == '{') || line.contains("] \"")
}

/// What is done to each lock.
#[derive(Default)]
struct Locks {
    keys: BTreeMap<String, Vec<Op>>,
    /// Commands about anything else.
    others: u64,
    /// Are the commands of scripts printed?
    scripts_are_told: bool,
}

impl Locks {
    fn takes(&mut self, line: u64, command: &Command, script: &mut Option<Rc<Script>>) {
        let Command { ns, database, client, args } = command;
        let name = args[0].to_ascii_uppercase();
        let called =
            |key: &str| if *database == "0" { key.to_owned() } else { format!("{key} of database {database}") };
        let key = args.get(1).map(|key| called(key)).unwrap_or_default();
        if *client == "lua" {
            self.scripts_are_told = true;
        }
        let caller = script.as_ref().map_or_else(|| Rc::from(*client), |script| script.client.clone());
        let mut op = Op { line, ns: *ns, client: caller, script: script.clone(), kind: Kind::Deleted };
        match &*name {
            "EVAL" | "EVALSHA" | "EVALSHA_RO" | "FCALL" => {
                let keys = args.get(2).and_then(|keys| keys.parse::<usize>().ok()).unwrap_or(0);
                let called_keys: Vec<String> = args.iter().skip(3).take(keys).map(|key| called(key)).collect();
                let args = args.iter().skip(keys.saturating_add(3)).cloned().collect();
                let new = Rc::new(Script { client: Rc::from(*client), args, asked: RefCell::default() });
                *script = Some(new.clone());
                let known = called_keys.into_iter().filter(|key| self.keys.contains_key(key)).collect::<Vec<_>>();
                self.others += u64::from(known.is_empty());
                for key in known {
                    let op =
                        Op { line, ns: *ns, client: new.client.clone(), script: Some(new.clone()), kind: Kind::Called };
                    self.keys.entry(key).or_default().push(op);
                }
                return;
            }
            "FLUSHALL" | "FLUSHDB" => {
                self.keys.values_mut().for_each(|ops| ops.push(op.clone()));
                return;
            }
            "EXISTS" | "HEXISTS" => {
                if let Some(script) = script {
                    script.asked.borrow_mut().insert(key);
                }
                return;
            }
            _ => {}
        }
        let Some(kind) = kind(&name, args, *ns) else {
            self.others += 1;
            return;
        };
        // Redisson's script asks whether the key exists, and then counts in a hash.
        let counted = matches!(kind, Kind::Counted(_))
            && script.as_ref().is_some_and(|script| script.asked.borrow().contains(&key));
        let begins = matches!(kind, Kind::Set { only: If::Free, .. }) || counted;
        let keys = if kind == Kind::Deleted { args[1..].iter().map(|key| called(key)).collect() } else { vec![key] };
        op.kind = kind;
        let mut of_a_lock = false;
        for key in keys {
            if begins || self.keys.contains_key(&key) {
                of_a_lock = true;
                self.keys.entry(key).or_default().push(op.clone());
            }
        }
        self.others += u64::from(!of_a_lock);
    }
}

/// What a command may do to a lock.
fn kind(name: &str, args: &[String], ns: u64) -> Option<Kind> {
    let number = |place: usize| args.get(place)?.parse::<u64>().ok();
    const MS: u64 = 1_000_000;
    // Redis counts whole milliseconds, and a key has run out when its last one is over.
    let begins_ns = (ns / MS * MS).saturating_add(MS);
    let after = |length: Option<u64>, unit_ns: u64| Some(begins_ns.saturating_add(length?.saturating_mul(unit_ns)));
    const S: u64 = 1_000 * MS;
    match name {
        "SET" | "GETSET" => {
            let value = args.get(2)?.clone();
            let mut set = (If::Always, None);
            for (place, word) in args.iter().enumerate().skip(3) {
                match &*word.to_ascii_uppercase() {
                    "NX" => set.0 = If::Free,
                    "XX" => set.0 = If::Held,
                    "EX" => set.1 = after(number(place + 1), S),
                    "PX" => set.1 = after(number(place + 1), MS),
                    "EXAT" => set.1 = Some(number(place + 1)?.saturating_mul(S)),
                    "PXAT" => set.1 = Some(number(place + 1)?.saturating_mul(MS)),
                    _ => {}
                }
            }
            Some(Kind::Set { value, only: set.0, until_ns: set.1 })
        }
        "SETNX" => Some(Kind::Set { value: args.get(2)?.clone(), only: If::Free, until_ns: None }),
        "SETEX" => Some(Kind::Set { value: args.get(3)?.clone(), only: If::Always, until_ns: after(number(2), S) }),
        "PSETEX" => Some(Kind::Set { value: args.get(3)?.clone(), only: If::Always, until_ns: after(number(2), MS) }),
        "EXPIRE" => Some(Kind::Renewed(after(number(2), S)?)),
        "PEXPIRE" => Some(Kind::Renewed(after(number(2), MS)?)),
        "EXPIREAT" => Some(Kind::Renewed(number(2)?.saturating_mul(S))),
        "PEXPIREAT" => Some(Kind::Renewed(number(2)?.saturating_mul(MS))),
        "HINCRBY" if !args.get(3)?.starts_with('-') => Some(Kind::Counted(args.get(2)?.clone())),
        "DEL" | "UNLINK" | "GETDEL" => (args.len() > 1).then_some(Kind::Deleted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_redis_prints_it() {
        let line = r#"1795986412.507883 [0 127.0.0.1:42710] "SET" "lock:a" "va l\"ue\x00" "NX""#;
        let args = ["SET", "lock:a", "va l\"ue\\x00", "NX"].map(str::to_owned).to_vec();
        let must = Command { ns: 1_795_986_412_507_883_000, database: "0", client: "127.0.0.1:42710", args };
        assert_eq!(command(line), Some(must));
        for line in
            ["OK", "", "1795986412.5 [0 lua] \"get\" \"a\"", "1795986412.507883 [0 lua] \"get", "1.000000 [0 lua] x"]
        {
            assert_eq!(command(line), None, "{line}");
        }
        assert!(
            starts_like("1795986412.507883 [0 127.0")
                && starts_like("x [0 a:1] \"GET\"")
                && !starts_like("Error: closed")
        );
    }
}
