//! A voter's durable state: its part in the epoch (`FileQuorumStateStore.java`) and its log, written together.
//!
//! Kafka writes two files, and handles a crash between them (`QuorumState.initialize`); here a single write is atomic,
//! so that case does not exist. The log holds only leader changes. An epoch has at most one, so a record is its epoch,
//! and epochs rise along the log.

use super::message::{Ask, Epoch, Found, Offset};
use crate::types::NodeId;

/// The state that survives a loss of power.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Durable {
    pub(super) epoch: Epoch,
    /// This voter's vote in the epoch; a candidate votes for itself.
    pub(super) voted: Option<NodeId>,
    /// The epoch's leader.
    pub(super) leader: Option<NodeId>,
    /// The epoch of each record, by offset.
    pub(super) log: Vec<Epoch>,
}

const NOBODY: u16 = u16::MAX;
const HEAD_BYTES: usize = 8;

impl Durable {
    /// The bytes: epoch, vote, leader, then the log; little-endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 4 * self.log.len());
        bytes.extend(self.epoch.to_le_bytes());
        for node in [self.voted, self.leader] {
            bytes.extend(node.map_or(NOBODY, |n| n.0).to_le_bytes());
        }
        self.log.iter().for_each(|epoch| bytes.extend(epoch.to_le_bytes()));
        bytes
    }

    /// Decodes the state; `None` if [`Durable::encode`] did not write these bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, log) = bytes.split_at_checked(HEAD_BYTES)?;
        let node = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
        let voter = |at: usize| Some(Some(node(at)?).filter(|n| *n != NOBODY).map(NodeId));
        let epoch = Epoch::from_le_bytes(head.get(..4)?.try_into().ok()?);
        let records = log.chunks(4).map(|record| Some(Epoch::from_le_bytes(record.try_into().ok()?)));
        let log = records.collect::<Option<Vec<_>>>()?;
        let rising = log.windows(2).all(|pair| pair[0] < pair[1]) && log.last().is_none_or(|last| *last <= epoch);
        rising.then_some(Durable { epoch, voted: voter(4)?, leader: voter(6)?, log })
    }

    pub(super) fn end_offset(&self) -> Offset {
        self.log.len() as Offset
    }

    /// The epoch of the last record; 0 if there is none.
    pub(super) fn last_epoch(&self) -> Epoch {
        self.log.last().copied().unwrap_or(0)
    }

    /// Appends a leader change. Returns false, without a change, if no leader could have written it there.
    pub(super) fn append(&mut self, epoch: Epoch) -> bool {
        let fits = epoch > self.last_epoch() && epoch <= self.epoch;
        if fits {
            self.log.push(epoch);
        }
        fits
    }

    /// Whether a log with this end is at least as good as ours (`OffsetAndEpoch.compareTo`).
    pub(super) fn is_up_to_date(&self, last_epoch: Epoch, end_offset: Offset) -> bool {
        (last_epoch, end_offset) >= (self.last_epoch(), self.end_offset())
    }

    /// The largest epoch in the log up to `epoch`, and the end of its records; zeros if there is none.
    fn end_of_epoch(&self, epoch: Epoch) -> (Epoch, Offset) {
        let end = self.log.partition_point(|record| *record <= epoch);
        (end.checked_sub(1).map_or(0, |last| self.log[last]), end as Offset)
    }

    /// A leader's finding for a fetch (`ReplicatedLog.validateOffsetAndEpoch`).
    pub(super) fn find(&self, offset: Offset, last_fetched_epoch: Epoch) -> Found {
        let (epoch, end_offset) = self.end_of_epoch(last_fetched_epoch);
        if offset > 0 && (epoch != last_fetched_epoch || end_offset < offset) {
            return Found::Diverging { epoch, end_offset };
        }
        self.log.get(offset as usize).map_or(Found::Nothing, |record| Found::Record(*record))
    }

    /// Where to truncate if the leader's records of `epoch` end at `end_offset` (`ReplicatedLog.truncateToEndOffset`).
    pub(super) fn common_end(&self, epoch: Epoch, end_offset: Offset) -> Offset {
        match self.end_of_epoch(epoch) {
            (own, end) if own == epoch => end.min(end_offset),
            (_, end) => end,
        }
    }

    /// Truncates the log to `end`.
    pub(super) fn truncate(&mut self, end: Offset) {
        self.log.truncate(end as usize);
    }

    /// The fetch for what follows this log.
    pub(super) fn fetch(&self, high_watermark: Option<Offset>) -> Ask {
        Ask::Fetch { offset: self.end_offset(), last_fetched_epoch: self.last_epoch(), high_watermark }
    }

    pub(super) fn vote(&self, pre_vote: bool) -> Ask {
        Ask::Vote { pre_vote, last_epoch: self.last_epoch(), end_offset: self.end_offset() }
    }
}
