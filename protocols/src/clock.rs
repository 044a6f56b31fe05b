//! A node's two clocks, the only source of time for protocol code.

/// The readings of a node's clocks at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Now {
    /// Monotonic clock: nanoseconds since a start of the node's own choosing. It never steps; its rate may be off.
    pub mono: u64,
    /// Wall clock: nanoseconds since the Unix epoch according to this node. It may step either way.
    pub wall: u64,
}
