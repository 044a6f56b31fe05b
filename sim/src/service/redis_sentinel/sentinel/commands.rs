//! A sentinel's answers to commands.
//!
//! Reference: `src/sentinel.c: sentinelCommand, sentinelPublishCommand, sentinelRoleCommand,
//! sentinelIsQuorumReachable`.

use super::{
    Sentinel,
    state::{HELLO, Kind},
};
use crate::service::redis::resp::Resp;
use crate::service::redis_sentinel::replica::Address;

impl Sentinel {
    /// Answers a command at wall time `now` in milliseconds, except for connection commands; `None` if sentinels do not
    /// know it.
    pub fn answer(&mut self, now: i64, args: &[Vec<u8>]) -> Option<Resp> {
        self.now = now;
        let words: Vec<String> = args.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let name = words.first()?.to_ascii_lowercase();
        Some(match (name.as_str(), &words[1..]) {
            ("ping", []) => Resp::Status("PONG"),
            ("ping", [text]) => Resp::bulk(text),
            ("role", []) => Resp::Array(vec![Resp::bulk("sentinel"), Resp::Array(vec![Resp::bulk(&self.config.name)])]),
            ("publish", [channel, text]) if *channel == HELLO => {
                self.hello_from(text);
                Resp::Integer(1)
            }
            ("publish", [_, _]) => {
                Resp::Error("ERR Only HELLO messages are accepted by Sentinel instances.".to_owned())
            }
            ("ping" | "role" | "publish", _) => {
                Resp::Error(format!("ERR wrong number of arguments for '{name}' command"))
            }
            ("sentinel", []) => Resp::Error("ERR wrong number of arguments for 'sentinel' command".to_owned()),
            ("sentinel", [command, args @ ..]) => self.subcommand(command, args),
            _ => return None,
        })
    }

    fn subcommand(&mut self, command: &str, args: &[&str]) -> Resp {
        let lower = command.to_ascii_lowercase();
        let arity = match lower.as_str() {
            "myid" => 0,
            "get-master-addr-by-name" | "failover" | "ckquorum" | "reset" => 1,
            "is-master-down-by-addr" => 4,
            _ => return Resp::Error(format!("ERR unknown subcommand '{command}'. Try SENTINEL HELP.")),
        };
        if args.len() != arity {
            return Resp::Error(format!("ERR wrong number of arguments for 'sentinel|{lower}' command"));
        }
        let known = args.first() == Some(&self.config.name.as_str());
        match lower.as_str() {
            "myid" => Resp::bulk(&self.id),
            "get-master-addr-by-name" if !known => Resp::NilArray,
            "get-master-addr-by-name" => {
                let Address { host, port } = self.current_primary();
                Resp::Array(vec![Resp::bulk(host), Resp::bulk(port.to_string())])
            }
            "is-master-down-by-addr" => self.is_down(args),
            "reset" => Resp::Integer(0),
            _ if !known => Resp::Error("ERR No such master with that name".to_owned()),
            "ckquorum" => self.quorum_reachable(),
            _ if self.failover.in_progress => Resp::Error("INPROG Failover already in progress".to_owned()),
            _ if self.select().is_none() => Resp::Error("NOGOODSLAVE No suitable replica to promote".to_owned()),
            _ => {
                self.start_failover();
                self.failover.forced = true;
                Resp::Status("OK")
            }
        }
    }

    fn is_down(&mut self, args: &[&str]) -> Resp {
        let number = |text: &str| text.parse::<i64>().ok();
        let (Some(port), Some(epoch)) = (number(args[1]), number(args[2])) else {
            return Resp::Error("ERR value is not an integer or out of range".to_owned());
        };
        let primary = self.instances[&self.primary].address.clone();
        let is_it = primary.host == args[0] && i64::from(primary.port) == port;
        let down = is_it && self.says_down(&primary);
        let seeks = is_it && args[3] != "*";
        let vote = if seeks { self.vote(epoch as u64, args[3]) } else { None };
        let (leader, epoch) = vote.unwrap_or(("*".to_owned(), if seeks { self.failover.leader_epoch } else { 0 }));
        Resp::Array(vec![Resp::Integer(down.into()), Resp::bulk(leader), Resp::Integer(epoch as i64)])
    }

    fn quorum_reachable(&self) -> Resp {
        let usable = 1 + self.of(Kind::Sentinel).filter(|(_, sentinel)| !sentinel.s_down).count();
        let (quorum, authorized) = (usable >= self.config.quorum, usable > self.voters() / 2);
        if quorum && authorized {
            let text = "Quorum and failover authorization can be reached";
            return Resp::Text(format!("OK {usable} usable Sentinels. {text}"));
        }
        let mut text = format!("NOQUORUM {usable} usable Sentinels. ");
        if !quorum {
            text += "Not enough available Sentinels to reach the specified quorum for this master";
        }
        if !authorized {
            text += if quorum { "" } else { ". " };
            text += "Not enough available Sentinels to reach the majority and authorize a failover";
        }
        Resp::Error(text)
    }
}
