//! The record of what cut tests have cut, for the fault matrix of `docs/FAULTS.md`. With `TEST_FAULTS=FOLDER` in
//! the environment each cut test writes a file into the folder; `scripts/fault-matrix.py FOLDER` makes the table of them.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
};

use serde_json::{Value, json};

use super::{cuts::Way, proxy::Seen};

/// Environment variable with the name of the folder.
const FOLDER: &str = "TEST_FAULTS";

/// Records that the test of this thread has cut a flow of these commands in these ways, and found nothing wrong.
pub fn record(commands: &[Seen], cases: impl Iterator<Item = Way>) {
    // A test may cut several flows.
    static RUNS: Mutex<BTreeMap<String, Vec<Value>>> = Mutex::new(BTreeMap::new());
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let test = thread::current().name().unwrap_or_default().to_owned();
    let name = |seen: &Seen| format!("{} {}", seen.command, seen.collection).trim_end().to_owned();
    let commands: Vec<_> = commands.iter().map(name).collect();
    let mut ways: BTreeMap<String, u32> = Way::ALL.map(|way| (format!("{way:?}"), 0)).into();
    for way in cases {
        *ways.entry(format!("{way:?}")).or_default() += 1;
    }
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let runs = runs.entry(test.clone()).or_default();
    runs.push(json!({ "commands": commands, "ways": ways }));
    let folder = Path::new(&folder);
    let file = folder.join(format!("{}.json", test.replace("::", ".")));
    let record = json!({ "test": test, "runs": runs }).to_string();
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, record));
    written.expect("the folder is writable");
}
