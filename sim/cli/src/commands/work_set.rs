//! `work-set`: the cost of pending jobs in memory, on disk, and at a hand-over. Nothing is simulated: the jobs are
//! really held, written and read.

use super::{
    exit::{Stop, VIOLATED},
    measure_args::WorkSetArgs,
    output::{Show, print},
};
use indicatif::{ProgressBar, ProgressDrawTarget};
use protocols::{
    job_set::{
        Job, JobSet, Next,
        layout::{self, FOOTER_BYTES, Span},
        segment::Corrupt,
    },
    random::Random,
};
use reports::statistics::{grouped, rounded};
use serde_json::json;
use std::{
    env, fmt,
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Jobs are due within a week, milliseconds.
const WITHIN_MS: u64 = 7 * 24 * 3_600_000;

/// What went wrong with the file.
enum Failed {
    Io(io::Error),
    Corrupt(Corrupt),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Failed::Io(error) => write!(f, "{error}"),
            Failed::Corrupt(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Io(error)
    }
}

impl From<Corrupt> for Failed {
    fn from(error: Corrupt) -> Failed {
        Failed::Corrupt(error)
    }
}

/// A file of jobs that is removed on drop.
struct Stored {
    path: PathBuf,
}

impl Drop for Stored {
    fn drop(&mut self) {
        // If the removal fails, the file is only left in the temporary folder.
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads a file of jobs, and counts the bytes.
struct Reader {
    file: File,
    read: u64,
}

impl Reader {
    /// Opens a file and reads its index.
    fn open(path: &Path) -> Result<(Reader, JobSet), Failed> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut reader = Reader { file, read: 0 };
        let at = bytes.saturating_sub(FOOTER_BYTES as u64);
        let footer = reader.span(Span { at, bytes: bytes - at })?;
        let (span, checksum) = layout::footer(&footer, bytes)?;
        let set = JobSet::of_index(layout::index(&reader.span(span)?, checksum)?);
        Ok((reader, set))
    }

    fn span(&mut self, span: Span) -> Result<Vec<u8>, Failed> {
        let mut bytes = vec![0; span.bytes as usize];
        self.file.seek(SeekFrom::Start(span.at))?;
        self.file.read_exact(&mut bytes)?;
        self.read += span.bytes;
        Ok(bytes)
    }

    /// The next job; reads its segment if that is not in memory.
    fn take(&mut self, set: &mut JobSet) -> Result<Option<Job>, Failed> {
        loop {
            match set.take()? {
                Next::Job(job) => return Ok(Some(job)),
                Next::Missing(span) => set.supply(span, self.span(span)?)?,
                Next::Nothing => return Ok(None),
            }
        }
    }
}

/// What a new leader read until it had its first job, and how long that took.
struct Began {
    read: u64,
    took: Duration,
}

/// The sum of all hand-overs.
#[derive(Default)]
struct HandedOver {
    done: u64,
    again: u64,
    left_out: u64,
}

/// All measurements; sizes in bytes.
struct Measured {
    in_memory: u64,
    packed: u64,
    on_disk: u64,
    peak: Option<u64>,
    built: Duration,
    written: Duration,
    everything: Began,
    behind: Began,
    handed: HandedOver,
}

/// Holds the jobs, stores them, and hands them over.
///
/// # Errors
/// The file cannot be written or read.
pub fn run(args: &WorkSetArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    measure(args, show).map_err(|error| Stop::harness(format!("the file of jobs: {error}")))
}

fn measure(args: &WorkSetArgs, show: Show) -> Result<u8, Failed> {
    let bar = ProgressBar::new(2 * args.jobs);
    bar.set_draw_target(if show.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
    let built = Instant::now();
    let mut set = JobSet::new();
    let mut random = Random::new(args.seed);
    for id in 0..args.jobs {
        set.add(Job { due_ms: random.next_u64() % WITHIN_MS, id })?;
        if id & 0xf_ffff == 0 {
            bar.set_position(id);
        }
    }
    let (built, in_memory) = (built.elapsed(), set.heap_bytes() as u64);
    let folder = args.dir.clone().unwrap_or_else(env::temp_dir);
    let stored = Stored { path: folder.join(format!("fencepost-jobs-{}", std::process::id())) };
    let written = Instant::now();
    let mut file = BufWriter::new(File::create(&stored.path)?);
    set.store(|bytes| file.write_all(bytes).map_err(Failed::Io))?;
    file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    let (written, packed) = (written.elapsed(), set.heap_bytes() as u64);
    drop(set);
    let on_disk = fs::metadata(&stored.path)?.len();
    let (everything, middle) = load_everything(&stored.path, args.jobs / 2)?;
    let behind = resume(&stored.path, middle)?;
    let handed = hand_over(&stored.path, args, &mut random, &bar)?;
    bar.finish_and_clear();
    let measured =
        Measured { in_memory, packed, on_disk, peak: peak_bytes(), built, written, everything, behind, handed };
    print(&if show.json {
        json(args, &measured)
    } else if show.quiet {
        let HandedOver { done, again, left_out } = measured.handed;
        format!("{done} done, {again} again, {left_out} left out")
    } else {
        words(args, &measured)
    });
    Ok(if measured.handed.left_out == 0 { 0 } else { VIOLATED })
}

fn json(args: &WorkSetArgs, m: &Measured) -> String {
    let each = |bytes: u64| rounded(bytes as f64 / args.jobs as f64);
    let seconds = |took: Duration| (took.as_secs_f64() * 1e4).round() / 1e4;
    json!({
        "schema": 1,
        "jobs": args.jobs,
        "seed": args.seed,
        "bytes_per_job_in_memory": each(m.in_memory),
        "bytes_per_job_in_memory_packed": each(m.packed),
        "bytes_per_job_on_disk": each(m.on_disk),
        "peak_resident_bytes": m.peak,
        "built_s": seconds(m.built),
        "written_s": seconds(m.written),
        "load_everything": { "bytes_read": m.everything.read, "s": seconds(m.everything.took) },
        "resume_behind_cursor": { "bytes_read": m.behind.read, "s": seconds(m.behind.took) },
        "checkpoint_every": args.checkpoint_every,
        "handoffs": args.handoffs,
        "done": m.handed.done,
        "redone": m.handed.again,
        "skipped": m.handed.left_out,
    })
    .to_string()
}

fn words(args: &WorkSetArgs, m: &Measured) -> String {
    let row =
        |name: &str, bytes: u64| format!("  {name:<14}{:11.2}   {:>8}\n", bytes as f64 / args.jobs as f64, size(bytes));
    let began = |how: &str, began: &Began| format!("  {how:<28}{:>9} read   {}\n", size(began.read), time(began.took));
    let peak = m.peak.map_or_else(String::new, |bytes| format!("; the process at its peak: {}", size(bytes)));
    let HandedOver { done, again, left_out } = m.handed;
    let mut text =
        format!("{} jobs, due within a week, added in no order · seed {}\n\n", grouped(args.jobs), args.seed);
    text += &format!("{:>27}{:>11}\n", "bytes a job", "together");
    text += &row("in memory", m.in_memory);
    text += &row("  packed", m.packed);
    text += &row("on disk", m.on_disk);
    let (built, written) = (m.built.as_secs_f64(), m.written.as_secs_f64());
    text += &format!("  built in {built:.1} s, written and synced in {written:.1} s{peak}\n\n");
    text += "A new leader, until it has its first job\n";
    text += &began("loads everything", &m.everything);
    text += &began("resumes behind the cursor", &m.behind);
    let (handoffs, every) = (grouped(args.handoffs), grouped(args.checkpoint_every));
    text += &format!("\n{handoffs} hand-overs, each at a random job; the cursor is kept after every {every} jobs\n");
    text + &format!("  {} jobs done, {} of them again, {} left out", grouped(done), grouped(again), grouped(left_out))
}

/// Reads every segment; also returns the job at `place`.
fn load_everything(path: &Path, place: u64) -> Result<(Began, Job), Failed> {
    let began = Instant::now();
    let (mut reader, mut set) = Reader::open(path)?;
    for span in set.missing().collect::<Vec<_>>() {
        set.supply(span, reader.span(span)?)?;
    }
    let mut last = reader.take(&mut set)?.unwrap_or_default();
    let began = Began { read: reader.read, took: began.elapsed() };
    for _ in 1..place {
        last = reader.take(&mut set)?.unwrap_or(last);
    }
    Ok((began, last))
}

/// Reads the index, and the segment that the cursor points into.
fn resume(path: &Path, cursor: Job) -> Result<Began, Failed> {
    let began = Instant::now();
    let (mut reader, mut set) = Reader::open(path)?;
    set.resume_behind(cursor);
    reader.take(&mut set)?;
    Ok(Began { read: reader.read, took: began.elapsed() })
}

/// Leaders do jobs one after the other; each dies in the middle.
fn hand_over(path: &Path, args: &WorkSetArgs, random: &mut Random, bar: &ProgressBar) -> Result<HandedOver, Failed> {
    let mut handed = HandedOver::default();
    let mut done = vec![0_u64; args.jobs.div_ceil(64) as usize];
    let mut cursor = None;
    for after in (0..=args.handoffs).rev() {
        let (mut reader, mut set) = Reader::open(path)?;
        if let Some(cursor) = cursor {
            set.resume_behind(cursor);
        }
        // The last leader finishes; the others share the rest about equally.
        let left = args.jobs - handed.done;
        let dies_after = if after == 0 { u64::MAX } else { random.next_u64() % (2 * left / (after + 1)).max(1) };
        for nth in 1..=dies_after {
            let Some(job) = reader.take(&mut set)? else { break };
            let (word, bit) = ((job.id / 64) as usize, 1 << (job.id % 64));
            if done[word] & bit == 0 {
                done[word] |= bit;
                handed.done += 1;
            } else {
                handed.again += 1;
            }
            if nth % args.checkpoint_every == 0 {
                cursor = Some(job);
                bar.set_position(args.jobs + handed.done);
            }
        }
    }
    handed.left_out = args.jobs - handed.done;
    Ok(handed)
}

/// The peak memory of this process, bytes, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

fn time(took: Duration) -> String {
    match took.as_secs_f64() {
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}
