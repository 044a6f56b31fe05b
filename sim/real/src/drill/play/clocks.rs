//! What is done to members' clocks. A fault that nobody has noticed shows nothing.

use super::run::Run;
use crate::{
    drill::{clock::Unnoticed, scenario::OFF_LEASES},
    error::Failed,
};
use protocols::history::Phase;
use scenarios::fault::{Fault, Who};

impl Run<'_> {
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

    /// A follower's clock is ahead, another one's behind; the leader's is right. If it were the one ahead, nobody else would take its
    /// lease for over. Returns why one of them may not have noticed.
    pub async fn clocks_differ(&mut self, leader: usize) -> Result<Option<Unnoticed>, Failed> {
        let followers = (0..self.stage.members.len()).filter(|member| *member != leader);
        let off: Vec<(usize, i64)> = followers.zip([OFF_LEASES, -OFF_LEASES]).collect();
        for (member, leases) in &off {
            if let Some(clock) = &mut self.stage.members[*member].clock {
                clock.set(leases * self.file.fleet.lease_ms())?;
            }
            self.note_step(*member, *leases);
        }
        self.wait(2 * self.file.fleet.lease).await?;
        let mut doubt = None;
        for (member, _) in off {
            doubt = worse(doubt, self.stage.members[member].unnoticed().await);
        }
        Ok(doubt)
    }
}

/// The first, unless it is only that nobody has asked.
fn worse(first: Option<Unnoticed>, next: Option<Unnoticed>) -> Option<Unnoticed> {
    match (first, next) {
        (Some(first), Some(next)) if first.unmet && !next.unmet => Some(next),
        (first, next) => first.or(next),
    }
}
