//! How a candidate leaves the election for good. A lock is released before its session is destroyed: otherwise the
//! server begins a lock-delay, and nobody can take the lock for as long.

use super::{Input, Lock, Output, Stage};
use crate::{
    elector::{Deposed, ServiceInput, ServiceOutput},
    error::Failure,
    service::consul::Reply,
};

impl Lock {
    /// What is being created or acquired is given back once it is answered.
    pub(super) fn withdraw(&mut self, out: &mut Vec<Output>) {
        self.withdrawn = true;
        if let Some(number) = self.renewal.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        match self.stage {
            Stage::Leading { .. } => self.depose(Deposed::Resigned, out),
            Stage::Reading => {
                if let Some(number) = self.pending.take() {
                    out.push(Output::Service(ServiceOutput::Cancel(number)));
                }
                self.release(out);
            }
            Stage::Creating | Stage::Acquiring | Stage::Releasing if self.pending.is_some() => {}
            _ => self.give_up(self.now, 0, out),
        }
    }

    /// After the withdrawal: the request that was under way then, or the release.
    pub(super) fn settle(&mut self, input: Input, out: &mut Vec<Output>) {
        let Input::Service(ServiceInput::Reply { number, reply }) = input else { return };
        if self.pending.take_if(|pending| *pending == number).is_none() {
            return;
        }
        match (&self.stage, reply) {
            (Stage::Creating, Ok(Reply::Session { id })) => {
                self.session = Some(id);
                self.give_up(self.now, 0, out);
            }
            // If there is a session, it has nothing, and ends by itself.
            (Stage::Creating, _) => {}
            (Stage::Acquiring, Ok(Reply::Done(true)) | Err(Failure::Unknown(_))) => self.release(out),
            _ => self.give_up(self.now, 0, out),
        }
    }
}
