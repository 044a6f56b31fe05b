//! The story of a run as the text report draws it: a line per moment, each with the state of every node, and the table
//! of leaderships.

pub(crate) mod draw;
mod leaders;
pub mod page;
mod row;

pub use crate::course::ends::Ended;
pub use leaders::Leader;

use crate::{
    Judgement,
    cause::Cause,
    course::{
        Course,
        model::Model,
        moment::{Moment, Turn},
    },
    metrics::DarkStretch,
    words::{Names, duration},
};
use protocols::types::NodeId;
use row::Row;

/// How many lines are kept from the start of a run, and how many from its end.
const KEPT: (usize, usize) = (40, 20);

/// What a text report tells of a run.
#[derive(Debug)]
pub struct Highlights {
    /// The group that it is about, if there are several.
    pub(crate) group: Option<u16>,
    pub cause: Cause,
    /// The intervals in which no request would have been served in time.
    pub(crate) dark: Vec<DarkStretch>,
    names: Names,
    /// Nodes with a lane.
    lanes: Vec<NodeId>,
    leaders: Vec<Leader>,
    /// Does the history report who believes that it leads?
    tells_beliefs: bool,
    pub(crate) head: Vec<Row>,
    pub(crate) tail: Vec<Row>,
    pub(crate) left_out: u64,
}

impl Highlights {
    /// Those of a judged run or log, and their model; `group` is its group's number and the number of groups.
    pub(crate) fn of(course: Course, judgement: &Judgement, group: Option<(usize, usize)>) -> (Self, Model) {
        let (names, is_over) = (course.names().clone(), course.is_over());
        let model = course.into_model(judgement, group);
        let leaders = leaders::leaders(&model);
        // The lines between two others tell what was dark.
        let mut told: Vec<&Moment> = model.moments.iter().filter(|m| m.what.turn() != Turn::Dark).collect();
        let last = told.split_off(told.len().min(KEPT.0).max(told.len().saturating_sub(KEPT.1 - 1)));
        let left_out = told.len().saturating_sub(KEPT.0) as u64;
        told.truncate(KEPT.0);
        let rows = |moments: Vec<&Moment>| moments.into_iter().map(|moment| Row::of(moment, &model)).collect();
        let (head, mut tail): (Vec<Row>, Vec<Row>) = (rows(told), rows(last));
        if is_over || !head.is_empty() {
            tail.push(Row::at(model.end, u64::MAX - 1, ending(model.end, &leaders, is_over), &model));
        }
        let highlights = Highlights {
            group: group.map(|(group, _)| group as u16),
            cause: Cause::of(&model),
            dark: judgement.metrics.dark.clone(),
            names,
            lanes: model.lanes.iter().filter(|lane| lane.role == "candidate").map(|lane| NodeId(lane.node)).collect(),
            tells_beliefs: !model.foreign || leaders.iter().any(|leader| leader.elected_us.is_some()),
            leaders,
            head,
            tail,
            left_out,
        };
        (highlights, model)
    }

    /// The leaderships, in the order of their elections or first writes.
    pub fn leaders(&self) -> &[Leader] {
        &self.leaders
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn lanes(&self) -> &[NodeId] {
        &self.lanes
    }
}

/// The last line: a log does not mark its own end.
fn ending(end_us: u64, leaders: &[Leader], is_over: bool) -> String {
    if !is_over {
        return "the log ends".to_owned();
    }
    let last_us = leaders.iter().filter_map(|leader| leader.last_us).max();
    match last_us.map(|last_us| end_us - last_us).filter(|quiet_us| *quiet_us > 1_000_000) {
        Some(quiet_us) => format!("the run ends, {} after the last accepted write", duration(quiet_us as f64)),
        None => "the run ends".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::draw::draw;
    use crate::{Judge, by_group::Stories, text::paint::Paint};
    use protocols::history::{Sink, json::Reader};

    fn drawn(log: &str) -> String {
        let mut reader = Reader::new(log.as_bytes()).expect("a log");
        let (mut judge, mut stories) = (Judge::new(None), Stories::new(None));
        while let Some(event) = reader.next() {
            let event = event.expect("an event");
            stories.learn(reader.names(), reader.resources());
            judge.record(&event);
            stories.record(&event);
        }
        draw(&stories.into_telling(&judge.finish()), Paint { colour: false, width: 200 }).join("\n")
    }

    fn write(t: u64, on: &str, token: u64, seq: u64) -> String {
        format!(
            "{{\"t_us\":{t},\"event\":\"apply\",\"resource\":\"{on}\",\"node\":\"w{token}\",\"token\":{token},\"seq\":{seq},\"verdict\":\"ok\"}}\n"
        )
    }

    #[test]
    fn a_log_is_told_to_its_end() {
        let log: String = (1..10).map(|n| write(n * 1_000_000, "sequence", 4, n)).collect();
        let text = drawn(&log);
        assert!(
            text.contains("8 writes accepted in 8 s") && text.contains("9.000") && text.contains("the log ends"),
            "{text}"
        );
    }

    #[test]
    fn many_stale_writes_on_a_resource_share_a_line() {
        let mut log = [write(1, "sequence", 7, 1), write(2, "schedule", 7, 1)].concat();
        for n in 2..52 {
            log += &[write(n * 1_000_000, "sequence", 5, n), write(n * 1_000_000 + 9, "schedule", 5, n)].concat();
        }
        let text = drawn(&log);
        let told = text.lines().filter(|line| line.contains("ACCEPTED although stale")).count();
        assert_eq!(told, 2, "{text}");
        let all = "ACCEPTED although stale: 50 writes of w5 (token 5) on schedule, from seq 2, until 51.000 s";
        assert!(text.contains(all), "{text}");
    }
}
