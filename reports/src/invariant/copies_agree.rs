//! No acknowledged write is lost, and copies of the data agree under each number.
//!
//! **Formula.** If every candidate's node has its own copy, each leadership continues from what its copy had when it
//! was promoted. Follow the leadership of the last acknowledged write back along these continuations: every write that
//! was ever acknowledged is on this path. So no two acknowledged writes to a resource have the same number, and no copy
//! is rewound past what it has acknowledged.
//!
//! Runs with a single store are not judged by it.
//!
//! **Could fail** if a copy other than the first was promoted.
//!
//! **Memory.** The latest 32,768 writes of each leadership to each resource.
//!
//! **Source.** *07 — Leader Election*, "Detecting split-brain": compare the last N writes between the suspected dual
//! leaders.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kinds, not_applicable};
use crate::{
    copies::{Copies, First},
    said::{At, Sentence, sentence},
    words::{Names, count, duration, grouped},
};
use protocols::history::Header;

pub const ENTRY: Entry = Entry {
    name: "copies_agree",
    about: "Where every node has a copy of the data, no acknowledged write is lost, and no two copies differ under one number.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(CopiesAgree::new(header)),
};

struct CopiesAgree {
    copies: Option<Copies>,
}

impl CopiesAgree {
    fn new(header: Option<&Header>) -> Self {
        CopiesAgree { copies: header.and_then(|header| header.copies).map(|_| Copies::default()) }
    }
}

impl Invariant for CopiesAgree {
    fn concerns(&self) -> bool {
        self.copies.is_some()
    }

    fn wants(&self) -> Kinds {
        match self.copies {
            Some(_) => Kinds::COPIES.and(Kinds::SEAL).and(Kinds::APPLY),
            None => Kinds::NONE,
        }
    }

    fn observe(&mut self, event: &Event) {
        if let Some(copies) = &mut self.copies {
            copies.observe(event);
        }
    }

    fn violated_us(&self, ending: &Ending) -> Option<u64> {
        self.copies.as_ref()?.ending(ending.t_us).first.map(|first| first.t_us)
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let Some(copies) = &self.copies else { return not_applicable("there is one store for all") };
        let seen = copies.ending(ending.t_us);
        let acknowledged = count(seen.acknowledged, "acknowledged write");
        let Some(first) = seen.first else {
            let holds = seen.lost == 0;
            let detail = match holds {
                true => format!("{acknowledged}, none lost; {} promoted", count(seen.promoted, "copy")),
                false => format!("{} of {acknowledged} lost", grouped(seen.lost)),
            };
            return Finding { holds, could_fail: seen.promoted > 1 || !holds, detail: detail.into() };
        };
        let losers: Vec<String> = seen
            .losers
            .iter()
            .map(|(by, lost)| format!("{} of {}", grouped(*lost), ending.names.incarnation(*by)))
            .collect();
        let healed = if seen.still { ", and still do at the end" } else { "" };
        let lost = format!("{} of {acknowledged} lost ({}); ", grouped(seen.lost), losers.join(", "));
        let diverged = format!("; copies differed for {}{healed}", duration(seen.diverged_us as f64));
        let detail = sentence![lost, say(&first, ending.names), diverged];
        Finding { holds: false, could_fail: true, detail }
    }
}

/// Describes the first difference.
fn say(First { t_us, resource, lost, kept }: &First, names: &Names) -> Sentence {
    let number = format!("seq {} of {}", grouped(lost.seq), names.resource(*resource));
    match kept {
        Some(kept) => {
            let [lost, kept] = [lost, kept].map(|one| one.said(names));
            let copies = format!(": {lost} in one copy, {kept} in the surviving one");
            sentence![format!("the first difference is {number} since "), At(*t_us), copies]
        }
        None => sentence![format!("the first is {number}, {} at ", lost.said(names)), At(*t_us)],
    }
}
