//! The properties that a scenario needs a protocol to have.

use crate::plan::Invalid;
use protocols::election::{Protocol, cron};

/// The property that a scenario needs a protocol to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing in particular.
    Nothing,
    /// A coordination service that is a process of its own.
    Service,
    /// A coordination service with a disk of its own, which can be lost.
    Data,
    /// A coordination service whose members elect one of them.
    Cluster,
    /// Candidates that elect among themselves.
    Peers,
    /// A belief that ends by the leader's own clock.
    Lease,
    /// Candidates that elect along a ring.
    Ring,
    /// Candidates that draw election timeouts.
    ElectionTimeout,
    /// Candidates that notice a silent leader after a fixed time.
    Detector,
    /// A leader that can hand over to a named successor.
    Transfer,
    /// Like [`Needs::Transfer`], with several groups.
    Shards,
    /// Candidates that can join and leave.
    Membership,
    /// A device that cuts the power of nodes.
    PowerDevice,
    /// Candidates that keep something on disk.
    Disk,
    /// A third node beside the two ends of a link.
    ThirdParty,
    /// A leader that is replaced after a silence.
    Heartbeats,
    /// Candidates that believe any claim of leadership.
    Claim,
    /// Candidates that elect by majority vote, with a token.
    Votes,
    /// One of these protocols: the story is about a property of theirs.
    Named(&'static [&'static str]),
}

impl Needs {
    /// True if the protocol has it.
    pub fn met_by(self, protocol: &Protocol) -> bool {
        match self {
            Needs::Named(names) => names.contains(&protocol.name),
            // Nobody leads between two nights, and every other scenario expects a leader.
            _ if cron::find(protocol.name).is_some() => false,
            Needs::Nothing => true,
            Needs::Service => protocol.service.process.is_some() && !protocol.elects_among_peers(),
            Needs::Data => protocol.service.keeps_data,
            Needs::Cluster => protocol.service.members.agree(),
            Needs::Peers => protocol.elects_among_peers(),
            Needs::Lease => protocol.read_lease.is_some(),
            Needs::Ring => protocol.ring,
            Needs::ElectionTimeout => protocol.election_timeout.is_some(),
            Needs::Detector => protocol.elects_among_peers() && protocol.election_timeout.is_none(),
            Needs::Transfer => protocol.transfers,
            Needs::Shards => protocol.transfers && (protocol.service.is_none() || protocol.service.has_groups),
            Needs::Membership => protocol.changes_members,
            Needs::PowerDevice => protocol.service.process == Some(POWER),
            Needs::Disk => protocol.persists,
            Needs::ThirdParty => true,
            // How much a program sends is its own business.
            Needs::Heartbeats => !protocol.service.outlasts_pauses && !protocol.is_program(),
            Needs::Claim => protocol.claim.is_some(),
            Needs::Votes => protocol.elects_among_peers() && protocol.majority && protocol.tokened,
        }
    }

    /// The fewest candidates that the scenario works with.
    pub const fn candidates_min(self) -> u16 {
        match self {
            Needs::Nothing | Needs::Service | Needs::Data | Needs::Cluster => 1,
            Needs::Peers | Needs::Lease | Needs::Ring | Needs::Detector | Needs::Transfer | Needs::PowerDevice => 2,
            Needs::Named(_) => 2,
            // The leader dies, and two stand against each other.
            Needs::ElectionTimeout => 3,
            Needs::Heartbeats => 2,
            // One dies, one leads, and a third hears both.
            Needs::Claim => 3,
            // The two ends, and a node that reaches both.
            Needs::ThirdParty => 3,
            // One is cut off, and the others are a majority.
            Needs::Votes => 3,
            // One node fails, another's disk does, and a majority is left.
            Needs::Disk => 3,
            // One leaves, and its shards may go to more than one.
            Needs::Shards => 3,
            // One leaves, the leader leaves, and one is left.
            Needs::Membership => 3,
        }
    }

    /// Rejects a protocol that scenario `scenario` does not apply to.
    ///
    /// # Errors
    /// One sentence that lists which of `among` it applies to.
    pub fn of(self, scenario: &str, protocol: &Protocol, among: &[&Protocol]) -> Result<(), Invalid> {
        if self.met_by(protocol) {
            return Ok(());
        }
        if let Needs::Named(names) = self {
            let all = names.join(", ");
            return Err(Invalid(match names {
                [one] => format!("scenario `{scenario}` runs only with {all}; use --protocol {one}"),
                [one, ..] => {
                    format!("scenario `{scenario}` runs only with {all}; use one of them, as --protocol {one}")
                }
                [] => format!("scenario `{scenario}` runs with no protocol"),
            }));
        }
        always_led(scenario, protocol)?;
        let known: Vec<&str> = among.iter().filter(|p| self.met_by(p)).map(|p| p.name).collect();
        let known = match known.is_empty() {
            true => "no protocol has".to_owned(),
            false => format!("these have: {}", known.join(", ")),
        };
        Err(Invalid(format!("`{scenario}` needs {}, but `{}` has none; {known}", self.words(), protocol.name)))
    }

    pub const fn words(self) -> &'static str {
        match self {
            Needs::Nothing => "nothing in particular",
            Needs::Service => "a coordination service",
            Needs::Data => "a coordination service that keeps data of its own",
            Needs::Cluster => "a coordination service whose members elect one of them",
            Needs::Peers => "candidates that elect among themselves",
            Needs::Lease => "a belief that ends by the leader's own clock",
            Needs::Ring => "candidates on a ring",
            Needs::ElectionTimeout => "drawn election timeouts",
            Needs::Detector => "a failure detector with a fixed patience",
            Needs::Transfer => "a leader that can hand over to a named successor",
            Needs::Shards => "several leaderships that can be handed over to a named successor",
            Needs::Membership => "candidates that can join and leave",
            Needs::PowerDevice => "a device that cuts power",
            Needs::Disk => "candidates that keep something on disk",
            Needs::ThirdParty => "a process other than the two ends of a link",
            Needs::Heartbeats => "a leader that is replaced when it is not heard",
            Needs::Claim => "candidates that believe any node that says it leads",
            Needs::Votes => "candidates of which a majority votes",
            Needs::Named(_) => "one of some protocols",
        }
    }
}

/// Rejects a protocol that has no leader most of the time.
///
/// # Errors
/// One sentence that names the scenario for it.
pub fn always_led(scenario: &str, protocol: &Protocol) -> Result<(), Invalid> {
    match cron::find(protocol.name) {
        Some(protocol) => Err(Invalid(format!(
            "`{}` leads only while a night's job runs, and `{scenario}` asks for a leader at any time; run `weak-crons` with it",
            protocol.name
        ))),
        None => Ok(()),
    }
}

const POWER: &str = "power";
