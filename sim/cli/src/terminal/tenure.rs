//! Options of leaders' tenure. Their names are a contract.

use super::{headings::WORK, parse};
use clap::Args as ClapArgs;
use scenarios::plan::Tenure;

/// Warm-up of new leaders, and resignations by mistake.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub struct TenureOptions {
    /// How long a new leader cannot serve yet, for example while its caches fill; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub warm_up: Option<u64>,
    /// How long a new leader ignores failed health checks, which otherwise make it resign; 0s by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub hold_down: Option<u64>,
    /// Share of health checks that report a healthy leader as failed, such as 1%. There is one check per second, and
    /// such a leader resigns
    #[arg(long, value_parser = parse::percent_ppm, value_name = "PCT", allow_hyphen_values = true, help_heading = WORK)]
    pub health_check_errors: Option<u32>,
    /// Leaders resign once the store has owed them an answer for this long, and stand aside for ten times as long;
    /// never by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = WORK)]
    pub step_down_after: Option<u64>,
}

impl TenureOptions {
    /// The given options.
    pub fn asked(&self) -> Tenure {
        Tenure {
            warm_up_ms: self.warm_up.unwrap_or(0),
            hold_down_ms: self.hold_down.unwrap_or(0),
            check_errors_ppm: self.health_check_errors.unwrap_or(0),
            step_down_after_ms: self.step_down_after.unwrap_or(0),
        }
    }
}
