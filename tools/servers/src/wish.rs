//! What is done about programs that are missing.

use std::{env, io::Write};

/// Says something that shows although the test passes.
pub fn say(line: &str) {
    // Not `eprintln!`, which the test harness keeps to itself; if nobody listens, that is all right too.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What is to be done about missing programs: nothing, `require` or `install`.
///
/// # Panics
/// `FENCEPOST_SERVERS` says something else.
pub fn wish() -> String {
    let wish = env::var("FENCEPOST_SERVERS").unwrap_or_default();
    assert!(["", "require", "install"].contains(&wish.as_str()), "FENCEPOST_SERVERS is `require` or `install`");
    wish
}

/// Says that a test is left out.
///
/// # Panics
/// `FENCEPOST_SERVERS` does not allow that.
pub fn skip(what: &str, why: &str) {
    assert!(wish().is_empty(), "{what} cannot be tested: {why}, and FENCEPOST_SERVERS={} wants it", wish());
    say(&format!("SKIPPED: {what}, because {why}; FENCEPOST_SERVERS=install installs what is missing"));
}
