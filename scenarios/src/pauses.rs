//! Reads logs of real process pauses: their lengths, and the time they were observed over.
//!
//! Three formats, recognised by their lines: the JVM's unified log, Go's `gctrace`, and a list of durations.

mod form;
mod go;
mod jvm;
mod list;

pub use form::{Form, NoPauses, Pauses};

/// Reads a log of pauses in any of the formats.
///
/// # Errors
/// The log has no pause, or a list has an invalid line; in one sentence.
pub fn read(text: &str) -> Result<Pauses, NoPauses> {
    let found = jvm::read(text).or_else(|| go::read(text));
    let mut pauses = match found {
        Some(pauses) => pauses,
        None => list::read(text)?,
    };
    if pauses.lengths_ms.is_empty() {
        return Err(NoPauses::None);
    }
    pauses.lengths_ms.sort_by(f64::total_cmp);
    Ok(pauses)
}

#[cfg(test)]
mod tests;
