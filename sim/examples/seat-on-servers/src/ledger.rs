//! Judges what leaders have written by what the database has, in the order of the commits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// A row of the table `written`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row {
    pub seat: String,
    /// Its place in the order of this seat's commits.
    pub place: i64,
    pub write: Write,
}

/// A write, as the member that made it knows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Write {
    pub request: i64,
    pub token: u64,
    pub member: String,
}

/// What must not happen, and how often it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// Of these, not in the table; and places that nobody has, since a committed row has vanished.
    pub lost: usize,
    /// Requests that were done again.
    pub twice: usize,
    /// Writes accepted from a leader after one with a higher token had written.
    pub stale: usize,
}

impl Verdict {
    pub fn is_clean(&self) -> bool {
        (self.lost, self.twice, self.stale) == (0, 0, 0)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Verdict { acknowledged, lost, twice, stale } = self;
        write!(f, "{acknowledged} acknowledged, {lost} lost, {twice} twice, {stale} stale")
    }
}

/// `acknowledged` has the seat of each write, too.
pub fn judge(mut rows: Vec<Row>, acknowledged: &[(String, Write)]) -> Verdict {
    rows.sort();
    let mut verdict = Verdict { acknowledged: acknowledged.len(), ..Verdict::default() };
    let mut last: BTreeMap<&str, (i64, u64)> = BTreeMap::new();
    let (mut done, mut have) = (BTreeSet::new(), BTreeSet::new());
    for Row { seat, place, write } in &rows {
        let (before, highest) = last.entry(seat).or_default();
        verdict.lost += usize::try_from(place - *before - 1).unwrap_or(0);
        verdict.stale += usize::from(write.token < *highest);
        verdict.twice += usize::from(!done.insert((seat, write.request)));
        have.insert((seat, write));
        (*before, *highest) = (*place, write.token.max(*highest));
    }
    verdict.lost += acknowledged.iter().filter(|(seat, write)| !have.contains(&(seat, write))).count();
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seat: &str, place: i64, request: i64, token: u64) -> Row {
        Row { seat: seat.to_owned(), place, write: Write { request, token, member: format!("m{token}") } }
    }

    fn judged(rows: &[Row]) -> Verdict {
        let acknowledged: Vec<_> = rows.iter().map(|row| (row.seat.clone(), row.write.clone())).collect();
        judge(rows.to_vec(), &acknowledged)
    }

    #[test]
    fn a_good_history_is_clean() {
        let rows = [row("a", 1, 1, 4), row("a", 2, 2, 7), row("a", 3, 3, 7), row("b", 1, 1, 5)];
        assert_eq!(judged(&rows), Verdict { acknowledged: 4, ..Verdict::default() });
    }

    #[test]
    fn what_must_not_happen_is_counted() {
        let stale = [row("a", 3, 3, 4), row("a", 1, 1, 4), row("a", 2, 2, 7), row("b", 1, 1, 3)];
        assert_eq!(judged(&stale), Verdict { acknowledged: 4, stale: 1, ..Verdict::default() });
        let twice = [row("a", 1, 1, 4), row("a", 2, 1, 7)];
        assert_eq!(judged(&twice), Verdict { acknowledged: 2, twice: 1, ..Verdict::default() });
        let vanished = [row("a", 1, 1, 4), row("a", 3, 3, 4)];
        assert_eq!(judged(&vanished), Verdict { acknowledged: 2, lost: 1, ..Verdict::default() });
    }

    #[test]
    fn an_acknowledged_write_of_another_leader_is_lost() {
        let acknowledged = [("a".to_owned(), row("a", 1, 1, 4).write)];
        let verdict = judge(vec![row("a", 1, 1, 7)], &acknowledged);
        assert_eq!(verdict, Verdict { acknowledged: 1, lost: 1, ..Verdict::default() });
    }
}
