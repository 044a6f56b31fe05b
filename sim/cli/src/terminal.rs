//! Shared code of the simulation's and real mode's command lines: parsing and rejecting arguments, and printing
//! reports.

pub mod check;
pub mod exit;
pub mod export;
pub mod follow;
pub mod leading;
pub mod names;
pub mod options;
pub mod output;
pub mod own_service;
pub mod parse;
pub mod shell;
pub mod side;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use exit::{Stop, USAGE};
use names::as_run;
use output::print;
use std::{ffi::OsString, io::Write};

/// Prints help and version to standard output, and any other error as one sentence. Returns the exit code. `command` is
/// what rejected the arguments `said`.
pub fn refuse(error: &clap::Error, command: &Command, said: &[OsString]) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(&as_run(&error.to_string()));
            0
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(std::io::stderr(), "{}", as_run(&error.to_string()));
            USAGE
        }
        _ => {
            let meant = || {
                meant(error, command, said)
                    .map(|(unknown, meant)| format!("unexpected argument '{unknown}' found; did you mean {meant}?"))
            };
            let none = || no_such_command(error, command, said);
            let own = of_the_plan(error, command, said)
                .or_else(|| set_now(error, said))
                .or_else(meant)
                .or_else(|| lacking(error))
                .or_else(none);
            let sentence = own.unwrap_or_else(|| one_sentence(error));
            let _ = writeln!(std::io::stderr(), "fencepost: {}", as_run(&sentence));
            USAGE
        }
    }
}

/// The exit code of a command that has ended; the reason for an early end goes to standard error.
pub fn exit_code(ended: Result<u8, Stop>) -> u8 {
    ended.unwrap_or_else(|stop| {
        let _ = writeln!(std::io::stderr(), "fencepost: {}", as_run(&stop.to_string()));
        stop.code
    })
}

/// The error for an option of `scenario` given to `replay`: the plan already determines it.
fn of_the_plan(error: &clap::Error, command: &Command, said: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let replays = said.get(1).is_some_and(|word| word == "replay") && error.kind() == ErrorKind::UnknownArgument;
    let option = unknown.strip_prefix("--").filter(|_| replays)?;
    let scenario = command.find_subcommand("scenario")?;
    let known = scenario.get_arguments().any(|argument| argument.get_long() == Some(option));
    known.then(|| {
        format!("--{option}: a plan says that itself, and `replay` runs it as it is; edit the file, or run `scenario`")
    })
}

/// The error for an unknown command that resembles none: lists the known ones if they are few.
fn no_such_command(error: &clap::Error, command: &Command, said: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let known = said.iter().filter_map(|word| word.to_str()).skip(1).take_while(|word| word != unknown);
    let (of, path) = known.fold((command, String::new()), |(command, path), word| {
        command.find_subcommand(word).map_or((command, path.clone()), |found| (found, format!("{path}{word} ")))
    });
    let names: Vec<&str> = of.get_subcommands().map(Command::get_name).collect();
    Some(match path.is_empty() {
        true => format!("there is no command `{unknown}`; `fencepost --help` lists all"),
        false => format!("`{}` has no `{unknown}`; there are {}", path.trim_end(), names.join(", ")),
    })
}

/// The error for a missing argument, and where to find its values.
fn lacking(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return None };
    let lacks = error.kind() == ErrorKind::MissingRequiredArgument && missing.iter().any(|name| name == "<NAME>");
    lacks.then(|| format!("{}; `fencepost list scenarios` has the names", one_sentence(error)))
}

/// The error for an option that is a parameter of one protocol or work: how to give it.
fn set_now(error: &clap::Error, said: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = unknown.strip_prefix("--").filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let owners = names::known().owners();
    let having = owners.iter().filter(|(_, of)| of.iter().any(|parameter| parameter.name == name));
    let value = said.iter().skip_while(|word| *word != unknown.as_str()).nth(1).and_then(|word| word.to_str());
    let value = value.filter(|word| !word.starts_with('-')).unwrap_or("VALUE");
    let ways: Vec<String> = having.map(|(owner, _)| format!("--set {owner}.{name}={value}")).collect();
    (!ways.is_empty()).then(|| format!("{unknown} is now {}", ways.join(" or ")))
}

/// An unknown option, and the options that contain it as a part, such as `--lease-ttl` for `--ttl`: clap only suggests
/// similar spellings.
fn meant(error: &clap::Error, command: &Command, said: &[OsString]) -> Option<(String, String)> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let parts = unknown.strip_prefix("--").filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let asked = said.iter().filter_map(|word| word.to_str()).skip(1);
    let of = asked.fold(command, |command, word| command.find_subcommand(word).unwrap_or(command));
    let options = of.get_arguments().filter(|option| !option.is_hide_set()).filter_map(clap::Arg::get_long);
    let alike: Vec<String> = options
        .filter(|option| option.split('-').any(|part| parts.split('-').any(|word| word == part)))
        .map(|option| format!("--{option}"))
        .collect();
    (!alike.is_empty()).then(|| (unknown.clone(), alike.join(" or ")))
}

/// A parser's sentence, prefixed with the option from `invalid value '3.5' for '--nodes <N>`.
fn named(of: &str, sentence: &str) -> String {
    let option = of.rsplit_once("for '").map_or("", |(_, option)| option);
    let option = option.split([' ', '=']).next().unwrap_or_default();
    match option.starts_with("--") {
        true => format!("{option}: {sentence}"),
        false => sentence.to_owned(),
    }
}

/// What is wrong with the arguments, in one sentence, without clap's usage block.
pub(crate) fn one_sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    // Our own parser rejected the value: its sentence is complete.
    let own = first.split_once("': ").filter(|_| first.starts_with("invalid value"));
    let sentence = own.map_or_else(|| first.to_owned(), |(of, sentence)| named(of, sentence.trim()));
    let sentence = sentence.trim();
    // clap lists missing arguments and suggestions on lines of their own.
    let more = text.lines().skip(1).map(str::trim).take_while(|l| !l.starts_with("Usage"));
    let more = more.filter(|l| !l.is_empty() && !l.starts_with("For more") && !l.starts_with("tip: to pass"));
    // If all values are listed, a suggestion with a different spelling is no help.
    let far = matches!(
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::SuggestedValue)),
        (Some(ContextValue::String(given)), Some(ContextValue::String(suggested))) if !names::is_typo(given, suggested)
    );
    let more = more.filter(|l| !far || !l.starts_with("tip: "));
    let more: Vec<&str> = more.map(|l| l.trim_start_matches("tip: ")).collect();
    match (more.is_empty(), sentence.ends_with(':')) {
        (true, _) => sentence.to_owned(),
        (false, true) => format!("{sentence} {}", more.join(" ")),
        (false, false) => format!("{sentence}; {}", more.join("; ")),
    }
}

// Headings of groups of options in help, for commands with many options.

pub const TIMERS: &str = "Timers";
pub const NETWORK: &str = "Clocks and network";
pub const WORK: &str = "Clients and the leader's work";
pub const OUTPUT: &str = "Output";
