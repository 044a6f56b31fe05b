//! Keys of a Redis, by `MONITOR`, which repeats each command in the order in which the server carries it out.
//!
//! A command that writes a key whatever the key's value is, is a write of the client that sent it. What a script writes is a
//! write of the client whose script it is: a script that refuses writes nothing. Whether other commands have written is not to
//! be seen: those that may have are told.

use super::{Row, Told, on_machine_clock, since_1970};
use crate::error::Failed;
use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::mpsc::UnboundedSender,
};

/// Commands that write their first key, or each key, whatever the key's value is.
const WRITES: [&str; 19] = [
    "set",
    "setex",
    "psetex",
    "getset",
    "mset",
    "append",
    "incr",
    "incrby",
    "incrbyfloat",
    "decr",
    "decrby",
    "setrange",
    "setbit",
    "hset",
    "hmset",
    "hincrby",
    "hincrbyfloat",
    "lpush",
    "rpush",
];
/// Commands that write nothing.
const READS: [&str; 43] = [
    "get",
    "mget",
    "exists",
    "ttl",
    "pttl",
    "type",
    "strlen",
    "getrange",
    "getbit",
    "bitcount",
    "hget",
    "hgetall",
    "hmget",
    "hlen",
    "hexists",
    "hkeys",
    "hvals",
    "lrange",
    "llen",
    "lindex",
    "smembers",
    "sismember",
    "scard",
    "zrange",
    "zrangebyscore",
    "zrevrange",
    "zscore",
    "zcard",
    "zcount",
    "zrank",
    "xrange",
    "xrevrange",
    "xread",
    "xlen",
    "watch",
    "scan",
    "keys",
    "object",
    "subscribe",
    "psubscribe",
    "publish",
    "monitor",
    "dump",
];
/// Commands that may write their first key; their other words are values, which may begin like a key.
const OF_ONE_KEY: [&str; 27] = [
    "sadd",
    "srem",
    "spop",
    "zadd",
    "zincrby",
    "zrem",
    "zremrangebyscore",
    "hdel",
    "hsetnx",
    "setnx",
    "lpushx",
    "rpushx",
    "linsert",
    "lrem",
    "lset",
    "ltrim",
    "lpop",
    "rpop",
    "xadd",
    "xdel",
    "xtrim",
    "pfadd",
    "geoadd",
    "expire",
    "pexpire",
    "getdel",
    "getex",
];
/// Commands that run a script.
const SCRIPTS: [&str; 3] = ["eval", "evalsha", "fcall"];

/// What a command does to keys that begin so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    Writes,
    /// It runs a script.
    Runs,
    /// It may have written.
    Perhaps,
    Nothing,
}

/// What a command does, by its words.
pub fn does(words: &[String], prefix: &str) -> Does {
    let Some(name) = words.first().map(|name| name.to_ascii_lowercase()) else { return Does::Nothing };
    if SCRIPTS.contains(&name.as_str()) {
        return Does::Runs;
    }
    let is_ours = |key: &String| key.starts_with(prefix);
    if !words.iter().skip(1).any(is_ours) || READS.contains(&name.as_str()) {
        return Does::Nothing;
    }
    let keys = match name.as_str() {
        "mset" => words.iter().skip(1).step_by(2).any(is_ours),
        _ => words.get(1).is_some_and(is_ours),
    };
    // Whether a conditional SET has set is not to be seen.
    let plain = |word: &String| !["nx", "xx", "ifeq", "ifne", "ifdeq", "ifdne"].contains(&&*word.to_ascii_lowercase());
    let writes = WRITES.contains(&name.as_str());
    match writes && keys && (name != "set" || words.iter().skip(3).all(plain)) {
        true => Does::Writes,
        // A value may begin like a key.
        false if !keys && (writes || OF_ONE_KEY.contains(&name.as_str())) => Does::Nothing,
        false => Does::Perhaps,
    }
}

/// The scripts that have written such a key, by their text or name.
#[derive(Clone, Default)]
pub struct Scripts(Arc<Mutex<BTreeSet<String>>>);

impl Scripts {
    pub fn have(&self, script: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(script)
    }

    fn add(&self, script: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(script.to_owned());
    }
}

/// A connection on which Redis repeats what it carries out.
pub struct Monitor {
    from: BufReader<TcpStream>,
    prefix: String,
    scripts: Scripts,
}

impl Monitor {
    /// Starts to listen for writes to keys that begin with `prefix`.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub async fn start(address: SocketAddr, prefix: &str, scripts: Scripts) -> Result<Monitor, Failed> {
        let failed = Failed::cannot::<std::io::Error>(format!("monitor the Redis at {address}"));
        let mut stream = TcpStream::connect(address).await.map_err(&failed)?;
        stream.write_all(b"MONITOR\r\n").await.map_err(&failed)?;
        let (mut from, mut answer) = (BufReader::new(stream), String::new());
        from.read_line(&mut answer).await.map_err(&failed)?;
        match answer.trim() {
            "+OK" => Ok(Monitor { from, prefix: prefix.to_owned(), scripts }),
            other => Err(Failed::Harness(format!("the Redis at {address} refuses MONITOR: {other}"))),
        }
    }

    /// Passes on what it hears, until nobody listens.
    ///
    /// # Errors
    /// The server is gone.
    pub async fn watch(mut self, told: UnboundedSender<Told>) -> Result<(), Failed> {
        let (since_1970, mut line) = (since_1970(), Vec::new());
        let mut heard = Heard { prefix: self.prefix, scripts: self.scripts, ..Heard::default() };
        loop {
            line.clear();
            let read = self.from.read_until(b'\n', &mut line).await;
            if read.map_err(Failed::cannot("read what Redis carries out"))? == 0 {
                return Err(Failed::Harness("Redis repeats its commands no longer".to_owned()));
            }
            let said = match heard.of(&String::from_utf8_lossy(&line)) {
                None => continue,
                Some(Ok((wall_us, port))) => {
                    Told::Row(Row { t_us: on_machine_clock(wall_us, since_1970), port, accepted: true })
                }
                Some(Err(command)) => Told::Unjudged(command),
            };
            if told.send(said).is_err() {
                return Ok(());
            }
        }
    }
}

/// What has been heard: whose script is running.
#[derive(Default)]
struct Heard {
    prefix: String,
    scripts: Scripts,
    script: String,
    script_of: u16,
    /// That script has written: several writes of one script are one.
    counted: bool,
}

impl Heard {
    /// The time since 1970, microseconds, and the client's port, if the line is a write to such a key:
    /// `+1339518083.107412 [0 127.0.0.1:60866] "set" "invoices:7" "paid"`. The name of a command that may have written.
    fn of(&mut self, line: &str) -> Option<Result<(i64, u16), String>> {
        let (time, rest) = line.strip_prefix('+')?.split_once(" [")?;
        let (from, command) = rest.split_once("] ")?;
        let (seconds, micros) = time.split_once('.')?;
        let wall_us = seconds.parse::<i64>().ok()? * 1_000_000 + micros.parse::<i64>().ok()?;
        let from = from.split_once(' ')?.1;
        let words = words(command);
        match does(&words, &self.prefix) {
            Does::Nothing => None,
            Does::Perhaps => Some(Err(words[0].to_ascii_uppercase())),
            Does::Runs => {
                self.script_of = from.rsplit_once(':')?.1.parse().ok()?;
                self.script = words.get(1).cloned().unwrap_or_default();
                self.counted = false;
                None
            }
            Does::Writes if from == "lua" => {
                self.scripts.add(&self.script);
                (!std::mem::replace(&mut self.counted, true)).then_some(Ok((wall_us, self.script_of)))
            }
            Does::Writes => Some(Ok((wall_us, from.rsplit_once(':')?.1.parse().ok()?))),
        }
    }
}

/// The words of a command as `MONITOR` writes them: in quotation marks, with backslashes before those inside.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut inside, mut escaped) = (Vec::new(), String::new(), false, false);
    for c in command.trim_end().chars() {
        match c {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' if inside => {
                words.push(std::mem::take(&mut word));
                inside = false;
            }
            '"' => inside = true,
            c if inside => word.push(c),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_told_from_reads_and_scripts_are_their_clients() {
        let mut heard = Heard { prefix: "invoice".to_owned(), ..Heard::default() };
        let mut of = |line: &str| heard.of(line);
        assert_eq!(
            of("+1.000002 [0 127.0.0.1:600] \"set\" \"invoice:7\" \"a \\\"b\\\"\"\r\n"),
            Some(Ok((1_000_002, 600)))
        );
        assert_eq!(of("+1.000002 [0 127.0.0.1:600] \"GET\" \"invoice:7\""), None);
        assert_eq!(of("+1.000002 [0 127.0.0.1:600] \"SET\" \"lock\" \"invoice\""), None);
        assert_eq!(
            of("+1.000002 [0 127.0.0.1:600] \"MSET\" \"x\" \"1\" \"invoice\" \"2\""),
            Some(Ok((1_000_002, 600)))
        );
        for value in ["\"SADD\" \"bindings\" \"invoice\"", "\"PUBLISH\" \"invoice\" \"x\""] {
            assert_eq!(of(&format!("+1.000002 [0 127.0.0.1:600] {value}")), None, "{value}");
        }
        for (perhaps, name) in [
            ("\"SET\" \"invoice\" \"x\" \"PX\" \"9\" \"NX\"", "SET"),
            ("\"zadd\" \"invoice\" \"1\" \"x\"", "ZADD"),
            ("\"RENAME\" \"x\" \"invoice\"", "RENAME"),
        ] {
            assert_eq!(of(&format!("+1.000002 [0 127.0.0.1:600] {perhaps}")), Some(Err(name.to_owned())));
        }
        assert_eq!(of("+1.000003 [0 127.0.0.1:601] \"EVALSHA\" \"ab\" \"1\" \"invoice\""), None);
        assert_eq!(of("+1.000003 [0 lua] \"GET\" \"invoice\""), None);
        assert_eq!(of("+1.000003 [0 lua] \"SET\" \"invoice\" \"x\""), Some(Ok((1_000_003, 601))));
        assert_eq!(of("+1.000003 [0 lua] \"RPUSH\" \"invoice:log\" \"x\""), None, "one script is one write");
        assert_eq!(of("+OK"), None);
        assert!(heard.scripts.have("ab"));
    }
}
