//! What people say about the shop's goods: a discussion in each layout, one of them long, and reviews.

use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::DateTime;
use serde_json::json;

use super::{
    MERCHANT, Steps,
    door::{Door, someone},
    goods::{AT_ONCE, text},
    products::Product,
    random::Random,
    shoppers::Shopper,
    words::{NOUNS, PLACES},
};
use crate::{
    app::App,
    cli::failure::Failure,
    domains::comments::import::{self, ImportComment},
    graphql::{node_id::NodeKind, requester::Role},
};

const OPEN: &str = "mutation($on: ID!, $layout: DiscussionLayout!) {
    openDiscussion(input: {on: $on, layout: $layout}) {
        __typename ... on UserError { code message }
    }
}";

const POST: &str = "mutation($on: ID!, $parent: String, $text: String!, $op: ID!) {
    postComment(input: {on: $on, parentSlug: $parent, text: $text, opId: $op}) {
        ... on Comment { slug } ... on UserError { code message }
    }
}";

const REVIEW: &str = "mutation($sku: ID!, $stars: Int!, $text: String!) {
    reviewProduct(input: {sku: $sku, stars: $stars, text: $text}) {
        __typename ... on UserError { code message }
    }
}";

/// Comments of the long discussion, a long one in pages, and a short one.
const LONG: usize = 10_000;
const PAGED: usize = 250;
const SHORT: usize = 30;
/// Products that were reviewed.
const REVIEWED: usize = 60;
/// When the long discussion began: the first of January 2025.
const BEGAN: i64 = 1_735_689_600_000;

/// The second product's discussion is embedded, the third one's in pages, the fourth one's is long; products
/// after them were reviewed.
pub(super) async fn talk(
    app: &App,
    door: &Door,
    products: &[Product],
    shoppers: &[Shopper],
    steps: &Steps,
) -> Result<(), Failure> {
    let [_, short, paged, long, others @ ..] = products else { return Ok(()) };
    let bar = steps.begin("comments", LONG + PAGED + SHORT);
    let on = open(door, long, "PER_DOCUMENT").await?;
    import::import(app, &on, "the beginning", &long_discussion()).await?;
    bar.inc(LONG as u64);
    open(door, paged, "PAGED").await?;
    let posts = (0..PAGED).map(|number| post(door, paged, shoppers, number, None));
    stream::iter(posts)
        .buffer_unordered(AT_ONCE)
        .inspect_ok(|_| bar.inc(1))
        .try_collect::<Vec<_>>()
        .await?;
    open(door, short, "EMBEDDED").await?;
    let mut slugs: Vec<String> = Vec::new();
    let mut random = Random::new(3_000);
    for number in 0..SHORT {
        let to =
            (number > 3 && random.chance(60)).then(|| slugs[random.below(slugs.len())].clone());
        slugs.push(post(door, short, shoppers, number, to).await?);
        bar.inc(1);
    }
    bar.finish();

    let step = (others.len() / REVIEWED).max(1);
    let reviewed: Vec<_> = others.iter().step_by(step).take(REVIEWED).collect();
    let bar = steps.begin("reviews", reviewed.len());
    stream::iter(reviewed.into_iter().enumerate())
        .map(|(number, product)| {
            let bar = &bar;
            async move {
                open(door, product, "PER_DOCUMENT").await?;
                let mut random = Random::new(4_000 + number as u64);
                let first = random.below(shoppers.len());
                let count = random.below(9).min(shoppers.len());
                for shopper in shoppers.iter().cycle().skip(first).take(count) {
                    let stars = 5 - random.below(5).min(random.below(5)).min(random.below(4));
                    let variables =
                        json!({ "sku": product.sku, "stars": stars, "text": said(&mut random) });
                    door.ask(&shopper.who, REVIEW, variables).await?;
                }
                bar.inc(1);
                Ok::<_, Failure>(())
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    bar.finish();
    Ok(())
}

async fn open(door: &Door, product: &Product, layout: &str) -> Result<async_graphql::ID, Failure> {
    let on = NodeKind::Product.id(&product.sku);
    let merchant = someone(MERCHANT, &[Role::Merchant]);
    door.ask(&merchant, OPEN, json!({ "on": on, "layout": layout })).await?;
    Ok(on)
}

/// Posts a comment and answers its slug.
async fn post(
    door: &Door,
    product: &Product,
    shoppers: &[Shopper],
    number: usize,
    to: Option<String>,
) -> Result<String, Failure> {
    let mut random = Random::new(5_000 + number as u64);
    let variables = json!({
        "on": NodeKind::Product.id(&product.sku),
        "parent": to,
        "text": said(&mut random),
        "op": format!("demo-comment-{}-{number}", product.sku),
    });
    let who = &random.favour(shoppers).who;
    Ok(text(&door.ask(who, POST, variables).await?["postComment"]["slug"]))
}

/// A year's talk: some of it begins something, most of it replies to what was said lately.
fn long_discussion() -> Vec<ImportComment> {
    let mut random = Random::new(6_000);
    let mut at = BEGAN;
    let mut all: Vec<ImportComment> = Vec::with_capacity(LONG);
    for number in 0..LONG {
        at += random.between(1_000, 5_000_000);
        let reply_to = (number > 0 && random.chance(70))
            .then(|| number - 1 - random.below(number.min(40)).min(random.below(40)));
        all.push(ImportComment {
            author: format!("shopper-{}", random.below(400)),
            text: said(&mut random),
            reply_to,
            at: DateTime::from_millis(at),
        });
    }
    all
}

fn said(random: &mut Random) -> String {
    const OPENINGS: &[&str] = &[
        "I came to this by way of {place} and stayed for the {noun}.",
        "Bought it for my brother, kept it myself.",
        "Has anyone else noticed the {noun} halfway through?",
        "Better than the last one, and the last one was good.",
        "I don't see what all the praise is about.",
        "It arrived in {place} in two days, well packed.",
        "My third copy. The first two are with friends.",
        "A little worn at the edges, like everything from {place}.",
        "You have to give it time.",
        "The description says little about the {noun}, which is the best of it.",
    ];
    const ENDINGS: &[&str] = &[
        "",
        " Worth every cent.",
        " Would buy it again.",
        " Half a star less for the cover.",
        " Ask in the shop in {place}, they know more.",
        " And no, the {noun} is not a mistake.",
        " I agree with what was said above.",
        " Can somebody tell me where to find the earlier edition?",
    ];
    let said = [random.pick(OPENINGS), random.pick(ENDINGS)].concat();
    said.replace("{place}", random.pick(PLACES))
        .replace("{noun}", &random.pick(NOUNS).to_lowercase())
}
