//! Ways to a stage where something is about to happen.

use super::{Move, Stage};
use crate::orders::services::{Little, Process};
use protocols::{bench::choice::Choice, types::NodeId};
use std::collections::VecDeque;

impl Stage {
    /// Where the first leader leads, if everything is in time from here on.
    pub fn led(self) -> Result<Stage, String> {
        self.before_led(0)
    }

    /// So many events before that.
    pub fn before_led(self, events: usize) -> Result<Stage, String> {
        self.before(events, None, |stage| !stage.bench.believers().is_empty())
    }

    /// So many events before a second one leads, if nothing happens at the first one, and all else is in time. Until
    /// then, whatever was under way when the first one was elected has come to its end.
    pub fn before_next(self, events: usize) -> Result<Stage, String> {
        let quiet = self.quiet()?;
        let late = quiet.leader();
        quiet.before_next_but(late, events)
    }

    /// The same where the first one has resigned, and what it has asked for then has been carried out, but the answer is
    /// late; from a service with ordered connections, lost.
    pub fn before_heir(self, events: usize) -> Result<Stage, String> {
        let mut resigned = self.quiet()?;
        let late = resigned.leader();
        // All that counts for none of the faults to come.
        resigned.faults += 2;
        resigned.does(Move::Resigns(late))?;
        let asked = resigned.asked.iter().position(|asked| asked.by.node == late);
        resigned.does(Move::CarriedOut(asked.expect("it gives back what it holds")))?;
        if let Some(Little::ZooKeeper(_)) = resigned.service {
            let process = Process { node: late, life: resigned.lives[late.index()] };
            resigned.does(Move::Breaks(process))?;
        }
        resigned.faults = 1;
        resigned.before_next_but(late, events)
    }

    fn before_next_but(mut self, late: NodeId, events: usize) -> Result<Stage, String> {
        for node in self.bench.nodes().filter(|node| *node != late) {
            self.bench.network.cut(node, late, u64::MAX);
        }
        let elections = self.elections;
        let mut next = self.before(events, Some(late), |stage| stage.elections > elections)?;
        next.bench.network.mend(|_, _| true);
        Ok(next)
    }

    fn leader(&self) -> NodeId {
        self.bench.believers()[0]
    }

    fn quiet(self) -> Result<Stage, String> {
        self.led()?.before(0, None, |stage| stage.asked.is_empty() && stage.told.is_empty())
    }

    fn before(self, events: usize, late: Option<NodeId>, until: impl Fn(&Stage) -> bool) -> Result<Stage, String> {
        let mut way = VecDeque::from([self]);
        for _ in 0..1_000 {
            let last = &way[way.len() - 1];
            if until(last) {
                return Ok(way.swap_remove_front(0).expect("there is one"));
            }
            let mut next = last.clone();
            next.does(last.in_time(late))?;
            way.push_back(next);
            if way.len() > events + 1 {
                way.pop_front();
            }
        }
        panic!("it takes more than a thousand events");
    }

    /// What happens next if everything is in time, except at one candidate, whose leases and sessions end.
    fn in_time(&self, late: Option<NodeId>) -> Move {
        let heard = (0..self.told.len()).find(|place| Some(self.told[*place].to.node) != late && self.is_next(*place));
        let asked = (0..self.asked.len()).find(|place| Some(self.asked[*place].by.node) != late && self.is_due(*place));
        if let Some(what) = heard.map(Move::Heard).or(asked.map(Move::Answered)) {
            return what;
        }
        let choices = self.choices().filter(|choice| !matches!(choice, Choice::Fire(node, _) if Some(*node) == late));
        let choices = choices.map(|choice| (self.bench.due(choice), Move::Happens(choice)));
        let ends = self.ends().into_iter().filter(|end| Some(end.of.node) == late);
        let ends = ends.map(|end| (end.at, Move::Ends(end.which)));
        ends.chain(choices).min_by_key(|(at, _)| *at).map(|(_, what)| what).expect("a candidate has a timer")
    }

    /// Where all but the first have begun to stand, and what they have written is on disk.
    pub fn stood(mut self) -> Result<Stage, String> {
        for node in self.bench.nodes().skip(1) {
            let before = self.bench.choices();
            let timer = before.iter().find(|choice| matches!(choice, Choice::Fire(of, _) if *of == node));
            self.does(Move::Happens(*timer.expect("a candidate has a timer")))?;
            let written = |stage: &Stage| {
                let arrives = |choice: &Choice| matches!(choice, Choice::Arrive(at, _) if *at <= stage.bench.now() + 1);
                stage.bench.choices().into_iter().find(|choice| arrives(choice) && !before.contains(choice))
            };
            while let Some(written) = written(&self) {
                self.does(Move::Happens(written))?;
            }
        }
        Ok(self)
    }
}
