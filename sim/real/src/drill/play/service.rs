//! What is done to the service.

use super::run::{OVERLAP, Run};
use crate::{
    drill::{
        clock::Unnoticed,
        servers::Service,
        story::{Note, SERVICE_ELECTS_WITHIN_MS},
    },
    error::Failed,
};
use protocols::history::{NodeState, Phase};
use scenarios::fault::{Fault, Who};
use std::time::Duration;
use tokio::time::Instant;

/// How long the service is down.
const RESTARTS_AFTER: Duration = Duration::from_secs(2);
/// How long the members of a service may take to elect another one.
const SERVICE_ELECTS_WITHIN: Duration = Duration::from_millis(SERVICE_ELECTS_WITHIN_MS);
/// How often they are asked which of them leads.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// Why a fault of the service's leader shows nothing, if no other one led.
fn nobody_led() -> Option<Unnoticed> {
    Some(Unnoticed { why: "no other member of the service led".to_owned(), unmet: false })
}

impl Run<'_> {
    pub async fn service_restarts(&mut self) -> Result<Option<Unnoticed>, Failed> {
        let number = self.stage.members.len();
        let members = self.stage.service.as_ref().map_or(0, |service| service.members.len());
        let fault = Fault::Kill { node: Who::Service, restart_after_ms: None };
        self.begin(&fault, Phase::Once, &(number..number + members).collect::<Vec<_>>());
        self.with_service(async |service| service.kill().await).await?;
        for member in number..number + members {
            self.note(Note::Node(member, NodeState::Down));
        }
        self.wait(RESTARTS_AFTER).await?;
        self.with_service(async |service| service.restart().await).await?.transpose()?;
        for member in number..number + members {
            self.note(Note::Node(member, NodeState::Up));
        }
        self.somebody_writes().await
    }

    /// Returns why it may show nothing.
    pub async fn service_leader_restarts(&mut self) -> Result<Option<Unnoticed>, Failed> {
        let first = self.stage.members.len();
        let Some(leader) = self.service_leader(None).await? else { return Ok(nobody_led()) };
        self.note(Note::Leads(first + leader));
        let fault = Fault::Kill { node: Who::ServiceLeader, restart_after_ms: None };
        self.begin(&fault, Phase::Once, &[first + leader]);
        self.with_service(async |service| service.members[leader].kill().await).await?;
        self.note(Note::Node(first + leader, NodeState::Down));
        let due = Instant::now() + RESTARTS_AFTER;
        let next = self.service_leader(Some(leader)).await?;
        if let Some(next) = next {
            self.note(Note::Leads(first + next));
        }
        self.wait(due.saturating_duration_since(Instant::now())).await?;
        self.with_service(async |service| service.restart_member(leader).await).await?.transpose()?;
        self.note(Note::Node(first + leader, NodeState::Up));
        let silent = self.somebody_writes().await?;
        Ok(nobody_led().filter(|_| next.is_none()).or(silent))
    }

    /// Returns why it may show nothing.
    pub async fn service_leader_is_isolated(&mut self) -> Result<Option<Unnoticed>, Failed> {
        let first = self.stage.members.len();
        let Some(leader) = self.service_leader(None).await? else { return Ok(nobody_led()) };
        self.note(Note::Leads(first + leader));
        let (from, to) = (vec![Who::ServiceLeader], vec![Who::Service]);
        let fault = Fault::Partition { from, to, one_way: false, for_ms: None };
        let index = self.begin(&fault, Phase::Begin, &[first + leader]);
        self.with_service(async |service| service.cut_off(leader, true)).await?;
        let next = self.service_leader(Some(leader)).await?;
        if let Some(next) = next {
            self.note(Note::Leads(first + next));
        }
        // Whoever was led by the isolated member has lost its lease by then, and another one may lead.
        self.wait(self.file.fleet.lease + OVERLAP).await?;
        let silent = self.somebody_writes().await?;
        self.wait(OVERLAP).await?;
        self.with_service(async |service| service.cut_off(leader, false)).await?;
        self.end(index, &fault, &[first + leader]);
        Ok(nobody_led().filter(|_| next.is_none()).or(silent))
    }

    /// The member that leads the service, other than the one that did, as soon as there is one.
    async fn service_leader(&mut self, former: Option<usize>) -> Result<Option<usize>, Failed> {
        let end = Instant::now() + SERVICE_ELECTS_WITHIN;
        while Instant::now() < end {
            let found = self.with_service(async |service| service.leader().await).await?.flatten();
            if found.is_some_and(|leader| Some(leader) != former) {
                return Ok(found);
            }
            self.wait(ASKED_EVERY).await?;
        }
        Ok(None)
    }

    /// Waits until somebody writes, as long as the fleet may take once the service can be used. Returns a doubt if nobody does.
    pub async fn somebody_writes(&mut self) -> Result<Option<Unnoticed>, Failed> {
        self.rows.iter_mut().for_each(|rows| *rows = 0);
        let has_members = self.file.service.is_some_and(|service| service.members > 1);
        // The judge gives a service that long to elect.
        let elects = if has_members { SERVICE_ELECTS_WITHIN } else { Duration::ZERO };
        let within = self.file.fleet.within + elects;
        let written = self.until(within, |run| run.rows.iter().any(|rows| *rows > 0)).await?;
        let why = format!("nobody has written for {} s after the fault", within.as_secs());
        Ok((!written).then_some(Unnoticed { why, unmet: false }))
    }

    /// Does something with the service, and hears what happens meanwhile: a write that nobody hears of waits on the wire.
    async fn with_service<T>(&mut self, work: impl AsyncFnOnce(&mut Service) -> T) -> Result<Option<T>, Failed> {
        let Some(mut service) = self.stage.service.take() else { return Ok(None) };
        let done = {
            let work = work(&mut service);
            tokio::pin!(work);
            loop {
                tokio::select! {
                    biased;
                    done = &mut work => break done,
                    heard = self.wait(RESTARTS_AFTER) => heard?,
                }
            }
        };
        self.stage.service = Some(service);
        Ok(Some(done))
    }
}
