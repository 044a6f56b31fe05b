//! What a batch needs: ledgers restored from a database, the decisions on the batch, and what has to be written back.
//!
//! The database is the only memory, so a restart has nothing to bring back, and several processes can share one. Processes
//! and clients stand in it by name; numbers are given for the length of a batch only, and no client can push out another.
//!
//! A request is remembered as long as its number is among the resource's latest [`Rules::remembered`], whoever asked and however
//! often the store was restarted. Of older ones each client's highest is kept: a request that is not above it and not
//! remembered is refused as `Failed`, never applied a second time. A client that still retries a request which is that old
//! cannot be told its number any more.

use super::{
    audit::Retention,
    plans::{Changed, PLANS_MAX, StoredPlan, StoredPlans},
    wire::{self, Request},
};
use protocols::{
    fence::{
        ledger::{self, Ledger, Memory, Recall},
        plans::{Plan, Plans},
        store::{Ledgers, answer, deleted},
    },
    history::{
        Event,
        json::{Naming, append_line},
    },
    message::{self, Message},
    types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource},
};
use std::{borrow::Cow, collections::BTreeMap, iter};

/// The usual [`Rules::remembered`].
pub const REMEMBERED: u64 = 1 << 20;
/// Most requests of a batch; each brings two names at most, and numbers are for 65,535.
pub const BATCH_MAX: usize = 1024;

/// What decisions go by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Are tokens checked? Without fencing the store accepts anything: the ablation that shows what tokens are for.
    pub fencing: bool,
    /// How many of a resource's latest sequence numbers can be told again to whom asked for them. At 10,000 writes a second,
    /// [`REMEMBERED`] is 104 s: a client has to give up retrying before.
    pub remembered: u64,
    /// How much of the audit is kept.
    pub audit: Retention,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { fencing: true, remembered: REMEMBERED, audit: Retention::ALL }
    }
}

/// A resource as a database holds it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The highest token that was accepted; 0 before the first.
    pub max_token: u64,
    /// Whose token that is: node and generation.
    pub owner: Option<(String, u32)>,
    /// How many writes have been applied or have burnt their number.
    pub version: u64,
    /// The last sequence number.
    pub last_seq: u64,
    /// What was recorded last.
    pub payload: Option<Payload>,
}

/// A request that was applied, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied<'a> {
    /// To what.
    pub resource: Resource,
    /// Who asked.
    pub client: &'a str,
    /// The client's request number.
    pub number: u64,
    /// The sequence number that it got.
    pub seq: u64,
}

/// The ledgers while a batch is decided on.
#[derive(Debug)]
pub struct LoadedLedgers {
    names: Names,
    ledgers: Ledgers<Requests>,
    /// The plans of each as they were.
    plans: Vec<StoredPlans>,
    lines: Vec<String>,
}

#[derive(Debug, Default)]
struct Names {
    by_number: Vec<String>,
    by_name: BTreeMap<String, NodeId>,
}

impl Names {
    fn number(&mut self, name: &str) -> NodeId {
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        let number = NodeId(self.by_number.len() as u16);
        self.by_number.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        number
    }

    fn of(&self, number: NodeId) -> &str {
        self.by_number.get(number.index()).map_or("", String::as_str)
    }
}

impl Naming for Names {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        // Names are plain: there is nothing to escape.
        self.by_number.get(node.index()).map(|name| Cow::Borrowed(name.as_str()))
    }

    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(wire::name(resource)))
    }
}

/// What the database remembers about the requests of a batch, and what the batch adds.
#[derive(Debug, Default)]
struct Requests {
    known: BTreeMap<RequestId, u64>,
    forgotten: BTreeMap<NodeId, u64>,
    fresh: Vec<(RequestId, u64)>,
}

impl Memory for Requests {
    fn recall(&self, request: RequestId) -> Recall {
        match (self.known.get(&request), self.forgotten.get(&request.client)) {
            (Some(seq), _) => Recall::Applied(*seq),
            (None, Some(highest)) if request.number <= *highest => Recall::TooOld,
            (None, _) => Recall::New,
        }
    }

    fn remember(&mut self, request: RequestId, seq: u64) {
        self.known.insert(request, seq);
        self.fresh.push((request, seq));
    }
}

/// What the database says about the requests of one resource, by client and number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// Client, number, and the sequence number that the request got.
    pub applied: Vec<(String, u64, u64)>,
    /// Client, and the highest number of its requests that are no longer remembered.
    pub forgotten: Vec<(String, u64)>,
    /// Its plans, when the batch has to do with any.
    pub plans: StoredPlans,
}

impl LoadedLedgers {
    /// Restores the ledgers, in the order of [`wire::RESOURCES`].
    pub fn restore(fencing: bool, rows: impl IntoIterator<Item = (Row, Remembered)>) -> Self {
        let mut names = Names::default();
        let mut plans = Vec::new();
        let restore = |(row, remembered): (Row, Remembered)| {
            let Row { max_token, owner, version, last_seq, payload } = row;
            let owner = owner.map(|(node, generation)| (names.number(&node), generation));
            let state = ledger::State { highest: max_token, owner, seq: last_seq, version, payload };
            let mut requests = Requests::default();
            for (client, number, seq) in remembered.applied {
                requests.known.insert(RequestId { client: names.number(&client), number }, seq);
            }
            for (client, number) in remembered.forgotten {
                requests.forgotten.insert(names.number(&client), number);
            }
            let made = remembered.plans.made.iter().map(|StoredPlan { number, node, generation, token, .. }| {
                let maker = Incarnation { token: *token, node: names.number(node), generation: *generation };
                Plan { number: *number, maker }
            });
            let restored = Plans::restore(made.collect(), remembered.plans.live);
            plans.push(remembered.plans);
            Ledger::restore(fencing, state, requests).with_plans(restored)
        };
        let ledgers = rows.into_iter().map(restore).collect();
        LoadedLedgers { names, ledgers, plans, lines: Vec::new() }
    }

    /// Decides on one request at true time `t_us`, microseconds, and writes it into the audit.
    pub fn decide(&mut self, request: &Request, t_us: u64) -> wire::Reply {
        match self.message(request) {
            None => wire::Reply::State(self.state(request.resource())),
            Some((_, Message::Write(write))) if self.has_too_many_plans(&write) => {
                wire::Reply::Refused { why: format!("there are {PLANS_MAX} plans already; delete some first") }
            }
            Some((from, message)) => {
                // Both messages that come from the wire are for a store.
                let Some((kind, reply)) = answer(&mut self.ledgers, from, message) else { return refused() };
                let deleted = deleted(&self.ledgers, &kind);
                for kind in iter::once(kind).chain(deleted) {
                    let mut line = String::with_capacity(192);
                    append_line(&mut line, &Event { t_us, group: 0, kind }, &self.names);
                    self.lines.push(line);
                }
                self.reply(request, from, reply)
            }
        }
    }

    fn has_too_many_plans(&self, write: &message::Write) -> bool {
        let made = self.ledgers.get(write.resource.index()).map_or(0, |ledger| ledger.plans().made().len());
        write.operation == Operation::Make && made >= PLANS_MAX
    }

    /// The request as the ledgers know it; `None` when it only asks for the state.
    fn message(&mut self, request: &Request) -> Option<(NodeId, Message)> {
        match request {
            Request::State(_) => None,
            Request::Seal(wire::Seal { resource, node, generation, token, .. }) => {
                let message = Message::Seal { resource: (*resource).into(), generation: *generation, token: *token };
                Some((self.names.number(node), message))
            }
            Request::Write(wire::Write {
                resource,
                node,
                generation,
                token,
                seq,
                read_version,
                request,
                operation,
                payload,
                ..
            }) => {
                // The wire has checked its form.
                let (client, number) = wire::request_id(request).unwrap_or((node, 0));
                let write = message::Write {
                    resource: (*resource).into(),
                    operation: *operation,
                    generation: *generation,
                    token: *token,
                    seq: *seq,
                    read_version: *read_version,
                    client: self.names.number(client),
                    number,
                    payload: *payload,
                };
                Some((self.names.number(node), Message::Write(write)))
            }
        }
    }

    fn reply(&self, request: &Request, to: NodeId, message: Message) -> wire::Reply {
        match message {
            Message::Sealed { resource, generation, token, seq, version, payload } => {
                let asked = matches!(request, Request::Seal(wire::Seal { payload: true, .. }));
                let (payload, verdict) = (payload.filter(|_| asked), wire::Verdict::Ok);
                let (node, resource) = (self.names.of(to).to_owned(), resource.into());
                wire::Reply::Sealed(wire::Sealed { resource, node, generation, token, verdict, seq, version, payload })
            }
            Message::SealRefused { resource, generation, token, highest } => {
                let (node, verdict) = (self.names.of(to).to_owned(), wire::Verdict::Fenced { highest });
                let ledger::State { seq, version, .. } = self.ledger(resource);
                let (resource, payload) = (resource.into(), None);
                wire::Reply::Sealed(wire::Sealed { resource, node, generation, token, verdict, seq, version, payload })
            }
            Message::Written { resource, generation, seq, request, verdict } => {
                let request = format!("{}:{}", self.names.of(request.client), request.number);
                let (resource, verdict) = (resource.into(), verdict.into());
                wire::Reply::Written(wire::Written { resource, generation, seq, request, verdict })
            }
            _ => refused(),
        }
    }

    fn state(&self, resource: Resource) -> wire::State {
        let ledger::State { highest, owner, seq, version, .. } = self.ledger(resource);
        let owner = owner.map(|(node, generation)| wire::Owner { node: self.names.of(node).to_owned(), generation });
        let plans = self.ledgers.get(resource.index()).map(Ledger::plans);
        let plans = plans.filter(|plans| plans.live().is_some() || !plans.made().is_empty()).map(|plans| {
            let made = plans.made().iter().map(|plan| plan.number).collect();
            wire::Plans { made, live: plans.live() }
        });
        wire::State { resource: resource.into(), highest, owner, seq, version, plans }
    }

    fn ledger(&self, resource: Resource) -> ledger::State {
        self.ledgers.get(resource.index()).map(Ledger::state).unwrap_or_default()
    }

    /// The resource as it has to be written back.
    pub fn row(&self, resource: Resource) -> Row {
        let ledger::State { highest, owner, seq, version, payload } = self.ledger(resource);
        let owner = owner.map(|(node, generation)| (self.names.of(node).to_owned(), generation));
        Row { max_token: highest, owner, version, last_seq: seq, payload }
    }

    /// What the batch has changed about the plans of `resource`.
    pub fn plans(&self, resource: Resource) -> Changed {
        let (Some(before), Some(ledger)) = (self.plans.get(resource.index()), self.ledgers.get(resource.index()))
        else {
            return Changed::default();
        };
        let now = ledger.plans();
        before.changed(now.made(), now.live(), |plan| self.names.of(plan.maker.node))
    }

    /// The requests that the batch has applied.
    pub fn applied(&self) -> impl Iterator<Item = Applied<'_>> {
        wire::resources().zip(&self.ledgers).flat_map(move |(resource, ledger)| {
            let fresh = ledger.memory().fresh.iter();
            fresh.map(move |(RequestId { client, number }, seq)| {
                let client = self.names.of(*client);
                Applied { resource, client, number: *number, seq: *seq }
            })
        })
    }

    /// The batch's audit: a history line for every decision, in their order, without line ends.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

fn refused() -> wire::Reply {
    wire::Reply::Refused { why: "this is not for a store".to_owned() }
}

/// Client and number of every write to `resource` in a batch: what the database has to look up.
pub fn requests_of(batch: &[Request], resource: Resource) -> impl Iterator<Item = (&str, u64)> {
    batch.iter().filter_map(move |request| match request {
        Request::Write(write) if Resource::from(write.resource) == resource => wire::request_id(&write.request),
        _ => None,
    })
}
