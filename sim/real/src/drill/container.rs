//! Members as containers: Docker or Podman runs them, and stops and ends them.
//!
//! Their processes may be another user's, and children of a daemon's, so that only the engine can signal them. Its `pause`
//! freezes all processes of a container at once.

use super::{
    file::{ENGINES, File, Image},
    fill::Values,
    kept::{Container, Recipe, first_line},
};
use crate::error::Failed;
use protocols_real::log::true_time_us;
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf};

/// What runs containers on this machine: the client `docker` or `podman`.
#[derive(Clone, Debug)]
pub struct Engine(PathBuf);

impl Engine {
    /// The first one that has the image.
    ///
    /// # Errors
    /// None is installed, or none has it; with what each has said.
    pub fn with(image: &Image) -> Result<Engine, Failed> {
        let names: Vec<&str> = image.engine.as_deref().map_or(ENGINES.to_vec(), |only| vec![only]);
        let mut said = Vec::new();
        for name in &names {
            let Some(program) = servers::look(name) else { continue };
            let asked = std::process::Command::new(&program).args(["image", "inspect", &image.name]).output();
            match asked {
                Ok(done) if done.status.success() => return Ok(Engine(program)),
                Ok(done) => said.push(format!("{name} says: {}", first_line(&done.stderr))),
                Err(why) => said.push(format!("{name} cannot be run: {why}")),
            }
        }
        let name = &image.name;
        Err(Failed::NoService(match said.as_slice() {
            [] => {
                let none = match names.as_slice() {
                    [only] => format!("`{only}` is not installed"),
                    _ => "neither `docker` nor `podman` is installed: `apt-get install podman`".to_owned(),
                };
                format!("the members are containers of `{name}`, and {none}")
            }
            said => format!(
                "the image `{name}` is not here, and a drill does not pull it; build or pull it, say by `setup` ({})",
                said.join("; ")
            ),
        }))
    }

    pub fn program(&self) -> String {
        self.0.display().to_string()
    }

    /// The member as a container of `image`, instead of a process of this machine.
    ///
    /// # Errors
    /// Its folder cannot be opened for the image's user.
    pub fn contain(&self, member: Recipe, image: &Image, file: &File, values: &Values) -> Result<Recipe, Failed> {
        let name = format!("fencepost-{}-{}-{}", std::process::id(), true_time_us(), values.fill("{node}"));
        // On the machine's network it reaches its proxies; and it is killed, never asked to end, when it is removed.
        let mut words = vec![self.program()];
        words.extend(["run", "--rm", "--pull", "never", "--network", "host", "--stop-timeout", "0"].map(str::to_owned));
        // Where SELinux labels files, it could not read those of this machine otherwise.
        words.extend(["--security-opt", "label=disable", "--name", &name].map(str::to_owned));
        words.extend(member.environment.iter().flat_map(|(key, value)| ["--env".to_owned(), format!("{key}={value}")]));
        for folder in ["{dir}", "{data}", "{tools}"] {
            if !file.fleet.texts().chain(&file.log.file).any(|text| text.contains(folder)) {
                continue;
            }
            let path = values.fill(folder);
            words.extend(["--mount".to_owned(), format!("type=bind,source={path},target={path}")]);
            if folder == "{data}" {
                // Whoever the image's user is.
                let anybody = fs::Permissions::from_mode(0o777);
                fs::set_permissions(&path, anybody).map_err(Failed::cannot(format!("open {path} for everybody")))?;
            }
        }
        words.extend(image.options.iter().map(|word| values.fill(word)));
        words.push(image.name.clone());
        words.extend(member.words);
        let container = Some(Container { engine: self.0.clone(), name });
        Ok(Recipe { words, environment: BTreeMap::new(), container, ..member })
    }
}
