//! The sequencer: hands out strictly increasing (token, seq) to clients. A number is handed out only when the store has
//! applied the write that takes it.

use super::{Context, Kind, Work};
use crate::{message::Message, types::RequestId};

/// The work.
pub const WORK: Kind = Kind {
    name: "sequencer",
    about: "Hands out strictly increasing numbers to clients.",
    resources: &["sequence"],
    serves: true,
    timers: 0,
    new: || Box::new(Sequencer::default()),
};

const SEQUENCE: usize = 0;

/// The sequencer of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sequencer {
    /// The last number that is known to have been handed out: everything before the seal, and everything that this
    /// leadership has answered since. Fit for reads only while nobody else can have handed out another.
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
        // Before it is told: a read must include whatever a client knows.
        self.last = self.last.max(seq);
        at.answer(request.client, Message::NextIs { request, token: at.token(), seq });
    }
}
