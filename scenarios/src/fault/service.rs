//! Faults of a coordination service's state.

use super::{Parts, Who};

pub(super) fn drop_lease(node: &Who) -> Parts<'_> {
    Parts::of("drop-lease", node).words(format!("drop the lease of {node}"), "{on's} lease is dropped by the service")
}

pub(super) fn drop_key(node: &Who) -> Parts<'_> {
    let parts = Parts::of("drop-key", node);
    match node {
        Who::Service => parts.words("drop the counter of tokens".to_owned(), "the service loses its counter of tokens"),
        _ => parts.words(format!("drop the key of {node}"), "{on's} key is dropped by the service"),
    }
}
