//! Watches a service before anything happens to it.

use crate::{
    Failure,
    failure::Kind,
    tempo::Tempo,
    trial::{self, Trial},
};
use protocols::{
    history::{self, Event},
    message::WriteVerdict,
    types::NodeId,
};
use reports::Verdict;
use scenarios::{
    Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};
use sim::run::Run;
use std::collections::BTreeSet;

/// How long the service is watched at first, and how long if it has not done anything by then, ms.
const WATCHED_MS: [u64; 2] = [30_000, 180_000];
/// When the leader dies, counted from its first write, ms: in several phases of its renewals.
const DIES_AFTER_MS: [f64; 3] = [1_000.0, 1_700.0, 2_900.0];

/// The service's times.
pub fn measure(trial: &Trial) -> Result<Tempo, Failure> {
    let (steady, plan, mut runs) = steady(trial)?;
    let writes = writes(&steady);
    let Some(&(acted_ms, leader)) = writes.first() else { return Err(nobody_writes(trial, &plan, &steady)) };
    let between_ms = writes.windows(2).map(|two| two[1].0 - two[0].0).fold(0.0, f64::max);
    let name = plan.candidates[leader.index()].name.clone();
    if !trial.observed && tokens(&steady, leader) > 1 {
        return Err(Failure::new(Kind::Inconclusive, MANY_TOKENS.replace("{name}", &name)));
    }
    if let Some((service, key)) = trial.leader_key.filter(|_| !grants(&steady)) {
        let text = format!(
            "INCONCLUSIVE: {name} writes, and no process has held `{key}` of {service}; `leader_key` names what they elect by"
        );
        return Err(Failure::new(Kind::Inconclusive, text));
    }
    let sent = trial.sent(&steady);
    let (mut takeover_ms, mut soonest_ms) = (0.0, f64::INFINITY);
    for after_ms in DIES_AFTER_MS {
        let dies_ms = (acted_ms + after_ms).round();
        let taken_ms = takeover(trial, &name, (leader, dies_ms), &mut runs)?;
        (takeover_ms, soonest_ms) = (taken_ms.max(takeover_ms), taken_ms.min(soonest_ms));
    }
    let refused = trial::refused(&steady);
    Ok(Tempo { acted_ms, between_ms, takeover_ms, soonest_ms, leader: name, sent, refused, runs })
}

/// A run without faults.
fn steady(trial: &Trial) -> Result<(Run, Plan, u64), Failure> {
    let mut runs = 0;
    loop {
        let mut plan = trial.steady()?;
        plan.duration_ms = WATCHED_MS[runs.min(1)];
        runs += 1;
        let run = trial.run_counting(&plan)?;
        is_safe(trial, &run, runs as u64)?;
        if runs == 2 || !writes(&run).is_empty() {
            return Ok((run, plan, runs as u64));
        }
    }
}

/// How long it takes until another writes than the leader, which dies then. Counts the runs.
fn takeover(trial: &Trial, name: &str, (leader, dies_ms): (NodeId, f64), runs: &mut u64) -> Result<f64, Failure> {
    let mut longer = false;
    loop {
        let mut plan = trial.steady()?;
        plan.duration_ms = dies_ms as u64 + WATCHED_MS[usize::from(longer)];
        let what = Fault::Kill { node: Who::Named(name.to_owned()), restart_after_ms: None };
        plan.faults = vec![PlannedFault { when: Trigger::At { ms: dies_ms }, what, group: 0 }];
        *runs += 1;
        let run = trial.run_counting(&plan)?;
        is_safe(trial, &run, *runs)?;
        let taken = writes(&run).into_iter().find(|(at_ms, node)| *at_ms > dies_ms && *node != leader);
        match taken {
            Some((at_ms, _)) => return Ok(at_ms - dies_ms),
            None if longer => return Err(nobody_takes_over(trial, &plan, &run, name, dies_ms)),
            None => longer = true,
        }
    }
}

/// How soon anybody acts is what is measured; that at most one does is judged already.
fn is_safe(trial: &Trial, run: &Run, runs: u64) -> Result<(), Failure> {
    match run.judgement.verdict {
        Verdict::Safety if !trial.tolerates => Err(trial.broken(&trial.judged(run), runs)),
        _ => Ok(()),
    }
}

/// The accepted writes: when, and of whom.
fn writes(run: &Run) -> Vec<(f64, NodeId)> {
    let accepted = |event: &Event| match &event.kind {
        history::Kind::Apply { node, verdict: WriteVerdict::Ok, .. } => Some((event.t_us as f64 / 1e3, *node)),
        _ => None,
    };
    run.kept.iter().flatten().filter_map(accepted).collect()
}

/// Whether the service has granted leadership to anybody.
fn grants(run: &Run) -> bool {
    run.kept.iter().flatten().any(|event| matches!(event.kind, history::Kind::Grant { .. }))
}

/// How many tokens the first leader showed before anybody else wrote.
fn tokens(run: &Run, leader: NodeId) -> usize {
    let write = |event: &Event| match &event.kind {
        history::Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } => Some((*node, write.token)),
        _ => None,
    };
    let of_leader = run.kept.iter().flatten().filter_map(write).take_while(|(node, _)| *node == leader);
    of_leader.map(|(_, token)| token).collect::<BTreeSet<u64>>().len()
}

/// Why tokens alone say nothing about a service.
const MANY_TOKENS: &str = "INCONCLUSIVE: {name} shows the store several tokens in one leadership, so a token does not tell one \
                           leadership from the next; say with `leads_when(…)` which line a process prints when it begins to lead";

fn nobody_writes(trial: &Trial, plan: &Plan, run: &Run) -> Failure {
    let seconds = plan.duration_ms / 1_000;
    let (what, why) = match &trial.table {
        Some(table) => (format!("committed a row of the table {table}"), ""),
        None if trial.fencing.checks().token => {
            let why = "; it refuses writes without the header Fencing-Token, unless it is `store().unfenced()`";
            ("wrote to the store".to_owned(), why)
        }
        None => ("wrote to the store".to_owned(), ""),
    };
    let said = trial.printed(run, None);
    let text = format!("nobody {what} in {seconds} virtual seconds without any fault{why}\n\n{said}");
    Failure::new(Kind::NobodyWrites, text)
}

fn nobody_takes_over(trial: &Trial, plan: &Plan, run: &Run, name: &str, dies_ms: f64) -> Failure {
    let seconds = (plan.duration_ms as f64 - dies_ms) / 1e3;
    let said = trial.printed(run, None);
    let text = format!(
        "{name} led and was killed, and in the {seconds:.0} virtual seconds after that nobody else wrote to the \
         store\n\n{said}"
    );
    Failure::new(Kind::NobodyTakesOver, text)
}
