//! A PostgreSQL of the tests' own, in a temporary folder on a free port.

use super::Folder;
use protocols_real::store::postgres::PostgresSettings;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A running server; stopped by its process id when dropped.
pub struct Server {
    child: Child,
    port: u16,
    _folder: Folder,
}

/// Starts a server. `None` where PostgreSQL is not installed, which is said aloud, or with `FENCEPOST_SERVERS=require` is a
/// failure.
pub fn start() -> Option<Server> {
    let Some(binaries) = binaries() else {
        assert!(
            std::env::var("FENCEPOST_SERVERS").as_deref() != Ok("require"),
            "PostgreSQL is required and not installed"
        );
        eprintln!("SKIPPED: PostgreSQL is not installed: nothing was tested on it");
        return None;
    };
    let folder = Folder::new();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    // PostgreSQL refuses to run as root; a folder and processes of somebody else's it is, then.
    let root = rustix::process::geteuid().is_root();
    for name in ["cert.pem", "key.pem"] {
        fs::copy(super::testdata(name), folder.path().join(name)).unwrap();
    }
    let key = folder.path().join("key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    if root {
        assert!(Command::new("chown").arg("postgres").arg(&data).arg(&key).status().unwrap().success());
    }
    let arguments = ["--auth=trust", "--username=store", "--no-sync", "--encoding=UTF8", "--locale=C"];
    let mut initdb = as_nobody(root, &binaries.join("initdb"));
    let made = initdb.arg("-D").arg(&data).args(arguments).stdout(Stdio::null()).status().unwrap();
    assert!(made.success(), "initdb failed");
    let port = protocols_clients::env::tokio::free_port().unwrap();
    let mut postgres = as_nobody(root, &binaries.join("postgres"));
    postgres.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-k", "", "-p", &port.to_string()]);
    let file = |name: &str, path: &str| format!("{name}={}", folder.path().join(path).display());
    postgres.args(["-c", "ssl=on", "-c", &file("ssl_cert_file", "cert.pem"), "-c", &file("ssl_key_file", "key.pem")]);
    let child = postgres.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let server = Server { child, port, _folder: folder };
    let deadline = Instant::now() + Duration::from_secs(30);
    let probe = || {
        Command::new(binaries.join("pg_isready")).args(["-q", "-h", "127.0.0.1", "-p"]).arg(port.to_string()).status()
    };
    while !probe().unwrap().success() {
        assert!(Instant::now() < deadline, "PostgreSQL does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(server)
}

fn binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<_> = versions.map(|v| v.path().join("bin")).filter(|b| b.join("initdb").exists()).collect();
    found.sort();
    found.pop()
}

fn as_nobody(root: bool, program: &Path) -> Command {
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    command
}

impl Server {
    /// A database that nobody has used.
    pub async fn database(&self) -> PostgresSettings {
        PostgresSettings::new(&self.url(&self.database_name().await), None, None).unwrap()
    }

    pub async fn database_name(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("store{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("create database {name}")).await;
        name
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgresql://store@127.0.0.1:{}/{database}", self.port)
    }

    /// What `psql` would show: the first column of every row.
    pub async fn sql(&self, database: &str, text: &str) -> Vec<String> {
        let (client, connection) = tokio_postgres::connect(&self.url(database), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let rows = client.simple_query(text).await.unwrap();
        let cell = |message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
            _ => None,
        };
        rows.into_iter().filter_map(cell).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT is PostgreSQL's fast shutdown.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let _ = self.child.wait();
    }
}
