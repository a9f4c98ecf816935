//! People, circles, posts and feeds.

mod celebrities;
mod check;
mod circles;
mod cuts;
mod delivery;
mod early;
mod feeds;
mod posts;
mod privacy;

use docgate::background;
use mongodb::{
    bson::{DateTime, doc},
    options::Hint,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Client, Gateway, until};

const CREATE_USER: &str = "mutation($input: CreateUserInput!) { createUser(input: $input) {
    __typename ... on User { id userId name about version }
    ... on UserError { code message } ... on InvalidInput { field } } }";
pub const CIRCLE: &str = "mutation($input: CircleUserInput!) { circleUser(input: $input) {
    __typename ... on User { userId circles } ... on UserError { code message } ... on InvalidInput { field } } }";
const UNCIRCLE: &str = "mutation($input: UncircleUserInput!) { uncircleUser(input: $input) {
    __typename ... on User { userId circles } ... on UserError { code message } ... on InvalidInput { field } } }";
pub const BLOCK: &str = "mutation($input: BlockUserInput!) { blockUser(input: $input) {
    __typename ... on User { userId isBlocked } ... on UserError { code message } ... on InvalidInput { field } } }";
pub const UNBLOCK: &str = "mutation($input: UnblockUserInput!) { unblockUser(input: $input) {
    __typename ... on User { userId isBlocked } ... on UserError { code message } } }";
pub const CREATE_POST: &str = "mutation($input: CreatePostInput!) { createPost(input: $input) {
    __typename ... on Post { id text version type } ... on UserError { code message } ... on InvalidInput { field } } }";
const EDIT_POST: &str = "mutation($input: EditPostInput!) { editPost(input: $input) {
    __typename ... on Post { id text version isEdited } ... on UserError { code message }
    ... on InvalidInput { field } } }";
const DELETE_POST: &str = "mutation($input: DeletePostInput!) { deletePost(input: $input) {
    __typename ... on DeletedPost { postId } ... on UserError { code message } } }";
const COMMENT: &str = "mutation($input: CommentOnPostInput!) { commentOnPost(input: $input) {
    __typename ... on Post { id commentCount latestComments { number text } }
    ... on UserError { code message } ... on InvalidInput { field } } }";
const VOTE: &str = "mutation($input: VotePollInput!) { votePoll(input: $input) {
    __typename ... on Post { id detail { ... on PollDetail { choices { votes } myChoice } } }
    ... on AlreadyVoted { choice } ... on UserError { code message } ... on InvalidInput { field } } }";
const POST: &str = "query($id: ID!) { post(id: $id) { id text commentCount
    detail { ... on PollDetail { choices { votes } myChoice } } } }";
const NEWS: &str = "query($month: String, $first: Int, $after: String) {
    news(month: $month, first: $first, after: $after) {
    nodes { id text commentCount latestComments { text } author { name } }
    pageInfo { hasNextPage endCursor } } }";
const WALL: &str = "query($userId: ID) { wall(userId: $userId) { nodes { text } } }";
const INCOMING: &str = "query { incoming { nodes { text } } }";

/// Creates users with these subjects.
pub async fn people(gateway: &Gateway, subjects: &[&str]) {
    for subject in subjects {
        let input = json!({ "input": { "name": subject } });
        let made = gateway.shopper(subject).field(CREATE_USER, input).await;
        assert_eq!(made["__typename"], "User", "{made:#}");
    }
}

/// Sends a mutation as this user, and returns its answer.
pub async fn does(gateway: &Gateway, subject: &str, mutation: &str, input: Value) -> Value {
    gateway.shopper(subject).field(mutation, json!({ "input": input })).await
}

/// `by` puts `of` into a circle.
async fn circle(gateway: &Gateway, by: &str, of: &str, name: &str) {
    let done = does(gateway, by, CIRCLE, json!({ "userId": of, "circle": name })).await;
    assert_eq!(done["__typename"], "User", "{done:#}");
}

async fn uncircle(gateway: &Gateway, by: &str, of: &str, name: &str) {
    let done = does(gateway, by, UNCIRCLE, json!({ "userId": of, "circle": name })).await;
    assert_eq!(done["__typename"], "User", "{done:#}");
}

/// The `_id` of the edge between two users.
fn key_of_edge(by: &str, of: &str) -> String {
    format!("{} {by} {of}", by.len())
}

/// Creates a public post, and returns its id.
async fn posted(gateway: &Gateway, by: &str, text: &str) -> String {
    posted_with(gateway, by, json!({ "audience": "PUBLIC", "text": text })).await
}

pub async fn posted_with(gateway: &Gateway, by: &str, input: Value) -> String {
    let post = does(gateway, by, CREATE_POST, input).await;
    assert_eq!(post["__typename"], "Post", "{post:#}");
    post["id"].as_str().expect("an id").to_owned()
}

/// The texts of a list.
pub fn texts(list: &Value) -> Vec<String> {
    let nodes = list["nodes"].as_array().unwrap_or_else(|| panic!("a list: {list:#}"));
    nodes.iter().map(|node| node["text"].as_str().expect("a text").to_owned()).collect()
}

async fn news(client: &Client) -> Vec<String> {
    texts(&client.field(NEWS, json!({})).await)
}

async fn wall(client: &Client, of: &str) -> Vec<String> {
    texts(&client.field(WALL, json!({ "userId": of })).await)
}

async fn incoming(client: &Client) -> Vec<String> {
    texts(&client.field(INCOMING, json!({})).await)
}

/// Number of jobs that aren't done.
async fn pending(gateway: &Gateway) -> u64 {
    let live = doc! { "state": { "$in": ["READY", "DELAYED", "CLAIMED"] } };
    gateway
        .raw("jobs")
        .count_documents(live)
        .hint(Hint::Name("_id_".into()))
        .await
        .expect("counted")
}

/// Makes the one job a dead letter, long ago.
pub async fn bury(gateway: &Gateway) {
    let long_ago = DateTime::parse_rfc3339_str("2026-01-01T00:00:00Z").expect("a time");
    let dead = doc! { "state": "DEAD", "deadAt": long_ago, "attempts": 100 };
    let bury = doc! { "$set": dead, "$unset": { "ready": "", "due": "" } };
    let buried = gateway.raw("jobs").update_many(doc! {}, bury).await.expect("buried");
    assert_eq!(buried.modified_count, 1);
}

/// Lets the gateway's workers do all jobs.
pub async fn deliver(gateway: &Gateway) {
    let stop = CancellationToken::new();
    let working = tokio::spawn(background::work(gateway.app.clone(), stop.clone()));
    until("the jobs are done", async || pending(gateway).await == 0).await;
    stop.cancel();
    working.await.expect("no panic");
}
