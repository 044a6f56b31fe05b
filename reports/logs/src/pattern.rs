//! Patterns that find fields in text.

use regex_lite::Regex;
use scenarios::units::Unread;

/// Times as programs write them at the start of a line. The longest forms come first, since the first that fits is taken.
const TIME: &str = concat!(
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d\b))?",
    r"|\d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?:\.\d+)?",
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}",
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?",
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}",
    r"|\d{4} \d\d:\d\d:\d\d\.\d+",
    r"|\d{9,}(?:\.\d+)?\b"
);
/// What stands before the time in syslog, klog, Redis, logs with brackets, and docker compose's output.
const BEFORE: &str = r"(?:\S+\s+\|\s+)?(?:<\d+>(?:\d )?|[IWEF]|\[|\d+:[A-Z] )?";
/// A value at the end of a pattern: a word, without the punctuation around it.
const WORD: &str = r#"[^\s"'`,;)\]}]*[^\s"'`,;)\]}.:]"#;

/// Text with names in braces for the fields, or a regular expression with named groups.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// The longest text that each match contains.
    contains: String,
    /// The names of its fields.
    pub names: Vec<String>,
}

impl Pattern {
    /// Reads `'[{node}] became leader in term {token}'`: a name in braces is a field, `…` or `...` any text, and a
    /// space one or more of them. Between slashes stands a regular expression: `/leader=(?<node>\w+)/`. With `whole`,
    /// it must fit a line from its first character to its last.
    ///
    /// # Errors
    /// It is no such pattern: one sentence.
    pub fn read(text: &str, whole: bool) -> Result<Pattern, Unread> {
        let wrong = |what: String| Unread::of(text, what);
        let expression = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')).filter(|text| !text.is_empty());
        let (source, contains) = match expression {
            Some(expression) => (expression.to_owned(), String::new()),
            None => expression_of(text).map_err(wrong)?,
        };
        let source = if whole { format!("^(?:{source})$") } else { source };
        let regex = Regex::new(&source).map_err(|e| wrong(format!("is no pattern: {e}")))?;
        if regex.is_match("") {
            return Err(wrong("is a pattern that fits every line".to_owned()));
        }
        let names = regex.capture_names().flatten().map(str::to_owned).collect();
        Ok(Pattern { regex, contains, names })
    }

    /// The usual head of a line: its time, and the message after it.
    pub fn usual() -> Pattern {
        let source = format!(r"^{BEFORE}(?<time>{TIME})[\]:,]?\s*(?<message>.*)$");
        let regex = Regex::new(&source).expect("a constant, which a test compiles");
        Pattern { regex, contains: String::new(), names: vec!["time".to_owned(), "message".to_owned()] }
    }

    /// Whether a text may fit, for much less than it costs to find out.
    pub fn may_fit(&self, text: &str) -> bool {
        text.contains(&self.contains)
    }

    /// The fields that the text has, if it fits.
    pub fn fields<'t>(&self, text: &'t str) -> Option<Vec<(&str, &'t str)>> {
        let found = self.regex.captures(text)?;
        let values = self.names.iter().map(|name| (name.as_str(), found.name(name)));
        Some(values.filter_map(|(name, value)| Some((name, value?.as_str()))).collect())
    }
}

/// A pattern as a regular expression, and the longest text in it that is always the same.
fn expression_of(text: &str) -> Result<(String, String), String> {
    let (mut source, mut literal, mut longest, mut names) = (String::new(), String::new(), String::new(), Vec::new());
    let mut rest = text;
    let mut keep = |literal: &mut String| {
        let done = std::mem::take(literal);
        if done.trim().len() > longest.len() {
            longest = done.trim().to_owned();
        }
    };
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix('…').or_else(|| rest.strip_prefix("...")) {
            keep(&mut literal);
            source.push_str(".*?");
            rest = after;
        } else if first == '{' {
            keep(&mut literal);
            let (name, after) = rest[1..].split_once('}').ok_or("opens a brace that does not close")?;
            let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(named) || name.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(format!("has {{{name}}}, and the name of a field has letters, digits and _ only"));
            }
            if names.contains(&name) {
                return Err(format!("has the field {{{name}}} twice"));
            }
            names.push(name);
            let value = match (name, after.is_empty()) {
                ("time", _) => TIME,
                ("message", true) => ".*",
                (_, true) => WORD,
                _ => ".+?",
            };
            source.push_str(&format!("(?<{name}>{value})"));
            rest = after;
        } else if first.is_whitespace() {
            // Whatever the spaces of the log are.
            keep(&mut literal);
            source.push_str(r"\s+");
            rest = rest.trim_start();
        } else {
            literal.push(first);
            source.push_str(&regex_lite::escape(first.encode_utf8(&mut [0; 4])));
            rest = &rest[first.len_utf8()..];
        }
    }
    keep(&mut literal);
    Ok((source, longest))
}

/// A time as text that [`super::times::Times`] reads; times without a year get this one.
pub fn with_year(time: &str, year: u32) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = |name: &str| MONTHS.iter().position(|known| *known == name).map(|place| place + 1);
    let parts: Vec<&str> = time.split_whitespace().collect();
    match parts[..] {
        // klog: `0501 10:00:00.123456`.
        [day, of_day] if day.len() == 4 && day.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{year}-{}-{}T{of_day}", &day[..2], &day[2..])
        }
        // syslog: `Jan 12 03:10:43`.
        [name, day, of_day] if month(name).is_some() => {
            format!("{year}-{:02}-{day:0>2}T{of_day}", month(name).unwrap_or_default())
        }
        // Redis: `01 Jan 2023 10:00:00.123`.
        [day, name, year, of_day] if month(name).is_some() && year.len() == 4 => {
            format!("{year}-{:02}-{day:0>2}T{of_day}", month(name).unwrap_or_default())
        }
        _ => time.to_owned(),
    }
}

/// The year of the first date in a text.
pub fn year(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    let date = |at: &[u8]| {
        let digits = |range: std::ops::Range<usize>| at[range].iter().all(u8::is_ascii_digit);
        let signs = (at[4] == b'-' || at[4] == b'/') && at[7] == at[4];
        signs && digits(0..4) && digits(5..7) && digits(8..10)
    };
    let at = bytes.windows(10).position(date)?;
    text[at..at + 4].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> Option<Vec<(String, String)>> {
        let pattern = Pattern::read(pattern, false).expect("a pattern");
        let fields = pattern.fields(text).filter(|_| pattern.may_fit(text))?;
        Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn pairs(all: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn names_in_braces_are_fields() {
        let text = "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 5 and epoch zk";
        let pattern = "[Controller id={node}] … elected as the controller. Epoch incremented to {token} and";
        assert_eq!(found(pattern, text), pairs(&[("node", "1"), ("token", "5")]));
        assert_eq!(
            found("acquired lease {resource}", "acquired  lease kube-system/x."),
            pairs(&[("resource", "kube-system/x")])
        );
        assert_eq!(
            found("at {node}", r#"leader="Node at 127.0.0.1:8300 [Leader]""#),
            pairs(&[("node", "127.0.0.1:8300")])
        );
        assert_eq!(found("became leader", "became follower"), None);
        assert_eq!(found(r"/leader=(?<node>\w+)/", "leader=n1,x"), pairs(&[("node", "n1")]));
    }

    #[test]
    fn a_pattern_that_is_none_says_why() {
        for (text, why) in [
            ("{node", "opens a brace"),
            ("{}", "letters, digits"),
            ("{a}{a}", "twice"),
            ("/(/", "is no pattern"),
            ("…", "fits every line"),
            ("", "fits every line"),
        ] {
            let error = Pattern::read(text, false).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn lines_begin_with_their_time_in_many_ways() {
        for (line, time, message) in [
            (
                "I0501 10:00:00.123456       1 leaderelection.go:258] won",
                "2024-05-01T10:00:00.123456",
                "1 leaderelection.go:258] won",
            ),
            ("[2019-05-29 12:26:43,613: INFO/MainProcess] beat", "2019-05-29 12:26:43,613", "INFO/MainProcess] beat"),
            ("[2021/02/19 10:19:41.651 +08:00] [WARN] x", "2021/02/19 10:19:41.651 +08:00", "[WARN] x"),
            (
                "Jan 12 03:10:43 lb2 Keepalived_vrrp[1188]: (VI_1) x",
                "2024-01-12T03:10:43",
                "lb2 Keepalived_vrrp[1188]: (VI_1) x",
            ),
            ("1:M 01 Jan 2023 10:00:00.123 * Ready", "2023-01-01T10:00:00.123", "* Ready"),
            ("2021-05-06T17:29:58.822+0800 [INFO]  raft: x", "2021-05-06T17:29:58.822+0800", "[INFO]  raft: x"),
            ("Sat Sep 16 19:04:02 2023: x", "Sat Sep 16 19:04:02 2023", "x"),
            ("<34>1 2003-10-11T22:14:15.003Z host su - x", "2003-10-11T22:14:15.003Z", "host su - x"),
            ("kafka-1  | [2023-10-01 13:57:16,393] INFO x", "2023-10-01 13:57:16,393", "INFO x"),
            ("2009/11/10 23:00:00 x", "2009/11/10 23:00:00", "x"),
            ("1559103043.613204 [0 10.0.0.11:50112] \"SET\"", "1559103043.613204", "[0 10.0.0.11:50112] \"SET\""),
        ] {
            let usual = Pattern::usual();
            let fields = usual.fields(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(with_year(fields[0].1, 2024), time, "{line}");
            assert_eq!(fields[1].1, message, "{line}");
        }
        assert_eq!(Pattern::usual().fields("    at java.lang.Thread.run(Thread.java:748)"), None);
        assert_eq!(year("time=\"2023-11-16T20:54:55Z\" level=info"), Some(2023));
        assert_eq!(year("version 1.2.3"), None);
    }
}
