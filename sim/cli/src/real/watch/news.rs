//! The differences between two looks at a fleet, in sentences.

use super::look::{Effect, Look, NodeLook, StoreFigures};
use crate::real::ask::Status;

/// How much a sentence matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// As it should be.
    Calm,
    /// Leadership moves.
    News,
    /// A problem that is not unsafe.
    Trouble,
    /// Two leaders took effect.
    Alarm,
}

/// A sentence about the fleet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct News {
    /// When it was observed, milliseconds of Unix time.
    pub at_ms: u64,
    pub weight: Weight,
    /// Without a full stop.
    pub text: String,
}

/// A token in words; a protocol without tokens has 0.
pub fn token_text(token: u64) -> String {
    if token == 0 { "no token".to_owned() } else { format!("token {token}") }
}

/// A list of names: `n1`, `n1 and n2`, `n1, n2 and n3`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A leader as the store reports it, with its token.
fn leader_text(leader: &Effect) -> String {
    format!("{} ({})", leader.node, token_text(leader.token))
}

/// The leaders as the store reports them.
pub fn leaders_text(figures: &StoreFigures) -> String {
    let mut leaders: Vec<&Effect> = figures.leaders.iter().collect();
    leaders.sort_by_key(|leader| leader.token);
    let leaders: Vec<String> = leaders.into_iter().map(leader_text).collect();
    match figures.leaders_acting {
        // One after the other, as it should be.
        0 | 1 => leaders.join(", then "),
        _ => listed(&leaders),
    }
}

/// True if `is` has a leadership that `was` does not.
fn is_elected(was: Option<&Status>, is: &Status) -> bool {
    let led = was.filter(|was| was.leads());
    is.leads() && led.is_none_or(|was| was.fence_token != is.fence_token)
}

/// The number of leaderships that began between `before` and `now`.
pub fn elections(before: &Look, now: &Look) -> usize {
    let was = |name: &str| before.nodes.iter().find(|node| node.name == name).and_then(|node| node.status.as_ref());
    now.leading().filter(|(name, status)| is_elected(was(name), status)).count()
}

/// The differences between `before` and `now`.
pub fn between(before: &Look, now: &Look) -> Vec<News> {
    let mut told = Teller { at_ms: now.at_ms, news: Vec::new() };
    for node in &now.nodes {
        if let Some(before) = before.nodes.iter().find(|n| n.name == node.name) {
            told.of_node(before, node);
        }
    }
    told.of_beliefs(before, now);
    match (before.figures(), now.figures()) {
        (Some(before), Some(now)) => told.of_effects(before, now),
        (Some(_), None) => {
            let why = now.store.as_ref().and_then(|store| store.silence.clone()).unwrap_or_default();
            told.say(Weight::Trouble, format!("the store's metrics do not answer: {why}"));
        }
        (None, Some(_)) => told.say(Weight::News, "the store's metrics answer".to_owned()),
        (None, None) => {}
    }
    told.news
}

struct Teller {
    at_ms: u64,
    news: Vec<News>,
}

/// A reason without its numbers, which change all the time.
fn gist(reason: Option<&str>) -> String {
    reason.unwrap_or_default().chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// True for reasons that only restate the role.
fn is_usual(reason: &str) -> bool {
    ["no leader is known", "the resources are not sealed yet"].contains(&reason)
}

impl Teller {
    fn say(&mut self, weight: Weight, text: String) {
        self.news.push(News { at_ms: self.at_ms, weight, text });
    }

    fn of_node(&mut self, before: &NodeLook, now: &NodeLook) {
        let name = &now.name;
        let (was, is) = match (&before.status, &now.status) {
            (Some(was), Some(is)) => (Some(was), is),
            (None, Some(is)) => {
                self.say(Weight::News, format!("{name} answers again"));
                (None, is)
            }
            (Some(_), None) => {
                let why = now.silence.as_deref().unwrap_or("no answer");
                return self.say(Weight::Trouble, format!("{name} is silent: {why}"));
            }
            (None, None) => return,
        };
        let led = was.filter(|was| was.leads());
        let token = is.fence_token.unwrap_or_default();
        let elected = is_elected(was, is);
        if elected {
            let acts = if is.acting { ", and acts" } else { "" };
            self.say(Weight::News, format!("{name} is elected with {}{acts}", token_text(token)));
        } else if led.is_some() && !is.leads() {
            self.say(Weight::News, format!("{name} no longer leads"));
        }
        let acted = led.is_some_and(|was| was.acting) && !elected;
        if is.acting && !acted && !elected {
            self.say(Weight::News, format!("{name} acts"));
        }
        let reason = is.reason.as_deref().filter(|reason| !is_usual(reason));
        if let Some(reason) = reason
            && gist(Some(reason)) != gist(was.and_then(|was| was.reason.as_deref()))
        {
            self.say(Weight::Trouble, format!("{name}: {reason}"));
        }
        if let (Some(before), Some(now)) = (&before.counts, &now.counts) {
            let failed = now.renewal_failures.saturating_sub(before.renewal_failures);
            if failed > 0 {
                self.say(Weight::Trouble, format!("{name} could not renew its lease"));
            }
        }
    }

    fn of_beliefs(&mut self, before: &Look, now: &Look) {
        let names = |look: &Look| look.leading().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        let (were, are) = (names(before), names(now));
        if are.len() > 1 && are != were {
            self.say(Weight::Trouble, format!("{} believe at once that they lead", listed(&are)));
        }
    }

    fn of_effects(&mut self, before: &StoreFigures, now: &StoreFigures) {
        // The store lists the latest first; news is chronological.
        for leader in now.leaders.iter().rev() {
            let known = before.leaders.iter().any(|l| l.node == leader.node && l.token == leader.token);
            if !known {
                let (node, token) = (&leader.node, token_text(leader.token));
                self.say(Weight::News, format!("{node} takes effect with {token}"));
            }
        }
        if now.resources.iter().any(|r| count(before, &r.name, |r| r.accepted) > r.accepted) {
            // Its counters restarted at 0, so differences mean nothing.
            return self.say(Weight::News, "the store was started anew".to_owned());
        }
        if now.stale_accepted > before.stale_accepted {
            let writes = if now.stale_accepted - before.stale_accepted == 1 { "a write" } else { "writes" };
            let leaders = leaders_text(now);
            let what = format!("the store accepted {writes} of a former leader after its successor's: {leaders}");
            self.say(Weight::Alarm, what);
        }
        for resource in &now.resources {
            let refused = resource.refused.saturating_sub(count(before, &resource.name, |r| r.refused));
            if refused > 0 {
                let (name, highest) = (&resource.name, resource.highest_token);
                let what = if refused == 1 { "a request".to_owned() } else { format!("{refused} requests") };
                self.say(
                    Weight::News,
                    format!("the store refused {what} of a former leader on {name}; it is at token {highest}"),
                );
            }
        }
    }
}

fn count(figures: &StoreFigures, resource: &str, of: impl Fn(&super::look::Resource) -> u64) -> u64 {
    figures.resources.iter().find(|r| r.name == resource).map_or(0, of)
}
