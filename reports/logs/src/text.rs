//! Logs as text: lines of `key=value` pairs, and text that has no named fields, for which it says how to convert it.

use serde_json::{Map, Value};

/// What to do with a text file that begins with this line. `table`: the file is otherwise read as a table, for want of
/// a better guess.
pub fn told(line: &[u8], table: bool) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    let array =
        line == "[" || line.starts_with("[{") || line.starts_with("[ {") || line == "[]" || line.starts_with("[\t{");
    if line.starts_with("__CURSOR=") {
        return Some("is journald's export; write it with `journalctl --output json`".to_owned());
    }
    if let Some(what) = undated(line) {
        return Some(what);
    }
    if line.starts_with('[') && !array {
        return Some(plain());
    }
    if !table {
        return None;
    }
    if line.starts_with("***") && line.contains(". row ***") {
        return Some(
            "has the columns of each row below one another; let mysql write a table, with --batch and without \\G"
                .to_owned(),
        );
    }
    let cells: Vec<&str> = line.split([',', ';', '\t', '|']).map(|cell| cell.trim().trim_matches('"')).collect();
    let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    if ["NAME", "HOLDER", "AGE"].iter().all(|name| columns.contains(name)) {
        return Some(
            "is the table of `kubectl get lease`, which says neither when a lease was taken nor until when; record Leases with \
             `kubectl get lease -o yaml --watch`"
                .to_owned(),
        );
    }
    if ["LAST SEEN", "REASON", "MESSAGE"].iter().all(|name| columns.contains(name)) {
        return Some(
            "is the table of `kubectl get events`, which has no times; write them with `kubectl get events -o yaml`"
                .to_owned(),
        );
    }
    if cells.len() == 1 && columns.len() > 2 && columns.iter().all(|cell| is_name(cell)) {
        return Some(
            "has columns that are padded with spaces; run `sed -E 's/ {2,}/\\t/g' FILE | fencepost check - --delimiter tab` with \
             the same options"
                .to_owned(),
        );
    }
    (cells.len() == 1 || !cells.iter().all(|cell| cell.is_empty() || is_name(cell))).then(plain)
}

/// What to do with lines that begin with a time such as `10:00:00`, if this is one.
pub fn undated(line: &str) -> Option<String> {
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let (bracket, time) = line.strip_prefix('[').map_or(("", line), |time| (r"\[", time));
    let time = time.get(..8).filter(|time| time.split(':').count() == 3 && time.split(':').all(digits));
    time.map(|_| {
        format!(
            "has times of day without a date; run `sed -E 's/^{bracket}/&2026-05-01 /' FILE | fencepost check -`, with the right date \
             and the same options"
        )
    })
}

fn plain() -> String {
    "is text whose lines do not name their fields; only you can say what its messages mean, as with --elected 'became leader' --deposed 'lost \
     the lease', or what its lines look like, as with --pattern '{time} {node} {verdict} {token}'; or pass --format csv if the \
     first line names the columns"
        .to_owned()
}

/// Could it be the name of a column?
fn is_name(cell: &str) -> bool {
    let signs = |c: char| c.is_alphanumeric() || "_-. @/#()%$".contains(c);
    let a_date = || cell.len() >= 8 && cell.chars().filter(char::is_ascii_digit).count() * 2 > cell.len();
    let words = cell.split(' ').count();
    cell.chars().any(char::is_alphabetic) && cell.len() <= 60 && words <= 4 && cell.chars().all(signs) && !a_date()
}

// Lines of `key=value` pairs.

/// The pairs of a line; `None` if it has none, or one key with two different values. Values with spaces are in double
/// quotes. Words beside the pairs may be what the line says: they are its message, or a field `text` if it has one.
pub fn fields(line: &str) -> Option<Map<String, Value>> {
    let (mut fields, mut words, mut rest) = (Map::new(), Vec::new(), line.trim_start());
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=').filter(|_| is_key(key)) else {
            words.extend((!key.is_empty()).then_some(key));
            rest = after.trim_start();
            if key.is_empty() {
                rest = rest.strip_prefix('=').unwrap_or(rest);
            }
            continue;
        };
        let (value, after) = value(after)?;
        let value = Value::String(value);
        if fields.insert(key.to_owned(), value.clone()).is_some_and(|before| before != value) {
            return None;
        }
        rest = after.trim_start();
    }
    if fields.is_empty() || words.is_empty() {
        return (!fields.is_empty()).then_some(fields);
    }
    let name = if ["msg", "message"].iter().any(|name| fields.contains_key(*name)) { "text" } else { "msg" };
    fields.insert(name.to_owned(), words.join(" ").into()).is_none().then_some(fields)
}

pub fn has_pair(line: &str) -> bool {
    line.split_whitespace().filter_map(|word| word.split_once('=')).any(|(key, _)| is_key(key))
}

/// A line without a byte order mark, the zeros of a file that was truncated while it was written, and the colours of a
/// terminal.
pub fn without_signs(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line.trim_end_matches(['\n', '\r']).chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                // Up to the letter that ends it: `ESC [ 31 m`.
                if rest.clone().next() == Some('[') {
                    rest.by_ref().skip(1).find(|c| c.is_ascii_alphabetic());
                }
            }
            '\0' | '\u{feff}' => {}
            c => clean.push(c),
        }
    }
    clean
}

/// A line in a file of a container runtime's, which may hold a part of the program's line.
pub struct Container<'t> {
    pub time: Option<&'t str>,
    /// Of which stream it is.
    pub stream: usize,
    pub whole: bool,
    pub line: &'t str,
}

pub fn container(raw: &str) -> Container<'_> {
    let mut parts = raw.splitn(4, ' ');
    match std::array::from_fn(|_| parts.next()) {
        [Some(time), Some(stream @ ("stdout" | "stderr")), Some(tag @ ("F" | "P")), Some(line)] => {
            Container { time: Some(time), stream: usize::from(stream == "stderr"), whole: tag == "F", line }
        }
        _ => Container { time: None, stream: 2, whole: true, line: raw.trim_end() },
    }
}

/// Strips the prefix that a container runtime adds: `2026-05-01T10:00:00.000Z stdout F `.
pub fn bare(line: &str) -> &str {
    let container = container(line);
    if container.time.is_some() { container.line } else { line }
}

/// The fencing token that a line of text names, as in `stored i-7 token=12` or `stored i-7 with token 12`.
pub fn token(line: &str) -> Option<String> {
    const NAMES: [&str; 5] = ["token", "fencing_token", "fence_token", "fencing", "fence"];
    let digits = |value: &str| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |name: &str| NAMES.contains(&name.to_lowercase().as_str());
    let words: Vec<&str> =
        line.split([' ', ',', ';', '(', ')', '[', ']', '"', '=', ':']).filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| is_name(pair[0]) && digits(pair[1])).map(|pair| pair.join("="))
}

/// Does a line look like logfmt? It must begin with a pair, and have another.
pub fn looks_like(line: &str) -> bool {
    let line = bare(line);
    let begins = line.split(' ').next().is_some_and(|word| word.split_once('=').is_some_and(|(key, _)| is_key(key)));
    begins && fields(line).is_some_and(|fields| fields.len() > 1)
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.@/".contains(c))
}

/// The value at the start of `text`, and the rest; `None` if its quotes do not close.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(' ').unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut escaped = false;
    let end = quoted.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let value = serde_json::from_str(&text[..end + 2]).unwrap_or_else(|_| quoted[..end].to_owned());
    Some((value, &quoted[end + 1..]))
}

/// Is it what a database's client writes below a table, such as `(4 rows)`, `4 rows in set` and `Time: 1.2 ms`?
pub fn is_footer(line: &str) -> bool {
    let line = line.trim_start_matches('(');
    let rows = || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with("row");
    line.starts_with("Time: ") || (line.starts_with(|c: char| c.is_ascii_digit()) && rows())
}

/// What is wrong with a line among objects that cannot be a part of one.
pub const TEXT: &str = "is text, and no JSON object";
/// What is wrong with one among lines of logfmt.
pub const NO_PAIRS: &str = "is no line of key=value pairs";
const NO_JSON: &str = "is no JSON object";

/// Whether a line that cannot be read may be text about something else. All other errors may hide a record.
pub fn is_text(what: &str) -> bool {
    [TEXT, NO_PAIRS].contains(&what) || what.starts_with(NO_JSON)
}

pub fn not_json(error: &serde_json::Error) -> String {
    format!("{NO_JSON}: {}", place(error))
}

pub fn broken(what: &str, error: &serde_json::Error) -> String {
    format!("is a broken JSON {what}: {}", place(error))
}

fn place(error: &serde_json::Error) -> String {
    let what = error.to_string();
    let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
    format!("{what} (column {})", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_with_and_without_quotes() {
        let fields =
            fields(r#"time=2026-11-24T10:00:00Z level=info msg="a \"write\" = ok" token=7 done"#).expect("pairs");
        assert_eq!(fields["msg"], r#"a "write" = ok"#);
        assert_eq!((fields["token"].as_str(), fields["text"].as_str(), fields.len()), (Some("7"), Some("done"), 5));
        assert_eq!(super::fields("token=7 leader elected").expect("a pair")["msg"], "leader elected");
        assert!(
            looks_like("ts=1 token=2") && !looks_like("ts,token") && !looks_like("a=b") && !looks_like("see a=b c=d")
        );
        assert_eq!(super::fields("no pair here"), None);
        assert_eq!(super::fields("token=1 node=a token=2"), None);
        assert_eq!(super::fields("a=\"never ends"), None);
    }
}
