//! Other people's clients and suites, run against the built binary: one test for each suite of
//! `tests/clients/`, which are in JavaScript. They share a demo that this starts.
//!
//! They need Node 20 or newer; some need more, such as Chromium. What is missing is said and its suite
//! is skipped, unless `CLIENTS=required`, as in CI: then it fails.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// What `run.mjs` exits with when a suite can't run here.
const CANT_RUN: i32 = 77;
/// The oldest Node that the clients work with.
const NODE: u32 = 20;
/// Long enough for the demo to be filled on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

macro_rules! suites {
    ($($name:ident)*) => {
        const SUITES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { suite(stringify!($name)); })*
    };
}

suites! { http websocket sse apollo upload urql relay codegen guides federation schema explorer graphiql storefront fuzz }

#[test]
fn every_suite_has_its_test() {
    let files = fs::read_dir(folder().join("suites")).expect("a folder");
    let name = |file: io::Result<fs::DirEntry>| file.expect("a file").path();
    let mut found: Vec<PathBuf> = files.map(name).collect();
    found.sort();
    let found: Vec<_> = found.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    let mut tested = SUITES.to_vec();
    tested.sort_unstable();
    assert_eq!(found, tested);
}

/// The program of the guide for Rust, which is an example of this package. `cargo test` builds examples, unless tests
/// are named.
#[test]
fn guide_for_rust() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/guides/rust.md")).expect("the page");
    let code = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let code = code.expect("the page's program");
    let example = fs::read_to_string(root.join("examples/shop.rs")).expect("the example");
    assert!(example.ends_with(code), "docs/guides/rust.md and examples/shop.rs differ");

    let folder = Path::new(env!("CARGO_BIN_EXE_docgate")).parent().expect("its folder");
    let program = folder.join("examples").join("shop");
    if !program.exists() {
        return skip("guide_for_rust", "the example isn't built: cargo build --example shop");
    }
    let demo = Demo::shared();
    let world = fs::read_to_string(&demo.world).expect("the demo's addresses");
    let world: Value = serde_json::from_str(&world).expect("JSON");
    let value = |place: &str| world.pointer(place).and_then(Value::as_str).expect("a text");
    let mut command = Command::new(program);
    command.env("DOCGATE_URL", format!("{}/graphql", value("/url")));
    command.env("SHOPPER", value("/tokens/shopper")).stdin(Stdio::null());
    let output = command.output().expect("the example runs");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    for said in [
        " products\n",
        "\npage 2: ",
        "\nIn your cart: 1 piece, €",
        "\nThe same key again: 1 piece\n",
        "\nThere are only ",
        "\nStock: ",
        "\nUNAUTHENTICATED: ",
    ] {
        assert!(out.contains(said), "{said:?} isn't in {out}");
    }
}

/// How many suites run at once.
const AT_ONCE: usize = 3;

/// Suites that run, and a signal when one has ended.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The place of a suite that runs.
struct Place;

impl Place {
    /// Waits until fewer than [`AT_ONCE`] run.
    fn wait() -> Self {
        let running = RUNNING.1.wait_while(lock(&RUNNING.0), |running| *running >= AT_ONCE);
        *running.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *lock(&RUNNING.0) -= 1;
        RUNNING.1.notify_one();
    }
}

/// Runs one suite.
fn suite(name: &str) {
    if let Err(reason) = installed() {
        return skip(name, reason);
    }
    let demo = Demo::shared();
    let _place = Place::wait();
    let mut command = Command::new("node");
    command.arg("run.mjs").arg(name).current_dir(folder()).env("CLIENTS_WORLD", &demo.world);
    let output = command.stdin(Stdio::null()).output().expect("Node runs");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    say(&out);
    match output.status.code() {
        Some(0) => {}
        Some(CANT_RUN) => skip(name, err.trim()),
        _ => panic!("{out}{err}"),
    }
}

/// Says why a suite doesn't run, or fails where it has to.
fn skip(name: &str, reason: &str) {
    assert!(
        env::var("CLIENTS").as_deref() != Ok("required"),
        "{name} is required (CLIENTS), but {reason}"
    );
    say(&format!("skipped: {name}: {reason}\n"));
}

/// Past the test harness, which keeps back what a test that passes prints.
fn say(text: &str) {
    let _closed = io::stderr().write_all(text.as_bytes());
}

/// Whether Node and the packages of the lock file are there, which are installed if need be.
fn installed() -> Result<(), &'static str> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    INSTALLED.get_or_init(install).as_ref().map(|&()| ()).map_err(String::as_str)
}

fn install() -> Result<(), String> {
    let version = output("node", &["--version"]).ok_or("Node isn't there")?;
    let major = version.trim_start_matches('v').split('.').next().map(str::parse::<u32>);
    if !major.is_some_and(|major| major.is_ok_and(|major| major >= NODE)) {
        return Err(format!("Node is {}, not {NODE} or newer", version.trim()));
    }
    let lock = fs::read_to_string(folder().join("package-lock.json")).expect("a lock file");
    // Written once everything is there: a cut installation is begun again.
    let note = folder().join("node_modules").join(".docgate-lock.json");
    if fs::read_to_string(&note).is_ok_and(|noted| noted == lock) {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder());
    let ran = command.stdin(Stdio::null()).output().map_err(|fault| format!("npm: {fault}"))?;
    if !ran.status.success() {
        return Err(format!("npm ci failed: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    fs::write(note, lock).map_err(|fault| fault.to_string())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("clients")
}

/// What the suites leave behind, such as pictures: below the target folder.
fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A suite that failed leaves nothing half done in these.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A filled shop with a gateway and a database of its own, while any test uses it.
struct Demo {
    child: Child,
    /// The file that tells the suites where it is.
    world: PathBuf,
    _data: tempfile::TempDir,
}

impl Demo {
    fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Demo>> = Mutex::new(Weak::new());
        let mut shared = lock(&SHARED);
        shared.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start());
            *shared = Arc::downgrade(&started);
            started
        })
    }

    fn start() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_docgate"));
        for (key, _) in env::vars().filter(|(key, _)| key.starts_with("DOCGATE_")) {
            // It has to find its mongod.
            if key != "DOCGATE_MONGOD" && key != "DOCGATE_CACHE" {
                command.env_remove(key);
            }
        }
        command.args(["demo", "--port", "0", "--products", "200", "--data"]).arg(data.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        let said = BufReader::new(child.stdout.take().expect("its stdout"));
        let (send, lines) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                // Read to its end, or the demo couldn't say anything any more.
                let _unheard = send.send(line);
            }
        });
        // Dropped, and so ended, when what follows fails.
        let demo = Self { child, world: scratch().join("world.json"), _data: data };
        let until = Instant::now() + PATIENCE;
        let value = |before: &str| loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = lines.recv_timeout(left).expect("the demo says where it is");
            if let Some((_, after)) = line.split_once(before) {
                break after.split_whitespace().next().expect("a value").to_owned();
            }
        };
        let world = json!({
            "url": value("demo serves on "),
            "mongodb": value("MongoDB   "),
            "tokens": {
                "shopper": value("export SHOPPER="),
                "merchant": value("export MERCHANT="),
                "admin": value("export ADMIN="),
            },
            "binary": env!("CARGO_BIN_EXE_docgate"),
            "scratch": scratch(),
        });
        fs::create_dir_all(scratch()).expect("a folder");
        fs::write(&demo.world, world.to_string()).expect("written");
        demo
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _told = Command::new("kill").args(["-INT", &pid]).status();
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
