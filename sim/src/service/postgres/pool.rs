//! A connection pool in transaction mode, in front of the server on the same machine.
//!
//! Modelled on pgbouncer/pgbouncer (read at 13a344f; 1.18 behaves the same): `src/objects.c: find_server,
//! release_server` (a client has a server connection for the length of a transaction, and gets the most recently used
//! one: `server_round_robin` is 0; a client that leaves during a transaction takes the connection with it:
//! `disconnect_client`), `src/janitor.c: check_unused_servers` (`server_lifetime` 3,600 s, `server_idle_timeout` 600 s;
//! checked here when a client arrives), `src/varcache.c` (each client's `application_name` is set on its connection).
//! `server_reset_query` runs in session mode only, so a session's advisory locks are still held for the next client.
//! `default_pool_size` is 20; further clients wait. Not modelled: `max_client_conn`, `query_wait_timeout`, and the
//! statements that PgBouncer prepares for its clients since 1.21.

use super::{
    answers::Writer,
    backend::{Backend, welcome},
    error::Error,
    messages::{Message, Reader},
    server::Server,
    settings::Settings,
    wire::greet,
};
use protocols::types::SECOND;
use protocols_clients::env::{Env, Listener};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Semaphore,
};

/// The most server connections.
const POOL_SIZE: usize = 20;
/// Connections of this age are closed.
const SERVER_LIFETIME: u64 = 3_600 * SECOND;
/// Connections that have been idle this long are closed.
const SERVER_IDLE_TIMEOUT: u64 = 600 * SECOND;

struct Linked<E: Env> {
    backend: Backend<E>,
    opened: u64,
    used: u64,
}

struct Pool<E: Env> {
    env: E,
    server: Arc<Server>,
    /// Idle connections, the most recently used last.
    idle: Mutex<Vec<Linked<E>>>,
    free: Semaphore,
}

/// Serves the pool on `port` until dropped. Sessions of the former process are gone.
///
/// # Errors
/// The port is taken, or the socket closed.
pub async fn serve<E: Env>(env: E, port: u16, server: Arc<Server>) -> io::Result<()> {
    server.restart(env.now());
    let (idle, free) = (Mutex::default(), Semaphore::new(POOL_SIZE));
    let pool = Arc::new(Pool { env: env.clone(), server, idle, free });
    let mut listener = env.listen(port).await?;
    let mut connections: Vec<(Weak<()>, E::Task)> = Vec::new();
    loop {
        let stream = listener.accept().await?;
        connections.retain(|(alive, _)| alive.strong_count() > 0);
        let alive = Arc::new(());
        let watch = Arc::downgrade(&alive);
        let pool = pool.clone();
        let connection = async move {
            let _alive = alive;
            pool.connect(stream).await;
        };
        connections.push((watch, env.spawn(connection)));
    }
}

impl<E: Env> Pool<E> {
    /// Serves one client, from its first message to its end.
    async fn connect(&self, mut stream: E::Stream) {
        let Some((mut reader, settings)) = greet(&mut stream).await else { return };
        let mut out = Writer::default();
        welcome(&mut out, &settings, 0);
        if stream.write_all(&out.0).await.is_err() {
            return;
        }
        let mut linked = None;
        self.talk(&mut stream, &mut reader, &settings, &mut linked).await;
        // The client left during a transaction: nobody else can use the connection.
        if let Some(Linked { backend, .. }) = linked {
            backend.close();
            self.free.add_permits(1);
        }
    }

    async fn talk(
        &self,
        stream: &mut E::Stream,
        reader: &mut Reader,
        settings: &Settings,
        linked: &mut Option<Linked<E>>,
    ) {
        let mut bytes = vec![0; 4096];
        loop {
            let message = match reader.message() {
                Ok(Some(Message::Terminate)) => return,
                Ok(Some(message)) => message,
                Ok(None) => {
                    let Ok(count @ 1..) = stream.read(&mut bytes).await else { return };
                    reader.feed(&bytes[..count]);
                    continue;
                }
                Err(error) => return self.refuse(stream, &error).await,
            };
            let now_linked = match linked.take() {
                Some(linked) => linked,
                None => self.link(settings).await,
            };
            let Linked { backend, .. } = linked.insert(now_linked);
            let (out, goes_on) = backend.answer(message).await;
            if stream.write_all(&out).await.is_err() || !goes_on {
                return;
            }
            if backend.is_between_transactions()
                && let Some(free) = linked.take()
            {
                self.release(free);
            }
        }
    }

    async fn refuse(&self, stream: &mut E::Stream, error: &Error) {
        let mut out = Writer::default();
        out.error(&Error { fatal: true, ..error.clone() });
        let _ = stream.write_all(&out.0).await;
    }

    /// The most recently used connection, or a new one.
    async fn link(&self, settings: &Settings) -> Linked<E> {
        // The semaphore is never closed.
        if let Ok(permit) = self.free.acquire().await {
            permit.forget();
        }
        let now = self.env.now();
        let found = {
            let mut idle = self.idle();
            let is_over = |linked: &mut Linked<E>| {
                let Linked { backend, opened, used } = linked;
                let (age, unused) = (now.mono.saturating_sub(*opened), now.mono.saturating_sub(*used));
                age > SERVER_LIFETIME || unused > SERVER_IDLE_TIMEOUT || backend.is_terminated()
            };
            let over: Vec<Linked<E>> = idle.extract_if(.., is_over).collect();
            over.into_iter().for_each(|linked| linked.backend.close());
            idle.pop()
        };
        let linked = found.unwrap_or_else(|| {
            let (pid, signal) = self.server.open(now, settings.clone());
            let backend = Backend::new(self.env.clone(), self.server.clone(), pid, signal, Reader::default());
            Linked { backend, opened: now.mono, used: now.mono }
        });
        linked.backend.be_named(settings.application_name());
        linked
    }

    fn release(&self, mut linked: Linked<E>) {
        linked.used = self.env.now().mono;
        self.idle().push(linked);
        self.free.add_permits(1);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Linked<E>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
