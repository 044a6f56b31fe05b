//! Every case of `seeds/` can be replayed by its file's name, prints its story, and has the recorded outcome.

use std::{path::Path, process::Command};

#[test]
fn every_case_is_replayed_and_tells_its_story() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = std::fs::read_dir(root.join("seeds")).expect("seeds/").flatten().map(|entry| entry.path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|kind| kind == "json")).collect();
    assert!(files.len() >= 53, "{} cases", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a case");
        let case: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let name = format!("seeds/{}", file.file_name().expect("a name").to_string_lossy());
        let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        run.args(["replay", &name, "--no-artifacts"]).current_dir(&root).env("NO_COLOR", "1").env_remove("CARGO");
        let run = run.output().expect("the binary runs");
        let [out, err] = [&run.stdout, &run.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let code = match case["verdict"].as_str() {
            Some("pass") => 0,
            Some("safety") => 1,
            Some("vacuous") => 2,
            _ => 3,
        };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        let told = words(&out).starts_with(&words(case["story"].as_str().expect("a story")));
        let mended = case["mended"].is_null() || words(&out).contains("The same plan without ");
        if run.status.code() != Some(code)
            || !told
            || !mended
            || !err.contains("as recorded: ")
            || err.contains("note: ")
        {
            wrong.push(format!("{name}: {:?}, told {told}, mended {mended}: {err}", run.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
