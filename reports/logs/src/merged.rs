//! Merges the lines of all files into one order.

use super::{
    claim::{AHEAD_MOST, Line, Ordering},
    error::LogError,
    rows,
    seen::Seen,
    translate::Told,
    unended::Unended,
    values::quoted,
};
use protocols::history::json::{Lines, Telling};
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

/// What lines are ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Their times; ties by file and line.
    Time,
    /// Their place in the file.
    Line,
    /// [`Told::order`]; ties by file and line.
    Number,
}

/// Lines of one file.
pub type File = Box<dyn Iterator<Item = Result<Told, LogError>>>;

/// Sorts a file's lines by time. If the newest come first, reverses them; otherwise lines of one moment keep their
/// order. In an answer, lines of one moment have none.
///
/// # Errors
/// A line is wrong, or two lines of one node and one moment may have come in either order, and it matters.
pub fn by_time(name: &str, lines: File, is_answer: bool) -> Result<File, LogError> {
    let mut all = lines.collect::<Result<Vec<_>, _>>()?;
    if is_answer {
        all.sort_by_key(|told| told.ns);
        // Whoever answered has put lines of one moment into any order.
        let node = |told: &Told| told.fields.get("node").map(ToString::to_string);
        let apart = |pair: &&[Told]| pair[0].ns == pair[1].ns && node(&pair[0]) != node(&pair[1]);
        if let Some(pair) = all.windows(2).find(apart) {
            let what = format!(
                "lines {} and {} of two nodes have the same time, so their order is unknown; write finer times, or pass --order \
                 FIELD with a number that rises from line to line",
                pair[0].line, pair[1].line
            );
            return Err(LogError::of(name, what));
        }
        same_moment(name, &all)?;
        return Ok(Box::new(all.into_iter().map(Ok)));
    }
    if all.is_sorted_by_key(|told| std::cmp::Reverse(told.ns)) && !all.is_sorted_by_key(|told| told.ns) {
        all.reverse();
    } else if !all.is_sorted_by_key(|told| told.ns) {
        all.sort_by_key(|told| told.ns);
        same_moment(name, &all)?;
    }
    Ok(Box::new(all.into_iter().map(Ok)))
}

fn same_moment(name: &str, all: &[Told]) -> Result<(), LogError> {
    for moment in all.chunk_by(|one, next| one.ns == next.ns) {
        if let Some((one, other)) = in_no_order(moment) {
            let what = format!(
                "lines {one} and {other} of one node have the same time, so their order is unknown; write finer \
                 times, or pass --order FIELD with a number that rises from line to line"
            );
            return Err(LogError::of(name, what));
        }
    }
    Ok(())
}

/// Two lines of one node and one moment whose order is open: one is about leadership, or one has a number.
fn in_no_order(moment: &[Told]) -> Option<(u64, u64)> {
    let mut before: BTreeMap<String, &Told> = BTreeMap::new();
    for told in moment {
        let tells = |told: &Told| told.fields["event"] != "apply" || told.fields.contains_key("seq");
        let Some(node) = told.fields.get("node") else { continue };
        let other = *before.entry(node.to_string()).or_insert(told);
        if other.whole != told.whole && (tells(other) || tells(told)) {
            return Some((other.line.min(told.line), other.line.max(told.line)));
        }
    }
    None
}

/// Whether the order of two lines with one number is unknown: only lines of one file have an order besides.
fn is_open((file, told): &(usize, Told), (other, same): &(usize, Told)) -> bool {
    told.order == same.order && file != other && told.whole != same.whole
}

/// How many lines of one moment are compared with the next line.
const MOMENT_MAX: usize = 1_000;

/// All lines as one stream. Memory does not grow with the log, except with [`Order::Number`].
pub struct Merged {
    files: Vec<(File, VecDeque<Line>)>,
    ordering: Ordering,
    /// With [`Order::Number`], all lines with the index of their file.
    sorted: std::vec::IntoIter<(usize, Told)>,
    order: Order,
    names: Vec<String>,
    seen: Rc<RefCell<Seen>>,
    /// The lines of the last moment read: the index of the file and the hash of each.
    moment: VecDeque<(usize, u64)>,
    last_ns: u64,
    /// The indices of the files, earliest first.
    in_turn: Vec<usize>,
    /// Do identical lines of one moment each count?
    as_they_stand: bool,
    unended: Unended,
    /// Can tokens be compared for equality only?
    opaque: bool,
    /// The header of a whole history; it comes first.
    header: Option<rows::Row>,
}

impl Merged {
    /// Merges named files; reports to `seen` what is worth a note.
    ///
    /// # Errors
    /// The first line of a file is wrong, or, with [`Order::Number`], any line.
    pub fn new(
        files: Vec<(String, File)>,
        order: Order,
        seen: Rc<RefCell<Seen>>,
        ordering: Ordering,
    ) -> Result<Merged, LogError> {
        let (mut names, mut begun, mut all, mut first_ns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut in_turn = Vec::new();
        for (place, (name, mut file)) in files.into_iter().enumerate() {
            names.push(name);
            if order == Order::Number {
                for told in file {
                    all.push((place, told?));
                }
                continue;
            }
            let first = file.next().transpose()?.map(Line::new);
            first_ns.push(first.as_ref().map_or(0, |line| line.told.ns));
            begun.push((file, first.into_iter().collect()));
        }
        all.sort_by_key(|(place, told)| (told.order, *place, told.line));
        if let Some([(one, told), (other, same)]) = all.windows(2).find(|pair| is_open(&pair[0], &pair[1])) {
            let what = format!(
                "its number for --order is {}, as on line {} of {}, so the order of the two is unknown; name a field with a number \
                 that rises from line to line",
                same.order, told.line, names[*one]
            );
            return Err(LogError::at(&names[*other], same.line, what));
        }
        if order == Order::Line {
            // Independent of the order of the arguments.
            let mut places: Vec<usize> = (0..begun.len()).collect();
            places.sort_by_key(|place| first_ns[*place]);
            in_turn = places;
        }
        let (sorted, moment) = (all.into_iter(), VecDeque::new());
        let (last_ns, as_they_stand, header) = (0, false, None);
        let opaque = seen.borrow().opaque.is_some();
        Ok(Merged {
            opaque,
            files: begun,
            ordering,
            sorted,
            order,
            names,
            seen,
            moment,
            last_ns,
            in_turn,
            as_they_stand,
            unended: Unended::default(),
            header,
        })
    }

    /// The same as a whole history with this header, in which no line is a repetition.
    pub fn of_history(self, header: rows::Row) -> Merged {
        Merged { as_they_stand: true, header: Some(header), ..self }
    }

    /// The next line, and the index of its file.
    fn next(&mut self) -> Result<Option<(usize, Told)>, LogError> {
        let (file, place) = match self.order {
            // One file after the other.
            Order::Line => match self.in_turn.iter().find(|file| !self.files[**file].1.is_empty()) {
                Some(file) => (*file, 0),
                None => return Ok(None),
            },
            Order::Number => return Ok(self.sorted.next()),
            Order::Time => {
                self.look_ahead()?;
                let files: Vec<&VecDeque<Line>> = self.files.iter().map(|(_, lines)| lines).collect();
                match self.ordering.next(&files) {
                    Some((file, place)) => (file, if self.as_they_stand { 0 } else { place }),
                    None => return Ok(None),
                }
            }
        };
        let Some(mut line) = self.files[file].1.remove(place) else { return Ok(None) };
        if self.files[file].1.is_empty() {
            self.read_on(file, line.told.ns)?;
        }
        if self.order == Order::Time && !self.as_they_stand {
            let waits_ns = self.ordering.waits_ns(file, &line);
            self.ordering.took(file, &line);
            if let Some(ns) = waits_ns {
                line.told.delay(ns);
            }
            self.seen.borrow_mut().tied |= self.ordering.tied;
            if self.ordering.unsure.is_some() || self.ordering.behind_ns > 0 {
                let mut seen = self.seen.borrow_mut();
                (seen.unsure, seen.behind_ns) = (self.ordering.unsure.clone(), self.ordering.behind_ns);
            }
        }
        Ok(Some((file, line.told)))
    }

    /// Reads all lines that may come before the earliest one read.
    fn look_ahead(&mut self) -> Result<(), LogError> {
        let heads = self.files.iter().enumerate();
        let limits = heads
            .filter_map(|(file, (_, lines))| Some(lines.front()?.told.ns.saturating_add(self.ordering.margin(file))));
        let Some(limit) = limits.min() else { return Ok(()) };
        for file in 0..self.files.len() {
            // The margin again: one of them may have to wait for a later line.
            let limit = limit.saturating_add(self.ordering.margin(file));
            while let Some(last) = self.files[file].1.back().map(|line| line.told.ns) {
                if last > limit || self.files[file].1.len() >= AHEAD_MOST || !self.read_on(file, last)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads another line of a file whose last one was at `last_ns`; false at its end.
    fn read_on(&mut self, file: usize, last_ns: u64) -> Result<bool, LogError> {
        let (lines, ahead) = &mut self.files[file];
        let Some(told) = lines.next().transpose()? else { return Ok(false) };
        if self.order == Order::Time && told.ns < last_ns {
            let back = (last_ns - told.ns).div_ceil(1_000);
            let time = &self.seen.borrow().time;
            let what = format!(
                "time goes back by {back} µs; pass --order {} to sort the lines by time, --order line if they are in \
                 the order in which the resource applied them, or --order FIELD if it numbered them",
                quoted(time)
            );
            return Err(LogError::at(&self.names[file], told.line, what));
        }
        ahead.push_back(Line::new(told));
        Ok(true)
    }

    /// The next line to judge.
    fn judged(&mut self) -> Result<Option<(usize, Told)>, LogError> {
        while let Some((place, mut told)) = self.next()? {
            let mut seen = self.seen.borrow_mut();
            if told.ns < self.last_ns {
                seen.back += u64::from(self.order != Order::Time);
                told.delay(self.last_ns);
            }
            if told.ns > self.last_ns {
                self.moment.clear();
            }
            self.last_ns = told.ns;
            if !self.as_they_stand && self.moment.iter().any(|(_, before)| *before == told.whole) {
                seen.twice += 1;
                continue;
            }
            seen.ties += u64::from(self.order == Order::Time && self.moment.iter().any(|(other, _)| *other != place));
            if self.moment.len() == MOMENT_MAX {
                self.moment.pop_front();
            }
            self.moment.push_back((place, told.whole));
            if !self.as_they_stand {
                self.unended.takes(place, &told);
                seen.unended = self.unended.found();
            }
            return Ok(Some((place, told)));
        }
        Ok(None)
    }

    /// The next line to judge, in the words of a history.
    pub fn line(&mut self) -> Result<Option<(usize, Told)>, LogError> {
        let Some((place, mut told)) = self.judged()? else { return Ok(None) };
        if self.opaque {
            self.seen.borrow_mut().numbered_token(&mut told.fields);
        }
        told.fields.insert("t_us".to_owned(), (told.ns / 1_000).into());
        Ok(Some((place, told)))
    }
}

impl Lines for Merged {
    type Error = LogError;

    fn tell(&mut self, telling: &mut Telling) -> Result<bool, LogError> {
        if let Some((line, fields)) = self.header.take() {
            let begun = Telling::header(fields).and_then(|header| telling.begin(header));
            return begun.map(|()| true).map_err(|wrong| LogError::at(&self.names[0], line, wrong.0));
        }
        let Some((place, told)) = self.line()? else { return Ok(false) };
        telling.line(&told.fields).map_err(|wrong| LogError::at(&self.names[place], told.line, wrong.0))?;
        Ok(true)
    }
}
