//! What this program is built from.

/// Says it to the library, whose capsules name it.
pub fn say() {
    sim::identity::built_from(env!("FENCEPOST_COMMIT"), env!("FENCEPOST_DIRTY") == "true");
}
