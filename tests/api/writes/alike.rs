//! Writes of different documents that are alike, and share a statement.

use docgate::{
    error::Error,
    mongo::{
        Collection, Outcome,
        expression::{filter, literal, not},
        guarded::{Alike, Guarded},
    },
};
use mongodb::bson::{Bson, Document, doc};

use super::{Tally, together, with_tallies};
use crate::support::Gateway;

static UNMARKING: Alike = Alike { name: "unmarking", of: unmarking, is_counted: false };
static COUNTED: Alike = Alike { name: "counted unmarking", of: unmarking, is_counted: true };

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
    unmark_as(&UNMARKING, tallies, id, mark)
}

fn unmark_as(
    alike: &'static Alike,
    tallies: &Collection<Tally>,
    id: &str,
    mark: &str,
) -> Guarded<Tally> {
    let (guard, set) = unmarking(&[mark.into()]);
    let mut filter = doc! { "_id": id };
    filter.extend(guard);
    tallies.set(filter, set).alike(alike, mark)
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

/// Without a write that is refused, all share the statement and are applied. With one, none can be told apart from it.
#[tokio::test(flavor = "multi_thread")]
async fn counted_writes_that_are_alike_dont_hide_a_refused_one() {
    for refused in [None, Some("missing"), Some("t5")] {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let tallies = with_marks(&gateway).await;
        gateway.proxy.as_ref().expect("a proxy").heal();
        let gone = unmark(&tallies, "t5", "first").done().await;
        assert!(matches!(gone, Outcome::Applied(())), "{gone:?}");
        let ids = ["t0", "t1", "t2", "t3", "t4"].into_iter().chain(refused);
        let writes = ids.map(|id| unmark_as(&COUNTED, &tallies, id, "first")).collect();
        for outcome in together(&gateway, &tallies, writes, None).await {
            let is_told = match outcome {
                Outcome::Applied(()) => refused.is_none(),
                Outcome::Refused => refused.is_some(),
                Outcome::Unknown(_) => false,
            };
            assert!(is_told, "{refused:?}: {outcome:?}");
        }
        let all = found(&tallies, &["t0", "t1", "t2", "t3", "t4", "t5"]).await;
        assert_eq!(all, [(2, 1), (2, 0), (2, 0), (2, 0), (2, 0), (2, 0)]);
    }
}
