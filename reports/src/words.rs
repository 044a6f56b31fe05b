//! How reports write names, times and counts.

use crate::clock::{Clock, instant};
use protocols::{
    group,
    history::{Header, usual_resources},
    types::{Incarnation, NodeId, RequestId, Resource},
};
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// The names of a history's processes, resources and requests, and the clock that formats its times.
#[derive(Clone, Debug)]
pub struct Names {
    nodes: Vec<String>,
    resources: Vec<String>,
    /// A log's own names of one client's requests.
    requests: (String, Arc<HashMap<String, u64>>),
    clock: Clock,
}

impl Default for Names {
    fn default() -> Self {
        Names::new(&[])
    }
}

impl Names {
    /// Names by [`NodeId`]; a process without one is called by its number.
    pub fn new(names: &[String]) -> Self {
        Names {
            nodes: names.to_vec(),
            resources: usual_resources(),
            requests: Default::default(),
            clock: Clock::default(),
        }
    }

    /// The same with the header's resources, if there is a header.
    pub fn of(names: &[String], header: Option<&Header>) -> Self {
        let resources = header.map_or_else(usual_resources, |h| h.resources.clone());
        Names { resources, ..Names::new(names) }
    }

    /// The names within one of `groups` groups, with its share of the resources.
    pub(crate) fn of_group(&self, group: u16, groups: u16) -> Self {
        let (nodes, each) = (self.nodes.clone(), self.resources.len() / usize::from(groups.max(1)));
        let share = &self.resources[usize::from(group) * each..][..each];
        // A log does not list its groups' resources.
        let usual = || usual_resources().iter().map(|name| group::named(name, group)).collect();
        let resources = match groups {
            0 | 1 => self.resources.clone(),
            _ if self.resources == usual_resources() => usual(),
            _ => share.to_vec(),
        };
        Names { nodes, resources, requests: self.requests.clone(), clock: self.clock }
    }

    /// Takes the names that a history's reader has met so far; `resources` is `None` if they are the usual ones.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        // Processes are only added.
        if nodes.len() != self.nodes.len() {
            self.nodes = nodes.to_vec();
        }
        // So are resources, and this runs for every event.
        let known =
            |resources: &[String]| (resources.len(), resources.last()) == (self.resources.len(), self.resources.last());
        if let Some(resources) = resources.filter(|resources| !known(resources)) {
            self.resources = resources.to_vec();
        }
    }

    /// Sets the clock that formats times.
    pub fn tell_times(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The clock that formats times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Sets a log's own names of this client's requests, with their numbers.
    pub fn call_requests(&mut self, client: &str, requests: HashMap<String, u64>) {
        self.requests = (client.to_owned(), Arc::new(requests));
    }

    /// A request, by a log's own name or by client and number.
    pub(crate) fn request(&self, request: RequestId) -> String {
        let (client, (named, requests)) = (self.node(request.client), &self.requests);
        let theirs =
            || requests.iter().find(|(_, number)| **number == request.number).map(|(theirs, _)| theirs.clone());
        let known = if client == **named { theirs() } else { None };
        known.unwrap_or_else(|| format!("{client}:{}", request.number))
    }

    pub fn resource(&self, resource: Resource) -> Cow<'_, str> {
        match self.resources.get(resource.index()) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("resource-{}", resource.0)),
        }
    }

    pub fn node(&self, node: NodeId) -> Cow<'_, str> {
        match self.nodes.get(node.index()) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("node-{}", node.0)),
        }
    }

    /// An incarnation, by its token, or without one by its generation.
    pub fn incarnation(&self, incarnation: Incarnation) -> String {
        let name = self.node(incarnation.node);
        match incarnation {
            Incarnation { token, .. } if incarnation.has_token() => format!("{name} (token {token})"),
            Incarnation { generation: 0, .. } => name.into_owned(),
            Incarnation { generation, .. } => match (generation >> 16, generation & 0xffff) {
                (0, generation) => format!("{name} (generation {generation})"),
                // A node restarts its count of generations with its process.
                (starts, generation) => format!("{name} (restart {starts}, generation {generation})"),
            },
        }
    }

    /// The number of named resources.
    pub(crate) fn resources(&self) -> usize {
        self.resources.len()
    }

    /// The number of named processes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// A duration in a suitable unit: `312 µs`, `1.25 ms`, `3.5 s`.
pub fn duration(us: f64) -> String {
    let (value, unit) = match us.abs() {
        us_abs if us_abs < 1e3 => return format!("{us:.0} µs"),
        us_abs if us_abs < 1e6 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    let digits = if value.abs() < 100.0 { 2 } else { 1 };
    let text = format!("{value:.digits$}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The time on a wall clock: `2026-01-01 00:00:09.098`, in UTC; or seconds, if it cannot be a clock's time.
pub(crate) fn wall(us: u64) -> String {
    instant(us).map_or_else(|| Clock::default().moment(us), |time| time.format("%Y-%m-%d %H:%M:%S%.3f").to_string())
}

/// Digits grouped by three: `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 write`, `3 writes`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}ies", grouped(n)),
        _ => format!("{} {noun}s", grouped(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_told_from_restarts() {
        let names = Names::new(&["n1".to_owned()]);
        let of = |generation| names.incarnation(Incarnation { token: 0, node: NodeId(0), generation });
        assert_eq!(
            [of(3), of(65_537), of(2 << 16 | 4)],
            ["n1 (generation 3)", "n1 (restart 1, generation 1)", "n1 (restart 2, generation 4)"]
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([grouped(0), grouped(999), grouped(1000), grouped(1234567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([count(1, "write"), count(2, "write"), count(0, "reply")], ["1 write", "2 writes", "0 replies"]);
        let names = Names::new(&["n1".to_owned()]);
        let who = |token, generation| names.incarnation(Incarnation { token, node: NodeId(0), generation });
        assert_eq!(
            [who(7, 1), who(0, 2), who(0, 65537)],
            ["n1 (token 7)", "n1 (generation 2)", "n1 (restart 1, generation 1)"]
        );
        let times = [1_767_225_609_098_043, 951_782_400_000_000, 4_107_542_399_999_999, 9_098_043].map(wall);
        let read = ["2026-01-01 00:00:09.098", "2000-02-29 00:00:00.000", "2100-02-28 23:59:59.999", "9.098 s"];
        assert_eq!(times, read);
        let spans = [312.0, 1250.0, 3_500_000.0, 120_000.0, -2_000.0].map(duration);
        assert_eq!(spans, ["312 µs", "1.25 ms", "3.5 s", "120 ms", "-2 ms"]);
    }
}
