//! Every command that findings and help texts print is valid, with these options and values.
//!
//! This test only parses each command, which would have caught `experiments 8`; `book/typed.rs` runs them together with
//! the book's.

use clap::{CommandFactory, Parser};
use sim_cli::commands::args::Cli;
use std::path::Path;

/// Splits a command into words like a shell, up to the end of the command.
pub(crate) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), false);
    for c in command.replace("\\\n", " ").chars() {
        match c {
            '\'' => quote = !quote,
            '>' | '|' | '#' | '&' if !quote => break,
            c if c.is_whitespace() && !quote => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}

/// The error for an invalid command.
fn refused(command: &str) -> Option<String> {
    let words = words(command);
    let error = Cli::try_parse_from(["fencepost".to_owned()].into_iter().chain(words)).err()?;
    (!matches!(error.kind(), clap::error::ErrorKind::DisplayHelp)).then(|| format!("{command}: {error}"))
}

/// The commands in the findings.
pub(crate) fn of_the_findings() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/FINDINGS.md");
    let text = std::fs::read_to_string(file).expect("the findings");
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter_map(|code| Some(code.strip_prefix("fencepost ")?.to_owned())).collect()
}

/// The examples of every command's help.
pub(crate) fn of_help_texts() -> Vec<String> {
    let (mut all, mut commands) = (Vec::new(), vec![Cli::command()]);
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().cloned());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default().replace("\\\n", " ");
        all.extend(help.lines().filter_map(|line| {
            let (before, example) = line.split_once("fencepost ")?;
            let begins = before.trim().is_empty() || before.trim().ends_with(':');
            begins.then(|| example.to_owned())
        }));
    }
    all
}

#[test]
fn the_findings_commands_can_be_run() {
    let commands = of_the_findings();
    assert!(commands.len() > 20, "{} commands", commands.len());
    assert!(commands.iter().any(|command| command == "experiments 8"), "{commands:?}");
    let wrong: Vec<String> = commands.iter().filter_map(|command| refused(command)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused("experiments 12").is_some(), "there are eleven");
}

#[test]
fn the_commands_of_an_experiments_page_have_a_seed() {
    let numbers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/experiments/numbers.json");
    let numbers = serde_json::from_str(&std::fs::read_to_string(numbers).expect("numbers")).expect("JSON");
    let page = reports::index::experiments(&numbers, &[]).expect("a page");
    let page = serde_json::to_value(&page.tables[0].rows).expect("rows");
    let rows = page.as_array().expect("rows");
    let commands = rows.iter().filter_map(|row| row.as_array()?.last()?.as_str()).filter(|c| !c.is_empty());
    let commands: Vec<&str> = commands.map(|c| c.strip_prefix("fencepost ").expect("a whole command")).collect();
    assert!(commands.len() > 200, "{} commands", commands.len());
    let wrong: Vec<String> = commands.into_iter().filter_map(refused).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_examples_of_help_texts_can_be_run() {
    let examples = of_help_texts();
    assert!(examples.len() > 25, "only {} examples were found", examples.len());
    let wrong: Vec<String> = examples.iter().filter_map(|example| refused(example)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
