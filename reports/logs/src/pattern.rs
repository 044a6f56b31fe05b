//! Patterns that find fields in text.

use regex_lite::{Captures, Regex};
use scenarios::units::Unread;

/// Times as programs write them at the start of a line. What stands behind a time and belongs to it is taken, too, also
/// where it cannot be read: a time that is read without it would be another one.
const TIME: &str = concat!(
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d?:\d\d:\d\d(?:[.,]\d+)?(?: ?[AaPp][Mm]\b)?",
    r"(?: ?(?:Z|UTC|GMT|CES?T|WES?T|EES?T|BST|MSK|[ECMP][SD]T|IST|JST|AE[SD]T)\b|[+-]\d\d(?::?\d\d)?\b| [+-]\d\d:?\d\d\b)?",
    r"|\d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?:\.\d+)?",
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}",
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?",
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}",
    r"|\d{4} \d\d:\d\d:\d\d\.\d+",
    r"|\d{9,}(?:\.\d+)?\b"
);
/// What stands before the time: the name of who speaks, from `docker compose logs` and `kubectl logs --prefix`, and what
/// syslog, klog, Redis, Ruby's logger, and logs with brackets begin with.
const BEFORE: &str = concat!(
    r"(?:(?<service>\S+)\s+\|\s+|\[pod/(?<pod>[^/\]\s]+)[^\]\s]*\]\s+)?",
    r"(?:<\d+>(?:\d )?|[A-Z], \[|[IWEF]|\[|\d+:[A-Z] )?"
);
/// A word, without the punctuation around it.
const WORD: &str = r#"[^\s"'`,;)\]}]*[^\s"'`,;)\]}.:]"#;
/// What may stand between a word and the space after it, or the end of the line.
const CLOSING: &str = r#"["'`,;:.)\]}]*"#;

/// Text with names in braces for the fields, or a regular expression with named groups.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// The text with which each match begins: it is looked for first, since a regular expression takes longer.
    begins: String,
    /// The longest text that each match contains.
    contains: String,
    /// How many characters are always the same: of two patterns that fit, the one with more says more.
    pub weight: usize,
    /// The names of its fields.
    pub names: Vec<String>,
}

/// The usual head of a line, and what follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head<'t> {
    /// Who speaks, if what runs the program says it.
    pub place: Option<&'t str>,
    pub time: &'t str,
    pub message: &'t str,
}

impl Pattern {
    /// Reads `'[{node}] became leader in term {token}'`. A name in braces is a field: one word, or at the end the rest
    /// of the line. `…` and `...` are any text, and a space is one or more of them. Between slashes stands a regular
    /// expression: `/leader=(?<node>\w+)/`. `{{` is a brace. With `whole`, it must fit a line from its first character to its last.
    ///
    /// # Errors
    /// It is no such pattern: one sentence.
    pub fn read(text: &str, whole: bool) -> Result<Pattern, Unread> {
        let wrong = |what: String| Unread::of(text, what);
        let expression = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')).filter(|text| !text.is_empty());
        let Spelt { source, contains, weight } = match expression {
            Some(expression) => Spelt { source: expression.to_owned(), weight: expression.len(), ..Spelt::default() },
            None => spelt(text).map_err(wrong)?,
        };
        let begins = match expression {
            None if !whole => text.split(|c: char| "{}….".contains(c) || c.is_whitespace()).next().unwrap_or_default(),
            _ => "",
        };
        let source = match () {
            () if whole => format!("^(?:{source})$"),
            () if begins.is_empty() => source,
            () => format!("^(?:{source})"),
        };
        let regex = Regex::new(&source).map_err(|e| wrong(format!("is no pattern: {e}")))?;
        if regex.is_match("") || weight == 0 {
            return Err(wrong("is a pattern that fits every line".to_owned()));
        }
        let names = regex.capture_names().flatten().map(str::to_owned).collect();
        Ok(Pattern { regex, begins: begins.to_owned(), contains, weight, names })
    }

    /// Whether a text may fit, for much less than it costs to find out.
    pub fn may_fit(&self, text: &str) -> bool {
        text.contains(&self.contains)
    }

    /// The fields that the text has, if it fits.
    pub fn fields<'t>(&self, text: &'t str) -> Option<Vec<(&str, &'t str)>> {
        let found = self.may_fit(text).then(|| self.found(text))??;
        let values = self.names.iter().map(|name| (name.as_str(), found.name(name)));
        Some(values.filter_map(|(name, value)| Some((name, value?.as_str()))).collect())
    }

    fn found<'t>(&self, mut text: &'t str) -> Option<Captures<'t>> {
        if self.begins.is_empty() {
            return self.regex.captures(text);
        }
        loop {
            text = &text[text.find(&self.begins)?..];
            let found = self.regex.captures(text);
            if found.is_some() {
                return found;
            }
            text = &text[text.chars().next()?.len_utf8()..];
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// Finds the usual head of lines.
pub struct Heads(Regex);

impl Heads {
    pub fn new() -> Heads {
        let source = format!(r"^{BEFORE}(?<time>{TIME})[\]:,]?(?:\s+(?<message>.*))?$");
        Heads(Regex::new(&source).expect("a constant, which a test compiles"))
    }

    pub fn of<'t>(&self, line: &'t str) -> Option<Head<'t>> {
        let found = self.0.captures(line)?;
        let text = |name: &str| found.name(name).map(|found| found.as_str());
        let (time, message) = (text("time")?, text("message").unwrap_or_default());
        // syslog has the host after the time, and the program with its number after that.
        let mut words = message.splitn(3, ' ');
        let host =
            words.next().filter(|_| is_without_year(time) && words.next().is_some_and(|next| next.ends_with(':')));
        Some(Head { place: text("service").or(text("pod")).or(host), time, message })
    }
}

/// A pattern as a regular expression.
#[derive(Default)]
struct Spelt {
    source: String,
    contains: String,
    weight: usize,
}

fn spelt(text: &str) -> Result<Spelt, String> {
    let (mut spelt, mut literal, mut names) = (Spelt::default(), String::new(), Vec::new());
    let mut rest = text.trim_end();
    while let Some(first) = rest.chars().next() {
        if let Some(after) = dots(rest) {
            spelt.keep(&mut literal);
            spelt.source.push_str(".*?");
            rest = after;
        } else if let Some(brace) = ["{{", "}}"].into_iter().find(|brace| rest.starts_with(brace)) {
            literal.push(first);
            spelt.source.push_str(&regex_lite::escape(first.encode_utf8(&mut [0; 4])));
            rest = &rest[brace.len()..];
        } else if first == '{' {
            spelt.keep(&mut literal);
            let (name, after) = rest[1..].split_once('}').ok_or("opens a brace that does not close")?;
            let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(named) || name.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(format!("has {{{name}}}, and the name of a field has letters, digits and _ only"));
            }
            if names.contains(&name) {
                return Err(format!("has the field {{{name}}} twice"));
            }
            names.push(name);
            spelt.field(name, after);
            rest = after;
        } else if first.is_whitespace() {
            spelt.keep(&mut literal);
            spelt.source.push_str(r"\s+");
            rest = rest.trim_start();
        } else {
            literal.push(first);
            spelt.source.push_str(&regex_lite::escape(first.encode_utf8(&mut [0; 4])));
            rest = &rest[first.len_utf8()..];
        }
    }
    spelt.keep(&mut literal);
    Ok(spelt)
}

fn dots(text: &str) -> Option<&str> {
    text.strip_prefix('…').or_else(|| text.strip_prefix("..."))
}

impl Spelt {
    /// Counts text that is always the same.
    fn keep(&mut self, literal: &mut String) {
        let done = std::mem::take(literal);
        self.weight += done.len();
        if done.len() > self.contains.len() {
            self.contains = done;
        }
    }

    /// Adds a field before what remains of the pattern.
    fn field(&mut self, name: &str, after: &str) {
        let spelt = match (name, after.chars().next()) {
            ("time", _) => format!("(?<time>{TIME})"),
            ("message", None) => "(?<message>.*)".to_owned(),
            (_, None) => format!(r"(?<{name}>\S.*?){CLOSING}\s*$"),
            // A word that ends there.
            (_, Some(_)) if dots(after).is_some() => format!(r"(?<{name}>{WORD})(?:{CLOSING}$|{CLOSING}\s|[^\w,.:-])"),
            // Up to the bracket that closes it.
            (_, Some(close)) if ")]}>\"'`".contains(close) => {
                format!(r"(?<{name}>[^\s{}]+?)", regex_lite::escape(close.encode_utf8(&mut [0; 4])))
            }
            _ => format!(r"(?<{name}>\S+?)"),
        };
        self.source.push_str(&spelt);
    }
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn month(name: &str) -> Option<u8> {
    (1..).zip(MONTHS).find_map(|(number, known)| (known == name).then_some(number))
}

/// Is it a time of klog's, `0501 10:00:00.123456`, or of syslog's, `Jan 12 03:10:43`?
pub fn is_without_year(time: &str) -> bool {
    month_of(time).is_some()
}

/// The month of a time without a year.
pub fn month_of(time: &str) -> Option<u8> {
    let parts: Vec<&str> = time.split_whitespace().collect();
    match parts[..] {
        [day, _] if day.len() == 4 && day.bytes().all(|byte| byte.is_ascii_digit()) => day[..2].parse().ok(),
        [name, _, _] => month(name),
        _ => None,
    }
}

/// A time as text that [`super::times::Times`] reads; times without a year get this one.
pub fn with_year(time: &str, year: u32) -> String {
    let parts: Vec<&str> = time.split_whitespace().collect();
    match (month_of(time), &parts[..]) {
        (Some(month), [day, of_day]) => format!("{year}-{month:02}-{}T{of_day}", &day[2..]),
        (Some(month), [_, day, of_day]) => format!("{year}-{month:02}-{day:0>2}T{of_day}"),
        // Redis: `01 Jan 2023 10:00:00.123`.
        (None, [day, name, year, of_day]) if year.len() == 4 && month(name).is_some() => {
            format!("{year}-{:02}-{day:0>2}T{of_day}", month(name).unwrap_or_default())
        }
        _ => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> Option<Vec<(String, String)>> {
        let pattern = Pattern::read(pattern, false).expect("a pattern");
        let fields = pattern.fields(text)?;
        Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn pairs(all: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn names_in_braces_are_fields() {
        for (pattern, text, must) in [
            (
                "[Controller id={node}] … elected as the controller. Epoch incremented to {token} and",
                "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 5 and epoch zk",
                &[("node", "1"), ("token", "5")][..],
            ),
            ("acquired lease {resource}", "acquired  lease kube-system/x.", &[("resource", "kube-system/x")]),
            ("at {node} [", r#"leader="Node at 127.0.0.1:8300 [Leader]""#, &[("node", "127.0.0.1:8300")]),
            ("{node}: stored", "10.0.0.1:8300: stored i1", &[("node", "10.0.0.1:8300")]),
            (r"/leader=(?<node>\w+)/", "leader=n1,x", &[("node", "n1")]),
            // A field takes no more than its own word, whatever stands before it.
            ("[{node}] stored {request} (", "[INFO] [n1] stored i-1 (epoch 7)", &[("node", "n1"), ("request", "i-1")]),
            ("{node} stored {request} (", "[pool-1] n1 stored i1 (x)", &[("node", "n1"), ("request", "i1")]),
            // It may begin later than where it first seems to.
            ("won: {node} lost", "won: a won: b lost", &[("node", "b")]),
            ("won {{\"id\": \"{node}\"}}", r#"won {"id": "n1"}"#, &[("node", "n1")]),
            // At the end it takes all of the rest, and before dots one whole word.
            ("stored by {node}", "stored by node A", &[("node", "node A")]),
            ("in epoch {token}", "in epoch 1,025.", &[("token", "1,025")]),
            ("in epoch {token}…", "in epoch 25, and on", &[("token", "25")]),
        ] {
            assert_eq!(found(pattern, text), pairs(must), "{pattern}: {text}");
        }
        assert_eq!(found("became leader", "became follower"), None);
        assert_eq!(found("in epoch {token}…", "in epoch 1,025"), None);
    }

    #[test]
    fn a_pattern_that_is_none_says_why() {
        for (text, why) in [
            ("{node", "opens a brace"),
            ("{}", "letters, digits"),
            ("{a} {a}", "twice"),
            ("/(/", "is no pattern"),
            ("…", "fits every line"),
            ("{node} {token}", "fits every line"),
            ("", "fits every line"),
        ] {
            let error = Pattern::read(text, false).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn lines_begin_with_their_time_in_many_ways() {
        let heads = Heads::new();
        for (line, place, time, message) in [
            (
                "I0501 10:00:00.123456       1 election.go:258] won",
                "",
                "2024-05-01T10:00:00.123456",
                "1 election.go:258] won",
            ),
            ("[2019-05-29 12:26:43,613: INFO/Main] beat", "", "2019-05-29 12:26:43,613", "INFO/Main] beat"),
            ("[2021/02/19 10:19:41.651 +08:00] [WARN] x", "", "2021/02/19 10:19:41.651 +08:00", "[WARN] x"),
            ("I, [2026-05-01T10:00:00.123456 #42]  INFO -- : x", "", "2026-05-01T10:00:00.123456", "#42]  INFO -- : x"),
            ("Jan  2 03:10:43 lb2 vrrp[1188]: (VI_1) x", "lb2", "2024-01-02T03:10:43", "lb2 vrrp[1188]: (VI_1) x"),
            ("1:M 01 Jan 2023 10:00:00.123 * Ready", "", "2023-01-01T10:00:00.123", "* Ready"),
            ("2021-05-06T17:29:58.822+0800 [INFO]  raft: x", "", "2021-05-06T17:29:58.822+0800", "[INFO]  raft: x"),
            ("Sat Sep 16 19:04:02 2023: x", "", "Sat Sep 16 19:04:02 2023", "x"),
            ("<34>1 2003-10-11T22:14:15.003Z host su - x", "", "2003-10-11T22:14:15.003Z", "host su - x"),
            ("kafka-1  | [2023-10-01 13:57:16,393] INFO x", "kafka-1", "2023-10-01 13:57:16,393", "INFO x"),
            ("[pod/n1/app] 2009/11/10 23:00:00 x", "n1", "2009/11/10 23:00:00", "x"),
            ("1559103043.613204 [0 10.0.0.11:50112] \"SET\"", "", "1559103043.613204", "[0 10.0.0.11:50112] \"SET\""),
            ("2026-05-01 10:00:03 PM INFO x", "", "2026-05-01 10:00:03 PM", "INFO x"),
            ("2026-05-01 10:00:03+02 INFO x", "", "2026-05-01 10:00:03+02", "INFO x"),
            ("2026-05-01 10:00:03 CEST x", "", "2026-05-01 10:00:03 CEST", "x"),
            ("2026-05-01 10:00:03 INFO -10 items", "", "2026-05-01 10:00:03", "INFO -10 items"),
        ] {
            let head = heads.of(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(with_year(head.time, 2024), time, "{line}");
            assert_eq!((head.place.unwrap_or_default(), head.message), (place, message), "{line}");
        }
        for line in ["    at java.lang.Thread.run(Thread.java:748)", "I20260501 10:00:00.1 x", "01-May-2026 10:00:03 x"]
        {
            assert_eq!(heads.of(line), None);
        }
    }
}
