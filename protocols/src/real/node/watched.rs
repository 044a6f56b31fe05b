//! A node's core under observation: what it takes in and believes becomes status and metrics.

use super::{desk::Desk, metrics::Metrics};
use crate::{
    clock::Now,
    core::{Core, Input, Output},
    elector::{ServiceInput, ServiceOutput},
    history::Kind,
    message::{Message, WriteVerdict},
    node::{Node, Standing},
};
use std::sync::Arc;
use tokio::sync::watch;

/// Steps the node, and tells everybody who wants to know.
pub struct Watched {
    node: Node,
    standing: watch::Sender<Standing>,
    /// Requests to the service that are not answered yet.
    under_way: watch::Sender<u64>,
    desk: Arc<Desk>,
    metrics: Arc<Metrics>,
    campaign_at: Option<u64>,
}

impl Watched {
    /// Watches `node`.
    pub fn new(
        node: Node,
        standing: watch::Sender<Standing>,
        under_way: watch::Sender<u64>,
        desk: Arc<Desk>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Watched { node, standing, under_way, desk, metrics, campaign_at: None }
    }

    fn count_input(&self, input: &Input) {
        match input {
            Input::Message {
                message:
                    Message::Written { verdict: WriteVerdict::Fenced { .. }, .. }
                    | Message::Sealed { verdict: WriteVerdict::Fenced { .. }, .. },
                ..
            } => drop(self.metrics.fencing_rejections.inc()),
            Input::Service(input) => {
                if let ServiceInput::Reply { .. } = **input {
                    self.under_way.send_modify(|requests| *requests = requests.saturating_sub(1));
                }
                let failed = matches!(**input, ServiceInput::Reply { reply: Err(_), .. } | ServiceInput::Ended { .. });
                if failed {
                    self.metrics.service_failures.inc();
                    if self.standing.borrow().incarnation.is_some() {
                        self.metrics.renewal_failures.inc();
                    }
                }
            }
            _ => {}
        }
    }

    fn look_at_output(&mut self, now: Now, out: &[Output]) {
        for output in out {
            match output {
                Output::Service(output) => match **output {
                    ServiceOutput::Request { .. } => self.under_way.send_modify(|requests| *requests += 1),
                    ServiceOutput::Cancel(_) => {
                        self.under_way.send_modify(|requests| *requests = requests.saturating_sub(1));
                    }
                    _ => {}
                },
                Output::Record(Kind::Campaign { .. }) => self.campaign_at = Some(now.mono),
                Output::Record(Kind::Elected(incarnation)) => {
                    self.metrics.transition("leader");
                    if let Some(at) = self.campaign_at.take() {
                        self.metrics.campaign_seconds.observe((now.mono - at) as f64 / 1e9);
                    }
                    tracing::info!(epoch = incarnation.epoch, term = incarnation.term, "elected");
                }
                Output::Record(Kind::Deposed { incarnation, reason }) => {
                    self.metrics.transition("follower");
                    tracing::info!(epoch = incarnation.epoch, reason = reason.name(), "deposed");
                }
                _ => {}
            }
        }
    }
}

impl Core for Watched {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.count_input(&input);
        let start = out.len();
        self.node.step(now, input, out);
        self.look_at_output(now, &out[start..]);
        let (before, after) = (*self.standing.borrow(), self.node.standing());
        if before == after {
            return;
        }
        if before.incarnation == after.incarnation
            && after.valid_until > before.valid_until
            && after.incarnation.is_some()
        {
            self.metrics.renewals.inc();
        }
        self.standing.send_replace(after);
        if before.incarnation.is_some() && after.incarnation != before.incarnation {
            self.desk.leadership_ended();
        }
    }
}
