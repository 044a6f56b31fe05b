//! The names that this command line knows.
//!
//! clap hands its value parsers a word and nothing else, so they find the registry here: that of the command line which
//! this thread is running. Everything behind the parsers is handed the registry itself.

use scenarios::Registry;
use std::{cell::RefCell, rc::Rc};

thread_local! {
    static KNOWN: RefCell<Option<Rc<Registry>>> = const { RefCell::new(None) };
}

/// From now on the words of this thread's command line mean what they mean there.
pub fn are_of(registry: &Registry) {
    KNOWN.set(Some(Rc::new(registry.clone())));
}

/// What has the names; Fencepost's own unless [`are_of`] has said otherwise.
pub fn known() -> Rc<Registry> {
    KNOWN.with_borrow_mut(|known| known.get_or_insert_default().clone())
}
