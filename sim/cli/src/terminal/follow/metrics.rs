//! What was judged, for Prometheus (text format 0.0.4), to whoever connects.

use crate::terminal::exit::Stop;
use reports::{Judgement, invariant::Class};
use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long a client may take to ask, and to take the answer.
const WITHIN: Duration = Duration::from_secs(2);
/// The largest request, in bytes.
const ASKED_MAX: u64 = 8 * 1024;

/// What is served.
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    judged: String,
    refused: bool,
}

impl Metrics {
    /// Serves at `address` from now on.
    ///
    /// # Errors
    /// The address is taken, or not this machine's.
    pub fn serve(address: SocketAddr) -> Result<Metrics, Stop> {
        let listener = TcpListener::bind(address);
        let listener = listener.map_err(|e| Stop::usage(format!("cannot serve metrics on {address}: {e}")))?;
        let metrics = Metrics(Arc::default());
        let served = metrics.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is its own affair.
                let _ = served.answer(stream);
            }
        });
        Ok(metrics)
    }

    /// The log was judged.
    pub fn judged(&self, judgement: &Judgement) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut text = String::from("# TYPE fencepost_check_violated gauge\n");
        let safety = judgement.invariants.iter().filter(|seen| seen.class == Class::Safety);
        for seen in safety {
            let _ = writeln!(text, "fencepost_check_violated{{invariant=\"{}\"}} {}", seen.name, u8::from(!seen.holds));
        }
        let metrics = &judgement.metrics;
        for (name, value) in [
            ("events", judgement.history_events),
            ("leaders_acting_by_effect_max", metrics.leaders_acting_by_effect_max),
            ("leaders_believing_max", metrics.leaders_believing_max),
            ("last_judged_timestamp_seconds", now),
        ] {
            let _ = writeln!(text, "# TYPE fencepost_check_{name} gauge\nfencepost_check_{name} {value}");
        }
        *self.told() = Told { judged: text, refused: false };
    }

    /// The log cannot be judged as it is.
    pub fn refused(&self) {
        self.told().refused = true;
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(WITHIN))?;
        stream.set_write_timeout(Some(WITHIN))?;
        let (mut asked, mut byte) = (Vec::new(), [0; 1]);
        let mut from = (&stream).take(ASKED_MAX);
        while !asked.ends_with(b"\r\n\r\n") && from.read(&mut byte)? == 1 {
            asked.push(byte[0]);
        }
        let body = {
            let told = self.told();
            let readable = u8::from(!told.refused);
            format!("{}# TYPE fencepost_check_readable gauge\nfencepost_check_readable {readable}\n", told.judged)
        };
        let (status, body) = match asked.starts_with(b"GET ") {
            true => ("200 OK", body),
            false => ("405 Method Not Allowed", "ask with GET\n".to_owned()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes())
    }
}
