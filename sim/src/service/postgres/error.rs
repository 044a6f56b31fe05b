//! What the server says no with.

use std::fmt;

/// An error as it goes over the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// SQLSTATE.
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// Does it end the session?
    pub fatal: bool,
}

/// Something that the server only remarks: severity, SQLSTATE, and one line.
pub type Notice = (&'static str, &'static str, String);

impl Error {
    /// An error that ends the statement.
    pub fn new(code: &'static str, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), fatal: false }
    }

    /// What this model does not do.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new("0A000", format!("not supported by the simulated server: {what}"))
    }

    /// A statement that cannot be read.
    pub fn syntax(near: Option<&str>) -> Error {
        match near {
            Some(near) => Error::new("42601", format!("syntax error at or near \"{near}\"")),
            None => Error::new("42601", "syntax error at end of input"),
        }
    }

    /// A session that is ended by somebody else.
    pub fn terminated() -> Error {
        Error { fatal: true, ..Error::new("57P01", "terminating connection due to administrator command") }
    }

    /// Bytes that are no message.
    pub fn protocol(what: impl Into<String>) -> Error {
        Error { fatal: true, ..Error::new("08P01", what) }
    }
}
