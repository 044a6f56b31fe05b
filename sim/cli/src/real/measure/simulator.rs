//! The simulation's program: a separate build, because madsim replaces tokio in it.

use crate::terminal::exit::Stop;
use scenarios::plan::Plan;
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The path of the program.
pub struct Simulator(PathBuf);

impl Simulator {
    /// The given program, or the newest that `cargo build` has made.
    ///
    /// # Errors
    /// There is none.
    pub fn find(given: Option<&Path>) -> Result<Simulator, Stop> {
        if let Some(file) = given {
            let found = file.is_file().then(|| Simulator(file.to_owned()));
            return found.ok_or_else(|| Stop::usage(format!("--simulator: there is no file {}", file.display())));
        }
        // This program is in a folder of its own beside those.
        let this = env::current_exe().unwrap_or_default();
        let target = this.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
        let name = format!("fencepost{}", env::consts::EXE_SUFFIX);
        let built = ["release", "debug"].map(|profile| target.join(profile).join(&name));
        let age = |file: &PathBuf| fs::metadata(file).and_then(|about| about.modified()).ok();
        let newest = built.into_iter().filter(|file| file.is_file()).max_by_key(age);
        newest.map(Simulator).ok_or_else(|| {
            Stop::usage(format!(
                "there is no simulation to compare with below {}: `cargo build --release` makes it, or give --simulator FILE",
                target.display()
            ))
        })
    }

    /// The report of one run.
    ///
    /// # Errors
    /// The program does not play this plan.
    pub fn play(&self, plan: &Plan) -> Result<Value, Stop> {
        let file = env::temp_dir().join(format!("fencepost-measure-{}-{}.json", std::process::id(), plan.seed));
        let wrong = |what: String| Stop::harness(format!("{} {what}", self.0.display()));
        fs::write(&file, plan.to_json_pretty())
            .map_err(|e| Stop::harness(format!("cannot write {}: {e}", file.display())))?;
        let run = Command::new(&self.0)
            .args(["replay", "--json", "--no-artifacts"])
            .arg(&file)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| wrong(format!("cannot be run: {e}")));
        // Nobody else needs it.
        let _ = fs::remove_file(&file);
        let run = run?;
        serde_json::from_slice(&run.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&run.stderr);
            wrong(format!("does not run this plan; is it the simulation, of this build? {}", said.trim()))
        })
    }
}
