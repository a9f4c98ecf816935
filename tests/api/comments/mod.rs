//! Comments and reviews in each layout.

mod changes;
mod cuts;
mod imports;
mod late;
mod lists;
mod live;
mod moves;
mod newest;
mod posts;
mod repairs;
mod reviews;
mod seen;

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use crate::support::{Client, Gateway, commands};

pub const LAYOUTS: [&str; 3] = ["PER_DOCUMENT", "PAGED", "EMBEDDED"];

const OPEN: &str = "mutation($input: OpenDiscussionInput!) { openDiscussion(input: $input) {
    __typename ... on Discussion { layout commentCount } ... on UserError { code message }
    ... on InvalidInput { field } } }";
const MIGRATE: &str =
    "mutation($input: MigrateDiscussionInput!) { migrateDiscussion(input: $input) {
    __typename ... on Discussion { layout commentCount } ... on UserError { code message }
    ... on InvalidInput { field } ... on DiscussionFull { comments } } }";
const COMMENT: &str = "fragment C on Comment {
    on slug parentSlug depth author text stars postedAt editedAt removedBy version }";
const REFUSED: &str = "... on UserError { code message } ... on InvalidInput { field reason }";

/// A product with a discussion in that layout; answers the product's global id.
pub async fn discussed(gateway: &Gateway, sku: &str, layout: &str) -> String {
    gateway.product(sku, 100, "EUR").await;
    let on = NodeKind::Product.id(sku).0;
    let opened = open(&gateway.merchant(), &on, layout).await;
    assert_eq!(
        (&opened["layout"], &opened["commentCount"]),
        (&json!(layout), &json!(0)),
        "{opened:#}"
    );
    on
}

pub async fn open(client: &Client, on: &str, layout: &str) -> Value {
    client.field(OPEN, json!({ "input": { "on": on, "layout": layout } })).await
}

pub async fn migrate(gateway: &Gateway, on: &str, to: &str) -> Value {
    gateway.merchant().field(MIGRATE, json!({ "input": { "on": on, "to": to } })).await
}

/// The operation of one of the mutations that answer with a comment.
pub fn mutation(name: &str) -> String {
    let input = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
    let conflict = match name {
        "editComment" => "... on CommentConflict { current { ...C } }",
        _ => "",
    };
    format!(
        "mutation($input: {input}!) {{
            {name}(input: $input) {{ __typename ...C {REFUSED} {conflict} }} }} {COMMENT}"
    )
}

pub async fn does(client: &Client, name: &str, input: Value) -> Value {
    client.field(&mutation(name), json!({ "input": input })).await
}

pub async fn post(client: &Client, on: &str, text: &str, parent: Option<&str>) -> Value {
    let input = json!({ "on": on, "text": text, "parentSlug": parent });
    does(client, "postComment", input).await
}

/// Posts, and answers the slug.
pub async fn posted(client: &Client, on: &str, text: &str, parent: Option<&str>) -> String {
    let comment = post(client, on, text, parent).await;
    assert_eq!(comment["__typename"], "Comment", "{comment:#}");
    slug(&comment)
}

pub fn slug(comment: &Value) -> String {
    comment["slug"].as_str().unwrap_or_else(|| panic!("{comment:#}")).to_owned()
}

/// A whole list, read in pages of `first`: each page is one read of the product and one range, of either
/// store while the discussion moves. One thread also takes the comment on its top, and where pages of
/// comments are short, two may be too few.
pub async fn all(client: &Client, field: &str, variables: Value, first: i32) -> Vec<Value> {
    let query = format!(
        "query($on: ID!, $order: CommentOrder = CHRONOLOGICAL, $slug: String = \"\", $first: Int, $after: String) {{
            __typename @skip(if: true) {field} {{
                edges {{ node {{ ...C }} }} pageInfo {{ hasNextPage endCursor }} }} }} {COMMENT}"
    );
    let query = match field {
        _ if field.starts_with("comments(") => query.replace(", $slug: String = \"\"", ""),
        _ => query.replace(", $order: CommentOrder = CHRONOLOGICAL", "").replace(
            "String = \"\"",
            if field.starts_with("subthread") { "String!" } else { "String" },
        ),
    };
    let mut found = Vec::new();
    let mut after = Value::Null;
    loop {
        let mut variables = variables.clone();
        variables["first"] = json!(first);
        variables["after"] = after;
        let response = client.run(&query, variables).await;
        assert!(response.get("errors").is_none(), "{response:#}");
        let name = field.split('(').next().expect("a name");
        let page = &response["data"][name];
        let edges = page["edges"].as_array().unwrap_or_else(|| panic!("{response:#}"));
        let sent = commands(&response);
        for read in ["find products", "find comments", "find commentPages"] {
            let is_thread = name == "subthread" && read == "find comments";
            let most = if is_thread || read == "find commentPages" { 2 } else { 1 };
            let times = sent.iter().filter(|one| *one == read).count();
            assert!(times <= most, "{sent:?}");
        }
        assert!(edges.len() <= usize::try_from(first).expect("a size"));
        found.extend(edges.iter().map(|edge| edge["node"].clone()));
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

const COMMENTS: &str = "comments(on: $on, order: $order, first: $first, after: $after)";
const REPLIES: &str = "replies(on: $on, slug: $slug, first: $first, after: $after)";
const SUBTHREAD: &str = "subthread(on: $on, slug: $slug, first: $first, after: $after)";

/// Texts of all comments by time.
pub async fn texts(gateway: &Gateway, on: &str) -> Vec<String> {
    let all = all(&gateway.anonymous(), COMMENTS, json!({ "on": on }), 100).await;
    of_texts(&all)
}

pub fn of_texts(comments: &[Value]) -> Vec<String> {
    let text = |comment: &Value| comment["text"].as_str().unwrap_or("(removed)").to_owned();
    comments.iter().map(text).collect()
}

/// What the product shows of its discussion.
pub async fn shown(gateway: &Gateway, sku: &str) -> Value {
    let query = "query($sku: ID!) { product(sku: $sku) { discussion { layout commentCount
        latestComments { slug author text isCut stars } rating { count average } } } }";
    let response = gateway.anonymous().run(query, json!({ "sku": sku })).await;
    assert_eq!(commands(&response), ["find products"], "{response:#}");
    response["data"]["product"]["discussion"].clone()
}
