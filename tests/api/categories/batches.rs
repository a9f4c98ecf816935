//! Changes of names at once, each with another fate.

use std::time::Duration;

use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{by_id, mutation, plant};
use crate::support::{Gateway, key, long_bounds, proxy::Cut, settled, short_bounds};

/// A change of one category's names, and what it has to do.
struct Case {
    field: &'static str,
    input: Value,
    /// Type of the answer.
    answer: &'static str,
    /// The names afterwards, in the order of their tags; `None` if there is no such category.
    names: Option<Vec<(String, String)>>,
    category: String,
}

fn named(names: &[(&str, &str)]) -> Vec<(String, String)> {
    names.iter().map(|(tag, name)| ((*tag).to_owned(), (*name).to_owned())).collect()
}

async fn case(base: &Gateway, number: usize) -> Case {
    let slug = format!("c{number}");
    let category = plant(base, &slug, None).await;
    let own = ("en", slug.as_str());
    let input = |locale: &str| json!({ "categoryId": category, "locale": locale, "name": "$new" });
    let removing = |locale: &str| json!({ "categoryId": category, "locale": locale });
    let (field, input, answer, names) = match number % 7 {
        0 => ("addTranslation", input("fr"), "Category", Some(named(&[own, ("fr", "$new")]))),
        1 => ("addTranslation", input("en"), "AlreadyExists", Some(named(&[own]))),
        2 => ("renameCategory", input("en"), "Category", Some(named(&[("en", "$new")]))),
        3 => ("renameCategory", input("fr"), "NotFound", Some(named(&[own]))),
        4 => ("removeTranslation", removing("en"), "InvalidInput", Some(named(&[own]))),
        5 => ("removeTranslation", removing("fr"), "Category", Some(named(&[own]))),
        _ => {
            base.raw("categories").delete_one(doc! { "_id": key(&category) }).await.expect("gone");
            ("addTranslation", input("fr"), "NotFound", None)
        }
    };
    Case { field, input, answer, names, category }
}

/// The type of the answer; `None` after a failure.
fn answered<'a>(case: &Case, answer: &'a Value) -> Option<&'a str> {
    answer["data"][case.field]["__typename"].as_str()
}

async fn names(base: &Gateway, id: &str) -> Option<Vec<(String, String)>> {
    let category = by_id(base, id).await;
    let mut names: Vec<_> = category["names"]
        .as_array()?
        .iter()
        .map(|name| {
            let text = |of: &str| name[of].as_str().expect("a text").to_owned();
            (text("locale"), text("name"))
        })
        .collect();
    names.sort();
    Some(names)
}

/// The answer to a call that is repeated as long as it runs out of time.
async fn repeated(base: &Gateway, query: &str, variables: Value) -> Value {
    let merchant = base.merchant();
    let mut answer = merchant.run(query, variables.clone()).await;
    for _ in 0..30 {
        if answer["errors"][0]["extensions"]["code"] != "UNAVAILABLE" {
            break;
        }
        answer = merchant.run(query, variables.clone()).await;
    }
    answer
}

async fn fifty_changes(way: Option<Cut>) {
    let base = Gateway::with(|config| {
        if way.is_none() {
            // No change gives up while it is held.
            long_bounds(config);
        }
    })
    .await;
    let mut cases = Vec::new();
    for number in 0..50 {
        cases.push(case(&base, number).await);
    }
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let is_write = |command: &str| command == "update" || command == "findAndModify";
    proxy.count_only(move |seen| seen.collection == "categories" && is_write(&seen.command));
    proxy.cut_all_from(0, Cut::Hold);
    let change = |case: &Case| {
        let (client, query) = (gateway.merchant(), mutation(case.field));
        let variables = json!({ "input": case.input });
        tokio::spawn(async move { client.run(&query, variables).await })
    };
    let calls: Vec<_> = cases.iter().map(change).collect();
    proxy.reached().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    match way {
        Some(way) => proxy.cut(0, way),
        None => proxy.heal(),
    }
    proxy.release().await;
    let answers = join_all(calls).await;
    proxy.heal();
    for (case, answer) in cases.iter().zip(answers) {
        let answer = answer.expect("an answer");
        let told = answered(case, &answer);
        if told.is_some() || way.is_none() {
            assert_eq!(told, Some(case.answer), "{way:?} {:?}: {answer:#}", case.input);
            assert_eq!(names(&base, &case.category).await, case.names, "{way:?} {:?}", case.input);
        }
        // The caller of a failed change repeats it.
        let variables = json!({ "input": case.input });
        let again = repeated(&base, &mutation(case.field), variables).await;
        assert_eq!(answered(case, &again), Some(case.answer), "{way:?}: {again:#}");
        assert_eq!(names(&base, &case.category).await, case.names, "{way:?} {:?}", case.input);
    }
    // Every call is answered, so a sweep needn't wait as long as those bounds say.
    settled(&gateway).await;
    base.sibling_with(short_bounds).await.sweep().await;
    let left: Option<Document> = base
        .raw("categories")
        .find_one(doc! { "_id": { "$gt": "" }, "outbox.0": { "$exists": true } })
        .await
        .expect("read");
    assert_eq!(left, None, "{way:?}");
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_changes_of_names_at_once_each_has_its_own_fate() {
    fifty_changes(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_change_of_names_among_fifty_harms_nothing() {
    for way in [Cut::BeforeForwarding, Cut::Refused, Cut::Unsure, Cut::ReplyLost] {
        fifty_changes(Some(way)).await;
    }
}
