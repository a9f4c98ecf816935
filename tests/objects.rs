//! Objects are resolved as with the library: every field once, those that wait side by side.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::{sync::Arc, time::Duration};

use async_graphql::{EmptyMutation, EmptySubscription, Object, Result, Schema, SimpleObject};
use serde_json::{Value, json};
use tokio::{sync::Barrier, time::timeout};

struct Query;

#[Object]
impl Query {
    async fn thing(&self) -> Thing {
        Thing { both: Arc::new(Barrier::new(2)) }
    }
}

/// Something with fields that answer at once, that wait for each other, and that fail.
struct Thing {
    both: Arc<Barrier>,
}

#[Object]
impl Thing {
    async fn now(&self) -> i32 {
        1
    }

    async fn one(&self) -> &'static str {
        self.both.wait().await;
        "one"
    }

    async fn other(&self) -> &'static str {
        self.both.wait().await;
        "other"
    }

    async fn failing(&self) -> Result<Option<i32>> {
        Err("no".into())
    }

    async fn parts(&self) -> Vec<Part> {
        vec![Part { name: "a", size: 1 }, Part { name: "b", size: 2 }]
    }
}

#[derive(SimpleObject)]
struct Part {
    name: &'static str,
    size: i32,
}

/// `data` as text, whose order of keys counts, and the paths of errors.
async fn ask(query: &str) -> (String, Value) {
    let schema = Schema::new(Query, EmptyMutation, EmptySubscription);
    let answer = timeout(Duration::from_secs(10), schema.execute(query)).await;
    let answer = answer.expect("fields that wait for each other do so at the same time");
    let data = serde_json::to_string(&answer.data).expect("JSON");
    let paths: Vec<_> = answer.errors.iter().map(|error| json!(error.path)).collect();
    (data, json!(paths))
}

#[tokio::test]
async fn fields_that_wait_do_so_side_by_side_and_keep_their_places() {
    let (data, errors) = ask("{ thing { one now other __typename } }").await;
    let all = r#"{"thing":{"one":"one","now":1,"other":"other","__typename":"Thing"}}"#;
    assert_eq!((data.as_str(), errors), (all, json!([])));
}

#[tokio::test]
async fn a_field_that_fails_takes_no_other_along() {
    let (data, errors) = ask("{ thing { now failing again: now } }").await;
    assert_eq!(data, r#"{"thing":{"now":1,"again":1}}"#);
    assert_eq!(errors, json!([["thing", "failing"]]));
}

#[tokio::test]
async fn what_is_selected_in_two_places_is_one_value() {
    let (data, errors) = ask("{ thing { parts { name } now parts { size name } } }").await;
    let all = r#"{"thing":{"parts":[{"name":"a","size":1},{"name":"b","size":2}],"now":1}}"#;
    assert_eq!((data.as_str(), errors), (all, json!([])));
}
