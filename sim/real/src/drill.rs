//! Drills: somebody else's processes, as they are, under our faults.
//!
//! The members of a fleet run beside a coordination service and a store, each behind a proxy. Who leads is read from
//! their output, and what took effect from the store itself: a trigger, `MONITOR`, or a store of ours. From both comes a
//! history, which the judge of all other runs judges.

mod audit;
mod clock;
mod container;
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
mod unheard;
mod wire;

pub use container::Engine;
pub use ear::{Ear, Said};
pub use file::File;
pub use play::{Drilled, Held};
pub use scenario::{Plan, Scenario};
pub use stage::Places;
pub use unheard::Unheard;

use crate::error::Failed;
use fill::Values;
use kept::Recipe;
use std::{collections::BTreeMap, fs, path::Path};

/// Runs the file's setup, if it has one, with a folder for what it installs. `keeper` is `fencepost` itself.
///
/// # Errors
/// It fails; with what it has said.
pub async fn set_up(file: &File, keeper: &Path, tools: &Path) -> Result<(), Failed> {
    fs::create_dir_all(tools).map_err(Failed::cannot(format!("make {}", tools.display())))?;
    let Some(setup) = &file.fleet.setup else { return Ok(()) };
    let mut values = Values::default();
    values.set("dir", file.folder.display());
    values.set("tools", tools.display());
    let (words, output) = (setup.filled(&values), tools.join("setup.log"));
    let shown = words.join(" ");
    // What an earlier one has said is not this one's.
    let _ = fs::remove_file(&output);
    let (keeper, folder) = (keeper.to_owned(), file.folder.clone());
    let recipe =
        Recipe { keeper, words, environment: BTreeMap::new(), folder, output: output.clone(), container: None };
    match recipe.start(None)?.ended().await {
        Some(0) => Ok(()),
        _ => Err(Failed::Unplayable(format!("`setup` failed: {shown}\n{}", kept::last_lines(&output, 8)))),
    }
}

/// What runs the members' image; `None` if they are processes of this machine.
///
/// # Errors
/// Nothing here has the image.
pub fn engine(file: &File) -> Result<Option<Engine>, Failed> {
    file.fleet.image.as_ref().map(Engine::with).transpose()
}

/// Why the clocks of this fleet cannot be moved, as far as its command tells once its setup has run.
pub fn unmovable(file: &File, tools: &Path) -> Option<String> {
    clock::unmovable(file, tools)
}

/// Plays a plan on the fleet of `file`, and leaves its history in the run's folder.
///
/// # Errors
/// A server does not start, or nobody leads before the first fault.
pub async fn drill(file: &File, plan: &Plan, places: &Places, ear: Ear) -> Result<Drilled, Failed> {
    play::play(file, plan, places, ear).await
}
