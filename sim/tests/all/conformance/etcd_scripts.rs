//! etcd: the scripts.

use super::{
    etcd::Etcd,
    report,
    script::{self, Arm, Replies, Script},
};
use servers::Version;
use std::thread;

/// An arm, and its replies to every script.
type Played = (Etcd, Vec<Replies>);

async fn play(mut arm: Etcd, scripts: &[Script]) -> Played {
    let mut replies = Vec::new();
    for script in scripts {
        replies.push(script.play(&mut arm).await);
    }
    (arm, replies)
}

fn check((arm, replies): &Played, scripts: &[Script], wrong: &mut Vec<String>) {
    let checked = scripts.iter().zip(replies).map(|(script, replies)| script.check(arm, replies));
    wrong.extend(checked.filter_map(Result::err));
}

/// Both versions and the model give every reply of every script.
#[test]
fn etcd_scripts() {
    let mut scripts = script::all("etcd");
    let all = &scripts;
    // Most of the time is waiting, so the arms run in parallel.
    let (model, real) = thread::scope(|scope| {
        let model = scope.spawn(|| super::run(async { play(Etcd::model().await, all).await }));
        let real = [Version::Etcd35, Version::Etcd34]
            .map(|version| scope.spawn(move || super::run(async { Some(play(Etcd::real(version)?, all).await) })));
        let real = real.map(|thread| thread.join().expect("it was played"));
        (model.join().expect("it was played"), real.into_iter().flatten().collect::<Vec<_>>())
    });
    // Recorded from the newer version; the older one must agree.
    if let Some((_, replies)) = real.first().filter(|_| super::updating()) {
        scripts.iter_mut().zip(replies).for_each(|(script, replies)| script.update(replies.clone()));
    }
    let mut wrong = Vec::new();
    [&model].into_iter().chain(&real).for_each(|played| check(played, &scripts, &mut wrong));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let count = scripts.iter().map(Script::commands).sum();
    real.iter().for_each(|(arm, _)| report(&arm.name(), count, "scripted"));
}
