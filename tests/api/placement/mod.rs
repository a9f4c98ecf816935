//! Groups of collections in databases of their own, and reads that a secondary may serve.

mod eventual;
mod groups;
mod lagging;

use std::collections::BTreeSet;

use docgate::config::Config;
use serde_json::{Value, json};

use crate::support::Gateway;

/// The query fields that have the argument `consistency`.
const EVENTUAL: [&str; 19] = [
    "asset",
    "assets",
    "categories",
    "categoriesWith",
    "category",
    "categorySubtree",
    "content",
    "contents",
    "product",
    "products",
    "report",
    "requestsByDayAndPage",
    "sessionReport",
    "theater",
    "theatersNear",
    "theatersWithin",
    "topPages",
    "topics",
    "viewSeries",
];

#[tokio::test(flavor = "multi_thread")]
async fn only_fields_of_which_nobody_decides_anything_have_the_argument() {
    let gateway = Gateway::start().await;
    let query = "{ __schema { types { name fields { name args { name } } } } }";
    let schema = gateway.anonymous().field(query, json!({})).await;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = BTreeSet::new();
    for of in list(&schema["types"]) {
        for field in list(&of["fields"]) {
            if list(&field["args"]).iter().any(|argument| argument["name"] == "consistency") {
                let name = |named: &Value| named["name"].as_str().expect("a name").to_owned();
                found.insert((name(&of), name(&field)));
            }
        }
    }
    let expected = EVENTUAL.map(|field| ("Query".to_owned(), field.to_owned()));
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn settings_that_would_break_flows_or_that_mongodb_refuses_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("docgate.toml");
    let settings = "
        core_write_concern = \"primary\"
        activity_database = \"a/b\"
        log_database = \"local\"
        log_compression = \"brotli\"
        activity_consistency = \"weak\"
        eventual_staleness_seconds = 10
    ";
    std::fs::write(&file, settings).expect("written");
    let loaded = Config::load(Some(&file), json!({}), |_| Vec::new());
    let faults = loaded.expect_err("faults").to_string();
    for fault in [
        "core_write_concern must be majority: flows decide",
        "activity_database must be 1 to 48 letters",
        "log_database must be 1 to 48 letters",
        "log_compression: ",
        "activity_consistency: `strong` or `eventual` is expected",
        "eventual_staleness_seconds must be between 90",
    ] {
        assert!(faults.contains(fault), "{fault} in {faults}");
    }
}
