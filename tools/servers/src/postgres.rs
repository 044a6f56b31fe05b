//! PostgreSQL.

use super::{
    call,
    find::find,
    folder::Folder,
    process::{SOON, eventually, run, text},
    server::Server,
};
use std::{
    fmt, fs,
    net::SocketAddr,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

/// A PostgreSQL server with one user, `store`; stopped when dropped.
pub struct Postgres {
    pub server: Server,
    initdb: PathBuf,
    password: Option<String>,
}

/// Whom the server lets in.
#[derive(Clone, Copy, Debug)]
pub enum Access<'a> {
    /// The user, with this password.
    Password(&'a str),
    /// Anybody, as any role; commits are not synced.
    Anybody,
    /// Anybody, with TLS on request.
    Trust {
        certificate: &'a Path,
        /// Its private key.
        key: &'a Path,
    },
}

/// Why PostgreSQL cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PostgresError {
    NotInstalled,
    /// It cannot be started, or reported an error: its message.
    Failed(String),
}

impl fmt::Display for PostgresError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            PostgresError::NotInstalled => {
                "`postgres` is not installed: `apt-get install postgresql`, or give --service HOST:PORT of a running one"
            }
            PostgresError::Failed(why) => why,
        })
    }
}

impl std::error::Error for PostgresError {}

/// The server refuses to run as root, so it runs as another user.
fn as_nobody(root: bool, program: &Path) -> Command {
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    command
}

/// How to start a PostgreSQL that lets in anybody as `user`, with its data, created if needed, in the folder `data`:
/// the program and its arguments.
///
/// # Errors
/// It is not installed, or its data cannot be created.
pub fn own_postgres(address: SocketAddr, data: &Path, user: &str) -> Result<(PathBuf, Vec<String>), PostgresError> {
    let initdb = super::find::look("initdb").ok_or(PostgresError::NotInstalled)?;
    let unseen = |e: std::io::Error| PostgresError::Failed(format!("cannot look into {}: {e}", data.display()));
    let root = data.parent().unwrap_or(data).metadata().map_err(unseen)?.uid() == 0;
    if !data.join("PG_VERSION").exists() {
        if root {
            let given = Command::new("chown").arg("postgres").arg(data).status();
            if !given.is_ok_and(|s| s.success()) {
                return Err(PostgresError::Failed("there is no user `postgres`, and this is run as root".to_owned()));
            }
        }
        let mut init = as_nobody(root, &initdb);
        init.arg("-D").arg(data).args(["-U", user, "--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust"]);
        let made = init.output().map_err(|e| PostgresError::Failed(format!("cannot run {}: {e}", initdb.display())))?;
        if !made.status.success() {
            return Err(PostgresError::Failed(format!("initdb says: {}", text(&made.stderr).trim())));
        }
    }
    let command = as_nobody(root, &initdb.with_file_name("postgres"));
    let program = PathBuf::from(command.get_program());
    let before = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    Ok((program, before.chain(call::postgres(address, data)).collect()))
}

/// Starts an empty PostgreSQL; `None`, with a message, if it is not installed and the test may pass without `what`.
///
/// # Panics
/// It does not start, or it is missing and `FENCEPOST_SERVERS` requires it.
pub fn postgres(folder: &Folder, what: &str, access: Access<'_>) -> Option<Postgres> {
    let initdb = find("initdb", "postgresql", what)?;
    find("psql", "postgresql-client", what)?;
    let root = folder.path().metadata().expect("the folder is there").uid() == 0;
    let data = folder.path().join("postgres");
    fs::create_dir_all(&data).expect("folders can be made");
    let mut owned = vec![data.clone()];
    let (mut init, mut options) = (as_nobody(root, &initdb), Vec::new());
    init.arg("-D").arg(&data).args(["-U", "store", "--no-sync", "--encoding=UTF8", "--locale=C"]);
    match access {
        Access::Password(password) => {
            let secret = folder.write("postgres.password", password);
            init.args(["--auth=scram-sha-256", "--pwfile", &secret]);
            owned.push(secret.into());
        }
        Access::Anybody => {
            init.arg("--auth=trust");
            let set = ["fsync=off", "autovacuum=off"];
            options.extend(set.iter().flat_map(|set| ["-c".to_owned(), (*set).to_owned()]));
        }
        Access::Trust { certificate, key } => {
            init.arg("--auth=trust");
            let copy = |file: &Path, name: &str| {
                let to = folder.path().join(name);
                fs::copy(file, &to).expect("certificates can be copied");
                to
            };
            let (certificate, key) = (copy(certificate, "postgres.crt"), copy(key, "postgres.key"));
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a key can be made private");
            let set = |name: &str, file: &Path| format!("{name}={}", file.display());
            options.extend(["-c".to_owned(), "ssl=on".to_owned(), "-c".to_owned(), set("ssl_cert_file", &certificate)]);
            options.extend(["-c".to_owned(), set("ssl_key_file", &key)]);
            owned.push(key);
        }
    }
    if root {
        let given = Command::new("chown").arg("postgres").args(&owned).status();
        assert!(given.is_ok_and(|s| s.success()), "there is no user `postgres`, and this is run as root");
    }
    let made = run(init);
    assert!(made.status.success(), "initdb: {}", text(&made.stderr));
    let program = initdb.with_file_name("postgres");
    let server = Server::start("postgres", folder.path(), None, move |address| {
        let mut command = as_nobody(root, &program);
        command.args(call::postgres(address, &data)).args(&options);
        command
    });
    let password = match access {
        Access::Password(password) => Some(password.to_owned()),
        Access::Anybody | Access::Trust { .. } => None,
    };
    let postgres = Postgres { server, initdb, password };
    eventually("PostgreSQL answers", SOON, || postgres.psql("select 1").ok());
    Some(postgres)
}

impl Postgres {
    /// Kills the server and restarts it at the same address, with its disk. It refuses to start until the children of
    /// the killed server have noticed its end.
    ///
    /// # Panics
    /// It does not start again in time.
    pub fn restart(&mut self) {
        self.server.kill();
        let mut starts = false;
        eventually("PostgreSQL starts again", SOON, || {
            // A child of the killed server may have let us in, so that the new one was taken for ready, and ended.
            starts = (starts && !self.server.process.has_ended()) || self.server.starts_again();
            // It listens before it has recovered, and refuses everybody until then.
            if starts { self.psql("select 1").ok() } else { None }
        });
    }

    /// A URL of the initial database, without the password.
    pub fn url(&self) -> String {
        self.database("postgres")
    }

    /// A URL without the password.
    pub fn database(&self, name: &str) -> String {
        format!("postgresql://store@{}/{name}", self.server.address)
    }

    /// The output of `psql -q` for a query: one row per line, fields separated by `|`.
    ///
    /// # Errors
    /// Its error message.
    pub fn psql(&self, query: &str) -> Result<String, PostgresError> {
        let beside = self.initdb.with_file_name("psql");
        let mut command = Command::new(if beside.exists() { &beside } else { Path::new("psql") });
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", query]);
        if let Some(password) = &self.password {
            command.env("PGPASSWORD", password);
        }
        let output = run(command);
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(PostgresError::Failed(text(&output.stderr)))
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A fast shutdown ends its sessions, and with them its child processes.
        if !self.server.process.has_ended() {
            self.server.process.signal("INT");
            self.server.process.wait(SOON);
        }
    }
}
