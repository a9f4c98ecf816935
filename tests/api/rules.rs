//! The rules of changes: what MongoDB decides by their conditions, and what docgate explains by them, is the same.

use docgate::{
    error::Error,
    flow::{Change, Verdict},
    mongo::{
        Collection, Outcome, Stored, Version,
        condition::{
            Condition, Number, at_least, contains, exists, has_element, has_room, is, is_absent,
            is_past,
        },
    },
};
use futures_util::future::join_all;
use mongodb::bson::{Bson, DateTime, Document, doc};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};

use crate::support::Gateway;

/// A document with any fields.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Thing {
    #[serde(rename = "_id")]
    id: String,
    #[serde(flatten)]
    fields: Document,
    v: Version<1>,
}

impl Stored for Thing {
    const COLLECTION: &'static str = "things";
}

/// Documents of the test, and the conditions that each is compared with.
const DOCUMENTS: usize = 100;
const CONDITIONS: usize = 40;

/// One of these values.
fn one_of<T: Clone>(random: &mut StdRng, values: &[T]) -> T {
    values[random.random_range(0..values.len())].clone()
}

/// A value, or `None` for a missing field.
fn scalar(random: &mut StdRng) -> Option<Bson> {
    let number = random.random_range(-2..5);
    let all = [
        None,
        Some(Bson::Null),
        Some(Bson::Int32(number)),
        Some(Bson::Int64(number.into())),
        Some(Bson::Int64(1_000_000_000_000_000_000)),
        Some(Bson::Double(f64::from(number))),
        Some(Bson::Double(1.5)),
        Some("a".into()),
        Some("$b".into()),
        Some(true.into()),
        Some(false.into()),
    ];
    one_of(random, &all)
}

fn number(random: &mut StdRng) -> Option<Bson> {
    scalar(random).filter(|value| !matches!(value, Bson::String(_) | Bson::Boolean(_)))
}

fn scalars(random: &mut StdRng) -> Option<Bson> {
    let length = random.random_range(0..4);
    let all: Vec<Bson> = (0..length).filter_map(|_| scalar(random)).collect();
    one_of(random, &[None, Some(Bson::Null), Some(all.clone().into()), Some(all.into())])
}

fn fields(random: &mut StdRng, now: DateTime, depth: u32) -> Document {
    let time = |millis: i64| Bson::from(DateTime::from_millis(now.timestamp_millis() + millis));
    let at =
        [None, Some(Bson::Null), Some(time(-3_600_000)), Some(time(3_600_000)), Some(3.into())];
    let mut all = vec![
        ("state", scalar(random)),
        ("count", number(random)),
        ("cap", number(random)),
        ("list", scalars(random)),
        ("at", one_of(random, &at)),
    ];
    if depth > 0 {
        all.push(("sub", Some(fields(random, now, depth - 1).into())));
        let parts = random.random_range(0..3);
        let parts: Vec<_> = (0..parts).map(|_| fields(random, now, depth - 1)).collect();
        all.push(("parts", one_of(random, &[None, Some(parts.into())])));
    }
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn condition(random: &mut StdRng, depth: u32) -> Condition {
    let path = |random: &mut StdRng, field: &str| {
        let above = if depth > 1 { one_of(random, &["", "sub.", "parts."]) } else { "" };
        format!("{above}{field}")
    };
    // The sum of an array is an error.
    let single = |random: &mut StdRng, field: &str| {
        let above = if depth > 1 { one_of(random, &["", "sub."]) } else { "" };
        format!("{above}{field}")
    };
    let value = |random: &mut StdRng| scalar(random).unwrap_or(Bson::Null);
    let size = random.random_range(0..4_i64);
    let least = random.random_range(-2..5_i64);
    let inner = |random: &mut StdRng| condition(random, depth.saturating_sub(1));
    match random.random_range(0..if depth > 0 { 15 } else { 11 }) {
        0 => is(path(random, "state"), value(random)),
        1 => exists(path(random, "state")),
        2 => is_absent(path(random, "cap")),
        3 => contains(single(random, "list"), value(random)),
        4 => has_room(single(random, "list"), size),
        5 => is_past(path(random, "at")),
        6 => at_least(&*path(random, "count"), least),
        7 => at_least(least, &*path(random, "state")),
        8 => at_least(Number::FieldOr(single(random, "cap"), 2), Number::Value(least)),
        9 => at_least(
            Number::FieldOr(single(random, "cap"), 1_000_000_000_000_000_001),
            Number::Sum(single(random, "count"), least),
        ),
        10 => {
            let numbers = vec![path(random, "count"), single(random, "cap")];
            at_least(least, Number::Total(numbers))
        }
        11 => Condition::All(vec![inner(random), inner(random)]),
        12 => Condition::Any(vec![inner(random), inner(random)]),
        13 => inner(random).negated(),
        _ if depth > 1 => has_element("parts", [inner(random), condition(random, 0)]),
        _ => contains("parts.state", value(random)).negated(),
    }
}

async fn with_things(gateway: &Gateway, things: &[Thing]) -> Collection<Thing> {
    let collection = gateway.app.collection::<Thing>();
    for thing in things {
        assert!(matches!(collection.insert(thing).await, Outcome::Applied(())));
    }
    collection
}

#[tokio::test(flavor = "multi_thread")]
async fn mongodb_and_docgate_decide_every_condition_alike() {
    let gateway = Gateway::start().await;
    let mut random = StdRng::seed_from_u64(19);
    let now = gateway.begin().await.now();
    let thing = |number: usize| {
        let fields = fields(&mut random, now, 2);
        Thing { id: format!("thing-{number}"), fields, v: Version }
    };
    let things: Vec<Thing> = (0..DOCUMENTS).map(thing).collect();
    let collection = with_things(&gateway, &things).await;
    let (mut held, mut refused) = (0, 0);
    for round in 0..CONDITIONS {
        let conditions: Vec<_> = things.iter().map(|_| condition(&mut random, 3)).collect();
        let changes = things.iter().zip(&conditions).map(|(thing, condition)| {
            let set = doc! { "round": i64::try_from(round).expect("a number") };
            Change::ruled(&thing.id, [(condition.clone(), ())], set)
        });
        let writes = changes.map(|change| collection.change(change).held());
        let decided = join_all(writes).await;
        for ((thing, condition), decided) in things.iter().zip(&conditions).zip(decided) {
            let decided = decided.unwrap_or_else(|error| panic!("{error:?}: {condition:?}"));
            let change = Change::ruled(&thing.id, [(condition.clone(), ())], doc! {});
            let explained = change.broken(thing, now).is_none();
            assert_eq!(decided, explained, "{condition:?} of {:?}", thing.fields);
            if decided { held += 1 } else { refused += 1 }
        }
    }
    assert!(held > 800 && refused > 800, "{held} conditions held, {refused} didn't");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_broken_rule_is_the_reason_of_a_refusal() {
    let gateway = Gateway::start().await;
    let fields = doc! { "state": "OPEN", "count": 3_i64 };
    let things = with_things(&gateway, &[Thing { id: "a".into(), fields, v: Version }]).await;
    let run = gateway.begin().await;
    let change = |id: &str, state: &str, least: i64| {
        let rules = [(is("state", state), "state"), (at_least("count", least), "count")];
        Change::ruled(id, rules, doc! { "state": "CLOSED" })
    };
    let verdict = things.write(&change("a", "CLOSED", 4), &run).await.expect("a verdict");
    assert!(matches!(verdict, Verdict::Refused("state", _)), "{verdict:?}");
    let verdict = things.write(&change("a", "OPEN", 4), &run).await.expect("a verdict");
    assert!(
        matches!(&verdict, Verdict::Refused("count", thing) if thing.fields.get_i64("count").ok() == Some(3)),
        "{verdict:?}"
    );
    let verdict = things.write(&change("b", "OPEN", 4), &run).await.expect("a verdict");
    assert!(matches!(verdict, Verdict::Missing), "{verdict:?}");
    let verdict = things.write_and_read(&change("a", "OPEN", 3), &run).await.expect("a verdict");
    assert!(
        matches!(&verdict, Verdict::Applied(thing) if thing.fields.get_str("state").ok() == Some("CLOSED")),
        "{verdict:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_no_rule_refuses_ends_with_its_attempt() {
    let gateway = Gateway::start().await;
    let fields = doc! { "state": "OPEN" };
    let things = with_things(&gateway, &[Thing { id: "a".into(), fields, v: Version }]).await;
    let mut bounds = gateway.app.bounds();
    bounds.attempt = std::time::Duration::ZERO;
    let run = things.begin(bounds).await.expect("a run");
    let change = Change::ruled("a", [(is("state", "OPEN"), ())], doc! { "state": "CLOSED" });
    let verdict = things.write(&change, &run).await;
    assert!(matches!(verdict, Err(Error::Unavailable(_))), "{verdict:?}");
    let stored = things.get("a").await.expect("read").expect("there");
    assert_eq!(stored.fields.get_str("state").ok(), Some("OPEN"), "nothing changed");
}
