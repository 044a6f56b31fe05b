//! The numbers as curves: one figure against another.

use super::numbers::{Cell, Numbers};
use crate::plot::against::{Against, Line};

/// The curves of an experiment with their file names; empty ones are left out.
pub fn of(numbers: &Numbers, experiment: u8) -> Vec<(&'static str, Against)> {
    let made = match experiment {
        2 => vec![("2-renewals", renewals(numbers))],
        6 => vec![("6-storm", storm(numbers))],
        _ => Vec::new(),
    };
    made.into_iter().filter(|(_, picture)| !picture.lines.is_empty()).collect()
}

/// Groups cells by a key, in order of first appearance.
fn by<'a>(cells: impl Iterator<Item = &'a Cell>, of: impl Fn(&Cell) -> String) -> Vec<(String, Vec<&'a Cell>)> {
    let mut all: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in cells {
        let key = of(cell);
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cells)) => cells.push(cell),
            None => all.push((key, vec![cell])),
        }
    }
    all
}

fn line(label: String, cells: &[&Cell], point: impl Fn(&Cell) -> Option<(f64, f64, String)>) -> Line {
    Line { label, points: cells.iter().filter_map(|cell| point(cell)).collect() }
}

/// The lines that have points. Identical lines are merged, since one would hide the other.
fn merged(lines: Vec<Line>) -> Vec<Line> {
    let mut all: Vec<Line> = Vec::new();
    for line in lines.into_iter().filter(|line| !line.points.is_empty()) {
        match all.iter_mut().find(|known| known.points == line.points) {
            Some(known) => known.label += &format!(" and {}", line.label),
            None => all.push(line),
        }
    }
    all
}

fn renewals(numbers: &Numbers) -> Against {
    let point = |cell: &Cell| {
        let requests = cell.figure("requests_per_1000s")? / 1e3;
        // A lease of 3 s is renewed every second by default. The runs that count requests are too short to count
        // failovers.
        let many = match cell.variant.as_str() {
            "1s" => format!("2/pauses/{}/3s", cell.protocol),
            other => format!("2/pauses/{}/renewed every {other}", cell.protocol),
        };
        let failovers = numbers.matching(&many).next()?.figure("failovers_per_hour")?;
        Some((requests, failovers, cell.variant.clone()))
    };
    let cells = numbers.matching("2/renewals/*/*");
    Against {
        title: "What renewing more often costs, and what it buys".to_owned(),
        about: "A lease of 3 s and three candidates; each point is a renew interval, under the pauses of experiment 2"
            .to_owned(),
        axes: ("requests to the service, a second".to_owned(), "failovers without a crash, an hour".to_owned()),
        lines: merged(
            by(cells, |cell| cell.protocol.clone())
                .into_iter()
                .map(|(protocol, cells)| line(protocol, &cells, point))
                .collect(),
        ),
    }
}

/// The protocol in the picture of failover storms: the others look nearly the same.
const STORM_OF: &str = "redis-fenced";

fn storm(numbers: &Numbers) -> Against {
    let parts = |cell: &Cell| cell.variant.split_once(" and ").map(|(warm, hold)| (warm.to_owned(), hold.to_owned()));
    let point = |cell: &Cell| {
        let elections = cell.figure("elections_per_1000h")? / 1e3;
        Some((elections, cell.figure("dark_ppm")? / 1e4, parts(cell)?.1))
    };
    let pattern = format!("6/steady/{STORM_OF}/*");
    let lines = by(numbers.matching(&pattern), |cell| parts(cell).map_or(String::new(), |(warm, _)| warm));
    Against {
        title: "False-positive health checks, leader warm-up, and a hold-down".to_owned(),
        about: format!("{STORM_OF}; one health check per second, 5 % false positives"),
        axes: ("elections an hour".to_owned(), "dark time, per cent".to_owned()),
        lines: lines.into_iter().map(|(warm, cells)| line(warm, &cells, point)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::numbers::SCHEMA;

    fn cell(experiment: u8, scenario: &str, variant: &str, counts: &[(&str, u64)]) -> Cell {
        let (scenario, variant, protocol) = (scenario.to_owned(), variant.to_owned(), STORM_OF.to_owned());
        let mut cell = Cell { experiment, scenario, protocol, variant, ..Cell::default() };
        cell.count(counts.iter().copied());
        cell
    }

    #[test]
    fn cells_of_one_kind_make_a_line() {
        let renewed = |variant, counts| cell(2, "renewals", variant, counts);
        let cells = vec![
            renewed("1s", &[("requests_per_1000s", 3_000)]),
            renewed("2s", &[("requests_per_1000s", 1_500)]),
            // No cell counts its failovers.
            renewed("2500ms", &[("requests_per_1000s", 1_200)]),
            cell(2, "pauses", "3s", &[("pause_failovers", 45), ("paused_minutes", 600)]),
            cell(2, "pauses", "renewed every 2s", &[("pause_failovers", 90), ("paused_minutes", 600)]),
            cell(6, "steady", "warm-up 2s and hold-down 0s", &[("elections_per_1000h", 160_000), ("dark_ppm", 90_000)]),
            cell(
                6,
                "steady",
                "warm-up 10s and hold-down 0s",
                &[("elections_per_1000h", 150_000), ("dark_ppm", 400_000)],
            ),
        ];
        let numbers = Numbers { schema: SCHEMA, cells, ..Numbers::default() };
        let [(_, renewals)] = &of(&numbers, 2)[..] else { panic!("one picture") };
        assert_eq!(renewals.lines[0].points, [(3.0, 4.5, "1s".to_owned()), (1.5, 9.0, "2s".to_owned())]);
        let [(_, storm)] = &of(&numbers, 6)[..] else { panic!("one picture") };
        let labels: Vec<_> = storm.lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["warm-up 2s", "warm-up 10s"]);
        assert_eq!(storm.lines[1].points, [(150.0, 40.0, "hold-down 0s".to_owned())]);
        assert!(of(&numbers, 7).is_empty());
    }
}
