//! A drill's file as TOML has it.

use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    pub fleet: RawFleet,
    #[serde(default)]
    pub service: BTreeMap<String, RawServer>,
    pub store: BTreeMap<String, toml::Value>,
    pub log: RawLog,
    pub load: Option<RawLoad>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFleet {
    #[serde(default = "three")]
    pub members: u16,
    pub command: Option<Words>,
    pub image: Option<String>,
    pub engine: Option<String>,
    pub options: Option<Words>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub setup: Option<Words>,
    pub lease: Option<String>,
    pub within: Option<String>,
    pub ready: Option<toml::Value>,
}

/// A command: a line, or its words.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Words {
    Line(String),
    List(Vec<String>),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct RawServer {
    pub address: Option<String>,
    pub members: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPostgres {
    pub audit: String,
    pub schema: Option<PathBuf>,
    pub address: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRedis {
    pub audit: String,
    pub address: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawHttp {
    #[serde(default)]
    pub fence: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawOwn {
    pub accepted: Several,
    pub refused: Option<Several>,
    pub address: Option<String>,
    pub write: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLog {
    pub file: Option<String>,
    pub preset: Option<String>,
    pub elected: Option<Several>,
    pub deposed: Option<Several>,
    pub pause_at: Option<Several>,
    pub ready: Option<Several>,
}

/// One pattern, or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Several {
    One(String),
    All(Vec<String>),
}

impl Several {
    pub fn all(several: Option<Several>) -> Vec<String> {
        match several {
            None => Vec::new(),
            Some(Several::One(one)) => vec![one],
            Some(Several::All(all)) => all,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLoad {
    pub http: Option<String>,
    pub command: Option<Words>,
    pub rate: Option<u32>,
}

fn three() -> u16 {
    3
}
