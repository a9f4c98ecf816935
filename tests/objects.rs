//! Objects are resolved as with the library: every field once, those that wait side by side.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, Ordering::SeqCst},
    },
    time::Duration,
};

use async_graphql::{
    EmptyMutation, EmptySubscription, Object, Request, Result, Schema, SimpleObject, direct::Root,
    parser::parse_query, text,
};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::yield_now, time::timeout};

/// How long a query may take: fields that wait for each other in vain fail their test.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Query;

#[Object]
impl Query {
    async fn thing(&self) -> Thing {
        Thing { both: Arc::new(Barrier::new(2)) }
    }

    /// Nothing.
    async fn nothing(&self) -> Option<Thing> {
        None
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

    /// What has to be escaped in JSON, by itself and in a list.
    async fn odd(&self) -> &'static str {
        "\"\\\u{0}\n\u{2028}é"
    }

    async fn odds(&self) -> Vec<Option<String>> {
        vec![Some("\"".to_owned()), None]
    }

    async fn half(&self) -> f64 {
        0.5
    }

    /// An object of values that aren't resolved one by one.
    async fn whole(&self) -> async_graphql::Json<Value> {
        async_graphql::Json(json!({ "\"key\"": [1, { "b": true }] }))
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
    let answer = timeout(PATIENCE, schema.execute(query)).await;
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

/// What the library answers, and what is answered directly: as values, and as text.
async fn ask_in_all_ways(query: &str) -> [(String, Value); 3] {
    let root = Root::<Query>::default();
    let schema = Schema::new(root.clone(), EmptyMutation, EmptySubscription);
    let asked = timeout(PATIENCE, schema.execute(query)).await.expect("in time");
    let document = parse_query(query).expect("a query");
    let (_, operation) = document.operations.iter().next().expect("an operation");
    let mut answers = vec![asked];
    for as_text in [false, true] {
        let direct = root.direct().expect("the library has resolved a field");
        let mut request = Request::new(query);
        let direct = direct.execute(&operation.node, &mut request, as_text);
        let answer = timeout(PATIENCE, direct).await.expect("in time");
        let is_text = matches!(answer.data, async_graphql::Value::Binary(_));
        assert_eq!(is_text, as_text, "{:?}", answer.data);
        answers.push(answer);
    }
    answers
        .into_iter()
        .map(|answer| {
            let mut data = Vec::new();
            text::write(&answer.data, &mut data);
            // Read again, it is what it was.
            let mut again = Vec::new();
            text::write(&text::read(answer.data), &mut again);
            assert_eq!(again, data);
            let paths: Vec<_> = answer.errors.iter().map(|error| json!(error.path)).collect();
            (String::from_utf8(data).expect("text"), json!(paths))
        })
        .collect::<Vec<_>>()
        .try_into()
        .expect("three")
}

#[tokio::test]
async fn an_answer_as_text_is_the_same() {
    let all =
        "{ nothing { now } thing { __typename odd odds half whole now parts { size name } } }";
    let [asked, as_values, as_text] = ask_in_all_ways(all).await;
    let expected = json!({ "nothing": null, "thing": {
        "__typename": "Thing", "odd": "\"\\\u{0}\n\u{2028}é", "odds": ["\"", null], "half": 0.5,
        "whole": { "\"key\"": [1, { "b": true }] }, "now": 1,
        "parts": [{ "size": 1, "name": "a" }, { "size": 2, "name": "b" }],
    } });
    assert_eq!(serde_json::from_str::<Value>(&as_text.0).expect("JSON"), expected);
    assert_eq!(as_text, as_values);
    assert_eq!(as_text, asked);
}

#[tokio::test]
async fn as_text_fields_wait_side_by_side_and_keep_their_places() {
    let [_, as_values, as_text] =
        ask_in_all_ways("{ thing { one failing now other again: failing last: now } }").await;
    let all = r#"{"thing":{"one":"one","now":1,"other":"other","last":1}}"#;
    assert_eq!(as_text.0, all);
    assert_eq!(as_text.1, json!([["thing", "failing"], ["thing", "again"]]));
    assert_eq!(as_text, as_values);
}

#[tokio::test]
async fn what_is_selected_in_two_places_is_one_value() {
    let (data, errors) = ask("{ thing { parts { name } now parts { size name } } }").await;
    let all = r#"{"thing":{"parts":[{"name":"a","size":1},{"name":"b","size":2}],"now":1}}"#;
    assert_eq!((data.as_str(), errors), (all, json!([])));
}

/// Changes that must not be made at the same time.
#[derive(Default)]
struct Changes {
    is_busy: AtomicBool,
    count: AtomicI32,
}

#[Object]
impl Changes {
    /// Which one it was.
    async fn change(&self, fails: Option<bool>) -> Result<Option<i32>> {
        if self.is_busy.swap(true, SeqCst) {
            return Err("another is under way".into());
        }
        yield_now().await;
        self.is_busy.store(false, SeqCst);
        let count = self.count.fetch_add(1, SeqCst) + 1;
        if fails == Some(true) { Err("no".into()) } else { Ok(Some(count)) }
    }
}

#[tokio::test]
async fn changes_are_made_one_after_the_other() {
    let root = Root::<Changes>::default();
    let schema = Schema::new(Query, root.clone(), EmptySubscription);
    let query = "mutation { one: change two: change(fails: true) three: change }";
    assert!(root.direct().is_none(), "the library has resolved nothing yet");
    let asked = schema.execute(query).await;
    let document = parse_query(query).expect("a mutation");
    let (_, operation) = document.operations.iter().next().expect("an operation");
    let direct = root.direct().expect("the library has resolved a field");
    let direct = direct.execute(&operation.node, &mut Request::new(query), false).await;
    for (answer, expected) in
        [(asked, json!({ "one": 1, "three": 3 })), (direct, json!({ "one": 4, "three": 6 }))]
    {
        assert_eq!(answer.data.into_json().expect("JSON"), expected);
        let paths: Vec<_> = answer.errors.iter().map(|error| json!(error.path)).collect();
        assert_eq!(paths, [json!(["two"])]);
    }
}
