//! How processes log.

use clap::{Args as ClapArgs, ValueEnum};

/// Logs, on standard error; RUST_LOG filters them.
#[derive(ClapArgs, Debug)]
pub struct LogArgs {
    /// How log lines look
    #[arg(long, value_enum, default_value = "text", value_name = "text|json")]
    pub log: LogFormat,
}

/// How log lines look.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}
