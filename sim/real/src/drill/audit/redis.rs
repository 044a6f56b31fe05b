//! Keys of a Redis, by `MONITOR`, which repeats each command in the order in which the server carries it out.
//!
//! A command that writes a key is a write of the client that sent it. What a script writes is a write of the client
//! whose script it is: a script that refuses writes nothing.

use super::{Row, on_machine_clock, since_1970};
use crate::error::Failed;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::mpsc::UnboundedSender,
};

/// Commands that write their first key, whatever the key's value is.
pub const WRITES: [&str; 29] = [
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
    "del",
    "unlink",
    "getdel",
    "hset",
    "hmset",
    "hincrby",
    "hdel",
    "lpush",
    "rpush",
    "lpop",
    "rpop",
    "lset",
    "sadd",
    "srem",
    "zadd",
    "xadd",
];
/// Commands that run a script.
pub const SCRIPTS: [&str; 3] = ["eval", "evalsha", "fcall"];

/// A connection on which Redis repeats what it carries out.
pub struct Monitor {
    from: BufReader<TcpStream>,
    prefix: String,
}

impl Monitor {
    /// Starts to listen for writes to keys that begin with `prefix`.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub async fn start(address: SocketAddr, prefix: &str) -> Result<Monitor, Failed> {
        let failed = Failed::cannot::<std::io::Error>(format!("monitor the Redis at {address}"));
        let mut stream = TcpStream::connect(address).await.map_err(&failed)?;
        stream.write_all(b"MONITOR\r\n").await.map_err(&failed)?;
        let (mut from, mut answer) = (BufReader::new(stream), String::new());
        from.read_line(&mut answer).await.map_err(&failed)?;
        match answer.trim() {
            "+OK" => Ok(Monitor { from, prefix: prefix.to_owned() }),
            other => Err(Failed::Harness(format!("the Redis at {address} refuses MONITOR: {other}"))),
        }
    }

    /// Passes rows on, until nobody listens.
    ///
    /// # Errors
    /// The server is gone.
    pub async fn watch(mut self, rows: UnboundedSender<Row>) -> Result<(), Failed> {
        let (since_1970, mut line) = (since_1970(), Vec::new());
        let mut heard = Heard::default();
        loop {
            line.clear();
            let read = self.from.read_until(b'\n', &mut line).await;
            if read.map_err(Failed::cannot("read what Redis carries out"))? == 0 {
                return Err(Failed::Harness("Redis repeats its commands no longer".to_owned()));
            }
            let text = String::from_utf8_lossy(&line);
            let Some((wall_us, port)) = heard.write(&text, &self.prefix) else { continue };
            let t_us = on_machine_clock(wall_us, since_1970);
            if rows.send(Row { t_us, port, accepted: true, token: None }).is_err() {
                return Ok(());
            }
        }
    }
}

/// Whose script is running.
#[derive(Default)]
struct Heard {
    script_of: u16,
    /// That script has written: several writes of one script are one.
    counted: bool,
}

impl Heard {
    /// The time since 1970, microseconds, and the client's port, if the line is a write to such a key:
    /// `+1339518083.107412 [0 127.0.0.1:60866] "set" "invoices:7" "paid"`.
    fn write(&mut self, line: &str, prefix: &str) -> Option<(i64, u16)> {
        let (time, rest) = line.strip_prefix('+')?.split_once(" [")?;
        let (from, command) = rest.split_once("] ")?;
        let (seconds, micros) = time.split_once('.')?;
        let wall_us = seconds.parse::<i64>().ok()? * 1_000_000 + micros.parse::<i64>().ok()?;
        let from = from.split_once(' ')?.1;
        let words = words(command);
        let name = words.first()?.to_ascii_lowercase();
        if SCRIPTS.contains(&name.as_str()) {
            self.script_of = from.rsplit_once(':')?.1.parse().ok()?;
            self.counted = false;
            return None;
        }
        let writes = WRITES.contains(&name.as_str()) && words.get(1).is_some_and(|key| key.starts_with(prefix));
        // Whether a conditional SET has set is not to be seen.
        let conditional = words.iter().skip(3).any(|word| ["nx", "xx"].contains(&word.to_ascii_lowercase().as_str()));
        if !writes || (name == "set" && conditional) {
            return None;
        }
        if from == "lua" {
            return (!std::mem::replace(&mut self.counted, true)).then_some((wall_us, self.script_of));
        }
        Some((wall_us, from.rsplit_once(':')?.1.parse().ok()?))
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
        let mut heard = Heard::default();
        let mut of = |line: &str| heard.write(line, "invoice");
        assert_eq!(of("+1.000002 [0 127.0.0.1:600] \"set\" \"invoice:7\" \"a \\\"b\\\"\"\r\n"), Some((1_000_002, 600)));
        assert_eq!(of("+1.000002 [0 127.0.0.1:600] \"GET\" \"invoice:7\""), None);
        assert_eq!(of("+1.000002 [0 127.0.0.1:600] \"SET\" \"lock\" \"x\""), None);
        assert_eq!(of("+1.000002 [0 127.0.0.1:600] \"SET\" \"invoice\" \"x\" \"PX\" \"9\" \"NX\""), None);
        assert_eq!(of("+1.000003 [0 127.0.0.1:601] \"EVALSHA\" \"ab\" \"1\" \"invoice\""), None);
        assert_eq!(of("+1.000003 [0 lua] \"GET\" \"invoice\""), None);
        assert_eq!(of("+1.000003 [0 lua] \"SET\" \"invoice\" \"x\""), Some((1_000_003, 601)));
        assert_eq!(of("+1.000003 [0 lua] \"RPUSH\" \"invoice:log\" \"x\""), None, "one script is one write");
        assert_eq!(of("+OK"), None);
    }
}
