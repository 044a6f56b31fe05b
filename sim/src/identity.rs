//! Which build this is.

use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_128;

/// Set by the command: if this crate were built with it, each commit would build the crate anew.
static SOURCE: OnceLock<(&str, bool)> = OnceLock::new();

/// Version, source, compiler and target of this build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Fencepost's version.
    pub version: &'static str,
    /// The commit; empty in a program other than `fencepost`, and when that was not built from a checkout.
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

/// Says which commit this program is built from, and whether there were changes beside it. The first call counts.
pub fn built_from(commit: &'static str, dirty: bool) {
    let _ = SOURCE.set((commit, dirty));
}

/// This build.
pub fn identity() -> Identity {
    let (commit, dirty) = SOURCE.get().copied().unwrap_or_default();
    Identity {
        version: env!("CARGO_PKG_VERSION"),
        commit,
        dirty,
        lock_hash: format!("{:032x}", xxh3_128(include_bytes!("../../Cargo.lock"))),
        // Of the build script, which this code has none of in `sim-tests`.
        rustc: option_env!("FENCEPOST_RUSTC").unwrap_or_default(),
        target: option_env!("FENCEPOST_TARGET").unwrap_or_default(),
    }
}
