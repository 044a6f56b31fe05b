//! The monitoring half: connections, questions and answers.
//!
//! Reference: `src/sentinel.c: sentinelReconnectInstance, sentinelSendPeriodicCommands, sentinelSendHello,
//! sentinelPingReplyCallback, sentinelRefreshInstanceInfo, sentinelProcessHelloMessage`.

use super::{
    Output, Sentinel,
    state::{
        Asked, HELLO, INFO_PERIOD, Instance, InstanceId, Kind, LinkId, MAX_PENDING, PING_PERIOD, PUBLISH_PERIOD,
        Reconfigured, State,
    },
};
use crate::service::redis_sentinel::replica::Address;
use protocols_clients::resp::Reply;

impl Sentinel {
    fn open(&mut self, id: InstanceId, subscribes: bool) -> Option<LinkId> {
        self.last_link += 1;
        let link = LinkId { instance: id, subscribes, number: self.last_link };
        let to = self.instances.get(&id)?.address.clone();
        self.out.push(Output::Open { link, to });
        Some(link)
    }

    /// Reconnects, at most once per second.
    pub(super) fn reconnect(&mut self, id: InstanceId) {
        let now = self.now;
        let Some(instance) = self.instances.get_mut(&id) else { return };
        if !instance.link.disconnected || now - instance.link.last_reconnect < PING_PERIOD {
            return;
        }
        instance.link.last_reconnect = now;
        let (kind, has) = (instance.kind, (instance.link.commands.is_some(), instance.link.subscriber.is_some()));
        if !has.0 {
            let link = self.open(id, false);
            if let Some(instance) = self.instances.get_mut(&id) {
                instance.link.pending.clear();
                (instance.link.commands, instance.link.commands_since) = (link, now);
            }
            self.ping(id);
        }
        if kind != Kind::Sentinel && !has.1 {
            let link = self.open(id, true);
            if let Some(instance) = self.instances.get_mut(&id) {
                (instance.link.subscriber, instance.link.subscriber_since) = (link, now);
            }
            if let Some(link) = link {
                let words = ["SUBSCRIBE", HELLO].map(str::to_owned).to_vec();
                self.out.push(Output::Send { link, words });
            }
        }
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.link.disconnected = false;
        }
    }

    /// Sends a command; `false` if there is no connection.
    pub(super) fn send(&mut self, id: InstanceId, asked: Asked, words: &[&str]) -> bool {
        let Some(instance) = self.instances.get_mut(&id) else { return false };
        let Some(link) = instance.link.commands else { return false };
        instance.link.pending.push_back(asked);
        self.out.push(Output::Send { link, words: words.iter().map(|word| (*word).to_owned()).collect() });
        true
    }

    fn ping(&mut self, id: InstanceId) {
        let now = self.now;
        if self.send(id, Asked::Ping, &["PING"])
            && let Some(instance) = self.instances.get_mut(&id)
        {
            instance.link.last_ping = now;
            if instance.link.act_ping == 0 {
                instance.link.act_ping = now;
            }
        }
    }

    pub(super) fn send_periodic(&mut self, id: InstanceId) {
        let (now, down_after) = (self.now, self.config.down_after_ms);
        let primary = &self.instances[&self.primary];
        let watched = primary.o_down || self.failover.in_progress;
        let Some(instance) = self.instances.get(&id) else { return };
        let link = &instance.link;
        if link.disconnected || link.pending.len() >= MAX_PENDING {
            return;
        }
        let often = instance.kind == Kind::Replica && (watched || instance.primary_link_down_for != 0);
        let info_period = if often { 1_000 } else { INFO_PERIOD };
        let ping_period = down_after.min(PING_PERIOD);
        let info = instance.kind != Kind::Sentinel
            && (instance.info_refresh == 0 || now - instance.info_refresh > info_period);
        let ping = now - link.last_pong > ping_period && now - link.last_ping > ping_period / 2;
        let hello = now - instance.last_published > PUBLISH_PERIOD;
        if info {
            self.send(id, Asked::Info, &["INFO"]);
        }
        if ping {
            self.ping(id);
        }
        if hello {
            self.hello(id);
        }
    }

    /// Announces this sentinel, and which primary it sees.
    fn hello(&mut self, id: InstanceId) {
        let (own, primary) = (self.address.clone(), self.current_primary().clone());
        let text = format!(
            "{},{},{},{},{},{},{},{}",
            own.host,
            own.port,
            self.id,
            self.epoch,
            self.config.name,
            primary.host,
            primary.port,
            self.failover.config_epoch
        );
        self.send(id, Asked::Hello, &["PUBLISH", HELLO, &text]);
    }

    /// Sends new announcements to all instances at once.
    pub(super) fn force_hello(&mut self) {
        for instance in self.instances.values_mut() {
            instance.last_published -= PUBLISH_PERIOD + 1;
        }
    }

    pub(super) fn pinged(&mut self, id: InstanceId, reply: &Reply) {
        let now = self.now;
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let (Reply::Status(text) | Reply::Error(text)) = reply else { return };
        if ["PONG", "LOADING", "MASTERDOWN"].iter().any(|good| text.starts_with(good)) {
            instance.link.last_available = now;
            instance.link.act_ping = 0;
        }
        instance.link.last_pong = now;
    }

    /// Handles a server's `INFO`.
    pub(super) fn informed(&mut self, id: InstanceId, text: &str) {
        let now = self.now;
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let mut replicas = Vec::new();
        let (mut role, mut host) = (None, None);
        instance.primary_link_down_for = 0;
        let mut restarted = false;
        for line in text.split("\r\n") {
            let Some((field, value)) = line.split_once(':') else { continue };
            match field {
                "run_id" => {
                    restarted = instance.run_id.as_deref().is_some_and(|known| known != value);
                    instance.run_id = Some(value.to_owned());
                }
                "role" => role = Some(value == "master"),
                "master_host" => host = Some(value.to_owned()),
                "master_port" => {
                    let port = value.parse().unwrap_or(0);
                    let address = host.take().map(|host| Address { host, port });
                    if instance.primary_address != address {
                        (instance.primary_address, instance.conf_changed_at) = (address, now);
                    }
                }
                "master_link_status" => instance.primary_link_up = value == "up",
                "master_link_down_since_seconds" => {
                    instance.primary_link_down_for = value.parse::<i64>().unwrap_or(0) * 1_000;
                }
                "slave_priority" => instance.priority = value.parse().unwrap_or(0),
                "slave_repl_offset" => instance.offset = value.parse().unwrap_or(0),
                _ if instance.kind == Kind::Primary && is_replicas(field) => replicas.extend(address_in(value)),
                _ => {}
            }
        }
        instance.info_refresh = now;
        let primary = role.unwrap_or(instance.reports_primary);
        let changed = primary != instance.reports_primary;
        if changed {
            (instance.reports_primary, instance.role_reported_at) = (primary, now);
            if !primary {
                instance.conf_changed_at = now;
            }
        }
        if restarted {
            self.event("+reboot", id);
        }
        for address in replicas {
            if !self.of(Kind::Replica).any(|(_, known)| known.address == address) {
                let replica = self.add(Kind::Replica, address);
                self.event("+slave", replica);
            }
        }
        if changed {
            let of_kind = (self.instances[&id].kind == Kind::Primary) == primary;
            let role = if primary { "master" } else { "slave" };
            let event = if of_kind { "+role-change" } else { "-role-change" };
            self.event_with(event, id, &format!(" new reported role is {role}"));
        }
        if self.tilted_at.is_none() && self.instances[&id].kind == Kind::Replica {
            self.judge_replica(id);
        }
    }

    /// Whether the primary looks as it should.
    fn is_sane(&self) -> bool {
        let primary = &self.instances[&self.primary];
        let fresh = self.now - primary.info_refresh < 2 * INFO_PERIOD;
        primary.reports_primary && !primary.s_down && !primary.o_down && fresh
    }

    /// Compares a replica's own report with its intended role.
    fn judge_replica(&mut self, id: InstanceId) {
        let now = self.now;
        let primary = self.instances[&self.primary].address.clone();
        let instance = &self.instances[&id];
        if instance.reports_primary {
            if instance.promoted && self.failover.in_progress && self.failover.state == State::WaitPromotion {
                self.failover.config_epoch = self.failover.epoch;
                self.set_state(State::ReconfReplicas);
                self.event("+promoted-slave", id);
                self.event("+failover-state-reconf-slaves", self.primary);
                self.force_hello();
            } else {
                // The new configuration may still be on its way.
                let wait = 4 * PUBLISH_PERIOD;
                let long = now - instance.role_reported_at > wait && instance.no_down_for(now, wait);
                if !instance.promoted && long && self.is_sane() && self.replica_of(id, Some(&primary)) {
                    self.event("+convert-to-slave", id);
                }
            }
            return;
        }
        if instance.primary_address.as_ref() != Some(&primary) {
            let wait = self.config.failover_timeout_ms;
            let long = now - instance.conf_changed_at > wait && instance.no_down_for(now, wait);
            if long && self.is_sane() && self.replica_of(id, Some(&primary)) {
                self.event("+fix-slave-config", id);
            }
        }
        let promoted = self.failover.promoted.and_then(|id| self.instances.get(&id)).map(|i| i.address.clone());
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let mut events = Vec::new();
        if instance.reconfigured == Reconfigured::Sent && instance.primary_address == promoted && promoted.is_some() {
            instance.reconfigured = Reconfigured::InProgress;
            events.push("+slave-reconf-inprog");
        }
        if instance.reconfigured == Reconfigured::InProgress && instance.primary_link_up {
            instance.reconfigured = Reconfigured::Done;
            events.push("+slave-reconf-done");
        }
        events.into_iter().for_each(|event| self.event(event, id));
    }

    /// Handles a message from the channel of announcements.
    pub(super) fn hello_published(&mut self, reply: &Reply) {
        if let Some([kind, _, text]) = reply.texts()
            && kind == "message"
            && !text.contains(&self.id)
        {
            self.hello_from(text);
        }
    }

    /// Handles another sentinel's announcement of itself and its primary.
    pub(super) fn hello_from(&mut self, text: &str) {
        let parts: Vec<&str> = text.split(',').collect();
        let [host, port, run_id, epoch, name, primary, primary_port, config_epoch] = parts[..] else { return };
        if name != self.config.name {
            return;
        }
        let (Ok(port), Ok(primary_port)) = (port.parse(), primary_port.parse()) else { return };
        let address = Address { host: host.to_owned(), port };
        let is_it = |known: &Instance| known.run_id.as_deref() == Some(run_id) && known.address == address;
        let known = self.of(Kind::Sentinel).find(|(_, known)| is_it(known)).map(|(id, _)| id);
        let from = known.unwrap_or_else(|| self.meet(address, run_id));
        let epoch: u64 = epoch.parse().unwrap_or(0);
        if epoch > self.epoch {
            self.epoch = epoch;
            self.new_epoch();
        }
        let config_epoch: u64 = config_epoch.parse().unwrap_or(0);
        if self.failover.config_epoch < config_epoch {
            self.failover.config_epoch = config_epoch;
            let to = Address { host: primary.to_owned(), port: primary_port };
            if self.instances[&self.primary].address != to {
                self.event("+config-update-from", from);
                self.switch_to(&to);
            }
        }
    }

    /// Adds a sentinel that is new or has moved.
    fn meet(&mut self, address: Address, run_id: &str) -> InstanceId {
        let same = |known: &Instance| known.run_id.as_deref() == Some(run_id) || known.address == address;
        let old: Vec<InstanceId> = self.of(Kind::Sentinel).filter(|(_, known)| same(known)).map(|(id, _)| id).collect();
        let moved = !old.is_empty();
        old.into_iter().for_each(|id| self.forget(id));
        let id = self.add(Kind::Sentinel, address);
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.run_id = Some(run_id.to_owned());
        }
        if !moved {
            self.event("+sentinel", id);
        }
        id
    }

    pub(super) fn new_epoch(&mut self) {
        let epoch = self.epoch;
        self.publish("+new-epoch", epoch.to_string());
    }

    /// Stops watching an instance.
    pub(super) fn forget(&mut self, id: InstanceId) {
        if let Some(instance) = self.instances.remove(&id) {
            let links = [instance.link.commands, instance.link.subscriber];
            self.out.extend(links.into_iter().flatten().map(Output::Close));
        }
    }

    pub(super) fn close(&mut self, id: InstanceId, subscriber: bool) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let link = &mut instance.link;
        let closed = if subscriber { link.subscriber.take() } else { link.commands.take() };
        if let Some(closed) = closed {
            link.disconnected = true;
            if !subscriber {
                link.pending.clear();
            }
            self.out.push(Output::Close(closed));
        }
    }
}

/// Whether the field is like `slave0`.
fn is_replicas(field: &str) -> bool {
    field.strip_prefix("slave").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// The address in `ip=…,port=…,…`.
fn address_in(value: &str) -> Option<Address> {
    let field = |name: &str| value.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    Some(Address { host: field("ip")?.to_owned(), port: field("port")?.parse().ok()? })
}
