//! Judges a log or a history.

use super::{
    LogError,
    apart::{self, Alone},
    notes::Notes,
    open::Input,
    options::Options,
    surveyed,
    tokens::Tokens,
    unbegun::Unbegun,
};
use protocols::history::{Event, Header, Sink, json::Reader};
use reports::{
    Clock, Judgement, Judges, Names, Verdict,
    by_group::Stories,
    invariant::{self, Entry},
    timeline::{Highlights, page::Pages},
};
use std::path::PathBuf;

/// A log whose first event is later than this, microseconds, does not count time from its own start: no run waits 11
/// days for its first event.
const OWN_TIME_MAX_US: u64 = 1_000_000_000_000;

/// What to judge by, and what to make.
#[derive(Clone, Debug)]
pub struct Asked {
    pub invariants: Vec<&'static Entry>,
    /// Also make a page?
    pub page: bool,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { invariants: invariant::ALL.to_vec(), page: false }
    }
}

/// The judgement of a log or a history.
pub struct Judged {
    /// The history's header; `None` for a log.
    pub header: Option<Header>,
    /// The verdict, and each invariant's result.
    pub judgement: Judgement,
    pub highlights: Highlights,
    /// The time of the first event, from which times are counted, microseconds: 0 unless the log counts from elsewhere,
    /// such as 1970.
    pub begins_us: u64,
    /// Sentences about the log that bear on the verdict.
    pub notes: Vec<String>,
    /// A check that the log's tokens do not allow, and what it needs.
    unordered: Option<(&'static str, &'static str)>,
    /// Builds the page of the history, if one was asked for.
    pub pages: Option<Pages>,
}

impl Judged {
    /// The invariants that could not be checked, and what the log would need for each.
    pub fn unchecked(&self) -> Vec<(&'static str, &'static str)> {
        let log = if self.header.is_none() { surveyed::unchecked(&self.judgement) } else { Vec::new() };
        self.unordered.into_iter().chain(log).collect()
    }
}

/// Withdraws a verdict that depends on what the log leaves open: the order of its lines, whose tokens they are, and
/// whether all lines are of one leadership.
fn settle(
    judgement: &mut Judgement,
    notes: &Notes,
    (tokens, open): (&Tokens, impl FnOnce() -> Option<String>),
    invariants: &[&'static Entry],
    overlap_us: u64,
) {
    if judgement.verdict == Verdict::Pass
        && let Some(why) = notes.unsure().or_else(open)
    {
        judgement.shows_nothing(why);
    }
    if judgement.violated().eq(["seq_strictly_increasing"])
        && let Some(why) = tokens.numbers_begin_anew()
    {
        judgement.depends(why);
    }
    let held = match judgement.verdict {
        Verdict::Pass => true,
        Verdict::Safety => false,
        _ => return,
    };
    if let Some(why) = notes.order_decides(|lines| apart::hold(lines, invariants, overlap_us) == held) {
        judgement.depends(why);
    } else if !held && let Some(why) = notes.apart(|| Alone::new(invariants, overlap_us)) {
        judgement.depends(why);
    }
}

impl Options {
    /// Judges `files` as one log, by all invariants.
    ///
    /// # Errors
    /// `files` is empty, or a file cannot be read or understood, or holds no events.
    pub fn judge(&self, files: &[PathBuf]) -> Result<Judged, LogError> {
        self.judge_by(files, &Asked::default())
    }

    /// As [`Options::judge`], with the invariants and output in `asked`.
    ///
    /// # Errors
    /// As [`Options::judge`].
    pub fn judge_by(&self, files: &[PathBuf], asked: &Asked) -> Result<Judged, LogError> {
        let Input { lines, files, notes } = self.open(files)?;
        let mut reader = Reader::of(lines)?;
        let header = reader.header().cloned();
        let overlap_us = self.belief_overlap.unwrap_or(0);
        if header.is_some() && self.belief_overlap.is_some() {
            return Err(
                "--belief-overlap is for logs; this history has a header, which says what its protocol promises"
                    .to_owned()
                    .into(),
            );
        }
        let mut judges = Judges::allowing(&asked.invariants, header.as_ref(), overlap_us);
        let mut stories = Stories::new(header.as_ref());
        let (mut tokens, mut unbegun) = (Tokens::default(), Unbegun::default());
        let mut pages = asked.page.then(|| Pages::new(header.as_ref()));
        let (mut begins_us, mut whole) = (None, true);
        while let Some(event) = reader.next() {
            let mut event: Event = event?;
            let t_us = event.t_us;
            whole &= t_us % 1_000_000 == 0;
            event.t_us -= *begins_us.get_or_insert(if t_us > OWN_TIME_MAX_US { t_us } else { 0 });
            // Without a header, names come with the events.
            stories.learn(reader.names(), reader.resources());
            judges.record(&event);
            tokens.see(&event, notes.group_of(&event, reader.resources()));
            unbegun.see(&event);
            stories.record(&event);
            if let Some(pages) = &mut pages {
                pages.learn(reader.names(), reader.resources());
                pages.record(&event);
            }
        }
        let mut names = Names::of(reader.names(), reader.header());
        names.learn(reader.names(), reader.resources());
        notes.call_requests(&mut names);
        let begins_us = begins_us.unwrap_or(0);
        if header.is_none() {
            let clock = Clock::of_log(begins_us, judges.end_us(), notes.offset_s(), whole);
            names.tell_times(clock);
            stories.tell_times(clock);
            pages.iter_mut().for_each(|pages| pages.tell_times(clock));
        }
        if let (Some(pages), 1.., true) = (&mut pages, begins_us, names.clock().is_elapsed()) {
            pages.counts_from(begins_us);
        }
        notes.check()?;
        let mut judgement = judges.finish_with(&names);
        if judgement.history_events == 0 {
            return Err(format!("{files} holds no events").into());
        }
        if header.is_none() {
            let open = || {
                let unbegun = unbegun.show_nothing(|node| names.node(node).into_owned());
                let unbegun = unbegun.filter(|_| !notes.says_idle());
                unbegun.or_else(|| tokens.show_nothing(self.has_own_leaders(), self.resource()))
            };
            settle(&mut judgement, &notes, (&tokens, open), &asked.invariants, overlap_us);
        }
        let highlights = stories.into_telling(&judgement);
        let (unordered, mut notes) = (notes.unchecked(), notes.sentences());
        if header.is_none() {
            judgement.history_events -= reader.inferred();
            notes.extend(tokens.sentences());
        }
        Ok(Judged { header, judgement, highlights, begins_us, notes, unordered, pages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    /// The example of docs/your-log.md; the test below keeps the two equal.
    #[rustfmt::skip]
    fn invoices(file: PathBuf) -> Result<Judged, Box<dyn Error>> {
        let judged = Options::default()
            .map("t_us", "created_at").map("node", "worker").map("token", "fence_token")
            .map("seq", "invoice_no").map("verdict", "result")
            .word("verdict", "APPLIED", "ok").word("verdict", "REJECTED", "fenced")
            .set("resource", "invoices")
            .ignore(&["id", "latency_ms"])
            .judge(&[file])?;
        Ok(judged)
    }

    #[test]
    fn the_book_s_log_is_judged_in_a_test_as_on_the_command_line() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let judged = invoices(root.join("sim/cli/tests/testdata/logs/invoices.csv")).expect("a log");
        assert_eq!(judged.judgement.verdict, Verdict::Safety);
        assert!(judged.judgement.violated().any(|name| name == "no_stale_write"));
        let book = std::fs::read_to_string(root.join("docs/your-log.md")).expect("the book");
        let calls = |text: &str| {
            let begins = text.find("Options::default()").expect("an example");
            let ends = begins + text[begins..].find(".judge(").expect("its end");
            text[begins..ends].split_whitespace().collect::<String>()
        };
        assert_eq!(calls(&book), calls(include_str!("judge.rs").split_once("mod tests").expect("tests").1));
    }

    #[test]
    fn no_file_is_no_log() {
        let why = Options::default().judge(&[]).err().expect("nothing to judge");
        assert_eq!(why.to_string(), "no file was named");
    }
}
