//! `list`: what there is, a line each with one sentence.

use super::{args::Listing, output::print};
use protocols::{
    election,
    types::{MILLISECOND, SECOND},
};
use scenarios::{generate, params};
use sim::registry::Registry;

/// Lists one kind of thing, or everything.
pub fn run(registry: &Registry, what: Option<Listing>) {
    let all = [
        Listing::Scenarios,
        Listing::Protocols,
        Listing::Faults,
        Listing::Invariants,
        Listing::Works,
        Listing::Networks,
        Listing::Bugs,
    ];
    let listed: &[Listing] = what.as_ref().map_or(&all, std::slice::from_ref);
    let mut text = String::new();
    for listing in listed {
        if what.is_none() {
            text += &format!("{}{:?}\n", if text.is_empty() { "" } else { "\n" }, listing).to_lowercase();
        }
        let rows = rows(registry, *listing);
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let indent = if what.is_none() { "  " } else { "" };
        if rows.is_empty() {
            text += &format!("{indent}none yet\n");
        }
        for (name, about) in rows {
            text += &format!("{indent}{name:width$}  {about}\n");
        }
    }
    print(&text);
}

fn rows(registry: &Registry, listing: Listing) -> Vec<(String, String)> {
    let plain = |name: &str, about: &str| (name.to_owned(), about.to_owned());
    match listing {
        Listing::Scenarios => registry.plans.scenarios.iter().map(|s| plain(s.name, s.about)).collect(),
        Listing::Protocols => {
            let about = |p: &&election::Protocol| {
                let token = if p.tokened { "token" } else { "no token" };
                let timers = match (p.election_timeout, p.elects_among_peers()) {
                    (Some((min, max)), _) => {
                        format!("timeout {}–{} ms", min / MILLISECOND, max / MILLISECOND)
                    }
                    (None, true) => format!("silence {} s", p.default_lease_ttl / SECOND),
                    (None, false) => format!("lease {} s", p.default_lease_ttl / SECOND),
                };
                let usual = p.default_timings().own;
                let own = election::Timer::ALL
                    .into_iter()
                    .filter_map(|timer| Some(format!(", {} {} s", timer.words(), usual.get(timer)? / SECOND)));
                (p.name.to_owned(), format!("{} ({token}; {timers}{})", p.about, own.collect::<String>()))
            };
            registry.plans.protocols.iter().map(about).collect()
        }
        Listing::Faults => generate::kinds().map(|(name, about)| plain(name, about)).collect(),
        Listing::Invariants => registry.invariants.iter().map(|i| plain(i.name, i.about)).collect(),
        Listing::Works => registry.plans.works.iter().map(|work| plain(work.name, work.about)).collect(),
        Listing::Networks => params::PROFILES.iter().map(|p| plain(p.name, p.about)).collect(),
        Listing::Bugs => registry.plans.bugs.iter().map(|bug| plain(bug.id, bug.what)).collect(),
    }
}
