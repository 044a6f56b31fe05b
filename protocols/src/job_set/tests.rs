use super::{
    layout::{FOOTER_BYTES, Span, footer, index},
    segment::{Corrupt, Segment},
    *,
};
use crate::random::Random;
use proptest::prelude::*;

/// Random jobs, due within `within_ms`.
fn drawn(jobs: u64, within_ms: u64) -> Vec<Job> {
    let mut random = Random::new(7);
    (0..jobs).map(|id| Job { due_ms: random.next_u64() % within_ms, id }).collect()
}

fn set(jobs: &[Job]) -> JobSet {
    let mut set = JobSet::new();
    jobs.iter().for_each(|job| set.add(*job).unwrap());
    set
}

fn stored(set: &mut JobSet) -> Vec<u8> {
    let mut file = Vec::new();
    let put = |bytes: &[u8]| {
        file.extend_from_slice(bytes);
        Ok::<(), Corrupt>(())
    };
    set.store(put).unwrap();
    file
}

fn part(file: &[u8], span: Span) -> Vec<u8> {
    file[span.at as usize..][..span.bytes as usize].to_vec()
}

/// The set from a file's index.
fn opened(file: &[u8]) -> Result<JobSet, Corrupt> {
    let end = file.len().saturating_sub(FOOTER_BYTES);
    let (span, checksum) = footer(&file[end..], file.len() as u64)?;
    Ok(JobSet::of_index(index(&part(file, span), checksum)?))
}

/// All jobs in order, and how often a segment was read.
fn drained(set: &mut JobSet, file: &[u8]) -> Result<(Vec<Job>, usize), Corrupt> {
    let (mut jobs, mut reads) = (Vec::new(), 0);
    loop {
        match set.take()? {
            Next::Job(job) => jobs.push(job),
            Next::Missing(span) => {
                reads += 1;
                set.supply(span, part(file, span))?;
            }
            Next::Nothing => return Ok((jobs, reads)),
        }
    }
}

#[test]
fn jobs_come_in_order_of_their_due_times_whatever_the_order_they_were_added_in() {
    let mut jobs = drawn(600_000, 1_000_000_000);
    let mut set = set(&jobs);
    jobs.sort_unstable();
    assert_eq!(set.len(), 600_000);
    assert!(set.pieces.len() > 4, "it has several segments");
    // Two of three bytes of a 20-bit identifier, and two for a difference of 1,667 ms.
    let each = set.heap_bytes() as f64 / 600_000.0;
    assert!(each < 8.0, "{each} bytes a job");
    assert_eq!(drained(&mut set, &[]).unwrap().0, jobs);
    assert_eq!((set.len(), set.take().unwrap()), (0, Next::Nothing));
}

#[test]
fn a_new_leader_reads_only_what_lies_ahead_of_its_cursor() {
    let mut jobs = drawn(600_000, 1_000_000_000);
    let file = stored(&mut set(&jobs));
    jobs.sort_unstable();
    let (all, every) = drained(&mut opened(&file).unwrap(), &file).unwrap();
    assert_eq!(all, jobs);
    let cursor = jobs[500_000];
    let mut resumed = opened(&file).unwrap();
    resumed.resume_behind(cursor);
    let Next::Missing(first) = resumed.take().unwrap() else { panic!("nothing is here yet") };
    resumed.supply(first, part(&file, first)).unwrap();
    assert_eq!(resumed.take().unwrap(), Next::Job(jobs[500_001]), "one segment was enough");
    let (rest, reads) = drained(&mut resumed, &file).unwrap();
    assert_eq!(rest, jobs[500_002..]);
    assert!(reads + 1 < every, "{reads} of {every}");
}

#[test]
fn what_is_added_to_a_set_that_is_not_here_yet_comes_in_its_turn() {
    let mut jobs = drawn(300_000, 1_000_000);
    let (late, early) = jobs.split_at(200_000);
    let file = stored(&mut set(late));
    let mut set = opened(&file).unwrap();
    early.iter().for_each(|job| set.add(*job).unwrap());
    let drained = drained(&mut set, &file).unwrap().0;
    jobs.sort_unstable();
    assert_eq!(drained, jobs);
}

#[test]
fn a_job_due_at_once_comes_before_everything_that_is_left() {
    let mut set = set(&drawn(200_000, 1_000_000));
    for _ in 0..1_000 {
        assert!(matches!(set.take().unwrap(), Next::Job(_)));
    }
    let now = Job { due_ms: 0, id: 9 };
    set.add(now).unwrap();
    assert_eq!(set.take().unwrap(), Next::Job(now));
}

proptest! {
    #[test]
    fn a_segment_unpacks_to_what_was_packed(mut jobs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..200), bits in 0..64_u32) {
        let mut jobs: Vec<Job> = jobs.drain(..).map(|(due_ms, id)| Job { due_ms, id: id >> bits }).collect();
        jobs.sort_unstable();
        let segment = Segment::pack(&jobs);
        prop_assert_eq!(segment.unpack().unwrap(), jobs);
    }

    #[test]
    fn a_damaged_file_is_refused(place in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let jobs = drawn(300, 1_000_000);
        let whole = stored(&mut set(&jobs));
        let mut file = whole.clone();
        file[place.index(whole.len())] ^= 1 << bit;
        let read = opened(&file).and_then(|mut set| drained(&mut set, &file));
        prop_assert!(read.is_err());
    }

    #[test]
    fn bytes_that_nobody_wrote_are_no_segment_and_no_panic(jobs in 0..40_u32, bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let ends = (Job::default(), Job { due_ms: 5, id: 5 });
        // Few of these are segments, but none may panic.
        let _ = Segment::packed(jobs, ends, bytes);
    }
}
