//! What many texts were: of each story one is a file, to be read, and the rest are digests in one file beside it.
//! `FENCEPOST_UPDATE=1` writes both anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use xxhash_rust::xxh3::xxh3_64;

/// The file of digests.
const DIGESTS: &str = "digests.txt";
/// So many lines of what changed are shown.
const SHOWN: usize = 12;

/// A folder of texts, each of a story and a teller of it.
pub struct Shelf {
    folder: PathBuf,
    ending: &'static str,
    files: BTreeSet<String>,
    digests: BTreeMap<String, String>,
    looked: Mutex<Looked>,
}

#[derive(Default)]
struct Looked {
    digests: BTreeMap<String, String>,
    files: BTreeSet<String>,
    /// By story, the first of those that have no file.
    untold: BTreeMap<String, (String, String)>,
    told: BTreeSet<String>,
    changed: Vec<String>,
}

impl Shelf {
    /// The texts in `folder`, in files that end so.
    pub fn open(folder: &Path, ending: &'static str) -> Shelf {
        let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").file_name());
        let names = names.map(|name| name.into_string().expect("a name is text"));
        let files = names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect();
        let digests = fs::read_to_string(folder.join(DIGESTS)).unwrap_or_default();
        let digests = digests.lines().filter_map(|line| line.split_once(": "));
        let digests = digests.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect();
        Shelf { folder: folder.to_owned(), ending, files, digests, looked: Mutex::default() }
    }

    /// Compares what `teller` now makes of `story`, or keeps it.
    pub fn look(&self, story: &str, teller: &str, text: &str) {
        let name = format!("{story}.{teller}");
        let is_file = self.files.contains(&name);
        let (file, digest) = (self.folder.join(format!("{name}{}", self.ending)), digest(text));
        let changed = match (updating(), is_file) {
            (true, true) => {
                fs::write(&file, text).expect("it can be written");
                None
            }
            (true, false) => None,
            (false, true) => difference(&fs::read_to_string(&file).expect("it is text"), text),
            (false, false) => match self.digests.get(&name) {
                None => Some("it has no digest".to_owned()),
                Some(was) => change(was, &digest, text),
            },
        };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.changed.extend(changed.map(|changed| format!("{name}: {changed}")));
        if is_file {
            looked.told.insert(story.to_owned());
            looked.files.insert(name);
            return;
        }
        let first = looked.untold.entry(story.to_owned()).or_insert_with(|| (name.clone(), text.to_owned()));
        if name < first.0 {
            *first = (name.clone(), text.to_owned());
        }
        looked.digests.insert(name, digest);
    }

    /// Says what has changed, of all that was looked at; or writes the digests, and a file for each story without one.
    pub fn close(self) {
        let Looked { mut digests, files, untold, told, mut changed } =
            self.looked.into_inner().unwrap_or_else(PoisonError::into_inner);
        let untold = untold.into_iter().filter(|(story, _)| !told.contains(story)).map(|(_, first)| first);
        if updating() {
            for (name, text) in untold {
                fs::write(self.folder.join(format!("{name}{}", self.ending)), text).expect("it can be written");
                digests.remove(&name);
            }
            if !digests.is_empty() || !self.digests.is_empty() {
                let text: String = digests.iter().map(|(name, digest)| format!("{name}: {digest}\n")).collect();
                fs::write(self.folder.join(DIGESTS), text).expect("it can be written");
            }
        } else {
            changed.extend(untold.map(|(name, _)| format!("{name}: no file tells this story")));
            let gone = self.digests.keys().filter(|name| !digests.contains_key(*name));
            changed.extend(gone.map(|name| format!("{name}: it is not there any more")));
        }
        let gone = self.files.difference(&files);
        changed.extend(gone.map(|name| format!("{name}{}: nothing looks at this file", self.ending)));
        let folder = self.folder.display();
        assert!(
            changed.is_empty(),
            "{} in {folder} changed; FENCEPOST_UPDATE=1 writes them anew:\n{}",
            changed.len(),
            changed.join("\n")
        );
    }
}

fn updating() -> bool {
    std::env::var_os("FENCEPOST_UPDATE").is_some()
}

/// How many lines there are, and hashes of the first, the first two, four, eight and so on, and of all.
fn digest(text: &str) -> String {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let mut digest = ends.len().to_string();
    for power in (0..).map(|power| 1 << power).take_while(|power| *power < ends.len()) {
        digest += &format!(" {:04x}", xxh3_64(&text.as_bytes()[..ends[power - 1]]) as u16);
    }
    digest + &format!(" {:016x}", xxh3_64(text.as_bytes()))
}

/// Between which lines the first change is, and what stands there now.
fn change(was: &str, is: &str, text: &str) -> Option<String> {
    if was == is {
        return None;
    }
    let hashes = was.split(' ').skip(1).zip(is.split(' ').skip(1));
    let same = hashes.take_while(|(was, is)| was == is).count();
    let from = if same == 0 { 0 } else { 1 << (same - 1) };
    let lines: Vec<&str> = text.lines().skip(from).take(from.clamp(1, SHOWN)).collect();
    let (was, _) = was.split_once(' ').unwrap_or_default();
    Some(format!(
        "it had {was} lines; the first that is new is one of those from line {} on:\n{}",
        from + 1,
        lines.join("\n")
    ))
}

/// The first line that differs.
fn difference(was: &str, is: &str) -> Option<String> {
    let mut lines = was.lines().zip(is.lines()).enumerate();
    let differs = || lines.find(|(_, (was, is))| was != is);
    (was != is).then(differs).map(|differs| match differs {
        Some((place, (was, is))) => format!("line {} was\n{was}\nand is\n{is}", place + 1),
        None => format!("it had {} lines, and has {}", was.lines().count(), is.lines().count()),
    })
}

#[test]
fn a_change_is_found_and_shown() {
    let text = |changed: usize| {
        (1..=20)
            .map(|n| if n == changed { format!("line {n} is new\n") } else { format!("line {n}\n") })
            .collect::<String>()
    };
    let was = digest(&text(0));
    assert_eq!(change(&was, &digest(&text(0)), &text(0)), None);
    for (changed, from) in [(1, 1), (2, 2), (3, 3), (4, 3), (5, 5), (16, 9), (17, 17), (20, 17)] {
        let told = change(&was, &digest(&text(changed)), &text(changed)).expect("it changed");
        assert!(told.contains(&format!("from line {from} on:\n")), "{changed}: {told}");
        assert!(told.contains(&format!("line {changed} is new")), "{changed}: {told}");
    }
    assert_eq!(difference("a\nb\n", "a\nc\n").as_deref(), Some("line 2 was\nb\nand is\nc"));
    assert_eq!(difference("a\n", "a\n"), None);
    assert!(difference("a\n", "a\nb\n").is_some());
}

#[test]
fn what_is_new_gone_or_untold_is_said() {
    if updating() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("fencepost-shelf-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("fall.bob.story"), "humpty\n").expect("a file");
    let same = digest("dumpty\n");
    fs::write(folder.join(DIGESTS), format!("fall.eve: {same}\nfall.gone: {same}\n")).expect("a file");
    let said = |texts: &[(&str, &str, &str)]| {
        let shelf = Shelf::open(&folder, ".story");
        texts.iter().for_each(|(story, teller, text)| shelf.look(story, teller, text));
        let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shelf.close()));
        closed.err().map(|said| said.downcast_ref::<String>().cloned().unwrap_or_default()).unwrap_or_default()
    };
    let (bob, eve, gone) = (("fall", "bob", "humpty\n"), ("fall", "eve", "dumpty\n"), ("fall", "gone", "dumpty\n"));
    assert_eq!(said(&[bob, eve, gone]), "");
    assert!(said(&[bob, eve]).contains("fall.gone: it is not there any more"));
    assert!(said(&[eve, gone]).contains("fall.bob.story: nothing looks at this file"));
    assert!(said(&[("fall", "bob", "sat\n"), eve, gone]).contains("fall.bob: line 1 was\nhumpty\nand is\nsat"));
    assert!(said(&[bob, ("fall", "eve", "sat\n"), gone]).contains("fall.eve: it had 1 lines"));
    assert!(said(&[bob, eve, gone, ("rise", "eve", "dumpty\n")]).contains("rise.eve: no file tells this story"));
    fs::remove_dir_all(&folder).expect("it can go");
}
