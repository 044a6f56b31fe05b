//! Numbers as text: one of them, or a table.

use super::numbers::{Cell, Numbers};
use crate::words::grouped;

/// Formats a figure.
///
/// | word | writes |
/// |---|---|
/// | `n` | a whole number |
/// | `ms` | milliseconds, whole above 10 |
/// | `s` | milliseconds as seconds |
/// | `r` | a rate, with two decimals below 10 |
/// | `%` | a share in millionths, as a percentage |
/// | `x` | a ratio, with one decimal below 10 |
/// | `p` | the excess of a ratio over 1, as a percentage |
pub(super) fn written(value: f64, format: &str) -> Result<String, String> {
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    Ok(match format {
        "n" => format!("{sign}{}", grouped(size.round() as u64)),
        "ms" if size >= 10.0 || size == 0.0 => format!("{sign}{}", grouped(size.round() as u64)),
        "ms" => format!("{sign}{size:.1}"),
        "s" => format!("{sign}{:.2}", size / 1e3),
        "r" if size >= 10.0 => format!("{sign}{}", grouped(size.round() as u64)),
        "r" => format!("{sign}{size:.2}"),
        "%" => format!("{:.3}", value / 1e4),
        "p" => format!("{:.1} %", (value - 1.0) * 100.0),
        "x" if size >= 10.0 => format!("{sign}{}", grouped(size.round() as u64)),
        "x" => format!("{sign}{size:.1}"),
        _ => return Err(format!("`{format}` is no way to write a number; take n, ms, s, r, %, x or p")),
    })
}

/// One number: the `sum`, `max` or `min` over a pattern's cells, or that of the `only` cell.
pub(super) fn value(numbers: &Numbers, how: &str, pattern: &str, figure: &str) -> Result<f64, String> {
    let values: Vec<f64> = numbers.matching(pattern).filter_map(|cell| cell.figure(figure)).collect();
    let none = || format!("`{pattern}` has no `{figure}`");
    match (how, values.as_slice()) {
        ("only", [one]) => Ok(*one),
        ("only", []) => Err(none()),
        ("only", _) => Err(format!("`{pattern}` has several `{figure}`; say sum, max or min")),
        ("sum", [_, ..]) => Ok(values.iter().sum()),
        ("max", [_, ..]) => values.into_iter().reduce(f64::max).ok_or_else(none),
        ("min", [_, ..]) => values.into_iter().reduce(f64::min).ok_or_else(none),
        ("cells", _) => Ok(values.len() as f64),
        ("sum" | "max" | "min", []) => Err(none()),
        _ => Err(format!("`{how}` is no way to take several numbers; take only, sum, max, min or cells")),
    }
}

/// The figure of each cell of a pattern, in order.
pub(super) fn each(numbers: &Numbers, pattern: &str, figure: &str, format: &str) -> Result<String, String> {
    let values = numbers.matching(pattern).filter_map(|cell| cell.figure(figure));
    let texts: Vec<String> = values.map(|value| written(value, format)).collect::<Result<_, _>>()?;
    if texts.is_empty() { Err(format!("`{pattern}` has no `{figure}`")) } else { Ok(texts.join(", ")) }
}

/// The protocols of a pattern whose figure satisfies `is`.
pub(super) fn names(numbers: &Numbers, pattern: &str, figure: &str, is: fn(f64) -> bool) -> Result<String, String> {
    let pattern = pattern.replace('+', " ");
    let of_it = numbers.matching(&pattern).filter(|cell| cell.figure(figure).is_some_and(is));
    let names: Vec<String> = of_it.map(|cell| format!("`{}`", cell.protocol)).collect();
    if names.is_empty() { Err(format!("`{pattern}` has none with such a `{figure}`")) } else { Ok(names.join(", ")) }
}

/// A column: its heading, and what it takes from a cell.
struct Column<'a> {
    heading: &'a str,
    /// Figures, each with its format.
    figures: Vec<(&'a str, &'a str)>,
}

impl<'a> Column<'a> {
    /// Parses `heading = figure:format`, or several figures separated by commas.
    fn read(text: &'a str) -> Result<Self, String> {
        let (heading, figures) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is no column: heading = figure:format"))?;
        let figure =
            |one: &'a str| one.trim().split_once(':').ok_or_else(|| format!("`{one}` has no format: figure:format"));
        Ok(Column { heading: heading.trim(), figures: figures.split(',').map(figure).collect::<Result<_, _>>()? })
    }

    fn of(&self, cell: &Cell) -> Result<String, String> {
        let one =
            |(figure, format): &(&str, &str)| cell.figure(figure).map_or(Ok("–".to_owned()), |v| written(v, format));
        let all: Vec<String> = self.figures.iter().map(one).collect::<Result<_, _>>()?;
        let nothing = all.iter().all(|text| text == "–");
        Ok(if nothing { "–".to_owned() } else { all.join("; ") })
    }
}

/// A table with a row for each cell of the pattern, and a column for each of `columns`.
pub(super) fn table(numbers: &Numbers, pattern: &str, columns: &[&str]) -> Result<String, String> {
    let columns: Vec<Column> = columns.iter().map(|text| Column::read(text)).collect::<Result<_, _>>()?;
    let cells: Vec<&Cell> = numbers.matching(pattern).collect();
    if cells.is_empty() {
        return Err(format!("`{pattern}` names no cell"));
    }
    let several = cells.iter().any(|cell| !cell.variant.is_empty());
    let mut text = if several { "| protocol | variant |" } else { "| protocol |" }.to_owned();
    columns.iter().for_each(|column| text += &format!(" {} |", column.heading));
    text += if several { "\n|---|---|" } else { "\n|---|" };
    columns.iter().for_each(|_| text += "---:|");
    for cell in cells {
        text += &format!("\n| {} |", cell.protocol);
        if several {
            text += &format!(" {} |", cell.variant);
        }
        for column in &columns {
            text += &format!(" {} |", column.of(cell)?);
        }
    }
    Ok(text)
}

/// The refused writes of an experiment, at most `most` from each protocol's first run with one.
pub(super) fn refusals(numbers: &Numbers, experiment: &str, most: usize) -> Result<String, String> {
    let mut text =
        "| protocol | seed | at, s | write | its token | highest token |\n|---|---:|---:|---|---:|---:|".to_owned();
    let mut before: Option<(&str, u64)> = None;
    let (mut of_run, mut any) = (0, false);
    for refusal in numbers.refusals.iter().filter(|refusal| refusal.experiment.to_string() == experiment) {
        let run = (refusal.protocol.as_str(), refusal.seed);
        match before {
            Some(known) if known == run => of_run += 1,
            // Only the first run of each protocol counts.
            Some((protocol, _)) if protocol == run.0 => continue,
            _ => (before, of_run) = (Some(run), 0),
        }
        if of_run < most {
            any = true;
            let (at, seq) = (refusal.t_us as f64 / 1e6, grouped(refusal.seq));
            let write = format!("{}'s seq {seq} on {}", refusal.node, refusal.resource);
            let (protocol, seed, token, highest) = (run.0, run.1, refusal.token, refusal.highest);
            text += &format!("\n| {protocol} | {seed} | {at:.3} | {write} | {token} | {highest} |");
        }
    }
    if any { Ok(text) } else { Err(format!("no write was refused in experiment {experiment}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::numbers::{SCHEMA, Spread};

    #[test]
    fn numbers_are_written_for_people() {
        let say = |value, format| written(value, format).unwrap();
        assert_eq!(
            [say(1_234.4, "n"), say(1_234.4, "ms"), say(-0.62, "ms"), say(0.0, "ms")],
            ["1,234", "1,234", "−0.6", "0"]
        );
        assert_eq!([say(2_478.9, "s"), say(999_123.0, "%")], ["2.48", "99.912"]);
        assert_eq!([say(4.87, "x"), say(55.1, "x")], ["4.9", "55"]);
        assert!(written(1.0, "y").is_err());
    }

    #[test]
    fn a_table_has_a_row_for_each_cell_and_a_dash_for_nothing() {
        let mut cells = ["etcd-election", "bully"].map(|protocol| Cell {
            experiment: 4,
            scenario: "gc-pause".into(),
            protocol: protocol.into(),
            ..Cell::default()
        });
        cells[0].spreads.extend(Spread::of(vec![1.0, 20.0]).map(|spread| ("failover_ms".to_owned(), spread)));
        cells[1].count([("writes_fenced", 3)]);
        let numbers = Numbers { schema: SCHEMA, cells: cells.to_vec(), ..Numbers::default() };
        let text = table(
            &numbers,
            "4",
            &["median; longest = failover_ms.p50:ms, failover_ms.most:ms", "refused = writes_fenced:n"],
        );
        let says = "| protocol | median; longest | refused |\n|---|---:|---:|\n| etcd-election | 1.0; 20 | – |\n| bully | – | 3 |";
        assert_eq!(text.as_deref(), Ok(says));
        assert_eq!(table(&numbers, "5", &[]), Err("`5` names no cell".to_owned()));
        assert_eq!(value(&numbers, "only", "4", "writes_fenced"), Ok(3.0));
        assert!(value(&numbers, "only", "4", "runs").is_err() && value(&numbers, "max", "4", "runs") == Ok(0.0));
    }
}
