use crate::{counts::Counts, driver::Report};
use protocols_clients::env::{Env, tokio::TokioEnv};
use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::watch;

/// What is known of a seat.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Whether this member leads or is letting go. For people and dashboards: it may be over when it is read.
    pub leads: bool,
    /// The leader's name: this member's own if it leads, and otherwise that of one of the
    /// [members](crate::Settings::members); `None` if nobody leads, or none of these. It is as old as the last answer of the service.
    pub leader: Option<String>,
    /// Why the service fails, if its last answers were failures.
    pub failing: Option<String>,
}

/// Follows what is known of a seat, for people and dashboards.
#[derive(Clone)]
pub struct Watch {
    pub(crate) seat: Arc<str>,
    pub(crate) member: Arc<str>,
    pub(crate) env: TokioEnv,
    pub(crate) counts: Arc<Counts>,
    pub(crate) report: watch::Receiver<Report>,
    pub(crate) leads: watch::Receiver<bool>,
}

impl Watch {
    /// What is known now.
    pub fn status(&self) -> Status {
        let Report { leader, failing } = self.report.borrow().clone();
        let leads = *self.leads.borrow();
        // The service may still name this member after it has let go.
        let leader =
            if leads { Some(self.member.to_string()) } else { leader.filter(|leader| **leader != *self.member) };
        Status { leads, leader, failing }
    }

    /// Waits until something is known that was not when this was last called, or when the watch was made; or for ever,
    /// once the seat is gone.
    pub async fn changed(&mut self) -> Status {
        let gone = tokio::select! {
            changed = self.report.changed() => changed.is_err(),
            changed = self.leads.changed() => changed.is_err(),
        };
        if gone {
            std::future::pending::<()>().await;
        }
        self.status()
    }

    /// How much longer this member believes that it leads; zero when it does not. For dashboards: a leader's work has
    /// [`Lead::remaining`](crate::Lead::remaining).
    pub fn remaining(&self) -> Duration {
        let deadline = self.counts.deadline.load(Ordering::Relaxed);
        Duration::from_nanos(deadline.saturating_sub(self.env.now().mono))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Watch").field("seat", &self.seat).field("status", &self.status()).finish_non_exhaustive()
    }
}
