//! How many logs `check` answers with how many options, as a table of docs/your-log.md: `FENCEPOST_UPDATE=1` writes it.

use super::{
    reader::{file, with_options},
    shapes, systems,
};
use std::{fmt::Write, path::Path};

/// What came of one log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    /// The right verdict, with this many options.
    Right(usize),
    Inconclusive,
    /// A question that only the log's owner can answer, or a command to run first.
    Asked,
    Wrong,
}

/// Words of the book, and what they are for.
type Row = (&'static str, fn(Came) -> bool);

/// What may come of a log, as the book says it.
const ROWS: [Row; 6] = [
    ("right, without an option", |came| came == Came::Right(0)),
    ("right, with one option", |came| came == Came::Right(1)),
    ("right, with more options", |came| matches!(came, Came::Right(options) if options > 1)),
    ("inconclusive", |came| came == Came::Inconclusive),
    ("a question", |came| came == Came::Asked),
    ("wrong", |came| came == Came::Wrong),
];

fn came(name: &str, text: &str, bad: bool) -> Came {
    let called = format!("tally-{}-{name}", if bad { "bad" } else { "good" });
    match with_options(&called, &[file(&called, text)]) {
        (Some(2), _) => Came::Inconclusive,
        (Some(code @ (0 | 1)), options) if (code == 1) == bad => Came::Right(options),
        (Some(0 | 1), _) => Came::Wrong,
        (None, _) => Came::Asked,
        (Some(other), _) => panic!("{called} ends with {other}"),
    }
}

#[test]
fn the_book_says_how_many_shapes_of_logs_are_judged() {
    let mut all = shapes::all();
    all.extend(systems::elections().into_iter().chain(systems::writes()));
    let [good, bad] = [false, true].map(|bad| super::shapes(&super::rows(bad)));
    all.extend(good.into_iter().zip(bad).map(|((name, good), (_, bad))| (name, good, bad)));
    all.sort_by_key(|(name, ..)| *name);
    let came: Vec<_> =
        all.iter().map(|(name, good, bad)| (*name, came(name, good, false), came(name, bad, true))).collect();
    let mut table = "| what came of it | good | bad | logs |\n|---|---:|---:|---|\n".to_owned();
    for (row, is) in ROWS {
        let fits = came.iter().filter(|(_, good, bad)| is(*good) || is(*bad));
        let named = fits.map(|(name, good, bad)| match (is(*good), is(*bad)) {
            (true, true) => format!("`{name}`"),
            (true, false) => format!("`{name}` (good)"),
            _ => format!("`{name}` (bad)"),
        });
        let (named, good) = (named.collect::<Vec<_>>(), came.iter().filter(|(_, good, _)| is(*good)).count());
        let bad = came.iter().filter(|(.., bad)| is(*bad)).count();
        assert!(row != "wrong" || named.is_empty(), "{named:?}");
        writeln!(table, "| {row} | {good} | {bad} | {} |", named.join(", ")).expect("a string");
    }
    writeln!(table, "| all | {0} | {0} | |", came.len()).expect("a string");
    println!("{table}");
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/your-log.md");
    let text = std::fs::read_to_string(&book).expect("the book");
    let (before, rest) = text.split_once("<!-- tally -->\n").expect("the place of the table");
    let (_, after) = rest.split_once("<!-- /tally -->").expect("its end");
    let must = format!("{before}<!-- tally -->\n{table}<!-- /tally -->{after}");
    if std::env::var_os("FENCEPOST_UPDATE").is_some() {
        std::fs::write(&book, must).expect("the book can be written");
    } else {
        assert!(text == must, "docs/your-log.md has other figures; FENCEPOST_UPDATE=1 writes these:\n{table}");
    }
}
