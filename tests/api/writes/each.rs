//! A write that is made of each of several documents, which is one statement of a shared command.

use docgate::mongo::{
    Collection, Outcome,
    expression::{append, literal},
    guarded::Guarded,
};
use mongodb::bson::doc;

use super::{Tally, count, together, with_tallies};
use crate::support::{Gateway, proxy::Cut};

/// Takes one from each of these tallies, once per mark, if there is one.
fn take_of_each(tallies: &Collection<Tally>, ids: &[&str], mark: &str) -> Vec<Guarded<Tally>> {
    let is_new = doc! { "$not": [{ "$in": [literal(mark), "$marks"] }] };
    let guard = doc! { "$expr": { "$and": [{ "$gt": ["$count", 0] }, is_new] } };
    let marks = append("$marks", vec![literal(mark)]);
    let set = doc! { "count": { "$subtract": ["$count", 1_i64] }, "marks": marks };
    tallies.set(guard, set).of_each(ids.iter().map(|id| (*id).to_owned()))
}

/// The count of each tally that is there, and how often it has the mark.
async fn found(tallies: &Collection<Tally>, ids: &[&str], mark: &str) -> Vec<(i64, usize)> {
    let mut all = Vec::new();
    for id in ids {
        if let Some(tally) = tallies.get(id).await.expect("read") {
            let marks = tally.marks.iter().filter(|found| *found == mark).count();
            all.push((tally.count, marks));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_each_changes_each_of_its_documents_once() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[3; 6]).await;
    let mut writes = take_of_each(&tallies, &["t0", "t1", "t2", "t3"], "a");
    // Both change one of the tallies.
    writes.extend(take_of_each(&tallies, &["t3", "t4", "t5"], "b"));
    // It shares the command, and not the statement.
    writes.push(tallies.set(doc! { "_id": "t0", "count": 2_i64 }, doc! { "count": 1_i64 }));
    let outcomes = together(&gateway, &tallies, writes, None).await;
    let (last, takes) = outcomes.split_last().expect("outcomes");
    assert!(takes.iter().all(|one| matches!(one, Outcome::Applied(()))), "{takes:?}");
    let changed = if matches!(last, Outcome::Applied(())) { 1 } else { 2 };
    assert_eq!(count(&tallies, "t0").await, Some(changed), "{last:?}");
    let first = found(&tallies, &["t1", "t2", "t3", "t4", "t5"], "a").await;
    assert_eq!(first, [(2, 1), (2, 1), (1, 1), (2, 0), (2, 0)]);
    let second = found(&tallies, &["t3", "t4", "t5"], "b").await;
    assert_eq!(second, [(1, 1), (2, 1), (2, 1)]);
    // A repeat changes nothing.
    gateway.proxy.as_ref().expect("a proxy").heal();
    for again in take_of_each(&tallies, &["t1", "t2"], "a") {
        assert!(matches!(again.done().await, Outcome::Refused));
    }
    assert_eq!(found(&tallies, &["t1", "t2"], "a").await, [(2, 1), (2, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_refuses_a_write_of_each_or_is_missing_harms_no_other_document() {
    for ids in [["t0", "t1", "t2", "t3"], ["t0", "missing", "t2", "t3"]] {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let tallies = with_tallies(&gateway, "t", &[3, 0, 3, 3, 3, 3]).await;
        let mut writes = take_of_each(&tallies, &ids, "a");
        writes.extend(take_of_each(&tallies, &["t4", "t5"], "a"));
        let outcomes = together(&gateway, &tallies, writes, None).await;
        for (number, outcome) in outcomes.iter().enumerate() {
            // Those that were changed before can be refused when they are sent again.
            let is_told = match outcome {
                Outcome::Applied(()) => number != 1,
                Outcome::Refused => true,
                Outcome::Unknown(_) => false,
            };
            assert!(is_told, "{number}: {outcome:?}");
        }
        let all = found(&tallies, &["t0", "t1", "t2", "t3", "t4", "t5"], "a").await;
        assert_eq!(all, [(2, 1), (0, 0), (2, 1), (2, 1), (2, 1), (2, 1)], "{ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_each_that_is_cut_is_applied_once_or_not_at_all() {
    for way in [Cut::BeforeForwarding, Cut::Refused, Cut::Unsure, Cut::ReplyLost] {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let tallies = with_tallies(&gateway, "t", &[3; 4]).await;
        let ids = ["t0", "t1", "t2", "t3"];
        let writes = take_of_each(&tallies, &ids, "a");
        let outcomes = together(&gateway, &tallies, writes, Some(way)).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.reached().await;
        proxy.heal();
        let all = found(&tallies, &ids, "a").await;
        for (outcome, (left, marks)) in outcomes.iter().zip(all) {
            assert!(marks <= 1, "{way:?} {outcome:?}");
            assert_eq!(left, if marks == 1 { 2 } else { 3 }, "{way:?} {outcome:?}");
            match outcome {
                Outcome::Applied(()) => assert_eq!(marks, 1, "{way:?}"),
                Outcome::Unknown(_) => {}
                Outcome::Refused => panic!("{way:?}: none lacks anything"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_names_its_election_and_counts_no_document_of_a_failed_statement() {
    let gateway = Gateway::start().await;
    with_tallies(&gateway, "t", &[1, 1, 0]).await;
    // As a write of each is sent: the third tally refuses it.
    let fails = doc! { "$toInt": { "$concat": ["refused:", "$_id"] } };
    let check = doc! { "$cond": [{ "$gt": ["$count", 0] }, "$_id", fails] };
    let take = doc! { "_id": check, "count": { "$subtract": ["$count", 1_i64] } };
    let statement = doc! {
        "q": { "_id": { "$in": ["t0", "t1", "t2"] } }, "u": [{ "$set": take }],
        "multi": true, "hint": "_id_",
    };
    let update = doc! { "update": "tallies", "updates": [statement], "ordered": false };
    let reply = gateway.database.run_command(update).await.expect("a reply");
    // By this the gateway tells it from a router, which counts those that other shards have changed.
    assert!(reply.contains_key("electionId"), "{reply}");
    assert_eq!(reply.get_i32("n").ok(), Some(0), "{reply}");
    assert_eq!(reply.get_array("writeErrors").map_or(0, Vec::len), 1, "{reply}");
}
