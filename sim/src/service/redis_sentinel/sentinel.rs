//! A Redis Sentinel 7.0 without I/O and without a clock: it takes inputs, and returns what to do.
//!
//! **Where it comes from.** redis/redis 7.0.15, `src/sentinel.c`, function by function: `monitor.rs` is its monitoring
//! half (links, pings, `INFO`, hellos), `failover.rs` its acting half (subjectively and objectively down, the vote, the
//! states of a failover); its answers are here.
//!
//! **Time.** All times are milliseconds of the *wall* clock (`mstime`). The timer runs ten to twenty times per second,
//! with a random period so that sentinels do not stay in step. If two runs are more than 2 s apart, or the clock went
//! back, the sentinel distrusts its view and enters TILT for 30 s: it keeps watching, but answers that nothing is down.
//!
//! Not modelled: scripts, hostnames whose addresses change, several primaries, `SENTINEL SET` and similar, links shared
//! by two primaries.

mod failover;
mod monitor;
mod state;

use super::replica::Address;
use crate::service::redis::resp::Resp;
use protocols::random::Random;
use protocols_clients::resp::Reply;
use state::{Asked, Failover, Instance, Instances, Kind, State};
pub use state::{Config, HELLO, InstanceId, LinkId};
use std::collections::BTreeMap;

/// An action that a sentinel requests, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    Open {
        /// The connection's id.
        link: LinkId,
        to: Address,
    },
    /// Closes a connection; nothing is received from it any more.
    Close(LinkId),
    /// Sends a command once the connection is established.
    Send {
        link: LinkId,
        /// The words of the command.
        words: Vec<String>,
    },
    /// Publishes an event to subscribers.
    Publish {
        /// The event's name, which is its channel.
        channel: String,
        message: String,
    },
}

#[derive(Clone, Debug)]
pub struct Sentinel {
    config: Config,
    address: Address,
    id: String,
    epoch: u64,
    primary: InstanceId,
    failover: Failover,
    instances: Instances,
    last_instance: InstanceId,
    last_link: u64,
    tilted_at: Option<i64>,
    previous_tick: i64,
    random: Random,
    /// The wall clock of the current input, in milliseconds.
    now: i64,
    out: Vec<Output>,
}

impl Sentinel {
    /// A sentinel at `address` that was never started, with an id of 40 hexadecimal digits; `seed` feeds its random
    /// numbers.
    pub fn new(config: Config, address: Address, id: String, seed: u64) -> Self {
        let primary = Instance::new(Kind::Primary, config.primary.clone(), 0);
        Sentinel {
            config,
            address,
            id,
            epoch: 0,
            primary: 0,
            failover: Failover::NONE,
            instances: BTreeMap::from([(0, primary)]),
            last_instance: 0,
            last_link: 0,
            tilted_at: None,
            previous_tick: 0,
            random: Random::new(seed),
            now: 0,
            out: Vec::new(),
        }
    }

    /// The process starts, perhaps again: epochs, votes and known instances are on disk; everything else is reset.
    pub fn start(&mut self, now: i64) {
        (self.now, self.previous_tick, self.tilted_at) = (now, now, None);
        self.out.clear();
        for instance in self.instances.values_mut() {
            let Instance { kind, address, run_id, .. } = instance;
            let run_id = run_id.take().filter(|_| *kind == Kind::Sentinel);
            *instance = Instance { run_id, ..Instance::new(*kind, address.clone(), now) };
        }
        let Failover { config_epoch, leader, leader_epoch, .. } = self.failover.clone();
        self.failover = Failover { config_epoch, leader, leader_epoch, ..Failover::NONE };
        let quorum = self.config.quorum;
        self.event_with("+monitor", self.primary, &format!(" quorum {quorum}"));
    }

    /// Runs the timer; returns the milliseconds until its next run.
    pub fn tick(&mut self, now: i64) -> u64 {
        self.now = now;
        let delta = now - self.previous_tick;
        if !(0..=state::TILT_TRIGGER).contains(&delta) {
            protocols::mark!("sentinel: the clock jumped, or it was stopped, and nothing is trusted for a while");
            self.tilted_at = Some(now);
            self.publish("+tilt", "#tilt mode entered".to_owned());
        }
        self.previous_tick = now;
        self.handle(self.primary);
        let others: Vec<InstanceId> = self.instances.keys().copied().filter(|id| *id != self.primary).collect();
        others.into_iter().for_each(|id| self.handle(id));
        if self.failover.state == State::UpdateConfig {
            self.switch_to_promoted();
        }
        // `hz` is 10, plus up to 9.
        1_000 / (10 + self.random.next_u64() % 10)
    }

    /// Does what is due for one watched instance.
    fn handle(&mut self, id: InstanceId) {
        self.reconnect(id);
        self.send_periodic(id);
        if let Some(since) = self.tilted_at {
            if self.now - since < state::TILT_PERIOD {
                return;
            }
            self.tilted_at = None;
            self.publish("-tilt", "#tilt mode exited".to_owned());
        }
        self.check_subjectively_down(id);
        if id == self.primary {
            self.check_objectively_down();
            if self.start_failover_if_needed() {
                self.ask_others(true);
            }
            self.go_on_with_failover();
            self.ask_others(false);
        }
    }

    /// Handles an answer or a published message on a connection.
    pub fn heard(&mut self, now: i64, link: LinkId, reply: &Reply) {
        self.now = now;
        let Some(instance) = self.instances.get_mut(&link.instance) else { return };
        if link.subscribes {
            if instance.link.subscriber == Some(link) {
                instance.link.heard_published = now;
                self.hello_published(reply);
            }
            return;
        }
        if instance.link.commands != Some(link) {
            return;
        }
        match instance.link.pending.pop_front() {
            Some(Asked::Ping) => self.pinged(link.instance, reply),
            Some(Asked::Info) => {
                if let Reply::Bulk(text) = reply {
                    self.informed(link.instance, &String::from_utf8_lossy(text));
                }
            }
            Some(Asked::Hello) => {
                if !matches!(reply, Reply::Error(_)) {
                    instance.last_published = now;
                }
            }
            Some(Asked::IsDown) => self.told_whether_down(link.instance, reply),
            Some(Asked::Nothing) | None => {}
        }
    }

    /// A connection broke, or could not be established.
    pub fn closed(&mut self, now: i64, link: LinkId) {
        self.now = now;
        if let Some(instance) = self.instances.get_mut(&link.instance) {
            let own = &mut instance.link;
            let ends = if link.subscribes { &mut own.subscriber } else { &mut own.commands };
            if *ends == Some(link) {
                *ends = None;
                own.disconnected = true;
                if !link.subscribes {
                    own.pending.clear();
                }
            }
        }
    }

    /// Takes the outputs since the last call.
    pub fn take(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    /// The primary according to this sentinel: the promoted replica, once it has confirmed its role.
    pub fn current_primary(&self) -> &Address {
        let promoted = self.failover.promoted.filter(|_| self.failover.state >= State::ReconfReplicas);
        let id = promoted.unwrap_or(self.primary);
        self.instances.get(&id).map_or(&self.config.primary, |instance| &instance.address)
    }

    fn add(&mut self, kind: Kind, address: Address) -> InstanceId {
        self.last_instance += 1;
        self.instances.insert(self.last_instance, Instance::new(kind, address, self.now));
        self.last_instance
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = (InstanceId, &Instance)> {
        self.instances.iter().filter(move |(_, instance)| instance.kind == kind).map(|(id, instance)| (*id, instance))
    }

    fn ids_of(&self, kind: Kind) -> Vec<InstanceId> {
        self.of(kind).map(|(id, _)| id).collect()
    }

    /// The number of sentinels, this one included.
    fn voters(&self) -> usize {
        self.of(Kind::Sentinel).count() + 1
    }

    fn publish(&mut self, channel: &str, message: String) {
        self.out.push(Output::Publish { channel: channel.to_owned(), message });
    }

    fn event(&mut self, channel: &str, of: InstanceId) {
        self.event_with(channel, of, "");
    }

    /// Publishes an event about a watched instance, in the format of `sentinelEvent`.
    fn event_with(&mut self, channel: &str, of: InstanceId, more: &str) {
        let name = &self.config.name;
        let Some(Instance { kind, address, run_id, .. }) = self.instances.get(&of) else { return };
        let Address { host, port } = address;
        let primary = &self.instances[&self.primary].address;
        let at = format!("@ {name} {} {}", primary.host, primary.port);
        let message = match kind {
            Kind::Primary => format!("master {name} {host} {port}{more}"),
            Kind::Replica => format!("slave {host}:{port} {host} {port} {at}{more}"),
            Kind::Sentinel => {
                let id = run_id.as_deref().unwrap_or("?");
                format!("sentinel {id} {host} {port} {at}{more}")
            }
        };
        self.publish(channel, message);
    }
}

// A sentinel's answers to commands.
//
// Reference: `src/sentinel.c: sentinelCommand, sentinelPublishCommand, sentinelRoleCommand,
// sentinelIsQuorumReachable`.

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
