//! Shell completions and manual pages.

use super::exit::Stop;
use clap::{Command, builder::PossibleValuesParser};
use clap_complete::Shell;
use std::{fs, io::Write, path::Path};

/// The words that an argument takes, in every command that has it.
pub struct Words {
    /// The argument's id.
    pub argument: &'static str,
    pub words: Vec<&'static str>,
}

/// Makes arguments that take names complete to these names.
fn with_words(mut command: Command, known: &[Words]) -> Command {
    for Words { argument, words } in known {
        if command.get_arguments().any(|arg| arg.get_id() == *argument) {
            command =
                command.mut_arg(*argument, |arg| arg.value_parser(PossibleValuesParser::new(words.iter().copied())));
        }
    }
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, |inner| with_words(inner, known)))
}

/// The completion script of a shell.
pub fn completions(command: Command, shell: Shell, known: &[Words]) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut with_words(command, known), "fencepost", &mut bytes);
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// Prints the command's manual page, or with a folder writes those of all its commands.
///
/// # Errors
/// A page cannot be written: one sentence.
pub fn manual(command: Command, folder: Option<&Path>) -> Result<(), Stop> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(|e| Stop::harness(e.to_string()))?;
        // A reader who has seen enough closes the pipe.
        let _ = std::io::stdout().write_all(&page);
        return Ok(());
    };
    let cannot = |e: std::io::Error| Stop::usage(format!("cannot write manual pages to {}: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(command, folder).map_err(cannot)
}
