//! The commit that this program is built from.

/// Reports it to the library, whose capsules record it.
pub fn say() {
    sim::identity::built_from(env!("FENCEPOST_COMMIT"), env!("FENCEPOST_DIRTY") == "true");
}
