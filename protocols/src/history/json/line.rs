//! Parses one line of a history.

use super::super::{
    Deleted, FaultEvent, GrantEnd, Kind, NodeState, Outcome, Phase, UNKNOWN_REQUEST, UNKNOWN_SEQ, UNKNOWN_VERSION,
};
use super::{nodes::Nodes, told::Lasts};
use crate::{
    elector::Deposed,
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource},
};
use serde::Deserialize;
use std::{borrow::Cow, collections::BTreeMap};

/// The version of the line format that is written: see [`super::super::Header::schema`].
pub const SCHEMA: u32 = 2;
/// The oldest version that can still be read: it calls the token `epoch`, and the generation `term`.
pub const OLDEST_SCHEMA: u32 = 1;

/// Any line. Unknown fields are refused: one may be relevant under another name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) event: Cow<'a, str>,
    pub(super) t_us: Option<u64>,
    group: Option<u16>,
    #[serde(borrow)]
    node: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request: Option<Cow<'a, str>>,
    #[serde(borrow)]
    verdict: Option<Cow<'a, str>>,
    #[serde(borrow)]
    outcome: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fault: Option<Cow<'a, str>>,
    #[serde(borrow)]
    detail: Option<Cow<'a, str>>,
    #[serde(borrow)]
    candidate: Option<Cow<'a, str>>,
    #[serde(borrow)]
    point: Option<Cow<'a, str>>,
    #[serde(borrow)]
    passed_by: Option<Cow<'a, str>>,
    #[serde(default)]
    from: Vec<String>,
    #[serde(default)]
    against: Vec<String>,
    #[serde(default)]
    one_way: bool,
    #[serde(default)]
    strength: u64,
    wall_offset_us: Option<i64>,
    rate_ppm: Option<i64>,
    // Schema 1 called them epoch and term, and foreign logs still do.
    #[serde(alias = "epoch")]
    token: Option<u64>,
    #[serde(alias = "term")]
    generation: Option<u32>,
    seq: Option<u64>,
    read: Option<u64>,
    version: Option<u64>,
    payload: Option<Payload>,
    #[serde(default)]
    operation: Operation,
    #[serde(default)]
    plans: Vec<u64>,
    accepted: Option<bool>,
    first: Option<u64>,
    highest: Option<u64>,
    expected: Option<u64>,
    index: Option<u32>,
    phase: Option<Phase>,
    state: Option<NodeState>,
    #[serde(default)]
    on: Vec<String>,
    #[serde(default)]
    to: Vec<String>,
    messages: Option<u64>,
    #[serde(default)]
    by_kind: BTreeMap<String, u64>,
    #[serde(borrow)]
    after: Option<Leadership<'a>>,
    #[serde(borrow)]
    onto: Option<Leadership<'a>>,
    entries: Option<u64>,
    until: Option<u64>,
    duration: Option<u64>,
    ttl: Option<u64>,
    #[serde(default)]
    shared: bool,
}

/// A further leadership named by an event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Leadership<'a> {
    #[serde(borrow)]
    node: Cow<'a, str>,
    // As in the line itself.
    #[serde(default, alias = "epoch")]
    token: u64,
    #[serde(default, alias = "term")]
    generation: u32,
}

impl Leadership<'_> {
    fn read(&self, nodes: &mut Nodes) -> Result<Incarnation, String> {
        Ok(Incarnation { token: self.token, node: nodes.id(&self.node)?, generation: self.generation })
    }
}

/// The event names.
pub const EVENTS: [&str; 24] = [
    "header",
    "campaign",
    "elected",
    "deposed",
    "seal",
    "issue",
    "apply",
    "deleted",
    "invoke",
    "reply",
    "read-invoke",
    "read-reply",
    "fault",
    "grant",
    "grant-end",
    "vote",
    "clock",
    "promoted",
    "rewound",
    "work",
    "node",
    "member-leads",
    "member-follows",
    "end",
];

impl Line<'_> {
    /// The event's group and kind.
    pub(super) fn read(&self, nodes: &mut Nodes) -> Result<(u16, Kind), String> {
        let kind = self.kind(nodes)?;
        if let (Some(name), Kind::Elected(_) | Kind::Deposed { .. } | Kind::Grant { .. } | Kind::GrantEnd { .. }) =
            (&self.resource, &kind)
        {
            nodes.led(name)?;
        }
        let group = match &self.resource {
            Some(name) if !kind.is_shared() => nodes.resource(name, self.group)?.1,
            _ => nodes.group(self.group.unwrap_or(0))?,
        };
        Ok((group, kind))
    }

    /// How long a grant, or work that begins with an accepted write, lasts, if the line says so.
    pub(super) fn lasts(&self, t_us: u64) -> Result<Lasts, String> {
        let until = self.until.map(|until| {
            until
                .checked_sub(t_us)
                .ok_or_else(|| format!("until is {until}, which is before the line's own time {t_us}"))
        });
        let said = [until.transpose()?, self.duration, self.ttl].into_iter().flatten().collect::<Vec<_>>();
        let (event, shared) = (&*self.event, self.shared);
        match said[..] {
            [] if shared => {
                Err("shared says that others may do it at once; the line needs until or duration, too".to_owned())
            }
            [] => Ok(Lasts::default()),
            // It has ended by the line's time.
            _ if event == "work" => Ok(Lasts::default()),
            [for_us] if event == "apply" || (event == "grant" && !shared) => Ok(Lasts { for_us: Some(for_us), shared }),
            [_] => Err(format!("says how long it lasts, and {event:?} is no event that does; apply and grant are")),
            _ => Err("says twice how long it lasts; until, duration and ttl are three ways to say it".to_owned()),
        }
    }

    fn kind(&self, nodes: &mut Nodes) -> Result<Kind, String> {
        Ok(match &*self.event {
            "campaign" => Kind::Campaign { node: self.node(nodes)? },
            "elected" => Kind::Elected(self.incarnation(nodes)?),
            "deposed" => Kind::Deposed { incarnation: self.incarnation(nodes)?, reason: self.reason(nodes)? },
            "seal" => Kind::Seal {
                resource: self.resource(nodes)?,
                incarnation: self.incarnation(nodes)?,
                accepted: self.need("accepted", self.accepted)?,
                seq: self.need("seq", self.seq)?,
                version: self.version.unwrap_or(UNKNOWN_VERSION),
                payload: self.payload,
            },
            "issue" => Kind::Issue { node: self.node(nodes)?, write: self.write(nodes)? },
            "apply" => Kind::Apply {
                node: self.node(nodes)?,
                write: self.write(nodes)?,
                verdict: self.verdict()?,
                version: self.version.unwrap_or(UNKNOWN_VERSION),
            },
            "deleted" => Kind::Deleted(Box::new(self.deleted(nodes)?)),
            "invoke" => Kind::Invoke { request: self.request(nodes)? },
            "reply" => Kind::Reply { request: self.request(nodes)?, outcome: self.outcome()? },
            "read-invoke" => Kind::ReadInvoke { request: self.request(nodes)? },
            "read-reply" => {
                let (node, request) = (self.node(nodes)?, self.request(nodes)?);
                Kind::ReadReply { request, node, outcome: self.outcome()? }
            }
            "fault" => Kind::Fault(Box::new(self.fault_event(nodes)?)),
            "grant" => Kind::Grant { node: self.node(nodes)?, token: self.granted_token(nodes) },
            "grant-end" => {
                let (node, token) = (self.node(nodes)?, self.granted_token(nodes));
                Kind::GrantEnd { node, token, reason: self.grant_end(nodes)? }
            }
            "vote" => Kind::Vote {
                voter: self.node(nodes)?,
                candidate: nodes.id(self.text("candidate", &self.candidate)?)?,
                token: self.need("token", self.token)?,
            },
            "clock" => Kind::Clock {
                node: self.node(nodes)?,
                wall_offset_us: self.need("wall_offset_us", self.wall_offset_us)?,
                rate_ppm: self.need("rate_ppm", self.rate_ppm)?,
            },
            "promoted" => Kind::Promoted {
                incarnation: self.incarnation(nodes)?,
                after: self.after.as_ref().map(|after| after.read(nodes)).transpose()?,
            },
            "rewound" => Kind::Rewound {
                node: self.node(nodes)?,
                from: self.need("after", self.after.as_ref())?.read(nodes)?,
                onto: self.need("onto", self.onto.as_ref())?.read(nodes)?,
                entries: self.need("entries", self.entries)?,
            },
            "work" => Kind::Work {
                resource: self.resource(nodes)?,
                incarnation: self.incarnation(nodes)?,
                for_us: self.need("duration", self.duration)?,
                shared: self.shared,
            },
            "node" => Kind::Node { node: self.node(nodes)?, state: self.need("state", self.state)? },
            "member-leads" => Kind::MemberLeads { node: self.node(nodes)?, leads: true },
            "member-follows" => Kind::MemberLeads { node: self.node(nodes)?, leads: false },
            "end" => Kind::End { messages: self.messages.unwrap_or(0), by_kind: self.by_kind.clone() },
            other => return Err(format!("there is no event {other:?}")),
        })
    }

    fn deleted(&self, nodes: &mut Nodes) -> Result<Deleted, String> {
        let (resource, incarnation) = (self.resource(nodes)?, self.incarnation(nodes)?);
        Ok(Deleted { resource, incarnation, seq: self.need("seq", self.seq)?, plans: self.plans.clone() })
    }

    fn fault_event(&self, nodes: &mut Nodes) -> Result<FaultEvent, String> {
        let mut group =
            |names: &[String]| names.iter().map(|name| nodes.id(name)).collect::<Result<Vec<NodeId>, String>>();
        let (on, to, sides) = (group(&self.on)?, group(&self.to)?, [group(&self.from)?, group(&self.against)?]);
        let point = match &self.point {
            Some(point) => Some((point.to_string(), nodes.id(self.text("passed_by", &self.passed_by)?)?)),
            None => None,
        };
        Ok(FaultEvent {
            index: self.need("index", self.index)?,
            kind: self.text("fault", &self.fault)?.into(),
            phase: self.need("phase", self.phase)?,
            on,
            to,
            sides,
            one_way: self.one_way,
            strength: self.strength,
            point,
            detail: self.detail.as_deref().unwrap_or_default().to_owned(),
        })
    }

    fn grant_end(&self, nodes: &Nodes) -> Result<GrantEnd, String> {
        if self.reason.is_none() && !nodes.is_closed() {
            return Ok(GrantEnd::Lost);
        }
        let name = self.text("reason", &self.reason)?;
        serde_json::from_value(name.into())
            .map_err(|_| format!("reason {name:?} is none of expired, released, taken, lost"))
    }

    fn need<T>(&self, field: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("{} needs a field {field:?}", self.event))
    }

    fn text<'s>(&self, field: &str, value: &'s Option<Cow<str>>) -> Result<&'s str, String> {
        self.need(field, value.as_deref())
    }

    fn node(&self, nodes: &mut Nodes) -> Result<NodeId, String> {
        nodes.id(self.text("node", &self.node)?)
    }

    fn request(&self, nodes: &mut Nodes) -> Result<RequestId, String> {
        nodes.request(self.text("request", &self.request)?)
    }

    fn incarnation(&self, nodes: &mut Nodes) -> Result<Incarnation, String> {
        let node = self.node(nodes)?;
        Ok(Incarnation { token: self.token.unwrap_or(0), node, generation: self.generation(nodes)? })
    }

    /// In a log without generations, 0 is a token. Fencepost's own histories write 0 for none.
    fn generation(&self, nodes: &Nodes) -> Result<u32, String> {
        match (self.generation, self.token) {
            (None, Some(0)) if !nodes.is_closed() => Ok(Incarnation::TOKEN_IS_ZERO),
            (Some(high), _) if high >= Incarnation::TOKEN_IS_ZERO => {
                Err(format!("generation {high} is too high; {} is the highest", Incarnation::TOKEN_IS_ZERO - 1))
            }
            (generation, _) => Ok(generation.unwrap_or(0)),
        }
    }

    fn granted_token(&self, nodes: &Nodes) -> Option<u64> {
        self.token.filter(|token| *token > 0 || (!nodes.is_closed() && self.generation.is_none()))
    }

    fn resource(&self, nodes: &mut Nodes) -> Result<Resource, String> {
        Ok(nodes.resource(self.text("resource", &self.resource)?, self.group)?.0)
    }

    fn write(&self, nodes: &mut Nodes) -> Result<Write, String> {
        if self.operation != Operation::Record && self.payload.is_none() {
            let operation = self.operation.name();
            return Err(format!("{operation:?} needs a field \"payload\" with the number of the plan"));
        }
        let request = self.request.as_deref().map_or(Ok(UNKNOWN_REQUEST), |text| nodes.request(text))?;
        let RequestId { client, number } = request;
        Ok(Write {
            resource: self.resource(nodes)?,
            operation: self.operation,
            generation: self.generation(nodes)?,
            token: self.token.unwrap_or(0),
            // A foreign log may lack numbers; histories always have them.
            seq: if nodes.is_closed() { self.need("seq", self.seq)? } else { self.seq.unwrap_or(UNKNOWN_SEQ) },
            read_version: self.read.unwrap_or(UNKNOWN_VERSION),
            client,
            number,
            payload: self.payload,
        })
    }

    fn verdict(&self) -> Result<WriteVerdict, String> {
        Ok(match self.text("verdict", &self.verdict)? {
            "ok" => WriteVerdict::Ok,
            "duplicate" => WriteVerdict::Duplicate { seq: self.first.or(self.seq).unwrap_or(0) },
            "fenced" => WriteVerdict::Fenced { highest: self.highest.unwrap_or(0) },
            "failed" => WriteVerdict::Failed { expected: self.expected.unwrap_or(0) },
            other => {
                return Err(format!(
                    "verdict {other:?} is none of ok, duplicate, fenced, failed; --word 'verdict:{other}=…' says which it means"
                ));
            }
        })
    }

    fn outcome(&self) -> Result<Outcome, String> {
        Ok(match self.text("outcome", &self.outcome)? {
            "ok" => Outcome::Ok { token: self.token.unwrap_or(0), seq: self.need("seq", self.seq)? },
            "rejected" => Outcome::Rejected,
            "unknown" => Outcome::Unknown,
            other => return Err(format!("outcome {other:?} is none of ok, rejected, unknown")),
        })
    }

    fn reason(&self, nodes: &Nodes) -> Result<Deposed, String> {
        // Many logs only say that a leader was deposed.
        if self.reason.is_none() && !nodes.is_closed() {
            return Ok(Deposed::Lost);
        }
        let name = self.text("reason", &self.reason)?;
        let found = Deposed::ALL.into_iter().find(|reason| reason.name() == name);
        found.ok_or_else(|| format!("reason {name:?} is none of {}", Deposed::ALL.map(Deposed::name).join(", ")))
    }
}
