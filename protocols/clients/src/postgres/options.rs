//! How to connect, and as which role.

use protocols::service::{Service, postgres::Keepalive};

/// The role of candidates.
pub const USER: &str = "fencepost";
pub const DATABASE: &str = "postgres";

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub service: &'static Service,
    /// Keepalive of silent connections; `None` leaves it to the server's settings.
    pub keepalive: Option<Keepalive>,
    /// Whether a pool in transaction mode is in between.
    pub pooled: bool,
    /// [`KEPT_IN_POOL`](protocols::election::pg_advisory::KEPT_IN_POOL)
    pub keeps_dropped: bool,
}
