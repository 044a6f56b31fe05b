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

impl Came {
    fn said(self) -> String {
        match self {
            Came::Right(0) => "no option".to_owned(),
            Came::Right(1) => "1 option".to_owned(),
            Came::Right(options) => format!("{options} options"),
            Came::Inconclusive => "inconclusive".to_owned(),
            Came::Asked => "asks".to_owned(),
            Came::Wrong => "**wrong**".to_owned(),
        }
    }
}

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
    let wrong: Vec<_> = came.iter().filter(|(_, good, bad)| [good, bad].contains(&&Came::Wrong)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let count =
        |is: fn(&Came) -> bool| came.iter().flat_map(|(_, good, bad)| [good, bad]).filter(|came| is(came)).count();
    let (none, one, more) = (
        count(|came| *came == Came::Right(0)),
        count(|came| *came == Came::Right(1)),
        count(|came| matches!(came, Came::Right(options) if *options > 1)),
    );
    let (inconclusive, asked) = (count(|came| *came == Came::Inconclusive), count(|came| *came == Came::Asked));
    let mut table = format!(
        "| logs | answered without an option | with one | with more | inconclusive | asks | wrong |\n|---:|---:|---:|---:|---:|---:|---:|\n\
         | {} | {none} | {one} | {more} | {inconclusive} | {asked} | {} |\n\n| log | good | bad |\n|---|---|---|\n",
        2 * came.len(),
        wrong.len(),
    );
    for (name, good, bad) in &came {
        writeln!(table, "| `{name}` | {} | {} |", good.said(), bad.said()).expect("a string");
    }
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
