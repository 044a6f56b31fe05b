//! Coverage marks: named places that a run may or may not reach, so that a sweep can list the ones it never reached.
//!
//! A mark is where something rare is decided, off the hot path: `mark!("kraft: vote refused, already voted")`. It only
//! sets a bit of its thread, so it does not affect behaviour, and hardly speed. A simulated run has its own thread, so
//! the thread's marks are the run's. The idea is from SQLite's `testcase()` and FoundationDB's `TEST()` macros; that a
//! mark is declared where it stands, from TigerBeetle's `marks.zig`.
//!
//! There is no list of marks in the code: the swarm's baseline names them, and says which protocols reach them. A test
//! compares it with the sources.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The texts of the marks reached.
pub type Marks = BTreeSet<&'static str>;

/// A place in the code; see [`mark!`](crate::mark).
#[derive(Debug)]
pub struct Mark {
    text: &'static str,
    /// Its bit's number plus one; 0 until it is first reached.
    number: AtomicUsize,
}

/// The texts of all marks that any thread has reached, by the number of their bit. The order depends on threads, so it
/// never leaves this file.
static TEXTS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

thread_local! {
    /// A bit for each mark.
    static REACHED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Mark {
    pub const fn new(text: &'static str) -> Self {
        Mark { text, number: AtomicUsize::new(0) }
    }

    /// This thread has come here.
    #[inline]
    pub fn reach(&self) {
        let bit = match self.number.load(Ordering::Relaxed) {
            0 => self.register(),
            number => number - 1,
        };
        let (word, bit) = (bit / 64, 1 << (bit % 64));
        // A thread that is ending needs no more marks.
        let _ = REACHED.try_with(|reached| {
            let mut reached = reached.borrow_mut();
            if word >= reached.len() {
                reached.resize(word + 1, 0);
            }
            reached[word] |= bit;
        });
    }

    /// Its bit's number. Places with the same text share one.
    #[cold]
    fn register(&self) -> usize {
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let bit = texts.iter().position(|text| *text == self.text).unwrap_or(texts.len());
        if bit == texts.len() {
            texts.push(self.text);
        }
        self.number.store(bit + 1, Ordering::Relaxed);
        bit
    }
}

/// The marks that this thread has reached since it started or since the last call.
pub fn take() -> Marks {
    let reached = REACHED.take();
    let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let has = |bit: usize| reached.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1);
    texts.iter().enumerate().filter(|(bit, _)| has(*bit)).map(|(_, text)| *text).collect()
}

/// Marks this place as reached: `mark!("kraft: vote refused, already voted")`, with where it is and what reaching it
/// means.
#[macro_export]
macro_rules! mark {
    ($text:literal) => {{
        static MARK: $crate::coverage::Mark = $crate::coverage::Mark::new($text);
        MARK.reach();
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_of_the_thread_that_made_them() {
        mark!("here");
        let other = std::thread::spawn(|| {
            mark!("there");
            mark!("there");
            mark!("anywhere");
            take()
        });
        assert_eq!(other.join().ok(), Some(Marks::from(["anywhere", "there"])));
        assert_eq!(take(), Marks::from(["here"]));
        assert!(take().is_empty());
    }

    #[test]
    fn there_may_be_more_marks_than_bits_in_a_word() {
        let texts: Vec<&str> = (0..200).map(|n| &*format!("mark {n}").leak()).collect();
        let marks: Vec<Mark> = texts.iter().map(|text| Mark::new(text)).collect();
        marks.iter().step_by(2).for_each(Mark::reach);
        assert_eq!(take(), texts.iter().copied().step_by(2).collect());
    }
}
