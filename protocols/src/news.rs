//! What requests and replies mean to whoever watches a node, whatever the service. Services say it of their own.

/// What a request, or a stream, is for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Purpose {
    /// To win leadership, or a place in its queue.
    Candidacy,
    /// To keep the lease.
    Renewal,
    /// To see who leads.
    Holder,
    /// Anything else.
    #[default]
    Other,
}

/// What a reply, or an item of a stream, says of leadership.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct News {
    /// It is somebody's, or was until now.
    pub held: bool,
    /// Whose it is, where the reply says so; `Some(None)` when it is nobody's.
    pub holder: Option<Option<Holder>>,
}

/// Who has leadership, as the service's state has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Where the service keeps that, in words: the subject of a sentence.
    pub place: String,
    /// What stands there: a candidate's name, or what begins with it and a slash.
    pub value: String,
}
