use std::{path::PathBuf, time::Duration};

/// Settings that cannot work.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("`{0}` is no name for a seat: use 1 to 63 letters, digits, `.`, `_` and `-`, and not `.` or `..` alone")]
    Seat(String),
    #[error("`{seat}` is no name for a seat on this service: {rule}")]
    SeatThere { seat: String, rule: &'static str },
    #[error("`{0}` is no name for a member: use 1 to 63 letters, digits, `.`, `_` and `-`, and not `.` or `..` alone")]
    Member(String),
    #[error("`{0}` is not one of the members")]
    Stranger(String),
    #[error(
        "members that elect among themselves elect for one seat: `{0}` needs another group of them, with a port and a folder of its own"
    )]
    Taken(String),
    #[error("the folder {} cannot be used: {why}", folder.display())]
    Folder { folder: PathBuf, why: String },
    #[error("a fleet of no shards has nothing to lead: use at least one")]
    Shards,
    #[error("shards go to whom they belong to, so no member is preferred for them: leave out `prefer`")]
    PreferredForShards,
    #[error("a lease of {} ms is too short or too long: use 100 ms to a day", .0.as_millis())]
    Ttl(Duration),
    #[error("a lease of {} ms is too short for this service and a margin of {} ms: a belief would last for {} ms", ttl.as_millis(), margin.as_millis(), belief.as_millis())]
    Short { ttl: Duration, margin: Duration, belief: Duration },
    #[error("a margin of {} ms leaves too little of a lease of {} ms: use at most half of it", margin.as_millis(), ttl.as_millis())]
    Margin { margin: Duration, ttl: Duration },
    #[error("a request timeout of {} ms does not go with a lease of {} ms and a margin of {} ms: use 10 ms to {} ms, so that a renewal may take it before the belief ends", timeout.as_millis(), ttl.as_millis(), margin.as_millis(), longest.as_millis())]
    RequestTimeout { timeout: Duration, longest: Duration, ttl: Duration, margin: Duration },
    #[error("the request timeout follows from the lease on this service: leave out `request_timeout`")]
    NoRequestTimeout,
}
