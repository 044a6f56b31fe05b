//! The sequencer: hands out strictly increasing (token, seq) to clients. A number is handed out only once the store has
//! applied its write.

use super::{Context, Kind, Work};
use crate::{message::Message, types::RequestId};

pub const WORK: Kind = Kind {
    name: "sequencer",
    about: "Hands out strictly increasing numbers to clients.",
    resources: &["sequence"],
    serves: true,
    timers: 0,
    parameters: &[],
    new: || Box::new(Sequencer::default()),
};

const SEQUENCE: usize = 0;

/// The sequencer of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sequencer {
    /// The last number known to have been handed out: everything before the seal, and everything answered by this
    /// leadership since. Suitable for reads only while no other leader can have handed out a newer one.
    last: u64,
}

impl Work for Sequencer {
    fn start(&mut self, at: &mut Context) {
        self.last = at.outbox(SEQUENCE).last();
    }

    fn request(&mut self, request: RequestId, at: &mut Context) {
        at.write(SEQUENCE, request, None);
    }

    fn last(&self) -> u64 {
        self.last
    }

    fn done(&mut self, _: usize, request: RequestId, seq: u64, at: &mut Context) {
        // Before the client is told: a read must include everything that a client knows.
        self.last = self.last.max(seq);
        at.answer(request.client, Message::NextIs { request, token: at.token(), seq });
    }
}
