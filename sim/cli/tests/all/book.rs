//! The book in `docs/`, and the README: every page is in the table of contents, every link resolves, every command
//! exists, and the page on formats matches what the code reads and writes.

mod formats;
mod page;
mod typed;

use page::{Page, root};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
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
