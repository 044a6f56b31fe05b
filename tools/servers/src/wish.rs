//! What to do about missing programs.

use std::{env, io::Write};

/// Prints a message that shows even if the test passes.
pub fn say(line: &str) {
    // Not `eprintln!`, which the test harness captures. Errors are ignored, since nobody may be listening.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What to do about missing programs: nothing, `require` or `install`.
///
/// # Panics
/// `FENCEPOST_SERVERS` has another value.
pub fn wish() -> String {
    let wish = env::var("FENCEPOST_SERVERS").unwrap_or_default();
    assert!(["", "require", "install"].contains(&wish.as_str()), "FENCEPOST_SERVERS is `require` or `install`");
    wish
}

/// Reports that a test is skipped.
///
/// # Panics
/// `FENCEPOST_SERVERS` does not allow that.
pub fn skip(what: &str, why: &str) {
    assert!(wish().is_empty(), "{what} cannot be tested: {why}, and FENCEPOST_SERVERS={} wants it", wish());
    say(&format!("SKIPPED: {what}, because {why}; FENCEPOST_SERVERS=install installs what is missing"));
}
