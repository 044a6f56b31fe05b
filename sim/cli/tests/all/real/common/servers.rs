//! Servers that nodes and stores rely on.

use super::{Folder, Process, SOON, eventually, free_address, run, say, skip, text, wish};
use std::{
    env,
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A running server.
pub struct Server {
    /// Its process.
    pub process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

/// The program of that name; `None`, said aloud, when it is not there and the test is to pass without `what`.
pub fn find(program: &str, package: &str, what: &str) -> Option<PathBuf> {
    if look(program).is_none() && wish() == "install" {
        say(&format!("installing: apt-get install -y {package}"));
        // With this runlevel Debian's packages start nothing.
        let quiet = [("DEBIAN_FRONTEND", "noninteractive"), ("RUNLEVEL", "1")];
        let _ = Command::new("apt-get").args(["install", "-y", "-q", package]).envs(quiet).output();
    }
    let found = look(program);
    if found.is_none() {
        skip(what, &format!("`{program}` is not installed"));
    }
    found
}

/// On the search path, or where Debian keeps PostgreSQL's programs.
fn look(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    folders.extend(versions.map(|v| v.path().join("bin")));
    folders.into_iter().map(|f| f.join(program)).find(|file| file.is_file())
}

fn start(what: &str, name: &str, folder: &Folder, recipe: impl Fn(SocketAddr) -> Command) -> Server {
    // A port that was free a moment ago may be taken the next.
    for _ in 0..5 {
        let address = free_address();
        let mut process = Process::start(recipe(address), &folder.path().join(format!("{name}.log")));
        if process.listens(address) {
            return Server { process, address };
        }
    }
    panic!("{what} does not start; see {}", folder.path().display());
}

/// An etcd with nothing in it. With `tls`, by the certificates in the folder, clients' certificates wanted.
pub fn etcd(folder: &Folder, what: &str, tls: bool) -> Option<Server> {
    let program = find("etcd", "etcd-server", what)?;
    let server = start("etcd", "etcd", folder, |address| {
        let scheme = if tls { "https" } else { "http" };
        let (client, peer) = (format!("{scheme}://{address}"), format!("http://{}", free_address()));
        let mut command = Command::new(&program);
        command.args(["--name", "e", "--data-dir", &folder.file("etcd"), "--initial-cluster", &format!("e={peer}")]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        if tls {
            command.args(["--cert-file", &folder.file("cert.pem"), "--key-file", &folder.file("key.pem")]);
            command.args(["--client-cert-auth", "--trusted-ca-file", &folder.file("ca.pem")]);
        }
        command
    });
    Some(server)
}

/// A Redis with nothing in it. With `tls`, by the certificates in the folder, clients' certificates wanted.
pub fn redis(folder: &Folder, what: &str, tls: bool) -> Option<Server> {
    let program = find("redis-server", "redis-server", what)?;
    let server = start("redis", "redis", folder, |address| {
        let port = address.port().to_string();
        let mut command = Command::new(&program);
        command.args(["--bind", "127.0.0.1", "--dir", &folder.file(""), "--save", "", "--appendonly", "yes"]);
        match tls {
            false => command.args(["--port", &port]),
            true => command
                .args(["--port", "0", "--tls-port", &port, "--tls-auth-clients", "yes"])
                .args(["--tls-cert-file", &folder.file("cert.pem"), "--tls-key-file", &folder.file("key.pem")])
                .args(["--tls-ca-cert-file", &folder.file("ca.pem")]),
        };
        command
    });
    Some(server)
}

/// A PostgreSQL with one user, `store`, who has a password, and an empty database.
pub struct Postgres {
    /// Where it listens.
    pub server: Server,
    password: String,
}

/// Starts one.
pub fn postgres(folder: &Folder, what: &str, password: &str) -> Option<Postgres> {
    let initdb = find("initdb", "postgresql", what)?;
    find("psql", "postgresql-client", what)?;
    // The server will not run as root.
    let root = folder.path().metadata().expect("the folder is there").uid() == 0;
    let prefix = || match root {
        false => Command::new("env"),
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command
        }
    };
    let secret = folder.write("postgres.password", password);
    let data = folder.file("postgres");
    std::fs::create_dir_all(&data).expect("folders can be made");
    if root {
        let owned = Command::new("chown").args(["postgres", &data, &secret]).status();
        assert!(owned.is_ok_and(|s| s.success()), "there is no user `postgres`, and this is run as root");
    }
    let mut command = prefix();
    command.arg(initdb.as_os_str()).args(["-D", &data, "-U", "store", "--auth=scram-sha-256", "--pwfile", &secret]);
    let made = run(command);
    assert!(made.status.success(), "initdb: {}", text(&made.stderr));
    let server = start("postgres", "postgres", folder, |address| {
        let mut command = prefix();
        command.arg(initdb.with_file_name("postgres")).args(["-D", &data, "-p", &address.port().to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        command
    });
    let postgres = Postgres { server, password: password.to_owned() };
    eventually("PostgreSQL answers", SOON, || postgres.psql("select 1").ok());
    Some(postgres)
}

impl Postgres {
    /// For `--postgres`.
    pub fn url(&self) -> String {
        format!("postgresql://store@{}/postgres", self.server.address)
    }

    /// What `psql` says to a query: rows as lines, fields between `|`; or its complaint.
    pub fn psql(&self, query: &str) -> Result<String, String> {
        let mut command = Command::new(look("psql").ok_or("psql is gone")?);
        command.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", query]);
        command.env("PGPASSWORD", &self.password);
        let output = run(command);
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Fast shutdown ends its sessions, and its own children with it.
        if !self.server.process.has_ended() {
            self.server.process.signal("INT");
            self.server.process.wait(SOON);
        }
    }
}
