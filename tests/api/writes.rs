//! Guarded writes that share commands: each has the outcome that it has by itself.

mod alike;
mod fates;
mod reference;
mod shared;

use std::time::{Duration, Instant};

use docgate::{
    config::Config,
    error::Error,
    mongo::{
        Collection, Outcome, Stored, Version,
        derived::Derived,
        expression::{append, literal},
        guarded::Guarded,
        indexes::Index,
        unhurried,
    },
};
use futures_util::{StreamExt as _, future::join_all};
use mongodb::bson::doc;
use serde::{Deserialize, Serialize};

use crate::{
    metrics::Samples,
    support::{Gateway, commands, proxy::Cut, until},
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

/// A tally as a type whose derived field counts how often it was computed.
#[derive(Debug, Serialize, Deserialize)]
struct Derivation {
    #[serde(default)]
    computed: i64,
}

impl Stored for Derivation {
    const COLLECTION: &'static str = Tally::COLLECTION;

    fn derived(_: &Config) -> Option<Derived> {
        let value = |_| doc! { "$add": [{ "$ifNull": ["$computed", 0_i64] }, 1_i64] }.into();
        Some(Derived { field: "computed", value, delay: 0 })
    }
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
async fn together<T: Stored>(
    gateway: &Gateway,
    tallies: &Collection<T>,
    writes: Vec<Guarded<T>>,
    way: Option<Cut>,
) -> Vec<Outcome<()>> {
    let ahead =
        ["first", "second"].map(|id| tallies.set(doc! { "_id": id }, doc! { "count": 1_i64 }));
    let calls = writes.into_iter().map(Guarded::done).collect();
    behind(gateway, "update", ahead.map(Guarded::done), calls, way).await
}

/// Makes the calls while two commands of this name, which those `ahead` send, are held, and then lets all go. `way` is
/// what happens to the first command after these two, which is that of all calls.
async fn behind<A, C>(
    gateway: &Gateway,
    command: &'static str,
    ahead: [A; 2],
    calls: Vec<C>,
    way: Option<Cut>,
) -> Vec<C::Output>
where
    A: Future<Output: Send> + Send + 'static,
    C: Future<Output: Send> + Send + 'static,
{
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(move |seen| seen.collection == "tallies" && seen.command == command);
    proxy.cut_all_from(0, Cut::Hold);
    let mut held = Vec::new();
    for call in ahead {
        held.push(tokio::spawn(call));
        until("the call is held", async || proxy.seen().len() >= held.len()).await;
    }
    let count = u32::try_from(calls.len()).expect("some calls");
    let queued: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiting = "docgate_writes_waiting{collection=\"tallies\"}";
    let all_wait = async || Samples::of(gateway).await.get(waiting) >= f64::from(count);
    until("all calls wait for a shared command", all_wait).await;
    match way {
        Some(way) => proxy.cut(0, way),
        None => proxy.heal(),
    }
    proxy.release().await;
    for call in held {
        let _outcome = call.await.expect("an outcome");
    }
    join_all(queued).await.into_iter().map(|outcome| outcome.expect("an outcome")).collect()
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
fn take<T: Stored>(tallies: &Collection<T>, id: &str, mark: &str) -> Guarded<T> {
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
async fn combined_writes_compute_the_derived_field_once() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[100]).await;
    let derivations = gateway.app.collection::<Derivation>();
    let takes = (0..60).map(|number| take(&derivations, "t0", &format!("m{number}")));
    let outcomes = together(&gateway, &derivations, takes.collect(), None).await;
    assert!(outcomes.iter().all(|one| matches!(one, Outcome::Applied(()))), "{outcomes:?}");
    assert_eq!(count(&tallies, "t0").await, Some(40));
    let computed = async || derivations.get("t0").await.expect("read").expect("there").computed;
    let times = computed().await;
    assert!((1..=3).contains(&times), "computed {times} times");
    // By itself.
    assert!(matches!(take(&derivations, "t0", "last").done().await, Outcome::Applied(())));
    assert_eq!(computed().await, times + 1);
}

/// Those that don't depend on each other share their stages, and those that do see what was changed before them.
#[tokio::test(flavor = "multi_thread")]
async fn combined_writes_that_share_stages_are_all_applied() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let tallies = with_tallies(&gateway, "t", &[100]).await;
    let give = |mark: String| {
        let guard = doc! { "_id": "t0", "$expr": { "$eq": ["$v", 1] } };
        let marks = append("$marks", vec![literal(mark)]);
        tallies.set(guard, doc! { "count": { "$add": ["$count", 1_i64] }, "marks": marks })
    };
    let gives = (0..30).map(|number| give(format!("g{number}")));
    let takes = (0..10).map(|number| take(&tallies, "t0", &format!("m{number}")));
    let outcomes = together(&gateway, &tallies, gives.chain(takes).collect(), None).await;
    assert!(outcomes.iter().all(|one| matches!(one, Outcome::Applied(()))), "{outcomes:?}");
    let tally = tallies.get("t0").await.expect("read").expect("there");
    let marks: std::collections::HashSet<_> = tally.marks.iter().collect();
    assert_eq!((tally.count, tally.marks.len(), marks.len()), (120, 41, 41));
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

/// Waits until the queue was full for a hundred of these writes. No other can end as long as MongoDB is silent.
async fn some_are_turned_away(queued: &[tokio::task::JoinHandle<Outcome<()>>]) {
    let ended = || queued.iter().filter(|write| write.is_finished()).count();
    until("the queue is full", async || ended() >= 100).await;
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
    some_are_turned_away(&queued).await;
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
        tokio::spawn(async move { tallies.insert(&tally).await })
    };
    let queued: Vec<_> = (0..8_192 + 500).map(insert).collect();
    proxy.reached().await;
    some_are_turned_away(&queued).await;
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
    assert!(since.elapsed() < Duration::from_secs(120), "{:?}", since.elapsed());
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
    // With the next write or, where the machine is slow, behind it.
    let late = unhurried_takes(&tallies, &ids[..10]);
    let other = take(&tallies, "t199", "now").done().await;
    assert!(matches!(other, Outcome::Applied(())), "{other:?}");
    all_applied(late).await;
    let before = updates(&gateway);
    assert!((1..=3).contains(&before), "{before} commands for 11 writes");
    // By themselves, after a time.
    let since = Instant::now();
    all_applied(unhurried_takes(&tallies, &ids[10..20])).await;
    assert!(since.elapsed() >= Duration::from_millis(100), "{:?}", since.elapsed());
    let sent = updates(&gateway) - before;
    assert!((1..=3).contains(&sent), "{sent} commands for 10 writes");
    // When there are many.
    all_applied(unhurried_takes(&tallies, &ids[20..])).await;
    for id in &ids {
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
    some_are_turned_away(&queued).await;
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
    let added = ann.explained(&query, variables).await;
    assert_eq!(commands(&added).len(), 4, "{added:#}");
    for sent in added["extensions"]["docgate"]["commands"].as_array().expect("commands") {
        assert_eq!(sent["sharedWith"], 0, "{sent:#}");
    }
}
