//! Discussions of the shop's products and of its blog, one in each layout, one of them long, and reviews.

use async_graphql::ID;
use docgate_demo::{
    phrases::{REMARKS, THOUGHTS},
    products::Product,
    random::Random,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::DateTime;
use serde_json::json;

use super::{
    MERCHANT, Steps,
    client::{DemoClient, someone},
    goods::{AT_ONCE, text},
    pictures::EDITOR,
    shoppers::Shopper,
};
use crate::{
    app::{App, rfc3339},
    cli::failure::Failure,
    domains::comments::import::{self, ImportComment, ImportKey},
    graphql::{
        node_id::NodeKind,
        requester::{Requester, Role},
    },
};

const OPEN: &str = "mutation($on: ID!, $layout: DiscussionLayout!) {
    openDiscussion(input: {subjectId: $on, layout: $layout}) {
        __typename ... on UserError { code message }
    }
}";

const FIND: &str = "query($path: String!) { content(by: {path: $path}) { id } }";

const POST: &str = "mutation($on: ID!, $parent: ID, $text: String!, $op: ID!) {
    postComment(input: {subjectId: $on, replyToId: $parent, text: $text, idempotencyKey: $op}) {
        ... on Comment { id } ... on UserError { code message }
    }
}";

const REVIEW: &str = "mutation($sku: ID!, $stars: Int!, $text: String!) {
    reviewProduct(input: {sku: $sku, stars: $stars, text: $text}) {
        __typename ... on UserError { code message }
    }
}";

/// Maximum number of comments in the long discussion: two for each product of the shop, and in a small shop at least so
/// many.
const LONG: usize = 10_000;
const LONG_AT_LEAST: usize = 400;
/// Number of comments in a discussion in pages, and in a short one.
const PAGED: usize = 250;
const SHORT: usize = 30;
/// Number of comments on a blog entry, and its path.
const BLOG: usize = 20;
const ENTRY: &str = "/en/workshop/a-new-bench";
/// Number of reviewed products.
const REVIEWED: usize = 60;
/// Start of the long discussion: 1 January 2025.
const BEGAN: i64 = 1_735_689_600_000;

/// Creates the discussions. That of the second product is embedded, that of the third is in pages, and that
/// of the fourth is long; products after them are reviewed. A blog entry is discussed as well.
pub(super) async fn create(
    app: &App,
    client: &DemoClient,
    products: &[Product],
    shoppers: &[Shopper],
    steps: &Steps,
) -> Result<(), Failure> {
    let [_, short, paged, long, others @ ..] = products else { return Ok(()) };
    let merchant = someone(MERCHANT, &[Role::Merchant]);
    let of = |product: &Product| NodeKind::PRODUCT.id(&product.sku);
    let most = (2 * products.len()).clamp(LONG_AT_LEAST, LONG);
    let bar = steps.begin("comments", most + PAGED + SHORT + BLOG);
    for lines in long_discussion(&long.sku, most).chunks(1_000) {
        for result in import::import(app, lines).await? {
            result.map_err(|invalid| {
                Failure::trouble(format!("the shop can't be filled: {}", invalid.message))
            })?;
        }
        bar.inc(lines.len() as u64);
    }
    let paged = of(paged);
    open(client, &merchant, &paged, "PAGED").await?;
    let posts = (0..PAGED).map(|number| {
        let message = REMARKS.pick(&mut Random::new(5_500 + number as u64));
        post(client, &paged, shoppers, number, message, None)
    });
    stream::iter(posts)
        .buffer_unordered(AT_ONCE)
        .inspect_ok(|_| bar.inc(1))
        .try_collect::<Vec<_>>()
        .await?;
    let editor = someone(EDITOR, &[Role::Editor]);
    let entry = client.execute(&editor, FIND, json!({ "path": ENTRY })).await?;
    let entry = ID(text(&entry["content"]["id"]));
    let threads = [(&merchant, of(short), SHORT, REMARKS), (&editor, entry, BLOG, THOUGHTS)];
    for (who, on, count, phrases) in threads {
        open(client, who, &on, "EMBEDDED").await?;
        let mut posted: Vec<String> = Vec::new();
        let mut random = Random::new(3_000);
        for number in 0..count {
            let to = (number > 3 && random.chance(60))
                .then(|| posted[random.below(posted.len())].clone());
            let message = phrases.pick(&mut random);
            posted.push(post(client, &on, shoppers, number, message, to).await?);
            bar.inc(1);
        }
    }
    bar.finish();

    let step = (others.len() / REVIEWED).max(1);
    let reviewed: Vec<_> = others.iter().step_by(step).take(REVIEWED).collect();
    let merchant = &merchant;
    let review = reviewed.into_iter().enumerate().map(|(number, product)| async move {
        open(client, merchant, &NodeKind::PRODUCT.id(&product.sku), "PER_DOCUMENT").await?;
        let mut random = Random::new(4_000 + number as u64);
        let first = random.below(shoppers.len());
        let count = random.below(9).min(shoppers.len());
        for shopper in shoppers.iter().cycle().skip(first).take(count) {
            let stars = 5 - random.below(5).min(random.below(5)).min(random.below(4));
            let variables =
                json!({ "sku": product.sku, "stars": stars, "text": REMARKS.pick(&mut random) });
            client.execute(&shopper.who, REVIEW, variables).await?;
        }
        Ok::<_, Failure>(())
    });
    steps.each("reviews", review).await.map(drop)
}

async fn open(client: &DemoClient, who: &Requester, on: &ID, layout: &str) -> Result<(), Failure> {
    client.execute(who, OPEN, json!({ "on": on, "layout": layout })).await?;
    Ok(())
}

/// Posts a comment; returns its id.
async fn post(
    client: &DemoClient,
    on: &ID,
    shoppers: &[Shopper],
    number: usize,
    message: String,
    to: Option<String>,
) -> Result<String, Failure> {
    let mut random = Random::new(5_000 + number as u64);
    let op = format!("demo-comment-{}-{number}", on.0);
    let variables = json!({ "on": on, "parent": to, "text": message, "op": op });
    let who = &random.favour(shoppers).who;
    Ok(text(&client.execute(who, POST, variables).await?["postComment"]["id"]))
}

/// Comments over one year. Some start a thread, most reply to a recent comment.
fn long_discussion(sku: &str, count: usize) -> Vec<ImportComment> {
    let mut random = Random::new(6_000);
    let mut at = BEGAN;
    let mut all: Vec<ImportComment> = Vec::with_capacity(count);
    let key = |number: usize| format!("comment-{number}");
    for number in 0..count {
        at += random.between(1_000, 5_000_000);
        let reply_to = (number > 0 && random.chance(70))
            .then(|| number - 1 - random.below(number.min(40)).min(random.below(40)));
        all.push(ImportComment {
            sku: sku.to_owned(),
            key: Some(key(number)),
            author: format!("shopper-{}", random.below(400)),
            at: rfc3339(DateTime::from_millis(at)),
            text: REMARKS.pick(&mut random),
            stars: None,
            reply_to: reply_to.map(|number| ImportKey::Comment(key(number))),
        });
    }
    all
}
