//! What a log without a header needs for each invariant to be checked.

use reports::Judgement;

/// The lines that each invariant looks at.
const NEEDS: [(&str, &str); 20] = [
    ("leaders_acting_by_effect", "`apply` lines with `node` and `token` of two leaders"),
    ("tokens_monotone", "`apply` lines with a `token`"),
    ("seq_strictly_increasing", "two `apply` lines, or `reply` lines with `seq`"),
    ("no_stale_write", "`apply` lines with a `token`, of two leaders"),
    ("no_stale_deletion", "`apply` lines with `operation`, and a `deleted` line after each deletion"),
    ("no_stale_cache_entry", "`apply` lines with the operation `refresh`, of two leaders"),
    ("no_stale_read", "`read-invoke` and `read-reply` lines with `request`, `node`, `outcome` and `seq`"),
    ("read_version", "`apply` lines with `read` and `version`: what a write was built on, and what it made"),
    ("one_number", "two accepted `apply` lines of a resource with a `request`, or `reply` lines"),
    ("records", "`apply` lines with a `payload`"),
    ("nothing_skipped", "`apply` lines with the operation `perform` or `effect`, of two leaders"),
    ("done_once", "`apply` lines with the operation `effect`, two of one item"),
    ("copies_agree", "a header that says that every node has a copy of the data"),
    ("elections", "`elected` lines with `node` and `token`, or `grant` lines that end"),
    ("phantom_leader", "`grant` and `grant-end` lines of the service, or `vote` lines, beside `elected`"),
    ("dual_belief", "an `elected` line of one node, and a `deposed` line of the one before"),
    ("acts_on_belief", "`elected` and `deposed` lines, beside writes or `issue` lines, written when a leader sends"),
    ("stopped_is_silent", "`fault` or `node` lines that say when a process was stopped"),
    ("liveness", "a header with a bound, and all of the above"),
    ("placed", "a header that says how groups are placed"),
];

/// The invariants that could not be checked, and what is missing for each.
pub fn unchecked(judgement: &Judgement) -> Vec<(&'static str, &'static str)> {
    let blind =
        |name: &str| judgement.invariants.iter().any(|seen| seen.name == name && seen.holds && !seen.could_fail);
    NEEDS.into_iter().filter(|(name, _)| blind(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::invariant;

    #[test]
    fn every_invariant_says_what_it_needs() {
        let named: Vec<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
        let all: Vec<&str> = invariant::ALL.iter().map(|entry| entry.name).filter(|name| *name != "vacuity").collect();
        assert_eq!(named, all);
    }
}
