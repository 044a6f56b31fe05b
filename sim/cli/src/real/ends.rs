//! The exit code of a command whose real processes failed.

use crate::terminal::exit::{Stop, ends_with};
use protocols_real::{
    http::ListenError,
    node::NodeError,
    raise::RaiseError,
    store::{StoreError, postgres::UrlError, token::KeyError},
    tls::TlsError,
};
use scenarios::units::Unread;
use sim_real::error::Failed;

ends_with! {
    ListenError: usage,
    UrlError: usage,
    KeyError: usage,
    TlsError: usage,
    Unread: usage,
    NodeError: harness,
    RaiseError: harness,
    StoreError: harness,
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Stop {
        match &failed {
            Failed::Unplayable(_) | Failed::NoService(_) | Failed::NoCluster { .. } | Failed::Unread(_) => {
                Stop::usage(failed.to_string())
            }
            _ => Stop::harness(failed.to_string()),
        }
    }
}
