//! Resends messages that met silence on a connection, once it is over.

use super::{
    super::{
        World,
        network::Lane,
        queue::{Event, Late},
        retransmit::{RETRANSMIT_FIRST, SYN_RETRANSMIT_FIRST, retransmitted_at},
    },
    Parked,
};

impl World {
    /// Resends messages that met silence, where the silence is over.
    pub(in crate::world) fn flush_parked(&mut self) {
        let mut groups: Vec<Vec<Parked>> = Vec::new();
        for parked in std::mem::take(&mut self.links.parked) {
            let Late { from, to, number, .. } = parked.late;
            if self.is_silent(from, to) {
                self.links.parked.push(parked);
                continue;
            }
            let same = |g: &&mut Vec<Parked>| {
                (g[0].late.from, g[0].late.to, g[0].late.number, g[0].given_up) == (from, to, number, parked.given_up)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(parked),
                None => groups.push(vec![parked]),
            }
        }
        for group in groups {
            self.resume_sending(group);
        }
    }

    /// Resends the messages of one connection: the first when its timeout fires, and the others behind it.
    fn resume_sending(&mut self, group: Vec<Parked>) {
        let Parked { since, late: Late { from, to, .. }, given_up } = group[0];
        let now = self.now;
        if given_up {
            let mut at = retransmitted_at(since, now, RETRANSMIT_FIRST);
            for parked in group {
                at = at.max(self.links.get(from, to).segment(at));
                self.queue.push(at, Event::Late(Box::new(parked.late)));
            }
            return;
        }
        let rest = self.queue.take_lane(from, to);
        let link = self.links.get(from, to);
        let greeted = link.lane != Lane::Forward || link.connection.established;
        let first = if greeted { RETRANSMIT_FIRST } else { SYN_RETRANSMIT_FIRST };
        let again = retransmitted_at(since, now, first);
        link.unread = link.unread.saturating_sub(group.len());
        link.start_lane();
        for parked in group {
            let at = self.links.get(from, to).in_order(again);
            self.queue.push_lane(at, from, to, parked.late.message);
        }
        for (at, message) in rest {
            let at = self.links.get(from, to).queue_behind(at);
            self.queue.push_lane(at, from, to, message);
        }
        self.links.get(from, to).resume();
    }
}
