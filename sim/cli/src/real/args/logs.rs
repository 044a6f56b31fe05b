//! Logging options of processes.

use clap::{Args as ClapArgs, ValueEnum};

/// Logs, on standard error; RUST_LOG filters them.
#[derive(ClapArgs, Debug)]
pub struct LogArgs {
    /// Format of log lines
    #[arg(long, value_enum, default_value = "text", value_name = "text|json")]
    pub log: LogFormat,
}

/// Format of log lines.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}
