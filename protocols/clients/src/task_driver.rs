//! The task driver: steps one core as a task on any [`Env`]. Real mode runs this. The simulation steps cores inline,
//! and checks that this driver yields the same history.

use crate::{
    env::{Disk, Env},
    timers::Timers,
};
use protocols::{
    core::{Core, Input, Output},
    elector::ServiceOutput,
    history::Kind,
    message::Message,
    payload::Opaque,
    types::NodeId,
};
use std::{collections::VecDeque, future::Future, io, task::Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// A driven core's way to its peers and the history.
pub trait Port: Send {
    /// Sends a message; see [`Output::Send`].
    fn send(&mut self, to: NodeId, message: Message);
    /// Sends a message to another candidate; see [`Output::Tell`]. Does nothing where candidates are not connected.
    fn tell(&mut self, _to: NodeId, _message: Opaque) {}
    /// Drops the connection to `to`; see [`Output::Redial`]. Does nothing where messages do not share a connection.
    fn redial(&mut self, _to: NodeId) {}
    /// Records an event in the history, now.
    fn record(&mut self, kind: Kind);
    /// The same for a group other than the first. Does nothing where there is one group.
    fn record_in(&mut self, _group: u16, _kind: Kind) {}
    /// Called when the core asks its service's client for something.
    fn asks(&mut self, _output: &ServiceOutput) {}
    /// Cuts a machine's power, and restores it after `restart_after` nanoseconds, if at all. Only simulated fencing
    /// devices call it; real machines have their own.
    fn power_off(&mut self, _node: NodeId, _restart_after: Option<u64>) {}
    /// The core's state could not be made durable. The driver ends, and the process should end too.
    fn disk_failed(&mut self, _error: &io::Error) {}
}

/// Steps `core` until `inputs` closes or its state cannot be made durable. Data of a failed sync may be lost even if a
/// later sync succeeds, so the process ends and restarts from disk, as etcd, Kafka and ZooKeeper do. `inputs` carries
/// messages, the service client's answers and orders to resign; `services`, indexed by group, take the electors'
/// requests to the service's client.
pub async fn drive<E: Env>(
    env: E,
    mut port: impl Port,
    mut core: Box<dyn Core>,
    services: Vec<UnboundedSender<ServiceOutput>>,
    mut inputs: UnboundedReceiver<Input>,
) {
    let mut timers = Timers::new(env.clone());
    let mut outputs = Vec::new();
    let (mut persists, mut writing) = (VecDeque::new(), None);
    core.step(env.now(), Input::Start, &mut outputs);
    loop {
        for output in outputs.drain(..) {
            let (group, output) = match output {
                Output::OfGroup(group, output) => (group, *output),
                output => (0, output),
            };
            match output {
                Output::Send { to, message } => port.send(to, message),
                Output::Tell { to, message } => port.tell(to, message),
                Output::Redial { to } => port.redial(to),
                Output::SetTimer { id, at } => timers.set(id, at),
                Output::CancelTimer(id) => timers.cancel(id),
                Output::Point(point) => env.of_group(group).point(point).await,
                Output::Record(kind) if group > 0 => port.record_in(group, kind),
                Output::Record(kind) => port.record(kind),
                Output::PowerOff { node, restart_after } => port.power_off(node, restart_after),
                Output::Persist(state) => persists.push_back(state),
                Output::Service(output) => {
                    port.asks(&output);
                    if let Some(service) = services.get(usize::from(group)) {
                        // The client may already be gone when the process is about to end.
                        let _ = service.send(*output);
                    }
                }
                // Groups are not nested.
                Output::OfGroup(..) => {}
            }
        }
        if writing.is_none() {
            writing = persists.pop_front().map(|state| Box::pin(write(env.disk(), state)));
        }
        // Inputs go before timers: after a pause, a process finds its sockets readable first.
        let input = std::future::poll_fn(|context| {
            if let Poll::Ready(input) = inputs.poll_recv(context) {
                return Poll::Ready(input);
            }
            if let Some(write) = &mut writing
                && let Poll::Ready(result) = write.as_mut().poll(context)
            {
                writing = None;
                return Poll::Ready(match result {
                    Ok(()) => Some(Input::Persisted),
                    Err(error) => {
                        port.disk_failed(&error);
                        None
                    }
                });
            }
            timers.poll(context).map(|id| Some(Input::Timer(id)))
        })
        .await;
        let Some(input) = input else { return };
        core.step(env.now(), input, &mut outputs);
    }
}

/// The file that holds a core's state.
pub const STATE: &str = "elector-state";

async fn write<D: Disk>(disk: D, state: Vec<u8>) -> io::Result<()> {
    disk.replace(STATE, state).await
}
