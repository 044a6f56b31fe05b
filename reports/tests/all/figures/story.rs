//! A builder for short histories, with the judgements of them.

use protocols::{
    elector::Deposed,
    history::{Event, FaultEvent, Header, Kind, NodeState, Phase, Sink, UNKNOWN_REQUEST},
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, RequestId, Resource},
};
use reports::{Judge, Judgement, Metrics};

pub const N1: NodeId = NodeId(0);
pub const N2: NodeId = NodeId(1);
pub const SERVICE: NodeId = NodeId(2);
pub const CLIENT: NodeId = NodeId(4);

/// Events with times in milliseconds.
#[derive(Default)]
pub struct Story(pub Vec<Event>);

impl Story {
    pub fn at(mut self, t_ms: u64, kind: Kind) -> Self {
        self.0.push(Event { t_us: t_ms * 1000, group: 0, kind });
        self
    }

    pub fn elected(self, t_ms: u64, node: NodeId, token: u64) -> Self {
        self.at(t_ms, Kind::Elected(Incarnation { token, node, generation: token as u32 }))
    }

    pub fn deposed(self, t_ms: u64, node: NodeId, token: u64, reason: Deposed) -> Self {
        self.at(t_ms, Kind::Deposed { incarnation: Incarnation { token, node, generation: token as u32 }, reason })
    }

    pub fn fault(self, t_ms: u64, fault: &str, phase: Phase, on: &[NodeId]) -> Self {
        self.fault_between(t_ms, fault, phase, on, &[])
    }

    pub fn fault_between(self, t_ms: u64, fault: &str, phase: Phase, on: &[NodeId], to: &[NodeId]) -> Self {
        let (kind, on, to, detail) = (fault.into(), on.to_vec(), to.to_vec(), String::new());
        self.at(
            t_ms,
            Kind::Fault(Box::new(FaultEvent {
                index: 0,
                kind,
                phase,
                on,
                to,
                sides: Default::default(),
                one_way: false,
                strength: 0,
                point: None,
                detail,
            })),
        )
    }

    pub fn node(self, t_ms: u64, node: NodeId, state: NodeState) -> Self {
        self.at(t_ms, Kind::Node { node, state })
    }

    pub fn write(self, t_ms: u64, node: NodeId, token: u64, seq: u64) -> Self {
        self.served(t_ms, node, token, seq, UNKNOWN_REQUEST)
    }

    pub fn served(self, t_ms: u64, node: NodeId, token: u64, seq: u64, request: RequestId) -> Self {
        let (resource, generation) = (Resource::SEQUENCE, token as u32);
        let write = Write {
            resource,
            operation: Operation::Record,
            generation,
            token,
            seq,
            read_version: seq - 1,
            client: request.client,
            number: request.number,
            payload: None,
        };
        self.at(t_ms, Kind::Apply { node, write, verdict: WriteVerdict::Ok, version: seq })
    }

    pub fn issue(self, t_ms: u64, node: NodeId, token: u64, seq: u64) -> Self {
        let (resource, generation) = (Resource::SEQUENCE, token as u32);
        let write = Write {
            resource,
            operation: Operation::Record,
            generation,
            token,
            seq,
            read_version: seq - 1,
            client: UNKNOWN_REQUEST.client,
            number: UNKNOWN_REQUEST.number,
            payload: None,
        };
        self.at(t_ms, Kind::Issue { node, write })
    }

    pub fn judged(self, end_ms: u64) -> Judgement {
        let header = Header {
            schema: 1,
            scenario: "story".into(),
            protocol: "redis-fenced".into(),
            seed: 1,
            fencing: true.into(),
            tokened: true,
            plan_digest: String::new(),
            nodes: ["n1", "n2", "redis", "store", "c1"].map(String::from).into(),
            candidates: 2,
            lease_ttl_ms: 3000,
            rate: 10,
            liveness_bound_ms: 5000,
            dark_after_ms: 1000,
            requires: Vec::new(),
            services: Vec::new(),
            services_needed: 0,
            clusters: Vec::new(),
            store: None,
            majority: false,
            ring: false,
            tick_ms: 0,
            dual_belief_bound_us: None,
            resources: protocols::history::usual_resources(),
            groups: 1,
            copies: None,
            deferred_commit: false,
            address: None,
            placement: None,
            group: 0,
        };
        let mut judge = Judge::new(Some(&header));
        let story = self.at(end_ms, Kind::End { messages: 0, by_kind: Default::default() });
        story.0.iter().for_each(|event| judge.record(event));
        judge.finish()
    }

    pub fn metrics(self, end_ms: u64) -> Metrics {
        self.judged(end_ms).metrics
    }
}
