//! A node's two clocks. Protocol code gets time from nowhere else.

/// What a node's clocks show at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Now {
    /// Monotonic: nanoseconds since some start of the node's own choosing. It never steps; its rate may be off.
    pub mono: u64,
    /// Wall: nanoseconds since the Unix epoch, as this node believes. It may step either way.
    pub wall: u64,
}
