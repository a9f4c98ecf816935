//! Shared writes compared with a reference in Rust, for random documents and statements.

use std::{cell::Cell, time::Duration};

use docgate::{
    error::Error,
    flow::{Attempt, Change, Verdict},
    mongo::{
        Collection, Outcome, Stored, Version,
        condition::{Condition, at_least, contains, exists, has_element, has_room, is, is_absent},
        expression::{append, before, both, literal},
        indexes::Index,
    },
};
use futures_util::future::join_all;
use mongodb::bson::{Bson, Document, doc};
use proptest::{
    collection::vec,
    option,
    prelude::{Just, Strategy, any},
    prop_oneof,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, task::block_in_place};

use super::fates::{in_hours, shared};
use crate::support::{Gateway, fresh_name, very_long_bounds};

/// Texts that an expression or a field path would mean something else by.
const TEXTS: [&str; 6] = ["a", "b", "$count", "$$ROOT", "parts.amount", ""];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    key: String,
    amount: i64,
}

/// A document of these tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sample {
    #[serde(rename = "_id")]
    id: String,
    count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<i64>,
    marks: Vec<String>,
    parts: Vec<Part>,
    state: String,
    v: Version<1>,
}

impl Stored for Sample {
    const COLLECTION: &'static str = "tallies";
    const INDEXES: &'static [Index] = &[];
}

/// A condition on a [`Sample`].
#[derive(Debug, Clone)]
enum Guard {
    CountIs(i64),
    CountIsAtLeast(i64),
    CountIsBelow(i64),
    CountIsOneOf(Vec<i64>),
    /// As a query: a missing limit is equal to `null`.
    LimitIs(Option<i64>),
    /// As a query, which no missing limit meets.
    LimitIsBelow(i64),
    /// As an expression, in which a missing limit is less than every number.
    LimitComparesBelow(i64),
    HasLimit(bool),
    HasMark(String),
    LacksMark(String),
    FirstMarkIs(String),
    MarksAre(usize),
    HasRoom(i64),
    HasPart(String, i64),
    AnAmountIsAtLeast(i64),
    StateIs(String),
    StateIsNot(String),
    Before(bool),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Guard {
    /// The filter for MongoDB.
    fn filter(&self) -> Document {
        match self {
            Self::CountIs(count) => doc! { "count": count },
            Self::CountIsAtLeast(count) => doc! { "count": { "$gte": count } },
            Self::CountIsBelow(count) => doc! { "$expr": { "$lt": ["$count", count] } },
            Self::CountIsOneOf(counts) => doc! { "count": { "$in": counts.clone() } },
            Self::LimitIs(limit) => doc! { "limit": limit },
            Self::LimitIsBelow(limit) => doc! { "limit": { "$lt": limit } },
            Self::LimitComparesBelow(limit) => doc! { "$expr": { "$lt": ["$limit", limit] } },
            Self::HasLimit(has) => doc! { "limit": { "$exists": has } },
            Self::HasMark(mark) => doc! { "marks": mark },
            Self::LacksMark(mark) => doc! { "marks": { "$ne": mark } },
            Self::FirstMarkIs(mark) => doc! { "marks.0": mark },
            Self::MarksAre(size) => doc! { "marks": { "$size": i64_of(*size) } },
            Self::HasRoom(size) => doc! { "$expr": { "$lt": [{ "$size": "$marks" }, size] } },
            Self::HasPart(key, least) => {
                doc! { "parts": { "$elemMatch": { "key": key, "amount": { "$gte": least } } } }
            }
            Self::AnAmountIsAtLeast(least) => doc! { "parts.amount": { "$gte": least } },
            Self::StateIs(state) => doc! { "state": state },
            Self::StateIsNot(state) => doc! { "state": { "$ne": state } },
            Self::Before(holds) => before(in_hours(if *holds { 1 } else { -1 })),
            Self::All(guards) => doc! { "$and": filters(guards) },
            Self::Any(guards) => doc! { "$or": filters(guards) },
        }
    }

    /// The same as a rule, if it can be one.
    fn rule(&self) -> Option<Condition> {
        let all = |guards: &[Self]| guards.iter().map(Self::rule).collect::<Option<Vec<_>>>();
        Some(match self {
            Self::CountIs(count) => is("count", *count),
            Self::CountIsAtLeast(count) => at_least("count", *count),
            Self::CountIsBelow(count) => at_least("count", *count).negated(),
            Self::LimitComparesBelow(limit) => at_least("limit", *limit).negated(),
            Self::HasLimit(true) => exists("limit"),
            Self::HasLimit(false) => is_absent("limit"),
            Self::HasMark(mark) => contains("marks", mark.as_str()),
            Self::LacksMark(mark) => contains("marks", mark.as_str()).negated(),
            Self::HasRoom(size) => has_room("marks", *size),
            Self::HasPart(key, least) => {
                has_element("parts", [is("key", key.as_str()), at_least("amount", *least)])
            }
            Self::StateIs(state) => is("state", state.as_str()),
            Self::StateIsNot(state) => is("state", state.as_str()).negated(),
            Self::All(guards) => Condition::All(all(guards)?),
            Self::Any(guards) => Condition::Any(all(guards)?),
            Self::CountIsOneOf(_)
            | Self::LimitIs(_)
            | Self::LimitIsBelow(_)
            | Self::FirstMarkIs(_)
            | Self::MarksAre(_)
            | Self::AnAmountIsAtLeast(_)
            | Self::Before(_) => return None,
        })
    }

    fn holds(&self, sample: &Sample) -> bool {
        let first = sample.marks.first();
        match self {
            Self::CountIs(count) => sample.count == *count,
            Self::CountIsAtLeast(count) => sample.count >= *count,
            Self::CountIsBelow(count) => sample.count < *count,
            Self::CountIsOneOf(counts) => counts.contains(&sample.count),
            Self::LimitIs(limit) => sample.limit == *limit,
            Self::LimitIsBelow(limit) => sample.limit.is_some_and(|own| own < *limit),
            Self::LimitComparesBelow(limit) => sample.limit.is_none_or(|own| own < *limit),
            Self::HasLimit(has) => sample.limit.is_some() == *has,
            Self::HasMark(mark) => sample.marks.contains(mark),
            Self::LacksMark(mark) => !sample.marks.contains(mark),
            Self::FirstMarkIs(mark) => first == Some(mark),
            Self::MarksAre(size) => sample.marks.len() == *size,
            Self::HasRoom(size) => i64_of(sample.marks.len()) < *size,
            Self::HasPart(key, least) => {
                sample.parts.iter().any(|part| part.key == *key && part.amount >= *least)
            }
            Self::AnAmountIsAtLeast(least) => sample.parts.iter().any(|part| part.amount >= *least),
            Self::StateIs(state) => sample.state == *state,
            Self::StateIsNot(state) => sample.state != *state,
            Self::Before(holds) => *holds,
            Self::All(guards) => guards.iter().all(|guard| guard.holds(sample)),
            Self::Any(guards) => guards.iter().any(|guard| guard.holds(sample)),
        }
    }
}

fn filters(guards: &[Guard]) -> Vec<Document> {
    guards.iter().map(Guard::filter).collect()
}

fn i64_of(size: usize) -> i64 {
    i64::try_from(size).expect("few")
}

/// What a statement makes of the count.
#[derive(Debug, Clone)]
enum Count {
    Add(i64),
    To(i64),
    /// The number of marks, and this much more.
    Marks(i64),
    /// An expression that fails on every document.
    Fails,
}

/// What a statement makes of the limit.
#[derive(Debug, Clone, Copy)]
enum Limit {
    To(i64),
    Removed,
}

/// A guarded change of one document. All fields are computed from the document before it.
#[derive(Debug, Clone)]
struct Statement {
    guards: Vec<Guard>,
    /// Whether the guards are rules, of which the caller is told the first one that is broken.
    is_ruled: bool,
    count: Option<Count>,
    /// A mark to add.
    mark: Option<String>,
    limit: Option<Limit>,
    /// What is added to the amount of the parts with this key.
    part: Option<(String, i64)>,
    state: Option<String>,
}

/// What the caller of a statement is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Applied,
    /// The guard doesn't hold, or without rules, there is no such document. Contains the number of the broken rule.
    Refused(Option<usize>),
    /// There is no such document.
    Missing,
    /// MongoDB can't carry out the statement.
    Impossible,
}

impl Statement {
    fn filter(&self, id: &str) -> Document {
        self.guards.iter().map(Guard::filter).fold(doc! { "_id": id }, both)
    }

    fn set(&self) -> Document {
        let count = self.count.as_ref().map(|count| match count {
            Count::Add(more) => doc! { "$add": ["$count", *more] }.into(),
            Count::To(count) => literal(*count),
            Count::Marks(more) => doc! { "$add": [{ "$size": "$marks" }, *more] }.into(),
            Count::Fails => doc! { "$toInt": "$_id" }.into(),
        });
        let limit = self.limit.map(|limit| match limit {
            Limit::To(limit) => literal(limit),
            Limit::Removed => "$$REMOVE".into(),
        });
        let part = self.part.as_ref().map(|(key, more)| {
            let is_it = doc! { "$eq": ["$$this.key", literal(key.as_str())] };
            let amount = doc! { "$add": ["$$this.amount", *more] };
            let changed = doc! { "$mergeObjects": ["$$this", { "amount": amount }] };
            let each = doc! { "$cond": [is_it, changed, "$$this"] };
            Bson::from(doc! { "$map": { "input": "$parts", "in": each } })
        });
        let fields = [
            ("count", count),
            (
                "marks",
                self.mark.as_ref().map(|mark| append("$marks", vec![literal(mark.as_str())])),
            ),
            ("limit", limit),
            ("parts", part),
            ("state", self.state.as_ref().map(|state| literal(state.as_str()))),
        ];
        fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))).collect()
    }

    /// Makes it.
    async fn made(self, samples: Collection<Sample>, id: String, attempt: Attempt) -> Told {
        let error = if self.is_ruled {
            let rules = self.guards.iter().filter_map(Guard::rule).enumerate();
            let rules = rules.map(|(number, rule)| (rule, number));
            let change = Change::ruled(id, rules, self.set());
            match samples.write(&change, &attempt).await {
                Ok(Verdict::Applied(_sends)) => return Told::Applied,
                Ok(Verdict::Refused(reason, _sample)) => return Told::Refused(Some(reason)),
                Ok(Verdict::Missing) => return Told::Missing,
                Err(error) => error,
            }
        } else {
            match samples.set(self.filter(&id), self.set()).done().await {
                Outcome::Applied(()) => return Told::Applied,
                Outcome::Refused => return Told::Refused(None),
                Outcome::Unknown(error) => error,
            }
        };
        assert!(matches!(error, Error::Internal(_)), "{error:?}");
        Told::Impossible
    }

    /// What the caller is told if the document is this one, which the statement changes if it is applied.
    fn carried_out(&self, sample: &mut Option<Sample>) -> Told {
        let Some(sample) = sample else {
            return if self.is_ruled { Told::Missing } else { Told::Refused(None) };
        };
        if let Some(broken) = self.guards.iter().position(|guard| !guard.holds(sample)) {
            return Told::Refused(self.is_ruled.then_some(broken));
        }
        let marks = i64_of(sample.marks.len());
        match self.count {
            Some(Count::Fails) => return Told::Impossible,
            Some(Count::Add(more)) => sample.count += more,
            Some(Count::To(count)) => sample.count = count,
            Some(Count::Marks(more)) => sample.count = marks + more,
            None => {}
        }
        sample.marks.extend(self.mark.clone());
        match self.limit {
            Some(Limit::To(limit)) => sample.limit = Some(limit),
            Some(Limit::Removed) => sample.limit = None,
            None => {}
        }
        if let Some((key, more)) = &self.part {
            for part in sample.parts.iter_mut().filter(|part| part.key == *key) {
                part.amount += more;
            }
        }
        if let Some(state) = &self.state {
            sample.state.clone_from(state);
        }
        Told::Applied
    }
}

/// A document, or none, and statements on it that are made at once.
type Row = (Option<Sample>, Vec<Statement>);

fn number() -> impl Strategy<Value = i64> {
    -3..6_i64
}

fn text() -> impl Strategy<Value = String> {
    select(&TEXTS[..]).prop_map(str::to_owned)
}

fn guard() -> impl Strategy<Value = Guard> {
    let leaf = prop_oneof![
        number().prop_map(Guard::CountIs),
        number().prop_map(Guard::CountIsAtLeast),
        number().prop_map(Guard::CountIsBelow),
        vec(number(), 0..4).prop_map(Guard::CountIsOneOf),
        option::of(number()).prop_map(Guard::LimitIs),
        number().prop_map(Guard::LimitIsBelow),
        number().prop_map(Guard::LimitComparesBelow),
        any::<bool>().prop_map(Guard::HasLimit),
        text().prop_map(Guard::HasMark),
        text().prop_map(Guard::LacksMark),
        text().prop_map(Guard::FirstMarkIs),
        (0..4_usize).prop_map(Guard::MarksAre),
        (0..5_i64).prop_map(Guard::HasRoom),
        (text(), number()).prop_map(|(key, least)| Guard::HasPart(key, least)),
        number().prop_map(Guard::AnAmountIsAtLeast),
        text().prop_map(Guard::StateIs),
        text().prop_map(Guard::StateIsNot),
        any::<bool>().prop_map(Guard::Before),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..3).prop_map(Guard::All),
            vec(inner, 1..4).prop_map(Guard::Any),
        ]
    })
}

fn statement(is_ruled: bool) -> impl Strategy<Value = Statement> {
    let count = prop_oneof![
        4 => number().prop_map(Count::Add),
        2 => number().prop_map(Count::To),
        2 => number().prop_map(Count::Marks),
        1 => Just(Count::Fails),
    ];
    let parts = (
        vec(guard(), 0..3),
        option::of(count),
        option::of(text()),
        option::of(prop_oneof![number().prop_map(Limit::To), Just(Limit::Removed)]),
        option::of((text(), number())),
        text(),
    );
    parts.prop_map(move |(mut guards, count, mark, limit, part, state)| {
        if is_ruled {
            guards.retain(|guard| guard.rule().is_some());
        }
        // A statement sets something.
        let sets_nothing = count.is_none() && mark.is_none() && limit.is_none() && part.is_none();
        let state = sets_nothing.then_some(state);
        Statement { guards, is_ruled, count, mark, limit, part, state }
    })
}

fn row() -> impl Strategy<Value = Row> {
    let part = (text(), number()).prop_map(|(key, amount)| Part { key, amount });
    let fields = (number(), option::of(number()), vec(text(), 0..4), vec(part, 0..3), text());
    let sample = fields.prop_map(|(count, limit, marks, parts, state)| Sample {
        id: String::new(),
        count,
        limit,
        marks,
        parts,
        state,
        v: Version,
    });
    // Rules tell the reason as the document is a moment after the refusal, when others may have changed it.
    let ruled = vec(statement(true), 1);
    let others = vec(statement(false), 1..4);
    (option::weighted(0.9, sample), prop_oneof![ruled, others])
}

/// Whether the statements, one after the other in some order, tell this and leave the document so.
fn is_explained(
    before: Option<&Sample>,
    statements: &[(&Statement, Told)],
    after: Option<&Sample>,
) -> bool {
    if statements.is_empty() {
        return before == after;
    }
    (0..statements.len()).any(|first| {
        let (mut next, mut others) = (before.cloned(), statements.to_vec());
        let (statement, told) = others.remove(first);
        statement.carried_out(&mut next) == told && is_explained(next.as_ref(), &others, after)
    })
}

/// Makes all statements at once. Fails unless each has the outcome that it has in some order, and each document is as this
/// order leaves it.
async fn assert_as_alone(gateway: &Gateway, rows: Vec<Row>) -> Result<(), TestCaseError> {
    let samples = gateway.app.collection::<Sample>();
    let prefix = fresh_name();
    let rows: Vec<(String, Row)> = rows
        .into_iter()
        .enumerate()
        .map(|(number, (sample, statements))| {
            let id = format!("{prefix}-{number}");
            let sample = sample.map(|sample| Sample { id: id.clone(), ..sample });
            (id, (sample, statements))
        })
        .collect();
    let stored: Vec<Sample> = rows.iter().filter_map(|(_, (sample, _))| sample.clone()).collect();
    if !stored.is_empty() {
        assert!(samples.insert_many(stored).await.expect("inserted").is_empty());
    }
    let attempt = gateway.begin().await;
    let calls = rows.iter().flat_map(|(id, (_, statements))| {
        let made = |statement: &Statement| {
            let call = statement.clone().made(samples.clone(), id.clone(), attempt);
            tokio::spawn(call)
        };
        statements.iter().map(made).collect::<Vec<_>>()
    });
    let mut outcomes = join_all(calls.collect::<Vec<_>>()).await.into_iter();
    for (id, (before, statements)) in &rows {
        let told: Vec<(&Statement, Told)> = statements
            .iter()
            .map(|statement| (statement, outcomes.next().expect("as many").expect("an outcome")))
            .collect();
        let after = samples.get(id).await.expect("read");
        if !is_explained(before.as_ref(), &told, after.as_ref()) {
            let said = format!("{before:#?}\nbecomes {after:#?}\nby {told:#?}");
            return Err(TestCaseError::fail(said));
        }
    }
    Ok(())
}

/// Number of batches, and of documents in each.
const BATCHES: u32 = 120;
const DOCUMENTS: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_random_statements_have_the_outcomes_of_the_reference() {
    let gateway = Gateway::with(very_long_bounds).await;
    let config = Config {
        cases: BATCHES,
        failure_persistence: None,
        max_shrink_time: u32::try_from(Duration::from_secs(60).as_millis()).expect("few"),
        ..Config::default()
    };
    // The same batches in each run.
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let (statements, runtime) = (Cell::new(0), Handle::current());
    let told = block_in_place(|| {
        runner.run(&vec(row(), DOCUMENTS), |rows| {
            let made: usize = rows.iter().map(|(_, statements)| statements.len()).sum();
            statements.set(statements.get() + made);
            runtime.block_on(assert_as_alone(&gateway, rows))
        })
    });
    if let Err(error) = told {
        panic!("{error}");
    }
    assert!(statements.get() > 10_000, "{statements:?}");
    let (shared, commands) = shared(&gateway).await;
    assert!(shared > 5_000.0 && shared / commands > 5.0, "{shared} in {commands} commands");
}
