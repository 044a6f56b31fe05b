//! The server's errors.

use std::fmt;

/// An error as sent to clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The SQLSTATE.
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// Whether it ends the session.
    pub fatal: bool,
}

/// A notice: severity, SQLSTATE, and one line.
pub type Notice = (&'static str, &'static str, String);

impl Error {
    /// An error that ends only the statement.
    pub fn new(code: &'static str, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), fatal: false }
    }

    /// The model does not support something.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new("0A000", format!("not supported by the simulated server: {what}"))
    }

    /// Would the real server perhaps have answered?
    pub fn is_unsupported(&self) -> bool {
        self.code == "0A000"
    }

    pub fn syntax(near: Option<&str>) -> Error {
        match near {
            Some(near) => Error::new("42601", format!("syntax error at or near \"{near}\"")),
            None => Error::new("42601", "syntax error at end of input"),
        }
    }

    /// Another session has terminated this one.
    pub fn terminated() -> Error {
        Error { fatal: true, ..Error::new("57P01", "terminating connection due to administrator command") }
    }

    /// Malformed bytes.
    pub fn protocol(what: impl Into<String>) -> Error {
        Error { fatal: true, ..Error::new("08P01", what) }
    }
}
