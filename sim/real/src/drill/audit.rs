//! What the store has accepted, in the order in which it did, and from which connection.

pub mod http;
pub mod postgres;
pub mod redis;

use protocols_real::log::true_time_us;
use std::time::{SystemTime, UNIX_EPOCH};

/// A write that the store has decided on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// When, in microseconds of the machine's clock.
    pub t_us: u64,
    /// The writer's port at the store.
    pub port: u16,
    pub accepted: bool,
}

/// What an audit tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Row(Row),
    /// Something that may have been a write, and is not judged: a command.
    Unjudged(String),
}

/// How many microseconds the machine's clock, which is not stepped, is behind the time since 1970.
fn since_1970() -> i64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    wall - true_time_us() as i64
}

/// A time since 1970 on the machine's clock.
fn on_machine_clock(wall_us: i64, since_1970: i64) -> u64 {
    u64::try_from(wall_us - since_1970).unwrap_or(0)
}
