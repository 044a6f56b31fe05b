//! Which build this is.

use xxhash_rust::xxh3::xxh3_128;

/// Version, source, compiler and target of this build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Fencepost's version.
    pub version: &'static str,
    /// The commit; empty when it was not built from a checkout.
    pub commit: &'static str,
    /// Were there changes that were not committed?
    pub dirty: bool,
    /// Hash of Cargo.lock.
    pub lock_hash: String,
    /// The compiler's version.
    pub rustc: &'static str,
    /// The target triple.
    pub target: &'static str,
}

/// This build.
pub fn identity() -> Identity {
    Identity {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("FENCEPOST_COMMIT"),
        dirty: env!("FENCEPOST_DIRTY") == "true",
        lock_hash: format!("{:032x}", xxh3_128(include_bytes!("../../Cargo.lock"))),
        rustc: env!("FENCEPOST_RUSTC"),
        target: env!("FENCEPOST_TARGET"),
    }
}
