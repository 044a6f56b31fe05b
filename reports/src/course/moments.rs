//! The moments that get a number: faults, elections, first effects, refusals, and what was wrongly accepted.

use super::model::{Model, Moment};
use crate::words::{count, duration, grouped, moment};
use protocols::{
    history::{Event, FaultEvent, Kind, NodeState, Phase},
    types::NodeId,
};

/// More moments than this are not told one by one; those in the middle are left out, but no violation.
const MOST: usize = 400;

/// Notes of what only its event tells, while the history streams by.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    started: Vec<u16>,
}

#[derive(Debug)]
struct Note {
    moment: Moment,
    on: Vec<NodeId>,
}

impl Notes {
    fn told(&self, t: u64, node: NodeId) -> Option<usize> {
        let of = |note: &Note| note.moment.t == t && note.on.contains(&node);
        self.notes.iter().rposition(of).filter(|place| place + 4 > self.notes.len())
    }

    fn note(&mut self, t: u64, k: &'static str, on: Vec<NodeId>, text: String) {
        let node = on.first().filter(|_| on.len() == 1).map(|node| node.0);
        self.notes.push(Note { moment: Moment { t, k, node, text }, on });
    }

    /// Takes an event; `name` says who is called what, and `believes` whether somebody believes now.
    pub(super) fn observe(
        &mut self,
        event: &Event,
        name: impl Fn(NodeId) -> String,
        believes: impl Fn(NodeId) -> bool,
    ) {
        match &event.kind {
            Kind::Fault(fault) => self.fault(event.t_us, fault, name),
            Kind::Node { node, state } => {
                let text = match state {
                    NodeState::Up if !self.started.contains(&node.0) => {
                        self.started.push(node.0);
                        return;
                    }
                    NodeState::Up => "starts again",
                    NodeState::Down => "is killed",
                    NodeState::Off => "loses power",
                    NodeState::Paused => "is paused",
                    NodeState::Resumed if believes(*node) => "runs again, still believing that it leads",
                    NodeState::Resumed => "runs again",
                    NodeState::Joined => "joins as a member",
                    NodeState::Left => "is no longer a member",
                };
                let better = matches!(state, NodeState::Up | NodeState::Resumed);
                let text = format!("{} {text}", name(*node));
                match self.told(event.t_us, *node) {
                    // What the process does then says more than that its fault is healed.
                    Some(place) if better && self.notes[place].moment.k == "heal" => {
                        self.notes[place].moment.text = text
                    }
                    Some(_) if !better && !matches!(state, NodeState::Joined | NodeState::Left) => {}
                    _ => {
                        let k = match state {
                            NodeState::Joined | NodeState::Left => "member",
                            _ if better => "heal",
                            _ => "fault",
                        };
                        self.note(event.t_us, k, vec![*node], text);
                    }
                }
            }
            _ => {}
        }
    }

    fn fault(&mut self, t: u64, fault: &FaultEvent, name: impl Fn(NodeId) -> String) {
        let mut text = match fault.detail.is_empty() {
            true => format!("{} on {}", fault.fault, fault.on.iter().map(|n| name(*n)).collect::<Vec<_>>().join(", ")),
            false => fault.detail.clone(),
        };
        if fault.point.as_ref().is_some_and(|(point, _)| point == "lease_checked") && fault.phase != Phase::End {
            text += ", right after it has checked its lease";
        }
        match fault.phase {
            Phase::End => {
                let what = text.split(" for ").next().unwrap_or_default();
                self.note(t, "heal", fault.on.clone(), format!("healed: {what}"));
            }
            _ => self.note(t, "fault", fault.on.clone(), text),
        }
    }
}

/// The order of what happens in one microsecond.
fn rank(k: &str) -> usize {
    ["fault", "heal", "dark", "member", "elect", "effect", "stop", "refuse", "bad"]
        .iter()
        .position(|known| *known == k)
        .unwrap_or(0)
}

/// Everything that gets a number, in its order.
pub(super) fn moments(model: &Model, notes: Notes) -> Vec<Moment> {
    let mut all: Vec<Moment> = notes.notes.into_iter().map(|note| note.moment).collect();
    beliefs(model, &mut all);
    writes(model, &mut all);
    for (from, to) in &model.dark {
        let words = format!("nothing is accepted for {}", duration((to - from) as f64));
        let fault = all.iter_mut().find(|m| m.k == "fault" && m.t.abs_diff(*from) < 200_000);
        match fault {
            Some(fault) => fault.text += &format!("; {words}"),
            None => all.push(Moment { t: *from, k: "dark", node: None, text: words }),
        }
    }
    all.sort_by_key(|m| (m.t, rank(m.k)));
    if all.len() > MOST {
        let (last, mut place) = (all.len() - MOST / 4, 0);
        all.retain(|m| {
            place += 1;
            place <= MOST * 3 / 4 || place > last || m.k == "bad"
        });
    }
    all
}

fn beliefs(model: &Model, all: &mut Vec<Moment>) {
    for belief in &model.beliefs {
        let one = &model.incarnations[belief.i];
        let name = &model.nodes[usize::from(one.node)];
        let with = if one.token == "0" { String::new() } else { format!(" with token {}", one.token) };
        let others = model.beliefs.iter().filter(|b| b.from < belief.from && (b.to > belief.from || b.open));
        let others: Vec<String> = others
            .map(|b| model.incarnations[b.i].node)
            .filter(|node| *node != one.node)
            .map(|node| {
                let paused = model
                    .shades
                    .iter()
                    .any(|s| s.kind == "pause" && s.nodes == [node] && s.from <= belief.from && s.to > belief.from);
                format!("{}{}", model.nodes[usize::from(node)], if paused { " (paused)" } else { "" })
            })
            .collect();
        let verb = if others.len() > 1 { "believe" } else { "believes" };
        let tail = if others.is_empty() { String::new() } else { format!("; {} still {verb}", others.join(" and ")) };
        let text = format!("{name} is elected{with}{tail}");
        all.push(Moment { t: belief.from, k: "elect", node: Some(one.node), text });
        let why = match belief.why {
            Some("expired") => "its lease is over by its own clock",
            Some("lost") => "it was told that it no longer leads",
            Some("fenced") => "the store refused its token",
            Some("resigned") => "it gave leadership up",
            // Its crash is told as such.
            _ => continue,
        };
        let text = format!("{name} stops believing: {why}");
        all.push(Moment { t: belief.to, k: "stop", node: Some(one.node), text });
    }
}

fn writes(model: &Model, all: &mut Vec<Moment>) {
    let who = |i: usize| {
        format!("{} ({})", model.nodes[usize::from(model.incarnations[i].node)], model.incarnations[i].label)
    };
    let on = |r: usize| match r {
        0 => String::new(),
        r => format!(" on {}", model.resources.get(r).map_or("another resource", String::as_str)),
    };
    let node = |i: usize| Some(model.incarnations[i].node);
    for effect in model.effects.iter().filter(|e| e.r == 0) {
        let taken = model.stale.iter().any(|s| (s.i, s.r, s.from) == (effect.i, effect.r, effect.from));
        if !taken {
            let text = format!("first write of {} is accepted", who(effect.i));
            all.push(Moment { t: effect.from, k: "effect", node: node(effect.i), text });
        }
    }
    for stale in &model.stale {
        let over = stale.over.map_or_else(String::new, |i| format!("; {} had taken over", who(i)));
        let text = match stale.n {
            1 => format!(
                "ACCEPTED although stale: number {} of {}{}{over}",
                grouped(stale.seq),
                who(stale.i),
                on(stale.r)
            ),
            n => format!(
                "ACCEPTED although stale: {} of {}{}, until {}{over}",
                count(n, "write"),
                who(stale.i),
                on(stale.r),
                moment(stale.to)
            ),
        };
        all.push(Moment { t: stale.from, k: "bad", node: node(stale.i), text });
    }
    for refused in &model.refused {
        let at =
            if refused.highest == "0" { String::new() } else { format!("; the store is at token {}", refused.highest) };
        let like = if refused.n > 1 { format!(", and {} more like it", grouped(refused.n - 1)) } else { String::new() };
        let text = format!("refused: number {} of {}{}{like}{at}", grouped(refused.seq), who(refused.i), on(refused.r));
        all.push(Moment { t: refused.from, k: "refuse", node: node(refused.i), text });
    }
}
