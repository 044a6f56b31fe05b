//! Drills: somebody else's processes, as they are, under our faults.
//!
//! The members of a fleet run beside a coordination service and a store, each behind a proxy. Who leads is read from
//! their output, and what took effect from the store itself: a trigger, `MONITOR`, or a store of ours. From both comes a
//! history, which the judge of all other runs judges.

mod audit;
mod ear;
mod file;
mod fill;
mod kept;
mod load;
mod play;
mod scenario;
mod servers;
mod stage;
mod story;
mod wire;

pub use ear::{Ear, Said};
pub use file::{File, LogWords};
pub use play::{Drilled, Held};
pub use scenario::{Plan, Scenario};
pub use stage::Places;
pub use story::Noticed;

use crate::error::Failed;
use fill::Values;
use std::{fs, path::Path};

/// Runs the file's setup, if it has one, with a folder for what it installs.
///
/// # Errors
/// It fails; with what it has said.
pub async fn set_up(file: &File, tools: &Path) -> Result<(), Failed> {
    fs::create_dir_all(tools).map_err(Failed::cannot(format!("make {}", tools.display())))?;
    let Some(setup) = &file.fleet.setup else { return Ok(()) };
    let mut values = Values::default();
    values.set("dir", file.folder.display());
    values.set("tools", tools.display());
    let words = setup.filled(&values);
    let shown = words.join(" ");
    let mut command = tokio::process::Command::new(&words[0]);
    command.args(&words[1..]).current_dir(&file.folder).kill_on_drop(true);
    let done = command.output().await.map_err(|e| Failed::Unplayable(format!("`setup`, {shown}: {e}")))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(Failed::Unplayable(format!("`setup` failed, {}: {shown}\n{said}", done.status)))
}

/// Plays a plan on the fleet of `file`, and leaves its history in the run's folder.
///
/// # Errors
/// A server does not start, or nobody leads before the first fault.
pub async fn drill(file: &File, plan: &Plan, places: &Places, ear: Ear) -> Result<Drilled, Failed> {
    play::play(file, plan, places, ear).await
}
