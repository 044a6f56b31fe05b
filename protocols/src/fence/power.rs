//! The fencing device: a power switch on the network that cuts a machine's power on request, and reports it.
//!
//! **Where it comes from.** The hardware behind a fence agent of ClusterLabs/pacemaker: an IPMI controller or a
//! switched power strip. Like `daemons/fenced` with its default `pcmk_action_limit` of 1, it carries out one action
//! after the other, and answers several requests for one target with a single cut (`fenced_remote.c:
//! merge_duplicates`). The action is `reboot`, the default of `stonith-action`: off, acknowledged, and on again later.
//!
//! **What it promises.** An answer means that the target was without power at some time after the request was made, and
//! nothing else. It cuts again for every request, even a target that it believes to be off, because somebody may have
//! pressed the button.
//!
//! **As a cloud provider's API** ([`Manner::Cloud`]), it accepts a request at once, and the machine keeps running while
//! it is `stopping`. A client has to poll whether the machine has stopped, and is rejected if its requests come too
//! fast. See ClusterLabs/fence-agents, `agents/aws/fence_aws.py`: `set_power_status` returns when `StopInstances` has
//! been accepted, `get_power_status` says `off` only for the state `stopped`, and in between `fence_action` polls, for
//! 60 s by default (`power_timeout`). Here too, machines are stopped one after the other.
//!
//! **What it does not promise.** The first to ask wins only if the other's request arrives after the cut. A request is
//! void if its sender is off by then; one accepted before is still carried out. So two nodes that ask within
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
/// pauses and latency faults on the process slow it down.
pub const ACTION_DELAY: u64 = 250 * MILLISECOND;
/// How long after a cut the machine has power again and its process starts, nanoseconds.
pub const REBOOT_DELAY: u64 = 5 * SECOND;

/// The end of the current action.
const ACTION: TimerId = 0;

/// An accepted cut, and the nodes to be told.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Action {
    target: NodeId,
    asked: Vec<(NodeId, u64)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PowerSwitch {
    /// The number of machines on its outlets: the candidates.
    outlets: u16,
    /// The first one is under way.
    actions: VecDeque<Action>,
    /// Until when each outlet that was cut stays off.
    off_until: BTreeMap<NodeId, u64>,
    /// The last request carried out, by asker and target.
    done: BTreeMap<(NodeId, NodeId), u64>,
    manner: Manner,
    /// Requests before this time are rejected, nanoseconds.
    takes_at: u64,
}

impl PowerSwitch {
    /// The number of its timers.
    pub const TIMERS: TimerId = 1;

    /// A device that powers the first `outlets` nodes of the topology.
    pub fn new(outlets: u16) -> Self {
        let (off_until, done) = (BTreeMap::new(), BTreeMap::new());
        PowerSwitch { outlets, actions: VecDeque::new(), off_until, done, manner: Manner::Honest, takes_at: 0 }
    }

    fn asked(&mut self, now: Now, from: NodeId, target: NodeId, request: u64, out: &mut Vec<Output>) {
        // Sent before the sender's power was cut, and arrived after it.
        if self.off_until.get(&from).is_some_and(|until| now.mono < *until) {
            crate::mark!("power: asked by a machine that is off");
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
            crate::mark!("power: asked again for what is done");
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

    /// Starts the first action.
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
                // Only for others than candidates.
                Ok(manner) if from.0 >= self.outlets => self.manner = manner,
                Ok(_) => {}
                Err(said) => {
                    if let Ok(Message::Fence { target, request }) = Message::restore(said) {
                        self.asked(now, from, target, request, out);
                    }
                }
            },
            Input::Timer(ACTION) => self.act(now, out),
            // Not for a fencing device.
            _ => {}
        }
    }
}
