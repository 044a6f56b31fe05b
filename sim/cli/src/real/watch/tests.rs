//! The dashboard on recorded looks: `cargo real watch --json` recorded a real cluster while its leader was killed, and
//! one without fencing whose leader was paused. `FENCEPOST_UPDATE=1` rewrites the pictures.

use super::{
    draw::{Paint, draw},
    fleet::{Fleet, Mark},
    look::Look,
    news::Weight,
    plain,
};
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, style::Color};
use std::path::Path;

fn testdata(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/watch").join(name)
}

fn recorded(name: &str) -> Vec<Look> {
    let text = std::fs::read_to_string(testdata(name)).expect("a recording");
    text.lines().map(|line| serde_json::from_str(line).expect("a look")).collect()
}

/// A fleet after the recorded looks.
fn watched(looks: &[Look]) -> Fleet {
    let mut fleet = Fleet::default();
    for look in looks {
        fleet.take(look.clone());
    }
    fleet
}

fn screen(fleet: &Fleet, width: u16, height: u16, colour: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal of memory");
    terminal.draw(|frame| draw(frame, fleet, 500, Paint { colour })).expect("it can be drawn on");
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let row = |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
    buffer.content.chunks(width).map(|cells| row(cells).trim_end().to_owned() + "\n").collect()
}

/// Compares a picture with the committed one.
fn assert_pictured(name: &str, picture: &str) {
    let file = testdata(name);
    if std::env::var_os("FENCEPOST_UPDATE").is_some() {
        std::fs::write(&file, picture).expect("pictures can be written");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), picture, "{name}");
}

fn told(fleet: &Fleet) -> Vec<&str> {
    fleet.news().map(|news| &*news.text).collect()
}

#[test]
fn a_leader_that_is_killed_is_seen_to_be_replaced() {
    let looks = recorded("killed.jsonl");
    let fleet = watched(&looks);
    let news = told(&fleet).join("\n");
    let leaders: Vec<_> = looks[0].acting().map(|(name, _)| name.to_owned()).collect();
    let [killed] = &leaders[..] else { panic!("{leaders:?} act at first") };
    for part in
        [&format!("{killed} is silent"), " is elected with token ", " takes effect with token ", " answers again"]
    {
        assert!(news.contains(part), "`{part}` is not in:\n{news}");
    }
    assert_eq!(fleet.headline().0, Weight::Calm, "{:?}", fleet.headline());
    assert!(!fleet.is_broken());
    let marks = fleet.marks(killed, 100);
    let mut order = marks.clone();
    order.dedup();
    assert!(order.starts_with(&[Mark::Acts, Mark::Silent]), "{order:?}");
    assert_pictured("killed.80x24.txt", &text(&screen(&fleet, 80, 24, true)));
    assert_pictured("killed.120x30.txt", &text(&screen(&fleet, 120, 30, true)));
    assert_pictured("killed.table.txt", &plain::table(&fleet));
}

#[test]
fn two_that_took_effect_at_once_cannot_be_overlooked() {
    let looks = recorded("unfenced.jsonl");
    let two = |look: &Look| look.figures().is_some_and(|figures| figures.leaders_acting > 1);
    let seen = looks.iter().position(two).expect("it was recorded");
    assert_eq!(watched(&looks[..seen]).headline().0.max(Weight::Trouble), Weight::Trouble);
    let fleet = watched(&looks[..=seen]);
    let (weight, headline) = fleet.headline();
    assert_eq!(weight, Weight::Alarm);
    assert!(headline.starts_with("2 leaders took effect at once: "), "{headline}");
    assert!(told(&fleet).join("\n").contains("after its successor's"), "{:?}", told(&fleet));
    let buffer = screen(&fleet, 80, 24, true);
    let red = buffer.content.iter().filter(|cell| cell.fg == Color::Red).count();
    assert!(red > headline.len(), "only {red} cells are red");
    assert_pictured("unfenced.80x24.txt", &text(&buffer));
    // It is remembered after the ten seconds have passed.
    assert!(watched(&looks).is_broken());
}

#[test]
fn without_colours_nothing_is_lost_and_nothing_is_coloured() {
    let fleet = watched(&recorded("unfenced.jsonl"));
    let (plain, coloured) = (screen(&fleet, 100, 30, false), screen(&fleet, 100, 30, true));
    assert_eq!(text(&plain), text(&coloured));
    assert!(plain.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(coloured.content.iter().any(|cell| cell.fg != Color::Reset));
}

#[test]
fn a_terminal_of_any_size_is_drawn_on() {
    let fleet = watched(&recorded("killed.jsonl"));
    for (width, height) in [(1, 1), (3, 2), (20, 5), (40, 10), (60, 15), (80, 24), (300, 100)] {
        let shown = text(&screen(&fleet, width, height, true));
        if width >= 40 {
            assert!(shown.contains("leads and acts"), "{width}x{height}:\n{shown}");
        }
        if width >= 60 {
            // Truncated, 10 writes would look like 1 or none.
            let row = shown.lines().find(|line| line.trim_start().starts_with("schedule "));
            let numbers: Vec<&str> = row.unwrap_or_default().split_whitespace().skip(1).collect();
            assert!(numbers.starts_with(&["3"]) && numbers.contains(&"1.0"), "{width}x{height}:\n{shown}");
        }
    }
    text(&screen(&Fleet::default(), 80, 24, true));
}

/// The news of two looks that differ as `change` says.
fn news_of(change: impl FnOnce(&mut Look)) -> Vec<String> {
    let before = recorded("killed.jsonl").remove(0);
    let mut fleet = watched(std::slice::from_ref(&before));
    let mut after = before;
    after.at_ms += 500;
    change(&mut after);
    fleet.take(after).into_iter().map(|news| news.text).collect()
}

fn leader(look: &mut Look) -> &mut crate::real::ask::Status {
    let statuses = look.nodes.iter_mut().filter_map(|node| node.status.as_mut());
    statuses.filter(|status| status.acting).last().expect("somebody acts")
}

#[test]
fn what_is_different_is_told_and_what_is_not_is_not() {
    assert_eq!(news_of(|_| {}), [""; 0]);
    let refused = news_of(|look| {
        let figures = look.store.as_mut().and_then(|store| store.figures.as_mut()).expect("figures");
        let sequence = figures.resources.iter_mut().find(|r| r.name == "sequence").expect("a sequence");
        (sequence.refused, sequence.highest_token) = (sequence.refused + 2, 9);
    });
    assert_eq!(refused, ["the store refused 2 requests of a former leader on sequence; it is at token 9"]);
    let stuck = news_of(|look| {
        let status = leader(look);
        (status.acting, status.reason) = (false, Some("the store has not answered for 1005 ms".to_owned()));
    });
    assert!(stuck.iter().any(|text| text.ends_with(": the store has not answered for 1005 ms")), "{stuck:?}");
    assert!(stuck.contains(&"nobody acts".to_owned()), "{stuck:?}");
    let silent = news_of(|look| look.store.as_mut().expect("a store").figures = None);
    assert_eq!(silent.len(), 1, "{silent:?}");
    let anew = news_of(|look| {
        let figures = look.store.as_mut().and_then(|store| store.figures.as_mut()).expect("figures");
        figures.resources.iter_mut().for_each(|r| (r.accepted, r.refused) = (0, 0));
    });
    assert_eq!(anew, ["the store was started anew"]);
}

/// A reason whose number grows from look to look is one reason.
#[test]
fn a_reason_that_lasts_is_told_once() {
    let mut looks = vec![recorded("killed.jsonl").remove(0)];
    for ms in [1_005, 1_505, 2_005] {
        let mut look = looks[0].clone();
        look.at_ms += ms;
        let reason = Some(format!("the store has not answered for {ms} ms"));
        (leader(&mut look).reason, leader(&mut look).acting) = (reason, false);
        looks.push(look);
    }
    let fleet = watched(&looks);
    let told = told(&fleet).into_iter().filter(|text| text.contains("not answered")).count();
    assert_eq!(told, 1);
    let (weight, headline) = fleet.headline();
    assert!(weight == Weight::Trouble && headline.starts_with("Nobody acts for 1.0 s: "), "{headline}");
}

#[test]
fn leaders_that_change_all_the_time_are_said_to() {
    let first = recorded("killed.jsonl").remove(0);
    let mut looks = vec![first];
    for n in 1..=4 {
        let mut look = looks[0].clone();
        look.at_ms += n * 10_000;
        leader(&mut look).fence_token = Some(100 + n);
        looks.push(look);
    }
    let (weight, headline) = watched(&looks).headline();
    assert!(weight == Weight::Trouble && headline.contains("4 elections within a minute"), "{headline}");
}
