//! openraft's log and state machine on a [`Journal`]. The log carries no application data, so the state machine, and
//! thus a snapshot, is only the last applied entry and the members.

use super::{
    journal::{Journal, Record, State},
    wire::{Entry, LogId, Members, Snapshot, SnapshotMeta, Types, Vote},
};
use crate::env::{Disk, Env};
use futures_util::{Stream, TryStreamExt};
use openraft::{
    EntryPayload, LogState, OptionalSend, RaftLogReader, RaftSnapshotBuilder,
    impls::leader_id_std::LeaderId,
    storage::{EntryResponder, IOFlushed, RaftLogStorage, RaftStateMachine},
};
use protocols::{point::Point, types::NodeId};
use std::{
    fmt,
    future::Future,
    io,
    ops::{Bound, RangeBounds},
    pin::Pin,
    sync::Arc,
};

pub type Raft = openraft::Raft<Types, Machine>;

pub struct Log<D> {
    journal: Arc<Journal<D>>,
    voter: Arc<dyn Voter>,
}

impl<D> fmt::Debug for Log<D> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Log")
    }
}

impl<D> Log<D> {
    /// The log of a journal; `voter` is told of votes.
    pub fn new(journal: Arc<Journal<D>>, voter: Arc<dyn Voter>) -> Self {
        Log { journal, voter }
    }
}

/// Is told of votes; any [`Env`] is one.
pub trait Voter: Send + Sync {
    /// Called before a vote is made durable.
    fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// Called once a vote for `candidate` in `term` is durable, before it is sent.
    fn voted(&self, candidate: u64, term: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<E: Env> Voter for E {
    fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.point(Point::BeforePersist))
    }
    fn voted(&self, candidate: u64, term: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if let Ok(candidate) = u16::try_from(candidate) {
            Env::voted(self, NodeId(candidate), term);
        }
        Box::pin(self.point(Point::Voted))
    }
}

impl<D: Disk> RaftLogReader<Types> for Log<D> {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + fmt::Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> io::Result<Vec<Entry>> {
        let bounds: (Bound<u64>, Bound<u64>) = (range.start_bound().cloned(), range.end_bound().cloned());
        Ok(entries(&self.journal.state(), bounds))
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        Ok(self.journal.state().vote)
    }
}

/// The entries in a range; none if it ends before it begins, since a map would panic.
fn entries(state: &State, (start, end): (Bound<u64>, Bound<u64>)) -> Vec<Entry> {
    let first = match start {
        Bound::Included(index) => index,
        Bound::Excluded(index) => index.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let is_before_end = |index: u64| match end {
        Bound::Included(last) => index <= last,
        Bound::Excluded(end) => index < end,
        Bound::Unbounded => true,
    };
    state.log.range(first..).take_while(|(index, _)| is_before_end(**index)).map(|(_, entry)| entry.clone()).collect()
}

impl<D: Disk> RaftLogStorage<Types> for Log<D> {
    type LogReader = Log<D>;

    async fn get_log_state(&mut self) -> io::Result<LogState<Types>> {
        let state = self.journal.state();
        Ok(LogState { last_purged_log_id: state.purged, last_log_id: state.last() })
    }

    async fn get_log_reader(&mut self) -> Log<D> {
        Log { journal: self.journal.clone(), voter: self.voter.clone() }
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        self.voter.before().await;
        self.journal.write(vec![Record::Vote(*vote)], true).await?;
        // A committed vote means following a leader that a quorum has elected; it is not this node's own. Founders
        // begin with term 0.
        if let Vote { leader_id: LeaderId { term: term @ 1.., voted_for }, committed: false } = *vote {
            self.voter.voted(voted_for, term).await;
        }
        Ok(())
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> io::Result<()> {
        // Losing it is harmless: the next leader sends it again.
        self.journal.write(vec![Record::Committed(committed)], false).await
    }

    async fn read_committed(&mut self) -> io::Result<Option<LogId>> {
        let state = self.journal.state();
        // The entry that it names may have been lost with the power even if this record was not.
        Ok(state.committed.min(state.last()))
    }

    async fn append<I>(&mut self, entries: I, flushed: IOFlushed<Types>) -> io::Result<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let records: Vec<Record> = entries.into_iter().map(Record::Entry).collect();
        let result = self.journal.write(records, true).await;
        let told = result.as_ref().map_err(|e| io::Error::new(e.kind(), e.to_string()));
        flushed.io_completed(told.copied());
        result
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> io::Result<()> {
        self.journal.write(vec![Record::TruncateAfter(last)], true).await
    }

    async fn purge(&mut self, upto: LogId) -> io::Result<()> {
        self.journal.write(vec![Record::Purge(upto)], true).await
    }
}

/// A [`Journal`], whatever its disk.
trait Keeper: Send + Sync {
    fn keep(&self, record: Record) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>>;
    fn kept(&self) -> Option<SnapshotMeta>;
}

impl<D: Disk> Keeper for Journal<D> {
    fn keep(&self, record: Record) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(self.write(vec![record], true))
    }
    fn kept(&self) -> Option<SnapshotMeta> {
        self.state().snapshot.clone()
    }
}

#[derive(Clone)]
pub struct Machine {
    journal: Arc<dyn Keeper>,
    applied: Option<LogId>,
    members: Members,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Machine").field("applied", &self.applied).field("members", &self.members).finish()
    }
}

impl Machine {
    /// The state machine as of the journal's last snapshot; openraft reapplies the rest of the log.
    pub fn new<D: Disk>(journal: Arc<Journal<D>>) -> Self {
        let SnapshotMeta { last_log_id, last_membership } = journal.kept().unwrap_or_default();
        Machine { journal, applied: last_log_id, members: last_membership }
    }

    fn meta(&self) -> SnapshotMeta {
        SnapshotMeta { last_log_id: self.applied, last_membership: self.members.clone() }
    }
}

impl RaftSnapshotBuilder<Types> for Machine {
    type SnapshotData = ();

    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        let meta = self.meta();
        self.journal.keep(Record::Snapshot(meta.clone())).await?;
        Ok(Snapshot { meta, snapshot: () })
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotData = ();
    type SnapshotBuilder = Machine;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, Members)> {
        Ok((self.applied, self.members.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        while let Some((entry, responder)) = entries.try_next().await? {
            self.applied = Some(entry.log_id);
            if let EntryPayload::Membership(members) = entry.payload {
                self.members = Members::new(Some(entry.log_id), members);
            }
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Machine {
        self.clone()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, (): ()) -> io::Result<()> {
        self.journal.keep(Record::Snapshot(meta.clone())).await?;
        self.applied = meta.last_log_id;
        self.members = meta.last_membership.clone();
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        Ok(self.journal.kept().map(|meta| Snapshot { meta, snapshot: () }))
    }
}
