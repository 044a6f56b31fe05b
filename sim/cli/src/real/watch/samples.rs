//! Parses metrics as Prometheus does, from a node's or a store's `/metrics`.
//!
//! Source: the OpenMetrics text format, 1.0.0; comments and units are skipped.

/// One number with its labels.
#[derive(Clone, PartialEq, Debug)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// The samples of one answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Samples(Vec<Sample>);

/// The labels in braces, and the rest of the line; `None` if they do not end.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let (mut labels, mut rest) = (Vec::new(), text.trim_start());
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let (mut value, mut chars, mut end) = (String::new(), after.char_indices(), None);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = Some(at + 1);
                    break;
                }
                '\\' => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                c => value.push(c),
            }
        }
        labels.push((name.to_owned(), value));
        rest = &after[end?..];
    }
}

fn sample(line: &str) -> Option<Sample> {
    let name_ends = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(name_ends);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    // A timestamp and an exemplar may follow.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

impl Samples {
    /// Parses an answer; lines that are no samples are skipped.
    pub fn read(text: &str) -> Samples {
        Samples(text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect())
    }

    /// The values of this name, each with the value of its label `by`.
    pub fn by<'a>(&'a self, name: &'a str, by: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let of =
            move |sample: &'a Sample| sample.labels.iter().find(|(label, _)| label == by).map(|(_, value)| &**value);
        self.0.iter().filter(move |sample| sample.name == name).filter_map(move |s| Some((of(s)?, s.value)))
    }

    /// The sum of the values of this name that have at least the labels `with`; `None` if there are none.
    pub fn sum(&self, name: &str, with: &[(&str, &str)]) -> Option<u64> {
        let has =
            |sample: &&Sample| with.iter().all(|(l, v)| sample.labels.iter().any(|(name, is)| name == l && is == v));
        let found: Vec<f64> = self.0.iter().filter(|s| s.name == name).filter(has).map(|s| s.value).collect();
        (!found.is_empty()).then(|| found.iter().sum::<f64>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_their_labels() {
        let text = "# HELP x_total Some {not=\"a label\"} 3\n# TYPE x_total counter\nx_total{a=\"1\",b=\"2\"} 3\n\
            x_total{a=\"q\\\"} \\\\ \\n\",b=\"2\"} 4.0 1700000000 # {trace=\"1\"} 1\nup 1\nratio NaN\nbad{a=\"1 5\nlone\n# EOF\n";
        let samples = Samples::read(text);
        assert_eq!(samples.sum("x_total", &[("b", "2")]), Some(7));
        assert_eq!(samples.sum("x_total", &[("a", "1"), ("b", "2")]), Some(3));
        assert_eq!(samples.sum("x_total", &[("b", "3")]), None);
        assert_eq!(samples.sum("up", &[]), Some(1));
        let by: Vec<_> = samples.by("x_total", "a").collect();
        assert_eq!(by, [("1", 3.0), ("q\"} \\ \n", 4.0)]);
        assert_eq!(samples.0.len(), 4, "{samples:?}");
    }
}
