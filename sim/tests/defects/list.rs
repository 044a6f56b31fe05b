//! The list of injected defects, and how all of them get into one build.
//!
//! Each file next to this one is an area. A defect is a heading with its name, a sentence, its place, and a diff of the
//! present and the defective code. When the code is located, blanks and line ends are ignored, as is a comma before a
//! closing bracket, so reformatting does not matter. `after` names a text that occurs once in the file, and the first
//! occurrence behind it counts. The build contains both versions, and an environment variable selects one; so both must
//! compile: as statements, or as expressions of one type.

use std::{collections::BTreeMap, fs, ops::Range, path::Path};

/// The areas in the order of the table, with their titles.
pub const AREAS: [(&str, &str); 14] = [
    ("electors", "electors"),
    ("clients", "clients of the services"),
    ("store", "ledger and store"),
    ("nodes", "node, work and load"),
    ("services", "models of the services"),
    ("world", "the world"),
    ("judge", "the judge"),
    ("second", "a second list, written without knowing the first"),
    ("third", "a third list: coordination services, members, copies and shards"),
    ("fourth", "a fourth list: faults of the world, margins, notifications, canaries"),
    ("fifth", "a fifth list: second takeovers, margins, notifications, works and orders"),
    ("sixth", "a sixth list, written without knowing the checks"),
    ("seventh", "a seventh list, written without knowing the checks"),
    ("seat", "the seat"),
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defect {
    /// In kebab case.
    pub id: String,
    /// The list file that contains it, without its extension.
    pub area: &'static str,
    /// What is wrong, and how it may come about.
    pub about: String,
    /// The source file, relative to the repository's root.
    pub file: String,
    /// A text in the file behind which the code is located.
    pub after: Option<String>,
    /// The present code.
    pub old: String,
    /// The defective code.
    pub new: String,
    pub found_by: FoundBy,
}

/// What should detect a defect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundBy {
    /// A sweep with default arguments.
    Sweep,
    /// Only a test.
    Unit {
        /// The arguments of `cargo test` that run it.
        test: String,
        /// The package that it is in, if that is not of the workspace: a folder, relative to the repository's root. Sweeps
        /// have nothing of such a package, so they are not measured.
        folder: Option<String>,
        /// Why a test is enough.
        because: String,
    },
}

impl Defect {
    /// Whether sweeps run the code that it is in.
    pub fn is_swept(&self) -> bool {
        !matches!(self.found_by, FoundBy::Unit { folder: Some(_), .. })
    }
}

/// Reads the list in `folder`, in the order of the areas.
///
/// # Errors
/// A sentence for each error in the list.
pub fn read(folder: &Path) -> Result<Vec<Defect>, Vec<String>> {
    let (mut defects, mut wrong) = (Vec::new(), Vec::new());
    for (area, _) in AREAS {
        let path = folder.join(format!("{area}.md"));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                wrong.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        for section in text.split("\n## ").skip(1) {
            match defect(area, section) {
                Ok(defect) => defects.push(defect),
                Err(why) => wrong.push(format!("{area}.md: {}: {why}", section.lines().next().unwrap_or_default())),
            }
        }
    }
    let mut known = BTreeMap::new();
    for defect in &defects {
        if known.insert(&defect.id, ()).is_some() {
            wrong.push(format!("{}: two defects have this name", defect.id));
        }
    }
    if wrong.is_empty() { Ok(defects) } else { Err(wrong) }
}

/// Parses a section of a list file, without its heading's marks.
fn defect(area: &'static str, section: &str) -> Result<Defect, String> {
    let mut lines = section.lines();
    let id = lines.next().unwrap_or_default().trim().to_owned();
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Err("a name has small letters, digits and hyphens only".to_owned());
    }
    let (mut about, mut fields, mut old, mut new) = (Vec::new(), BTreeMap::new(), Vec::new(), Vec::new());
    let mut in_diff = false;
    for line in lines {
        match line {
            "```diff" => in_diff = true,
            "```" => in_diff = false,
            line if in_diff => match (line.strip_prefix("- "), line.strip_prefix("+ ")) {
                (Some(line), _) => old.push(line),
                (_, Some(line)) => new.push(line),
                _ => return Err(format!("`{line}` in the diff begins with neither `- ` nor `+ `")),
            },
            line => match line.strip_prefix("- ").and_then(|field| field.split_once(": ")) {
                Some((name, value)) => drop(fields.insert(name, value.trim().to_owned())),
                None if line.trim().is_empty() => {}
                None => about.push(line.trim()),
            },
        }
    }
    if old.is_empty() || new.is_empty() {
        return Err("the diff needs lines with `- ` and lines with `+ `".to_owned());
    }
    let file = fields.remove("file").ok_or("`- file: …` is missing")?;
    let found_by = found_by(&fields.remove("found by").ok_or("`- found by: …` is missing")?)?;
    let after = fields.remove("after");
    if let Some(unknown) = fields.keys().next() {
        return Err(format!("`{unknown}` is none of file, after and found by"));
    }
    let (about, old, new) = (about.join(" "), old.join("\n"), new.join("\n"));
    if let Some(half) = [&old, &new].into_iter().find(|text| !is_balanced(text)) {
        return Err(format!("`{half}` opens or closes a bracket that it does not close or open"));
    }
    if old.starts_with("let ") && !old.starts_with("let _ ") {
        return Err(format!("`{old}` names a value for what follows; give the expression alone"));
    }
    // The code is replaced by a block, which cannot be a pattern or a match arm.
    if let Some(arm) = [&old, &new].into_iter().find(|text| is_part_of_an_arm(text)) {
        return Err(format!("`{arm}` is part of a match arm; give the arm's condition or what it does alone"));
    }
    Ok(Defect { id, area, about, file, after, old, new, found_by })
}

/// Whether `text` closes every bracket that it opens. In the copy, each version is put into a block.
fn is_balanced(text: &str) -> bool {
    let mut open = Vec::new();
    text.bytes().all(|byte| match byte {
        b'(' | b'[' | b'{' => {
            open.push(byte);
            true
        }
        b')' => open.pop() == Some(b'('),
        b']' => open.pop() == Some(b'['),
        b'}' => open.pop() == Some(b'{'),
        _ => true,
    }) && open.is_empty()
}

/// Whether `text` contains a pattern with its condition, or ends in an arrow.
fn is_part_of_an_arm(text: &str) -> bool {
    let starts_as_one = text.starts_with(|first: char| first.is_ascii_uppercase() || first == '(');
    text.trim_end().ends_with("=>") || (starts_as_one && text.contains(") if "))
}

fn found_by(text: &str) -> Result<FoundBy, String> {
    if text == "sweep" {
        return Ok(FoundBy::Sweep);
    }
    let unit = text.strip_prefix("unit `").and_then(|rest| rest.split_once("`: "));
    let (test, because) = unit.ok_or(
        "found by is `sweep`, or a test in backticks behind `unit`, perhaps ` in ` and a folder in backticks, a colon and why",
    )?;
    let (test, folder) = match test.split_once("` in `") {
        Some((test, folder)) => (test, Some(folder.to_owned())),
        None => (test, None),
    };
    Ok(FoundBy::Unit { test: test.to_owned(), folder, because: because.to_owned() })
}

/// Splices numbered defects into a source: in place of each, both versions, between which the environment selects.
///
/// # Errors
/// A sentence for each defect that does not apply.
pub fn splice(text: &str, defects: &[(usize, &Defect)]) -> Result<String, Vec<String>> {
    let (mut places, mut wrong) = (BTreeMap::<(usize, usize), Vec<(usize, &Defect)>>::new(), Vec::new());
    for (number, defect) in defects {
        match place(text, defect) {
            Ok(place) => places.entry((place.start, place.end)).or_default().push((*number, *defect)),
            Err(why) => wrong.push(format!("{}: {}: {why}", defect.id, defect.file)),
        }
    }
    let (mut result, mut at) = (String::with_capacity(text.len() * 2), 0);
    for ((start, end), variants) in places {
        if start < at {
            let id = &variants[0].1.id;
            wrong.push(format!("{id}: it stands half in the place of another defect"));
            continue;
        }
        result += &text[at..start];
        result += &choice(&text[start..end], &variants);
        at = end;
    }
    result += &text[at..];
    if wrong.is_empty() { Ok(result) } else { Err(wrong) }
}

/// An `if` for each variant, and `else` the present code.
fn choice(old: &str, variants: &[(usize, &Defect)]) -> String {
    let mut text = String::new();
    for (number, defect) in variants {
        text += &format!("if ::protocols::defect::on({number}) {{ {} }} else ", defect.new);
    }
    text += &format!("{{ {old} }}");
    // A statement stands alone; an expression may be an operand, and needs brackets.
    if old.ends_with([';', '}']) { text } else { format!("({text})") }
}

/// The place of `defect` in `text`.
fn place(text: &str, defect: &Defect) -> Result<Range<usize>, String> {
    let Some(after) = &defect.after else {
        return only(text, &defect.old);
    };
    let from = only(text, after)?.end;
    find(text, &defect.old, from).ok_or_else(|| format!("`{}` is not there behind `{after}`", defect.old))
}

/// The only occurrence of `pattern`.
fn only(text: &str, pattern: &str) -> Result<Range<usize>, String> {
    let place = find(text, pattern, 0).ok_or_else(|| format!("`{pattern}` is not there"))?;
    match find(text, pattern, place.end) {
        Some(_) => Err(format!("`{pattern}` is there more than once")),
        None => Ok(place),
    }
}

/// The first occurrence of `pattern` from byte `from` on.
fn find(text: &str, pattern: &str, from: usize) -> Option<Range<usize>> {
    let (text, pattern) = (text.as_bytes(), pattern.trim().as_bytes());
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (from..text.len()).find_map(|start| {
        let end = ends_at(text, pattern, start)?;
        let in_word = start > 0 && is_word(text.get(start - 1)) && is_word(pattern.first());
        let goes_on = is_word(text.get(end)) && is_word(pattern.last());
        (!in_word && !goes_on).then_some(start..end)
    })
}

/// The end of `pattern` if it begins at `start`, ignoring blanks, and a comma before a closing bracket.
fn ends_at(text: &[u8], pattern: &[u8], start: usize) -> Option<usize> {
    let skip = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let mut at = start;
    for (index, wanted) in pattern.iter().filter(|byte| !byte.is_ascii_whitespace()).enumerate() {
        if index > 0 {
            at = skip(at);
            if b")]}".contains(wanted) && text.get(at) == Some(&b',') {
                at = skip(at + 1);
            }
        }
        if text.get(at) != Some(wanted) {
            return None;
        }
        at += 1;
    }
    Some(at)
}
