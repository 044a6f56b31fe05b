//! ZooKeeper's wire protocol: what is said when a connection is made, and what requests are called. `call.rs` has requests and
//! `answer.rs` answers, as values and as bytes.
//!
//! Reference: apache/zookeeper 3.8, `zookeeper-jute/src/main/resources/zookeeper.jute`, `ZooDefs.java: OpCode`,
//! `MultiOperationRecord.java`, `MultiResponse.java`, `ClientCnxn.java` for the numbers of pings and notifications.

use super::jute::{Malformed, Reader, Writer};

/// The number of a notification, in place of a request's.
pub const NOTIFICATION: i32 = -1;
/// The number of every ping.
pub const PING: i32 = -2;

/// What requests are called.
pub mod op {
    /// A new node.
    pub const CREATE: i32 = 1;
    /// A node less.
    pub const DELETE: i32 = 2;
    /// Is there such a node?
    pub const EXISTS: i32 = 3;
    /// What a node holds.
    pub const GET_DATA: i32 = 4;
    /// To hold something else.
    pub const SET_DATA: i32 = 5;
    /// A node's children.
    pub const GET_CHILDREN: i32 = 8;
    /// To catch up with the leader.
    pub const SYNC: i32 = 9;
    /// Still there.
    pub const PING: i32 = 11;
    /// A node's children and its state.
    pub const GET_CHILDREN2: i32 = 12;
    /// A node's version is compared.
    pub const CHECK: i32 = 13;
    /// Several writes.
    pub const MULTI: i32 = 14;
    /// A new node, answered with its state.
    pub const CREATE2: i32 = 15;
    /// A new container, answered with its state.
    pub const CREATE_CONTAINER: i32 = 19;
    /// The watches of the connection before.
    pub const SET_WATCHES: i32 = 101;
    /// The session is over.
    pub const CLOSE_SESSION: i32 = -11;
    /// In place of an answer within several.
    pub const ERROR: i32 = -1;
}

/// What a client says first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectRequest {
    /// The latest transaction that it has heard of.
    pub last_zxid: i64,
    /// The timeout that it asks for, milliseconds.
    pub timeout_ms: i32,
    /// The session that it goes on with; 0 for a new one.
    pub session: i64,
    /// That session's password.
    pub password: Vec<u8>,
}

/// What it is answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectResponse {
    /// The timeout that is granted, milliseconds; 0 when the session is over.
    pub timeout_ms: i32,
    /// The session; 0 when it is over.
    pub session: i64,
    /// Its password.
    pub password: Vec<u8>,
}

impl ConnectRequest {
    /// As a packet.
    pub fn packet(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.int(0);
        writer.long(self.last_zxid);
        writer.int(self.timeout_ms);
        writer.long(self.session);
        writer.buffer(Some(&self.password));
        // Not content with a server that only reads.
        writer.bool(false);
        writer.packet()
    }

    /// From a packet. Old clients leave the last field out.
    ///
    /// # Errors
    /// It is none.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let _version = reader.int()?;
        Ok(ConnectRequest {
            last_zxid: reader.long()?,
            timeout_ms: reader.int()?,
            session: reader.long()?,
            password: reader.buffer()?.unwrap_or_default(),
        })
    }
}

impl ConnectResponse {
    /// As a packet.
    pub fn packet(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.int(0);
        writer.int(self.timeout_ms);
        writer.long(self.session);
        writer.buffer(Some(&self.password));
        writer.bool(false);
        writer.packet()
    }

    /// From a packet. Old servers leave the last field out.
    ///
    /// # Errors
    /// It is none.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let _version = reader.int()?;
        Ok(ConnectResponse {
            timeout_ms: reader.int()?,
            session: reader.long()?,
            password: reader.buffer()?.unwrap_or_default(),
        })
    }
}
