//! A batch of decisions: restores ledgers from a database, decides, and collects what has to be written back.
//!
//! The database is the only memory, so a restart has nothing to recover, and several processes can share one. It names
//! processes and clients; they get numbers only for the duration of a batch, so no client can push out another.
//!
//! A request is remembered as long as its number is among the resource's latest [`Rules::remembered`], across clients
//! and restarts. Of older requests, only the highest number per client is kept: a request that is neither above it nor
//! remembered is refused as `Failed` and never applied again. A client that still retries such an old request can no
//! longer learn its number.

use super::{
    audit::Retention,
    plans::{Changed, PLANS_MAX, StoredPlan, StoredPlans},
    wire::{self, Request},
};
use protocols::{
    fence::{
        ablated::AnyLedger,
        ledger::{self, Fence, Ledger, Memory, Recall},
        plans::{Plan, Plans},
        store::{answer, deleted},
    },
    history::{
        Event,
        json::{Naming, append_line},
    },
    message::{self, Message},
    types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource},
};
use std::{borrow::Cow, collections::BTreeMap, iter};

/// The default of [`Rules::remembered`].
pub const REMEMBERED: u64 = 1 << 20;
/// The most requests in a batch; each brings at most two names, and there are numbers for 65,535.
pub const BATCH_MAX: usize = 1024;

/// The rules for decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Whether tokens are checked. Without fencing the store accepts anything: the ablation that shows the purpose of
    /// tokens.
    pub fencing: bool,
    /// How many of a resource's latest sequence numbers can be told again to retrying clients. At 10,000 writes a
    /// second, [`REMEMBERED`] covers 104 s; a client must give up retrying before that.
    pub remembered: u64,
    pub audit: Retention,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { fencing: true, remembered: REMEMBERED, audit: Retention::ALL }
    }
}

/// A resource in the database.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The highest accepted token; 0 before the first.
    pub max_token: u64,
    /// That token's owner: node and generation.
    pub owner: Option<(String, u32)>,
    /// The number of writes applied, plus those that used up their number without being applied.
    pub version: u64,
    pub last_seq: u64,
    /// The last recorded payload.
    pub payload: Option<Payload>,
}

/// An applied request, with the client's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied<'a> {
    pub resource: Resource,
    pub client: &'a str,
    /// The client's request number.
    pub number: u64,
    /// The sequence number it was given.
    pub seq: u64,
}

/// The ledgers during a batch.
#[derive(Debug)]
pub struct LoadedLedgers {
    names: Names,
    ledgers: Vec<AnyLedger<Requests>>,
    /// The plans of each ledger before the batch.
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
        // A name's characters need no escaping.
        self.by_number.get(node.index()).map(|name| Cow::Borrowed(name.as_str()))
    }

    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(wire::name(resource)))
    }
}

/// The remembered requests from the database, and those that the batch adds.
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

/// What the database remembers of one resource's requests, by client and number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// Client, request number and sequence number of applied requests.
    pub applied: Vec<(String, u64, u64)>,
    /// Client, and the highest number of its forgotten requests.
    pub forgotten: Vec<(String, u64)>,
    /// The resource's plans, if the batch concerns any.
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
            AnyLedger::of(fencing, Ledger::restore(state, requests).with_plans(restored))
        };
        let ledgers = rows.into_iter().map(restore).collect();
        LoadedLedgers { names, ledgers, plans, lines: Vec::new() }
    }

    /// Decides on one request at true time `t_us`, microseconds, and appends it to the audit.
    pub fn decide(&mut self, request: &Request, t_us: u64) -> wire::Reply {
        match self.message(request) {
            None => wire::Reply::State(self.state(request.resource())),
            Some((_, Message::Write(write))) if self.has_too_many_plans(&write) => {
                wire::Reply::Refused { why: format!("there are {PLANS_MAX} plans already; delete some first") }
            }
            Some((from, message)) => {
                // The wire carries only the two kinds of message that are for a store.
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

    /// The request as a message to the ledgers; `None` if it only asks for the state.
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
                // The wire has checked the format.
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
        let plans = self.ledgers.get(resource.index()).map(Fence::plans);
        let plans = plans.filter(|plans| plans.live().is_some() || !plans.made().is_empty()).map(|plans| {
            let made = plans.made().iter().map(|plan| plan.number).collect();
            wire::Plans { made, live: plans.live() }
        });
        wire::State { resource: resource.into(), highest, owner, seq, version, plans }
    }

    fn ledger(&self, resource: Resource) -> ledger::State {
        self.ledgers.get(resource.index()).map(Fence::state).unwrap_or_default()
    }

    /// The resource's row to write back.
    pub fn row(&self, resource: Resource) -> Row {
        let ledger::State { highest, owner, seq, version, payload } = self.ledger(resource);
        let owner = owner.map(|(node, generation)| (self.names.of(node).to_owned(), generation));
        Row { max_token: highest, owner, version, last_seq: seq, payload }
    }

    /// The batch's changes to the plans of `resource`.
    pub fn plans(&self, resource: Resource) -> Changed {
        let (Some(before), Some(ledger)) = (self.plans.get(resource.index()), self.ledgers.get(resource.index()))
        else {
            return Changed::default();
        };
        let now = ledger.plans();
        before.changed(now.made(), now.live(), |plan| self.names.of(plan.maker.node))
    }

    /// The requests applied by the batch.
    pub fn applied(&self) -> impl Iterator<Item = Applied<'_>> {
        wire::resources().zip(&self.ledgers).flat_map(move |(resource, ledger)| {
            let fresh = ledger.memory().fresh.iter();
            fresh.map(move |(RequestId { client, number }, seq)| {
                let client = self.names.of(*client);
                Applied { resource, client, number: *number, seq: *seq }
            })
        })
    }

    /// The batch's audit: a history line per decision, in order, without line ends.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

fn refused() -> wire::Reply {
    wire::Reply::Refused { why: "this is not for a store".to_owned() }
}

/// Client and number of every write to `resource` in a batch, for the database to look up.
pub fn requests_of(batch: &[Request], resource: Resource) -> impl Iterator<Item = (&str, u64)> {
    batch.iter().filter_map(move |request| match request {
        Request::Write(write) if Resource::from(write.resource) == resource => wire::request_id(&write.request),
        _ => None,
    })
}
