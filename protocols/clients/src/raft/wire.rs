//! What Raft nodes say to each other: frames of a length (four bytes, highest first) and JSON, over a byte stream. Requests
//! are numbered and may be answered in any order. A frame that is too long or makes no sense ends the connection.

use super::types::{SnapshotMeta, Types, Vote};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest frame, bytes.
pub const FRAME_MAX: usize = 1 << 20;
const LENGTH: usize = 4;

/// A request with its number.
#[derive(Debug, Serialize, Deserialize)]
pub struct Numbered<T> {
    /// The requester's count; its answer carries the same.
    pub number: u64,
    /// What.
    pub body: T,
}

/// What a node asks of another.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Append entries, or a heartbeat when there are none.
    Append(AppendEntriesRequest<Types>),
    /// Vote for me.
    Vote(VoteRequest<Types>),
    /// Would you vote for me?
    PreVote(VoteRequest<Types>),
    /// I hand leadership over.
    Transfer(TransferLeaderRequest<Types>),
    /// Begin from here.
    Snapshot {
        /// The leader's.
        vote: Vote,
        /// All that there is to it.
        meta: SnapshotMeta,
    },
    /// Change the members; the leader does it.
    Members(Change),
}

/// A change of the members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// Make this node a voter, when it has caught up.
    Add(u64),
    /// Take this node out.
    Remove(u64),
}

/// What the other answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To entries.
    Append(AppendEntriesResponse<Types>),
    /// To a request for a vote of either kind.
    Vote(VoteResponse<Types>),
    /// To a transfer.
    Transfer(TransferLeaderResponse<Types>),
    /// To a snapshot.
    Snapshot(SnapshotResponse<Types>),
    /// The members are so.
    Changed,
    /// Refused, in these words; nothing was done.
    Refused(String),
}

/// A frame of bytes.
///
/// # Errors
/// It would be too long.
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

/// Reads frames. Dropping a read half way loses nothing.
#[derive(Debug)]
pub struct Frames<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + Unpin> Frames<S> {
    /// The frames of a stream.
    pub fn new(stream: S) -> Self {
        Frames { stream, buffer: Vec::new() }
    }

    /// The next frame.
    ///
    /// # Errors
    /// The stream's, its end included; a frame that is too long or makes no sense.
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

    /// Where the first frame ends, if it is there.
    fn whole(&self) -> io::Result<Option<usize>> {
        let Some(length) = self.buffer.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > FRAME_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes is too long")));
        }
        Ok(Some(LENGTH + length).filter(|end| *end <= self.buffer.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a future that never has to wait for anybody.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("a slice is always ready"),
        }
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut bytes = frame(&Numbered { number: 7, body: Change::Add(3) }).unwrap();
        bytes.extend(frame(&Numbered { number: 8, body: Change::Remove(2) }).unwrap());
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
