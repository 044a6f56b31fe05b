//! The simulated Redis: its model against transcripts, its parser against arbitrary input, and all of it, over real
//! sockets, against the genuine client.

use crate::{
    texts::{command as words_of, show},
    transcripts,
};
use proptest::prelude::*;
use sim::service::redis::{
    model::Model,
    resp::{Protocol, Resp},
    wire::{Broken, Parser},
};
use std::{fmt::Write as _, path::Path};

/// The wall clock at a transcript's time 0, in milliseconds since the Unix epoch.
const EPOCH_MS: u64 = 1_800_000_000_000;

/// Each section of `testdata/redis.txt` is a conversation: `> TIME COMMAND`, quoted as on Redis's command line,
/// followed by the reply. `@name` stands for a script, `#name` for its digest; `! reconnect` and `! restart` do what
/// they say. `FENCEPOST_UPDATE=1` records the replies anew. Conversations that need no exact times are in
/// `testdata/conformance`, where they are compared with the real server; these were compared with Redis 7.0.15 by hand,
/// except for `clock-steps`, `simulated-only` and sub-millisecond timing.
#[test]
fn transcripts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/redis.txt");
    transcripts::check(&file, 5, replay);
}

fn replay(transcript: &str) -> String {
    let (mut model, mut text) = (Model::new(), String::new());
    let mut session = model.open();
    for line in transcript.lines().filter(|line| !line.starts_with('<')) {
        writeln!(text, "{line}").unwrap();
        let Some(command) = line.strip_prefix("> ") else {
            assert!(line.is_empty() || line.starts_with('#'), "cannot read the line {line:?}");
            continue;
        };
        let (time, command) = command.split_once(' ').unwrap();
        let now_ms = EPOCH_MS + time.parse::<u64>().unwrap();
        match command {
            "! reconnect" => session = model.open(),
            "! restart" => {
                model.restart();
                session = model.open();
            }
            command => {
                let reply = model.apply(&mut session, now_ms, &words_of(command));
                writeln!(text, "< {}", show(&reply)).unwrap();
            }
        }
    }
    text
}

/// All results of a parser for some input, fed in pieces of `piece` bytes.
fn parse(bytes: &[u8], piece: usize) -> (Vec<Vec<Vec<u8>>>, Option<Broken>) {
    let (mut parser, mut commands) = (Parser::default(), Vec::new());
    for piece in bytes.chunks(piece) {
        parser.feed(piece);
        loop {
            match parser.command() {
                Ok(Some(command)) => commands.push(command),
                Ok(None) => break,
                Err(broken) => return (commands, Some(broken)),
            }
        }
    }
    (commands, None)
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

#[test]
fn the_parser_reads_what_redis_reads() {
    // Each of these was sent to Redis 7.0.15.
    let good: [(&[u8], &[&[&str]]); 9] = [
        (b"PING\r\n", &[&["PING"]]),
        (b"PING\n", &[&["PING"]]),
        (b"\r\n  \r\nPING\r\n", &[&["PING"]]),
        (b"*-1\r\n*0\r\nPING\r\n", &[&["PING"]]),
        (b"SET a \"b\\x41\\n\" 'c\\'d'\r\n", &[&["SET", "a", "bA\n", "c'd"]]),
        (b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n", &[&["GET", "k"], &["PING"]]),
        (b"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", &[&["PING"], &["PING"]]),
        (b"*1\rx$4\r\nPING\r\n", &[&["PING"]]),
        (b"*1\r\n$0\r\n\r\n", &[&[""]]),
    ];
    for (bytes, expected) in good {
        let expected: Vec<_> = expected.iter().map(|command| words(command)).collect();
        assert_eq!(parse(bytes, 4096), (expected, None), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_parser_refuses_what_redis_refuses() {
    let long = |prefix: &str| format!("{prefix}{}", "1".repeat(70_000)).into_bytes();
    let bad: [(Vec<u8>, &str); 12] = [
        (b"*a\r\n".to_vec(), "invalid multibulk length"),
        (b"* 1\r\n".to_vec(), "invalid multibulk length"),
        (b"*1x\n*1\r\n$4\r\nPING\r\n".to_vec(), "invalid multibulk length"),
        (b"*2147483648\r\n".to_vec(), "invalid multibulk length"),
        (b"*1\r\nPING\r\n".to_vec(), "expected '$', got 'P'"),
        (b"*1\r\n\r\n".to_vec(), "expected '$', got '\r'"),
        (b"*1\r\n$-1\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$600000000\r\n".to_vec(), "invalid bulk length"),
        (b"SET a \"b c\r\n".to_vec(), "unbalanced quotes in request"),
        (long("x"), "too big inline request"),
        (long("*"), "too big mbulk count string"),
        (long("*1\r\n$"), "too big bulk count string"),
    ];
    for (bytes, why) in bad {
        let broken = Some(Broken::Protocol(format!("ERR Protocol error: {why}")));
        assert_eq!(parse(&bytes, 4096), (vec![], broken));
    }
}

#[test]
fn replies_have_the_bytes_of_their_protocol() {
    let reply = Resp::Array(vec![
        Resp::Nil,
        Resp::Integer(-2),
        Resp::bulk("a\r\n"),
        Resp::Map(vec![(Resp::bulk("k"), Resp::Status("OK"))]),
        Resp::Error("ERR got '\r\n'".into()),
    ]);
    let bytes = |protocol| {
        let mut out = Vec::new();
        reply.encode(protocol, &mut out);
        String::from_utf8(out).unwrap()
    };
    let resp2 = "*5\r\n$-1\r\n:-2\r\n$3\r\na\r\n\r\n*2\r\n$1\r\nk\r\n+OK\r\n-ERR got '  '\r\n";
    let resp3 = "*5\r\n_\r\n:-2\r\n$3\r\na\r\n\r\n%1\r\n$1\r\nk\r\n+OK\r\n-ERR got '  '\r\n";
    assert_eq!((bytes(Protocol::Resp2).as_str(), bytes(Protocol::Resp3).as_str()), (resp2, resp3));
}

/// Bytes similar enough to RESP to be partly parsed.
fn nearly_resp() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"*".to_vec()),
        Just(b"$".to_vec()),
        Just(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".to_vec()),
        Just(b"*4\r\n$4\r\nEVAL\r\n".to_vec()),
        Just(b"SET k v PX ".to_vec()),
        (-3i64..70_000).prop_map(|number| number.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn whatever_comes_in_is_answered_and_pieces_do_not_matter(bytes in nearly_resp(), piece in 1usize..9) {
        let whole = parse(&bytes, 4096);
        prop_assert_eq!(&whole, &parse(&bytes, piece));
        let mut model = Model::new();
        let mut session = model.open();
        for command in whole.0 {
            prop_assert!(!command.is_empty());
            let mut out = Vec::new();
            model.apply(&mut session, EPOCH_MS, &command).encode(Protocol::Resp2, &mut out);
            prop_assert!(out.ends_with(b"\r\n"));
        }
    }

    #[test]
    fn what_is_encoded_is_read_back(command in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6)) {
        let mut bytes = Vec::new();
        Resp::Array(command.iter().map(Resp::bulk).collect()).encode(Protocol::Resp2, &mut bytes);
        prop_assert_eq!(parse(&bytes, 7), (vec![command], None));
    }
}
