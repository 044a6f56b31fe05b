//! Unknown names answer with the nearest known one.

pub use scenarios::suggest::{Unknown, is_typo, unknown};
