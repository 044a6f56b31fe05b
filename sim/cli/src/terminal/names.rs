//! What things are called on this command line: the registry of known names, suggestions for unknown ones, and the name
//! under which this program was run.
//!
//! clap's value parsers only get a word, so they find the registry here: that of the command line which this thread
//! runs. All other code gets the registry as an argument.

use scenarios::Registry;
pub use scenarios::suggest::{Unknown, is_typo, unknown};
use std::{cell::RefCell, rc::Rc};

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
