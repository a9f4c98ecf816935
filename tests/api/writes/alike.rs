//! Writes of different documents that are alike, and share a statement.

use docgate::{
    error::Error,
    mongo::{
        Collection, Outcome, Version,
        expression::{filter, literal, not},
        guarded::{Alike, Guarded},
    },
};
use mongodb::bson::{Bson, Document, doc};

use super::{Tally, together, with_tallies};
use crate::support::Gateway;

static UNMARKING: Alike = Alike { name: "unmarking", is_certain: false, of: unmarking };

/// Removes these marks from the documents that have them, and counts one for each.
fn unmarking(marks: &[Bson]) -> (Document, Document) {
    let is_one = doc! { "$in": ["$$this", literal(marks.to_vec())] };
    let count = doc! { "$size": filter("$marks", is_one.clone()) };
    let set = doc! {
        "count": { "$add": ["$count", count] }, "marks": filter("$marks", not(is_one)),
    };
    (doc! { "marks": { "$in": marks.to_vec() } }, set)
}

fn unmark(tallies: &Collection<Tally>, id: &str, mark: &str) -> Guarded<Tally> {
    let (guard, set) = unmarking(&[mark.into()]);
    let mut filter = doc! { "_id": id };
    filter.extend(guard);
    tallies.set(filter, set).alike(&UNMARKING, mark)
}

/// Removes the mark of each of these tallies while commands are held. The first one also loses another mark, and one isn't
/// there.
async fn unmarked(gateway: &Gateway, tallies: &Collection<Tally>) -> Vec<Outcome<()>> {
    let mut writes: Vec<_> =
        (0..5).map(|number| unmark(tallies, &format!("t{number}"), "first")).collect();
    writes.push(unmark(tallies, "t0", "other"));
    writes.push(unmark(tallies, "missing", "first"));
    // It shares the command, and not the statement.
    writes.push(tallies.set(doc! { "_id": "t5", "count": 1_i64 }, doc! { "count": 2_i64 }));
    together(gateway, tallies, writes, None).await
}

/// The counts and the numbers of marks.
async fn found(tallies: &Collection<Tally>, ids: &[&str]) -> Vec<(i64, usize)> {
    let mut all = Vec::new();
    for id in ids {
        let tally = tallies.get(id).await.expect("read").expect("there");
        all.push((tally.count, tally.marks.len()));
    }
    all
}

async fn with_marks(gateway: &Gateway) -> Collection<Tally> {
    let tallies = with_tallies(gateway, "t", &[1; 7]).await;
    let more = doc! { "$push": { "marks": "other" } };
    gateway.raw("tallies").update_one(doc! { "_id": "t0" }, more).await.expect("marked");
    tallies
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_are_alike_change_each_of_their_documents_once() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_marks(&gateway).await;
    let outcomes = unmarked(&gateway, &tallies).await;
    assert!(outcomes.iter().all(|one| matches!(one, Outcome::Applied(()))), "{outcomes:?}");
    let all = found(&tallies, &["t0", "t1", "t2", "t3", "t4", "t5", "t6"]).await;
    assert_eq!(all, [(3, 0), (2, 0), (2, 0), (2, 0), (2, 0), (2, 1), (1, 1)]);
    // By itself, a write is told what became of it.
    gateway.proxy.as_ref().expect("a proxy").heal();
    assert!(matches!(unmark(&tallies, "t1", "first").done().await, Outcome::Refused));
    assert!(matches!(unmark(&tallies, "t6", "first").done().await, Outcome::Applied(())));
    assert_eq!(found(&tallies, &["t1", "t6"]).await, [(2, 0), (2, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cant_be_changed_spoils_only_its_own_write() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_marks(&gateway).await;
    let odd = doc! { "$set": { "count": "three" } };
    gateway.raw("tallies").update_one(doc! { "_id": "t2" }, odd).await.expect("damaged");
    let outcomes = unmarked(&gateway, &tallies).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        // Those that were changed before it are refused when they are sent again.
        let is_told = match outcome {
            Outcome::Applied(()) => number != 2,
            Outcome::Refused => !matches!(number, 2 | 7),
            Outcome::Unknown(Error::Internal(_)) => number == 2,
            Outcome::Unknown(_) => false,
        };
        assert!(is_told, "{number}: {outcome:?}");
    }
    let all = found(&tallies, &["t0", "t1", "t3", "t4", "t5", "t6"]).await;
    assert_eq!(all, [(3, 0), (2, 0), (2, 0), (2, 0), (2, 1), (1, 1)]);
}

static TAKING: Alike = Alike { name: "taking", is_certain: true, of: taking };

/// Takes one from the documents that have one and none of these marks, and marks them.
fn taking(marks: &[Bson]) -> (Document, Document) {
    let known = doc! { "$setIntersection": ["$marks", literal(marks.to_vec())] };
    let set = doc! {
        "count": { "$subtract": ["$count", 1_i64] },
        "marks": { "$concatArrays": ["$marks", literal(marks.to_vec())] },
    };
    (doc! { "$and": [{ "$gt": ["$count", 0] }, { "$eq": [known, []] }] }, set)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_are_alike_and_certain_are_refused_each_by_itself() {
    for lacking in [None, Some("empty"), Some("missing")] {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let tallies = with_tallies(&gateway, "t", &[3; 4]).await;
        let empty = Tally { id: "empty".into(), count: 0, marks: Vec::new(), v: Version };
        assert!(tallies.insert_many(vec![empty]).await.expect("inserted").is_empty());
        let take = |id: &str| {
            let (guard, set) = taking(&["a".into()]);
            tallies.set(doc! { "_id": id, "$expr": guard }, set).alike(&TAKING, "a")
        };
        let mut writes: Vec<_> = ["t0", "t1", "t2", "t3"].into_iter().map(take).collect();
        writes.extend(lacking.map(take));
        let outcomes = together(&gateway, &tallies, writes, None).await;
        for (number, outcome) in outcomes.iter().enumerate() {
            let is_told = match outcome {
                Outcome::Applied(()) => number < 4,
                // Those that were changed before the one that lacks something are refused when they are sent again.
                Outcome::Refused => lacking.is_some(),
                Outcome::Unknown(_) => false,
            };
            assert!(is_told, "{lacking:?} {number}: {outcome:?}");
        }
        let all = found(&tallies, &["t0", "t1", "t2", "t3", "empty"]).await;
        assert_eq!(all, [(2, 2), (2, 2), (2, 2), (2, 2), (0, 0)], "{lacking:?}");
    }
}
