//! A leader claims the address by which clients find it, and releases it when it no longer leads; see
//! [`crate::address`].

use super::Node;
use crate::{
    address::{CLAIMED_EVERY, KEPT_AFTER_LOSS},
    clock::Now,
    core::Output,
    elector,
    message::{Address, Message},
};

impl Node {
    /// The process has started. It may have led before, and kept the address.
    pub(super) fn start(&mut self, now: Now, out: &mut Vec<Output>) {
        self.claim(now, out);
        self.elect(now, elector::Input::Start, out);
    }

    /// Claims or releases the address, depending on whether this node leads, and again after a while.
    pub(super) fn claim(&mut self, now: Now, out: &mut Vec<Output>) {
        let id = self.claim_timer();
        let Some(address) = &mut self.tenure.address else { return };
        address.held = self.lead.is_some() || (address.held && self.bugs.has(&KEPT_AFTER_LOSS));
        out.push(Output::SetTimer { id, at: now.mono + CLAIMED_EVERY });
        self.say_whose(out);
    }

    /// Releases the address at the end of leadership.
    pub(super) fn let_address_go(&mut self, out: &mut Vec<Output>) {
        let kept = self.bugs.has(&KEPT_AFTER_LOSS);
        if let Some(address) = self.tenure.address.as_mut().filter(|address| address.held && !kept) {
            address.held = false;
            self.say_whose(out);
        }
    }

    fn say_whose(&self, out: &mut Vec<Output>) {
        let Some(address) = self.tenure.address else { return };
        let said = if address.held { Address::Claimed } else { Address::Released };
        if address.held || address.kind.is_released() {
            out.push(Output::Send { to: address.directory, message: Message::Address(said) });
        }
    }
}
