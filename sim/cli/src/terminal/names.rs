//! What things are called on this command line: the registry of known names, suggestions for unknown ones, and the name
//! under which this program was run.
//!
//! clap's value parsers only get a word, so they find the registry here: that of the command line which this thread
//! runs. All other code gets the registry as an argument.

use scenarios::Registry;
pub use scenarios::suggest::{Unknown, is_typo, unknown};
use std::{cell::RefCell, env, path::Path, rc::Rc};

thread_local! {
    static KNOWN: RefCell<Option<Rc<Registry>>> = const { RefCell::new(None) };
}

/// Sets the registry for this thread's command line.
pub fn are_of(registry: &Registry) {
    KNOWN.set(Some(Rc::new(registry.clone())));
}

/// This thread's registry; Fencepost's own until [`are_of`] sets another.
pub fn known() -> Rc<Registry> {
    KNOWN.with_borrow_mut(|known| known.get_or_insert_default().clone())
}

// Suggestions of the nearest known name for an unknown one.

// The name under which this program was run, so that printed commands can be typed as they stand.

/// The prefix of commands in our sentences and help texts, before [`as_run`].
const WRITTEN: &str = "fencepost ";

/// The text with the prefix of each command replaced by the way this program was started: by cargo, or by the typed
/// name.
pub fn as_run(text: &str) -> String {
    let program = name();
    let mut parts = text.split(WRITTEN);
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A path that ends in this name is no command.
        let is_path = told.ends_with(['/', '-']);
        told += if is_path { WRITTEN } else { &program };
        told += part;
    }
    told
}

/// The program and a space.
fn name() -> String {
    let typed = env::args().next().unwrap_or_default();
    let by_cargo = env::var_os("CARGO").is_some() && env::var_os("CARGO_MANIFEST_DIR").is_some();
    match (by_cargo, typed.as_str()) {
        (true, typed) => {
            let is_release = Path::new(typed).parent().is_some_and(|folder| folder.ends_with("release"));
            format!("cargo run{} -- ", if is_release { " --release" } else { "" })
        }
        (false, "") => WRITTEN.to_owned(),
        (false, typed) => format!("{typed} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_by_the_name_that_was_typed_and_folders_are_left_alone() {
        let program = name();
        assert_eq!(as_run("`fencepost list` has it"), format!("`{program}list` has it"));
        assert_eq!(as_run("Try:  fencepost list\n  fencepost plan"), format!("Try:  {program}list\n  {program}plan"));
        assert_eq!(as_run("below target/fencepost or elsewhere"), "below target/fencepost or elsewhere");
        assert_eq!(as_run("fencepost"), "fencepost");
    }
}
