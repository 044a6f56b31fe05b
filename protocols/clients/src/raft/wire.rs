//! openraft's types as we use them, and the messages between Raft nodes: frames of a length (four bytes, big-endian)
//! and JSON, over a byte stream. Requests are numbered and may be answered in any order. A frame that is too long or
//! malformed ends the connection.

use super::runtime::Runtime;
use openraft::{
    alias,
    raft::{
        AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
        VoteRequest, VoteResponse,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest frame, bytes.
pub const FRAME_MAX: usize = 1 << 20;
const LENGTH: usize = 4;

#[derive(Debug, Serialize, Deserialize)]
pub struct Numbered<T> {
    /// The requester's counter; the answer repeats it.
    pub number: u64,
    /// The sender's, if it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<u64>,
    /// Of an answer: whether the node stands for election. In a fleet, not all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands: Option<bool>,
    pub body: T,
}

/// A node's request to another.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Entries to append; a heartbeat if empty.
    Append(AppendEntriesRequest<Types>),
    /// A request for a vote.
    Vote(VoteRequest<Types>),
    /// Asks whether the peer would vote for the sender.
    PreVote(VoteRequest<Types>),
    /// A hand-over of leadership.
    Transfer(TransferLeaderRequest<Types>),
    /// A snapshot to install.
    Snapshot {
        /// The leader's.
        vote: Vote,
        /// The snapshot's whole content.
        meta: SnapshotMeta,
    },
    /// A change of membership, to be made by the leader.
    Members(Change),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// Makes the node a voter once it has caught up.
    Add(u64),
    /// Removes the node.
    Remove(u64),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Append(AppendEntriesResponse<Types>),
    /// To a vote or a pre-vote.
    Vote(VoteResponse<Types>),
    Transfer(TransferLeaderResponse<Types>),
    Snapshot(SnapshotResponse<Types>),
    /// The change is committed.
    Changed,
    /// Refused, with the reason; nothing was done.
    Refused(String),
}

/// Encodes a frame.
///
/// # Errors
/// The frame would be too long.
pub fn frame<T: Serialize>(body: &T) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(body)?;
    if body.len() > FRAME_MAX {
        return Err(io::Error::other(format!("a message of {} bytes is too long", body.len())));
    }
    let mut bytes = Vec::with_capacity(LENGTH + body.len());
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    Ok(bytes)
}

/// Reads frames. Cancelling a read loses nothing.
#[derive(Debug)]
pub struct Frames<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + Unpin> Frames<S> {
    pub fn new(stream: S) -> Self {
        Frames { stream, buffer: Vec::new() }
    }

    /// The next frame.
    ///
    /// # Errors
    /// Those of the stream, including its end; a frame that is too long or malformed.
    pub async fn next<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        loop {
            if let Some(body) = self.whole()? {
                let value = serde_json::from_slice(&self.buffer[LENGTH..body]);
                self.buffer.drain(..body);
                return Ok(value?);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The end of the first frame; `None` if it is incomplete.
    fn whole(&self) -> io::Result<Option<usize>> {
        let Some(length) = self.buffer.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > FRAME_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes is too long")));
        }
        Ok(Some(LENGTH + length).filter(|end| *end <= self.buffer.len()))
    }
}

// openraft's type parameters, and short names for the resulting types.

/// A log entry's application data: none. The log serves only elections and membership.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Nothing {}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter) -> fmt::Result {
        match *self {}
    }
}

openraft::declare_raft_types!(
    /// The types of this log. Leader ids compare by term alone, as in the Raft paper: a term has at most one leader, so
    /// it can serve as a fencing token. (openraft's other mode allows several leaders in a term.)
    pub Types:
        D = Nothing,
        R = (),
        NodeId = u64,
        Node = openraft::EmptyNode,
        LeaderId = openraft::impls::leader_id_std::LeaderId<Self::Term, Self::NodeId>,
        AsyncRuntime = Runtime,
);

pub type Entry = alias::EntryOf<Types>;
/// An entry's term and index.
pub type LogId = alias::LogIdOf<Types>;
/// A vote, given or won.
pub type Vote = alias::VoteOf<Types>;
/// The members, and the entry that set them.
pub type Members = alias::StoredMembershipOf<Types>;
/// A snapshot's metadata, which is its whole content here.
pub type SnapshotMeta = alias::SnapshotMetaOf<Types>;
pub type Snapshot = alias::SnapshotOf<Types, ()>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a future that is ready at once.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("a slice is always ready"),
        }
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut bytes = frame(&Numbered { number: 7, fleet: None, stands: None, body: Change::Add(3) }).unwrap();
        bytes.extend(
            frame(&Numbered { number: 8, fleet: Some(9), stands: Some(true), body: Change::Remove(2) }).unwrap(),
        );
        let mut frames = Frames::new(&bytes[..]);
        let [first, second]: [Numbered<Change>; 2] = [now(frames.next()).unwrap(), now(frames.next()).unwrap()];
        assert_eq!((first.number, first.body), (7, Change::Add(3)));
        assert_eq!((second.number, second.body), (8, Change::Remove(2)));
        assert_eq!(now(frames.next::<Change>()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_makes_no_sense_ends_the_connection() {
        let long = (FRAME_MAX as u32 + 1).to_be_bytes();
        assert_eq!(now(Frames::new(&long[..]).next::<Change>()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let bytes = b"\0\0\0\x02{}";
        assert!(now(Frames::new(&bytes[..]).next::<Change>()).is_err());
        for cut in 0..bytes.len() {
            let error = now(Frames::new(&bytes[..cut]).next::<Change>()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
