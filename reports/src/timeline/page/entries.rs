//! The page's list of moments: those that its picture does not show without words.

use crate::{
    course::{
        model::Model,
        moment::{Entry, Moment, Turn},
    },
    phrases::say_in_full,
    words::count,
};
use std::collections::BTreeMap;

/// How many moments are listed: beyond this, those in the middle are left out, except violations.
const MOST: usize = 400;

/// The numbered moments, in order.
pub(super) fn entries(model: &Model) -> Vec<Entry> {
    // Grants and seals have marks of their own, and come with elections and first effects.
    let drawn = |moment: &&Moment| !matches!(moment.what.turn(), Turn::Grant | Turn::Seal);
    let all: Vec<&Moment> = model.moments.iter().filter(drawn).collect();
    let (first, last) = (MOST * 3 / 4, all.len().saturating_sub(MOST / 4));
    let is_listed =
        |place: usize| all.len() <= MOST || place < first || place >= last || all[place].what.turn() == Turn::Bad;
    let out: Vec<&Moment> = (0..all.len()).filter(|place| !is_listed(*place)).map(|place| all[place]).collect();
    let mut entries: Vec<Entry> =
        (0..all.len()).filter(|place| is_listed(*place)).map(|place| entry(all[place], model)).collect();
    if let (Some(begins), Some(ends)) = (out.first(), out.last()) {
        entries.insert(first, gap(out.len(), begins, ends, model));
    }
    entries
}

fn entry(moment: &Moment, model: &Model) -> Entry {
    let (believing, acting) = leaders_at(model, moment.place, moment.t);
    let (t, k, node, text) = (moment.t, moment.what.turn(), moment.node(), say_in_full(moment, model));
    Entry { t, k, node, text, believing, acting }
}

/// Stands for moments that are left out.
fn gap(n: usize, begins: &Moment, ends: &Moment, model: &Model) -> Entry {
    let (moments, until) = (count(n as u64, "moment"), model.clock.moment(ends.t));
    let text = format!("{moments} from here to {until} left out of this list; the picture has them");
    let (believing, acting) = leaders_at(model, begins.place, begins.t);
    Entry { t: begins.t, k: Turn::Gap, node: None, text, believing, acting }
}

/// How many nodes believe and how many leaders are acting, on the resource with most of them, just after an event.
fn leaders_at(model: &Model, place: u64, t: u64) -> (usize, usize) {
    let place = if place == Moment::LAST { None } else { Some(place) };
    let believes = |(from, to): (u64, u64), begins: u64, ends: u64, open: bool| match place {
        Some(place) => from <= place && (open || to > place),
        None => begins <= t && (open || ends > t),
    };
    let believing = model.beliefs.iter().filter(|b| believes(b.places, b.from, b.to, b.open)).count();
    let takes = |(from, to): (u64, u64), begins: u64, ends: u64| match place {
        Some(place) => (from..=to).contains(&place),
        None => (begins..=ends).contains(&t),
    };
    let mut on = BTreeMap::<usize, usize>::new();
    for effect in model.effects.iter().filter(|e| takes(e.places, e.from, e.to)) {
        *on.entry(effect.r).or_default() += 1;
    }
    (believing, on.into_values().max().unwrap_or(0))
}
