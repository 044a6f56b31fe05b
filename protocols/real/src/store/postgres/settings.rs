//! How a store reaches PostgreSQL.

use super::sql::{self, explain};
use std::{env, fmt, time::Duration};
use tokio_postgres::{Client, Config, NoTls, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Why a database URL is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlError {
    #[error("not a PostgreSQL URL; expected postgresql://user@host/database")]
    NoUrl,
    #[error(
        "the PostgreSQL URL has a password in it, which every user of this machine can see; take it out and put it into the \
         environment variable PGPASSWORD"
    )]
    Password,
    #[error("sslmode=require needs to know whose certificates to trust; give their file")]
    Untrusted,
}

/// Where the database is, and how to log in. `Debug` prints no secret.
#[derive(Clone)]
pub struct PostgresSettings {
    config: Box<Config>,
    tls: Option<MakeRustlsConnect>,
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (hosts, database) = (self.config.get_hosts(), self.config.get_dbname());
        write!(f, "PostgresSettings {{ hosts: {hosts:?}, database: {database:?}, tls: {} }}", self.tls.is_some())
    }
}

impl PostgresSettings {
    /// From a URL such as `postgresql://store@db.example/fencepost?sslmode=require`, and the password in `PGPASSWORD`.
    /// `tls` says whose certificates are trusted; it is required with `sslmode=require`, and used whenever it is given.
    ///
    /// # Errors
    /// The URL is invalid, contains a password, or requires TLS although `tls` is missing; as one sentence.
    pub fn from_env(url: &str, tls: Option<rustls::ClientConfig>) -> Result<Self, UrlError> {
        Self::new(url, env::var("PGPASSWORD").ok(), tls)
    }

    /// The same with the password as an argument.
    ///
    /// # Errors
    /// As [`PostgresSettings::from_env`].
    pub fn new(url: &str, password: Option<String>, tls: Option<rustls::ClientConfig>) -> Result<Self, UrlError> {
        // The URL is never repeated, since a password may be hidden anywhere in it.
        let parsed = url.parse::<Config>();
        let mut config = parsed.map_err(|_| UrlError::NoUrl)?;
        if config.get_password().is_some() {
            return Err(UrlError::Password);
        }
        if let Some(password) = password {
            config.password(password);
        }
        match (config.get_ssl_mode(), &tls) {
            (SslMode::Require, None) => return Err(UrlError::Untrusted),
            // Certificates are given, so the server must not negotiate TLS away.
            (_, Some(_)) => config.ssl_mode(SslMode::Require),
            (_, None) => config.ssl_mode(SslMode::Disable),
        };
        if config.get_application_name().is_none() {
            config.application_name("fencepost store");
        }
        config.connect_timeout(Duration::from_secs(2)).tcp_user_timeout(Duration::from_secs(5));
        Ok(PostgresSettings { config: Box::new(config), tls: tls.map(MakeRustlsConnect::new) })
    }

    /// Opens a connection and sets it up for a store.
    pub(super) async fn connect(&self) -> Result<Client, String> {
        let in_words = |e: tokio_postgres::Error| explain(&e);
        let client = match self.tls.clone() {
            Some(tls) => {
                let (client, connection) = self.config.connect(tls).await.map_err(in_words)?;
                tokio::spawn(async move { report(connection.await) });
                client
            }
            None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(in_words)?;
                tokio::spawn(async move { report(connection.await) });
                client
            }
        };
        sql::set_up(&client).await?;
        Ok(client)
    }
}

fn report(ended: Result<(), tokio_postgres::Error>) {
    if let Err(e) = ended {
        tracing::info!("{}", explain(&e));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_for_the_command_line() {
        for url in ["postgresql://store:hunter2@db/x", "host=db user=store password=hunter2"] {
            let why = PostgresSettings::new(url, None, None).map(|_| ()).expect_err("refused").to_string();
            assert!(why.contains("PGPASSWORD") && !why.contains("hunter2"), "{why}");
        }
        let why = PostgresSettings::new("postgresql://store:hunter2@db:x:y/x", None, None)
            .map(|_| ())
            .expect_err("refused")
            .to_string();
        assert!(!why.contains("hunter2"), "{why}");
        let settings = PostgresSettings::new("postgresql://store@db/x", Some("hunter2".into()), None).expect("fine");
        assert!(!format!("{settings:?}").contains("hunter2"));
        assert!(PostgresSettings::new("postgresql://store@db/x?sslmode=require", None, None).is_err());
    }
}
