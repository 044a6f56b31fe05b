//! Checks what each fault does to the world, how strongly, and that it ends. In a world of probes (`probe.rs`), a fault
//! strikes for three seconds. Probe readings in that time must match the table (`table.rs`); all others, and all
//! readings after the fault, must be as usual.

mod log;
mod probe;
mod row;
mod table;

use crate::{error::Failed, registry::Registry};
use log::{Log, Readings};
use row::{EDGE, Read, Row, STRIKES};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger},
    scenario,
};
use std::{collections::BTreeSet, sync::OnceLock, thread};

impl Row {
    /// The end of the readings, in milliseconds.
    fn ends(&self) -> f64 {
        if self.over == f64::MAX { self.window.1 } else { self.over + 2_000.0 }
    }

    fn plan(&self) -> Result<Plan, Failed> {
        let (plans, params) = (Registry::default().plans, Params { rate: 10, ..Params::default() });
        let story = scenario::find("steady").ok_or("no steady")?;
        let mut plan = story.compile(&params, plans.protocol(self.protocol)?, 1)?;
        plan.duration_ms = self.ends() as u64 + 500;
        (plan.load.clients, plan.load.reads_per_s) = (1, 0);
        plan.requires.clear();
        for candidate in &mut plan.candidates {
            (candidate.starts_at_ms, candidate.wall_offset_ms, candidate.rate_ppm) = (0, 0, 0);
        }
        let network = &mut plan.network;
        (network.latency_us, network.jitter_us, network.control_apart) = (1_000, 0, true);
        (network.loss, network.duplicate, network.reorder, network.bandwidth_mbps) = (0.0, 0.0, 0.0, 0);
        (self.network)(network);
        let planned =
            |(ms, what): &(f64, Fault)| PlannedFault { when: Trigger::At { ms: *ms }, what: what.clone(), group: 0 };
        plan.faults = self.faults.iter().map(planned).collect();
        Ok(plan)
    }

    /// The readings that are wrong, if any.
    fn wrong(&self) -> Result<(), Failed> {
        let plan = self.plan()?;
        let topology = Registry::default().plans.topology(&plan, Registry::default().plans.protocol(self.protocol)?)?;
        let names = topology.names().to_vec();
        let log: Log = probe::run(plan)?;
        let end = self.ends();
        let looks = [
            ("before", (1_000.0, if self.before { STRIKES - EDGE } else { 0.0 }), &[][..], &[][..]),
            ("meanwhile", self.window, &self.during, self.skips),
            ("when it is over", (self.over, end), &self.after, self.skips_after),
        ];
        let wrong =
            looks.into_iter().filter(|(_, (from, to), ..)| from < to).filter_map(|(when, (from, to), reads, skips)| {
                let why = differs(&log.readings(&names, from, to), reads, skips)?;
                Some(format!("{when}: {why}"))
            });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() { Ok(()) } else { Err(Failed::Harness(wrong.join("; "))) }
    }
}

/// The readings that lie outside their ranges.
fn differs(readings: &Readings, reads: &[Read], skips: &[&str]) -> Option<String> {
    let names: BTreeSet<&str> =
        readings.keys().map(String::as_str).chain(reads.iter().map(|(name, ..)| *name)).collect();
    let wrong = names.into_iter().filter_map(|name| {
        let of = |name: &str| reads.iter().find(|(of, ..)| *of == name);
        // `latest` readings share the range of `late` ones.
        let (least, most) = match of(name).or_else(|| of(&name.replace(" latest ", " late "))) {
            Some((_, least, most)) => (*least, *most),
            None if skips.iter().any(|skip| name.contains(skip)) => return None,
            None => table::usual(name),
        };
        match readings.get(name) {
            None => Some(format!("{name} is not read, and must be from {least} to {most}")),
            Some((is_least, is_most)) if *is_least < least || *is_most > most => {
                Some(format!("{name} is {is_least:.3} to {is_most:.3}, and must be from {least} to {most}"))
            }
            Some(_) => None,
        }
    });
    let wrong: Vec<String> = wrong.collect();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// The faults that fail, and why. Computed once per process, since the answer never changes.
pub(super) fn wrong() -> impl Iterator<Item = (String, String)> {
    static WRONG: OnceLock<Vec<(String, String)>> = OnceLock::new();
    WRONG.get_or_init(looked_at).iter().map(|(name, why)| (format!("fault: {name}"), why.clone()))
}

fn looked_at() -> Vec<(String, String)> {
    let rows = table::rows();
    let parts = thread::available_parallelism().map_or(1, |cores| cores.get()).clamp(1, 4);
    let (rows, length) = (&rows, rows.len().div_ceil(parts));
    let look = |row: &Row| Some((row.name.clone(), row.wrong().err()?.to_string()));
    thread::scope(|scope| {
        let begin = |part: &'_ [Row]| part.iter().filter_map(look).collect::<Vec<_>>();
        let under_way: Vec<_> = rows.chunks(length.max(1)).map(|part| scope.spawn(move || begin(part))).collect();
        under_way.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary;
    use protocols::history::FaultKind;
    use std::collections::BTreeSet;

    #[test]
    fn every_fault_is_as_strong_as_it_says_and_ends() {
        assert_eq!(wrong().collect::<Vec<_>>(), []);
    }

    #[test]
    fn every_kind_is_probed_or_the_cause_of_a_canary() {
        let kinds = |faults: &[Fault]| faults.iter().map(Fault::kind).collect::<Vec<_>>();
        let probed = table::rows()
            .into_iter()
            .flat_map(|row| kinds(&row.faults.into_iter().map(|(_, fault)| fault).collect::<Vec<_>>()));
        let causes = canary::canaries().into_iter().flat_map(|canary| {
            let plan = (canary.plan)(0, true).expect("the plan makes sense");
            kinds(&plan.faults.into_iter().map(|fault| fault.what).collect::<Vec<_>>())
        });
        let all: BTreeSet<FaultKind> = probed.chain(causes).collect();
        for (kind, _) in scenarios::generate::kinds() {
            assert!(all.contains(&kind.into()), "no sweep would see that `{kind}` does nothing");
        }
    }
}
