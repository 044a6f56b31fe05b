//! How connections are made, and as whom.

use protocols::service::{Service, postgres::Keepalive};

/// The role that candidates log in as.
pub const USER: &str = "fencepost";
/// The database that they use.
pub const DATABASE: &str = "postgres";

/// How connections are made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The service that is asked.
    pub service: &'static Service,
    /// When the server gives a silent connection up; `None` leaves that to its settings.
    pub keepalive: Option<Keepalive>,
    /// Is there a pool in transaction mode in between?
    pub pooled: bool,
    /// [`KEPT_IN_POOL`](protocols::election::pg_advisory::KEPT_IN_POOL)
    pub keeps_dropped: bool,
}
