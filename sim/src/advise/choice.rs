//! A candidate lease.

use super::predict::Dark;
use protocols::election::Protocol;
use scenarios::Params;

/// One lease of one protocol, and its predicted result.
#[derive(Clone, Debug)]
pub struct Choice {
    pub protocol: &'static Protocol,
    /// The protocol's options, the lease time to live among them.
    pub params: Params,
    /// The lease that the service grants, in milliseconds.
    pub granted_ms: u64,
    /// Between renewals, in milliseconds.
    pub renew_ms: u64,
    pub dark: Dark,
    /// The confidence that the target is met, 0 to 1.
    pub confidence: f64,
}
