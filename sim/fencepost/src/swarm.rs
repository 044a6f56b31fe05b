//! Drawn plans: several faults of any kind at once, on any process, and then quiet for long enough that somebody must write
//! again. A scenario asks one question; this looks for what nobody asked.

use crate::tempo::Tempo;
use protocols::{
    history::{Fact, Requirement},
    point::Point,
};
use rand_core::RngCore;
use scenarios::{
    Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::SWARM,
    profile::Profile,
    scenario::{candidate, drawn_ms},
    streams,
};

/// How many faults a plan has.
const FAULTS: (u64, u64) = (2, 5);
/// One plan in so many is on a bad network.
const LOSSY_EVERY: u64 = 4;

/// The plan of this seed; `has_services` if there are any to be cut off from. Not validated: a drawn fault may mean nothing
/// beside another.
pub fn plan(quiet: Plan, tempo: &Tempo, has_services: bool, seed: u64, attempt: u64) -> Plan {
    let mut random = streams::stream(seed, &format!("swarm/{attempt}"));
    let count = streams::between(&mut random, FAULTS.0, FAULTS.1);
    let mut draw = Draw { random, tempo, nodes: quiet.candidates.len() as u64, has_services };
    let faults: Vec<PlannedFault> = (0..count).map(|_| draw.fault()).collect();
    let lossy = streams::between(&mut draw.random, 1, LOSSY_EVERY) == 1;
    let network = Profile::find("lossy").filter(|_| lossy).map_or(quiet.network.clone(), Profile::network);
    let requires = [(Fact::Faults, 1), (Fact::LeadersTookEffect, 1)];
    Plan {
        scenario: SWARM.to_owned(),
        duration_ms: (draw.last_ms() + draw.longest_ms()).ceil() as u64 + tempo.bound_ms() + 1_000,
        network,
        faults,
        requires: requires.map(|(fact, at_least)| Requirement { fact, at_least }).into(),
        ..quiet
    }
}

struct Draw<'a, R> {
    random: R,
    tempo: &'a Tempo,
    nodes: u64,
    has_services: bool,
}

impl<R: RngCore> Draw<'_, R> {
    /// When faults begin: between the first leader's first writes, and two takeovers later.
    fn first_ms(&self) -> f64 {
        self.tempo.acted_ms + self.tempo.between_ms
    }

    fn last_ms(&self) -> f64 {
        self.first_ms() + 3.0 * self.tempo.takeover_ms
    }

    fn longest_ms(&self) -> f64 {
        self.tempo.pause_ms() as f64
    }

    fn lasts_ms(&mut self) -> f64 {
        let longest_ms = self.longest_ms();
        drawn_ms(&mut self.random, longest_ms / 20.0, longest_ms)
    }

    /// Half of the faults are about the leader of that time.
    fn who(&mut self) -> Who {
        match streams::between(&mut self.random, 0, 1) {
            0 => Who::Leader,
            _ => Who::Named(candidate(streams::between(&mut self.random, 1, self.nodes) as u16)),
        }
    }

    /// The other end of a link from a process.
    fn server(&mut self) -> Who {
        let to_store = !self.has_services || streams::between(&mut self.random, 1, 4) == 1;
        if to_store { Who::Store } else { Who::Service }
    }

    fn when(&mut self) -> Trigger {
        let (first_ms, last_ms) = (self.first_ms(), self.last_ms());
        Trigger::At { ms: drawn_ms(&mut self.random, first_ms, last_ms) }
    }

    fn fault(&mut self) -> PlannedFault {
        let (when, for_ms) = (self.when(), self.lasts_ms());
        let (from, to) = (vec![self.who()], vec![self.server()]);
        let (when, what) = match streams::between(&mut self.random, 0, 9) {
            0..=2 => {
                let nth = streams::between(&mut self.random, 1, self.tempo.sends());
                let (point, node) = (Point::BeforeSend.name().to_owned(), from[0].clone());
                let when =
                    Trigger::Passage { point, node, nth, after: Some(Box::new(when)), delay_ms: 0.0, matching: None };
                (when, Fault::Pause { node: Who::Trigger, for_ms })
            }
            3 => (when, Fault::Pause { node: from[0].clone(), for_ms }),
            4 => (when, Fault::Kill { node: from[0].clone(), restart_after_ms: Some(for_ms) }),
            5 => (when, Fault::PowerLoss { node: from[0].clone(), restart_after_ms: Some(for_ms) }),
            6 => {
                let one_way = streams::between(&mut self.random, 1, 3) == 1;
                (when, Fault::Partition { from, to, one_way, for_ms: Some(for_ms) })
            }
            7 => (when, Fault::Hang { from, to, for_ms: Some(for_ms) }),
            8 => {
                let most_us = 100 * self.longest_ms() as u64;
                let extra_us = streams::between(&mut self.random, 1_000, most_us);
                (when, Fault::Latency { from: to, to: from, extra_us, for_ms: Some(for_ms) })
            }
            _ => {
                let by_ms = for_ms as i64;
                let by_ms = if streams::between(&mut self.random, 0, 1) == 0 { by_ms } else { -by_ms };
                (when, Fault::ClockStep { node: from[0].clone(), by_ms })
            }
        };
        PlannedFault { when, what, group: 0 }
    }
}
