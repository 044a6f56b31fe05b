//! Power loss: any unsynced write may be lost and the last one torn, but everything acknowledged survives.
use protocols::types::{Operation, Payload, Resource};
use protocols_real::store::{
    backend::{Backend, Trouble},
    embedded::Embedded,
    loaded::Rules,
    wire::{self, Reply, Request, Verdict},
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use redb::StorageBackend;
use std::{
    io,
    sync::{Arc, Mutex},
};

/// A disk with a volatile cache.
#[derive(Debug, Default)]
struct Disk {
    synced: Vec<u8>,
    seen: Vec<u8>,
    cached: Vec<Change>,
    /// Operations left until the power fails.
    left: u64,
}

#[derive(Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

fn apply(image: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Length(length) => image.resize(*length as usize, 0),
        Change::Write(offset, data) => {
            let (from, to) = (*offset as usize, *offset as usize + data.len());
            image.resize(image.len().max(to), 0);
            image[from..to].copy_from_slice(data);
        }
    }
}

#[derive(Clone, Debug)]
struct Medium(Arc<Mutex<Disk>>);

impl Medium {
    fn on(&self, change: Change) -> io::Result<()> {
        let mut disk = self.power()?;
        apply(&mut disk.seen, &change);
        disk.cached.push(change);
        Ok(())
    }

    fn power(&self) -> io::Result<std::sync::MutexGuard<'_, Disk>> {
        let mut disk = self.0.lock().unwrap();
        disk.left = disk.left.checked_sub(1).ok_or_else(|| io::Error::other("no power"))?;
        Ok(disk)
    }

    /// The disk's content after a loss of power: each unsynced write survives whole, in part, or not at all.
    fn after_power_loss(&self, random: &mut ChaCha8Rng) -> Vec<u8> {
        let mut disk = self.0.lock().unwrap();
        let mut image = std::mem::take(&mut disk.synced);
        for change in disk.cached.drain(..) {
            match (random.next_u32() % 3, change) {
                (0, _) => {}
                (1, Change::Write(offset, mut data)) => {
                    data.truncate(random.next_u32() as usize % (data.len() + 1));
                    apply(&mut image, &Change::Write(offset, data));
                }
                (_, change) => apply(&mut image, &change),
            }
        }
        image
    }
}

impl StorageBackend for Medium {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = self.0.lock().unwrap();
        let from = offset as usize;
        let data = disk.seen.get(from..from + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(data);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.on(Change::Length(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.power()?;
        disk.synced = disk.seen.clone();
        disk.cached.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.on(Change::Write(offset, data.to_vec()))
    }
}

fn medium(image: Vec<u8>, left: u64) -> Medium {
    Medium(Arc::new(Mutex::new(Disk { synced: image.clone(), seen: image, cached: Vec::new(), left })))
}

fn seal() -> Request {
    let (resource, mac) = (Resource::SEQUENCE.into(), String::new());
    Request::Seal(wire::Seal { resource, node: "n1".into(), generation: 1, token: 7, payload: true, mac })
}

fn write(seq: u64, request: u64) -> Request {
    Request::Write(wire::Write {
        resource: Resource::SEQUENCE.into(),
        node: "n1".into(),
        generation: 1,
        token: 7,
        seq,
        read_version: seq - 1,
        request: format!("shop:{request}"),
        operation: Operation::Record,
        payload: Some(Payload { number: seq.try_into().expect("from 1"), at_us: seq }),
        mac: String::new(),
    })
}

/// Writes batches until the power fails; returns the last acknowledged number and the last requested one.
async fn write_until_dark(store: &mut Embedded, random: &mut ChaCha8Rng, mut seq: u64) -> (u64, u64) {
    loop {
        let more = u64::from(random.next_u32() % 8 + 1);
        let batch = Arc::new((seq + 1..=seq + more).map(|n| write(n, n)).collect::<Vec<_>>());
        match store.decide(&batch).await {
            Ok(replies) => {
                let fine = |r: &Reply| matches!(r, Reply::Written(w) if w.verdict == Verdict::Ok);
                assert!(replies.iter().all(fine), "{replies:?}");
                seq += more;
            }
            Err(Trouble::Broken(_)) => return (seq, seq + more),
            Err(trouble) => panic!("{trouble}"),
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_power_loss() {
    let random = &mut ChaCha8Rng::seed_from_u64(1);
    let (mut acknowledged, mut unknown) = (0, 0);
    let losses = 300;
    // Each loss starts from the previous one's disk, except now and then from a new one.
    let (mut image, mut last) = (Vec::new(), (0, 0));
    for loss in 0..losses {
        if loss % 50 == 0 {
            let new = medium(Vec::new(), u64::MAX);
            drop(
                Embedded::on_medium(new.clone(), Rules::default())
                    .unwrap()
                    .decide(&Arc::new(vec![seal()]))
                    .await
                    .unwrap(),
            );
            (image, last) = (new.0.lock().unwrap().synced.clone(), (0, 0));
        }
        let disk = medium(image, u64::MAX);
        let mut store = Embedded::on_medium(disk.clone(), Rules::default()).unwrap();
        let state = Request::State(wire::StateOf { resource: Resource::SEQUENCE.into() });
        let replies = store.decide(&Arc::new(vec![state])).await.unwrap();
        let [Reply::State(state)] = &replies[..] else { panic!("{replies:?}") };
        assert!(state.highest == 7 && state.seq >= last.0 && state.seq <= last.1, "{state:?} after {last:?}");
        // A batch is whole or absent.
        assert!(state.seq == last.0 || state.seq == last.1, "{state:?} after {last:?}");
        // The record is the last write's.
        let replies = store.decide(&Arc::new(vec![seal()])).await.unwrap();
        let [Reply::Sealed(sealed)] = &replies[..] else { panic!("{replies:?}") };
        assert_eq!(sealed.payload.map_or(0, |payload| payload.number.get()), state.seq, "{sealed:?}");
        // Everything that was acknowledged or otherwise took effect is remembered under its number.
        let again = Arc::new((1..=state.seq).rev().take(1000).map(|n| write(n, n)).collect::<Vec<_>>());
        for (seq, reply) in (1..=state.seq).rev().zip(store.decide(&again).await.unwrap()) {
            let Reply::Written(written) = reply else { panic!("{reply:?}") };
            assert_eq!(written.verdict, Verdict::Duplicate { seq });
        }
        disk.0.lock().unwrap().left = u64::from(random.next_u32() % 200);
        let before = state.seq;
        last = write_until_dark(&mut store, random, before).await;
        acknowledged += last.0 - before;
        unknown += last.1 - last.0;
        drop(store);
        image = disk.after_power_loss(random);
    }
    println!("{losses} power losses: {acknowledged} acknowledged, all there; {unknown} of unknown outcome");
}
