//! Batches in which each write has another fate: the one that it has by itself.

use std::collections::BTreeSet;

use docgate::{
    error::Error,
    flow::{Attempt, Change, Verdict},
    mongo::{
        Collection, Outcome, Stored, Version,
        condition::{at_least, contains, has_room},
        expression::{append, before, both, literal},
    },
};
use futures_util::{FutureExt as _, future::BoxFuture, future::join_all};
use mongodb::bson::{Bson, DateTime, Document, doc};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};

use super::{Tally, behind, take};
use crate::{
    metrics::Samples,
    support::{Gateway, fresh_name, now_seconds, proxy::Cut, start_mongod},
};

/// The ways in which a command is cut, and `None`.
const WAYS: [Option<Cut>; 5] = [
    None,
    // Sent again, which the server carries out for the first time.
    Some(Cut::BeforeForwarding),
    Some(Cut::Refused),
    Some(Cut::Unsure),
    // Sent again, which the server carries out for the second time.
    Some(Cut::ReplyLost),
];

/// What the caller of a write is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Applied,
    /// The guard doesn't hold. Contains the reason if the guard consists of rules.
    Refused(Option<&'static str>),
    /// There is no such document. Without rules, this is a refusal.
    Missing,
    /// MongoDB can't carry out the write.
    Impossible,
    /// The outcome is unknown.
    Open,
}

impl Told {
    fn of(outcome: &Outcome<()>) -> Self {
        match outcome {
            Outcome::Applied(()) => Self::Applied,
            Outcome::Refused => Self::Refused(None),
            Outcome::Unknown(error) => Self::by(error),
        }
    }

    fn by(error: &Error) -> Self {
        match error {
            Error::Internal(_) => Self::Impossible,
            _ => Self::Open,
        }
    }
}

/// Number of kinds of guards. A shared command can carry all of them.
const GUARDS: usize = 9;

/// A guard of a document whose count is `count`, and whether it holds.
fn guard(random: &mut StdRng, count: i64) -> (Document, bool) {
    let other = random.random_range(0..4_i64);
    match random.random_range(0..GUARDS) {
        0 => (doc! { "count": other }, count == other),
        1 => (doc! { "count": { "$gte": other } }, count >= other),
        2 => (doc! { "$expr": { "$lt": ["$count", other] } }, count < other),
        3 => (before(in_hours(1)), true),
        4 => (before(in_hours(-1)), false),
        5 => (
            doc! { "$and": [{ "count": other }, { "count": 1_i64 }] },
            count == other && other == 1,
        ),
        6 => (doc! { "$or": [{ "count": other }, { "marks": "none" }] }, count == other),
        7 => (doc! { "marks": { "$ne": "first" } }, false),
        _ => (doc! { "marks.0": "first", "marks": { "$size": 1 } }, true),
    }
}

pub(super) fn in_hours(hours: i64) -> DateTime {
    let now = i64::try_from(now_seconds() * 1_000).expect("a moment");
    DateTime::from_millis(now + hours * 3_600_000)
}

/// A statement for the document, which has this count, what its caller is told, and the count that it sets.
fn statement(random: &mut StdRng, id: &str, count: i64) -> (Document, Document, Told, i64) {
    let mut filter = doc! { "_id": id };
    let mut holds = true;
    for _ in 0..random.random_range(0..3) {
        let (guard, this_holds) = guard(random, count);
        filter = both(filter, guard);
        holds &= this_holds;
    }
    let more = random.random_range(1..100_i64);
    let to = count + more;
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
    let told = match (holds, is_possible) {
        (false, _) => Told::Refused(None),
        (true, true) => Told::Applied,
        (true, false) => Told::Impossible,
    };
    (filter, doc! { "count": set }, told, to)
}

/// Number of writes that shared a command, and of these commands.
pub(super) async fn shared(gateway: &Gateway) -> (f64, f64) {
    let samples = Samples::of(gateway).await;
    let of =
        |of: &str| samples.get(&format!("docgate_write_statements_{of}{{collection=\"tallies\"}}"));
    (of("sum"), of("count"))
}

/// The mark that a write leaves on its document, and by which a repeat is refused.
const MARK: &str = "mark";

/// A write of a batch, on a document of its own.
struct Case {
    /// `_id` of the document, which names the case.
    id: String,
    before: Option<Tally>,
    write: Write,
    /// What its caller is told by itself.
    told: Told,
    /// What the caller of a repeat is told after it was applied.
    again: Told,
    /// The count that it sets.
    to: i64,
    /// Whether it leaves the mark.
    is_marked: bool,
}

/// How a write of a batch is made.
enum Write {
    Plain {
        filter: Document,
        set: Document,
        /// Whether the mark tells what a lost reply leaves open.
        is_recognised: bool,
        /// Whether the caller wants the document after the write.
        wants_document: bool,
    },
    Ruled(Change<&'static str>),
}

impl Case {
    /// The document after the write was applied.
    fn after(&self) -> Option<Tally> {
        let mut after = self.before.clone()?;
        after.count = self.to;
        after.marks.extend(self.is_marked.then(|| MARK.to_owned()));
        Some(after)
    }

    /// Makes the write. Returns what the caller is told, and the document if the caller gets one.
    fn call(
        &self,
        tallies: &Collection<Tally>,
        attempt: Attempt,
    ) -> BoxFuture<'static, (Told, Option<Tally>)> {
        match &self.write {
            Write::Plain { filter, set, is_recognised, wants_document } => {
                let mut write = tallies.set(filter.clone(), set.clone());
                if *is_recognised {
                    write = write.applied_if(doc! { "_id": &self.id, "marks": MARK });
                }
                if !wants_document {
                    return write.done().map(|outcome| (Told::of(&outcome), None)).boxed();
                }
                let told = |after: Result<Option<Tally>, Error>| match after {
                    Ok(Some(after)) => (Told::Applied, Some(after)),
                    Ok(None) => (Told::Refused(None), None),
                    Err(error) => (Told::by(&error), None),
                };
                write.then_read().map(told).boxed()
            }
            Write::Ruled(change) => {
                let (tallies, change) = (tallies.clone(), change.clone());
                let told = async move {
                    match tallies.write(&change, &attempt).await {
                        Ok(Verdict::Applied(_sends)) => Told::Applied,
                        Ok(Verdict::Refused(reason, _document)) => Told::Refused(Some(reason)),
                        Ok(Verdict::Missing) => Told::Missing,
                        Err(error) => Told::by(&error),
                    }
                };
                told.map(|told| (told, None)).boxed()
            }
        }
    }

    /// What the caller is told if the batch is cut in this way, and whether the write was applied.
    fn expected(&self, way: Option<Cut>) -> (Told, bool) {
        let is_applied = self.told == Told::Applied;
        let told = match way {
            None => self.told,
            Some(Cut::Refused) => return (Told::Open, false),
            // A statement that fails the second time may have been applied the first time; its mark tells.
            Some(Cut::BeforeForwarding) if is_applied || self.finds_mark(false) => Told::Applied,
            Some(Cut::ReplyLost) if self.again == Told::Applied || self.finds_mark(is_applied) => {
                Told::Applied
            }
            _ => Told::Open,
        };
        (told, is_applied)
    }

    /// Whether the gateway looks for the mark, and it is there.
    fn finds_mark(&self, is_applied: bool) -> bool {
        let was_marked = |tally: &Tally| tally.marks.iter().any(|mark| mark == MARK);
        let is_there = is_applied || self.before.as_ref().is_some_and(was_marked);
        is_there && matches!(self.write, Write::Plain { is_recognised: true, .. })
    }
}

/// The fields of a write that leaves the mark.
fn marking(count: impl Into<Bson>) -> Document {
    doc! { "count": count.into(), "marks": append("$marks", vec![literal(MARK)]) }
}

/// Writes with named fates, each once recognised by its mark and once with the document after it, and random ones.
fn cases(many: usize) -> Vec<Case> {
    let mut random = StdRng::seed_from_u64(20);
    let mut cases: Vec<Case> = Vec::new();
    for round in 0..2 {
        let id = |name: &str| format!("{name}-{round}");
        let tally = |name: &str, count: i64, marks: &[&str]| {
            let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
            Some(Tally { id: id(name), count, marks, v: Version })
        };
        let refused = Told::Refused(None);
        let mut plain = |name: &str, before: Option<Tally>, guard: Document, set, told, again| {
            let filter = both(doc! { "_id": id(name) }, guard);
            let write = Write::Plain {
                filter,
                set,
                is_recognised: round == 0,
                wants_document: round == 1 || name == "read",
            };
            let is_marked = again == refused;
            cases.push(Case { id: id(name), before, write, told, again, to: 9, is_marked });
        };
        let first = ["first"];
        let new = || doc! { "marks": { "$ne": MARK } };
        let (applied, impossible) = (Told::Applied, Told::Impossible);
        let nine = || marking(doc! { "$add": ["$count", 4_i64] });
        plain("applied", tally("applied", 5, &first), new(), nine(), applied, refused);
        plain("read", tally("read", 5, &first), new(), nine(), applied, refused);
        let large = both(new(), doc! { "count": { "$gte": 6_i64 } });
        plain("refused", tally("refused", 5, &first), large, nine(), refused, refused);
        let late = both(new(), before(in_hours(-1)));
        plain("late", tally("late", 5, &first), late, nine(), refused, refused);
        let marked = ["first", MARK];
        plain("repeated", tally("repeated", 9, &marked), new(), nine(), refused, refused);
        plain("missing", None, new(), nine(), refused, refused);
        let fails = || marking(doc! { "$toInt": "$_id" });
        plain("impossible", tally("impossible", 5, &first), new(), fails(), impossible, refused);
        let unknown = marking(doc! { "$nothing": 1 });
        plain("unknown", tally("unknown", 5, &first), new(), unknown, impossible, refused);
        // Its guard still holds after it, and so it can be applied any number of times.
        let same = doc! { "count": "$count" };
        plain("no-op", tally("no-op", 9, &first), doc! {}, same, applied, applied);
        let mut ruled = |name: &str, before: Option<Tally>, set, told| {
            let rules = [
                (contains("marks", MARK).negated(), "made"),
                (at_least("count", 3), "short"),
                (has_room("marks", 3), "full"),
            ];
            let write = Write::Ruled(Change::ruled(id(name), rules, set));
            let again = Told::Refused(Some("made"));
            cases.push(Case { id: id(name), before, write, told, again, to: 9, is_marked: true });
        };
        let because = |reason| Told::Refused(Some(reason));
        ruled("ruled", tally("ruled", 5, &first), nine(), applied);
        ruled("made", tally("made", 5, &marked), nine(), because("made"));
        ruled("short", tally("short", 2, &first), nine(), because("short"));
        ruled("full", tally("full", 5, &["first", "a", "b"]), nine(), because("full"));
        ruled("none", None, nine(), Told::Missing);
        ruled("broken", tally("broken", 5, &first), fails(), impossible);
    }
    while cases.len() < many {
        let id = format!("random-{}", cases.len());
        let found = random.random_range(0..4_i64);
        let (filter, mut set, told, to) = statement(&mut random, &id, found);
        set.insert("marks", append("$marks", vec![literal(MARK)]));
        let filter = both(filter, doc! { "marks": { "$ne": MARK } });
        let is_recognised = cases.len().is_multiple_of(2);
        let write = Write::Plain { filter, set, is_recognised, wants_document: false };
        let before =
            Tally { id: id.clone(), count: found, marks: vec!["first".into()], v: Version };
        let (before, again) = (Some(before), Told::Refused(None));
        cases.push(Case { id, before, write, told, again, to, is_marked: true });
    }
    cases
}

/// Each caller repeats. Asserts that then everything is done once.
async fn assert_done_once(
    gateway: &Gateway,
    cases: &[Case],
    was_applied: impl Fn(&Case) -> bool,
    way: Option<Cut>,
) {
    let (tallies, attempt) = (gateway.app.collection::<Tally>(), gateway.begin().await);
    let calls: Vec<_> = cases.iter().map(|case| case.call(&tallies, attempt)).collect();
    for (case, (told, _)) in cases.iter().zip(join_all(calls).await) {
        let expected = if was_applied(case) { case.again } else { case.told };
        assert_eq!(told, expected, "{way:?} {} again", case.id);
        let after = if case.told == Told::Applied { case.after() } else { case.before.clone() };
        let now = tallies.get(&case.id).await.expect("read");
        assert_eq!(now, after, "{way:?} {} again", case.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_cut_harms_nothing() {
    for way in WAYS {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let tallies = gateway.app.collection::<Tally>();
        let cases = cases(47);
        // Three takes of one document in which there are two, as one statement.
        let hot = Tally { id: "hot".into(), count: 2, marks: vec!["first".into()], v: Version };
        let stored = cases.iter().filter_map(|case| case.before.clone()).chain([hot]).collect();
        assert!(tallies.insert_many(stored).await.expect("inserted").is_empty());

        let attempt = gateway.begin().await;
        let mut calls: Vec<_> = cases.iter().map(|case| case.call(&tallies, attempt)).collect();
        let takes = ["x", "y", "z"].map(|mark| take(&tallies, "hot", mark));
        let told = |outcome: Outcome<()>| (Told::of(&outcome), None);
        calls.extend(takes.map(|take| take.done().map(told).boxed()));
        let ahead = ["ahead-0", "ahead-1"].map(|id| take(&tallies, id, "ahead").done());
        let mut outcomes = behind(&gateway, "update", ahead, calls, way).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        if way.is_some() {
            proxy.reached().await;
        }
        proxy.heal();
        // One command, and after it one of the three takes that can't be applied as one.
        let expected = if way.is_none() { (53.0, 2.0) } else { (50.0, 1.0) };
        assert_eq!(shared(&gateway).await, expected, "{way:?}");

        let takes = outcomes.split_off(cases.len());
        let of = |wanted: Told| takes.iter().filter(|(told, _)| *told == wanted).count();
        let hot = tallies.get("hot").await.expect("read").expect("there");
        let (applied, refused) = (of(Told::Applied), of(Told::Refused(None)));
        let expected = if way.is_none() { (2, 1, 0) } else { (0, 0, 2) };
        assert_eq!((applied, refused, hot.count), expected, "{way:?} {takes:?}");

        for (case, (told, document)) in cases.iter().zip(outcomes) {
            let (expected, is_applied) = case.expected(way);
            assert_eq!(told, expected, "{way:?} {}", case.id);
            let after = if is_applied { case.after() } else { case.before.clone() };
            let now = tallies.get(&case.id).await.expect("read");
            assert_eq!(now, after, "{way:?} {}", case.id);
            if document.is_some() {
                assert_eq!(document, after, "{way:?} {}", case.id);
            }
        }

        assert_done_once(&gateway, &cases, |case| case.expected(way).1, way).await;
        let again = ["x", "y", "z"].map(|mark| take(&tallies, "hot", mark).done());
        for outcome in join_all(again).await {
            assert!(!matches!(outcome, Outcome::Unknown(_)), "{way:?} {outcome:?}");
        }
        let hot = tallies.get("hot").await.expect("read").expect("there");
        assert_eq!((hot.count, hot.marks.len()), (0, 3), "{way:?} {hot:?}");
    }
}

/// Statements of the batch that MongoDB carries out before the command's time is over.
const IN_TIME: i64 = 25;

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_applied_in_part_harms_nothing() {
    // Nobody else's commands may be counted.
    let mongod = start_mongod().await;
    let gateway = Gateway::over(mongod.port(), true, &fresh_name(), |_| {}).await;
    let tallies = gateway.app.collection::<Tally>();
    let cases = cases(47);
    let stored = cases.iter().filter_map(|case| case.before.clone()).collect();
    assert!(tallies.insert_many(stored).await.expect("inserted").is_empty());

    // The two commands ahead have a statement each. From then on no statement goes on, also when it is sent again.
    let admin = gateway.database.client().database("admin");
    let point = |mode: Bson| {
        let data = doc! { "shouldCheckForInterrupt": true };
        doc! { "configureFailPoint": "hangDuringBatchUpdate", "mode": mode, "data": data }
    };
    admin.run_command(point(doc! { "skip": 2 + IN_TIME }.into())).await.expect("it is on");
    let attempt = gateway.begin().await;
    let calls: Vec<_> = cases.iter().map(|case| case.call(&tallies, attempt)).collect();
    let ahead = ["ahead-0", "ahead-1"].map(|id| take(&tallies, id, "ahead").done());
    let outcomes = behind(&gateway, "update", ahead, calls, None).await;
    admin.run_command(point("off".into())).await.expect("it is off");

    let mut applied = BTreeSet::new();
    for (case, (told, _)) in cases.iter().zip(&outcomes) {
        let now = tallies.get(&case.id).await.expect("read");
        let is_applied = case.told == Told::Applied && now == case.after();
        assert!(is_applied || now == case.before, "{}: {now:?}", case.id);
        assert!(*told != Told::Applied || is_applied || case.finds_mark(false), "{}", case.id);
        assert!([Told::Applied, Told::Open].contains(told), "{}: {told:?}", case.id);
        if is_applied {
            applied.insert(case.id.clone());
        }
    }
    let all = cases.iter().filter(|case| case.told == Told::Applied).count();
    assert!(!applied.is_empty() && applied.len() < all, "{} of {all}", applied.len());
    assert_done_once(&gateway, &cases, |case| applied.contains(&case.id), None).await;
}

/// A tally whose id may be of a type that MongoDB doesn't accept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AnyTally {
    #[serde(rename = "_id")]
    id: Bson,
    count: i64,
    v: Version<1>,
}

impl Stored for AnyTally {
    const COLLECTION: &'static str = "tallies";
}

/// The fates of inserts: new, inserted before, taken by another document, and impossible.
const INSERTS: [&str; 4] = ["new", "same", "other", "impossible"];

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_inserts_that_is_cut_harms_nothing() {
    for way in WAYS {
        let gateway = Gateway::behind_proxy(|_| {}).await;
        let tallies = gateway.app.collection::<AnyTally>();
        let any = |id: Bson, count: i64| AnyTally { id, count, v: Version };
        let tally = |number: usize| {
            let kind = INSERTS[number % INSERTS.len()];
            let id: Bson = format!("{kind}-{number}").into();
            (kind, any(if kind == "impossible" { vec![id].into() } else { id }, 1))
        };
        let cases: Vec<_> = (0..50).map(tally).collect();
        let stored = |count: i64, wanted: &'static str| {
            let found = cases.iter().filter(move |(kind, _)| *kind == wanted);
            found.map(move |(_, case)| any(case.id.clone(), count))
        };
        let before: Vec<_> = stored(1, "same").chain(stored(2, "other")).collect();
        assert!(tallies.insert_many(before.clone()).await.expect("inserted").is_empty());

        let insert = |tally: AnyTally| {
            let tallies = tallies.clone();
            async move { tallies.insert(&tally).await }
        };
        let calls = cases.iter().map(|(_, case)| insert(case.clone())).collect();
        let ahead = ["ahead-0", "ahead-1"].map(|id| insert(any(id.into(), 1)));
        let outcomes = Box::pin(behind(&gateway, "insert", ahead, calls, way)).await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        if way.is_some() {
            proxy.reached().await;
        }
        proxy.heal();
        assert_eq!(shared(&gateway).await, (50.0, 1.0), "{way:?}");

        let is_sent_again = matches!(way, Some(Cut::BeforeForwarding | Cut::ReplyLost));
        let (taken, raw) = (Told::Refused(None), gateway.raw("tallies"));
        for ((kind, case), outcome) in cases.iter().zip(outcomes) {
            let expected = match *kind {
                _ if matches!(way, Some(Cut::Refused | Cut::Unsure)) => Told::Open,
                "new" => Told::Applied,
                // It may have been inserted by the first command: it is the same document.
                "same" => {
                    if is_sent_again {
                        Told::Applied
                    } else {
                        taken
                    }
                }
                "other" => {
                    if is_sent_again {
                        Told::Open
                    } else {
                        taken
                    }
                }
                _ => Told::Impossible,
            };
            assert_eq!(Told::of(&outcome), expected, "{way:?} {:?}", case.id);
            let is_there = match *kind {
                "new" => way != Some(Cut::Refused),
                kind => kind != "impossible",
            };
            let count = raw.count_documents(
                doc! { "_id": &case.id, "count": if *kind == "other" { 2 } else { 1 } },
            );
            assert_eq!(count.await.expect("counted"), u64::from(is_there), "{way:?} {:?}", case.id);
        }

        // Each caller repeats: everything is there once.
        let calls = cases.iter().map(|(_, case)| insert(case.clone()));
        for ((kind, case), outcome) in cases.iter().zip(join_all(calls).await) {
            let expected = match *kind {
                "new" if way == Some(Cut::Refused) => Told::Applied,
                "impossible" => Told::Impossible,
                _ => taken,
            };
            assert_eq!(Told::of(&outcome), expected, "{way:?} {:?} again", case.id);
        }
        let expected = 2 + cases.iter().filter(|(kind, _)| *kind != "impossible").count();
        let found = raw.count_documents(doc! {}).await.expect("counted");
        assert_eq!(found, u64::try_from(expected).expect("a few"), "{way:?}");
        for other in before {
            let found = raw.count_documents(doc! { "_id": &other.id, "count": other.count }).await;
            assert_eq!(found.expect("counted"), 1, "{way:?} {other:?}");
        }
    }
}
