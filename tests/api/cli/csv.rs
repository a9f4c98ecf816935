//! `docgate import csv` and `docgate export csv`.

mod images;
mod summary;
mod variants;

use std::{fs, path::Path};

use mongodb::bson::{Document, doc};
use serde_json::Value;

use super::{database, done, on_shop};
use crate::support::fresh_name;

/// A database with its indexes and a category, and a folder for files.
struct Shop {
    folder: tempfile::TempDir,
    name: String,
}

impl Shop {
    fn new() -> Self {
        let shop = Self { folder: tempfile::tempdir().expect("a folder"), name: fresh_name() };
        assert_eq!(done(on_shop(&shop.name, &["indexes", "apply"])).0, 0);
        let tree = shop.file("tree.jsonl", r#"{"path": "/music", "names": {"en": "Music"}}"#);
        assert_eq!(shop.run(&["import", "categories", &tree]).0, 0);
        shop
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        path
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        done(on_shop(&self.name, arguments))
    }

    fn import(&self, what: &str, file: &str, more: &[&str]) -> (i32, String, String) {
        let arguments: Vec<&str> =
            ["import", "csv", what, file].into_iter().chain(more.iter().copied()).collect();
        self.run(&arguments)
    }

    /// Asserts that an import of products, and a dry run before it, import one product and report these lines and columns.
    /// `others` counts what isn't imported as a whole.
    fn assert_faults(&self, file: &str, others: &str, expected: &[(i64, &str)]) {
        for (how, done) in [("--dry-run", "would be imported"), ("--allow-errors", "imported")] {
            let errors = self.path("errors");
            let (_, out, said) = self.import("products", file, &[how, "--errors", &errors]);
            assert_eq!(out, format!("1 product {done}, {others}\n"), "{said}");
            let errors = fs::read_to_string(errors).expect("a file");
            let errors: Vec<Value> =
                errors.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let faults: Vec<_> = errors
                .iter()
                .map(|error| {
                    let column = error["field"].as_str().unwrap_or_default();
                    (error["line"].as_i64().expect("a line"), column)
                })
                .collect();
            assert_eq!(faults, expected, "{how}: {errors:#?}");
        }
    }

    fn export(&self, what: &str) -> String {
        let (code, out, said) = self.run(&["export", "csv", what]);
        assert_eq!(code, 0, "{said}");
        out
    }

    async fn count(&self, collection: &str) -> u64 {
        let collection = database(&self.name).await.collection::<Document>(collection);
        collection.count_documents(doc! {}).await.expect("a count")
    }

    /// The documents, without what differs between two imports.
    async fn documents(&self, collection: &str) -> Vec<Document> {
        use futures_util::TryStreamExt;
        let all = database(&self.name).await.collection::<Document>(collection);
        let found = all.find(doc! {}).sort(doc! { "_id": 1 }).await.expect("a cursor");
        let mut found: Vec<Document> = found.try_collect().await.expect("documents");
        for document in &mut found {
            // Rows are imported side by side.
            if let Ok(imported) = document.get_array_mut("imported") {
                imported.sort_by_key(ToString::to_string);
            }
            for field in
                ["incarnation", "nonce", "version", "origin", "outbox", "sweepAt", "facets"]
            {
                document.remove(field);
            }
            for copy in ["categories", "works", "contributors", "imported", "variants"] {
                let Ok(copies) = document.get_array_mut(copy) else { continue };
                for copy in copies.iter_mut().filter_map(|copy| copy.as_document_mut()) {
                    for field in ["_id", "cv", "version", "nv", "at", "generation", "origin"] {
                        copy.remove(field);
                    }
                }
            }
        }
        found
    }
}

const PEOPLE: &str = "key,name,street,city,country\n\
    ann,Ann Other,1 Main Street,\"Plainfield, NJ 07060\",US\n\
    bob,\"=Bob\n\"\"B\"\"\",,,\n";

/// As a spreadsheet of a country with decimal commas writes it.
const PRODUCTS: &str = "\u{feff}sku;title;type;list;retail;currency;categories;contributors;weight;details\r\n\
    A-1;Blue Lantern;album;19,99;17,99;EUR;/music;artist:ann|author:bob;110;\"{\"\"genres\"\": [\"\"Jazz\"\"], \
    \"\"tracks\"\": [{\"\"title\"\": \"\"Rain\"\"}]}\"\r\n\
    A-2;\"Two\r\nlines\";headphones;5;5;JPY;;;;\"{\"\"properties\"\": [{\"\"key\"\": \"\"colour\"\", \"\"value\"\": \"\"black\"\"}]}\"\r\n\
    ;;;;;;;;;\r\n\
    A-3;@home;book;0,5;0,5;EUR;/music;;;\r\n";

const STOCK: &str = "sku,quantity,receipt\nA-1,12,first\nA-1,5,second\nA-2,1,\n";

fn stocked() -> Shop {
    let shop = Shop::new();
    for (what, text, said) in [
        ("people", PEOPLE, "2 people imported, 0 lines skipped\n"),
        ("products", PRODUCTS, "3 products imported, 0 lines skipped\n"),
        ("stock", STOCK, "3 receipts of stock imported, 0 lines skipped\n"),
    ] {
        let file = shop.file(&format!("{what}.csv"), text);
        let (code, out, errors) = shop.import(what, &file, &[]);
        assert_eq!((code, out.as_str()), (0, said), "{errors}");
        assert!(!Path::new(&format!("{file}.progress")).exists());
    }
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_imported_as_spreadsheets_write_them() {
    let shop = stocked();
    let products = shop.documents("products").await;
    let [lantern, phones, home] = &products[..] else { panic!("{products:#?}") };
    let price = |of: &Document, field: &str| {
        of.get_document("pricing").expect("prices").get_i64(field).expect("a price")
    };
    assert_eq!((price(lantern, "list"), price(lantern, "retail")), (1_999, 1_799));
    assert_eq!(lantern.get_array("contributors").expect("a list").len(), 2);
    assert_eq!(phones.get_str("title").expect("a title"), "Two\r\nlines");
    assert_eq!(phones.get_str("type").expect("a type"), "headphones");
    assert_eq!(price(phones, "retail"), 5, "a currency without a minor unit");
    assert_eq!(home.get_str("title").expect("a title"), "@home");
    let stock = shop.documents("inventory").await;
    assert_eq!(stock[0].get_i64("available").expect("a number"), 17);
    let (code, out, _) = shop.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_imports_the_same() {
    let shop = stocked();
    let other = Shop::new();
    let kinds = [("people", "people"), ("products", "products"), ("stock", "inventory")];
    for (what, _) in kinds {
        let text = shop.export(what);
        let file = other.file(what, &text);
        let (code, _, said) = other.import(what, &file, &[]);
        assert_eq!(code, 0, "{what}: {said}\n{text}");
    }
    for (what, collection) in kinds {
        let before = shop.documents(collection).await;
        assert_eq!(other.documents(collection).await, before, "{what}");
        assert_eq!(other.export(what), shop.export(what));
        // In the same shop it changes nothing.
        assert_eq!(shop.import(what, &other.path(what), &[]).0, 0);
        assert_eq!(shop.documents(collection).await, before, "{what}");
    }
    assert!(shop.export("products").contains(",'@home,"), "no formula");
    let file = shop.path("excel.csv");
    let arguments = ["export", "csv", "people", &file, "--separator", ";", "--bom"];
    assert_eq!(shop.run(&arguments).0, 0);
    let text = fs::read_to_string(&file).expect("a file");
    assert!(text.starts_with("\u{feff}key;id;name;street;city;country\n"), "{text}");
    assert!(text.contains("'=Bob"), "{text}");
    assert_eq!(shop.import("people", &file, &[]).0, 0);
    let (code, out, _) = other.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_finds_every_fault_and_changes_nothing() {
    let shop = Shop::new();
    let rows = "sku,title,type,list,retail,currency,categories,details\n\
        A-1,One,album,1,1,EUR,/music,\n\
        A-2,Two,album,1.999,1,EUR,,\n\
        A-3,Three,album,1,2,EUR,,\n\
        A-4,Four,album,1,1,EUR,/musik,\n\
        A-5,Five,album,1,1,EUR,,\"{\"\"tracks\"\": [{\"\"name\"\": 1}]}\"\n\
        A-6,Six\n\
        A-7,Seven,album,1,1,XYZ,,\n\
        A-8,Eight,Desk Lamp,1,1,EUR,,\n";
    let file = shop.file("products.csv", rows);
    let errors = shop.path("errors");
    let (code, out, said) = shop.import("products", &file, &["--dry-run", "--errors", &errors]);
    assert_eq!(
        (code, out.as_str()),
        (1, "1 product would be imported, 7 lines skipped\n"),
        "{said}"
    );
    let errors = fs::read_to_string(errors).expect("a file");
    let errors: Vec<Value> =
        errors.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let faults: Vec<_> =
        errors.iter().map(|error| (error["line"].as_i64(), error["field"].as_str())).collect();
    let expected = [
        (Some(3), Some("list")),
        (Some(4), Some("retail")),
        (Some(5), Some("categories[0]")),
        (Some(6), Some("details.album.tracks[0].name")),
        (Some(7), None),
        (Some(8), Some("currency")),
        (Some(9), Some("type")),
    ];
    assert_eq!(faults, expected);
    assert_eq!(shop.count("products").await, 0);
    assert!(!Path::new(&format!("{file}.progress")).exists());

    let (code, out, said) = shop.import("products", &file, &["--allow-errors"]);
    assert_eq!((code, out.as_str()), (0, "1 product imported, 7 lines skipped\n"), "{said}");
    assert!(said.contains("line 3: list: must be a price"), "{said}");
    let told = "line 9: type: \"Desk Lamp\" isn't a slug: 1 to 64 lower-case letters and digits";
    assert!(said.contains(told), "{said}");
    let stock = shop.file("stock.csv", "sku,quantity\nA-1,2\nA-9,2\nA-1,x\n");
    let (code, out, said) = shop.import("stock", &stock, &["--dry-run"]);
    assert_eq!(
        (code, out.as_str()),
        (1, "1 receipt of stock would be imported, 2 lines skipped\n"),
        "{said}"
    );
    assert!(said.contains("line 3: sku: there is no such product"), "{said}");
    assert!(said.contains("line 4: quantity: must be a whole number"), "{said}");
    assert_eq!(shop.count("inventory").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_row_that_isnt_utf8_are_no_rows() {
    let shop = Shop::new();
    let file = shop.path("people.csv");
    let text = b"key,name\na,\"A\xff\n\"\nb,B\nc,\"C\xff\"\nd,\"D\n\xff\n\"\ne,\"E\"\n";
    fs::write(&file, text).expect("written");
    let (code, out, said) = shop.import("people", &file, &[]);
    assert_eq!((code, out.as_str()), (1, "2 people imported, 3 lines skipped\n"), "{said}");
    for line in [2, 5, 6] {
        assert!(said.contains(&format!("line {line}: isn't UTF-8")), "{said}");
    }
    assert_eq!(shop.count("people").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_does_not_fit_is_refused_at_once() {
    let shop = Shop::new();
    for (rows, told) in [
        ("", "no header"),
        ("key,nme\n", "\"nme\" is no column; the columns are key, id, name"),
        ("key\n", "the column name is missing"),
        ("name,NAME\n", "there twice"),
    ] {
        let file = shop.file("people.csv", rows);
        let (code, _, said) = shop.import("people", &file, &[]);
        assert!(code == 2 && said.contains(told), "{told} in {said}");
    }
    let file = shop.file("people.csv", "key,name\na,A\n");
    assert_eq!(shop.import("people", &file, &["--separator", "ab"]).0, 2);
    assert_eq!(shop.import("people", &file, &["--dry-run", "--resume"]).0, 2);
    assert_eq!(shop.import("people", "/nowhere.csv", &[]).0, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_cut_goes_on_behind_its_last_row() {
    let shop = Shop::new();
    let rows: Vec<String> = (0..700).map(|n| format!("p-{n},\"Person\n{n}\"\n")).collect();
    let whole = format!("key,name\n{}", rows.concat());
    let file = shop.file("people.csv", &whole);
    let (code, _, said) = shop.import("people", &file, &["--resume"]);
    assert!(code == 2 && said.contains("nothing was cut"), "{said}");
    // As an import leaves it that was cut behind its first batch of 500 rows, which are 1001 lines with the header.
    let progress = format!("{file}.progress");
    let first: String = whole.split_inclusive('\n').take(1_001).collect();
    let digest = {
        use base64::Engine as _;
        use sha2::{Digest, Sha256};
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(&first))
    };
    let state = serde_json::json!({
        "kind": "people from CSV", "database": shop.name, "line": 1_001, "digest": digest,
        "counts": { "imported": 500, "skipped": 0 },
    });
    fs::write(&progress, state.to_string()).expect("written");
    let (code, _, said) = shop.run(&["import", "people", &file, "--resume"]);
    assert!(code == 2 && said.contains("belongs to an import of people from CSV"), "{said}");
    let (code, out, said) = shop.import("people", &file, &["--resume"]);
    assert_eq!((code, out.as_str()), (0, "700 people imported, 0 lines skipped\n"), "{said}");
    assert_eq!(shop.count("people").await, 200, "the first 500 aren't read again");
    assert!(!Path::new(&progress).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_is_never_overwritten_by_what_is_told() {
    let shop = Shop::new();
    let rows = "sku,title,type,list,retail,currency\nA-1,One,album,1,2,EUR\n";
    let file = shop.file("products.csv", rows);
    let (linked, progress) = (shop.path("linked.csv"), shop.path("progress"));
    std::os::unix::fs::symlink(&file, &linked).expect("a link");
    for (errors, more, other) in [
        (&file, &[][..], "FILE"),
        (&linked, &[], "FILE"),
        (&file, &["--dry-run"], "FILE"),
        (&progress, &["--progress", progress.as_str()], "--progress"),
        (&format!("{file}.progress"), &[], "--progress"),
    ] {
        let options: Vec<&str> =
            ["--errors", errors].into_iter().chain(more.iter().copied()).collect();
        let (code, out, said) = shop.import("products", &file, &options);
        assert_eq!((code, out.as_str()), (2, ""), "{options:?}: {said}");
        let told = format!("--errors is the same file as {other}: ");
        assert!(said.contains(&told), "{options:?}: {said}");
        assert_eq!(fs::read_to_string(&file).expect("the file"), rows, "{options:?}");
        assert!(!Path::new(&progress).exists(), "{options:?}");
        assert!(!Path::new(&format!("{file}.progress")).exists(), "{options:?}");
    }
    // In both modes the file has the same lines.
    let errors = shop.path("errors");
    let told = |more: &[&str]| {
        let options: Vec<&str> =
            ["--errors", &errors].into_iter().chain(more.iter().copied()).collect();
        let (code, _, said) = shop.import("products", &file, &options);
        assert_eq!((code, said.as_str()), (1, ""));
        fs::read_to_string(&errors).expect("a file")
    };
    let tried = told(&["--dry-run"]);
    assert!(tried.contains("\"field\":\"retail\""), "{tried}");
    assert_eq!(told(&[]), tried);
}
