//! What does not keep the rules yet.

/// Crates with more than one binary of integration tests.
pub const BINARIES_FOR_NOW: &[&str] = &[];

/// What is too long, as in [`super::sizes`].
pub const TOO_LONG_FOR_NOW: &[&str] = &[];

/// Circles that are being opened.
pub const FOR_NOW: &[&[&str]] = &[];
