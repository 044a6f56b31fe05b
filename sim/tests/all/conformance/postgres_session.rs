//! PostgreSQL: a session with either arm.

use protocols::service::postgres::{
    EXTEND, FIRST_CHECK_IN, LOCK_CHECK_IN, LOOK, PUT_CHECK_IN, RELEASE, TAKE, TRY_LOCK, UNLOCK,
};
use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinHandle;
use tokio_postgres::{
    AsyncMessage, Client, Config, Error, NoTls, SimpleQueryMessage,
    types::{ToSql, Type},
};

/// The elections' own statements by name, with the types of their parameters.
const OWN: [(&str, &str, &[Type]); 9] = [
    ("@take", TAKE, &[Type::TEXT, Type::TEXT, Type::INT8]),
    ("@extend", EXTEND, &[Type::TEXT, Type::TEXT, Type::INT8]),
    ("@release", RELEASE, &[Type::TEXT, Type::TEXT]),
    ("@look", LOOK, &[Type::TEXT]),
    ("@lock-check-in", LOCK_CHECK_IN, &[Type::TEXT]),
    ("@first-check-in", FIRST_CHECK_IN, &[Type::TEXT]),
    ("@put-check-in", PUT_CHECK_IN, &[Type::TEXT, Type::TEXT, Type::INT8, Type::INT8, Type::INT8]),
    ("@try-lock", TRY_LOCK, &[Type::INT8]),
    ("@unlock", UNLOCK, &[Type::INT8]),
];
/// The deadlock timeout, and a time after which a deadlock is surely detected, well before other timeouts.
pub(super) const DEADLOCK: (&str, Duration) = ("SET deadlock_timeout = '20ms'", Duration::from_millis(80));

type Told = Arc<Mutex<Vec<String>>>;

pub(super) struct Session {
    pub(super) client: Arc<Client>,
    driver: JoinHandle<()>,
    remarks: Told,
    pub(super) pid: i32,
    pub(super) under_way: Option<JoinHandle<Vec<String>>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
        if let Some(task) = &self.under_way {
            task.abort();
        }
    }
}

fn shown(error: &Error) -> String {
    match error.as_db_error() {
        Some(told) => format!("{} {}: {}", told.severity(), told.code().code(), told.message()),
        None => "the connection is closed".to_owned(),
    }
}

impl Session {
    pub(super) async fn open(port: u16) -> Session {
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user("store").dbname("postgres");
        for _ in 0..2_000 {
            if let Ok((client, mut connection)) = config.connect(NoTls).await {
                let remarks = Told::default();
                let heard = remarks.clone();
                let driver = tokio::spawn(async move {
                    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                        if let AsyncMessage::Notice(told) = message {
                            let line = format!("{} {}: {}", told.severity(), told.code().code(), told.message());
                            heard.lock().expect("nobody panicked").push(line);
                        }
                    }
                });
                client.batch_execute(DEADLOCK.0).await.expect("a superuser may");
                let pid =
                    client.query_typed("SELECT pg_backend_pid()", &[]).await.expect("it says who it is")[0].get(0);
                return Session { client: Arc::new(client), driver, remarks, pid, under_way: None };
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("nobody listens on port {port}");
    }

    pub(super) fn start(&mut self, text: String) {
        let (client, remarks, pid) = (self.client.clone(), self.remarks.clone(), self.pid);
        self.under_way = Some(tokio::spawn(async move {
            let mut lines =
                if text.starts_with('@') { own(&client, &text).await } else { simple(&client, &text).await };
            lines.iter_mut().filter(|line| **line == pid.to_string()).for_each(|line| *line = "#".to_owned());
            let mut all = std::mem::take(&mut *remarks.lock().expect("nobody panicked"));
            all.append(&mut lines);
            all
        }));
    }
}

async fn simple(client: &Client, text: &str) -> Vec<String> {
    let messages = match client.simple_query(text).await {
        Ok(messages) => messages,
        Err(error) => return vec![shown(&error)],
    };
    let mut lines = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let cells = (0..row.len()).map(|place| row.get(place).unwrap_or("null"));
                lines.push(cells.collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(count) => lines.push(format!("({count})")),
            SimpleQueryMessage::RowDescription(columns) => {
                let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
                lines.push(format!("[{}]", names.join("|")));
            }
            _ => {}
        }
    }
    lines
}

async fn own(client: &Client, text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let (_, statement, types) = OWN.iter().find(|(name, ..)| *name == words[0]).expect("a statement of ours");
    let texts: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
    let numbers: Vec<i64> = texts.iter().map(|word| word.parse().unwrap_or(0)).collect();
    let params: Vec<(&(dyn ToSql + Sync), Type)> = types
        .iter()
        .enumerate()
        .map(|(place, of)| match *of {
            Type::TEXT => (&texts[place] as &(dyn ToSql + Sync), Type::TEXT),
            _ => (&numbers[place] as &(dyn ToSql + Sync), Type::INT8),
        })
        .collect();
    match client.query_typed(statement, &params).await {
        Err(error) => vec![shown(&error)],
        Ok(rows) => {
            let cell = |row: &tokio_postgres::Row, place: usize| match *row.columns()[place].type_() {
                Type::BOOL => row.get::<_, bool>(place).to_string(),
                Type::INT8 => row.get::<_, i64>(place).to_string(),
                _ => row.get::<_, String>(place),
            };
            let line =
                |row: &tokio_postgres::Row| (0..row.len()).map(|place| cell(row, place)).collect::<Vec<_>>().join("|");
            let mut lines: Vec<String> = rows.iter().map(line).collect();
            lines.push(format!("({})", rows.len()));
            lines
        }
    }
}
