//! What is done to members' clocks. A fault that nobody has noticed shows nothing.

use super::run::Run;
use crate::{
    drill::{
        clock::Unnoticed,
        scenario::{OFF_LEASES, Scenario},
    },
    error::Failed,
};
use protocols::history::Phase;
use scenarios::fault::{Fault, Who};

impl Run<'_> {
    /// Notes that clocks differ from the start.
    pub fn note_skew(&mut self, scenario: Scenario) {
        for member in 0..self.stage.members.len() {
            let leases = scenario.clock(member).filter(|leases| *leases != 0);
            leases.into_iter().for_each(|leases| self.note_step(member, leases));
        }
    }

    /// A clock has been moved by so many leases.
    fn note_step(&mut self, member: usize, leases: i64) {
        let node = Who::Named(self.stage.members[member].name.clone());
        let fault = Fault::ClockStep { node, by_ms: leases * self.file.fleet.lease_ms() };
        self.begin(&fault, Phase::Once, &[member]);
    }

    /// The leader's clock jumps ahead, far back, and is right again. Returns why it may not have noticed.
    pub async fn clock_steps(&mut self, leader: usize) -> Result<Option<Unnoticed>, Failed> {
        let (mut off, mut doubt) = (0, None);
        for next in [OFF_LEASES, -OFF_LEASES, 0] {
            if let Some(clock) = &mut self.stage.members[leader].clock {
                clock.set(next * self.file.fleet.lease_ms())?;
            }
            self.note_step(leader, next - off);
            off = next;
            self.wait(2 * self.file.fleet.lease).await?;
            doubt = worse(doubt, self.stage.members[leader].unnoticed().await);
        }
        let silent = self.somebody_writes().await?;
        Ok(worse(doubt, silent))
    }

    /// Clocks have differed from the start. Returns why a member may not have noticed.
    pub async fn clocks_differ(&mut self) -> Result<Option<Unnoticed>, Failed> {
        self.wait(2 * self.file.fleet.lease).await?;
        let mut doubt = None;
        for member in 0..self.stage.members.len() {
            if Scenario::ClockSkew.clock(member) != Some(0) {
                doubt = worse(doubt, self.stage.members[member].unnoticed().await);
            }
        }
        Ok(doubt)
    }
}

/// The first, unless it is only that nobody has asked.
fn worse(first: Option<Unnoticed>, next: Option<Unnoticed>) -> Option<Unnoticed> {
    match (first, next) {
        (Some(first), Some(next)) if first.unasked && !next.unasked => Some(next),
        (first, next) => first.or(next),
    }
}
