//! Accepted and refused writes in the story.

use super::{About, Highlights, Mark, Row};
use crate::{told, words::count};
use protocols::{
    message::Write,
    types::{Incarnation, Resource},
};

/// How many lines show stale writes of one leadership; later ones share lines, whatever their resource.
const LINES_MOST: usize = 6;

impl Highlights {
    pub(super) fn accepted(&mut self, t_us: u64, incarnation: Incarnation, write: &Write, stale: bool) {
        self.accepted += 1;
        let first = self.leaders.accepted(t_us, incarnation, write.resource, stale);
        if *self.in_effect.of(write.resource) == Some(incarnation) && !stale {
            return;
        }
        *self.in_effect.at(write.resource) = Some(incarnation);
        if !self.fixed {
            self.state(incarnation.node);
        }
        if stale {
            self.writes(t_us, incarnation, write, true, 0);
        } else if first && write.resource == Resource::SEQUENCE {
            // A log's resources have names of their own.
            let on = self.names.resource(write.resource);
            let on = (!self.fixed).then_some(&*on);
            let text = told::takes_effect(&self.names.incarnation(incarnation), on, write.seq);
            self.row(t_us, Mark::Accepted(incarnation.node), About::Other, text);
        }
    }

    pub(super) fn fenced(&mut self, t_us: u64, incarnation: Incarnation, write: &Write, highest: u64) {
        self.leaders.refused(incarnation);
        if !self.fixed {
            self.state(incarnation.node);
        }
        self.writes(t_us, incarnation, write, false, highest);
    }

    /// Takes a stale write, refused or accepted. Successive ones share a line.
    fn writes(&mut self, t_us: u64, incarnation: Incarnation, write: &Write, accepted: bool, highest: u64) {
        let (resource, seq) = (write.resource, write.seq);
        let mut writes = 1;
        let mut first_seq = seq;
        if let Some(Row {
            about: About::Writes { incarnation: i, resource: r, accepted: a, writes: w, first_seq: f, .. },
            ..
        }) = self.last()
        {
            if (*i, *r, *a) == (incarnation, resource, accepted) {
                (writes, first_seq) = (*w + 1, *f);
            }
        }
        if writes == 1 && self.is_enough(t_us, incarnation, accepted) {
            return;
        }
        let who = self.names.incarnation(incarnation);
        let on = self.names.resource(resource);
        let what = told::writes(writes, told::numbers(write), first_seq, &who, &on);
        let text = match accepted {
            true => told::stale(&what),
            false => told::refused(&what, (highest > 0).then(|| highest.to_string()).as_deref()),
        };
        let mark = if accepted { Mark::Stale(incarnation.node) } else { Mark::Refused(incarnation.node) };
        let about = About::Writes { incarnation, resource, accepted, writes, first_seq, highest };
        match self.last() {
            Some(row) if writes > 1 => (row.text, row.about) = (text, about),
            _ => self.row(t_us, mark, about, text),
        }
    }

    /// Have enough such writes been listed? Then they are only counted.
    fn is_enough(&mut self, t_us: u64, incarnation: Incarnation, accepted: bool) -> bool {
        let lines = self.stale_lines.entry((incarnation, accepted)).or_default();
        if *lines < LINES_MOST {
            *lines += 1;
            return false;
        }
        let mut writes = 1;
        if let Some(Row { about: About::More { incarnation: i, accepted: a, writes: before, .. }, .. }) = self.last()
            && (*i, *a) == (incarnation, accepted)
        {
            writes = *before + 1;
        }
        let (what, mark) = match accepted {
            true => ("ACCEPTED although stale", Mark::Stale(incarnation.node)),
            false => ("refused", Mark::Refused(incarnation.node)),
        };
        let who = self.names.incarnation(incarnation);
        let text = format!("{what}: {} of {who}", count(writes, "more write"));
        let about = About::More { incarnation, accepted, writes, until_us: t_us };
        match self.last() {
            Some(row) if writes > 1 => (row.text, row.about) = (text, about),
            _ => self.row(t_us, mark, about, text),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Names,
        text::paint::Paint,
        timeline::{Highlights, draw::draw},
    };
    use protocols::history::{Sink, json::Reader};

    fn drawn(log: &str) -> String {
        let mut reader = Reader::new(log.as_bytes()).expect("a log");
        let mut highlights = Highlights::new(None, &Names::default());
        while let Some(event) = reader.next() {
            let event = event.expect("an event");
            highlights.learn(reader.names(), reader.resources());
            highlights.record(&event);
        }
        highlights.finish();
        draw(&highlights, Paint { colour: false, width: 200 }).join("\n")
    }

    fn write(t: u64, on: &str, token: u64, seq: u64) -> String {
        format!(
            "{{\"t_us\":{t},\"event\":\"apply\",\"resource\":\"{on}\",\"node\":\"w{token}\",\"token\":{token},\"seq\":{seq},\"verdict\":\"ok\"}}\n"
        )
    }

    #[test]
    fn a_log_is_told_to_its_end() {
        let log: String = (1..10).map(|n| write(n * 1_000_000, "sequence", 4, n)).collect();
        let text = drawn(&log);
        assert!(
            text.contains("8 writes accepted in 8 s") && text.contains("9.000") && text.contains("the log ends"),
            "{text}"
        );
    }

    #[test]
    fn many_stale_writes_on_two_resources_share_a_line() {
        let mut log = [write(1, "sequence", 7, 1), write(2, "schedule", 7, 1)].concat();
        for n in 2..52 {
            log += &[write(n * 1_000_000, "sequence", 5, n), write(n * 1_000_000 + 9, "schedule", 5, n)].concat();
        }
        let text = drawn(&log);
        let told = text.lines().filter(|line| line.contains("ACCEPTED although stale")).count();
        assert_eq!(told, 7, "{text}");
        assert!(text.contains("ACCEPTED although stale: 94 more writes of w5 (token 5), until 51.000 s"), "{text}");
    }
}
