//! The exit code of a command whose runs failed, or whose results could not be read or written.

use crate::terminal::exit::{Stop, ends_with};
use reports::{
    experiments::findings::Unfilled,
    plot::{DrawError, Undrawable},
};
use sim::{
    baseline::Unreadable,
    error::{Failed, FileError},
    merge::MergeError,
};

ends_with! {
    FileError: usage,
    MergeError: usage,
    Unfilled: usage,
    Undrawable: usage,
    DrawError: harness,
    Unreadable: harness,
    serde_json::Error: harness,
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Stop {
        let why = failed.to_string();
        let mut of = &failed;
        while let Failed::Of { why, .. } = of {
            of = why;
        }
        match of {
            Failed::Invalid(_) | Failed::Missing(_) | Failed::File(_) => Stop::usage(why),
            _ => Stop::harness(why),
        }
    }
}
