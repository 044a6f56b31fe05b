//! Describes faults in the past tense, from their facts. A fault's own text describes it in the present.

use crate::{
    course::model::{Lane, Model},
    words::duration,
};
use protocols::{
    history::{FaultEvent, FaultKind, NodeState},
    types::NodeId,
};

/// Joins names as in prose: `n1, n2 and n3`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The smaller side of a partition, which is cut off, and the nodes on the other side.
pub(crate) fn cut_off(fault: &FaultEvent) -> (&[NodeId], Vec<NodeId>) {
    let [one, other] = &fault.sides;
    let (few, all) = match (one.is_empty(), other.is_empty()) {
        (true, _) | (_, true) => (&*fault.on, &[][..]),
        _ if other.len() < one.len() => (&**other, &**one),
        _ => (&**one, &**other),
    };
    // A node that is cut off from all of a service may be one of its members.
    (few, all.iter().copied().filter(|node| !few.contains(node)).collect())
}

/// The targets of a fault, and the other nodes that it names.
struct Whom<'a> {
    model: &'a Model,
    on: &'a [NodeId],
    to: &'a [NodeId],
}

impl Whom<'_> {
    fn list(&self, nodes: &[NodeId]) -> String {
        // A log may omit the names.
        if nodes.is_empty() {
            return "a process".to_owned();
        }
        listed(&nodes.iter().map(|node| self.model.node(node.0)).collect::<Vec<_>>())
    }

    fn on(&self) -> String {
        self.list(self.on)
    }

    /// The possessive of the targets: `n1's`, `store-1 and chubbys'`.
    fn possessive(&self) -> String {
        let on = self.on();
        if on.ends_with('s') { format!("{on}'") } else { format!("{on}'s") }
    }

    /// `from n1 to n2`, or `between n1 and n2` if both lists are equal.
    fn link(&self) -> String {
        match self.to == self.on {
            true => format!("between {}", self.on()),
            false => format!("from {} to {}", self.on(), self.list(self.to)),
        }
    }

    fn did(&self, one: &str, several: &str, what: &str) -> String {
        format!("{} {} {what}", self.on(), if self.on.len() > 1 { several } else { one })
    }

    fn was(&self, what: &str) -> String {
        self.did("was", "were", what)
    }
}

/// What a fault that struck at `t_us` did, as the beginning of a sentence: `n3 was paused`.
pub(crate) fn past(fault: &FaultEvent, t_us: u64, model: &Model) -> String {
    let whom = Whom { model, on: &fault.on, to: &fault.to };
    let (on, to, link) = (whom.on(), whom.list(whom.to), whom.link());
    match &fault.kind {
        FaultKind::Pause => whom.was("paused"),
        FaultKind::Kill => whom.was("killed"),
        FaultKind::PowerLoss => format!("{on} lost power"),
        FaultKind::Restart => whom.was("restarted"),
        FaultKind::Partition if fault.one_way => {
            format!("{} could not reach {}", whom.list(&fault.sides[0]), whom.list(&fault.sides[1]))
        }
        FaultKind::Partition => match cut_off(fault) {
            (few, many) if many.is_empty() => Whom { on: few, ..whom }.was("cut off from each other"),
            (few, many) => Whom { on: few, ..whom }.was(&format!("cut off from {}", whom.list(&many))),
        },
        FaultKind::Latency if fault.strength == 0 => format!("messages {link} took longer"),
        FaultKind::Latency => format!("messages {link} took {} longer", duration(fault.strength as f64)),
        FaultKind::Loss if fault.strength == 0 => format!("some packets {link} were lost"),
        FaultKind::Loss => {
            let percent = fault.strength as f64 / 1e4;
            format!("{} % of packets {link} were lost", (percent * 100.0).round() / 100.0)
        }
        FaultKind::Hang if fault.to.is_empty() => format!("connections of {on} hung"),
        FaultKind::Hang if fault.to == fault.on => format!("connections {link} hung"),
        FaultKind::Hang => format!("connections between {on} and {to} hung"),
        FaultKind::Bandwidth if fault.strength == 0 => format!("{} bandwidth was limited", whom.possessive()),
        FaultKind::Bandwidth => {
            format!("{} bandwidth was limited to {} kbit/s", whom.possessive(), fault.strength)
        }
        FaultKind::SlowDisk if fault.strength == 0 => format!("{} disk synced more slowly", whom.possessive()),
        FaultKind::SlowDisk => {
            let longer = duration(fault.strength as f64);
            format!("syncs of {} disk took {longer} longer", whom.possessive())
        }
        FaultKind::SyncHang => format!("syncs of {} disk hung", whom.possessive()),
        FaultKind::SyncFail => format!("syncs of {} disk failed", whom.possessive()),
        FaultKind::ClockStep => match stepped_us(fault, t_us, model) {
            Some(by_us) => format!("{} wall clock stepped by {}", whom.possessive(), duration(by_us as f64)),
            None => format!("{} wall clock was set", whom.possessive()),
        },
        FaultKind::ClockRate => match clock(fault, t_us, model) {
            Some(ppm) => format!("{} clocks ran at {ppm:+} ppm", whom.possessive()),
            None => format!("{} clocks ran at another rate", whom.possessive()),
        },
        FaultKind::Resign => whom.was("asked to resign"),
        FaultKind::Transfer => whom.was(&format!("asked to hand over to {to}")),
        FaultKind::Join => format!("the leader was asked to admit {on}"),
        FaultKind::Leave => format!("the leader was asked to remove {on}"),
        FaultKind::DropLease => format!("the service dropped {} lease", whom.possessive()),
        FaultKind::DropKey if serves(&fault.on, &model.lanes) => "the service lost its token counter".to_owned(),
        FaultKind::DropKey => format!("the service dropped {} key", whom.possessive()),
        FaultKind::LoseData => {
            let data = if fault.on.len() > 1 { "their data" } else { "its data" };
            whom.was(&format!("killed and lost {data}"))
        }
        FaultKind::RestoreCopy => whom.was("killed and restored from a copy"),
        FaultKind::ForgeToken => format!("an intruder posing as {on} sent the store a forged token"),
        FaultKind::ForgeClaim => format!("an intruder posing as {on} told {to} that it led"),
        FaultKind::RogueFence => {
            format!("an intruder posing as {to} asked the fencing device to cut {} power", whom.possessive())
        }
        FaultKind::LyingDevice => format!("{on} confirmed power cuts without making them"),
        FaultKind::CloudDevice => format!("{on} confirmed power cuts before making them"),
        FaultKind::Other(name) if fault.on.is_empty() => format!("{name} struck"),
        FaultKind::Other(name) => format!("{name} struck {on}"),
    }
}

/// What happened to a process, as a clause.
pub(crate) fn became(who: &str, state: NodeState) -> String {
    let what = match state {
        NodeState::Up => "started again",
        NodeState::Down => "was killed",
        NodeState::Off => "lost power",
        NodeState::Paused => "was paused",
        NodeState::Resumed => "ran again",
        NodeState::Joined => "joined as a member",
        NodeState::Left => "was no longer a member",
    };
    format!("{who} {what}")
}

fn serves(on: &[NodeId], lanes: &[Lane]) -> bool {
    on.iter().any(|node| lanes.iter().any(|lane| lane.node == node.0 && lane.role == "service"))
}

/// The rate that a clock fault gave its process, parts per million.
fn clock(fault: &FaultEvent, t_us: u64, model: &Model) -> Option<i64> {
    let node = fault.on.first()?;
    model.clocks.iter().rfind(|clock| clock.node == node.0 && clock.t == t_us).map(|clock| clock.ppm)
}

/// How far a clock fault moved the wall clock, microseconds.
fn stepped_us(fault: &FaultEvent, t_us: u64, model: &Model) -> Option<i64> {
    let node = fault.on.first()?;
    let mut of = model.clocks.iter().filter(|clock| clock.node == node.0).rev().skip_while(|clock| clock.t > t_us);
    let (now, before) = (of.next().filter(|now| now.t == t_us)?, of.next()?);
    let drifted = i128::from(before.ppm) * i128::from(now.t - before.t) / 1_000_000;
    i64::try_from(i128::from(now.offset_us) - i128::from(before.offset_us) - drifted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::model::Clock;
    use protocols::history::Phase;

    fn nodes(ids: &[u16]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    fn fault(kind: FaultKind, on: &[u16], to: &[u16], strength: u64) -> FaultEvent {
        let (sides, one_way, point, detail) = Default::default();
        let (on, to) = (nodes(on), nodes(to));
        FaultEvent { index: 0, kind, phase: Phase::Begin, on, to, sides, one_way, strength, point, detail }
    }

    fn cut(one: &[u16], other: &[u16], one_way: bool) -> FaultEvent {
        let sides = [nodes(one), nodes(other)];
        FaultEvent { sides, one_way, ..fault(FaultKind::Partition, &[one, other].concat(), &[], 0) }
    }

    fn model() -> Model {
        let names = ["n1", "sync for eu", "n3, killed", "redis"].map(str::to_owned).to_vec();
        let lanes = vec![Lane { node: 3, role: "service", since: 0 }];
        let clock = |t, offset_us, ppm| Clock { node: 0, t, offset_us, ppm };
        Model { nodes: names, lanes, clocks: vec![clock(0, 10, 0), clock(7, 5_000_010, 400)], ..Model::default() }
    }

    #[test]
    fn what_struck_is_told_in_the_past() {
        let of = |fault: &FaultEvent| past(fault, 7, &model());
        for (fault, told) in [
            (fault(FaultKind::Pause, &[1], &[], 0), "sync for eu was paused"),
            (fault(FaultKind::Pause, &[0, 2], &[], 0), "n1 and n3, killed were paused"),
            (cut(&[0, 1, 2], &[3], false), "redis was cut off from n1, sync for eu and n3, killed"),
            (cut(&[0, 1], &[0, 1, 3], false), "n1 and sync for eu were cut off from redis"),
            (cut(&[0, 1], &[0, 1], false), "n1 and sync for eu were cut off from each other"),
            (cut(&[0], &[1, 2], true), "n1 could not reach sync for eu and n3, killed"),
            (cut(&[0, 1], &[3], true), "n1 and sync for eu could not reach redis"),
            (fault(FaultKind::Loss, &[0, 1], &[0, 1], 130_000), "13 % of packets between n1 and sync for eu were lost"),
            (fault(FaultKind::Hang, &[0, 1], &[0, 1], 0), "connections between n1 and sync for eu hung"),
            (fault(FaultKind::ClockRate, &[0], &[], 0), "n1's clocks ran at +400 ppm"),
            (fault(FaultKind::ClockStep, &[0], &[], 0), "n1's wall clock stepped by 5 s"),
            (fault(FaultKind::ClockStep, &[1], &[], 0), "sync for eu's wall clock was set"),
            (fault(FaultKind::DropKey, &[3], &[], 0), "the service lost its token counter"),
            (fault(FaultKind::DropKey, &[0], &[], 0), "the service dropped n1's key"),
            (fault(FaultKind::LoseData, &[0, 1], &[], 0), "n1 and sync for eu were killed and lost their data"),
            (fault("gc".into(), &[0], &[], 0), "gc struck n1"),
            // From a log that omits most fields.
            (fault(FaultKind::Pause, &[], &[], 0), "a process was paused"),
            (fault(FaultKind::Loss, &[0], &[3], 0), "some packets from n1 to redis were lost"),
            (cut(&[], &[], true), "a process could not reach a process"),
        ] {
            assert_eq!(of(&fault), told);
        }
    }

    #[test]
    fn every_kind_of_fault_has_a_past_of_its_own() {
        let mut all: Vec<String> =
            FaultKind::ALL.into_iter().map(|kind| past(&fault(kind, &[0], &[1], 5_000), 9, &model())).collect();
        assert!(all.iter().all(|told| !told.contains("struck")), "{all:#?}");
        let kinds = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), kinds);
    }
}
