//! The services that seats stand on here.

use std::str::FromStr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    Etcd,
    Redis,
    Postgres,
}

impl Service {
    pub const ALL: [Service; 3] = [Service::Etcd, Service::Redis, Service::Postgres];

    pub fn name(self) -> &'static str {
        match self {
            Service::Etcd => "etcd",
            Service::Redis => "Redis",
            Service::Postgres => "PostgreSQL",
        }
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Service::ALL.into_iter().find(|service| service.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("`{name}` is no service: use etcd, Redis or PostgreSQL"))
    }
}
