//! A lease that can be chosen.

use super::predict::Dark;
use protocols::election::Protocol;
use scenarios::Params;

/// One lease of one protocol, and what it would come to.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// Its options: a lease time to live is among them.
    pub params: Params,
    /// The lease that its service grants, milliseconds.
    pub granted_ms: u64,
    /// From one renewal to the next, milliseconds.
    pub renew_ms: u64,
    /// What is to be expected.
    pub dark: Dark,
    /// How sure it is that the target is met, 0 to 1.
    pub confidence: f64,
}
