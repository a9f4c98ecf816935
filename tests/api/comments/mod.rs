//! Comments and reviews in each layout.

mod batches;
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
mod stuck;

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use docgate::config::Config;

use crate::support::{self, Client, Gateway, all_nodes, commands, key, nodes};

pub const LAYOUTS: [&str; 3] = ["PER_DOCUMENT", "PAGED", "EMBEDDED"];

const OPEN: &str = "mutation($input: OpenDiscussionInput!) { openDiscussion(input: $input) {
    __typename ... on Discussion { layout commentCount } ... on UserError { code message }
    ... on InvalidInput { field } } }";
const MIGRATE: &str =
    "mutation($input: MigrateDiscussionInput!) { migrateDiscussion(input: $input) {
    __typename ... on Discussion { layout commentCount } ... on UserError { code message }
    ... on InvalidInput { field } ... on DiscussionFull { commentCount } } }";
const COMMENT: &str = "fragment C on Comment {
    id subjectId slug parentId depth author { id name } text stars postedAt editedAt removedBy version }";
const REFUSED: &str = "... on UserError { code message } ... on InvalidInput { field reason }";

/// Only products and their discussions: the sweeps and checks of the other rooms would find nothing.
pub fn few_rooms(config: &mut Config) {
    config.rooms = ["catalog", "categories", "comments", "people"].map(String::from).into();
}

/// The same with bounds in which a slow machine does what a test holds back something for.
pub fn very_long_bounds(config: &mut Config) {
    few_rooms(config);
    support::very_long_bounds(config);
}

/// The same with bounds in which many at once come to an end.
pub fn long_bounds(config: &mut Config) {
    few_rooms(config);
    support::long_bounds(config);
}

/// The same with short bounds.
pub fn short_bounds(config: &mut Config) {
    few_rooms(config);
    support::short_bounds(config);
}

/// A product with a discussion in that layout; answers the product's global id.
pub async fn discussed(gateway: &Gateway, sku: &str, layout: &str) -> String {
    gateway.product(sku, 100, "EUR").await;
    let on = NodeKind::PRODUCT.id(sku).0;
    let opened = open(&gateway.merchant(), &on, layout).await;
    assert_eq!(
        (&opened["layout"], &opened["commentCount"]),
        (&json!(layout), &json!(0)),
        "{opened:#}"
    );
    on
}

pub async fn open(client: &Client, on: &str, layout: &str) -> Value {
    client.field(OPEN, json!({ "input": { "subjectId": on, "layout": layout } })).await
}

pub async fn migrate(gateway: &Gateway, on: &str, to: &str) -> Value {
    gateway.merchant().field(MIGRATE, json!({ "input": { "subjectId": on, "to": to } })).await
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
    let input = json!({ "subjectId": on, "text": text, "replyToId": parent });
    does(client, "postComment", input).await
}

/// Posts, and returns the global id.
pub async fn posted(client: &Client, on: &str, text: &str, parent: Option<&str>) -> String {
    let comment = post(client, on, text, parent).await;
    assert_eq!(comment["__typename"], "Comment", "{comment:#}");
    id_of(&comment)
}

pub fn id_of(comment: &Value) -> String {
    comment["id"].as_str().unwrap_or_else(|| panic!("{comment:#}")).to_owned()
}

/// The comment's own id, as it is stored.
pub fn stored_id(comment_id: &str) -> String {
    key(comment_id).rsplit(':').next().expect("an id").to_owned()
}

/// A whole list, read in pages of `first`: each page is one read of the product and one range, of either
/// store while the discussion moves. A list of a comment takes the comment too, and where pages of comments are
/// short, two may be too few.
pub async fn all(client: &Client, field: &str, variables: Value, first: i32) -> Vec<Value> {
    let forwards = read(client, field, &variables, first, "first").await;
    let backwards = read(client, field, &variables, first, "last").await;
    assert_eq!(forwards, backwards, "{field}");
    forwards
}

async fn read(
    client: &Client,
    field: &str,
    variables: &Value,
    size: i32,
    from: &str,
) -> Vec<Value> {
    let paging = "first: $first, after: $after, last: $last, before: $before";
    let is_of_comment = field.starts_with("comment(");
    let own = if is_of_comment {
        "$commentId: ID!"
    } else {
        "$subjectId: ID!, $order: CommentOrder = CHRONOLOGICAL, $topLevel: Boolean = false"
    };
    let (field, end) = (field.replace("PAGING", paging), if is_of_comment { "}" } else { "" });
    let query = format!(
        "query({own}, $first: Int, $after: String, $last: Int, $before: String) {{ {field} {{
            edges {{ node {{ ...C }} }}
            pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} {end} }} {COMMENT}"
    );
    let mut variables = variables.clone();
    variables[from] = json!(size);
    let found = all_nodes(variables, async |variables| {
        let response = client.explained(&query, variables).await;
        assert!(response.get("errors").is_none(), "{response:#}");
        let data = &response["data"];
        let page = if is_of_comment { &data["comment"]["page"] } else { &data["comments"] };
        let sent = commands(&response);
        for read in ["find products", "find comments", "find commentPages"] {
            let most = if is_of_comment || read == "find commentPages" { 2 } else { 1 };
            let times = sent.iter().filter(|one| *one == read).count();
            assert!(times <= most, "{sent:?}");
        }
        assert!(nodes(page).len() <= usize::try_from(size).expect("a size"));
        page.clone()
    });
    found.await
}

const COMMENTS: &str =
    "comments(subjectId: $subjectId, order: $order, topLevel: $topLevel, PAGING)";
const REPLIES: &str = "comment(by: { id: $commentId }) { page: replies(PAGING)";
const SUBTHREAD: &str = "comment(by: { id: $commentId }) { page: subthread(PAGING)";

/// Texts of all comments by time.
pub async fn texts(gateway: &Gateway, on: &str) -> Vec<String> {
    let variables = json!({ "subjectId": on });
    of_texts(&read(&gateway.anonymous(), COMMENTS, &variables, 100, "first").await)
}

pub fn of_texts(comments: &[Value]) -> Vec<String> {
    let text = |comment: &Value| comment["text"].as_str().unwrap_or("(removed)").to_owned();
    comments.iter().map(text).collect()
}

/// What the product shows of its discussion.
pub async fn shown(gateway: &Gateway, sku: &str) -> Value {
    let query = "query($sku: ID!) { product(sku: $sku) { discussion { layout commentCount
        latestComments { id slug author { id name } text isCut stars } rating { count average } } } }";
    let response = gateway.anonymous().explained(query, json!({ "sku": sku })).await;
    assert_eq!(commands(&response), ["find products"], "{response:#}");
    response["data"]["product"]["discussion"].clone()
}
