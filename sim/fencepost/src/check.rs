//! Makes the runs of a check.

use crate::{
    Checked, Exhausted, Failure,
    again::Asked,
    failure::Kind,
    measure::measure,
    scenarios::{EVERY_SEND, EXHAUSTIVE},
    trial::{Ran, Trial, inconclusive},
};
use reports::Verdict;
use sim::pool;
use std::time::{Duration, Instant};

impl Trial {
    pub fn all(&self) -> Result<Checked, Failure> {
        let started = Instant::now();
        let tempo = measure(self)?;
        let (plans, exhausted) = self.plans(&tempo)?;
        let mut checked = Checked {
            runs: tempo.runs,
            takeover: Duration::from_secs_f64(tempo.takeover_ms / 1e3),
            refused: tempo.refused.clone(),
            all_sends: self.sends(&tempo) as u64,
            exhausted,
            ..Checked::default()
        };
        let (mut failed, mut shown) = (None, Shown::default());
        pool::each(
            plans.len() as u64,
            self.jobs,
            |place| self.one(&plans[place as usize]),
            |_, ran| {
                checked.runs += 1;
                match ran {
                    Ok(ran) if ran.verdict == Verdict::Pass || ran.verdict == Verdict::Vacuous => {
                        shown.add(&ran, &mut checked);
                        true
                    }
                    other => {
                        failed = Some(other);
                        false
                    }
                }
            },
        );
        checked.took = started.elapsed();
        match failed {
            Some(Err(why)) => return Err(why),
            Some(Ok(ran)) => return Err(self.broken(&ran, checked.runs)),
            None => shown.anything()?,
        }
        checked.exhausted.as_ref().map_or(Ok(()), Exhausted::anything)?;
        println!("fencepost: {checked}");
        Ok(checked)
    }

    /// Runs the plan that the environment asks for, and tells everything about it.
    pub fn repeat(&self, asked: &Asked) -> Result<Checked, Failure> {
        let started = Instant::now();
        let wrong = |why: &dyn std::fmt::Display| Failure::wrong(format!("{}: {why}", asked.file.display()));
        let plan = self.registry.plans.read(&asked.text).map_err(|why| wrong(&why))?;
        if plan.protocol != self.protocol.name {
            return Err(wrong(&format!("it is a plan of `{}`, and this test runs a program", plan.protocol)));
        }
        let ran = self.one(&plan)?;
        let told = self.told(&plan, &ran.trace_hash)?;
        println!("{}\n{}", self.printed(&told.run, None), told.report);
        match ran.verdict {
            Verdict::Pass => {}
            Verdict::Vacuous => {
                return Err(Failure::new(Kind::Inconclusive, inconclusive(&plan.scenario, &ran.nothing)));
            }
            _ => return Err(self.broken(&ran, 1)),
        }
        Ok(Checked { runs: 1, refused: ran.refused, took: started.elapsed(), ..Checked::default() })
    }
}

/// Which scenarios showed something.
#[derive(Default)]
struct Shown(Vec<(String, bool, String)>);

impl Shown {
    fn add(&mut self, ran: &Ran, checked: &mut Checked) {
        let (name, shows) = (&ran.plan.scenario, ran.verdict == Verdict::Pass);
        checked.inconclusive += u64::from(!shows);
        checked.sends += u64::from(name == EVERY_SEND.name);
        if let Some(exhausted) = checked.exhausted.as_mut().filter(|_| name == EXHAUSTIVE.name) {
            exhausted.add(&ran.plan, shows);
        }
        for sentence in &ran.refused {
            if !checked.refused.contains(sentence) {
                checked.refused.push(sentence.clone());
            }
        }
        match self.0.iter_mut().find(|(known, ..)| known == name) {
            Some((_, any, _)) => *any |= shows,
            None => self.0.push((name.clone(), shows, ran.nothing.clone())),
        }
    }

    /// Every scenario must have shown something.
    fn anything(self) -> Result<(), Failure> {
        match self.0.into_iter().find(|(_, any, _)| !any) {
            Some((name, _, why)) => Err(Failure::new(Kind::Inconclusive, inconclusive(&name, &why))),
            None => Ok(()),
        }
    }
}
