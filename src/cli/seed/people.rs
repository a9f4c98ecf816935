//! People who follow each other, one of them a celebrity, and their posts.

use docgate_demo::{
    people::Cast,
    phrases::{REMARKS, THOUGHTS},
    random::Random,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::{
    SHOPPER, Steps,
    client::{DemoClient, someone},
    goods::{AT_ONCE, text},
};
use crate::{
    app::App,
    cli::failure::Failure,
    domains::social::import::{NewMember, NewUser, import},
};

/// Number of people, and how many others each of them follows.
const PEOPLE: usize = 2_000;
const FOLLOWED: usize = 12;
/// Number of posts, and of comments on the first one.
const POSTS: usize = 120;
const COMMENTS: usize = 5;
/// Number of people whom the shopper follows.
const SHOPPERS_OWN: usize = 40;
/// The circles of the demo.
const CIRCLES: [&str; 3] = ["friends", "family", "music"];

const POST: &str = "mutation($input: CreatePostInput!) { createPost(input: $input) {
    ... on Post { id } ... on UserError { code message } } }";
const COMMENT: &str = "mutation($input: CommentOnPostInput!) { commentOnPost(input: $input) {
    __typename ... on UserError { code message } } }";

/// The subject of a person. Everyone follows the first one.
pub(super) fn subject(person: usize) -> String {
    format!("person-{person}")
}

/// Creates the people and their posts. Jobs deliver the posts once the gateway runs.
pub(super) async fn create(app: &App, client: &DemoClient, steps: &Steps) -> Result<(), Failure> {
    let mut random = Random::new(23);
    let cast = Cast::of(&mut random, 4_000, 4_000, 4_000);
    let bar = steps.begin("people", PEOPLE);
    let (users, members) = people(&mut random, &cast.names);
    import(app, &users, &members).await?;
    bar.inc(PEOPLE as u64);
    bar.finish();

    let bar = steps.begin("posts", POSTS);
    let inputs: Vec<_> = (0..POSTS).map(|number| post(&mut random, number)).collect();
    let posts = inputs.into_iter().map(|(by, input)| async move {
        let data = client.execute(&someone(&by, &[]), POST, json!({ "input": input })).await?;
        Ok::<_, Failure>(text(&data["createPost"]["id"]))
    });
    let posts: Vec<String> =
        stream::iter(posts).buffered(AT_ONCE).inspect_ok(|_| bar.inc(1)).try_collect().await?;
    bar.finish();
    for (number, post) in posts.iter().take(COMMENTS).enumerate() {
        let input = json!({
            "postId": post,
            "text": REMARKS.pick(&mut random),
            "idempotencyKey": format!("comment-{number}"),
        });
        client.execute(&someone(SHOPPER, &[]), COMMENT, json!({ "input": input })).await?;
    }
    Ok(())
}

fn people(random: &mut Random, names: &[String]) -> (Vec<NewUser>, Vec<NewMember>) {
    let person = |(number, name): (usize, &String)| NewUser {
        subject: subject(number),
        name: name.clone(),
        about: String::new(),
    };
    let mut users: Vec<_> = names.iter().take(PEOPLE).enumerate().map(person).collect();
    users.push(NewUser {
        subject: SHOPPER.to_owned(),
        name: "The shopper".to_owned(),
        about: "I look around.".to_owned(),
    });
    let mut members = Vec::new();
    let mut add = |by: String, of: String, circle: &str| {
        if by != of {
            members.push(NewMember { by, of, circle: circle.to_owned() });
        }
    };
    for number in 0..PEOPLE {
        add(subject(number), subject(0), "stars");
        for _ in 0..FOLLOWED {
            let other = 1 + random.below(PEOPLE - 1);
            add(subject(number), subject(other), random.pick(&CIRCLES));
        }
    }
    add(SHOPPER.to_owned(), subject(0), "stars");
    for number in 1..=SHOPPERS_OWN {
        add(SHOPPER.to_owned(), subject(number), random.pick(&CIRCLES));
        add(subject(number), SHOPPER.to_owned(), "friends");
    }
    (users, members)
}

/// The author of a post, and the input of `createPost`.
fn post(random: &mut Random, number: usize) -> (String, Value) {
    let by = if number % 10 == 9 { 0 } else { 1 + random.below(SHOPPERS_OWN) };
    let detail = match number % 6 {
        2 => json!({ "poll": { "choices": ["Vinyl", "Compact disc", "Neither"] } }),
        3 => {
            json!({ "link": { "url": format!("https://shop.example/{number}"), "title": "A find" } })
        }
        4 => {
            json!({ "checkIn": { "place": random.pick(&["Lisbon", "Oslo", "Cologne", "Ghent"]) } })
        }
        _ => Value::Null,
    };
    let is_private = number % 4 == 1;
    let input = json!({
        "audience": if is_private { "NAMED" } else { "PUBLIC" },
        "circles": if is_private { json!(["friends"]) } else { Value::Null },
        "text": THOUGHTS.pick(random),
        // Some are written on the shopper's wall.
        "toUserId": (number % 12 == 0).then_some(SHOPPER),
        "detail": detail,
        "idempotencyKey": format!("post-{number}"),
    });
    (subject(by), input)
}
