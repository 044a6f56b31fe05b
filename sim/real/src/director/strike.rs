//! What the director does to processes and links when a fault strikes and when it ends.

use super::{
    Director, operator,
    questions::{Event, Struck},
};
use crate::{error::Failed, proxy::Gate};
use protocols::{
    history::{Kind, NodeState, Phase},
    types::NodeId,
};
use rustix::process::Signal;
use scenarios::{
    fault::Fault,
    topology::Moment,
    triggers::{self, nanoseconds},
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

impl Director {
    /// Who leads now. A service with a single member is led by it while it is up.
    pub(super) fn moment(&self, passed_by: Option<NodeId>) -> Moment {
        let service_leader = self.topology.only_member().filter(|node| self.up.get(node).is_some_and(|up| *up));
        Moment { leader: self.believers.last().copied(), service_leader, passed_by }
    }

    /// A fault strikes; `by` is the node whose point triggered it.
    pub(super) fn strike(&mut self, index: u32, by: Option<NodeId>) -> Result<(), Failed> {
        let what = self.faults[index as usize].what.clone();
        let Some((on, to)) = triggers::groups(&self.topology, &what, self.moment(by)) else {
            self.waiting.push(index);
            return Ok(());
        };
        let pids = on.iter().map(|n| self.cluster.running(*n).map(|r| r.pid())).collect();
        let struck = Struck { on, to, pids };
        let lasts = what.parts().lasts.is_some();
        // Processes stop before the fault is recorded; their events carry the fault's time.
        let stopped = self.stop(&what, &struck.on, by);
        let fault = self.fault_event(index, &what, &struck, if lasts { Phase::Begin } else { Phase::Once });
        self.log.record_all(std::iter::once(fault).chain(stopped));
        if let Some(for_ms) = what.for_ms() {
            self.after(nanoseconds(for_ms), Event::Heal(index));
        }
        match &what {
            Fault::Pause { .. } | Fault::Kill { .. } | Fault::PowerLoss { .. } => {}
            Fault::Restart { .. } => {
                for node in &struck.on {
                    self.start(*node)?;
                }
            }
            Fault::DropKey { .. } => struck.on.iter().for_each(|n| self.drop_leadership(*n)),
            Fault::Resign { .. } => struck.on.iter().for_each(|n| self.ask(*n, "/resign".to_owned())),
            Fault::Transfer { .. } => {
                let heir = struck.to.first().map(|n| self.cluster.name(*n).to_owned());
                if let Some(heir) = heir {
                    struck.on.iter().for_each(|n| self.ask(*n, format!("/transfer?to={heir}")));
                }
            }
            Fault::ClockStep { by_ms, .. } => {
                let told = self.clocks.step(&struck.on, *by_ms, self.now());
                told.into_iter().for_each(|kind| self.log.record(kind));
            }
            Fault::ClockRate { ppm, .. } => {
                let told = self.clocks.set_rate(index, &struck.on, *ppm, self.now());
                told.into_iter().for_each(|kind| self.log.record(kind));
            }
            what => self.change_links(what, &struck, true),
        }
        self.struck.insert(index, struck);
        Ok(())
    }

    pub(super) fn heal(&mut self, index: u32) -> Result<(), Failed> {
        let what = self.faults[index as usize].what.clone();
        let Some(struck) = self.struck.remove(&index) else { return Ok(()) };
        let over = self.fault_event(index, &what, &struck, Phase::End);
        let Fault::Pause { .. } = what else {
            self.log.record(over);
            self.undo(index, &what, &struck);
            return Ok(());
        };
        let mut woken = Vec::new();
        for (node, pid) in struck.on.iter().zip(&struck.pids) {
            if self.may_resume(*node, *pid) {
                woken.push(*node);
            }
        }
        let resumed = woken.iter().map(|node| Kind::Node { node: *node, state: NodeState::Resumed });
        self.log.record_all(std::iter::once(over).chain(resumed));
        for node in woken {
            self.cluster.running(node).into_iter().for_each(|running| running.signal(Signal::CONT));
        }
        Ok(())
    }

    /// Reverts a fault that has ended.
    fn undo(&mut self, index: u32, what: &Fault, struck: &Struck) {
        if let Fault::ClockRate { .. } = what {
            let told = self.clocks.as_before(index, &struck.on, self.now());
            self.log.record_all(told);
        } else {
            self.change_links(what, struck, false);
        }
    }

    /// Stops the processes that the fault stops, and returns an event for each.
    fn stop(&mut self, what: &Fault, nodes: &[NodeId], by: Option<NodeId>) -> Vec<Kind> {
        match what {
            Fault::Pause { .. } => nodes.iter().filter_map(|n| self.pause(*n, by == Some(*n))).collect(),
            Fault::Kill { restart_after_ms, .. } => self.kill_each(nodes, *restart_after_ms, NodeState::Down),
            Fault::PowerLoss { restart_after_ms, .. } => self.kill_each(nodes, *restart_after_ms, NodeState::Off),
            _ => Vec::new(),
        }
    }

    /// Pauses a process. A process that waits at a point stops itself when told.
    fn pause(&mut self, node: NodeId, at_point: bool) -> Option<Kind> {
        let pauses = self.pauses.entry(node).or_default();
        *pauses += 1;
        let first = *pauses == 1;
        let running = self.cluster.running(node).filter(|_| first)?;
        if !at_point {
            running.signal(Signal::STOP);
        }
        Some(Kind::Node { node, state: NodeState::Paused })
    }

    /// Whether the last of a process's overlapping pauses has ended. A process that died meanwhile is not resumed.
    fn may_resume(&mut self, node: NodeId, pid: Option<i32>) -> bool {
        if self.cluster.running(node).is_none_or(|running| Some(running.pid()) != pid) {
            return false;
        }
        let Some(pauses) = self.pauses.get_mut(&node) else { return false };
        *pauses = pauses.saturating_sub(1);
        *pauses == 0
    }

    fn kill_each(&mut self, nodes: &[NodeId], restart_after_ms: Option<f64>, state: NodeState) -> Vec<Kind> {
        let mut killed = Vec::new();
        for node in nodes {
            if self.cluster.running(*node).is_some() {
                // Without power, the kernel sends no resets.
                if state == NodeState::Off && self.dark.insert(*node) {
                    self.silence(*node, true);
                }
                self.cluster.running(*node).into_iter().for_each(|r| r.signal(Signal::KILL));
                self.believers.retain(|b| b != node);
                self.pauses.remove(node);
                self.up.insert(*node, false);
                killed.push(Kind::Node { node: *node, state });
            }
            if let Some(ms) = restart_after_ms {
                self.after(nanoseconds(ms), Event::Start(*node));
            }
        }
        killed
    }

    /// Takes leadership from a candidate at the service, bypassing the proxies.
    fn drop_leadership(&self, node: NodeId) {
        let statement = self.plan.election().and_then(operator::dropping);
        let (Some(statement), Some(service)) = (statement, self.cluster.service()) else { return };
        let candidate = self.cluster.name(node).to_owned();
        tokio::spawn(async move {
            if let Err(why) = operator::carry_out(service, statement, &candidate).await {
                eprintln!("{why}");
            }
        });
    }

    /// Sends a node an operator's HTTP request.
    fn ask(&mut self, node: NodeId, what: String) {
        let Some(address) = self.cluster.address(node) else { return };
        tokio::spawn(async move {
            let asked = async {
                let mut stream = TcpStream::connect(address).await?;
                let request = format!(
                    "POST {what} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(request.as_bytes()).await?;
                // The history already shows the effect.
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            };
            let _: Result<u64, std::io::Error> = asked.await;
        });
    }

    /// Blocks or unblocks all traffic from and to a process.
    pub(super) fn silence(&mut self, node: NodeId, on: bool) {
        let others = (0..self.directory.fleet().len() as u16).map(NodeId);
        for direction in others.flat_map(|other| [(node, other), (other, node)]) {
            for direction in self.cluster.directions(direction.0, direction.1) {
                direction.send_modify(|gate| {
                    gate.blocked = if on { gate.blocked + 1 } else { gate.blocked.saturating_sub(1) }
                });
            }
        }
    }

    /// Applies a fault to the links between two groups, or removes it.
    fn change_links(&mut self, what: &Fault, struck: &Struck, on: bool) {
        for a in &struck.on {
            for b in struck.to.iter().filter(|b| *b != a) {
                let both = matches!(what, Fault::Partition { one_way: false, .. });
                for (from, to) in [(*a, *b), (*b, *a)].into_iter().take(if both { 2 } else { 1 }) {
                    for direction in self.cluster.directions(from, to) {
                        direction.send_modify(|gate| change_gate(gate, what, on));
                    }
                }
            }
        }
    }

    pub(super) fn names(&self, nodes: &[NodeId]) -> String {
        let names: Vec<String> = nodes.iter().filter_map(|n| self.directory.name(*n)).collect();
        names.join(", ")
    }

    fn fault_event(&self, index: u32, what: &Fault, struck: &Struck, phase: Phase) -> Kind {
        let event = what.event(index, phase, (&struck.on, &struck.to), |nodes| self.names(nodes));
        Kind::Fault(Box::new(event))
    }
}

fn change_gate(gate: &mut Gate, what: &Fault, on: bool) {
    match what {
        Fault::Partition { .. } if on => gate.blocked += 1,
        Fault::Partition { .. } => gate.blocked = gate.blocked.saturating_sub(1),
        Fault::Latency { extra_us, .. } if on => gate.extra_us += extra_us,
        Fault::Latency { extra_us, .. } => gate.extra_us = gate.extra_us.saturating_sub(*extra_us),
        // If two losses overlap, the later one counts, as in the simulation.
        Fault::Loss { probability, .. } => gate.loss = if on { *probability } else { 0.0 },
        _ => {}
    }
}
