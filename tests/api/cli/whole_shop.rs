//! A shop that is imported as a whole, from five files, into a database that a gateway serves.

use std::{fs, path::PathBuf};

use mongodb::bson::Document;
use serde_json::{Value, json};

use super::{done, on};
use crate::support::Gateway;

/// The files of a small shop, by their kind and in the order of their import.
fn files() -> [(&'static str, Vec<Value>); 5] {
    let album = |sku: &str, title: &str| {
        json!({
            "sku": sku, "categories": ["/music/jazz"],
            "contributors": [{ "personKey": "miles-davis", "role": "artist" }],
            "pricing": { "list": 1999, "retail": 1499, "currency": "EUR" },
            "content": { "title": title, "details": { "album": { "genres": ["Jazz"] } } },
        })
    };
    [
        (
            "categories",
            vec![
                json!({ "path": "/music", "names": { "en": "Music" } }),
                json!({ "path": "/music/jazz", "names": { "en": "Jazz" } }),
            ],
        ),
        (
            "people",
            vec![
                json!({ "key": "miles-davis", "name": "Miles Davis" }),
                json!({ "key": "bill-evans", "name": "Bill Evans",
                    "address": { "street": "1 Main Street", "city": "Plainfield", "country": "US" } }),
            ],
        ),
        ("products", vec![album("kob", "Kind of Blue"), album("milestones", "Milestones")]),
        (
            "stock",
            vec![
                json!({ "sku": "kob", "quantity": 12 }),
                json!({ "sku": "kob", "quantity": 5, "receipt": "second" }),
                json!({ "sku": "milestones", "quantity": 0 }),
            ],
        ),
        (
            "discussions",
            vec![
                json!({ "sku": "kob", "key": "c-1", "author": "ann",
                    "at": "2024-05-01T12:00:00Z", "text": "Which pressing?" }),
                json!({ "sku": "kob", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00+02:00",
                    "text": "The first.", "replyTo": { "key": "c-1" } }),
                json!({ "sku": "kob", "author": "eve", "at": "2023-06-01T10:00:00Z",
                    "text": "A wonder.", "stars": 5 }),
                json!({ "sku": "kob", "author": "ann", "at": "2023-07-01T10:00:00Z",
                    "text": "Too short.", "stars": 2 }),
                json!({ "sku": "kob", "key": "c-3", "author": "merchant",
                    "at": "2023-07-02T10:00:00Z", "text": "Thank you!", "replyTo": { "reviewBy": "eve" } }),
            ],
        ),
    ]
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, kind: &str, lines: &[Value]) -> PathBuf {
        let path = self.0.path().join(format!("{kind}.jsonl"));
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(&path, lines.join("\n")).expect("written");
        path
    }

    /// Exit code, and what was said on both streams.
    fn import(&self, gateway: &Gateway, kind: &str, lines: &[Value]) -> (i32, String) {
        let path = self.write(kind, lines).display().to_string();
        let (code, out, said) = done(on(gateway.database.name(), &["import", kind, &path]));
        (code, out + &said)
    }
}

async fn looked_at(gateway: &Gateway) -> Value {
    let query = "{
        product(sku: \"kob\") {
            contributors { name role }
            categories { path }
            discussion {
                commentCount rating { average count }
                latestComments { text author { id } postedAt stars }
            }
        }
        stock(sku: \"kob\") { available }
        none: stock(sku: \"milestones\") { available }
        people(nameStartsWith: \"miles\") { edges { node { name works { title } } } }
    }";
    gateway.anonymous().data(query, json!({})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_is_imported_is_alive() {
    let gateway = Gateway::start().await;
    let folder = Files::new();
    for (kind, lines) in files() {
        let (code, said) = folder.import(&gateway, kind, &lines);
        assert_eq!(code, 0, "{said}");
        assert!(said.starts_with(&format!("{} ", lines.len())), "{kind}: {said}");
    }
    let shop = looked_at(&gateway).await;
    let kob = &shop["product"];
    assert_eq!(kob["contributors"], json!([{ "name": "Miles Davis", "role": "artist" }]));
    assert_eq!(kob["categories"], json!([{ "path": "/music/jazz" }]));
    assert_eq!((&shop["stock"]["available"], &shop["none"]["available"]), (&json!(17), &json!(0)));
    let works = &shop["people"]["edges"][0]["node"]["works"];
    assert_eq!(works.as_array().expect("works").len(), 2);
    let discussion = &kob["discussion"];
    assert_eq!(
        (&discussion["commentCount"], &discussion["rating"]["count"]),
        (&json!(5), &json!(2))
    );
    assert_eq!(discussion["rating"]["average"], 3.5);
    assert_eq!(discussion["latestComments"][0]["postedAt"], "2024-05-02T06:30:00.000Z");
    assert_eq!(discussion["latestComments"][4]["stars"], 5);
    gateway.assert_sound().await;
    assert_eq!(done(on(gateway.database.name(), &["check"])).0, 0);

    // Again: nothing is added, and but for nonces of products nothing changes.
    let before = contents(&gateway).await;
    for (kind, lines) in files() {
        let (code, said) = folder.import(&gateway, kind, &lines);
        assert_eq!(code, 0, "{said}");
    }
    assert!(contents(&gateway).await == before);
    assert_eq!(looked_at(&gateway).await, shop);
    gateway.assert_sound().await;

    // Who reviewed it in the file has reviewed it.
    let review = "mutation($stars: Int!) { reviewProduct(input: { sku: \"kob\", stars: $stars, text: \"Good\" }) {
        __typename } }";
    for (who, answer) in [("eve", "AlreadyExists"), ("someone", "Comment")] {
        let said = gateway.shopper(who).field(review, json!({ "stars": 4 })).await;
        assert_eq!(said["__typename"], answer);
    }
    // What was sold stays sold.
    let ann = gateway.shopper("ann");
    let cart = ann.open_cart("RESERVE").await;
    assert_eq!(ann.add(&cart, "kob", 3).await["__typename"], "Cart");
    let (code, said) = folder.import(&gateway, "stock", &files()[3].1);
    assert_eq!(code, 0, "{said}");
    assert_eq!(looked_at(&gateway).await["stock"]["available"], 14);
    gateway.assert_sound().await;
}

/// Everything but leases and what changes with each import of a product.
async fn contents(gateway: &Gateway) -> std::collections::BTreeMap<String, Vec<Document>> {
    let mut all = gateway.contents().await;
    for product in all.get_mut("products").into_iter().flatten() {
        product.remove("nonce");
        product.remove("facets");
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_tells_which_field_is_wrong() {
    let gateway = Gateway::start().await;
    let folder = Files::new();
    for (kind, lines) in files() {
        assert_eq!(folder.import(&gateway, kind, &lines).0, 0);
    }
    let before = contents(&gateway).await;
    let comment = |change: Value| {
        let mut line = json!({ "sku": "kob", "key": "new", "author": "ann",
            "at": "2024-05-01T12:00:00Z", "text": "New" });
        line.as_object_mut().expect("fields").extend(change.as_object().expect("fields").clone());
        line
    };
    let review = json!({ "sku": "kob", "author": "zoe", "at": "2024-05-01T12:00:00Z", "text": "T",
        "stars": 1 });
    let of_review = |field: &str, value: Value| {
        let mut line = review.clone();
        line[field] = value;
        line
    };
    let wrong = [
        ("categories", json!({ "path": "/x", "names": { "en": "X", "fr": "" } }), "names.fr"),
        ("categories", json!({ "path": "/x", "names": {} }), "names"),
        ("people", json!({ "key": "no key", "name": "N" }), "key"),
        ("people", json!({ "key": "k", "name": "" }), "name"),
        ("people", json!({ "key": "k" }), "name"),
        (
            "people",
            json!({ "key": "k", "name": "N", "address": { "street": "S", "city": "C", "country": "usa" } }),
            "address.country",
        ),
        (
            "people",
            json!({ "key": "k", "name": "N", "address": { "street": "S", "city": "C" } }),
            "address.country",
        ),
        ("stock", json!({ "sku": "nothing", "quantity": 1 }), "sku"),
        ("stock", json!({ "sku": "kob", "quantity": -1 }), "quantity"),
        ("stock", json!({ "sku": "kob", "quantity": "many" }), "quantity"),
        ("stock", json!({ "sku": "kob", "quantity": 13 }), "quantity"),
        ("stock", json!({ "sku": "kob", "quantity": 1, "receipt": "$x" }), "receipt"),
        ("discussions", comment(json!({ "sku": "nothing" })), "sku"),
        ("discussions", comment(json!({ "author": "" })), "author"),
        ("discussions", comment(json!({ "at": "yesterday" })), "at"),
        ("discussions", comment(json!({ "at": "2999-01-01T00:00:00Z" })), "at"),
        ("discussions", comment(json!({ "at": "1969-01-01T00:00:00Z" })), "at"),
        ("discussions", comment(json!({ "text": "" })), "text"),
        ("discussions", comment(json!({ "key": null })), "key"),
        ("discussions", comment(json!({ "key": "c-1" })), "key"),
        ("discussions", comment(json!({ "stars": 5 })), "key"),
        ("discussions", comment(json!({ "replyTo": { "key": "none" } })), "replyTo.key"),
        ("discussions", comment(json!({ "replyTo": { "reviewBy": "bob" } })), "replyTo.reviewBy"),
        ("discussions", comment(json!({ "replyTo": { "slug": "x" } })), "replyTo.slug"),
        ("discussions", of_review("stars", json!(6)), "stars"),
        ("discussions", of_review("author", json!("eve")), "author"),
        ("discussions", of_review("replyTo", json!({ "key": "c-1" })), "replyTo"),
    ];
    for kind in ["categories", "people", "stock", "discussions"] {
        let of_kind: Vec<_> = wrong.iter().filter(|(of, ..)| *of == kind).collect();
        let lines: Vec<Value> = of_kind.iter().map(|(_, line, _)| line.clone()).collect();
        let path = folder.write(kind, &lines).display().to_string();
        let errors = folder.0.path().join("errors.jsonl").display().to_string();
        let arguments = ["import", kind, &path, "--errors", &errors];
        let (code, out, said) = done(on(gateway.database.name(), &arguments));
        assert_eq!(code, 1, "{out}{said}");
        let told = fs::read_to_string(&errors).expect("the file");
        let told: Vec<Value> =
            told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(told.len(), of_kind.len(), "{told:#?}");
        for (number, ((_, line, field), told)) in of_kind.iter().zip(&told).enumerate() {
            assert_eq!(told["line"], number + 1);
            assert_eq!(told["field"], *field, "{line}: {told}");
        }
    }
    assert!(contents(&gateway).await == before);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discussions_need_the_secret_of_the_gateways() {
    let gateway = Gateway::start().await;
    let folder = Files::new();
    let path = folder.write("discussions", &files()[4].1).display().to_string();
    let mut command = on(gateway.database.name(), &["import", "discussions", &path]);
    command.env_remove("DOCGATE_SECRET");
    let (code, _, said) = done(command);
    assert!(code == 2 && said.contains("DOCGATE_SECRET"), "{said}");
}
