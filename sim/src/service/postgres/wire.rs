//! Accepts and serves connections on any [`Env`].

use super::{
    answers::Writer,
    backend::{Backend, End},
    error::Error,
    messages::{Opening, Reader},
    server::{Client, Server},
    settings::Settings,
};
use protocols_clients::env::{Env, Listener};
use std::{
    io,
    sync::{Arc, Weak},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Serves on `port` until dropped, which closes all connections. Sessions of the former process are gone. `client` says
/// whose connection it is, if that matters.
///
/// # Errors
/// The port is taken, or the socket closed.
pub async fn serve<E: Env>(
    env: E,
    port: u16,
    server: Arc<Server>,
    client: impl Fn(&E::Stream) -> Option<Client>,
) -> io::Result<()> {
    server.restart(env.now());
    let mut listener = env.listen(port).await?;
    let mut connections: Vec<(Weak<()>, E::Task)> = Vec::new();
    loop {
        let stream = listener.accept().await?;
        connections.retain(|(alive, _)| alive.strong_count() > 0);
        let alive = Arc::new(());
        let watch = Arc::downgrade(&alive);
        let (env_of_it, server, client) = (env.clone(), server.clone(), client(&stream));
        let connection = async move {
            let _alive = alive;
            connect(env_of_it, stream, server, client).await;
        };
        connections.push((watch, env.spawn(connection)));
    }
}

/// Serves one connection, from its first message to its end.
async fn connect<E: Env>(env: E, mut stream: E::Stream, server: Arc<Server>, client: Option<Client>) {
    let Some((reader, settings)) = greet(&mut stream).await else { return };
    let (pid, signal) = server.open(env.now(), settings);
    if let Some(client) = client {
        server.belongs_to(pid, client);
    }
    let mut backend = Backend::new(env.clone(), server.clone(), pid, signal, reader);
    let end = backend.run(&mut stream).await;
    // The session's locks are released before the client is told.
    server.close(env.now(), pid);
    if let End::Told(last) = end {
        let _ = stream.write_all(&last).await;
        let _ = stream.shutdown().await;
    }
}

/// The first messages; `None` if there is nobody to serve.
pub(super) async fn greet<S>(stream: &mut S) -> Option<(Reader, Settings)>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut reader = Reader::default();
    let mut bytes = vec![0; 4096];
    loop {
        let opening = match reader.opening() {
            Ok(None) => {
                let Ok(count @ 1..) = stream.read(&mut bytes).await else { return None };
                reader.feed(&bytes[..count]);
                continue;
            }
            Ok(Some(opening)) => opening,
            Err(error) => return refuse(stream, &error).await,
        };
        match opening {
            Opening::Encrypted => stream.write_all(b"N").await.ok()?,
            Opening::Cancel => return None,
            Opening::Startup(said) => match settings_of(&said) {
                Ok(settings) => return Some((reader, settings)),
                Err(error) => return refuse(stream, &error).await,
            },
        }
    }
}

async fn refuse<S: tokio::io::AsyncWrite + Unpin, T>(stream: &mut S, error: &Error) -> Option<T> {
    let mut out = Writer::default();
    out.error(&Error { fatal: true, ..error.clone() });
    let _ = stream.write_all(&out.0).await;
    let _ = stream.shutdown().await;
    None
}

/// The settings that a client sends when it connects, by name or in `options`.
fn settings_of(said: &[(String, String)]) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    if !said.iter().any(|(name, value)| name == "user" && !value.is_empty()) {
        return Err(Error::new("28000", "no PostgreSQL user name specified in startup packet"));
    }
    for (name, value) in said {
        match name.to_ascii_lowercase().as_str() {
            // Any user may use any database; there is only one.
            "user" | "database" => {}
            // Formats of values, which are fixed here.
            "datestyle" | "timezone" | "extra_float_digits" => {}
            "options" => {
                for pair in value.split_whitespace().filter(|word| *word != "-c") {
                    let pair = pair.trim_start_matches("-c").trim_start_matches("--");
                    let wrong = || Error::unsupported(format!("the option `{pair}` of a connection"));
                    let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
                    settings.set(name, Some(value))?;
                }
            }
            other => drop(settings.set(other, Some(value))?),
        }
    }
    Ok(settings)
}
