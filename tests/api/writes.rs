//! Guarded writes that share commands: each has the outcome that it has by itself.

use std::time::{Duration, Instant};

use docgate::{
    error::Error,
    mongo::{
        Collection, Outcome, Stored, Version,
        expression::{append, before, both, literal},
        guarded::Guarded,
        indexes::Index,
        unhurried,
    },
};
use futures_util::{StreamExt as _, future::join_all};
use mongodb::bson::{Bson, DateTime, Document, doc};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};

use crate::{
    metrics::Samples,
    support::{Gateway, commands, now_seconds, proxy::Cut},
};

/// A document of these tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tally {
    #[serde(rename = "_id")]
    id: String,
    count: i64,
    marks: Vec<String>,
    v: Version<1>,
}

impl Stored for Tally {
    const COLLECTION: &'static str = "tallies";
    const INDEXES: &'static [Index] = &[];
}

/// Inserts tallies with these counts, called `prefix` and a number.
async fn with_tallies(gateway: &Gateway, prefix: &str, counts: &[i64]) -> Collection<Tally> {
    let tally = |(number, count): (usize, &i64)| Tally {
        id: format!("{prefix}{number}"),
        count: *count,
        marks: vec!["first".into()],
        v: Version,
    };
    let tallies = gateway.app.collection::<Tally>();
    let all = counts.iter().enumerate().map(tally).collect();
    assert!(tallies.insert_many(all).await.expect("inserted").is_empty());
    tallies
}

/// The count of a tally that was read.
async fn count(tallies: &Collection<Tally>, id: &str) -> Option<i64> {
    tallies.get(id).await.expect("read").map(|tally| tally.count)
}

/// What a statement has to do, according to the rules of guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The count is this one afterwards.
    Applied(i64),
    Refused,
    /// MongoDB can't evaluate the update.
    Impossible,
}

fn fate(outcome: &Outcome<()>, to: i64) -> Option<Fate> {
    match outcome {
        Outcome::Applied(()) => Some(Fate::Applied(to)),
        Outcome::Refused => Some(Fate::Refused),
        Outcome::Unknown(Error::Internal(_)) => Some(Fate::Impossible),
        Outcome::Unknown(_) => None,
    }
}

/// A guard of a document whose count is `count`, and whether it holds.
fn guard(random: &mut StdRng, count: i64) -> (Document, bool) {
    let other = random.random_range(0..4_i64);
    let hour = 3_600_000;
    let now = i64::try_from(now_seconds() * 1_000).expect("a moment");
    match random.random_range(0..10) {
        0 => (doc! { "count": other }, count == other),
        1 => (doc! { "count": { "$gte": other } }, count >= other),
        2 => (doc! { "$expr": { "$lt": ["$count", other] } }, count < other),
        3 => (before(DateTime::from_millis(now + hour)), true),
        4 => (before(DateTime::from_millis(now - hour)), false),
        5 => (
            doc! { "$and": [{ "count": other }, { "count": 1_i64 }] },
            count == other && other == 1,
        ),
        6 => (doc! { "$or": [{ "count": other }, { "marks": "none" }] }, count == other),
        7 => (doc! { "marks": { "$ne": "first" } }, false),
        8 => (doc! { "marks.0": "first", "marks": { "$size": 1 } }, true),
        _ => (doc! { "$or": [{ "$expr": { "$eq": ["$count", other] } }] }, count == other),
    }
}

/// A statement for the document, which has this count or is missing, and its fate.
fn statement(random: &mut StdRng, id: &str, count: Option<i64>) -> (Document, Document, Fate, i64) {
    let mut filter = doc! { "_id": id };
    let mut holds = count.is_some();
    for _ in 0..random.random_range(0..3) {
        let (guard, this_holds) = guard(random, count.unwrap_or(0));
        filter = both(filter, guard);
        holds &= this_holds;
    }
    let more = random.random_range(1..100_i64);
    let to = count.unwrap_or(0) + more;
    let (set, is_possible): (Bson, bool) = match random.random_range(0..5) {
        // On a new document both fail, and so does the last one on a stored document.
        0 => (
            doc! { "$add": ["$count", { "$multiply": [{ "$size": "$marks" }, more] }] }.into(),
            true,
        ),
        1 => (doc! { "$toInt": "$_id" }.into(), false),
        2 => (literal(to), true),
        _ => (doc! { "$add": ["$count", more] }.into(), true),
    };
    let fate = match (holds, is_possible) {
        (false, _) => Fate::Refused,
        (true, true) => Fate::Applied(to),
        (true, false) => Fate::Impossible,
    };
    (filter, doc! { "count": set }, fate, to)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_statements_in_batches_have_the_outcomes_that_they_have_alone() {
    let gateway = Gateway::start().await;
    let mut random = StdRng::seed_from_u64(20);
    for round in 0..50 {
        let prefix = format!("{round}-");
        let counts: Vec<i64> = (0..180).map(|_| random.random_range(0..4)).collect();
        let tallies = with_tallies(&gateway, &prefix, &counts).await;
        let calls = (0..200).map(|number| {
            // The last twenty documents don't exist.
            let id = format!("{prefix}{number}");
            let found = counts.get(number).copied();
            let (filter, set, fate, to) = statement(&mut random, &id, found);
            let write = tallies.set(filter.clone(), set.clone());
            let said = tokio::spawn(write.done());
            async move { (id, found, (filter, set), fate, to, said.await.expect("an outcome")) }
        });
        for (id, found, sent, expected, to, outcome) in join_all(calls).await {
            assert_eq!(fate(&outcome, to), Some(expected), "{sent:?} on {found:?}: {outcome:?}");
            let now = match expected {
                Fate::Applied(to) => Some(to),
                _ => found,
            };
            assert_eq!(count(&tallies, &id).await, now, "{sent:?}");
        }
    }
    let samples = Samples::of(&gateway).await;
    let shared =
        |of: &str| samples.get(&format!("docgate_write_statements_{of}{{collection=\"tallies\"}}"));
    assert!(shared("sum") > 5_000.0, "{} statements shared a command", shared("sum"));
    assert!(shared("sum") / shared("count") > 10.0, "in {} commands", shared("count"));
}

/// Queues a step of each tally from 1 to 2 while commands are held, and then lets all go. `way` is what happens to the
/// first command that wasn't held, which is that of a batch. With `is_marked`, each step names the count by which it
/// is recognised.
async fn steps(
    gateway: &Gateway,
    tallies: &Collection<Tally>,
    ids: &[String],
    way: Option<Cut>,
    is_marked: bool,
) -> Vec<Outcome<()>> {
    let step = |id: &String| {
        let filter = doc! { "_id": id, "count": 1_i64 };
        let step = tallies.set(filter, doc! { "count": 2_i64 });
        if is_marked { step.applied_if(doc! { "_id": id, "count": 2_i64 }) } else { step }
    };
    together(gateway, tallies, ids.iter().map(step).collect(), way).await
}

/// Queues the writes while as many commands are held as may be on their way; see [`steps`].
async fn together(
    gateway: &Gateway,
    tallies: &Collection<Tally>,
    writes: Vec<Guarded<Tally>>,
    way: Option<Cut>,
) -> Vec<Outcome<()>> {
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    let mut ahead = Vec::new();
    for id in ["first", "second"] {
        ahead.push(tokio::spawn(tallies.set(doc! { "_id": id }, doc! { "count": 1_i64 }).done()));
        while proxy.seen().len() < ahead.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let queued: Vec<_> = writes.into_iter().map(|write| tokio::spawn(write.done())).collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    match way {
        Some(way) => proxy.cut(0, way),
        None => proxy.heal(),
    }
    proxy.release().await;
    for outcome in join_all(ahead).await {
        let _outcome = outcome.expect("an outcome");
    }
    let outcomes = join_all(queued).await;
    outcomes.into_iter().map(|outcome| outcome.expect("an outcome")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_cut_harms_nothing() {
    for (way, is_known) in [
        (None, true),
        // Sent again, which the server carries out for the first time.
        (Some(Cut::BeforeForwarding), true),
        (Some(Cut::Refused), false),
        (Some(Cut::Unsure), false),
        (Some(Cut::ReplyLost), false),
    ] {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let mut counts = vec![1; 50];
        // Refused in any case.
        counts[7] = 5;
        let tallies = with_tallies(&gateway, "t", &counts).await;
        let ids: Vec<_> = (0..50).map(|number| format!("t{number}")).collect();
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        let outcomes = steps(&gateway, &tallies, &ids, way, false).await;
        if way.is_some() {
            proxy.reached().await;
        }
        proxy.heal();
        for (number, (id, outcome)) in ids.iter().zip(&outcomes).enumerate() {
            let now = count(&tallies, id).await.expect("there");
            match outcome {
                Outcome::Applied(()) => assert_eq!((now, number == 7), (2, false), "{way:?} {id}"),
                Outcome::Refused => assert_eq!((now, number), (5, 7), "{way:?} {id}"),
                Outcome::Unknown(error) => {
                    // A refusal by the second command may be the work of the first.
                    let is_sent_again = way == Some(Cut::BeforeForwarding);
                    let may_be_unknown = !is_known || is_sent_again && number == 7;
                    assert!(may_be_unknown, "{way:?} {id}: {error:?}");
                    assert!(now <= 2 || number == 7, "{way:?} {id}");
                }
            }
        }
        // Each caller repeats: what was applied is refused, and everything is done once.
        for (number, id) in ids.iter().enumerate() {
            let again = tallies.set(doc! { "_id": id, "count": 1_i64 }, doc! { "count": 2_i64 });
            assert!(!matches!(again.done().await, Outcome::Unknown(_)));
            let expected = if number == 7 { 5 } else { 2 };
            assert_eq!(count(&tallies, id).await, Some(expected), "{way:?} {id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_reply_leaves_open_is_decided_by_the_document() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let mut counts = vec![1; 52];
    // Refused in any case, which the gateway can't know.
    counts[7] = 5;
    let tallies = with_tallies(&gateway, "t", &counts).await;
    let ids: Vec<_> = (0..50).map(|number| format!("t{number}")).collect();
    let outcomes = steps(&gateway, &tallies, &ids, Some(Cut::ReplyLost), true).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.reached().await;
    for (number, (id, outcome)) in ids.iter().zip(&outcomes).enumerate() {
        let (is_told, expected) = match outcome {
            Outcome::Unknown(Error::Unavailable(_)) => (number == 7, 5),
            Outcome::Applied(()) => (number != 7, 2),
            _ => (false, 0),
        };
        assert!(is_told, "{id}: {outcome:?}");
        assert_eq!(count(&tallies, id).await, Some(expected), "{id}");
    }
    // By themselves.
    let step = |id: &'static str| {
        let step = tallies.set(doc! { "_id": id, "count": 1_i64 }, doc! { "count": 2_i64 });
        step.applied_if(doc! { "_id": id, "count": 2_i64 })
    };
    proxy.cut(0, Cut::ReplyLost);
    assert!(matches!(step("t50").done().await, Outcome::Applied(())));
    proxy.reached().await;
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "findAndModify");
    proxy.cut(0, Cut::ReplyLost);
    let after = step("t51").then_read().await.expect("an outcome");
    assert_eq!(after.map(|after| after.count), Some(2));
    proxy.reached().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_on_one_document_see_each_other() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[1]).await;
    let ids = vec!["t0".to_owned(); 20];
    let outcomes = steps(&gateway, &tallies, &ids, None, false).await;
    let applied = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Applied(()))).count();
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Refused)).count();
    assert_eq!((applied, refused), (1, 19), "{outcomes:?}");
    assert_eq!(count(&tallies, "t0").await, Some(2));
}

/// Takes one from the tally, once per mark, if there is one.
fn take(tallies: &Collection<Tally>, id: &str, mark: &str) -> Guarded<Tally> {
    let is_new = doc! { "$not": [{ "$in": [literal(mark), "$marks"] }] };
    let guard = doc! { "_id": id, "$expr": { "$and": [{ "$gt": ["$count", 0] }, is_new] } };
    let marks = append("$marks", vec![literal(mark)]);
    tallies.set(guard, doc! { "count": { "$subtract": ["$count", 1_i64] }, "marks": marks })
}

/// Sixty takes of a tally that has `count`: how many are applied, and how often the document is written.
async fn takes(count: i64, way: Option<Cut>) -> (Vec<Outcome<()>>, usize, Tally) {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[count, 3, 3]).await;
    let raw = gateway.raw("tallies");
    let mut changes = raw.watch().await.expect("a change stream");
    let mut writes: Vec<_> =
        (0..60).map(|number| take(&tallies, "t0", &format!("m{number}"))).collect();
    // Others share the command.
    writes.push(take(&tallies, "t1", "other"));
    writes.push(tallies.set(doc! { "_id": "t2", "count": 3_i64 }, doc! { "count": 2_i64 }));
    let mut outcomes = together(&gateway, &tallies, writes, way).await;
    gateway.proxy.as_ref().expect("a proxy").heal();
    assert!(outcomes.pop().is_some_and(|outcome| !matches!(outcome, Outcome::Refused)));
    assert!(outcomes.pop().is_some_and(|outcome| !matches!(outcome, Outcome::Refused)));
    let mut written = 0;
    while let Ok(change) = tokio::time::timeout(Duration::from_secs(1), changes.next()).await {
        let change = change.expect("open").expect("a change");
        let of = change.document_key.expect("a key");
        written += usize::from(of.get_str("_id").is_ok_and(|id| id == "t0"));
    }
    let tally = tallies.get("t0").await.expect("read").expect("there");
    (outcomes, written, tally)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_one_document_are_combined() {
    let (outcomes, written, tally) = takes(100, None).await;
    assert!(outcomes.iter().all(|one| matches!(one, Outcome::Applied(()))), "{outcomes:?}");
    assert!(written <= 3, "the document was written {written} times");
    assert_eq!((tally.count, tally.marks.len()), (40, 61));
}

#[tokio::test(flavor = "multi_thread")]
async fn combined_writes_are_refused_one_by_one() {
    let (outcomes, _, tally) = takes(40, None).await;
    let applied = outcomes.iter().filter(|one| matches!(one, Outcome::Applied(()))).count();
    let refused = outcomes.iter().filter(|one| matches!(one, Outcome::Refused)).count();
    assert_eq!((applied, refused, tally.count), (40, 20, 0), "{outcomes:?}");
    for (number, outcome) in outcomes.iter().enumerate() {
        let is_marked = tally.marks.contains(&format!("m{number}"));
        assert_eq!(matches!(outcome, Outcome::Applied(())), is_marked, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn combined_writes_that_are_cut_are_applied_once_or_not_at_all() {
    for way in [Cut::BeforeForwarding, Cut::Refused, Cut::Unsure, Cut::ReplyLost] {
        let (outcomes, _, tally) = takes(100, Some(way)).await;
        for (number, outcome) in outcomes.iter().enumerate() {
            let mark = format!("m{number}");
            let marks = tally.marks.iter().filter(|found| **found == mark).count();
            match outcome {
                Outcome::Applied(()) => assert_eq!(marks, 1, "{way:?} {mark}"),
                Outcome::Unknown(_) => assert!(marks <= 1, "{way:?} {mark}"),
                Outcome::Refused => panic!("{way:?}: none lacks anything"),
            }
        }
        let taken = tally.marks.iter().filter(|mark| *mark != "first").count();
        assert_eq!(i64::try_from(taken).expect("a few"), 100 - tally.count, "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_no_command_can_carry_harms_only_itself() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[1; 10]).await;
    let huge = "x".repeat(17 << 20);
    let too_large = tallies.set(doc! { "_id": "t0" }, doc! { "marks": [literal(huge)] });
    let unknown = tallies.set(doc! { "_id": "t1" }, doc! { "count": { "$nothing": 1 } });
    let ids: Vec<_> = (2..10).map(|number| format!("t{number}")).collect();
    let (outcomes, too_large, unknown) = tokio::join!(
        steps(&gateway, &tallies, &ids, None, false),
        async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            too_large.done().await
        },
        async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            unknown.done().await
        },
    );
    assert!(matches!(too_large, Outcome::Unknown(_)), "{too_large:?}");
    assert!(matches!(unknown, Outcome::Unknown(Error::Internal(_))), "{unknown:?}");
    assert!(outcomes.iter().all(|one| matches!(one, Outcome::Applied(()))), "{outcomes:?}");
}

/// Of these writes those that are queued are refused by their guard, and the others because the queue is full.
async fn assert_bounded(queued: Vec<tokio::task::JoinHandle<Outcome<()>>>) {
    let (mut refused, mut turned_away) = (0, 0);
    for outcome in join_all(queued).await {
        match outcome.expect("an outcome") {
            Outcome::Refused => refused += 1,
            Outcome::Unknown(Error::Unavailable(_)) => turned_away += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(refused >= 8_192 && turned_away >= 100, "{refused} refused, {turned_away} turned away");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_mongodb_is_silent_the_queue_is_bounded() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[1]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    let write = || tallies.set(doc! { "_id": "t0", "count": 0_i64 }, doc! { "count": 9_i64 });
    let queued: Vec<_> = (0..8_192 + 500).map(|_| tokio::spawn(write().done())).collect();
    proxy.reached().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let sent = proxy.seen().len();
    assert!(sent <= 2, "{sent} commands on their way");
    proxy.heal();
    proxy.release().await;
    assert_bounded(queued).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_mongodb_is_silent_the_queue_of_inserts_is_bounded() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = gateway.app.collection::<Tally>();
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "insert");
    proxy.cut_all_from(0, Cut::Hold);
    let insert = |number: usize| {
        let (id, tallies) = (format!("new-{number}"), tallies.clone());
        let tally = Tally { id, count: 1, marks: Vec::new(), v: Version };
        tokio::spawn(async move { tallies.insert(tally).await })
    };
    let queued: Vec<_> = (0..8_192 + 500).map(insert).collect();
    proxy.reached().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let sent = proxy.seen().len();
    assert!(sent <= 2, "{sent} commands on their way");
    proxy.heal();
    proxy.release().await;
    let (mut inserted, mut turned_away) = (0, 0);
    for outcome in join_all(queued).await {
        match outcome.expect("an outcome") {
            Outcome::Applied(()) => inserted += 1,
            Outcome::Unknown(Error::Unavailable(_)) => turned_away += 1,
            other => panic!("{other:?}"),
        }
    }
    let stored = gateway.raw("tallies").count_documents(doc! {}).await.expect("counted");
    assert_eq!(stored, inserted, "those that are turned away are never sent");
    assert!(inserted >= 8_192 && turned_away >= 100, "{inserted}, {turned_away} turned away");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_mongodb_is_slow_or_away_callers_are_told_so() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[1; 200]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let step = |id: &String, by: i64| {
        let count = doc! { "$add": ["$count", by] };
        tokio::spawn(tallies.set(doc! { "_id": id }, doc! { "count": count }).done())
    };
    let ids: Vec<_> = (0..200).map(|number| format!("t{number}")).collect();
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "update");
    // For five seconds there is no reply to any command.
    proxy.cut_all_from(0, Cut::Hold);
    let slow: Vec<_> = ids.iter().map(|id| step(id, 1)).collect();
    proxy.reached().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    proxy.heal();
    proxy.release().await;
    for outcome in join_all(slow).await {
        let outcome = outcome.expect("an outcome");
        assert!(matches!(outcome, Outcome::Applied(())), "{outcome:?}");
    }
    // Then it is away.
    proxy.cut_all_from(0, Cut::BeforeForwarding);
    let since = Instant::now();
    for outcome in join_all(ids.iter().map(|id| step(id, 10))).await {
        let outcome = outcome.expect("an outcome");
        assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    }
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    proxy.heal();
    for id in &ids {
        assert_eq!(count(&tallies, id).await, Some(2), "{id}");
    }
    assert!(matches!(step(&ids[0], 100).await.expect("an outcome"), Outcome::Applied(())));
}

/// Takes one from each of these tallies, unhurried.
fn unhurried_takes(
    tallies: &Collection<Tally>,
    ids: &[String],
) -> Vec<tokio::task::JoinHandle<Outcome<()>>> {
    let take = |id: &String| tokio::spawn(unhurried(take(tallies, id, "late").done()));
    ids.iter().map(take).collect()
}

/// Number of commands that the tallies' writers have sent.
fn updates(gateway: &Gateway) -> usize {
    gateway.proxy.as_ref().expect("a proxy").seen().len()
}

async fn all_applied(writes: Vec<tokio::task::JoinHandle<Outcome<()>>>) {
    for outcome in join_all(writes).await {
        let outcome = outcome.expect("an outcome");
        assert!(matches!(outcome, Outcome::Applied(())), "{outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_for_which_nobody_waits_are_sent_with_others() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[5; 200]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "update");
    proxy.record();
    let ids: Vec<_> = (0..199).map(|number| format!("t{number}")).collect();
    // With the next write.
    let late = unhurried_takes(&tallies, &ids[..10]);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(updates(&gateway), 0);
    let other = take(&tallies, "t199", "now").done().await;
    assert!(matches!(other, Outcome::Applied(())), "{other:?}");
    all_applied(late).await;
    assert_eq!(updates(&gateway), 1);
    // By themselves, after a time.
    let since = Instant::now();
    all_applied(unhurried_takes(&tallies, &ids[10..20])).await;
    assert!(since.elapsed() >= Duration::from_millis(100), "{:?}", since.elapsed());
    assert_eq!(updates(&gateway), 2);
    // At once, when there are many.
    let since = Instant::now();
    all_applied(unhurried_takes(&tallies, &ids[20..84])).await;
    assert!(since.elapsed() < Duration::from_millis(100), "{:?}", since.elapsed());
    assert_eq!(updates(&gateway), 3);
    for id in &ids[..84] {
        assert_eq!(count(&tallies, id).await, Some(4), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_mongodb_is_silent_the_second_queue_is_bounded() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[0]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "tallies" && seen.command == "update");
    proxy.cut_all_from(0, Cut::Hold);
    let ids = vec!["t0".to_owned(); 8_192 + 1_000];
    let queued = unhurried_takes(&tallies, &ids);
    proxy.reached().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    proxy.heal();
    proxy.release().await;
    assert_bounded(queued).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_is_sent_by_itself_where_the_operator_wants_it() {
    let gateway = Gateway::with(|config| config.coalesce_writes = false).await;
    let tallies = with_tallies(&gateway, "t", &[1; 30]).await;
    let step = |number: usize| {
        let filter = doc! { "_id": format!("t{number}"), "count": 1_i64 };
        tokio::spawn(tallies.set(filter, doc! { "count": 2_i64 }).done())
    };
    for outcome in join_all((0..30).map(step)).await {
        assert!(matches!(outcome.expect("an outcome"), Outcome::Applied(())));
    }
    let labels = "collection=\"tallies\",command=\"update\",outcome=\"ok\"";
    let sent =
        Samples::of(&gateway).await.get(&format!("docgate_mongodb_commands_total{{{labels}}}"));
    assert!((sent - 30.0).abs() < 0.5, "{sent} commands for 30 writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_tells_with_how_many_others_a_write_shared_its_command() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    crate::shop::stocked(&gateway, "a", 250, 10).await;
    let cart = crate::shop::cart(&ann, "RESERVE", &[]).await;
    let (query, variables) = crate::support::Client::adding(&cart, "a", 1, Some("op"));
    let added = ann.run(&query, variables).await;
    assert_eq!(commands(&added).len(), 4, "{added:#}");
    for sent in added["extensions"]["docgate"]["commands"].as_array().expect("commands") {
        assert_eq!(sent["sharedWith"], 0, "{sent:#}");
    }
}
