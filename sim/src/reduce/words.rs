//! What a failure needs, in words.

use super::explain::{Came, Change, Explained, Rest};
use crate::parameters::describe;
use protocols::point::Point;
use reports::Verdict;
use scenarios::{
    fault::{PlannedFault, Trigger},
    plan::Plan,
};

impl Change {
    /// What is made right, in a few words.
    pub fn words(&self, plan: &Plan) -> String {
        match self {
            Change::Fault(place) => format!("without {}", describe(&plan.faults[*place])),
            Change::Fencing => "with fencing on".to_owned(),
            Change::Bug(id) => format!("without the bug {id}"),
            Change::WallClocks => "with all wall clocks right".to_owned(),
            Change::ClockRates => "with all clocks at the right rate".to_owned(),
            Change::Network => "without loss, duplicates and detours in the network".to_owned(),
            Change::ReadLease => "with reads through the store".to_owned(),
            Change::HealthChecks => "without mistaken health checks".to_owned(),
        }
    }
}

impl Explained {
    /// What the failure needs, in a sentence or two.
    pub fn conclusion(&self, plan: &Plan) -> String {
        let Explained { needed, spare, rest, .. } = self;
        let named = |places: &[usize], and: &str| listed(places.iter().map(|place| name(plan, *place)).collect(), and);
        let others = match (spare.len(), needed.is_empty()) {
            (1, _) => "the other fault does not matter".to_owned(),
            (others, _) => format!("the other {others} faults do not matter"),
        };
        let faults = match (rest, needed.is_empty(), spare.is_empty()) {
            (_, true, true) => "The plan has no faults.".to_owned(),
            (Rest::DoesNotMatter, false, true) if needed.len() == 1 => format!("It takes {}.", named(needed, "and")),
            (Rest::DoesNotMatter, false, true) => format!("It takes all {} faults.", needed.len()),
            (Rest::DoesNotMatter, false, false) => format!("It takes {}; {others}.", named(needed, "and")),
            (Rest::DoesNotMatter, true, false) => "The faults do not matter: it fails without any.".to_owned(),
            (Rest::AnyOf(enough), true, _) => {
                format!("No single fault is to blame: any of {} is enough.", named(enough, "and"))
            }
            (Rest::AnyOf(enough), false, _) => {
                format!("It takes {}, and any of {}.", named(needed, "and"), named(enough, "and"))
            }
            (Rest::Several, true, _) => "No single fault is to blame, and none alone is enough.".to_owned(),
            (Rest::Several, false, _) => format!("It takes {}, and several of the others.", named(needed, "and")),
        };
        let cures = self
            .flips
            .iter()
            .filter(|(change, came)| matches!(came, Came::Gone(Verdict::Pass)) && !matches!(change, Change::Fault(_)));
        let cures: Vec<String> = cures.map(|(change, _)| change.words(plan)).collect();
        match cures.is_empty() {
            true => faults,
            false => format!("{faults} It passes {}.", listed(cures, "or")),
        }
    }
}

/// A fault's short name; its full description if another fault has the same name.
fn name(plan: &Plan, place: usize) -> String {
    let short = |fault: &PlannedFault| {
        let kind = fault.what.kind().name().replace('-', " ");
        match &fault.when {
            Trigger::At { ms } => format!("the {kind} at {:.3} s", ms / 1e3),
            Trigger::Passage { point, .. } if point == Point::BeforeSend.name() => format!("the {kind} before a send"),
            Trigger::Passage { point, .. } => format!("the {kind} at `{point}`"),
        }
    };
    let fault = &plan.faults[place];
    let named = short(fault);
    match plan.faults.iter().filter(|fault| short(fault) == named).count() {
        1 => named,
        _ => format!("fault {} ({})", place + 1, describe(fault)),
    }
}

/// `a, b and c`.
fn listed(mut words: Vec<String>, and: &str) -> String {
    let Some(last) = words.pop() else { return String::new() };
    if words.is_empty() { last } else { format!("{} {and} {last}", words.join(", ")) }
}
