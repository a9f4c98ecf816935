//! Content through the door.

mod atom;
mod flows;
mod languages;
mod late;
mod paths;
mod photos;
mod reads;
mod writes;

use serde_json::{Value, json};

use crate::support::{Client, Gateway, all_nodes, nodes, settled, texts_of};

const CONTENT: &str = "
    __typename
    ... on Content {
      id slug path parentId redirectedFrom title language body tags access author { id name }
      publishedAt updatedAt
      draft { version revision title body liveAt nextAt isPublished }
    }
    ... on BlogEntry { summary }
    ... on Blog { subtitle feedPath }
    ... on InvalidInput { field }
    ... on UserError { code message }";

/// What readers ask for.
pub const SEEN: &str = "__typename id path title body tags publishedAt updatedAt redirectedFrom";

fn mutation(field: &str) -> String {
    let (first, rest) = field.split_at(1);
    let input = format!("{}{rest}Input", first.to_uppercase());
    let conflict = "... on ContentConflict { current { id title draft { version title body } } }";
    let answer = match field {
        "deleteContent" => {
            "__typename ... on DeletedContent { id } ... on UserError { code message }".to_owned()
        }
        "editContent" | "restoreContent" | "publishContent" => format!("{CONTENT} {conflict}"),
        _ => CONTENT.to_owned(),
    };
    format!("mutation($input: {input}!) {{ {field}(input: $input) {{ {answer} }} }}")
}

pub fn editor(gateway: &Gateway) -> Client {
    gateway.user("the-editor", &["editor"])
}

/// Runs one of the room's mutations as an editor.
pub async fn ask(gateway: &Gateway, field: &str, input: Value) -> Value {
    editor(gateway).field(&mutation(field), json!({ "input": input })).await
}

fn draft(kind: &str, slug: &str, parent: Option<&str>) -> Value {
    let text = json!({ "title": slug, "body": format!("The text of {slug}.") });
    json!({ "type": kind, "slug": slug, "parentId": parent, "text": text })
}

/// Creates a draft; answers all of it.
pub async fn create(gateway: &Gateway, input: Value) -> Value {
    let made = ask(gateway, "createContent", input).await;
    assert!(made["id"].is_string(), "{made:#}");
    made
}

fn id(content: &Value) -> &str {
    content["id"].as_str().expect("an id")
}

fn version(content: &Value) -> &str {
    content["draft"]["version"].as_str().expect("a version")
}

/// Publishes the draft as it was answered.
pub async fn publish(gateway: &Gateway, content: &Value, at: Option<&str>) -> Value {
    let input = json!({ "contentId": id(content), "version": version(content), "at": at });
    let published = ask(gateway, "publishContent", input).await;
    assert!(published["id"].is_string(), "{published:#}");
    published
}

/// Creates and publishes; answers the global id.
pub async fn put(gateway: &Gateway, kind: &str, slug: &str, parent: Option<&str>) -> String {
    let made = create(gateway, draft(kind, slug, parent)).await;
    publish(gateway, &made, None).await;
    id(&made).to_owned()
}

/// `/en/blog` with two entries, and `/en/page`.
async fn site(gateway: &Gateway) -> [String; 5] {
    let en = put(gateway, "FOLDER", "en", None).await;
    let blog = put(gateway, "BLOG", "blog", Some(&en)).await;
    let one = put(gateway, "BLOG_ENTRY", "one", Some(&blog)).await;
    let two = put(gateway, "BLOG_ENTRY", "two", Some(&blog)).await;
    let page = put(gateway, "PAGE", "page", Some(&en)).await;
    [en, blog, one, two, page]
}

async fn at(client: &Client, path: &str) -> Value {
    let query = format!("query($path: String!) {{ content(by: {{ path: $path }}) {{ {SEEN} }} }}");
    client.field(&query, json!({ "path": path })).await
}

async fn by_id(client: &Client, id: &str) -> Value {
    let query = format!("query($id: ID!) {{ content(by: {{ id: $id }}) {{ {SEEN} }} }}");
    client.field(&query, json!({ "id": id })).await
}

const LIST: &str = "query($by: ContentsBy!, $first: Int, $after: String) {
    contents(by: $by, first: $first, after: $after) {
        edges { node { id path title } } pageInfo { hasNextPage endCursor } } }";

/// Paths of a list, a page of `first` after the other. Each page is one command that looks at no more
/// than it returns; for who has roles, at the first of each range as well.
async fn listed_by(client: &Client, by: &Value, first: usize) -> Vec<String> {
    let found = all_nodes(json!({ "by": by, "first": first }), async |page| {
        let response = client.explained(LIST, page).await;
        assert!(response.get("errors").is_none(), "{response:#}");
        let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands");
        // Pictures are read side by side.
        let photos = ["tag", "parentId", "below"].iter().any(|way| by.get(way).is_some());
        assert_eq!(sent.len(), if photos { 2 } else { 1 }, "{response:#}");
        let figure = |name: &str| -> u64 {
            sent.iter().map(|read| read[name].as_u64().expect("a figure")).sum()
        };
        let found = &response["data"]["contents"];
        if by.get("text").is_none() {
            let more = u64::from(found["pageInfo"]["hasNextPage"] == true);
            let page = nodes(found).len() as u64;
            let (looked_at, roles) = (figure("docsExamined"), client.token.is_some());
            let ranges = if roles { 6 } else { 0 };
            let fits = (page + more..=page + more + ranges).contains(&looked_at);
            assert!(fits, "{by}: {sent:#?}");
        }
        found.clone()
    });
    texts_of(&found.await, "path")
}

/// The list, which is the same whatever the size of its pages.
async fn listed(client: &Client, by: Value) -> Vec<String> {
    let all = listed_by(client, &by, 100).await;
    for first in [1, 2] {
        assert_eq!(listed_by(client, &by, first).await, all, "{by} by {first}");
    }
    all
}

/// Asks for what must be refused with this type, and proves that nothing changed.
async fn refused(gateway: &Gateway, field: &str, input: Value, with: &str) -> Value {
    settled(gateway).await;
    let before = gateway.contents().await;
    let answer = ask(gateway, field, input).await;
    assert_eq!(answer["__typename"], with, "{answer:#}");
    assert_eq!(gateway.contents().await, before);
    answer
}
