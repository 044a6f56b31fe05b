//! Tries a canary's limits on a judgement with known figures: a limit that nothing exceeds would leave any world
//! unchecked.

use crate::canary::{self, Above, Canary, ELECTIONS};
use reports::Judgement;

/// The first wrong conclusion of a canary, in one sentence.
pub(super) fn misjudged(judgement: &Judgement) -> Option<String> {
    let plain = || canary::breaks("", &[], |_, _| Err("".into()));
    let is = (ELECTIONS.of)(&judgement.metrics);
    let above = |than| Canary { above: Some(Above { than, ..ELECTIONS }), ..plain() };
    let at_most = |than| Canary { at_most: Some(Above { than, ..ELECTIONS }), ..plain() };
    let within = |least, most| plain().within(ELECTIONS, least, most);
    let safe = Canary { safe: true, ..plain() };
    let spoilt = judgement.violated().next().is_some();
    let with_cause = [
        ("above what it is", above(is), true),
        ("above less", above(is - 1.0), false),
        ("at most what it is", at_most(is), false),
        ("at most less", at_most(is - 1.0), true),
        ("what it is", within(is, is), false),
        ("less", within(is - 2.0, is - 1.0), true),
        ("more", within(is + 1.0, is + 2.0), true),
        ("anything in a safe run", safe, spoilt),
    ];
    let without = [
        ("not above what it is", above(is), false),
        ("not above less", above(is - 1.0), true),
        ("at most what it is", at_most(is), false),
        ("at most less", at_most(is - 1.0), true),
    ];
    let wrong = |canary: &Canary, fails: bool, without: bool| {
        let said = if without { canary.shown(judgement) } else { canary.missing(judgement) };
        said.is_some() != fails
    };
    let with_cause = with_cause.into_iter().map(|(what, canary, fails)| (what, wrong(&canary, fails, false)));
    let without = without.into_iter().map(|(what, canary, fails)| (what, wrong(&canary, fails, true)));
    let control = above(is - 1.0).wrong(judgement, judgement).is_none();
    let what = with_cause.chain(without).chain([("shown with its cause alone", control)]).find(|(_, wrong)| *wrong)?.0;
    Some(format!("a canary whose elections must be {what} takes it for the opposite"))
}
