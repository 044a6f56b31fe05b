//! What a driver asks of the service, and what it learns.

use super::{Asked, Driver, Ending, Report};
use crate::{backend::Heard, counts::Counts, observer::News};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    news::Purpose,
    payload::{Opaque, Payload},
    types::{MILLISECOND, NodeId},
};
use protocols_clients::env::Env;

impl Driver {
    pub(super) fn ask(&mut self, output: ServiceOutput) {
        self.tell(|| News::Asks(output.clone()));
        match &output {
            ServiceOutput::Request { number, request, .. } => {
                let sent = self.state.env.now().mono;
                let asked = Asked { request: request.clone(), sent, counts_from: self.counts_from(request, sent) };
                drop(self.asked.insert(*number, asked));
            }
            ServiceOutput::Cancel(number) => drop(self.asked.remove(number)),
            ServiceOutput::Open { number, request } => drop(self.streams.insert(*number, request.purpose())),
            ServiceOutput::Close(number) => drop(self.streams.remove(number)),
            ServiceOutput::Push(_) => {}
        }
        // The client runs as long as this driver.
        let _ = self.to_service.send(output);
    }

    /// From when others may count the lease that this request renews, if it does.
    fn counts_from(&mut self, request: &Opaque, sent: u64) -> u64 {
        let Some(seen) = self.course.counted.and_then(|counted| (counted.seen)(request)) else { return sent };
        // Within a few leases everybody looks.
        let kept = self.course.lease.saturating_mul(4);
        self.first_sent.retain(|_, at| at.saturating_add(kept) > sent);
        *self.first_sent.entry(seen).or_insert(sent)
    }

    pub(super) fn observed(&self, leader: Option<NodeId>) {
        self.tell(|| News::Observed(leader));
        let leader = leader.and_then(|leader| self.course.names.get(leader.index()).cloned());
        self.report(|report| report.leader = leader);
    }

    /// Notes whether the service does what it is asked. A service may refuse one kind of request and answer another.
    pub(super) fn note(&mut self, answer: &ServiceInput) {
        let lost;
        let (purpose, failure) = match answer {
            ServiceInput::Reply { number, reply } => {
                let asked = self.asked.remove(number);
                let counts = asked.as_ref().is_none_or(|asked| self.is_the_services(&asked.request, reply.is_err()));
                if let Some(asked) = &asked {
                    self.count(asked, reply.is_ok() || !counts);
                }
                if let (Some(asked), Ok(reply)) = (&asked, reply) {
                    self.confirm(asked, reply);
                }
                let purpose = asked.filter(|_| counts).map(|asked| asked.request.purpose());
                (purpose, reply.as_ref().err().filter(|_| counts))
            }
            // A stream ends with what is released.
            ServiceInput::Ended { .. } if self.ending == Ending::Releasing => return,
            ServiceInput::Ended { number, failure } => {
                let purpose = self.streams.remove(number).unwrap_or_default();
                self.count_failure(purpose);
                (Some(Purpose::Other), Some(failure))
            }
            ServiceInput::Item { item, .. } => {
                lost = self.heard(item);
                (Some(Purpose::Other), lost.as_ref())
            }
        };
        if self.ending == Ending::Releasing {
            // After a pause there is nothing left to release: that is no failure of the service's.
            match failure {
                Some(Failure::Rejected(why)) => {
                    tracing::debug!(why, "nothing is released: the lease is over, or runs out")
                }
                Some(failure) => tracing::warn!(%failure, "the release of the lease has failed; it runs out"),
                None => {}
            }
            return;
        }
        match failure {
            Some(failure) if self.failing.is_none() => {
                self.failing = purpose;
                let why = failure.to_string();
                tracing::warn!(why, "the service fails");
                self.report(|report| report.failing = Some(why));
            }
            None if self.failing.is_some() && self.failing == purpose => {
                self.failing = None;
                tracing::info!("the service answers again");
                self.report(|report| report.failing = None);
            }
            _ => {}
        }
    }

    /// Whether an answer is that of the service as a whole: of independent servers, a majority is the service.
    fn is_the_services(&mut self, request: &Opaque, failed: bool) -> bool {
        let Some(servers) = self.servers else { return true };
        let Some(server) = (servers.asked)(request) else { return true };
        if failed {
            self.down.insert(server);
        } else {
            self.down.remove(&server);
        }
        let fails = 2 * (usize::from(servers.count) - self.down.len()) <= usize::from(servers.count);
        failed == fails
    }

    fn count(&self, asked: &Asked, well: bool) {
        let counts = &self.course.counts;
        counts.answered(self.state.env.now().mono.saturating_sub(asked.sent));
        if !well {
            self.count_failure(asked.request.purpose());
        }
    }

    fn count_failure(&self, purpose: Purpose) {
        Counts::add(&self.course.counts.service_failures);
        if purpose == Purpose::Renewal && self.holds {
            Counts::add(&self.course.counts.renewal_failures);
        }
    }

    /// Why the connection is lost, if that is what this item of a stream says.
    fn heard(&mut self, item: &Opaque) -> Option<Failure> {
        match (self.course.session?.says)(item)? {
            Heard::Lost(why) => Some(why),
            Heard::Granted(granted) => {
                let (asked, margin) = (self.course.lease, self.course.margin);
                if granted != asked {
                    let [asked_ms, granted_ms] = [asked, granted].map(|length| length / MILLISECOND);
                    tracing::warn!(asked_ms, granted_ms, "the service grants another lease than it was asked for");
                }
                let share = u128::from(margin) * u128::from(granted) / u128::from(asked.max(1));
                self.margin = u64::try_from(share).map_or(margin, |share| share.min(margin));
                None
            }
        }
    }

    /// A lease counts from when the request was sent that has begun or renewed it, or an earlier one that others take for the
    /// same.
    pub(super) fn confirm(&mut self, asked: &Asked, reply: &Opaque) {
        if self.course.counted.is_some_and(|counted| (counted.confirms)(&asked.request, reply)) {
            self.confirmed = self.confirmed.max(asked.counts_from);
            if self.holds {
                self.believe();
            }
        }
    }

    pub(super) fn report(&self, change: impl FnOnce(&mut Report)) {
        self.course.report.send_if_modified(|report| {
            let before = report.clone();
            change(report);
            *report != before
        });
    }
}
