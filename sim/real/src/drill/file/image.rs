//! The image whose containers are members, as the file says.

use super::service::Wrong;

/// The engines, in the order in which they are asked for the image.
pub const ENGINES: [&str; 2] = ["docker", "podman"];

/// An image, and how it is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    pub name: String,
    /// `docker` or `podman`, if the file names one.
    pub engine: Option<String>,
    /// More words for the engine's `run`, with names in braces.
    pub options: Vec<String>,
}

/// Reads it; `None` if members are processes of this machine.
pub fn read(
    name: Option<String>,
    engine: Option<String>,
    options: Option<Vec<String>>,
) -> Result<Option<Image>, Wrong> {
    let Some(name) = name else {
        return match (engine, options) {
            (None, None) => Ok(None),
            _ => Err(Wrong("`[fleet] engine` and `options` are for an `image`".to_owned())),
        };
    };
    if name.is_empty() || name.starts_with('-') {
        return Err(Wrong(format!("`[fleet] image` is `{name}`, which is no image's name")));
    }
    match engine {
        Some(engine) if !ENGINES.contains(&engine.as_str()) => {
            Err(Wrong(format!("`[fleet] engine` is `{engine}`: there are {}", ENGINES.join(" and "))))
        }
        engine => Ok(Some(Image { name, engine, options: options.unwrap_or_default() })),
    }
}
