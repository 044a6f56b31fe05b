/// What ends a belief besides the client's events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Counting {
    /// No clock, as in the library.
    Nothing,
    /// Two thirds of the session timeout after the last confirmed round was sent.
    FromSending,
}
