//! The acting half: deciding that a server is down, electing a leader, and carrying out the failover.
//!
//! Reference: `src/sentinel.c: sentinelCheckSubjectivelyDown, sentinelCheckObjectivelyDown,
//! sentinelAskMasterStateToOtherSentinels, sentinelVoteLeader, sentinelGetLeader, sentinelStartFailoverIfNeeded,
//! sentinelSelectSlave, sentinelSendSlaveOf, sentinelFailover*, sentinelResetMasterAndChangeAddress`.

use super::{
    Sentinel,
    state::{
        ASK_PERIOD, Asked, ELECTION_TIMEOUT, Failover, INFO_PERIOD, Instance, InstanceId, Kind, MAX_DESYNC,
        MIN_RECONNECT_PERIOD, PING_PERIOD, PUBLISH_PERIOD, RECONF_TIMEOUT, Reconfigured, State,
    },
};
use crate::service::{grants, redis_sentinel::replica::Address};
use protocols::service::redis_sentinel::SWITCHED;
use protocols_clients::resp::Reply;
use std::collections::BTreeMap;

impl Sentinel {
    pub(super) fn check_subjectively_down(&mut self, id: InstanceId) {
        let (now, down_after) = (self.now, self.config.down_after_ms);
        let Some(Instance { link, kind, reports_primary, role_reported_at, s_down, .. }) = self.instances.get(&id)
        else {
            return;
        };
        let elapsed = match (link.act_ping, link.disconnected) {
            (0, false) => 0,
            (0, true) => now - link.last_available,
            (sent, _) => now - sent,
        };
        let slow = link.act_ping != 0 && now - link.act_ping > down_after / 2 && now - link.last_pong > down_after / 2;
        let slow = slow && link.commands.is_some() && now - link.commands_since > MIN_RECONNECT_PERIOD;
        let quiet = link.subscriber.is_some()
            && now - link.subscriber_since > MIN_RECONNECT_PERIOD
            && now - link.heard_published > 3 * PUBLISH_PERIOD;
        let calls_itself_replica = *kind == Kind::Primary && !reports_primary;
        let down =
            elapsed > down_after || (calls_itself_replica && now - role_reported_at > down_after + 2 * INFO_PERIOD);
        let changed = down != *s_down;
        if slow {
            self.close(id, false);
        }
        if quiet {
            self.close(id, true);
        }
        if changed {
            if let Some(instance) = self.instances.get_mut(&id) {
                instance.s_down = down;
                if down {
                    instance.s_down_since = now;
                }
            }
            self.event(if down { "+sdown" } else { "-sdown" }, id);
        }
    }

    pub(super) fn check_objectively_down(&mut self) {
        let agree = 1 + self.of(Kind::Sentinel).filter(|(_, sentinel)| sentinel.says_down).count();
        let (now, id, quorum) = (self.now, self.primary, self.config.quorum);
        let Some(primary) = self.instances.get_mut(&id) else { return };
        let down = primary.s_down && agree >= quorum;
        if down != primary.o_down {
            primary.o_down = down;
            if down {
                primary.o_down_since = now;
                self.event_with("+odown", id, &format!(" #quorum {agree}/{quorum}"));
            } else {
                self.event("-odown", id);
            }
        }
    }

    /// Asks the other sentinels whether they consider the primary down, and for their vote if a failover is in
    /// progress.
    pub(super) fn ask_others(&mut self, now_at_once: bool) {
        let now = self.now;
        let primary = &self.instances[&self.primary];
        let (down, address) = (primary.s_down, primary.address.clone());
        let seeks = if self.failover.state > State::None { self.id.clone() } else { "*".to_owned() };
        for id in self.ids_of(Kind::Sentinel) {
            let Some(sentinel) = self.instances.get_mut(&id) else { continue };
            let elapsed = now - sentinel.answered_down_at;
            if elapsed > 5 * ASK_PERIOD {
                (sentinel.says_down, sentinel.vote) = (false, None);
            }
            if down && !sentinel.link.disconnected && (now_at_once || elapsed >= ASK_PERIOD) {
                let (port, epoch) = (address.port.to_string(), self.epoch.to_string());
                let words = ["SENTINEL", "is-master-down-by-addr", &address.host, &port, &epoch, &seeks];
                self.send(id, Asked::IsDown, &words);
            }
        }
    }

    pub(super) fn told_whether_down(&mut self, id: InstanceId, reply: &Reply) {
        let now = self.now;
        let (Some(sentinel), Reply::Array(items)) = (self.instances.get_mut(&id), reply) else { return };
        let [Reply::Integer(down), leader, Reply::Integer(epoch)] = &items[..] else { return };
        sentinel.answered_down_at = now;
        sentinel.says_down = *down == 1;
        if let Some(leader) = leader.text().filter(|leader| *leader != "*") {
            sentinel.vote = Some((leader.to_owned(), u64::try_from(*epoch).unwrap_or(0)));
        }
    }

    /// Whether this sentinel considers the primary down.
    pub(super) fn says_down(&self, address: &Address) -> bool {
        let primary = &self.instances[&self.primary];
        self.tilted_at.is_none() && primary.s_down && primary.address == *address
    }

    /// Votes at most once per epoch; returns for whom this sentinel has voted, and in which epoch.
    pub(super) fn vote(&mut self, epoch: u64, candidate: &str) -> Option<(String, u64)> {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.new_epoch();
        }
        if self.failover.leader_epoch < epoch && self.epoch <= epoch {
            self.failover.leader = Some(candidate.to_owned());
            self.failover.leader_epoch = self.epoch;
            self.publish("+vote-for-leader", format!("{candidate} {}", self.epoch));
            if candidate != self.id {
                // A sentinel that voted for another does not stand for a while.
                self.failover.started_at = self.now + self.desync();
            }
        }
        Some((self.failover.leader.clone()?, self.failover.leader_epoch))
    }

    fn desync(&mut self) -> i64 {
        (self.random.next_u64() % MAX_DESYNC) as i64
    }

    /// The elected leader of the epoch's failover: it has the votes of a majority of all sentinels, and at least the
    /// quorum.
    fn leader(&mut self, epoch: u64) -> Option<String> {
        let mut votes: BTreeMap<String, usize> = BTreeMap::new();
        for (_, sentinel) in self.of(Kind::Sentinel) {
            if let Some((leader, of)) = &sentinel.vote
                && *of == self.epoch
            {
                *votes.entry(leader.clone()).or_default() += 1;
            }
        }
        let most = |votes: &BTreeMap<String, usize>| {
            let best = votes.iter().max_by_key(|(_, count)| **count)?;
            Some((best.0.clone(), *best.1))
        };
        let candidate = most(&votes).map_or_else(|| self.id.clone(), |(leader, _)| leader);
        if let Some((own, of)) = self.vote(epoch, &candidate)
            && of == epoch
        {
            *votes.entry(own).or_default() += 1;
        }
        let needed = (self.voters() / 2 + 1).max(self.config.quorum);
        most(&votes).filter(|(_, count)| *count >= needed).map(|(leader, _)| leader)
    }

    /// Begins a failover if the primary is objectively down and the last failover was long enough ago.
    pub(super) fn start_failover_if_needed(&mut self) -> bool {
        let down = self.instances[&self.primary].o_down;
        let early = self.now - self.failover.started_at < 2 * self.config.failover_timeout_ms;
        if !down || self.failover.in_progress || early {
            return false;
        }
        self.start_failover();
        true
    }

    pub(super) fn start_failover(&mut self) {
        protocols::mark!("sentinel: a failover begins");
        self.epoch += 1;
        self.failover.in_progress = true;
        self.failover.epoch = self.epoch;
        self.new_epoch();
        self.event("+try-failover", self.primary);
        self.failover.started_at = self.now + self.desync();
        self.set_state(State::WaitStart);
    }

    pub(super) fn set_state(&mut self, state: State) {
        (self.failover.state, self.failover.changed_at) = (state, self.now);
    }

    fn abort(&mut self) {
        if let Some(promoted) = self.failover.promoted.take().and_then(|id| self.instances.get_mut(&id)) {
            promoted.promoted = false;
        }
        (self.failover.in_progress, self.failover.forced) = (false, false);
        self.set_state(State::None);
    }

    pub(super) fn go_on_with_failover(&mut self) {
        match self.failover.state {
            State::WaitStart => self.wait_start(),
            State::SelectReplica => match self.select() {
                None => {
                    self.event("-failover-abort-no-good-slave", self.primary);
                    self.abort();
                }
                Some(id) => {
                    self.event("+selected-slave", id);
                    if let Some(replica) = self.instances.get_mut(&id) {
                        replica.promoted = true;
                    }
                    self.failover.promoted = Some(id);
                    self.set_state(State::SendReplicaOfNoOne);
                    self.event("+failover-state-send-slaveof-noone", id);
                }
            },
            State::SendReplicaOfNoOne => {
                let Some(id) = self.failover.promoted else { return };
                if self.instances[&id].link.disconnected {
                    self.abort_when_late();
                } else if self.replica_of(id, None) {
                    self.event("+failover-state-wait-promotion", id);
                    self.set_state(State::WaitPromotion);
                }
            }
            State::WaitPromotion => self.abort_when_late(),
            State::ReconfReplicas => self.reconf_replicas(),
            State::None | State::UpdateConfig => {}
        }
    }

    fn wait_start(&mut self) {
        let leader = self.leader(self.failover.epoch);
        if leader.as_ref() != Some(&self.id) && !self.failover.forced {
            let patience = ELECTION_TIMEOUT.min(self.config.failover_timeout_ms);
            if self.now - self.failover.started_at > patience {
                self.event("-failover-abort-not-elected", self.primary);
                self.abort();
            }
            return;
        }
        if !self.failover.forced {
            grants::tell_elected(self.failover.epoch, &self.id);
        }
        self.event("+elected-leader", self.primary);
        self.set_state(State::SelectReplica);
        self.event("+failover-state-select-slave", self.primary);
    }

    fn abort_when_late(&mut self) {
        if self.now - self.failover.changed_at > self.config.failover_timeout_ms {
            self.event("-failover-abort-slave-timeout", self.primary);
            self.abort();
        }
    }

    /// The replica to promote: among the available ones, that with the lowest priority number, then with the most of
    /// the stream, then with the smallest run id.
    pub(super) fn select(&self) -> Option<InstanceId> {
        let (now, primary) = (self.now, &self.instances[&self.primary]);
        let down_for = if primary.s_down { now - primary.s_down_since } else { 0 };
        let link_down_max = down_for + 10 * self.config.down_after_ms;
        let info_max = if primary.s_down { 5 * PING_PERIOD } else { 3 * INFO_PERIOD };
        let is_good = |replica: &Instance| {
            !replica.s_down
                && !replica.o_down
                && !replica.link.disconnected
                && now - replica.link.last_available <= 5 * PING_PERIOD
                && replica.priority != 0
                && now - replica.info_refresh <= info_max
                && replica.primary_link_down_for <= link_down_max
        };
        let rank = |replica: &Instance| {
            // Replicas without a run id come last.
            let id = replica.run_id.clone();
            (replica.priority, std::cmp::Reverse(replica.offset), id.is_none(), id)
        };
        let good = self.of(Kind::Replica).filter(|(_, replica)| is_good(replica));
        good.min_by_key(|(_, replica)| rank(replica)).map(|(id, _)| id)
    }

    /// Tells a server to follow `primary`, or nobody. It then saves its configuration and closes its clients'
    /// connections, so that they ask for the primary again.
    pub(super) fn replica_of(&mut self, id: InstanceId, primary: Option<&Address>) -> bool {
        let (host, port) = match primary {
            Some(Address { host, port }) => (host.clone(), port.to_string()),
            None => ("NO".to_owned(), "ONE".to_owned()),
        };
        let words: [&[&str]; 6] = [
            &["MULTI"],
            &["SLAVEOF", &host, &port],
            &["CONFIG", "REWRITE"],
            &["CLIENT", "KILL", "TYPE", "normal"],
            &["CLIENT", "KILL", "TYPE", "pubsub"],
            &["EXEC"],
        ];
        words.into_iter().all(|words| self.send(id, Asked::Nothing, words))
    }

    /// Tells the other replicas, one after the other, to follow the promoted one.
    fn reconf_replicas(&mut self) {
        let now = self.now;
        let promoted = self.failover.promoted.and_then(|id| self.instances.get(&id)).map(|i| i.address.clone());
        let busy = |replica: &Instance| matches!(replica.reconfigured, Reconfigured::Sent | Reconfigured::InProgress);
        let mut under_way = self.of(Kind::Replica).filter(|(_, replica)| busy(replica)).count();
        for id in self.ids_of(Kind::Replica) {
            if under_way >= 1 {
                break;
            }
            let Some(replica) = self.instances.get(&id) else { continue };
            if replica.promoted || replica.reconfigured != Reconfigured::Not || replica.link.disconnected {
                continue;
            }
            if self.replica_of(id, promoted.as_ref()) {
                self.reconf_sent(id, "+slave-reconf-sent");
                under_way += 1;
            }
        }
        let late = |replica: &Instance| {
            replica.reconfigured == Reconfigured::Sent && now - replica.reconf_sent_at > RECONF_TIMEOUT
        };
        let late: Vec<InstanceId> = self.of(Kind::Replica).filter(|(_, r)| late(r)).map(|(id, _)| id).collect();
        for id in late {
            self.event("-slave-reconf-sent-timeout", id);
            if let Some(replica) = self.instances.get_mut(&id) {
                replica.reconfigured = Reconfigured::Done;
            }
        }
        self.detect_end(promoted.as_ref());
    }

    fn reconf_sent(&mut self, id: InstanceId, event: &str) {
        if let Some(replica) = self.instances.get_mut(&id) {
            (replica.reconfigured, replica.reconf_sent_at) = (Reconfigured::Sent, self.now);
        }
        self.event(event, id);
    }

    fn detect_end(&mut self, promoted: Option<&Address>) {
        let gone = |id: InstanceId| self.instances.get(&id).is_none_or(|instance| instance.s_down);
        if self.failover.promoted.is_none_or(gone) {
            return;
        }
        let late = self.now - self.failover.changed_at > self.config.failover_timeout_ms;
        let is_open =
            |replica: &Instance| !replica.promoted && replica.reconfigured != Reconfigured::Done && !replica.s_down;
        let open = self.of(Kind::Replica).any(|(_, replica)| is_open(replica));
        if late {
            self.event("+failover-end-for-timeout", self.primary);
        }
        if late || !open {
            self.event("+failover-end", self.primary);
            self.set_state(State::UpdateConfig);
        }
        if late {
            for id in self.ids_of(Kind::Replica) {
                let replica = &self.instances[&id];
                let left = !replica.promoted && replica.reconfigured == Reconfigured::Not;
                if left && !replica.link.disconnected && self.replica_of(id, promoted) {
                    self.reconf_sent(id, "+slave-reconf-sent-be");
                }
            }
        }
    }

    /// Ends the failover: the promoted replica is the primary.
    pub(super) fn switch_to_promoted(&mut self) {
        let to = self.current_primary().clone();
        self.switch_to(&to);
    }

    /// Makes `to` the primary, and the former primary its replica.
    pub(super) fn switch_to(&mut self, to: &Address) {
        let from = self.instances[&self.primary].address.clone();
        let Address { host, port } = to;
        let message = format!("{} {} {} {host} {port}", self.config.name, from.host, from.port);
        self.publish(SWITCHED, message);
        let mut replicas: Vec<Address> = self.of(Kind::Replica).map(|(_, replica)| replica.address.clone()).collect();
        replicas.push(from);
        replicas.retain(|address| address != to);
        self.ids_of(Kind::Replica).into_iter().for_each(|id| self.forget(id));
        self.close(self.primary, false);
        self.close(self.primary, true);
        if let Some(primary) = self.instances.get_mut(&self.primary) {
            let last_reconnect = primary.link.last_reconnect;
            *primary = Instance::new(Kind::Primary, to.clone(), self.now);
            primary.link.last_reconnect = last_reconnect;
        }
        let Failover { config_epoch, leader_epoch, epoch, .. } = self.failover.clone();
        self.failover = Failover { config_epoch, leader_epoch, epoch, ..Failover::NONE };
        for address in replicas {
            let id = self.add(Kind::Replica, address);
            self.event("+slave", id);
        }
    }
}
