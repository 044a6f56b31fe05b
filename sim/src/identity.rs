//! The identity of this build.

use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_128;

/// Set by the command: if this crate contained it, every commit would rebuild the crate.
static SOURCE: OnceLock<(&str, bool)> = OnceLock::new();

/// The version, source, compiler and target of this build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    pub version: &'static str,
    /// The commit; empty if the program is not `fencepost` or was not built from a checkout.
    pub commit: &'static str,
    /// Whether there were uncommitted changes.
    pub dirty: bool,
    /// The hash of Cargo.lock.
    pub lock_hash: String,
    /// The compiler's version.
    pub rustc: &'static str,
    pub target: &'static str,
}

/// Sets the commit that this program is built from, and whether there were uncommitted changes. Only the first call
/// counts.
pub fn built_from(commit: &'static str, dirty: bool) {
    let _ = SOURCE.set((commit, dirty));
}

pub fn identity() -> Identity {
    let (commit, dirty) = SOURCE.get().copied().unwrap_or_default();
    Identity {
        version: env!("CARGO_PKG_VERSION"),
        commit,
        dirty,
        lock_hash: format!("{:032x}", xxh3_128(include_bytes!(env!("FENCEPOST_LOCK")))),
        // Of the build script, which this code has none of in `sim-tests`.
        rustc: option_env!("FENCEPOST_RUSTC").unwrap_or_default(),
        target: option_env!("FENCEPOST_TARGET").unwrap_or_default(),
    }
}
