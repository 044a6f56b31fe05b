//! Options of leaders' terms of office. Their names are a contract.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

use super::{headings::WORK, parse};
use clap::Args as ClapArgs;
use scenarios::plan::Tenure;

/// How leaders come into their office, and are sent out of it by mistake.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub struct TenureOptions {
    /// How long a new leader serves nobody, as while its caches fill; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub warm_up: Option<u64>,
    /// How long a new leader is left alone by health checks, which otherwise make it resign when they err; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub hold_down: Option<u64>,
    /// Share of health checks that take a healthy leader for a sick one, such as 1%. There is one a second, and such a leader
    /// resigns
    #[arg(long, value_parser = parse::percent_ppm, value_name = "PCT", allow_hyphen_values = true, help_heading = WORK)]
    pub health_check_errors: Option<u32>,
    /// How long the store may owe a leader an answer before the leader resigns, and stands aside for ten times as long; never by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub step_down_after: Option<u64>,
}

impl TenureOptions {
    /// What was asked for.
    pub fn asked(&self) -> Tenure {
        Tenure {
            warm_up_ms: self.warm_up.unwrap_or(0),
            hold_down_ms: self.hold_down.unwrap_or(0),
            check_errors_ppm: self.health_check_errors.unwrap_or(0),
            step_down_after_ms: self.step_down_after.unwrap_or(0),
        }
    }
}
