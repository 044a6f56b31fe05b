//! Appending and committing entries, and the rounds of heartbeats that confirm reads.

use super::{Core, Role};
use crate::service::cluster::message::{Entry, Index, Message, Term};

impl Core {
    /// Sends each follower its new entries; with `empty`, even if it has none.
    pub(super) fn append_all(&mut self, empty: bool) {
        for to in self.others() {
            self.append_to(to, empty);
        }
    }

    fn append_to(&mut self, to: usize, empty: bool) {
        let last = self.last();
        let Role::Leader(leading) = &mut self.role else { return };
        let next = leading.next[to];
        if next > last && !empty {
            return;
        }
        // Sent entries are assumed to arrive; a follower that misses some says so.
        leading.next[to] = last + 1;
        let (read, prev) = (leading.rounds, next - 1);
        let entries = self.log[prev as usize..].to_vec();
        let message = Message::Append {
            term: self.hard.term,
            prev: (prev, self.term_at(prev)),
            commit: self.hard.commit,
            read,
            entries,
        };
        self.send(to, message);
    }

    pub(super) fn append(
        &mut self,
        from: usize,
        term: Term,
        prev: (Index, Term),
        commit: Index,
        read: u64,
        entries: Vec<Entry>,
    ) {
        if term < self.hard.term {
            // A former leader learns from this that it no longer leads.
            let (term, index) = (self.hard.term, self.last());
            return self.send(from, Message::Appended { term, success: false, index, read });
        }
        if term > self.hard.term {
            self.step_down(term, Some(from));
        }
        self.follow_leader(from);
        let term = self.hard.term;
        if prev.0 > self.last() || self.term_at(prev.0) != prev.1 {
            let index = self.last().min(prev.0.saturating_sub(1));
            return self.send(from, Message::Appended { term, success: false, index, read });
        }
        let end = prev.0 + entries.len() as Index;
        for (index, entry) in (prev.0 + 1..).zip(entries) {
            if index > self.last() {
                self.log.push(entry);
            } else if self.term_at(index) != entry.term {
                self.log.truncate(index as usize - 1);
                self.log.push(entry);
                self.unsaved = self.unsaved.min(index);
            }
        }
        self.hard.commit = self.hard.commit.max(commit.min(end));
        self.send(from, Message::Appended { term, success: true, index: end, read });
    }

    pub(super) fn appended(&mut self, from: usize, term: Term, success: bool, index: Index, read: u64) {
        if term > self.hard.term {
            return self.step_down(term, None);
        }
        let last = self.last();
        let Role::Leader(leading) = &mut self.role else { return };
        if term < self.hard.term {
            return;
        }
        leading.confirmed[from] = leading.confirmed[from].max(read);
        if success {
            leading.matched[from] = leading.matched[from].max(index);
            leading.next[from] = leading.next[from].max(index + 1);
            self.advance();
        } else {
            leading.next[from] = (index + 1).min(last + 1).max(leading.matched[from] + 1);
            self.append_to(from, true);
        }
        self.confirm();
    }

    /// Commits the entries of this term that a majority has on disk, and all before them.
    pub(super) fn advance(&mut self) {
        let place = self.count - self.majority();
        let Role::Leader(leading) = &self.role else { return };
        let mut matched = leading.matched.clone();
        matched.sort_unstable();
        let index = matched[place];
        if index > self.hard.commit && self.term_at(index) == self.hard.term {
            self.hard.commit = index;
            // Followers apply the entry when the next message tells them of the commit, and reads wait for that.
            self.append_all(true);
            for (member, read) in std::mem::take(&mut self.early) {
                self.read_for(member, read);
            }
        }
    }

    /// Releases the reads whose round a majority has confirmed.
    pub(super) fn confirm(&mut self) {
        let (own, place) = (self.own, self.count - self.majority());
        let Role::Leader(leading) = &mut self.role else { return };
        leading.confirmed[own] = leading.rounds;
        let mut confirmed = leading.confirmed.clone();
        confirmed.sort_unstable();
        let round = confirmed[place];
        // Confirming one read confirms all that were requested before it (`read_only.go: advance`).
        let confirmed = leading.reads.iter().rposition(|(_, _, of, _)| *of <= round).map_or(0, |place| place + 1);
        for (member, read, _, index) in leading.reads.drain(..confirmed) {
            if member == own {
                self.reads.push((read, index));
            } else {
                self.messages.push((member, Message::ReadAt(read, index)));
            }
        }
    }
}
