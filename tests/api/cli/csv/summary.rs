//! What an import says of its lines: booked now or before, imported in part, skipped; and what isn't a file of lines.

use std::{fmt::Write as _, fs};

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    super::{database, done},
    Shop, on_shop,
};
use crate::support::FailPoint;

const PRODUCTS: &str = "sku,title,type,list,retail,currency\nodd,Odd,thing,1,1,EUR\n";

/// A shop with the product `odd`.
fn with_product() -> Shop {
    let shop = Shop::new();
    let file = shop.file("products.csv", PRODUCTS);
    assert_eq!(shop.import("products", &file, &[]).0, 0);
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_receipts_with_one_name_the_first_line_is_booked() {
    let shop = with_product();
    let mut rows = "sku,quantity,receipt\n".to_owned();
    let mut lines = String::new();
    for number in 0..40 {
        for quantity in [5, 6] {
            writeln!(rows, "odd,{quantity},csv-{number}").expect("written");
            let line =
                json!({ "sku": "odd", "quantity": quantity, "receipt": format!("json-{number}") });
            writeln!(lines, "{line}").expect("written");
        }
    }
    let (rows, lines) = (shop.file("stock.csv", &rows), shop.file("stock.jsonl", &lines));
    let imports =
        [(vec!["import", "csv", "stock", &rows], 3), (vec!["import", "stock", &lines], 2)];
    for (number, (arguments, line)) in imports.iter().enumerate() {
        let (code, out, said) = shop.run(arguments);
        let told = "40 receipts of stock imported, 40 lines skipped\n";
        assert_eq!((code, out.as_str()), (1, told), "{said}");
        assert!(said.starts_with(&format!("line {line}: quantity: is another than ")), "{said}");
        let stock = &shop.documents("inventory").await[0];
        let available = 200 * (i64::try_from(number).expect("small") + 1);
        assert_eq!(stock.get_i64("available").expect("a number"), available);
        // A repeat books nothing, and says so.
        let (code, out, said) = shop.run(arguments);
        let told = "0 receipts of stock imported, 40 booked before, 40 lines skipped\n";
        assert_eq!((code, out.as_str()), (1, told), "{said}");
    }
    let file = shop.file("more.csv", "sku,quantity,receipt\nodd,5,csv-1\nodd,7,more\n");
    for (how, told) in [
        (
            &["--dry-run"][..],
            "1 receipt of stock would be imported, 1 booked before, 0 lines skipped\n",
        ),
        (&[], "1 receipt of stock imported, 1 booked before, 0 lines skipped\n"),
    ] {
        let (code, out, said) = shop.import("stock", &file, how);
        assert_eq!((code, out.as_str()), (0, told), "{said}");
    }
    let (code, out, _) = shop.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_refuses_a_receipt_that_is_one_too_many() {
    let shop = with_product();
    let mut rows = "sku,quantity,receipt\n".to_owned();
    for number in 1..=200 {
        writeln!(rows, "odd,1,csv-{number}").expect("written");
    }
    let file = shop.file("stock.csv", &rows);
    let (code, out, said) = shop.import("stock", &file, &[]);
    let told = "200 receipts of stock imported, 0 lines skipped\n";
    assert_eq!((code, out.as_str()), (0, told), "{said}");
    // Receipts that were booked before aren't one too many.
    let rows = "sku,quantity,receipt\nodd,1,more\nodd,1,csv-7\nodd,2,csv-7\n";
    let file = shop.file("more.csv", rows);
    for (how, done) in [(&["--dry-run"][..], "would be imported"), (&[], "imported")] {
        let (code, out, said) = shop.import("stock", &file, how);
        let told = format!("0 receipts of stock {done}, 1 booked before, 2 lines skipped\n");
        assert_eq!((code, out), (1, told), "{said}");
        let reason = "line 2: receipt: is one too many: a SKU takes 200";
        assert!(said.contains(reason), "{said}");
        assert!(said.contains("line 4: quantity: is another than "), "{said}");
    }
    let (code, out, _) = shop.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_counts_as_imported_if_its_batch_is_tried_again() {
    let shop = with_product();
    let file = shop.file("first.csv", "sku,quantity,receipt\nodd,5,first\n");
    assert_eq!(shop.import("stock", &file, &[]).0, 0);
    // The receipt is booked, and MongoDB doesn't confirm it.
    let unsure = doc! {
        "failCommands": ["findAndModify"], "namespace": format!("{}.inventory", shop.name),
        "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" },
    };
    let database = database(&shop.name).await;
    let unsure = FailPoint::on(&database, doc! { "times": 1 }, unsure).await;
    let rows = "sku,quantity,receipt\nodd,6,second\nodd,7,third\nodd,6,second\nodd,5,first\n";
    let file = shop.file("more.csv", rows);
    let (code, out, said) = shop.import("stock", &file, &[]);
    unsure.off().await;
    let told = "2 receipts of stock imported, 2 booked before, 0 lines skipped\n";
    assert_eq!((code, out.as_str()), (0, told), "{said}");
    assert!(said.contains("a batch is tried again"), "{said}");
    let stock = &shop.documents("inventory").await[0];
    assert_eq!(stock.get_i64("available").expect("a number"), 18);
    let (code, out, said) = shop.import("stock", &file, &[]);
    let told = "0 receipts of stock imported, 4 booked before, 0 lines skipped\n";
    assert_eq!((code, out.as_str()), (0, told), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_its_slug_is_imported_in_part() {
    let shop = Shop::new();
    let rows = "sku,title,type,list,retail,currency,slug\n\
        s1,One,thing,1,1,EUR,same\ns2,Two,thing,1,1,EUR,same\ns3,Three,thing,1,2,EUR,\n";
    let file = shop.file("products.csv", rows);
    for (how, done) in [(&["--dry-run"][..], "would be imported"), (&[], "imported")] {
        let (code, out, said) = shop.import("products", &file, how);
        let told = format!("1 product {done}, 1 in part, 1 line skipped\n");
        assert_eq!((code, out), (1, told), "{said}");
        assert!(said.contains("line 3: slug: "), "{said}");
        assert!(said.contains(" (the rest of the line is imported)\nline 4: retail: "), "{said}");
    }
    assert_eq!(shop.count("products").await, 2);
    let errors = shop.path("errors");
    let more = ["--errors", &errors, "--allow-errors"];
    assert_eq!(shop.import("products", &file, &more).0, 0);
    let errors = fs::read_to_string(errors).expect("a file");
    let in_part: Vec<Value> = errors
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["inPart"].clone())
        .collect();
    assert_eq!(in_part, [json!(true), json!(false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn line_breaks_of_a_text_come_back_as_they_were() {
    let (shop, other) = (Shop::new(), Shop::new());
    let text = "a\r\nb\nc\r\n\r\nd";
    let line = json!({
        "sku": "odd",
        "pricing": { "list": 1, "retail": 1, "currency": "EUR" },
        "content": { "title": "Odd", "description": text, "details": { "generic": { "type": "thing" } } },
    });
    let file = shop.file("products.jsonl", &line.to_string());
    let (code, _, said) = shop.run(&["import", "products", &file]);
    assert_eq!(code, 0, "{said}");
    let exported = shop.export("products");
    assert!(exported.contains(&format!("\"{text}\"")), "{exported:?}");
    for shop in [&shop, &other] {
        let copy = shop.file("products.csv", &exported);
        let (code, _, said) = shop.import("products", &copy, &[]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(shop.export("products"), exported);
    }
    assert_eq!(other.documents("products").await, shop.documents("products").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_meant_otherwise_says_how() {
    let shop = with_product();
    let file = shop.file("products.csv", PRODUCTS);
    let (code, out, said) = shop.run(&["import", "products", &file]);
    assert_eq!((code, out.as_str()), (1, "0 products imported, 2 lines skipped\n"), "{said}");
    assert_eq!(said.matches("`docgate import csv products FILE`").count(), 1, "{said}");
    let (_, _, said) = shop.run(&["import", "categories", &file]);
    assert!(said.contains("one JSON object per line") && !said.contains("import csv"), "{said}");
    let (code, _, said) = shop.run(&["import", "--database", &shop.name]);
    assert!(code == 2 && said.contains("people, products, stock, csv"), "{said}");
    let (code, _, said) = shop.run(&["migrate", "nosuch"]);
    assert!(
        code == 2 && said.contains("the collections are ") && said.contains("inventory"),
        "{said}"
    );
    for separator in ["x", "5", "'", "\"", "ä"] {
        let arguments = ["export", "csv", "people", "--separator", separator];
        let (code, _, said) = shop.run(&arguments);
        assert!(code == 2 && said.contains("--separator takes"), "{separator}: {said}");
        assert_eq!(shop.import("products", &file, &["--separator", separator]).0, 2);
    }
    // `-` is stdout.
    let mut command = on_shop(&shop.name, &["export", "csv", "people", "-"]);
    command.current_dir(shop.folder.path());
    let (code, out, said) = done(command);
    assert_eq!((code, out.as_str()), (0, "key,id,name,street,city,country\n"), "{said}");
    assert_eq!(said, "0 rows of people exported\n");
    assert!(!shop.folder.path().join("-").exists());
}
