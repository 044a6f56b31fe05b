//! The meaning of requests and replies to an observer of a node, whatever the service. Services define it for their
//! types.

/// The purpose of a request or a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Purpose {
    /// To win leadership, or a place in its queue.
    Candidacy,
    /// To renew the lease.
    Renewal,
    /// To observe the leader.
    Holder,
    /// Anything else.
    #[default]
    Other,
}

/// What a reply, or a stream's item, tells about leadership.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct News {
    /// Whether somebody holds it, or held it until now.
    pub held: bool,
    /// The holder, if the reply names it; `Some(None)` if there is none.
    pub holder: Option<Option<Holder>>,
}

/// The holder of leadership according to the service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Where the service stores that: the subject of a sentence.
    pub place: String,
    /// The stored value: a candidate's name, or that name followed by a slash and more.
    pub value: String,
}
