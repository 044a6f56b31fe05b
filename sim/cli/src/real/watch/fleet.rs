//! A fleet's recent history: events, rates, and the headline.

use super::{
    look::{Look, Resource},
    news::{self, News, Weight, leaders_text, listed, token_text},
};
use std::collections::VecDeque;

/// Number of looks that are kept: as many marks as the widest terminal shows.
const LOOKS_MAX: usize = 512;
/// Number of sentences that are kept.
const NEWS_MAX: usize = 1_000;
/// The period that rates are averaged over.
const RATE_OVER_MS: u64 = 5_000;
/// More than [`CHANGES_MAX`] leaderships within this time count as oscillation.
const CHANGES_WITHIN_MS: u64 = 60_000;
/// Number of changes within that time that are unremarkable.
const CHANGES_MAX: usize = 2;

/// A node's state at one look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Acts,
    /// It believes that it leads, but does not act.
    Believes,
    Follows,
    /// It knows no leader.
    Stands,
    /// It did not answer.
    Silent,
}

impl Mark {
    /// Its sign, the same as in reports if they have one.
    pub const fn sign(self) -> char {
        match self {
            Mark::Acts => '█',
            Mark::Believes => '▒',
            Mark::Follows => '·',
            Mark::Stands => '?',
            Mark::Silent => '×',
        }
    }
}

/// The store's decisions between two looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMark {
    /// A write was accepted.
    Accepted,
    /// A write was refused, whatever else was accepted.
    Refused,
    /// A former leader's write was accepted.
    Stale,
    /// Nothing was decided.
    Idle,
    /// Unknown.
    Silent,
}

impl StoreMark {
    pub const fn sign(self) -> char {
        match self {
            StoreMark::Accepted => '┃',
            StoreMark::Refused => '✗',
            StoreMark::Stale => '!',
            StoreMark::Idle => '·',
            StoreMark::Silent => '×',
        }
    }
}

/// A fleet over time.
#[derive(Default)]
pub struct Fleet {
    looks: VecDeque<Look>,
    news: VecDeque<News>,
    /// When each leadership was first seen.
    changes: VecDeque<u64>,
    /// Name and token of the acting leader, and since when it acts.
    acting: Option<(String, Option<u64>, u64)>,
    /// Since when nobody acts.
    nobody_since: Option<u64>,
    /// Two leaders have taken effect at once since watching began.
    broken: bool,
}

impl Fleet {
    /// Adds the next look. Returns the news.
    pub fn take(&mut self, look: Look) -> Vec<News> {
        let (mut told, leaderships) = match self.looks.back() {
            Some(before) => (news::between(before, &look), news::elections(before, &look)),
            None => (vec![begun(&look)], 0),
        };
        self.changes.extend(std::iter::repeat_n(look.at_ms, leaderships));
        while self.changes.front().is_some_and(|at| at + CHANGES_WITHIN_MS < look.at_ms) {
            self.changes.pop_front();
        }
        told.extend(self.tell_actor(&look));
        self.broken |= told.iter().any(|news| news.weight == Weight::Alarm);
        self.broken |= look.figures().is_some_and(|figures| figures.leaders_acting > 1);
        self.news.extend(told.iter().cloned());
        self.looks.push_back(look);
        self.news.drain(..self.news.len().saturating_sub(NEWS_MAX));
        self.looks.drain(..self.looks.len().saturating_sub(LOOKS_MAX));
        told
    }

    /// Tracks who acts, and reports when nobody acts any more, or for how long nobody did.
    fn tell_actor(&mut self, look: &Look) -> Option<News> {
        let at_ms = look.at_ms;
        let actor = look.acting().max_by_key(|(_, status)| status.fence_token);
        let Some((name, status)) = actor else {
            self.acting = None;
            if self.nobody_since.is_some() {
                return None;
            }
            self.nobody_since = Some(at_ms);
            return (!self.looks.is_empty()).then(|| News {
                at_ms,
                weight: Weight::Trouble,
                text: "nobody acts".to_owned(),
            });
        };
        if self.acting.as_ref().is_none_or(|(who, token, _)| who != name || *token != status.fence_token) {
            self.acting = Some((name.to_owned(), status.fence_token, at_ms));
        }
        let dark = self.nobody_since.take()?;
        let text = format!("nobody acted for {}", seconds(at_ms.saturating_sub(dark)));
        (!self.looks.is_empty()).then_some(News { at_ms, weight: Weight::News, text })
    }

    pub fn last(&self) -> Option<&Look> {
        self.looks.back()
    }

    /// The news, latest last.
    pub fn news(&self) -> impl DoubleEndedIterator<Item = &News> {
        self.news.iter()
    }

    /// A counter's recent increase per second; `None` while it is unknown.
    fn rate(&self, count: impl Fn(&Look) -> Option<u64>) -> Option<f64> {
        let last = self.looks.back()?;
        let earliest = self.looks.iter().find(|look| look.at_ms + RATE_OVER_MS >= last.at_ms)?;
        // A restarted process counts from 0 again.
        let risen = count(last)?.checked_sub(count(earliest)?)?;
        let ms = last.at_ms.checked_sub(earliest.at_ms).filter(|ms| *ms > 0)?;
        Some(risen as f64 * 1e3 / ms as f64)
    }

    /// Writes per second that the store has answered to this node.
    pub fn node_writes_per_s(&self, name: &str) -> Option<f64> {
        self.rate(|look| {
            let node = look.nodes.iter().find(|node| node.name == name)?;
            node.counts.as_ref().map(|counts| counts.writes)
        })
    }

    /// A resource's counter, per second.
    pub fn resource_per_s(&self, name: &str, count: impl Fn(&Resource) -> u64) -> Option<f64> {
        self.rate(|look| look.figures()?.resources.iter().find(|r| r.name == name).map(&count))
    }

    /// The node's states at the last `width` looks.
    pub fn marks(&self, name: &str, width: usize) -> Vec<Mark> {
        let from = self.looks.len().saturating_sub(width);
        let mark = |look: &Look| match look.nodes.iter().find(|node| node.name == name)?.status.as_ref() {
            None => Some(Mark::Silent),
            Some(status) if status.leads() && status.acting => Some(Mark::Acts),
            Some(status) if status.leads() => Some(Mark::Believes),
            Some(status) if status.role == "follower" => Some(Mark::Follows),
            Some(_) => Some(Mark::Stands),
        };
        self.looks.range(from..).filter_map(mark).collect()
    }

    /// The store's decisions at the last `width` looks.
    pub fn store_marks(&self, width: usize) -> Vec<StoreMark> {
        let from = self.looks.len().saturating_sub(width);
        let mark = |at: usize| {
            let Some(now) = self.looks[at].figures() else { return StoreMark::Silent };
            let Some(before) = at.checked_sub(1).and_then(|at| self.looks[at].figures()) else {
                return StoreMark::Idle;
            };
            let sum = |of: &super::look::StoreFigures, count: fn(&Resource) -> u64| -> u64 {
                of.resources.iter().map(count).sum()
            };
            if now.stale_accepted > before.stale_accepted {
                StoreMark::Stale
            } else if sum(now, |r| r.refused) > sum(before, |r| r.refused) {
                StoreMark::Refused
            } else if sum(now, |r| r.accepted) > sum(before, |r| r.accepted) {
                StoreMark::Accepted
            } else {
                StoreMark::Idle
            }
        };
        (from..self.looks.len()).map(mark).collect()
    }

    /// The state of the fleet in one sentence, and its weight.
    pub fn headline(&self) -> (Weight, String) {
        let Some(look) = self.last() else { return (Weight::Calm, "Looking …".to_owned()) };
        if let Some(figures) = look.figures().filter(|figures| figures.leaders_acting > 1) {
            let text = format!("{} leaders took effect at once: {}", figures.leaders_acting, leaders_text(figures));
            return (Weight::Alarm, text);
        }
        if look.nodes.iter().all(|node| node.status.is_none()) {
            return (Weight::Trouble, "No node answers".to_owned());
        }
        let acting: Vec<String> = look.acting().map(|(name, _)| name.to_owned()).collect();
        if acting.len() > 1 {
            let text = format!("{} say that they act; the store accepts the higher token's writes", listed(&acting));
            return (Weight::Trouble, text);
        }
        if let Some((name, token, since)) = &self.acting {
            let token = token_text(token.unwrap_or_default());
            let lasting = match look.at_ms.saturating_sub(*since) {
                0 => String::new(),
                ms => format!(", for {} as seen from here", seconds(ms)),
            };
            let often = self.changes.len() > CHANGES_MAX;
            let text = format!("{name} leads and acts with {token}{lasting}");
            return match (look.figures().map_or(0, |figures| figures.stale_accepted), often) {
                (1.., _) => (Weight::Alarm, format!("{text}; the store has accepted a former leader's writes")),
                (_, true) => (Weight::Trouble, format!("{text}; {} elections within a minute", self.changes.len())),
                (_, false) => (Weight::Calm, text),
            };
        }
        let nobody = self.nobody_since.map_or(0, |since| look.at_ms.saturating_sub(since));
        let for_long = if nobody > 0 { format!(" for {}", seconds(nobody)) } else { String::new() };
        let why = look.leading().next().map_or_else(
            || "nobody believes that it leads".to_owned(),
            |(name, status)| {
                format!("{name} leads and cannot act: {}", status.reason.as_deref().unwrap_or("it does not say why"))
            },
        );
        (Weight::Trouble, format!("Nobody acts{for_long}: {why}"))
    }

    /// True if two leaders have taken effect at once since watching began.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}

/// The news of the first look.
fn begun(look: &Look) -> News {
    let (answer, all) = (look.nodes.iter().filter(|node| node.status.is_some()).count(), look.nodes.len());
    let leaders: Vec<String> = look.leading().map(|(name, _)| name.to_owned()).collect();
    let lead = match &leaders[..] {
        [] => "nobody leads".to_owned(),
        [one] => format!("{one} leads"),
        many => format!("{} believe that they lead", listed(many)),
    };
    let text = format!("{answer} of {all} nodes answer, {lead}");
    News { at_ms: look.at_ms, weight: if answer < all { Weight::Trouble } else { Weight::Calm }, text }
}

/// A duration in words.
pub fn seconds(ms: u64) -> String {
    match ms {
        ..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// The time of day, UTC, as in the nodes' logs.
pub fn time_of_day(at_ms: u64) -> String {
    let s = at_ms / 1_000 % 86_400;
    format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60)
}
