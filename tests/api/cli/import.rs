//! `docgate import`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{Running, database, done, gzip, on_shop, preconditions::assert_private};
use crate::support::{FailPoint, fresh_name, until};

/// A folder for files, and a database with its indexes and two categories.
struct Place {
    folder: tempfile::TempDir,
    name: String,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder"), name: fresh_name() };
        assert_eq!(done(on_shop(&place.name, &["indexes", "apply"])).0, 0);
        let tree = place.file(
            "tree.jsonl",
            concat!(
                r#"{"path": "/music", "names": {"en": "Music", "de": "Musik"}}"#,
                "\n\n",
                r#"{"path": "/music/jazz", "names": {"en": "Jazz"}}"#
            )
            .as_bytes(),
        );
        let (code, out, said) = place.import("categories", &tree, &[]);
        assert_eq!((code, out.as_str()), (0, "2 categories imported, 0 lines skipped\n"), "{said}");
        place
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    fn import(&self, kind: &str, file: &Path, more: &[&str]) -> (i32, String, String) {
        done(self.command(kind, file, more))
    }

    fn command(&self, kind: &str, file: &Path, more: &[&str]) -> std::process::Command {
        let file = file.display().to_string();
        let mut arguments = vec!["import", kind, &file];
        arguments.extend_from_slice(more);
        on_shop(&self.name, &arguments)
    }

    async fn products(&self) -> u64 {
        let products = database(&self.name).await.collection::<Document>("products");
        products.count_documents(doc! {}).await.expect("a count")
    }

    async fn is_sound(&self) -> bool {
        let (code, out, _) = done(on_shop(&self.name, &["check"]));
        assert_eq!(code, 0, "{out}");
        true
    }
}

fn product(number: usize) -> Value {
    json!({
        "sku": format!("IMP-{number}"),
        "categories": ["/music/jazz"],
        "pricing": { "list": 1999, "retail": 1499, "currency": "EUR" },
        "content": {
            "title": format!("Album {number}"),
            "language": "en",
            "details": { "album": { "genres": ["Jazz"], "tracks": [{ "title": "Rain" }] } },
        },
    })
}

fn products(count: usize) -> String {
    let lines: Vec<_> = (1..=count).map(|number| product(number).to_string() + "\n").collect();
    lines.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_checks_every_line_and_changes_nothing() {
    let place = Place::new();
    let stored = place.file("stored.jsonl", product(9).to_string().as_bytes());
    assert_eq!(place.import("products", &stored, &[]).0, 0);
    let bad = r#"{"sku": "B", "categories": ["/nothing"], "pricing": {"list": 1, "retail": 1, "currency": "EUR"},
        "content": {"title": "B", "details": {"book": {}}}}"#.replace('\n', " ");
    let review = r#"{"sku": "IMP-9", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "good", "stars": "#;
    let cases = [
        (
            "categories",
            r#"{"path": "/film", "names": {"en": "Film"}}"#.to_owned(),
            r#"{"path": "film", "names": {"en": "Film"}}"#.to_owned(),
            "category",
            "path",
        ),
        (
            "people",
            r#"{"key": "ann", "name": "Ann"}"#.to_owned(),
            r#"{"key": "ben", "name": ""}"#.to_owned(),
            "person",
            "name",
        ),
        ("products", product(1).to_string(), bad, "product", "categories[0]"),
        (
            "discussions",
            format!("{review}5}}"),
            format!("{review}9}}"),
            "comment or review",
            "stars",
        ),
    ];
    for (kind, good, bad, thing, field) in cases {
        let file = place.file("lines.jsonl", format!("{good}\n\n{bad}\n").as_bytes());
        let (code, out, said) = place.import(kind, &file, &["--dry-run"]);
        let told = format!("1 {thing} would be imported, 1 line skipped\n");
        assert_eq!((code, out.as_str()), (1, told.as_str()), "{said}");
        assert!(said.contains(&format!("line 3: {field}: ")), "{said}");
        assert!(!place.folder.path().join("lines.jsonl.progress").exists());
    }
    let database = database(&place.name).await;
    for (collection, expected) in
        [("categories", 2), ("people", 0), ("products", 1), ("comments", 0)]
    {
        let found = database.collection::<Document>(collection).count_documents(doc! {}).await;
        assert_eq!(found.expect("a count"), expected, "{collection}");
    }
    let file = place.file("world.jsonl", b"{}");
    let world =
        super::on(&place.name, &["import", "world", &file.display().to_string(), "--dry-run"]);
    let (code, _, said) = done(world);
    assert!(code == 2 && said.contains("isn't possible"), "{said}");
    assert_eq!(place.import("people", &file, &["--dry-run", "--resume"]).0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_categories_refuses_paths_that_are_too_deep() {
    let place = Place::new();
    let line = |depth: usize| json!({ "path": "/step".repeat(depth), "names": { "en": "Step" } });
    let lines: Vec<_> = (1..=18).map(|depth| line(depth).to_string()).collect();
    let file = place.file("deep.jsonl", lines.join("\n").as_bytes());
    let too_deep = "line 17: path: would make the tree deeper than 16 levels";
    let (code, out, said) = place.import("categories", &file, &["--dry-run"]);
    let told = "16 categories would be imported, 2 lines skipped\n";
    assert_eq!((code, out.as_str()), (1, told), "{said}");
    assert!(said.contains(too_deep) && said.contains("line 18: path: "), "{said}");
    let categories = database(&place.name).await.collection::<Document>("categories");
    assert_eq!(categories.count_documents(doc! {}).await.expect("a count"), 2);

    let (code, out, said) = place.import("categories", &file, &[]);
    let told = "16 categories imported, 2 lines skipped\n";
    assert_eq!((code, out.as_str()), (1, told), "{said}");
    assert!(said.contains(too_deep) && said.contains("line 18: path: "), "{said}");
    assert!(place.is_sound().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_discussions_looks_for_their_products() {
    let place = Place::new();
    let stored = place.file("stored.jsonl", product(1).to_string().as_bytes());
    assert_eq!(place.import("products", &stored, &[]).0, 0);
    let line = |sku: &str, key: &str| {
        json!({ "sku": sku, "key": key, "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "Good" })
            .to_string()
    };
    let lines = [line("IMP-1", "a"), line("IMP-2", "b"), line("IMP-1", "c"), line("gone", "d")];
    let file = place.file("lines.jsonl", lines.join("\n").as_bytes());
    let products = database(&place.name).await.collection::<Document>("products");
    let stored = async || products.find_one(doc! { "_id": "IMP-1" }).await.expect("an answer");
    let before = stored().await.expect("the product");
    let (code, out, tried) = place.import("discussions", &file, &["--dry-run"]);
    let told = "2 comments and reviews would be imported, 2 lines skipped\n";
    assert_eq!((code, out.as_str()), (1, told), "{tried}");
    for line in ["line 2", "line 4"] {
        let told = format!("{line}: sku: there is no such product");
        assert!(tried.contains(&told), "{tried}");
    }
    assert_eq!(stored().await, Some(before), "a dry run opens no discussion");

    let (code, out, said) = place.import("discussions", &file, &[]);
    let told = "2 comments and reviews imported, 2 lines skipped\n";
    assert_eq!((code, out.as_str()), (1, told), "{said}");
    assert_eq!(said, tried);
    assert!(place.is_sound().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn products_come_in_plain_packed_and_from_stdin() {
    let place = Place::new();
    let plain = place.file("plain.jsonl", products(700).as_bytes());
    let (code, out, said) = place.import("products", &plain, &[]);
    assert_eq!((code, out.as_str()), (0, "700 products imported, 0 lines skipped\n"), "{said}");
    assert!(!place.folder.path().join("plain.jsonl.progress").exists());
    assert_eq!(place.products().await, 700);

    let packed = place.file("packed", &gzip(&products(800)));
    let (code, out, _) = place.import("products", &packed, &[]);
    assert_eq!((code, out.as_str()), (0, "800 products imported, 0 lines skipped\n"));
    assert_eq!(place.products().await, 800);

    let mut command = place.command("products", Path::new("-"), &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(&gzip(&products(850))).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"850 products imported, 0 lines skipped\n");
    assert_eq!(place.products().await, 850);
    assert!(place.is_sound().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_lines_are_told_and_skipped() {
    let place = Place::new();
    let mut lines: Vec<Vec<u8>> = vec![product(1).to_string().into()];
    let mut nowhere = product(2);
    nowhere["categories"] = json!(["/music/polka"]);
    let mut dear = product(3);
    dear["pricing"]["retail"] = json!(5000);
    let mut odd = product(4);
    odd["content"]["colour"] = json!("blue");
    let mut endless = product(5);
    endless["content"]["description"] = json!("x".repeat(2 << 20));
    for line in [nowhere, dear, odd, endless] {
        lines.push(line.to_string().into());
    }
    lines.push(b"{\"sku\": ".to_vec());
    lines.push(b"\xff\xfe".to_vec());
    lines.push(product(8).to_string().into());
    let file = place.file("some.jsonl", &lines.join(&b'\n'));
    let errors = place.folder.path().join("bad.jsonl");

    let (code, out, said) = place.import("products", &file, &[]);
    assert_eq!((code, out.as_str()), (1, "2 products imported, 6 lines skipped\n"));
    for reason in [
        "line 2: categories[0]: there is no category \"/music/polka\"",
        "line 3: pricing.retail: is above the list price",
        "line 4: content.colour: is an unknown field; the fields are ",
        "line 5: is longer than 1048576 bytes",
        "line 6: isn't JSON: EOF while parsing",
        "line 7: isn't UTF-8",
    ] {
        assert!(said.contains(reason), "{reason} in {said}");
    }

    let path = errors.display().to_string();
    let (code, _, said) = place.import("products", &file, &["--errors", &path, "--allow-errors"]);
    assert_eq!((code, said.as_str()), (0, ""));
    let text = fs::read_to_string(&errors).expect("the file");
    let told: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(told.len(), 6);
    assert_eq!(told[0]["line"], 2);
    let fields: Vec<&Value> = told.iter().map(|told| &told["field"]).collect();
    let named = [json!("categories[0]"), json!("pricing.retail"), json!("content.colour")];
    let unnamed = [Value::Null, Value::Null, Value::Null];
    assert_eq!(fields, named.iter().chain(&unnamed).collect::<Vec<_>>());
    assert_eq!(told[0]["reason"], "there is no category \"/music/polka\"");
    assert!(told[0]["text"].as_str().expect("the line").contains("polka"));
    assert_eq!(place.products().await, 2);

    let misplaced = place.file(
        "misplaced.jsonl",
        concat!(
            r#"{"path": "/pop", "names": {"en": "Pop", "de": ""}}"#,
            "\n",
            r#"{"path": "/film/noir", "names": {"en": "Noir"}}"#,
            "\n",
            r#"{"path": "/music/../x", "names": {"en": "X"}}"#,
        )
        .as_bytes(),
    );
    let (code, out, said) = place.import("categories", &misplaced, &[]);
    assert_eq!((code, out.as_str()), (1, "0 categories imported, 3 lines skipped\n"), "{said}");
    assert!(said.contains("line 1: names.de: takes 1 to 200 characters"), "{said}");
    assert!(said.contains("line 2: path: there is no /film"), "{said}");
    assert!(place.is_sound().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_ends_early_is_gone_on_with_when_it_is_whole() {
    let place = Place::new();
    let whole = gzip(&products(3_000));
    let file = place.file("packed.gz", &whole[..whole.len() * 2 / 3]);
    let (code, out, said) = place.import("products", &file, &[]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(said.contains("the file can't be read") && said.contains("--resume"), "{said}");
    let before = place.products().await;
    assert!((500..3_000).contains(&before), "{before}");

    let (code, _, said) = place.import("categories", &file, &["--resume"]);
    assert!(code == 2 && said.contains("belongs to an import of products"), "{said}");
    place.file("packed.gz", &gzip(&products(3_000).replacen("Album", "Other", 1)));
    let (code, _, said) = place.import("products", &file, &["--resume"]);
    assert!(code == 3 && said.contains("isn't what it was"), "{said}");
    assert_eq!(place.products().await, before);

    place.file("packed.gz", &whole);
    let (code, out, said) = place.import("products", &file, &["--resume"]);
    assert_eq!((code, out.as_str()), (0, "3000 products imported, 0 lines skipped\n"), "{said}");
    assert_eq!(place.products().await, 3_000);
    let (code, _, said) = place.import("products", &file, &["--resume"]);
    assert!(code == 2 && said.contains("nothing was cut"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_compressed_by_zstd_is_read() {
    let place = Place::new();
    let packed = zstd::encode_all(products(10).as_bytes(), 1).expect("packed");
    let (code, out, said) = place.import("products", &place.file("packed", &packed), &[]);
    assert_eq!((code, out.as_str()), (0, "10 products imported, 0 lines skipped\n"), "{said}");
    assert_eq!(place.products().await, 10);
}

/// An import without `--resume` that can't begin, here because its database has no indexes.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_cant_begin_leaves_the_files_of_an_earlier_one() {
    let place = Place::new();
    let text = format!("{{}}\n{}", products(1_000));
    let whole = gzip(&text);
    let file = place.file("packed.gz", &whole[..whole.len() * 9 / 10]);
    let errors = place.folder.path().join("bad.jsonl");
    let (path, other) = (errors.display().to_string(), fresh_name());
    let more = ["--errors", &path];
    assert_eq!(place.import("products", &file, &more).0, 3);
    let told = fs::read_to_string(&errors).expect("the file");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_private(&errors, 0o600);

    let elsewhere = ["--database", &other];
    let (code, _, said) = place.import("products", &file, &[more, elsewhere].concat());
    assert!(code == 3 && said.contains("indexes are missing"), "{said}");
    assert_eq!(fs::read_to_string(&errors).expect("the file"), told);
    place.file("packed.gz", &whole);
    let (code, out, said) = place.import("products", &file, &[&more[..], &["--resume"]].concat());
    assert_eq!((code, out.as_str()), (1, "1000 products imported, 1 line skipped\n"), "{said}");
    assert_eq!(fs::read_to_string(&errors).expect("the file"), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_progress_file_is_of_one_import_at_a_time() {
    let place = Place::new();
    let file = place.file("some.jsonl", products(3).as_bytes());
    let [progress, lock] = ["some.jsonl.progress", "some.jsonl.progress.lock"]
        .map(|name| place.folder.path().join(name));
    let held = fs::File::create(&lock).expect("a file");
    held.lock().expect("the lock");
    let (code, _, said) = place.import("products", &file, &[]);
    assert!(code == 3 && said.contains("another import is using"), "{code}: {said}");
    assert!(said.contains("--progress") && !progress.exists(), "{said}");
    assert_eq!(place.products().await, 0);
    // Another one has a progress file of its own.
    let other = place.folder.path().join("other").display().to_string();
    let all = "3 products imported, 0 lines skipped\n";
    let (code, out, said) = place.import("products", &file, &["--progress", &other]);
    assert_eq!((code, out.as_str()), (0, all), "{said}");
    // The lock of a process that has ended is free, and its file is removed.
    drop(held);
    let (code, out, said) = place.import("products", &file, &[]);
    assert_eq!((code, out.as_str()), (0, all), "{said}");
    assert!(!progress.exists() && !lock.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_killed_goes_on_where_it_was() {
    for signal in ["KILL", "INT"] {
        let place = Place::new();
        let file = place.file("many.jsonl", products(6_000).as_bytes());
        let progress = place.folder.path().join("many.jsonl.progress");
        // Its reads of categories take so long that the signal comes before the last one, also on a busy machine.
        let slow = doc! {
            "failCommands": ["find", "aggregate"], "namespace": format!("{}.categories", place.name),
            "blockConnection": true, "blockTimeMS": 500,
        };
        let database = database(&place.name).await;
        let slow = FailPoint::on(&database, doc! { "times": 10_000 }, slow).await;
        let running = Running::start(place.command("products", &file, &[]));
        let far = || {
            let text = fs::read(&progress).ok()?;
            serde_json::from_slice::<Value>(&text).ok()?["line"].as_u64()
        };
        until("the import gets anywhere", async || far().unwrap_or(0) >= 500).await;
        running.signal(signal);
        slow.off().await;
        if signal == "INT" {
            let said = running.says("interrupted");
            assert!(said.contains("--resume"), "{said}");
            assert_eq!(running.ends(), 3);
        } else {
            drop(running);
        }
        let at = far().expect("the progress");
        assert!((500..6_000).contains(&at), "{at}");
        let (code, out, said) = place.import("products", &file, &["--resume"]);
        let all = "6000 products imported, 0 lines skipped\n";
        assert_eq!((code, out.as_str()), (0, all), "{said}");
        assert_eq!(place.products().await, 6_000);
        assert!(place.is_sound().await);
    }
}
