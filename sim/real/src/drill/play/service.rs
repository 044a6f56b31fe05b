//! What is done to the service.

use super::run::Run;
use crate::{
    drill::story::{Note, SERVICE_ELECTS_WITHIN_MS},
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

impl Run<'_> {
    pub async fn service_restarts(&mut self) -> Result<(), Failed> {
        let number = self.stage.members.len();
        let members = self.stage.service.as_ref().map_or(0, |service| service.members.len());
        let fault = Fault::Kill { node: Who::Service, restart_after_ms: None };
        self.begin(&fault, Phase::Once, &(number..number + members).collect::<Vec<_>>());
        if let Some(service) = &mut self.stage.service {
            service.kill().await;
        }
        for member in number..number + members {
            self.note(Note::Node(member, NodeState::Down));
        }
        self.wait(RESTARTS_AFTER).await?;
        if let Some(service) = &mut self.stage.service {
            service.restart().await?;
        }
        for member in number..number + members {
            self.note(Note::Node(member, NodeState::Up));
        }
        self.somebody_writes().await
    }

    /// Returns whether another member of the service led afterwards.
    pub async fn service_leader_restarts(&mut self) -> Result<bool, Failed> {
        let first = self.stage.members.len();
        let Some(leader) = self.service_leader(None).await? else { return Ok(false) };
        self.note(Note::Leads(first + leader));
        let fault = Fault::Kill { node: Who::ServiceLeader, restart_after_ms: None };
        self.begin(&fault, Phase::Once, &[first + leader]);
        if let Some(service) = &mut self.stage.service {
            service.members[leader].kill().await;
        }
        self.note(Note::Node(first + leader, NodeState::Down));
        let due = Instant::now() + RESTARTS_AFTER;
        let next = self.service_leader(Some(leader)).await?;
        if let Some(next) = next {
            self.note(Note::Leads(first + next));
        }
        self.wait(due.saturating_duration_since(Instant::now())).await?;
        if let Some(service) = &mut self.stage.service {
            service.members[leader].restart().await?;
        }
        self.note(Note::Node(first + leader, NodeState::Up));
        self.somebody_writes().await?;
        Ok(next.is_some())
    }

    /// The member that leads the service, other than the one that did, as soon as there is one.
    async fn service_leader(&mut self, former: Option<usize>) -> Result<Option<usize>, Failed> {
        let end = Instant::now() + SERVICE_ELECTS_WITHIN;
        while Instant::now() < end {
            let found = match &self.stage.service {
                Some(service) => service.leader().await.filter(|leader| Some(*leader) != former),
                None => return Ok(None),
            };
            if found.is_some() {
                return Ok(found);
            }
            self.wait(ASKED_EVERY).await?;
        }
        Ok(None)
    }

    pub async fn somebody_writes(&mut self) -> Result<(), Failed> {
        self.rows.iter_mut().for_each(|rows| *rows = 0);
        self.until(self.file.fleet.within, |run| run.rows.iter().any(|rows| *rows > 0)).await.map(drop)
    }
}
