//! People who follow each other, one of them a celebrity, and two years of their posts.

use docgate_demo::{
    people::Cast,
    phrases::{REMARKS, THOUGHTS},
    random::Random,
};
use mongodb::bson::DateTime;

use super::{SHOPPER, Steps};
use crate::{
    app::App,
    cli::failure::Failure,
    domains::social::import::{Choice, Detail, NewMember, NewPost, NewUser, import, import_posts},
};

/// Maximum number of people, and how many others each of them follows. A small shop has fewer people.
const PEOPLE: usize = 2_000;
const FOLLOWED: usize = 12;
/// Maximum number of followers of the celebrity, and of posts. A small shop has fewer.
const FOLLOWERS: usize = 50_000;
const POSTS: usize = 1_500;
/// Number of people whom the shopper follows.
pub(super) const SHOPPERS_OWN: usize = 40;
/// Number of people who write posts.
const AUTHORS: usize = 400;
/// The circles of the demo.
const CIRCLES: [&str; 3] = ["friends", "family", "music"];
/// The choices of the polls.
pub(super) const CHOICES: [&str; 3] = ["Vinyl", "Compact disc", "Neither"];

/// Time that the posts cover, in milliseconds.
const TWO_YEARS: i64 = 730 * 24 * 3_600 * 1_000;

/// The subject of a person. Everyone follows the first one.
pub(super) fn subject(person: usize) -> String {
    format!("person-{person}")
}

/// Creates the people and their posts. `count` is the number of products of the shop.
pub(super) async fn create(app: &App, count: usize, steps: &Steps) -> Result<(), Failure> {
    let mut random = Random::new(23);
    let cast = Cast::of(&mut random, 4_000, 4_000, 4_000);
    let number = (2 * count).clamp(AUTHORS + 1, PEOPLE);
    let fans = (10 * count).min(FOLLOWERS).saturating_sub(number);
    let now = app.clock().timestamp_millis();
    let bar = steps.begin("users", number + fans);
    let (users, members) = people(&mut random, &cast.names, number, fans);
    let began = DateTime::from_millis(now - TWO_YEARS);
    import(app, &users, &members, began).await?;
    bar.inc((number + fans) as u64);
    bar.finish();

    let posts = (count * 3 / 10).clamp(240, POSTS);
    let bar = steps.begin("posts", posts);
    let step = TWO_YEARS / i64::try_from(posts).unwrap_or(i64::MAX);
    let all = (0..posts).zip(0..).map(|(number, steps)| {
        let from = now - TWO_YEARS + step * steps;
        let at = from + random.between(0, step - 1);
        post(&mut random, number, at, now)
    });
    import_posts(app, all.collect(), &members).await?;
    bar.inc(posts as u64);
    bar.finish();
    Ok(())
}

/// `count` people who follow each other, and `fans` who follow the first of them only.
fn people(
    random: &mut Random,
    names: &[String],
    count: usize,
    fans: usize,
) -> (Vec<NewUser>, Vec<NewMember>) {
    let person = |subject: String, name: &str, about: &str| NewUser {
        subject,
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let cycle = names.iter().cycle();
    let mut users: Vec<_> = cycle
        .clone()
        .take(count)
        .enumerate()
        .map(|(number, name)| person(subject(number), name, ""))
        .collect();
    users.push(person(SHOPPER.to_owned(), "The shopper", "I look around."));
    let mut members = Vec::new();
    let mut add = |by: String, of: String, circle: &str| {
        if by != of {
            members.push(NewMember { by, of, circle: circle.to_owned() });
        }
    };
    for number in 0..count {
        add(subject(number), subject(0), "stars");
        for _ in 0..FOLLOWED {
            let other = 1 + random.below(count - 1);
            add(subject(number), subject(other), random.pick(&CIRCLES));
        }
    }
    add(SHOPPER.to_owned(), subject(0), "stars");
    for number in 1..=SHOPPERS_OWN {
        add(SHOPPER.to_owned(), subject(number), random.pick(&CIRCLES));
        add(subject(number), SHOPPER.to_owned(), "friends");
    }
    for (number, name) in cycle.skip(count).take(fans).enumerate() {
        let fan = format!("fan-{number}");
        add(fan.clone(), subject(0), "stars");
        users.push(person(fan, name, ""));
    }
    (users, members)
}

/// A post of this time, with comments and votes until `now`.
fn post(random: &mut Random, number: usize, at: i64, now: i64) -> NewPost {
    let by = match number % 10 {
        9 => 0,
        0..=5 => 1 + random.below(SHOPPERS_OWN),
        _ => 1 + random.below(AUTHORS),
    };
    let choice = |text: &&str| Choice { text: (*text).to_owned(), votes: 0 };
    let detail = match number % 6 {
        2 => Some(Detail::Poll { choices: CHOICES.iter().map(choice).collect() }),
        3 => Some(Detail::Link {
            url: format!("https://shop.example/{number}"),
            title: "A find".to_owned(),
        }),
        4 => Some(Detail::CheckIn {
            place: random.pick(&["Lisbon", "Oslo", "Cologne", "Ghent"]).to_owned(),
        }),
        _ => None,
    };
    // Everyone who comments and votes can see the post.
    let is_private = number % 4 == 1;
    let most = if is_private { 0 } else { 6 };
    let mut later = at;
    let comments = (0..random.below(most + 1)).map(|_| {
        later = (later + random.between(60_000, 7_200_000)).min(now);
        let by = subject(1 + random.below(AUTHORS));
        (by, REMARKS.pick(random), DateTime::from_millis(later))
    });
    let comments = comments.collect();
    let count = if matches!(detail, Some(Detail::Poll { .. })) { random.below(30) } else { 0 };
    let first = random.below(AUTHORS / 2);
    let choices = random.below(CHOICES.len());
    let votes = (0..count).map(|voter| {
        let voted = random.below(CHOICES.len()).min(choices);
        (subject(1 + first + voter), i32::try_from(voted).unwrap_or(0))
    });
    let votes = votes.collect();
    NewPost {
        key: format!("post-{number}"),
        by: subject(by),
        // Some are written on the shopper's wall.
        to: number.is_multiple_of(12).then(|| SHOPPER.to_owned()),
        circle: is_private.then(|| "friends".to_owned()),
        text: THOUGHTS.pick(random),
        votes,
        detail,
        at: DateTime::from_millis(at),
        comments,
    }
}
