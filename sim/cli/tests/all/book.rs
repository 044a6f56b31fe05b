//! The book in `docs/`, and the README: every page is in the table of contents, every link resolves, every command
//! exists, and the page on formats matches what the code reads and writes.

mod typed;

use protocols::history::json::Reader;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use scenarios::{Capsule, fault::Fault, plan::Plan};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The pages of the book, by file name.
fn pages() -> BTreeMap<String, Page> {
    let entries = fs::read_dir(root().join("docs")).expect("docs/").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".md")).map(|name| (name.clone(), Page::read(&format!("docs/{name}")))).collect()
}

#[test]
fn the_table_of_contents_names_every_page_and_no_other() {
    let mut pages = pages();
    let contents = pages.remove("SUMMARY.md").expect("a table of contents");
    let named: Vec<&str> = contents.links.iter().map(|link| &**link).collect();
    let distinct: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(named.len(), distinct.len(), "a page is named twice: {named:?}");
    assert_eq!(distinct, pages.keys().map(|name| &**name).collect());
    let untitled: Vec<_> = pages.iter().filter(|(_, page)| page.anchors.is_empty()).map(|(name, _)| name).collect();
    assert!(untitled.is_empty(), "no heading: {untitled:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let (pages, mut wrong, mut links) = (pages(), Vec::new(), 0);
    let readme = ("../README.md".to_owned(), Page::read("README.md"));
    for (name, page) in pages.iter().map(|(name, page)| (name.clone(), page)).chain([(readme.0, &readme.1)]) {
        let in_book = name != "../README.md";
        for link in page.links.iter().filter(|link| !link.starts_with("http")) {
            links += 1;
            let (file, anchor) = link.split_once('#').map_or((&**link, None), |(file, anchor)| (file, Some(anchor)));
            let from = if in_book { "docs/" } else { "" };
            let at = format!("{from}{file}");
            if !file.is_empty() && !root().join(&at).exists() {
                wrong.push(format!("{name}: {link}: there is no such file"));
            } else if in_book && file.contains("..") {
                wrong.push(format!("{name}: {link} leads out of the book"));
            }
            let target = if file.is_empty() { Some(page) } else { pages.get(at.trim_start_matches("docs/")) };
            if let Some(anchor) = anchor
                && !target.is_some_and(|target| target.anchors.contains(anchor))
            {
                wrong.push(format!("{name}: {link}: there is no such heading"));
            }
        }
    }
    assert!(links > 50, "only {links} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The simulation's commands in a text: code after `cargo run … --`.
fn commands(page: &Page) -> Vec<Vec<String>> {
    let after = |code: &String| -> Vec<Vec<String>> {
        let lines = code.replace("\\\n", " ");
        let of_line = |line: &str| {
            let (_, command) = line.split_once("cargo run ").and_then(|(_, rest)| rest.split_once("-- "))?;
            let command = command.split(['#', '>', '|']).next().unwrap_or_default();
            Some(command.split_whitespace().map(str::to_owned).collect())
        };
        lines.lines().filter_map(of_line).collect()
    };
    page.code.iter().flat_map(after).collect()
}

/// The help of a command, or of its subcommand (`plot ttl-sweep`); `None` if there is no such command.
fn help(words: &[String]) -> Option<String> {
    let ask = |words: &[String]| {
        let run = Command::new(env!("CARGO_BIN_EXE_fencepost")).args(words).arg("--help").output();
        let run = run.expect("the command starts");
        run.status.success().then(|| String::from_utf8_lossy(&run.stdout).into_owned())
    };
    let own = ask(&words[..1])?;
    if own.contains("\nCommands:\n") && words.len() > 1 { ask(&words[..2]) } else { Some(own) }
}

#[test]
fn every_command_exists_with_its_options() {
    let mut all = pages();
    all.insert("README.md".to_owned(), Page::read("README.md"));
    let (mut helps, mut wrong, mut seen) = (BTreeMap::new(), Vec::new(), 0);
    for (name, page) in &all {
        for words in commands(page) {
            // `…` and NAME stand for any command, and options alone belong to something else.
            if !words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase())) {
                continue;
            }
            seen += 1;
            let of: Vec<String> = words.iter().take(2).take_while(|word| !word.starts_with('-')).cloned().collect();
            let Some(help) = helps.entry(of.clone()).or_insert_with(|| help(&of)) else {
                wrong.push(format!("{name}: there is no command `{}`", of.join(" ")));
                continue;
            };
            let known =
                |option: &str| help.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).any(|w| w == option);
            let options = words.iter().filter(|word| word.starts_with("--"));
            let unknown = options.filter(|option| !known(option.split('=').next().unwrap_or_default()));
            wrong.extend(unknown.map(|option| format!("{name}: `{}` has no option {option}", of.join(" "))));
        }
    }
    assert!(seen > 40, "only {seen} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// The page on formats matches what the code reads and writes.

fn page() -> Page {
    Page::read("docs/formats.md")
}

/// The names that reading `T` would accept, from its error about `wrong`.
fn known<T: DeserializeOwned>(wrong: &str) -> BTreeSet<String> {
    let error = serde_json::from_str::<T>(wrong).err().expect("it is refused").to_string();
    let (_, list) = error.split_once("expected one of ").unwrap_or_else(|| panic!("{error}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn assert_documented(what: &str, names: &BTreeSet<String>, documented: &BTreeSet<String>) {
    let missing: Vec<_> = names.difference(documented).collect();
    assert!(missing.is_empty(), "docs/formats.md does not say what these are, of {what}: {missing:?}");
}

#[test]
fn the_plan_of_the_page_is_read_and_every_field_is_explained() {
    let page = page();
    let plan = Plan::from_json(&page.blocks["json plan"]).expect("the example is a plan");
    assert_eq!((plan.scenario.as_str(), plan.seed), ("gc-pause", 42));
    let firsts = page.firsts();
    assert_documented("a plan", &known::<Plan>("{\"zz\":1}"), &firsts);
    assert_documented("a capsule", &known::<Capsule>("{\"zz\":1}"), &firsts);
    for (field, inside) in [
        ("timings", known::<scenarios::plan::Timings>("{\"zz\":1}")),
        ("candidates", known::<scenarios::plan::Candidate>("{\"zz\":1}")),
        ("load", known::<scenarios::plan::Load>("{\"zz\":1}")),
        ("network", known::<scenarios::plan::Network>("{\"zz\":1}")),
        ("faults", known::<scenarios::fault::PlannedFault>("{\"zz\":1}")),
    ] {
        assert_documented(field, &inside, &page.words(field, 1));
    }
}

#[test]
fn every_fault_is_listed_with_its_fields() {
    let page = page();
    let faults = known::<Fault>("\"zz\"");
    assert!(faults.len() > 20, "{faults:?}");
    for fault in &faults {
        let wrong = format!("{{\"{fault}\":{{\"zz\":1}}}}");
        let error = serde_json::from_str::<Fault>(&wrong).expect_err("it is refused").to_string();
        // One field is `expected`, several are `expected one of`, two have an `or`.
        let fields = error.split_once("expected").map_or("", |(_, list)| list);
        let fields: BTreeSet<String> = fields.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(!fields.is_empty(), "{error}");
        assert_documented(fault, &fields, &page.words(fault, 1));
    }
    let listed: BTreeSet<String> = page.firsts();
    assert_documented("faults", &faults, &listed);
}

fn events(lines: &str) -> BTreeSet<String> {
    let event = |line: &str| serde_json::from_str::<Value>(line).ok()?["event"].as_str().map(str::to_owned);
    lines.lines().filter_map(event).collect()
}

#[test]
fn the_history_of_the_page_is_read_and_every_event_is_explained() {
    let page = page();
    let history = &page.blocks["jsonl history"];
    let reader = Reader::new(history.as_bytes()).expect("it begins as a history");
    assert!(reader.header().is_some());
    let read: Result<Vec<_>, _> = reader.collect();
    let events_read = read.expect("every line is an event").len();
    assert_eq!(events_read, history.lines().count() - 1, "every line but the header");
    let firsts = page.firsts();
    assert_documented("the example", &events(history), &firsts);
    let written: BTreeSet<String> = reports::known::ALL.iter().flat_map(|known| events(known.text)).collect();
    assert!(written.len() > 15, "{written:?}");
    assert_documented("histories", &written, &firsts);
}

#[test]
fn every_field_of_a_report_is_explained() {
    let firsts = page().firsts();
    for arguments in [
        vec!["scenario", "gc-pause", "--seed", "42", "--duration", "12s"],
        vec!["scenario", "gc-pause", "--seed", "42", "--fencing", "off", "--groups", "2", "--duration", "12s"],
        vec!["scenario", "read-lease", "--protocol", "redis-fenced", "--seed", "1"],
        vec!["scenario", "diverging-copies", "--protocol", "bully", "--seed", "42"],
        vec!["scenario", "clean-kill", "--works", "sequencer,compaction", "--seed", "1"],
    ] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
        let run = run.args(&arguments).args(["--json", "--out"]).arg(out).output().expect("the command starts");
        let report: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        let keys =
            |value: &Value| value.as_object().into_iter().flat_map(|o| o.keys().cloned()).collect::<BTreeSet<_>>();
        assert_documented(&format!("{arguments:?}"), &keys(&report), &firsts);
        assert_documented(&format!("the figures of {arguments:?}"), &keys(&report["metrics"]), &firsts);
    }
}

/// The example on the seat beside the one with an election of its own; its other services do not count.
#[test]
fn the_seats_page_says_how_many_lines_the_example_has() {
    let examples = root().join("sim/examples");
    let read = |file: &str| fs::read_to_string(examples.join(file)).unwrap();
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let before = ["lib", "election", "charge"].map(|file| read(&format!("invoices/src/{file}.rs")));
    let before: usize = before.iter().map(|text| text.lines().filter(is_code).count()).sum();
    let on_another = ["fn on_", "fn among_", "unfenced("];
    let seat = read("seat/src/lib.rs");
    let items = seat.split("\n\n").filter(|item| !on_another.iter().any(|other| item.contains(other)));
    let after: usize = items.map(|item| item.lines().filter(is_code).count()).sum();
    let page = fs::read_to_string(root().join("docs/seat.md")).unwrap();
    let said = format!("in {after} lines of\ncode instead of {before}.");
    assert!(page.contains(&said), "{said}");
}

/// A program has to name the same versions as the seat, or its types are others.
#[test]
fn the_seats_page_names_the_versions_that_the_seat_has() {
    let page = fs::read_to_string(root().join("docs/seat.md")).unwrap();
    let lock = fs::read_to_string(root().join("sim/examples/Cargo.lock")).unwrap();
    let names = ["tokio-postgres", "prometheus-client", "sqlx", "redis", "etcd-client", "object_store", "kube"];
    for name in names {
        // The oldest come first, and are other crates'.
        let versions = lock.split("[[package]]\n").filter_map(|package| {
            let rest = package.strip_prefix(&format!("name = \"{name}\"\nversion = \""))?;
            rest.split_once('"').map(|(version, _)| version)
        });
        let parts: Vec<&str> = versions.last().unwrap_or_else(|| panic!("no {name} in the lock")).split('.').collect();
        let named = if parts[0] == "0" { parts[..2].join(".") } else { parts[0].to_owned() };
        let said = format!("{name} = \"{named}\"");
        assert!(page.contains(&said), "{said}");
    }
}

// A page of the book, as far as tests need it.

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The content of a page.
#[derive(Default)]
struct Page {
    /// Targets of its links and pictures.
    pub links: Vec<String>,
    /// Anchors of its headings, as mdBook and GitHub name them.
    pub anchors: BTreeSet<String>,
    /// Its code, blocks and inline.
    pub code: Vec<String>,
    /// Code blocks by the word after their fence.
    pub blocks: BTreeMap<String, String>,
    /// The rows of its tables, as the texts of their cells.
    pub rows: Vec<Vec<String>>,
}

/// A heading's anchor.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}

impl Page {
    /// Reads a page with its includes.
    pub fn read(file: &str) -> Page {
        let file = root().join(file);
        let read = |file: &Path| fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut text = read(&file);
        if let Some((before, rest)) = text.clone().split_once("{{#include ") {
            let (included, after) = rest.split_once("}}").expect("an include ends");
            let included = read(&file.parent().expect("a folder").join(included));
            text = format!("{before}{included}{after}");
        }
        Page::parse(&text)
    }

    fn parse(text: &str) -> Page {
        let mut page = Page::default();
        // The element being read: a heading, a block's fence, a cell.
        let (mut heading, mut block, mut cell): (Option<String>, Option<String>, Option<String>) = Default::default();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|heading| anchor(&heading)));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let fence =
                        if let CodeBlockKind::Fenced(fence) = kind { fence.into_string() } else { String::new() };
                    page.code.push(String::new());
                    block = Some(fence);
                }
                Event::End(TagEnd::CodeBlock) => {
                    let fence = block.take().unwrap_or_default();
                    page.blocks.insert(fence, page.code.last().cloned().unwrap_or_default());
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => page.rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => cell = Some(String::new()),
                Event::End(TagEnd::TableCell) => {
                    if let Some(row) = page.rows.last_mut() {
                        row.extend(cell.take());
                    }
                }
                Event::Text(text) => {
                    if block.is_some() {
                        page.code.last_mut().expect("a block was begun").push_str(&text);
                    }
                    [&mut heading, &mut cell].into_iter().flatten().for_each(|into| into.push_str(&text));
                }
                Event::Code(code) => {
                    page.code.push(code.to_string());
                    [&mut heading, &mut cell].into_iter().flatten().for_each(|into| {
                        into.push('`');
                        into.push_str(&code);
                        into.push('`');
                    });
                }
                _ => {}
            }
        }
        page
    }

    /// The code words in this column, of rows whose first cell contains `first`.
    pub fn words(&self, first: &str, column: usize) -> BTreeSet<String> {
        let rows = self.rows.iter().filter(|row| row.first().is_some_and(|cell| coded(cell).contains(first)));
        rows.filter_map(|row| row.get(column)).flat_map(|cell| coded(cell)).collect()
    }

    /// Every code word in a table's first column.
    pub fn firsts(&self) -> BTreeSet<String> {
        self.rows.iter().filter_map(|row| row.first()).flat_map(|cell| coded(cell)).collect()
    }
}

/// The words between backticks.
fn coded(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn pages_are_read_as_mdbook_does() {
    let page = Page::parse(
        "# What `watch --json` prints?\n[a](b.md#c)\n\n| x | y |\n|---|---|\n| `k`, `l` | `m` |\n\n```json plan\n{}\n```\n",
    );
    assert_eq!(page.links, ["b.md#c"]);
    assert_eq!(page.anchors.iter().collect::<Vec<_>>(), ["what-watch---json-prints"]);
    assert_eq!(page.blocks["json plan"], "{}\n");
    assert_eq!(page.words("l", 1).into_iter().collect::<Vec<_>>(), ["m"]);
    assert!(page.firsts().contains("k"));
}
