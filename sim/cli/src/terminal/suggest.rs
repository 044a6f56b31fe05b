//! Unknown names answer with the nearest known one.

pub use scenarios::suggest::{is_typo, unknown};
