//! Suggestions of the nearest known name for an unknown one.

pub use scenarios::suggest::{Unknown, is_typo, unknown};
