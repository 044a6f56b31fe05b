//! What a member's output says.

/// What a line says of the member that has written it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// It leads, with this token if the line has one.
    Elected(Option<u64>),
    /// It has stopped leading.
    Deposed,
    /// Here it is to be stopped.
    Pause,
    /// A write has taken effect.
    Accepted,
    /// A write was refused.
    Refused,
    /// It has started.
    Started,
    /// It can take over.
    Ready,
}

/// Tells all that a line says of the member of that name, which has written it; who leads is the first, and where it is to
/// be stopped the last.
pub type Ear = Box<dyn Fn(&str, &str) -> Vec<Said> + Send>;
