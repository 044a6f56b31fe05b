//! Messages to clients, error codes, and valid paths.

use protocols_clients::zookeeper::{
    answer::{Answer, Notification},
    wire::ConnectResponse,
};

pub type ConnectionId = u64;

/// A message for a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Out {
    Connected(ConnectResponse),
    /// The answer to a request.
    Reply {
        xid: i32,
        /// The latest transaction id.
        zxid: i64,
        /// The answer, or an error code.
        answer: Result<Answer, i32>,
    },
    /// A watch has fired.
    Notification(Notification),
    /// The connection must be closed.
    Close,
}

/// Error codes (`KeeperException.java: CodeDeprecated`).
pub mod code {
    /// A write after one that was refused.
    pub const RUNTIME_INCONSISTENCY: i32 = -2;
    /// A malformed request.
    pub const MARSHALLING_ERROR: i32 = -5;
    /// An unknown request.
    pub const UNIMPLEMENTED: i32 = -6;
    /// An invalid path or flag.
    pub const BAD_ARGUMENTS: i32 = -8;
    pub const NO_NODE: i32 = -101;
    pub const BAD_VERSION: i32 = -103;
    pub const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
    pub const NODE_EXISTS: i32 = -110;
    /// The node has children.
    pub const NOT_EMPTY: i32 = -111;
    pub const SESSION_EXPIRED: i32 = -112;
    /// The access list is missing.
    pub const INVALID_ACL: i32 = -114;
}

/// A change of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Created(String),
    Deleted(String),
    Data(String),
    Children(String),
}

// Valid paths (`PathUtils.java: validatePath`).

pub fn is_valid(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    rest.is_empty() || rest.split('/').all(|name| !["", ".", ".."].contains(&name) && name.chars().all(is_allowed))
}

fn is_allowed(c: char) -> bool {
    // A character outside the first plane is two characters in Java, the first of which is refused.
    !matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

/// The parent's path: everything before the last slash. For a child of the root it is the empty path, which also means
/// the root.
pub fn parent_of(path: &str) -> Option<&str> {
    path.rfind('/').map(|slash| &path[..slash])
}

/// Nodes of the server itself, which cannot be deleted (`DataTree.java: isSpecialPath`).
pub fn is_special(path: &str) -> bool {
    ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"].contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_that_zookeeper_takes() {
        for path in ["/", "/a", "/a/b", "/a/..b", "/a/...", "/ä", "/a b"] {
            assert!(is_valid(path), "{path}");
        }
        for path in ["", "a", "/a/", "//", "/a//b", "/.", "/a/..", "/./a", "/a\0", "/\u{1f}", "/\u{85}", "/\u{1f600}"] {
            assert!(!is_valid(path), "{path:?}");
        }
    }
}
