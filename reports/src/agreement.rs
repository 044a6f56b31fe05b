//! Whether a history satisfies the specification, and whether the invariants say the same. If they do not, one of the
//! two is wrong, and a pass shows nothing.

use crate::{
    invariant::{
        InvariantResult, acts_on_belief, elections, leaders_acting_by_effect, no_stale_write, phantom_leader,
        read_version, tokens_monotone,
    },
    said::{At, Said, sentence},
    specification::{Rule, Shown, State, Step},
    words::{Names, count},
};
use protocols::history::{Event, Header};
use serde::Serialize;

/// What the specification says of a history.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Specified {
    /// How many events, from the first, are steps that it allows.
    pub steps: u64,
    /// The first event that is none, and what comes after it is not checked.
    pub broken: Option<Broken>,
    /// What the invariants say otherwise; omitted if they agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<String>,
}

/// An event that is no step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Broken {
    /// When it happened, microseconds.
    pub at_us: u64,
    #[serde(skip)]
    pub rule: Rule,
    /// What happened, and the condition that it does not meet.
    pub detail: Said,
}

impl Specified {
    /// One sentence, for a report.
    pub fn say(&self) -> String {
        match (&self.contradiction, &self.broken) {
            (Some(contradiction), _) => contradiction.clone(),
            (None, Some(Broken { detail, .. })) => {
                format!("{}, then no more: {}", count(self.steps, "step"), &**detail)
            }
            (None, None) => format!("{}, each allowed", count(self.steps, "step")),
        }
    }

    /// That of several groups.
    #[must_use]
    pub(crate) fn and(mut self, other: &Specified) -> Specified {
        self.steps += other.steps;
        self.broken = self.broken.or_else(|| other.broken.clone());
        self.contradiction = self.contradiction.or_else(|| other.contradiction.clone());
        self
    }
}

/// Takes the events of one group's history as steps.
#[derive(Debug)]
pub(crate) struct Validation {
    shown: Shown,
    of_log: bool,
    state: State,
    steps: u64,
    broken: Option<(u64, Step, Rule)>,
}

impl Validation {
    pub(crate) fn new(header: Option<&Header>) -> Self {
        let (shown, of_log) = (Shown::by(header), header.is_none());
        Validation { shown, of_log, state: State::new(header), steps: 0, broken: None }
    }

    pub(crate) fn observe_all(&mut self, events: &[Event]) {
        for event in events {
            if self.broken.is_some() {
                return;
            }
            let Some(step) = self.shown.step(event) else { continue };
            match self.state.allows(step) {
                Ok(()) => {
                    self.state.take(step);
                    self.steps += 1;
                }
                Err(rule) => self.broken = Some((event.t_us, step, rule)),
            }
        }
    }

    /// What it says; and whether `invariants`, the results of the judge, agree.
    pub(crate) fn finish(self, invariants: &[InvariantResult], names: &Names) -> Specified {
        let broken = self.broken.map(|(t_us, step, rule)| {
            let detail = sentence!["at ", At(t_us), format!(", {}, but {}", said(step, names), rule.condition())];
            Broken { at_us: t_us, rule, detail: Said::of(detail, names.clock()) }
        });
        let contradiction = contradiction(broken.as_ref(), invariants, self.of_log);
        Specified { steps: self.steps, broken, contradiction }
    }
}

/// Which invariants a step that breaks this rule violates: at least one of them.
fn invariants_of(rule: Rule) -> &'static [&'static str] {
    match rule {
        Rule::TokensRise | Rule::OneOwner => &[elections::ENTRY.name],
        Rule::Granted => &[phantom_leader::ENTRY.name],
        Rule::Leads | Rule::Sealed => &[acts_on_belief::ENTRY.name],
        Rule::NotOlder => {
            &[no_stale_write::ENTRY.name, tokens_monotone::ENTRY.name, leaders_acting_by_effect::ENTRY.name]
        }
        Rule::BuiltOn => &[read_version::ENTRY.name],
    }
}

/// The sentence that says where both differ.
fn contradiction(broken: Option<&Broken>, invariants: &[InvariantResult], of_log: bool) -> Option<String> {
    let seen = |name: &&str| invariants.iter().find(|seen| *seen.name == **name);
    let violated = |name: &&str| seen(name).is_some_and(|seen| !seen.holds);
    if let Some(Broken { rule, detail, .. }) = broken {
        let names = invariants_of(*rule);
        let judged = names.iter().all(|name| seen(name).is_some());
        return (judged && !names.iter().any(violated)).then(|| {
            let names = names.join(", ");
            format!("the specification is not met ({}), and yet {names} held: a defect of Fencepost", &**detail)
        });
    }
    // Nothing but a step that is none can violate these. A log's intervals of work are not in the specification.
    let its = [no_stale_write::ENTRY.name, tokens_monotone::ENTRY.name, read_version::ENTRY.name];
    let acting = (!of_log).then_some(leaders_acting_by_effect::ENTRY.name);
    let name = its.into_iter().chain(acting).find(|name| violated(name))?;
    Some(format!("{name} was violated, although the specification allows every step: a defect of Fencepost"))
}

impl Rule {
    pub const ALL: [Rule; 7] =
        [Rule::TokensRise, Rule::OneOwner, Rule::Granted, Rule::Leads, Rule::Sealed, Rule::NotOlder, Rule::BuiltOn];

    /// The condition in words.
    pub const fn condition(self) -> &'static str {
        match self {
            Rule::TokensRise => "granted tokens rise",
            Rule::OneOwner => "a token belongs to one leadership",
            Rule::Granted => "a node leads only with a token that it was granted",
            Rule::Leads => "only a leader sends writes",
            Rule::Sealed => "a leader seals a resource before it writes to it",
            Rule::NotOlder => "a resource lets in no leadership older than one that it knows",
            Rule::BuiltOn => "a write is built on what the resource holds",
        }
    }
}

fn said(step: Step, names: &Names) -> String {
    match step {
        Step::Grant { node, token } => format!("the service granted token {token} to {}", names.node(node)),
        Step::Lead(by) => format!("{} began to lead", names.incarnation(by)),
        Step::Stop(by) => format!("{} stopped leading", names.incarnation(by)),
        Step::Crash(node) => format!("{} ended", names.node(node)),
        Step::Seal { resource, by, .. } => {
            format!("{} accepted the seal of {}", names.resource(resource), names.incarnation(by))
        }
        Step::Send { resource, by } => {
            format!("{} sent a write to {}", names.incarnation(by), names.resource(resource))
        }
        Step::Accept { resource, by, .. } => {
            format!("{} accepted a write of {}", names.resource(resource), names.incarnation(by))
        }
        Step::Refuse { resource, by, .. } => {
            format!("{} refused a write of {}", names.resource(resource), names.incarnation(by))
        }
        Step::Pass { resource, .. } => format!("{} took nothing from a write", names.resource(resource)),
    }
}
