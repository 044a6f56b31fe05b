//! What `--set raft-core.NAME=VALUE` sets.

use crate::{
    election::{Timer, rules::Manner},
    parameter::{Parameter, Place, Takes},
};

pub(super) const ALL: [Parameter; 5] = [PRESET, PRE_VOTE, CHECK_QUORUM, LEADER_LEASE, ENTRY_INTERVAL];

const PRESET: Parameter = Parameter {
    name: "preset",
    takes: Takes::Word(&["hashicorp"]),
    usual: "none",
    about: "Timers of an implementation: hashicorp has hashicorp/raft's defaults",
    place: Place::Rules(|rules, _| rules.manner = Manner::Hashicorp),
};

const PRE_VOTE: Parameter = Parameter {
    name: "pre-vote",
    takes: Takes::OnOff,
    usual: "on",
    about: "Whether a candidate first asks if it could win",
    place: Place::Rules(|rules, on| rules.pre_vote = on > 0),
};

const CHECK_QUORUM: Parameter = Parameter {
    name: "check-quorum",
    takes: Takes::OnOff,
    usual: "on",
    about: "Whether a leader without a majority steps down, and a node that hears from a leader withholds its vote",
    place: Place::Rules(|rules, on| rules.check_quorum = on > 0),
};

const LEADER_LEASE: Parameter = Parameter {
    name: "leader-lease",
    takes: Takes::OnOff,
    usual: "on",
    about: "Whether a leader acts only until the lease from its last acknowledged heartbeat expires",
    place: Place::Rules(|rules, on| rules.leader_lease = on > 0),
};

const ENTRY_INTERVAL: Parameter = Parameter {
    name: "entry-interval",
    takes: Takes::Duration { least_ms: 1 },
    usual: "no entries",
    about: "Time from one log entry of the leader to the next, as if its clients wrote",
    place: Place::Timer(Timer::EntryInterval),
};
