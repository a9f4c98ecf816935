//! The lists of the game's masters.

use serde_json::{Value, json};

use super::{born, item};
use crate::support::{Client, Gateway, pages_both_ways};

/// The names of a list, in its order.
async fn names(client: &Client, list: &str, name: &str) -> Vec<String> {
    let listed = pages_both_ways(client, list, name).await;
    let text = |node: &Value| node[name].as_str().expect("a text").to_owned();
    listed.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn masters_list_the_places_and_items() {
    let gateway = Gateway::start().await;
    let master = gateway.master();
    for title in ["Vault", "A hall", "A garden", "Vault", "a cellar"] {
        master.made("createPlace", json!({ "title": title })).await;
    }
    for name in ["sword", "bag", "short sword", "arrow"] {
        item(&gateway, name, json!({})).await;
    }
    let all = names(&master, "places(", "title").await;
    assert_eq!(all, ["A garden", "A hall", "Vault", "Vault", "a cellar"]);
    let some = names(&master, "places(titlePrefix: \"A \",", "title").await;
    assert_eq!(some, ["A garden", "A hall"]);
    assert!(names(&master, "places(titlePrefix: \".*\",", "title").await.is_empty());
    let all = names(&master, "items(", "name").await;
    assert_eq!(all, ["arrow", "bag", "short sword", "sword"]);
    assert_eq!(names(&master, "items(namePrefix: \"s\",", "name").await, ["short sword", "sword"]);

    for (list, argument) in [("places", "titlePrefix"), ("items", "namePrefix")] {
        let query = format!(
            "query($prefix: String) {{ {list}({argument}: $prefix) {{ nodes {{ id }} }} }}"
        );
        for prefix in [String::new(), "x".repeat(101)] {
            let refused = master.run(&query, json!({ "prefix": prefix })).await;
            let extensions = &refused["errors"][0]["extensions"];
            assert_eq!(
                (&extensions["code"], &extensions["field"]),
                (&json!("BAD_USER_INPUT"), &json!(argument)),
                "{refused:#}"
            );
        }
        let code = gateway.player("ann").error_code(&query, json!({})).await;
        assert_eq!(code, "FORBIDDEN", "{list}");
    }
}

/// A place in the list is shown as it is by its id.
#[tokio::test(flavor = "multi_thread")]
async fn a_listed_place_shows_who_is_there() {
    let gateway = Gateway::start().await;
    let hall = gateway.master().made("createPlace", json!({ "title": "A hall" })).await;
    born(&gateway, "ann", &hall).await;
    let query = "{ places { nodes { id players { name } } } }";
    let listed = gateway.master().field(query, json!({})).await;
    assert_eq!(listed["nodes"], json!([{ "id": hall, "players": [{ "name": "ann" }] }]));
}
