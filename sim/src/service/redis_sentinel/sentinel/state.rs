//! A sentinel's state: of itself, of the primary that it watches, and of the other servers and sentinels.
//!
//! Reference: redis/redis 7.0.15, `src/sentinel.c: struct sentinelRedisInstance, struct instanceLink,
//! createInstanceLink, createSentinelRedisInstance, sentinelResetMaster, sentinelResetMasterAndChangeAddress`. Names
//! are the reference's.

use super::super::replica::Address;
use std::collections::{BTreeMap, VecDeque};

/// Periods, in milliseconds.
pub(super) const INFO_PERIOD: i64 = 10_000;
pub(super) const PING_PERIOD: i64 = 1_000;
pub(super) const ASK_PERIOD: i64 = 1_000;
pub(super) const PUBLISH_PERIOD: i64 = 2_000;
pub(super) const TILT_TRIGGER: i64 = 2_000;
pub(super) const TILT_PERIOD: i64 = 30 * PING_PERIOD;
pub(super) const RECONF_TIMEOUT: i64 = 10_000;
pub(super) const MIN_RECONNECT_PERIOD: i64 = 15_000;
pub(super) const ELECTION_TIMEOUT: i64 = 10_000;
/// Sentinels wait up to this long before they stand, so that they do not all stand at once.
pub(super) const MAX_DESYNC: u64 = 1_000;
/// The most commands that may await their answers on one connection.
pub(super) const MAX_PENDING: usize = 100;

/// The channel on which sentinels announce themselves and their primary.
pub const HELLO: &str = "__sentinel__:hello";

/// A sentinel's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The name of the primary and its replicas.
    pub name: String,
    pub primary: Address,
    /// How many sentinels must consider the primary down (`sentinel monitor`).
    pub quorum: usize,
    /// After how much silence a server is considered down, in milliseconds (`sentinel down-after-milliseconds`).
    pub down_after_ms: i64,
    /// Half the wait between failovers, and the time limit of a failover's steps, in milliseconds (`sentinel
    /// failover-timeout`).
    pub failover_timeout_ms: i64,
}

impl Config {
    /// The defaults of `sentinel.conf`: 30 s and 3 minutes.
    pub fn of(primary: Address, quorum: usize) -> Self {
        let name = protocols::service::redis_sentinel::MASTER.to_owned();
        Config { name, primary, quorum, down_after_ms: 30_000, failover_timeout_ms: 180_000 }
    }
}

/// Identifies a watched instance.
pub type InstanceId = u32;

/// The kind of a watched instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Primary,
    Replica,
    Sentinel,
}

/// A connection: its instance, which of the instance's two links, and the connection's ordinal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkId {
    pub instance: InstanceId,
    /// Whether it is the link with the subscription.
    pub subscribes: bool,
    /// Never reused.
    pub number: u64,
}

/// What an answer on a link refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Ping,
    Info,
    Hello,
    IsDown,
    Nothing,
}

/// The connections to an instance, and when it was last heard; in milliseconds of the sentinel's wall clock.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) commands: Option<LinkId>,
    pub(super) subscriber: Option<LinkId>,
    pub(super) disconnected: bool,
    pub(super) pending: VecDeque<Asked>,
    pub(super) commands_since: i64,
    pub(super) subscriber_since: i64,
    pub(super) heard_published: i64,
    pub(super) last_available: i64,
    /// When the unanswered ping was sent; 0 if there is none.
    pub(super) act_ping: i64,
    pub(super) last_ping: i64,
    pub(super) last_pong: i64,
    pub(super) last_reconnect: i64,
}

impl Link {
    pub(super) fn new(now: i64) -> Self {
        Link {
            commands: None,
            subscriber: None,
            disconnected: true,
            pending: VecDeque::new(),
            commands_since: 0,
            subscriber_since: 0,
            heard_published: 0,
            last_available: now,
            // Nothing was sent yet, but an instance that can never be reached must also be considered down.
            act_ping: now,
            last_ping: 0,
            last_pong: now,
            last_reconnect: 0,
        }
    }
}

/// A replica's progress in following the new primary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reconfigured {
    Not,
    Sent,
    InProgress,
    Done,
}

/// A watched instance.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) kind: Kind,
    pub(super) address: Address,
    pub(super) run_id: Option<String>,
    pub(super) link: Link,
    pub(super) s_down: bool,
    pub(super) o_down: bool,
    pub(super) s_down_since: i64,
    pub(super) o_down_since: i64,
    pub(super) last_published: i64,
    pub(super) info_refresh: i64,
    /// Whether it reports itself as a primary.
    pub(super) reports_primary: bool,
    pub(super) role_reported_at: i64,
    // For replicas.
    pub(super) primary_address: Option<Address>,
    pub(super) primary_link_up: bool,
    pub(super) primary_link_down_for: i64,
    pub(super) conf_changed_at: i64,
    pub(super) priority: i64,
    pub(super) offset: i64,
    pub(super) promoted: bool,
    pub(super) reconfigured: Reconfigured,
    pub(super) reconf_sent_at: i64,
    // For sentinels.
    pub(super) says_down: bool,
    pub(super) answered_down_at: i64,
    /// For whom it voted, and in which epoch.
    pub(super) vote: Option<(String, u64)>,
}

impl Instance {
    pub(super) fn new(kind: Kind, address: Address, now: i64) -> Self {
        Instance {
            kind,
            address,
            run_id: None,
            link: Link::new(now),
            s_down: false,
            o_down: false,
            s_down_since: 0,
            o_down_since: 0,
            last_published: now,
            info_refresh: 0,
            reports_primary: kind == Kind::Primary,
            role_reported_at: now,
            primary_address: None,
            primary_link_up: false,
            primary_link_down_for: 0,
            conf_changed_at: now,
            priority: 100,
            offset: 0,
            promoted: false,
            reconfigured: Reconfigured::Not,
            reconf_sent_at: 0,
            says_down: false,
            answered_down_at: now,
            vote: None,
        }
    }

    /// Whether it was not considered down within the last `ms` milliseconds.
    pub(super) fn no_down_for(&self, now: i64, ms: i64) -> bool {
        let last = self.s_down_since.max(self.o_down_since);
        last == 0 || now - last > ms
    }
}

/// The state of a failover.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum State {
    None,
    WaitStart,
    SelectReplica,
    SendReplicaOfNoOne,
    WaitPromotion,
    ReconfReplicas,
    UpdateConfig,
}

/// State of the primary alone: what the sentinels must agree on, and the failover.
#[derive(Clone, Debug)]
pub(super) struct Failover {
    pub(super) config_epoch: u64,
    /// For whom this sentinel voted, and in which epoch.
    pub(super) leader: Option<String>,
    pub(super) leader_epoch: u64,
    pub(super) epoch: u64,
    pub(super) state: State,
    pub(super) changed_at: i64,
    pub(super) started_at: i64,
    pub(super) in_progress: bool,
    pub(super) forced: bool,
    pub(super) promoted: Option<InstanceId>,
}

impl Failover {
    pub(super) const NONE: Failover = Failover {
        config_epoch: 0,
        leader: None,
        leader_epoch: 0,
        epoch: 0,
        state: State::None,
        changed_at: 0,
        started_at: 0,
        in_progress: false,
        forced: false,
        promoted: None,
    };
}

/// All watched instances; the primary is always among them.
pub(super) type Instances = BTreeMap<InstanceId, Instance>;
