//! For a leader that counts: whether its session lives, asked of the ensemble's leader. And how a candidate leaves for
//! good.

use super::{Asked, News, Output, Place};
use crate::{
    clock::Now,
    election::zookeeper::curator::Event,
    elector::{self, ServiceInput},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::zookeeper::{Api, Asking, Code, Reply, Request},
};

impl Place {
    /// Never gives up the creation of its node.
    pub fn patient(self) -> Self {
        Place { is_patient: true, ..self }
    }

    /// The session's timeout as the server has granted it, nanoseconds.
    pub fn granted(&self) -> u64 {
        self.curator.granted()
    }

    /// Begins a round; [`News::Confirmed`], [`News::Unconfirmed`] or [`News::Gone`] follows. The member is to catch up
    /// with the ensemble's leader, which refuses that for a session that it has ended; and then to read the node. A member that
    /// is cut off from the leader answers pings for some time, and reads from what it has, but not this.
    pub fn confirm(&mut self, out: &mut Vec<Output>) {
        let Some(own) = &self.own else { return };
        let path = self.queue.path(own);
        self.curator.forget(|asked| !matches!(asked, Asked::Sync | Asked::Mine));
        (self.synced, self.read) = (None, None);
        out.push(Output::Point(Point::BeforeRenew));
        self.curator.ask_once(Asked::Sync, Request::Sync { path: path.clone() }, out);
        self.curator.ask_once(Asked::Mine, Request::Get { path, watch: false, purpose: Asking::Anything }, out);
    }

    /// Handles a round's answers. The server works in the order of the requests, but on the way from the client to here
    /// answers can overtake each other.
    pub(super) fn round(&mut self, asked: &Asked, reply: &Result<Reply, Failure>) -> Option<News> {
        match (asked, reply) {
            (Asked::Sync, reply) => self.synced = Some(matches!(reply, Ok(Reply::Done))),
            (_, Ok(Reply::Data { stat, .. })) => self.read = Some(News::Confirmed(*stat)),
            (_, Ok(Reply::Refused(Code::NoNode))) => self.read = Some(News::Gone),
            _ => self.read = Some(News::Unconfirmed),
        }
        let synced = self.synced.filter(|_| self.read.is_some())?;
        self.read.take().map(|read| if synced { read } else { News::Unconfirmed })
    }

    /// Moves the session to another connection, and if there are several members, to another one.
    pub fn reconnect(&self, out: &mut Vec<Output>) {
        self.curator.reconnect(out);
    }

    /// Whether it creates the folders now; if it has just done so, in vain, it pauses first.
    pub(super) fn makes_folders(&mut self) -> bool {
        let before = self.entering.as_mut().is_some_and(|entering| std::mem::replace(&mut entering.folders, true));
        !(self.is_patient && before)
    }

    /// Leaves for good: ends the session, which deletes whatever it has created or is creating.
    pub fn withdraw(&mut self, out: &mut Vec<Output>) {
        match self.curator.has_session() {
            true => self.curator.ask_once(Asked::Close, Request::CloseSession, out),
            // It has no node.
            false => self.curator.abandon(out),
        }
    }

    /// After that: repeats the end of the session if the connection was lost.
    pub fn left(&mut self, now: Now, input: elector::Input<Nothing, Api>, out: &mut Vec<Output>) {
        let elector::Input::Service(input @ ServiceInput::Reply { .. }) = input else { return };
        if let Some(Event::Done(Asked::Close, Err(Failure::Unknown(_)))) = self.curator.input(now, input, out) {
            self.curator.ask_once(Asked::Close, Request::CloseSession, out);
        }
    }
}
