//! All works of one leadership, as the node sees them.

use super::{
    Context, Work, Works,
    outbox::{Answer, Outbox},
};
use crate::{
    clock::Now,
    core::{Output, TimerId},
    message::{Message, WriteVerdict},
    types::{Incarnation, NodeId, Payload, RequestId, Resource},
};

/// A leadership's fixed parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Post {
    pub store: NodeId,
    pub incarnation: Incarnation,
    /// The period of periodic works, nanoseconds.
    pub period: u64,
    /// The first timer id of the works.
    pub first_timer: TimerId,
}

/// A resource's state as read by its seal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sealed {
    /// The last sequence number.
    pub seq: u64,
    pub version: u64,
    /// The last recorded payload.
    pub payload: Option<Payload>,
}

/// The works of a leadership, and their pending writes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Duties {
    post: Post,
    works: Vec<Box<dyn Work>>,
    outboxes: Vec<Outbox>,
}

impl Duties {
    /// Starts the works, after every resource was sealed, in the order of the table.
    pub fn start(works: &Works, post: Post, sealed: &[Sealed], now: Now, out: &mut Vec<Output>) -> Self {
        let Incarnation { token, generation, .. } = post.incarnation;
        let outbox = |(resource, sealed): (Resource, &Sealed)| {
            Outbox::new(resource, generation, token, sealed.seq, sealed.version).with_payload(sealed.payload)
        };
        let outboxes = works.each().zip(sealed).map(outbox).collect();
        let all = works.kinds().map(|kind| (kind.new)()).collect();
        let mut duties = Duties { post, works: all, outboxes };
        for place in 0..duties.works.len() {
            let (work, mut at) = duties.at(works, place, now, true, out);
            work.start(&mut at);
        }
        duties
    }

    /// The work at that index, and its context.
    #[inline(always)]
    fn at<'a>(
        &'a mut self,
        works: &'a Works,
        place: usize,
        now: Now,
        acts: bool,
        out: &'a mut Vec<Output>,
    ) -> (&'a mut dyn Work, Context<'a>) {
        let Post { store, incarnation, period, first_timer } = self.post;
        let placed = &works.all[place];
        let outboxes = &mut self.outboxes[placed.first_resource..][..placed.kind.resources.len()];
        let Incarnation { token, node, generation } = incarnation;
        let (first_timer, values) = (first_timer + placed.first_timer, placed.values);
        let context =
            Context { now, period, node, store, generation, token, acts, works, values, outboxes, first_timer, out };
        (&mut *self.works[place], context)
    }

    /// Whether the work that serves clients has no room for another request.
    pub fn is_full(&self, works: &Works) -> bool {
        self.outboxes.first().is_none_or(|outbox| outbox.len() >= works.room)
    }

    /// Serves a client's request; the lease has been checked.
    #[inline]
    pub fn serve(&mut self, works: &Works, now: Now, request: RequestId, out: &mut Vec<Output>) {
        let (work, mut at) = self.at(works, 0, now, true, out);
        work.request(request, &mut at);
    }

    /// The last number known to have been handed out.
    pub fn last(&self) -> u64 {
        self.works.first().map_or(0, |work| work.last())
    }

    /// Handles the store's answer to a write. Returns false if this leadership is over.
    #[inline]
    pub fn written(&mut self, works: &Works, now: Now, answer: Written, out: &mut Vec<Output>) -> bool {
        let Written { resource, generation, seq, request, verdict, acts } = answer;
        let Some(outbox) = self.outboxes.get_mut(resource.index()) else { return true };
        match outbox.written(generation, seq, verdict) {
            Answer::Done { seq } => {
                let place = usize::from(works.owners[resource.index()]);
                let own = resource.index() - works.all[place].first_resource;
                let (work, mut at) = self.at(works, place, now, acts, out);
                work.done(own, request, seq, &mut at);
            }
            Answer::Resend => send_again(self.post.store, outbox, out),
            Answer::Fenced => return false,
            Answer::Nothing => {}
        }
        true
    }

    /// Handles a work's timer, counted from the first one of all works.
    pub fn timer(&mut self, works: &Works, now: Now, timer: TimerId, acts: bool, out: &mut Vec<Output>) {
        let after = works.all.iter().rposition(|placed| placed.first_timer <= timer && placed.kind.timers > 0);
        let Some(place) = after else { return };
        let own = timer - works.all[place].first_timer;
        let (work, mut at) = self.at(works, place, now, acts, out);
        work.timer(own, &mut at);
    }

    /// Prepares for resigning; the belief is still valid.
    pub fn leave(&mut self, works: &Works, now: Now, out: &mut Vec<Output>) {
        for place in 0..self.works.len() {
            let (work, mut at) = self.at(works, place, now, true, out);
            work.leave(&mut at);
        }
    }

    /// Whether a work is busy with a job that takes time.
    pub fn is_at_work(&self) -> bool {
        self.works.iter().any(|work| work.is_at_work())
    }

    /// Whether a work is finished for good.
    pub fn is_finished(&self) -> bool {
        self.works.iter().any(|work| work.is_finished())
    }

    /// Whether nothing is under way.
    pub fn is_joined(&self) -> bool {
        self.outboxes.iter().all(Outbox::is_empty) && self.works.iter().all(|work| work.idle())
    }

    /// Called from time to time: whether the store has owed an answer for `silence` nanoseconds.
    pub fn is_overdue(&mut self, now: u64, silence: u64) -> bool {
        // All are called: each keeps its own time.
        self.outboxes.iter_mut().fold(false, |overdue, outbox| overdue | outbox.is_overdue(now, silence))
    }

    /// Whether the store owes an answer.
    pub fn is_owed(&self) -> bool {
        self.outboxes.iter().any(|outbox| !outbox.is_empty())
    }

    /// The connection broke: holds all writes until there is a new one.
    pub fn hold(&mut self) {
        self.outboxes.iter_mut().for_each(Outbox::hold);
    }

    /// There is a new connection: resends everything unanswered.
    pub fn start_over(&mut self, now: u64, out: &mut Vec<Output>) {
        for outbox in &mut self.outboxes {
            outbox.start_over(now);
            send_again(self.post.store, outbox, out);
        }
    }
}

/// The store's answer to a write.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub resource: Resource,
    /// The leadership that wrote it.
    pub generation: u32,
    pub seq: u64,
    /// The request that it serves.
    pub request: RequestId,
    /// The store's decision.
    pub verdict: WriteVerdict,
    /// Whether new writes are allowed now.
    pub acts: bool,
}

fn send_again(store: NodeId, outbox: &Outbox, out: &mut Vec<Output>) {
    out.extend(outbox.unanswered().map(|write| Output::Send { to: store, message: Message::Write(write) }));
}
