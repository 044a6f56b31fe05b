//! What was noticed in a log and bears on its verdict.

use super::{
    times::Unit,
    translate::{Seen, Translation},
};
use std::{cell::RefCell, rc::Rc};

/// Sentences about a log, once all of it was read.
#[derive(Default)]
pub struct Notes {
    seen: Option<Rc<RefCell<Seen>>>,
    maps: Vec<(String, String)>,
    files: usize,
    /// What numbers were taken for, unless somebody said it.
    unit: Option<Unit>,
    zone: bool,
    by_time: bool,
}

impl Notes {
    pub(super) fn of(seen: Rc<RefCell<Seen>>, translation: &Translation, files: usize, unit: Option<Unit>) -> Notes {
        let maps = translation.maps.iter().map(|(ours, theirs)| (ours.clone(), theirs.clone())).collect();
        let (zone, by_time) = (translation.times.zone.is_some(), translation.order.is_none());
        Notes { seen: Some(seen), maps, files, unit: unit.filter(|unit| *unit != Unit::Us), zone, by_time }
    }

    /// A field that an option speaks of, and that no line has.
    ///
    /// # Errors
    /// There is one: one sentence.
    pub fn check(&self) -> Result<(), String> {
        let Some(seen) = &self.seen else { return Ok(()) };
        let seen = seen.borrow();
        match self.maps.iter().find(|(_, theirs)| !seen.fields.contains(theirs)) {
            Some((ours, theirs)) => Err(format!("--map {ours}={theirs}: no line has a field `{theirs}`")),
            None => Ok(()),
        }
    }

    /// Requests by the names that a history gives them, and what the log calls them.
    pub fn requests(&self, text: &str) -> String {
        let Some(seen) = &self.seen else { return text.to_owned() };
        seen.borrow().called(text)
    }

    /// What there is to know.
    pub fn sentences(&self) -> Vec<String> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let (seen, mut notes) = (seen.borrow(), Vec::new());
        let lines = |n: u64| if n == 1 { "1 line".to_owned() } else { format!("{n} lines") };
        if let Some(unit) = self.unit {
            notes.push(format!("Times that are numbers were taken for {unit} since 1970; --time-unit says otherwise."));
        }
        if seen.bare > 0 && !self.zone {
            let beside = if seen.zoned > 0 { ", beside others that name one" } else { "" };
            notes.push(format!(
                "{} without a time zone{beside}, taken for UTC; --zone says otherwise.",
                lines(seen.bare)
            ));
        }
        if seen.others > 0 {
            notes.push(format!("{} passed over by --only.", lines(seen.others)));
        }
        if seen.twice > 0 {
            notes.push(format!("{} there twice, word for word; each was counted once.", lines(seen.twice)));
        }
        if seen.back > 0 {
            notes.push(format!("{} with a time before the line in front; the order was kept.", lines(seen.back)));
        }
        if self.files > 1 && self.by_time {
            notes.push(format!(
                "{} files were merged by their times: where clocks differ, so may the order, and the verdict. A number that \
                 the resource gave is better: --order FIELD.",
                self.files
            ));
        }
        if seen.ties > 0 {
            let (lines, have) = (lines(seen.ties), if seen.ties == 1 { "has" } else { "have" });
            notes.push(format!("{lines} {have} the same time as one of another file; which came first is not known."));
        }
        notes
    }
}
