//! Some of the demo's people write posts, comment and vote as long as the demo runs, and its sites are viewed, so that a
//! visitor sees feeds and reports move.

use docgate_demo::{
    phrases::{REMARKS, THOUGHTS},
    random::Random,
};
use serde_json::json;

use super::{
    client::{DemoClient, someone},
    hits, keep_acting,
    people::{CHOICES, SHOPPERS_OWN, subject},
};
use crate::{app::App, cli::failure::Failure};

/// Shortest and longest pause between two actions, in milliseconds.
const PAUSE: (i64, i64) = (3_000, 12_000);

const POST: &str = "mutation($input: CreatePostInput!) { createPost(input: $input) {
    __typename ... on UserError { code message } } }";
const WALL: &str = "query($of: ID!) { wall(userId: $of, first: 5) { nodes {
    id detail { ... on PollDetail { choices { text } myChoice } } } } }";
const COMMENT: &str = "mutation($input: CommentOnPostInput!) { commentOnPost(input: $input) {
    __typename ... on UserError { code message } } }";
const VOTE: &str = "mutation($input: VotePollInput!) { votePoll(input: $input) {
    __typename ... on UserError { code message } } }";

/// Lets people act, and sites be viewed. It never ends; dropping it ends it.
pub(in super::super) async fn live(app: &App) {
    tokio::join!(Box::pin(post(app)), Box::pin(hits::view(app)));
}

/// Lets people whom the shopper follows act, one after the other.
async fn post(app: &App) {
    keep_acting(app, PAUSE, async |client, random| act(client, random, &app.ids().random()).await)
        .await;
}

/// One of the people writes a post, or votes or comments on a post of another one. `key` identifies the action.
async fn act(client: &DemoClient, random: &mut Random, key: &str) -> Result<(), Failure> {
    let mut person = || subject(1 + random.below(SHOPPERS_OWN));
    let (by, other) = (person(), person());
    let who = someone(&by, &[]);
    if random.chance(40) {
        let detail = random.chance(25).then(|| json!({ "poll": { "choices": CHOICES } }));
        let input = json!({
            "audience": "PUBLIC", "text": THOUGHTS.pick(random), "detail": detail,
            "idempotencyKey": key,
        });
        return client.execute(&who, POST, json!({ "input": input })).await.map(drop);
    }
    let found = client.execute(&who, WALL, json!({ "of": other })).await?;
    let Some(posts) = found["wall"]["nodes"].as_array().filter(|posts| !posts.is_empty()) else {
        return Ok(());
    };
    let post = random.choose(posts);
    let choices = post["detail"]["choices"].as_array().map_or(0, Vec::len);
    if choices > 0 && post["detail"]["myChoice"].is_null() {
        let input = json!({ "postId": post["id"], "choice": random.below(choices) });
        return client.execute(&who, VOTE, json!({ "input": input })).await.map(drop);
    }
    let text = REMARKS.pick(random);
    let input = json!({ "postId": post["id"], "text": text, "idempotencyKey": key });
    client.execute(&who, COMMENT, json!({ "input": input })).await.map(drop)
}
