//! All works of one leadership together, as the node sees them.

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

/// What does not change as long as a leadership lasts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Post {
    /// The fenced store.
    pub store: NodeId,
    /// The leadership.
    pub incarnation: Incarnation,
    /// The period of what happens again and again, nanoseconds.
    pub period: u64,
    /// The first timer that is a work's.
    pub first_timer: TimerId,
}

/// What a seal has read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sealed {
    /// The last sequence number.
    pub seq: u64,
    /// The version.
    pub version: u64,
    /// What was recorded last.
    pub payload: Option<Payload>,
}

/// The works of a leadership, and what they have under way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Duties {
    post: Post,
    works: Vec<Box<dyn Work>>,
    outboxes: Vec<Outbox>,
}

impl Duties {
    /// Begins: every resource is sealed, in the order of the table.
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

    /// The work at that place, and where it stands.
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
        let first_timer = first_timer + placed.first_timer;
        let context = Context { now, period, node, store, generation, token, acts, works, outboxes, first_timer, out };
        (&mut *self.works[place], context)
    }

    /// Has whoever serves clients no room for another request?
    pub fn is_full(&self, works: &Works) -> bool {
        self.outboxes.first().is_none_or(|outbox| outbox.len() >= works.room)
    }

    /// Serves a client's request; the lease has been checked.
    #[inline]
    pub fn serve(&mut self, works: &Works, now: Now, request: RequestId, out: &mut Vec<Output>) {
        let (work, mut at) = self.at(works, 0, now, true, out);
        work.request(request, &mut at);
    }

    /// The last number that is known to have been handed out.
    pub fn last(&self) -> u64 {
        self.works.first().map_or(0, |work| work.last())
    }

    /// Takes the store's answer to a write. False when this leadership is over.
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

    /// A timer of a work is over, counted from the first of all.
    pub fn timer(&mut self, works: &Works, now: Now, timer: TimerId, acts: bool, out: &mut Vec<Output>) {
        let after = works.all.iter().rposition(|placed| placed.first_timer <= timer && placed.kind.timers > 0);
        let Some(place) = after else { return };
        let own = timer - works.all[place].first_timer;
        let (work, mut at) = self.at(works, place, now, acts, out);
        work.timer(own, &mut at);
    }

    /// Leadership is about to be given up; the belief is valid.
    pub fn leave(&mut self, works: &Works, now: Now, out: &mut Vec<Output>) {
        for place in 0..self.works.len() {
            let (work, mut at) = self.at(works, place, now, true, out);
            work.leave(&mut at);
        }
    }

    /// Is a job being done that takes its time?
    pub fn is_at_work(&self) -> bool {
        self.works.iter().any(|work| work.is_at_work())
    }

    /// Is a work done for good?
    pub fn is_finished(&self) -> bool {
        self.works.iter().any(|work| work.is_finished())
    }

    /// Is nothing under way?
    pub fn is_joined(&self) -> bool {
        self.outboxes.iter().all(Outbox::is_empty) && self.works.iter().all(|work| work.idle())
    }

    /// Called now and then: has the store owed an answer for `silence` nanoseconds?
    pub fn is_overdue(&mut self, now: u64, silence: u64) -> bool {
        // All are asked: each counts for itself.
        self.outboxes.iter_mut().fold(false, |overdue, outbox| overdue | outbox.is_overdue(now, silence))
    }

    /// Does the store owe an answer?
    pub fn is_owed(&self) -> bool {
        self.outboxes.iter().any(|outbox| !outbox.is_empty())
    }

    /// The connection broke: nothing is sent until it is a new one.
    pub fn hold(&mut self) {
        self.outboxes.iter_mut().for_each(Outbox::hold);
    }

    /// The connection is a new one: sends everything unanswered again.
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
    /// What was written.
    pub resource: Resource,
    /// In which leadership.
    pub generation: u32,
    /// The sequence number.
    pub seq: u64,
    /// The request that it served.
    pub request: RequestId,
    /// What became of it.
    pub verdict: WriteVerdict,
    /// May something new be written now?
    pub acts: bool,
}

fn send_again(store: NodeId, outbox: &Outbox, out: &mut Vec<Output>) {
    out.extend(outbox.unanswered().map(|write| Output::Send { to: store, message: Message::Write(write) }));
}
