//! Lease, token and fence as one state and the steps that it allows: what Fencepost is about, short enough to print.
//!
//! Each event of a history must be a step that the state before it allows, whether the history was simulated, real, or is
//! a log (trace validation; Cirstea, Kuppe, Loillier and Merz, SEFM 2024). There is no clock in it: a belief may outlast its
//! grant, and two nodes may believe at once. That their effects do not overlap follows from one condition alone, which
//! [`Step::Seal`] and [`Step::Accept`] share: the leadership is not older than what the resource knows.
//!
//! It is written apart from the invariants; [`crate::agreement`] compares their answers.

use crate::by_resource::ByResource;
use protocols::{
    history::{Event, Header, Kind, NodeState, UNKNOWN_VERSION},
    message::WriteVerdict,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::BTreeMap;

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The service grants leadership, with a token.
    Grant { node: NodeId, token: u64 },
    /// A node starts to believe.
    Lead(Incarnation),
    /// Its belief ends.
    Stop(Incarnation),
    /// A process ends, and its beliefs with it.
    Crash(NodeId),
    /// The resource lets a leader in, and tells it the version to build on.
    Seal { resource: Resource, by: Incarnation, read: u64 },
    /// A leader sends a write.
    Send { resource: Resource, by: Incarnation },
    /// The resource takes a write, which was built on version `read`, and is then at version `left`.
    Accept { resource: Resource, by: Incarnation, read: u64, left: u64 },
    /// The resource refuses an older leader's write. It knows token `highest`.
    Refuse { resource: Resource, by: Incarnation, highest: u64, left: u64 },
    /// The resource takes nothing, since the request is not new or not in turn; its number may be used up.
    Pass { resource: Resource, left: u64 },
}

/// The condition that a step does not meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// Granted tokens rise.
    TokensRise,
    /// A token is one leadership's.
    OneOwner,
    /// Who leads was granted the token.
    Granted,
    /// Who sends leads.
    Leads,
    /// Who sends has sealed the resource.
    Sealed,
    /// A resource lets in nobody older than it knows.
    NotOlder,
    /// A write is built on what the resource holds.
    BuiltOn,
}

/// What the service, the nodes and the resources know.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The highest token granted, and to whom.
    granted: Option<(u64, NodeId)>,
    /// To whom each token was granted.
    grants: BTreeMap<u64, NodeId>,
    /// The leadership of each token.
    owners: BTreeMap<u64, Incarnation>,
    /// The order of leaderships without tokens.
    elected: BTreeMap<Incarnation, u64>,
    /// Who believes, and which resources it has sealed.
    leading: Vec<(Incarnation, ByResource<bool>)>,
    /// Whether resources are sealed at all.
    seals: bool,
    /// Whether a leader writes before its seal is in effect, since both are entries of one log.
    deferred: bool,
    /// Whether the history may leave out what it does not show: nobody knows then who leads, nor whose a write is that
    /// names no leadership.
    partial: bool,
    resources: ByResource<Known>,
}

/// What a resource knows.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The newest leadership's place in the order.
    newest: Age,
    /// That leadership, unless the resource has only told its token.
    owner: Option<Incarnation>,
    version: u64,
}

/// The place of a leadership in their order: the token; without one, when it was elected.
type Age = (Option<u64>, u64);

impl Default for Known {
    fn default() -> Self {
        Known { newest: (None, 0), owner: None, version: UNKNOWN_VERSION }
    }
}

impl State {
    /// Before the first event of a history with this header.
    pub fn new(header: Option<&Header>) -> State {
        let deferred = header.is_some_and(|header| header.deferred_commit);
        State { deferred, partial: header.is_none(), ..State::default() }
    }

    /// Is this a step from here?
    ///
    /// # Errors
    /// It is none: the condition that it does not meet.
    pub fn allows(&self, step: Step) -> Result<(), Rule> {
        let must = |condition: bool, rule| if condition { Ok(()) } else { Err(rule) };
        match step {
            Step::Grant { node, token } => {
                must(self.granted.is_none_or(|last| token > last.0 || (token, node) == last), Rule::TokensRise)
            }
            Step::Lead(by) if by.has_token() => {
                must(self.owners.get(&by.token).is_none_or(|owner| *owner == by), Rule::OneOwner)?;
                let granted = self.grants.get(&by.token) == Some(&by.node);
                must(self.grants.is_empty() || granted, Rule::Granted)
            }
            Step::Send { resource, by } => {
                let leader = self.leading.iter().find(|(leader, _)| *leader == by);
                must(leader.is_some(), Rule::Leads)?;
                must(!self.seals || leader.is_some_and(|(_, sealed)| *sealed.of(resource)), Rule::Sealed)
            }
            Step::Seal { resource, by, read } => {
                // Without a token, a resource cannot tell who is older: it only reads.
                must(!by.has_token() || self.is_not_older(resource, by), Rule::NotOlder)?;
                must(same(read, self.resources.of(resource).version), Rule::BuiltOn)
            }
            Step::Accept { resource, by, read, left } => {
                let version = self.resources.of(resource).version;
                must(self.is_not_older(resource, by), Rule::NotOlder)?;
                must(same(read, version) && same(left, next(version)), Rule::BuiltOn)
            }
            Step::Refuse { resource, left, .. } => must(same(left, self.resources.of(resource).version), Rule::BuiltOn),
            Step::Pass { resource, left } => {
                let version = self.resources.of(resource).version;
                must(same(left, version) || same(left, next(version)), Rule::BuiltOn)
            }
            Step::Lead(_) | Step::Stop(_) | Step::Crash(_) => Ok(()),
        }
    }

    /// The fence.
    fn is_not_older(&self, resource: Resource, by: Incarnation) -> bool {
        let known = self.resources.of(resource);
        let age = self.age(by);
        let is_owner = || age == known.newest && known.owner.is_none_or(|owner| owner == by);
        self.is_nobodys(by) || age > known.newest || is_owner()
    }

    /// Whether the history does not say which of a node's leaderships it was.
    fn is_nobodys(&self, by: Incarnation) -> bool {
        self.partial && !by.is_known()
    }

    fn age(&self, by: Incarnation) -> Age {
        // Whoever has not been seen is the newest.
        let elected = || self.elected.get(&by).copied().unwrap_or(self.elected.len() as u64 + 1);
        by.fencing_token().map_or_else(|| (None, elected()), |token| (Some(token), 0))
    }

    /// Takes a step that is allowed.
    pub fn take(&mut self, step: Step) {
        match step {
            Step::Grant { node, token } => {
                self.granted = Some((token, node));
                self.grants.insert(token, node);
            }
            Step::Lead(by) => {
                self.meet(by);
                if by.has_token() {
                    self.owners.insert(by.token, by);
                }
                if !self.partial {
                    self.leading.retain(|(leader, _)| *leader != by);
                    self.leading.push((by, ByResource::default()));
                }
            }
            Step::Stop(by) => self.leading.retain(|(leader, _)| *leader != by),
            Step::Crash(node) => self.leading.retain(|(leader, _)| leader.node != node),
            Step::Seal { resource, by, read } => {
                self.seals = !self.deferred;
                for (_, sealed) in self.leading.iter_mut().filter(|(leader, _)| *leader == by) {
                    *sealed.at(resource) = true;
                }
                let version = self.resources.of(resource).version;
                self.lets_in(resource, by, if read == UNKNOWN_VERSION { version } else { read });
            }
            Step::Accept { resource, by, read, left } => {
                let version = self.resources.of(resource).version;
                let follows = next(if version == UNKNOWN_VERSION { read } else { version });
                self.lets_in(resource, by, if left == UNKNOWN_VERSION { follows } else { left });
            }
            Step::Refuse { resource, by, highest, left } => {
                let known = self.resources.at(resource);
                let told = by.fencing_token().map(|token| token.max(highest));
                if (told, 0) > known.newest {
                    (known.newest, known.owner) = ((told, 0), None);
                }
                known.version = if left == UNKNOWN_VERSION { known.version } else { left };
            }
            // Only the resource knows whether the number is used up.
            Step::Pass { resource, left } => self.resources.at(resource).version = left,
            Step::Send { .. } => {}
        }
    }

    fn lets_in(&mut self, resource: Resource, by: Incarnation, version: u64) {
        self.resources.at(resource).version = version;
        if self.is_nobodys(by) {
            return;
        }
        self.meet(by);
        let (age, known) = (self.age(by), self.resources.at(resource));
        if age >= known.newest {
            (known.newest, known.owner) = (age, Some(by));
        }
    }

    /// Takes a leadership without a token into the order.
    fn meet(&mut self, by: Incarnation) {
        if !by.has_token() {
            let next = self.elected.len() as u64 + 1;
            self.elected.entry(by).or_insert(next);
        }
    }
}

/// Are two versions the same, as far as they are known?
fn same(a: u64, b: u64) -> bool {
    a == b || a == UNKNOWN_VERSION || b == UNKNOWN_VERSION
}

/// The next version; an unknown one stays unknown.
fn next(version: u64) -> u64 {
    version.saturating_add(1)
}

/// What a history shows, and what it leaves out: whatever it does not show has happened where the next event needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// A run shows every step; a log may leave out any.
    all: bool,
    tokens: bool,
}

impl Shown {
    pub(crate) fn by(header: Option<&Header>) -> Self {
        Shown { all: header.is_some(), tokens: header.is_none_or(|header| header.tokened) }
    }

    /// The step that an event shows, if any.
    #[inline]
    pub(crate) fn step(self, event: &Event) -> Option<Step> {
        Some(match &event.kind {
            Kind::Apply { node, write, verdict, version: left } => {
                let (resource, by, left) = (write.resource, write.incarnation(*node), *left);
                match *verdict {
                    WriteVerdict::Ok => Step::Accept { resource, by, read: write.read_version, left },
                    WriteVerdict::Fenced { highest } => Step::Refuse { resource, by, highest, left },
                    WriteVerdict::Duplicate { .. } | WriteVerdict::Failed { .. } => Step::Pass { resource, left },
                }
            }
            Kind::Issue { node, write } if self.all => {
                Step::Send { resource: write.resource, by: write.incarnation(*node) }
            }
            Kind::Seal { resource, incarnation, accepted: true, version, .. } => {
                Step::Seal { resource: *resource, by: *incarnation, read: *version }
            }
            Kind::Elected(by) if self.all || by.is_known() => Step::Lead(*by),
            Kind::Deposed { incarnation, .. } => Step::Stop(*incarnation),
            Kind::Node { node, state: NodeState::Down | NodeState::Off } => Step::Crash(*node),
            Kind::Grant { node, token: Some(token) } if self.tokens => Step::Grant { node: *node, token: *token },
            _ => return None,
        })
    }
}
