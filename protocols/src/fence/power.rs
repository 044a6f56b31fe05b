//! The fencing device: a power switch on the network that cuts a machine's power on request, and says when it has.
//!
//! **Where it comes from.** What stands behind a fence agent of ClusterLabs/pacemaker: an IPMI controller or a switched
//! power strip. Like `daemons/fenced` with its default `pcmk_action_limit` of 1, it carries out one action after the other,
//! and it answers several requests for one target with one cut (`fenced_remote.c: merge_duplicates`). The action is
//! `reboot`, the default of `stonith-action`: off, acknowledged, and on again later.
//!
//! **What it promises.** An answer means that the target was without power at some time after the request was made.
//! Nothing else: it cuts anew for every request, also what it holds to be off, because somebody may have pressed the button.
//!
//! **As a cloud provider's API** ([`Manner::Cloud`]) it accepts a request at once, and the machine runs on while it is
//! `stopping`; who wants to know whether it has stopped asks again, and is turned away when requests come too fast. So
//! ClusterLabs/fence-agents, `agents/aws/fence_aws.py`: `set_power_status` returns when `StopInstances` has accepted,
//! `get_power_status` says `off` only for the state `stopped`, and between them `fence_action` waits and asks again, for 60 s
//! by default (`power_timeout`). Here too one machine is stopped after the other.
//!
//! **What it does not.** Whoever asks first wins only if the other's request comes after the cut. A request is void when
//! its sender is off by then; one that was accepted before is carried out all the same. So two that ask within
//! [`ACTION_DELAY`] of each other both lose their power.

pub use crate::service::power::{Manner, Message};
use crate::{
    clock::Now,
    core::{Core, Input, Output, TimerId},
    payload::Payload,
    types::{MILLISECOND, NodeId, SECOND},
};
use std::collections::{BTreeMap, VecDeque};

/// How long the device takes to cut the power, nanoseconds. Real ones take from some hundred milliseconds to a minute;
/// pauses and latency faults on the process make it lag.
pub const ACTION_DELAY: u64 = 250 * MILLISECOND;
/// After so many nanoseconds the machine has power again, and its process starts.
pub const REBOOT_DELAY: u64 = 5 * SECOND;

/// Time to carry out the action that is under way.
const ACTION: TimerId = 0;

/// A cut that was accepted, and who wants to hear of it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Action {
    target: NodeId,
    asked: Vec<(NodeId, u64)>,
}

/// The fencing device.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PowerSwitch {
    /// Machines on its outlets: the candidates.
    outlets: u16,
    /// The first is under way.
    actions: VecDeque<Action>,
    /// Until when an outlet that it cut stays off.
    off_until: BTreeMap<NodeId, u64>,
    /// The last request that it carried out, by who asked and whom it struck.
    done: BTreeMap<(NodeId, NodeId), u64>,
    manner: Manner,
    /// Requests before this time are turned away, nanoseconds.
    takes_at: u64,
}

impl PowerSwitch {
    /// How many timers it has.
    pub const TIMERS: TimerId = 1;

    /// A device with the first `outlets` nodes of the topology on it.
    pub fn new(outlets: u16) -> Self {
        let (off_until, done) = (BTreeMap::new(), BTreeMap::new());
        PowerSwitch { outlets, actions: VecDeque::new(), off_until, done, manner: Manner::Honest, takes_at: 0 }
    }

    fn asked(&mut self, now: Now, from: NodeId, target: NodeId, request: u64, out: &mut Vec<Output>) {
        // It was sent before the cut and has arrived after it.
        if self.off_until.get(&from).is_some_and(|until| now.mono < *until) {
            crate::mark!(PowerFromTheDead);
            return;
        }
        if target.0 >= self.outlets || target == from {
            return answer(from, target, request, false, out);
        }
        if let Manner::Cloud { throttle, .. } = self.manner {
            if now.mono < self.takes_at {
                return out.push(Output::Tell { to: from, message: Message::Throttled { target, request }.erase() });
            }
            self.takes_at = now.mono + throttle;
        }
        if self.done.get(&(from, target)) == Some(&request) {
            crate::mark!(PowerAgain);
            return answer(from, target, request, true, out);
        }
        let idle = self.actions.is_empty();
        match self.actions.iter_mut().find(|action| action.target == target) {
            Some(action) if action.asked.contains(&(from, request)) => {}
            Some(action) => action.asked.push((from, request)),
            None => self.actions.push_back(Action { target, asked: vec![(from, request)] }),
        }
        if let Manner::Cloud { .. } = self.manner {
            out.push(Output::Tell { to: from, message: Message::Accepted { target, request }.erase() });
        }
        if idle {
            self.begin(now, out);
        }
    }

    /// Begins with the first action.
    fn begin(&self, now: Now, out: &mut Vec<Output>) {
        let takes = if let Manner::Cloud { stopping, .. } = self.manner { stopping } else { ACTION_DELAY };
        out.push(Output::SetTimer { id: ACTION, at: now.mono + takes });
    }

    fn act(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(Action { target, asked }) = self.actions.pop_front() else { return };
        if self.manner != Manner::Lies {
            out.push(Output::PowerOff { node: target, restart_after: Some(REBOOT_DELAY) });
            self.off_until.insert(target, now.mono + REBOOT_DELAY);
        }
        for (from, request) in asked {
            self.done.insert((from, target), request);
            if !matches!(self.manner, Manner::Cloud { .. }) {
                answer(from, target, request, true, out);
            }
        }
        if !self.actions.is_empty() {
            self.begin(now, out);
        }
    }
}

fn answer(to: NodeId, target: NodeId, request: u64, ok: bool, out: &mut Vec<Output>) {
    out.push(Output::Tell { to, message: Message::Fenced { target, request, ok }.erase() });
}

impl Core for PowerSwitch {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Peer { from, message: said } => match Manner::restore(said) {
                // No candidate has a say in it.
                Ok(manner) if from.0 >= self.outlets => self.manner = manner,
                Ok(_) => {}
                Err(said) => {
                    if let Ok(Message::Fence { target, request }) = Message::restore(said) {
                        self.asked(now, from, target, request, out);
                    }
                }
            },
            Input::Timer(ACTION) => self.act(now, out),
            // What is not for a fencing device.
            _ => {}
        }
    }
}
