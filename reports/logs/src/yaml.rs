//! Documents of YAML, as `kubectl` prints them: `---` stands between them, or nothing does.

use super::{
    rows::{self, Row, Rows},
    wrapped::flat,
};
use serde_json::Value;
use std::{collections::BTreeSet, io::BufRead};

/// The longest document that is read, bytes: it must be held in memory.
const DOCUMENT_MAX: usize = 1 << 26;

/// Does a text begin like YAML, by its first line? Only keys of Kubernetes begin a mapping here: `a: b` may be anything.
pub fn begins(line: &str) -> bool {
    let keys = ["apiVersion:", "kind:", "items:", "object:", "metadata:"];
    let item = line.strip_prefix("- ").is_some_and(|rest| key(rest).is_some());
    line == "---" || line.starts_with("--- ") || item || keys.iter().any(|key| line.starts_with(key))
}

/// The key that a line at the margin begins with.
fn key(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(':')?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (plain && (rest.is_empty() || rest.starts_with(' '))).then_some(name)
}

/// The records of all documents. The first line of its document stands for a record's line number.
pub fn rows(input: impl BufRead + 'static) -> Rows {
    Box::new(documents(input).flat_map(|document| match document.and_then(|(line, text)| records(line, &text)) {
        Ok(records) => records.into_iter().map(Ok).collect(),
        Err(wrong) => vec![Err(wrong)],
    }))
}

/// The text of each document, with its first line.
fn documents(input: impl BufRead + 'static) -> impl Iterator<Item = Result<(u64, String), (u64, String)>> {
    let mut lines = rows::lines(input);
    let (mut text, mut first, mut keys, mut over) = (String::new(), 1, BTreeSet::new(), false);
    std::iter::from_fn(move || {
        while !over {
            let (number, bytes) = match lines.next() {
                Some(Ok(line)) => line,
                Some(Err(wrong)) => {
                    over = true;
                    return Some(Err(wrong));
                }
                None => {
                    over = true;
                    break;
                }
            };
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_end();
            let marked = line == "---" || line.starts_with("--- ") || line == "...";
            // A key that comes back at the margin begins the next object.
            let again = key(line).is_some_and(|key| !keys.insert(key.to_owned()));
            let done = (marked || again).then(|| (first, std::mem::take(&mut text)));
            if done.is_some() {
                (first, keys) = (number, key(line).into_iter().map(str::to_owned).collect());
            }
            if !marked {
                text.push_str(line);
                text.push('\n');
            }
            if text.len() > DOCUMENT_MAX {
                over = true;
                return Some(Err((first, format!("begins a document of more than {DOCUMENT_MAX} bytes"))));
            }
            if let Some(done) = done.filter(|(_, text)| !text.trim().is_empty()) {
                return Some(Ok(done));
            }
        }
        let rest = std::mem::take(&mut text);
        (!rest.trim().is_empty()).then_some(Ok((first, rest)))
    })
}

fn records(line: u64, text: &str) -> Result<Vec<Row>, (u64, String)> {
    let wrong = |what: String| (line, format!("begins a document that is cut off or no YAML: {what}"));
    let options = serde_saphyr::options! { with_snippet: false, alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 }, budget: serde_saphyr::budget! { max_events: 50_000_000, max_nodes: 10_000_000, max_depth: 64 } };
    let value: Value = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let what = error.to_string();
        wrong(what.lines().next().unwrap_or_default().to_owned())
    })?;
    let objects = match value {
        Value::Object(fields) => rows::listed(fields).map_err(|unknown| (line, unknown.to_string()))?,
        Value::Array(all) => {
            let objects = all.into_iter().map(|one| match one {
                Value::Object(fields) => Ok(fields),
                other => Err((line, format!("begins a list of YAML, of which {other} is no mapping"))),
            });
            objects.collect::<Result<_, _>>()?
        }
        Value::Null => Vec::new(),
        other => return Err((line, format!("begins a document of YAML that is no mapping: {other}"))),
    };
    Ok(objects.into_iter().map(|fields| (line, flat(fields))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read(text: &str) -> Vec<Result<(u64, String), (u64, String)>> {
        let rows = rows(Cursor::new(text.to_owned().into_bytes()));
        rows.map(|row| row.map(|(line, fields)| (line, Value::Object(fields).to_string()))).collect()
    }

    #[test]
    fn documents_are_told_apart_with_and_without_dashes() {
        let one = "kind: Lease\nspec:\n  holder: \"a\"\n  n: 3\n";
        let two = one.replace("\"a\"", "b");
        let must = |line: u64, who: &str| Ok((line, format!(r#"{{"kind":"Lease","spec.holder":"{who}","spec.n":3}}"#)));
        assert_eq!(read(&format!("{one}---\n{two}")), [must(1, "a"), must(5, "b")]);
        assert_eq!(read(&format!("---\n{one}{two}")), [must(1, "a"), must(6, "b")]);
        assert_eq!(read("items:\n- a: 1\n- a: 2\nkind: List\n").len(), 2);
        assert_eq!(read("- a: 1\n- a: 2\n").len(), 2);
        assert_eq!(read("---\n---\n"), []);
    }

    #[test]
    fn what_is_no_yaml_is_said_in_one_sentence() {
        for text in ["a: [1, 2\n", "a: \"x\n", "a: {b: 1\n", "a: 1\n\tb: 2\n", "- 1\n", "a: *x\n", "kind: b\n  c: d\n"]
        {
            let all = read(text);
            let (line, what) = all.last().expect("a row").clone().expect_err(text);
            assert!(
                line == 1 && what.len() < 300 && !what.contains('\n') && what.starts_with("begins a"),
                "{text}: {what}"
            );
        }
        let deep = format!("a: {}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&deep)[0].is_err());
        // Each name stands for nine of the one before.
        let mut bomb = "a: &a [x]\n".to_owned();
        for (name, before) in ('b'..='p').zip('a'..) {
            bomb += &format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","));
        }
        assert!(read(&bomb)[0].is_err());
    }
}
