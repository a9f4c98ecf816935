//! The kit by itself: guarded writes, runs, idempotency keys, copies, leases and pages.

use std::time::Duration;

use docgate::{
    error::Error,
    flow::{Change, Decider, Op, OpRecord, OtherInput, Try, lease::Lease},
    mongo::{
        Collection, Outcome, Placement, Stored, Version, batched,
        copies::CopyPath,
        expression::{literal, older_than, whole},
        indexes::{Declared, Index},
    },
};
use futures_util::future::join_all;
use mongodb::{
    IndexModel,
    bson::{DateTime, Document, doc},
    options::IndexOptions,
};
use serde::{Deserialize, Serialize};

use crate::support::{Gateway, proxy::Cut};

/// A document of the tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Thing {
    #[serde(rename = "_id")]
    id: String,
    count: i64,
    #[serde(default)]
    ops: Vec<OpRecord>,
    #[serde(default)]
    copies: Vec<Copied>,
    v: Version<1>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Copied {
    id: String,
    name: String,
    version: i64,
}

impl Decider for Thing {
    fn ops(&self) -> &[OpRecord] {
        &self.ops
    }
}

impl Stored for Thing {
    const COLLECTION: &'static str = "things";
    const INDEXES: &'static [Index] =
        &[Index::plain("copies", "copies.id copies.version", "copies")];
}

fn thing(id: &str, count: i64) -> Thing {
    Thing { id: id.into(), count, ops: vec![], copies: vec![], v: Version }
}

async fn with_things(gateway: &Gateway, things: &[Thing]) -> Collection<Thing> {
    let declared = Declared {
        name: Thing::COLLECTION,
        indexes: Thing::INDEXES,
        group: Thing::GROUP,
        shard_key: Thing::SHARD_KEY,
    };
    docgate::mongo::indexes::apply(
        &Placement::in_one(&gateway.database),
        &[declared],
        false,
        |_| {},
    )
    .await
    .expect("indexes");
    let collection = gateway.app.collection::<Thing>();
    for thing in things {
        assert!(matches!(collection.insert(thing).await, Outcome::Applied(())));
    }
    collection
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_at_one_guard_as_many_win_as_it_admits() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[thing("a", 5)]).await;
    let writers = (0..64).map(|_| {
        let things = things.clone();
        tokio::spawn(async move {
            let guard = doc! { "_id": "a", "count": { "$gt": 0 } };
            let outcome = things.guarded(guard, doc! { "$inc": { "count": -1_i64 } }).send().await;
            outcome.decided().expect("an outcome").is_some()
        })
    });
    let mut winners = 0;
    for writer in writers.collect::<Vec<_>>() {
        winners += i32::from(writer.await.expect("a writer"));
    }
    assert_eq!(winners, 5);
    assert_eq!(things.get("a").await.expect("read").expect("there").count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_applied_but_not_acknowledged_is_unknown() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[thing("a", 1)]).await;
    let unsure = doc! {
        "failCommands": ["findAndModify", "insert"],
        "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" },
    };
    let point = gateway.fail_point(doc! { "times": 2 }, unsure).await;
    let update = doc! { "$inc": { "count": 1_i64 } };
    let outcome = things.guarded(doc! { "_id": "a" }, update).send().await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    let outcome = things.insert(&thing("b", 1)).await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    point.off().await;
    assert_eq!(things.get("a").await.expect("read").expect("there").count, 2);
    assert!(matches!(things.insert(&thing("b", 1)).await, Outcome::Refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_command_is_unknown_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[thing("a", 1)]).await;
    let refused = doc! { "failCommands": ["findAndModify"], "errorCode": 11_602 };
    let point = gateway.fail_point(doc! { "times": 3 }, refused).await;
    let update = doc! { "$inc": { "count": 1_i64 } };
    let outcome = things.guarded(doc! { "_id": "a" }, update).send().await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    point.off().await;
    assert_eq!(things.get("a").await.expect("read").expect("there").count, 1);
}

/// An operator kills operations, by `killOp` or with their session. What a command has done by then isn't known.
#[tokio::test(flavor = "multi_thread")]
async fn the_outcome_of_a_command_that_is_killed_is_unknown() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[thing("a", 1)]).await;
    let killed =
        doc! { "failCommands": ["update", "findAndModify", "insert"], "errorCode": 11_601 };
    let point = gateway.fail_point(doc! { "times": 3 }, killed).await;
    let add = || things.guarded(doc! { "_id": "a" }, doc! { "$inc": { "count": 1_i64 } });
    let done = add().done().await;
    assert!(matches!(done, Outcome::Unknown(Error::Unavailable(_))), "{done:?}");
    let sent = add().send().await;
    assert!(matches!(sent, Outcome::Unknown(Error::Unavailable(_))), "{sent:?}");
    let inserted = things.insert(&thing("b", 1)).await;
    assert!(matches!(inserted, Outcome::Unknown(Error::Unavailable(_))), "{inserted:?}");
    point.off().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_writes_are_sent_again_where_that_is_safe() {
    for command in ["update", "findAndModify"] {
        is_sent_again(command).await;
    }
}

async fn is_sent_again(command: &str) {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let things = with_things(&gateway, &[thing("a", 1)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let count = async || things.get("a").await.expect("read").expect("there").count;
    let set = async |guard: Document, to: i64| {
        let write = things.guarded(guard, doc! { "$set": { "count": to } });
        match command {
            "update" => write.done().await,
            _ => match write.send().await {
                Outcome::Applied(after) => {
                    assert_eq!(after.count, to);
                    Outcome::Applied(())
                }
                Outcome::Refused => Outcome::Refused,
                Outcome::Unknown(error) => Outcome::Unknown(error),
            },
        }
    };
    // From one number to the next: done once, the guard doesn't hold any more.
    let step = async |from: i64| set(doc! { "_id": "a", "count": from }, from + 1).await;
    assert!(matches!(step(1).await, Outcome::Applied(())));
    assert!(matches!(step(1).await, Outcome::Refused));

    // It never arrived, or a server said so: the second is the first.
    proxy.cut(0, Cut::BeforeForwarding);
    assert!(matches!(step(2).await, Outcome::Applied(())));
    proxy.heal();
    let away = || doc! { "failCommands": [command], "errorCode": 11_602 };
    let point = gateway.fail_point(doc! { "times": 1 }, away()).await;
    assert!(matches!(step(3).await, Outcome::Applied(())));
    point.off().await;
    let point = gateway.fail_point(doc! { "times": 1 }, away()).await;
    assert!(matches!(step(3).await, Outcome::Refused), "nothing was done before");
    point.off().await;
    assert_eq!(count().await, 4);

    // A router says so of a shard whose reply it lost, and which may have applied it.
    for code in [6, 262, 9_001] {
        let lost = doc! { "failCommands": [command], "errorCode": code };
        let point = gateway.fail_point(doc! { "times": 1 }, lost).await;
        let outcome = step(3).await;
        assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{code}: {outcome:?}");
        point.off().await;
    }

    // It was applied, which nobody heard: whether the first or nobody did it isn't known.
    proxy.cut(0, Cut::ReplyLost);
    let outcome = step(4).await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    proxy.cut(0, Cut::ReplyLost);
    let outcome = set(doc! { "_id": "a" }, 9).await;
    assert!(matches!(outcome, Outcome::Applied(())), "doing it again changes nothing");
    proxy.heal();
    assert_eq!(count().await, 9);

    // Twice is enough.
    let point = gateway.fail_point(doc! { "times": 2 }, away()).await;
    let outcome = step(9).await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    point.off().await;
    let unsure = doc! {
        "failCommands": [command],
        "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" },
    };
    let point = gateway.fail_point(doc! { "times": 1 }, unsure).await;
    let outcome = step(9).await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    point.off().await;
    assert_eq!(count().await, 10);

    // A taken unique key refuses like any other guard.
    let unique = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder().keys(doc! { "count": 1 }).options(unique).build();
    let raw = gateway.database.collection::<Document>(Thing::COLLECTION);
    raw.create_index(index).await.expect("an index");
    assert!(matches!(things.insert(&thing("b", 20)).await, Outcome::Applied(())));
    assert!(matches!(set(doc! { "_id": "a" }, 20).await, Outcome::Refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_write_is_applied_once_however_often_it_is_sent() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let things = with_things(&gateway, &[thing("a", 0)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let add = || {
        let set = doc! { "count": { "$add": ["$count", 1_i64] } };
        things.set(doc! { "_id": "a" }, set).numbered()
    };
    proxy.cut(0, Cut::ReplyLost);
    let after = add().then_read().await.expect("an outcome").expect("applied");
    assert_eq!(after.count, 1);
    proxy.cut(0, Cut::ReplyLost);
    assert!(matches!(add().done().await, Outcome::Applied(())));
    proxy.cut(0, Cut::BreakAndHold);
    assert!(add().held().await.expect("an outcome"));
    proxy.release().await;
    proxy.heal();
    assert_eq!(things.get("a").await.expect("read").expect("there").count, 3);
    let nothing = things.set(doc! { "_id": "b" }, doc! { "count": 1_i64 }).numbered();
    assert!(matches!(nothing.done().await, Outcome::Refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_writes_of_one_command_are_applied_once() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let things = with_things(&gateway, &[thing("a", 0), thing("b", 0)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let add = async |id: &str, guard: Document| {
        let set = doc! { "count": { "$add": ["$count", 1_i64] } };
        let mut filter = doc! { "_id": id };
        filter.extend(guard);
        things.set(filter, set).numbered().done().await
    };
    for (round, how) in [Cut::ReplyLost, Cut::BreakAndHold].into_iter().enumerate() {
        proxy.cut(0, how);
        let adds = join_all(["a", "b", "a"].map(|id| add(id, doc! {})));
        let refused = add("b", doc! { "count": -1_i64 });
        let (added, refused) = batched(async { tokio::join!(adds, refused) }).await;
        assert!(added.iter().all(|one| matches!(one, Outcome::Applied(()))), "{added:?}");
        // It isn't known whether the first copy was applied before the second one.
        assert!(matches!(refused, Outcome::Unknown(_)), "{refused:?}");
        let first = &proxy.seen()[0];
        assert_eq!((&*first.command, first.is_numbered), ("update", true));
        proxy.heal();
        if how == Cut::BreakAndHold {
            proxy.release().await;
        }
        for (id, each) in [("a", 2), ("b", 1)] {
            let found = things.get(id).await.expect("read").expect("there");
            assert_eq!(found.count, each * (i64::try_from(round).expect("small") + 1), "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_same_documents_in_one_command_one_is_inserted() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let things = with_things(&gateway, &[]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    for (id, how) in [("a", Cut::ReplyLost), ("b", Cut::BreakAndHold)] {
        proxy.cut(0, how);
        let inserted = [thing(id, 1), thing(id, 1), thing(id, 2)];
        let inserts = inserted.iter().map(|one| things.insert(one));
        let outcomes = batched(join_all(inserts)).await;
        let [first, second, other] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert!(matches!(first, Outcome::Applied(())), "{outcomes:?}");
        assert!(matches!(second, Outcome::Refused), "{outcomes:?}");
        // It isn't known whether it was the first copy that found its key taken.
        assert!(matches!(other, Outcome::Unknown(_)), "{outcomes:?}");
        proxy.heal();
        if how == Cut::BreakAndHold {
            proxy.release().await;
        }
        assert_eq!(things.get(id).await.expect("read").expect("there").count, 1);
    }
}

/// The second copy of a command changes nothing, and the first one arrives after a later write, which lets it through.
#[tokio::test(flavor = "multi_thread")]
async fn no_copy_of_a_numbered_write_is_applied_after_its_outcome() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let things = with_things(&gateway, &[thing("a", 1)]).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let count = async || things.get("a").await.expect("read").expect("there").count;
    let set = async |guard: Document, to: i64| {
        things.set(guard, doc! { "count": to }).numbered().done().await
    };
    let later = async |to: i64| {
        proxy.heal();
        assert!(matches!(set(doc! { "_id": "a" }, to).await, Outcome::Applied(())));
        proxy.release().await;
    };
    // The count is 1 already.
    proxy.cut(0, Cut::BreakAndHold);
    assert!(matches!(set(doc! { "_id": "a" }, 1).await, Outcome::Applied(())));
    later(2).await;
    assert_eq!(count().await, 2);

    proxy.cut(0, Cut::BreakAndHold);
    let outcome = set(doc! { "_id": "a", "count": 5 }, 6).await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    later(5).await;
    assert_eq!(count().await, 5);

    proxy.cut(0, Cut::BreakAndHold);
    let outcome = things.remove(doc! { "_id": "a", "count": 7 }).await;
    assert!(matches!(outcome, Outcome::Unknown(Error::Unavailable(_))), "{outcome:?}");
    later(7).await;
    assert_eq!(count().await, 7);

    // Commands that weren't sent twice have a definite outcome.
    let outcome = set(doc! { "_id": "a", "count": 1 }, 2).await;
    assert!(matches!(outcome, Outcome::Refused), "{outcome:?}");
    assert!(matches!(things.remove(doc! { "_id": "b" }).await, Outcome::Refused));
    proxy.cut(0, Cut::ReplyLost);
    assert!(matches!(things.remove(doc! { "_id": "a" }).await, Outcome::Applied(())));
    proxy.heal();
    assert!(things.get("a").await.expect("read").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn past_its_deadline_a_run_writes_nothing() {
    let gateway = Gateway::with(|config| config.flow_run_millis = 5_000).await;
    let things = with_things(&gateway, &[thing("a", 1)]).await;
    let bounds = gateway.app.bounds();
    let (run, read) = things.begin_with(bounds, "a").await.expect("a run");
    assert_eq!(read.expect("there").count, 1);
    let update = || doc! { "$inc": { "count": 1_i64 } };
    let in_time = things.guarded(doc! { "_id": "a" }, update()).within(&run).send().await;
    assert!(matches!(in_time, Outcome::Applied(thing) if thing.count == 2));
    tokio::time::sleep(bounds.attempt + Duration::from_millis(50)).await;
    let late = things.guarded(doc! { "_id": "a" }, update()).within(&run).send().await;
    assert!(matches!(late, Outcome::Refused));
    assert!(run.is_over());
    // The run of something that isn't there has a deadline as well.
    let (run, read) = things.begin_with(bounds, "b").await.expect("a run");
    assert!(read.is_none());
    assert!(run.deadline() > run.now());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_op_is_applied_once_and_a_void_one_never() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[thing("a", 0)]).await;
    let bounds = gateway.app.bounds();
    let op = gateway.app.ids().op(&["someone", "add"], Some("op-1"), &1);
    let other_input = gateway.app.ids().op(&["someone", "add"], Some("op-1"), &2);
    let someone_elses = gateway.app.ids().op(&["another", "add"], Some("op-1"), &1);
    assert_eq!(op.id, other_input.id);
    assert_ne!(op.id, someone_elses.id);
    let run = gateway.begin().await;
    let add = |op: Op| {
        let things = things.clone();
        async move {
            let set = doc! { "count": { "$add": ["$count", 1_i64] } };
            let change = Change::new("a", doc! {}, set);
            let attempted = Try { op: &op, tag: &op.id, attempt: &run, bounds };
            let mut undone = false;
            let undo = async {
                undone = true;
                Ok(())
            };
            let after = things.commit(attempted, change, Some(undo)).await.expect("an outcome");
            (after.map(|thing| thing.count), undone)
        }
    };
    assert_eq!(add(op.clone()).await, (Some(1), false));
    assert_eq!(add(op.clone()).await, (None, false), "what was reserved is the first one's");
    let stored = things.get("a").await.expect("read").expect("there");
    assert_eq!(op.is_committed(&stored.ops), Ok(true));
    assert_eq!(other_input.is_committed(&stored.ops), Err(OtherInput));
    assert_eq!(someone_elses.is_committed(&stored.ops), Ok(false));

    // The next try has a number that no aborted one had, even if the records of earlier ones have expired.
    let void = |number: u32| OpRecord {
        tag: format!("{}/{}/{number}", op.id, op.input),
        id: None,
        input: None,
        void: true,
        at: run.now(),
        kept: None,
    };
    let tag = |number: u32| format!("{}/{}/{number}", op.id, op.input);
    assert_eq!(op.tag(&[]), tag(0));
    assert_eq!(op.tag(&[void(1)]), tag(2));
    let with_quantity = OpRecord { tag: format!("{}/7", tag(4)), ..void(0) };
    assert_eq!(op.tag(&[void(0), with_quantity, void(1)]), tag(5));
    assert_eq!(other_input.tag(&[void(1)]), format!("{}/{}/0", op.id, other_input.input));

    let abort = |tag: String| {
        let things = things.clone();
        async move { things.abort("a", &tag, bounds).await.expect("an outcome") }
    };
    assert!(!abort(op.id.clone()).await, "it was applied");
    assert!(abort(someone_elses.id.clone()).await);
    assert!(abort(someone_elses.id.clone()).await, "a second time");
    assert_eq!(add(someone_elses.clone()).await, (None, true), "an aborted tag isn't applied");
    let stored = things.get("a").await.expect("read").expect("there");
    assert_eq!(someone_elses.is_committed(&stored.ops), Ok(false));
    assert_eq!(stored.count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ops_are_forgotten_by_age_and_a_full_array_refuses() {
    let gateway = Gateway::start().await;
    let bounds = gateway.app.bounds();
    let run = gateway.begin().await;
    let record = |n: i32, at: DateTime| OpRecord {
        tag: n.to_string(),
        id: Some(n.to_string()),
        input: None,
        void: false,
        at,
        kept: None,
    };
    let old = DateTime::from_millis(run.now().timestamp_millis() - 3_600_001);
    let mut forgotten = thing("old", 0);
    forgotten.ops = (0..300).map(|n| record(n, old)).collect();
    let mut full = thing("full", 0);
    full.ops = (0..300).map(|n| record(n, run.now())).collect();
    let refused = |ops: &[OpRecord]| match bounds.demand_room(ops, &run, "full") {
        Err(Error::RateLimited(message)) => message,
        other => panic!("there is room: {other:?}"),
    };
    assert_eq!(refused(&full.ops), "full; try again in 60 minutes");
    // There is room as soon as the first record expires.
    let soon = DateTime::from_millis(run.now().timestamp_millis() - 3_570_000);
    let mut fuller = full.ops.clone();
    fuller[7].at = soon;
    assert_eq!(refused(&fuller), "full; try again in 30 seconds");
    fuller.push(record(300, soon));
    assert_eq!(refused(&fuller), "full; try again in 30 seconds");
    fuller.push(record(301, run.now()));
    assert_eq!(refused(&fuller), "full; try again in 60 minutes");
    bounds.demand_room(&forgotten.ops, &run, "full").expect("room");
    let things = with_things(&gateway, &[forgotten, full]).await;
    let op = gateway.app.ids().op(&["someone"], None, &());
    let apply = |id: &'static str| {
        let change = Change::new(id, doc! {}, doc! { "count": 1_i64 });
        things.change(change.committing(&op, &op.id, bounds)).send()
    };
    assert!(matches!(apply("old").await, Outcome::Applied(thing) if thing.ops.len() == 1));
    assert!(matches!(apply("full").await, Outcome::Refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_rise_by_version_in_every_place_and_never_fall() {
    let gateway = Gateway::start().await;
    let copy = |id: &str, version| Copied { id: id.into(), name: format!("v{version}"), version };
    let mut twice = thing("twice", 0);
    twice.copies = vec![copy("r", 1), copy("other", 1), copy("r", 2)];
    let mut newer = thing("newer", 0);
    newer.copies = vec![copy("r", 9)];
    let things = with_things(&gateway, &[twice, newer.clone()]).await;
    let place = CopyPath { array: "copies", key: "id", version: "version" };
    let matched =
        place.spread(&things, "r", 5, doc! { "name": "$v5" }, doc! {}).await.expect("a pass");
    assert_eq!(matched, 1);
    let twice = things.get("twice").await.expect("read").expect("there");
    let names: Vec<_> = twice.copies.iter().map(|copy| copy.name.as_str()).collect();
    assert_eq!(names, ["$v5", "v1", "$v5"]);
    let untouched = things.get("newer").await.expect("read").expect("there");
    assert_eq!(untouched, newer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_has_one_holder_until_it_is_given_back_or_runs_out() {
    let gateway = Gateway::start().await;
    let (app, bounds) = (&gateway.app, gateway.app.bounds());
    let take = |holder: &str| {
        let holder = holder.to_owned();
        async move {
            let run = app.begin().await.expect("a run");
            Lease::acquire(app.collection(), "it", holder, &run, bounds).await.expect("an outcome")
        }
    };
    let first = take("first").await.expect("free");
    assert!(take("second").await.is_none());
    assert!(matches!(first.release().await, Outcome::Applied(())));
    let second = take("second").await.expect("free again");
    assert!(take("third").await.is_none());
    tokio::time::sleep(bounds.grace_period() + Duration::from_millis(100)).await;
    let _again = take("second").await.expect("run out");
    assert!(matches!(second.release().await, Outcome::Refused), "it has a later lease");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_had_and_given_back_though_the_replies_are_lost() {
    let gateway = Gateway::behind_proxy(|config| config.flow_run_millis = 10_000).await;
    let (app, bounds) = (&gateway.app, gateway.app.bounds());
    let take = |holder: &'static str| async move {
        let run = app.begin().await.expect("a run");
        Lease::acquire(app.collection(), "it", holder.into(), &run, bounds).await
    };
    let first = take("first").await.expect("an outcome").expect("free");
    assert!(matches!(first.release().await, Outcome::Applied(())));
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "leases");
    proxy.cut(0, Cut::ReplyLost);
    let second = take("second").await.expect("an outcome").expect("free");
    proxy.reached().await;
    proxy.cut(0, Cut::ReplyLost);
    assert!(matches!(second.release().await, Outcome::Applied(())));
    proxy.reached().await;
    assert!(take("third").await.expect("an outcome").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_from_outside_stays_a_value_in_pipelines() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[thing("a", 7)]).await;
    let hostile = "$count";
    let record =
        whole(doc! { "id": literal(hostile), "name": literal("$$ROOT"), "version": 1_i64 });
    let update = doc! { "$set": { "copies": [record] } };
    let outcome = things.guarded(doc! { "_id": "a" }, vec![update]).send().await;
    let Outcome::Applied(after) = outcome else { panic!("{outcome:?}") };
    assert_eq!((after.copies[0].id.as_str(), after.copies[0].name.as_str()), ("$count", "$$ROOT"));
    let _names_only: Document = older_than("at", Duration::from_millis(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_a_newer_version_is_not_read() {
    let gateway = Gateway::start().await;
    let things = with_things(&gateway, &[]).await;
    let raw = gateway.database.collection::<Document>("things");
    raw.insert_one(doc! { "_id": "new", "count": 1_i64, "v": 2 }).await.expect("inserted");
    let read = things.get("new").await;
    assert!(matches!(read, Err(Error::NewerVersion(_))), "{read:?}");
}
