//! What the simulation's and real mode's command lines share: how arguments are read and refused, and how reports are
//! printed.

pub mod browser;
pub mod check;
pub mod exit;
pub mod export;
pub mod log;
pub mod names;
pub mod options;
pub mod output;
pub mod parameters;
pub mod parse;
pub mod shell;
pub mod side;
pub mod suggest;
pub mod tenure;
pub mod work_set;

use clap::error::ErrorKind;
use exit::{Stop, USAGE};
use output::print;
use std::io::Write;

/// Help and version go to standard output and are no error; everything else is one sentence. Gives the exit code.
pub fn refuse(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(&error.to_string());
            0
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(std::io::stderr(), "{error}");
            USAGE
        }
        _ => {
            let _ = writeln!(std::io::stderr(), "fencepost: {}", one_sentence(error));
            USAGE
        }
    }
}

/// The exit code of a command that has ended; why it ended early goes to standard error.
pub fn exit_code(ended: Result<u8, Stop>) -> u8 {
    ended.unwrap_or_else(|stop| {
        let _ = writeln!(std::io::stderr(), "fencepost: {stop}");
        stop.code
    })
}

/// A parser's sentence with the option whose value it refused, of `invalid value '3.5' for '--nodes <N>`.
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
    // A value that our own parser refused: its sentence says it all.
    let own = first.split_once("': ").filter(|_| first.starts_with("invalid value"));
    let sentence = own.map_or_else(|| first.to_owned(), |(of, sentence)| named(of, sentence.trim()));
    let sentence = sentence.trim();
    // clap lists what is missing, and what it would suggest, on lines of their own.
    let more = text.lines().skip(1).map(str::trim).take_while(|l| !l.starts_with("Usage"));
    let more = more.filter(|l| !l.is_empty() && !l.starts_with("For more") && !l.starts_with("tip: to pass"));
    let more: Vec<&str> = more.map(|l| l.trim_start_matches("tip: ")).collect();
    match (more.is_empty(), sentence.ends_with(':')) {
        (true, _) => sentence.to_owned(),
        (false, true) => format!("{sentence} {}", more.join(" ")),
        (false, false) => format!("{sentence}; {}", more.join("; ")),
    }
}
