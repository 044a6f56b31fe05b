//! ZooKeeper's wire protocol: the connection handshake and the codes of requests. `call.rs` has requests and
//! `answer.rs` answers, as values and as bytes.
//!
//! Reference: apache/zookeeper 3.8, `zookeeper-jute/src/main/resources/zookeeper.jute`, `ZooDefs.java: OpCode`,
//! `MultiOperationRecord.java`, `MultiResponse.java`, `ClientCnxn.java` for the numbers of pings and notifications.

use super::jute::{Malformed, Reader, Writer};

/// A notification's xid.
pub const NOTIFICATION: i32 = -1;
/// A ping's xid.
pub const PING: i32 = -2;
/// A login's xid (`ClientCnxn.java: AUTHPACKET_XID`).
pub const AUTH: i32 = -4;

/// The codes of requests.
pub mod op {
    pub const CREATE: i32 = 1;
    pub const DELETE: i32 = 2;
    pub const EXISTS: i32 = 3;
    pub const GET_DATA: i32 = 4;
    pub const SET_DATA: i32 = 5;
    pub const GET_CHILDREN: i32 = 8;
    /// Catches up with the leader.
    pub const SYNC: i32 = 9;
    pub const PING: i32 = 11;
    /// A node's children and its state.
    pub const GET_CHILDREN2: i32 = 12;
    /// Compares a node's version.
    pub const CHECK: i32 = 13;
    /// Several writes, all or none.
    pub const MULTI: i32 = 14;
    /// Creates a node; the answer includes its state.
    pub const CREATE2: i32 = 15;
    /// Creates a container; the answer includes its state.
    pub const CREATE_CONTAINER: i32 = 19;
    /// Restores the watches of the previous connection.
    pub const AUTH: i32 = 100;
    pub const SET_WATCHES: i32 = 101;
    pub const CLOSE_SESSION: i32 = -11;
    /// Marks an error within the answer to a multi.
    pub const ERROR: i32 = -1;
}

/// The client's first packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectRequest {
    /// The latest zxid that the client has seen.
    pub last_zxid: i64,
    /// The requested session timeout, milliseconds.
    pub timeout_ms: i32,
    /// The session to resume; 0 for a new one.
    pub session: i64,
    pub password: Vec<u8>,
}

/// The server's first packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectResponse {
    /// The granted session timeout, milliseconds; 0 if the session has expired.
    pub timeout_ms: i32,
    /// The session; 0 if it has expired.
    pub session: i64,
    pub password: Vec<u8>,
}

impl ConnectRequest {
    pub fn packet(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.int(0);
        writer.long(self.last_zxid);
        writer.int(self.timeout_ms);
        writer.long(self.session);
        writer.buffer(Some(&self.password));
        // The client does not accept a read-only server.
        writer.bool(false);
        writer.packet()
    }

    /// Decodes a packet. Old clients omit the last field.
    ///
    /// # Errors
    /// The packet is malformed.
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
    pub fn packet(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.int(0);
        writer.int(self.timeout_ms);
        writer.long(self.session);
        writer.buffer(Some(&self.password));
        writer.bool(false);
        writer.packet()
    }

    /// Decodes a packet. Old servers omit the last field.
    ///
    /// # Errors
    /// The packet is malformed.
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
