//! Logs that a service, or a test of one, writes itself: its records become lines of a history, without any option.

mod history;
mod jepsen;
mod kubernetes;
mod redis;

use super::{
    rows::{Row, Rows},
    seen::Seen,
};
use std::{cell::RefCell, collections::VecDeque, io::BufRead, rc::Rc};

/// How many records are looked at to recognise a service.
const FIRST: usize = 200;

/// The rows of a service's own records, translated; other rows as they are. `skew_ns`: how far the clocks of holders may
/// differ.
pub fn told(mut rows: Rows, skew_ns: u64, seen: &Rc<RefCell<Seen>>) -> Rows {
    let first: VecDeque<Result<Row, (u64, String)>> = rows.by_ref().take(FIRST).collect();
    let any = |is: fn(&Row) -> bool| first.iter().flatten().any(is);
    let (kubernetes, jepsen) = (any(kubernetes::is_record), any(jepsen::is_operation));
    let all: Rows = Box::new(first.into_iter().chain(rows));
    match (kubernetes, jepsen) {
        (true, _) => {
            seen.borrow_mut().service = Some(kubernetes::CALLED);
            kubernetes::rows(all, skew_ns, seen)
        }
        (_, true) if seen.borrow().service == Some(jepsen::CALLED) => {
            history::wrong((1, "begins another history of Jepsen's; judge one at a time".to_owned()))
        }
        (_, true) => {
            seen.borrow_mut().service = Some(jepsen::CALLED);
            jepsen::rows(all, seen)
        }
        _ => all,
    }
}

/// Is it a line of Redis's `MONITOR`?
pub fn is_of_monitor(line: &str) -> bool {
    redis::command(line).is_some()
}

/// The rows of what `MONITOR` printed. A lock of several servers is one on each, as with Redlock: `of` names the server.
pub fn of_monitor(input: impl BufRead, of: Option<&str>, seen: &Rc<RefCell<Seen>>) -> Rows {
    seen.borrow_mut().service = Some(redis::CALLED);
    redis::rows(input, of, seen)
}

#[cfg(test)]
mod tests;
