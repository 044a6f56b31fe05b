//! What is done to the leader's links to the service.

use super::run::{OVERLAP, Run};
use crate::{drill::clock::Unnoticed, error::Failed};
use protocols::history::Phase;
use scenarios::fault::{Fault, Who};

/// By how much of a lease answers are late.
const LATE: f64 = 0.3;

/// A member and the service cannot reach each other.
pub fn isolation(on: Who) -> Fault {
    Fault::Partition { from: vec![on], to: vec![Who::Service], one_way: false, for_ms: None }
}

impl Run<'_> {
    /// The leader is cut off from the service until another one has written.
    pub async fn isolated(&mut self, leader: usize, on: Who) -> Result<bool, Failed> {
        let fault = isolation(on);
        let index = self.begin(&fault, Phase::Begin, &[leader]);
        self.stage.cut_off(leader, true);
        let replaced = self.replaced(leader).await?;
        self.wait(OVERLAP).await?;
        self.stage.cut_off(leader, false);
        self.end(index, &fault, &[leader]);
        Ok(replaced)
    }

    /// Answers to the leader are late, and then its requests are lost: the last lease that it was granted ends at the service when
    /// one that is counted from the answer has as long to go as the answer took. Returns whether another one has written, and why it may
    /// show nothing.
    pub async fn answers_late(&mut self, leader: usize, on: Who) -> Result<(bool, Option<Unnoticed>), Failed> {
        let lease = self.file.fleet.lease;
        let late = lease.mul_f64(LATE);
        let first = self.stage.members.len();
        let service: Vec<usize> =
            (first..).take(self.file.service.map_or(0, |service| usize::from(service.members))).collect();
        let extra_us = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
        let delay = Fault::Latency { from: vec![Who::Service], to: vec![on.clone()], extra_us, for_ms: None };
        let delayed = self.begin(&delay, Phase::Begin, &service);
        self.stage.delay_answers(leader, late);
        // Whoever still leads after a lease has renewed it meanwhile.
        self.wait(lease).await?;
        let let_go = self.leaders.last() != Some(&leader);
        let loss = Fault::Partition { from: vec![on], to: vec![Who::Service], one_way: true, for_ms: None };
        let lost = self.begin(&loss, Phase::Begin, &[leader]);
        self.stage.block_requests(leader, true);
        let replaced = self.replaced(leader).await?;
        self.wait(late + OVERLAP).await?;
        self.stage.block_requests(leader, false);
        self.end(lost, &loss, &[leader]);
        self.stage.delay_answers(leader, std::time::Duration::ZERO);
        self.end(delayed, &delay, &service);
        let why = format!(
            "the leader does not wait for answers that take {} ms longer: it stopped leading",
            late.as_millis()
        );
        Ok((replaced, let_go.then_some(Unnoticed { why, unmet: true })))
    }
}
