//! Observes a node's core: turns its inputs and beliefs into status, metrics and log lines.

use super::{
    health::{Health, What},
    metrics::{Metrics, Role},
    seated::{is_order, news},
    spans::Spans,
    waiting::WaitingClients,
};
use fencepost_seat::inside::News;
use protocols::{
    clock::Now,
    core::{Core, Input, Output},
    elector::{RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    history::Kind,
    message::{Message, Write, WriteVerdict},
    news::Purpose,
    node::{Node, Standing},
    payload::Payload,
    types::{NodeId, Resource},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::watch;

/// How many pending writes are timed at most.
const TIMED_MAX: usize = 4096;

/// Steps the node and reports to its observers.
pub struct Watched {
    node: Node,
    standing: watch::Sender<Standing>,
    /// The number of service requests without an answer.
    under_way: watch::Sender<u64>,
    waiting: Arc<WaitingClients>,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    role: Role,
    /// This node, once it has led.
    own: Option<NodeId>,
    /// Another node that leads, as far as this one knows.
    another: Option<NodeId>,
    /// When this node began to campaign.
    campaign_at: Option<u64>,
    /// Another node held leadership at least until then.
    held_until: u64,
    asked: BTreeMap<RequestNumber, (What, u64)>,
    /// What each open stream is for.
    streams: BTreeMap<StreamNumber, What>,
    /// When each pending write was first sent.
    written: BTreeMap<(u16, u64), u64>,
    /// The process is about to end, so the node no longer campaigns.
    ending: Arc<AtomicBool>,
    spans: Spans,
}

impl Watched {
    pub fn new(
        node: Node,
        standing: watch::Sender<Standing>,
        under_way: watch::Sender<u64>,
        waiting: Arc<WaitingClients>,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
        ending: Arc<AtomicBool>,
    ) -> Self {
        let (asked, streams, written) = Default::default();
        let (role, own, another, campaign_at, held_until) = (Role::Candidate, None, None, None, 0);
        Watched {
            node,
            standing,
            under_way,
            waiting,
            metrics,
            health,
            role,
            own,
            another,
            campaign_at,
            held_until,
            asked,
            streams,
            written,
            ending,
            spans: Spans::default(),
        }
    }

    /// The same, with spans that name node and clients.
    pub fn with_spans(self, spans: Spans) -> Self {
        Watched { spans, ..self }
    }

    /// Removes the requests that would win leadership again: a process about to end would hold a lease that nobody
    /// could use until it expires.
    fn stand_for_nothing(&self, from: usize, out: &mut Vec<Output>) {
        let stands = |output: &Output| matches!(output, Output::Service(output) if is_candidacy(output));
        let kept: Vec<Output> = out.drain(from..).filter(|output| !stands(output)).collect();
        out.extend(kept);
    }

    fn look_at_input(&mut self, now: u64, input: &Input) {
        match input {
            Input::Message { message: Message::Written { resource, seq, verdict, .. }, .. } => {
                if let Some(sent) = self.written.remove(&(resource.0, *seq)) {
                    self.metrics.write_seconds.observe(seconds(now.saturating_sub(sent)));
                }
                self.spans.answered(*resource, *seq, *verdict);
                self.store_answers(now, *resource, *verdict, false);
            }
            Input::Message { message: Message::Sealed { resource, .. }, .. } => {
                self.store_answers(now, *resource, WriteVerdict::Ok, true);
            }
            Input::Message { message: Message::SealRefused { resource, highest, .. }, .. } => {
                self.store_answers(now, *resource, WriteVerdict::Fenced { highest: *highest }, true);
            }
            Input::Service(input) => match news(input) {
                Some(news) => self.seat_says(now, news),
                None => self.service_says(now, input),
            },
            _ => {}
        }
    }

    fn store_answers(&mut self, now: u64, resource: Resource, verdict: WriteVerdict, sealing: bool) {
        if matches!(verdict, WriteVerdict::Fenced { .. }) {
            self.metrics.fencing_rejections.inc();
        }
        let token = self.node.standing().incarnation.map_or(0, |i| i.token);
        self.health.store_answers(now, resource, token, verdict, sealing);
    }

    /// The seat asks the service, and is answered.
    fn seat_says(&mut self, now: u64, news: &News) {
        match news {
            News::Asks(output) => self.service_is_asked(now, output),
            News::Hears(input) => self.service_says(now, input),
            News::Ends => {
                self.under_way.send_replace(0);
                self.asked.clear();
                self.streams.clear();
            }
            _ => {}
        }
    }

    fn service_says(&mut self, now: u64, input: &ServiceInput) {
        match input {
            ServiceInput::Reply { number, reply } => {
                self.under_way.send_modify(|requests| *requests = requests.saturating_sub(1));
                let asked = self.asked.remove(number);
                if let Some((_, sent)) = &asked {
                    self.metrics.service_seconds.observe(seconds(now.saturating_sub(*sent)));
                }
                let what = asked.map(|(asked, _)| asked).unwrap_or_default();
                match reply {
                    Ok(reply) => {
                        self.health.service_answers(now, &what);
                        if what.purpose == Purpose::Holder {
                            self.health.holder(reply);
                        }
                        if reply.news().held {
                            self.held_until = now;
                        }
                    }
                    Err(failure) => self.service_fails(now, what, failure),
                }
            }
            ServiceInput::Ended { number, failure } => {
                let what = self.streams.remove(number).unwrap_or_default();
                self.service_fails(now, what, failure);
            }
            ServiceInput::Item { number, item, .. } => {
                self.health.service_answers(now, self.streams.get(number).unwrap_or(&What::default()));
                if item.news().held {
                    self.held_until = now;
                }
            }
        }
    }

    fn service_fails(&self, now: u64, what: What, failure: &Failure) {
        self.metrics.service_failures.inc();
        if what.purpose == Purpose::Renewal && self.standing.borrow().incarnation.is_some() {
            self.metrics.renewal_failures.inc();
        }
        self.health.service_fails(now, what, failure);
    }

    fn look_at_output(&mut self, now: Now, out: &[Output]) {
        for output in out {
            match output {
                Output::Service(output) => self.service_is_asked(now.mono, output),
                Output::Send { message: Message::Seal { .. }, .. } => self.health.store_asked(now.mono),
                Output::Send { message: Message::Write(write), .. } => {
                    self.spans.sent(write);
                    self.health.store_asked(now.mono);
                    let Write { resource, seq, .. } = write;
                    if self.written.len() < TIMED_MAX {
                        self.written.entry((resource.0, *seq)).or_insert(now.mono);
                    }
                }
                Output::Record(Kind::Campaign { .. }) => {
                    self.campaign_at = Some(now.mono);
                    self.spans.campaigns();
                }
                Output::Record(Kind::Elected(incarnation)) => {
                    if let Some(at) = self.campaign_at.take() {
                        // A waiting candidate's time starts when leadership becomes free.
                        let since = at.max(self.held_until);
                        self.metrics.campaign_seconds.observe(seconds(now.mono.saturating_sub(since)));
                    }
                    self.spans.elected(incarnation);
                    tracing::info!(token = incarnation.token, generation = incarnation.generation, "elected");
                    self.health.elected(now.mono, incarnation.token);
                }
                Output::Record(Kind::Deposed { incarnation, reason }) => {
                    self.written.clear();
                    self.health.store_let_go();
                    self.spans.deposed(*reason);
                    tracing::info!(token = incarnation.token, reason = reason.name(), "deposed");
                }
                _ => {}
            }
        }
    }

    fn service_is_asked(&mut self, now: u64, output: &ServiceOutput) {
        match output {
            ServiceOutput::Request { number, request, .. } => {
                self.under_way.send_modify(|requests| *requests += 1);
                self.asked.insert(*number, (What::of(request), now));
            }
            ServiceOutput::Cancel(number) => {
                self.under_way.send_modify(|requests| *requests = requests.saturating_sub(1));
                self.asked.remove(number);
            }
            ServiceOutput::Open { request, .. } if is_order(request) => {}
            ServiceOutput::Open { number, request } => {
                self.streams.insert(*number, What::of(request));
            }
            ServiceOutput::Close(number) => drop(self.streams.remove(number)),
            ServiceOutput::Push(_) => {}
        }
    }
}

/// Whether a request would win leadership, or a place in its queue.
fn is_candidacy(output: &ServiceOutput) -> bool {
    matches!(output, ServiceOutput::Request { request, .. } if request.purpose() == Purpose::Candidacy)
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl Core for Watched {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.look_at_input(now.mono, &input);
        let start = out.len();
        self.node.step(now, input, out);
        if self.ending.load(Ordering::Relaxed) {
            self.stand_for_nothing(start, out);
        }
        self.look_at_output(now, &out[start..]);
        let (before, after) = (*self.standing.borrow(), self.node.standing());
        // An expired belief is no leadership, even before the core notices.
        let role = Role::of(&after, now.mono);
        if role != self.role {
            self.metrics.transition(self.role, role);
            self.role = role;
        }
        if before == after {
            return;
        }
        if before.incarnation == after.incarnation
            && after.valid_until > before.valid_until
            && after.incarnation.is_some()
        {
            self.metrics.renewed(now.wall);
        }
        self.standing.send_replace(after);
        self.own = after.incarnation.map(|incarnation| incarnation.node).or(self.own);
        // Its own name may still be in the service after it has resigned.
        let another = after.observed.filter(|leader| after.incarnation.is_none() && Some(*leader) != self.own);
        if another != std::mem::replace(&mut self.another, another) {
            self.health.follows(now.mono, another);
            match another.and_then(|leader| self.health.name(leader)) {
                Some(leader) => tracing::info!(leader, "follows"),
                None if after.incarnation.is_none() => tracing::info!("no leader is known"),
                None => {}
            }
        }
        if before.incarnation != after.incarnation {
            self.health.role_changed();
        }
        if before.incarnation.is_some() && after.incarnation != before.incarnation {
            self.waiting.leadership_ended();
        }
    }
}

#[cfg(test)]
mod tests;
