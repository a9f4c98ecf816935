//! Guarded writes as statements of a shared `update`; see `super::writer`.

use std::{borrow::Cow, slice};

use mongodb::{
    bson::{Bson, Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};
use serde::Serialize;

use super::{
    driver::encode,
    guarded::{Alike, Write},
    merging::{Merged, set_of},
    migrations::known,
};

/// The text that a refused statement fails to convert to a number.
pub(super) const REFUSED: &str = "docgate:refused:";

/// What the filter of a write that can be part of a batch selects.
pub(super) struct Selected {
    /// The `_id` of the document.
    pub(super) id: String,
    /// Whether the write can be combined with others of the document: its filter has no conjuncts beside `_id` and `$expr`.
    pub(super) is_combinable: bool,
}

/// What a write selects, or `None` if it can't be part of a batch; see `super::writer`.
pub(super) fn selected(write: &Write) -> Option<Selected> {
    let UpdateModifications::Pipeline(_) = &*write.update else { return None };
    let Conjuncts { id, fields, .. } = Conjuncts::of(write.id.as_deref(), &write.filter)?;
    Some(Selected { id: id.to_owned(), is_combinable: fields.is_empty() })
}

/// The writes of one document as a statement of a batch, or `None` if they can't be part of one; see `super::writer`.
/// If there are several, their filters have no conjuncts beside `_id` and `$expr`. Those that don't depend on each other are
/// merged; see `super::merging`. The derived field is computed once, after all of them.
pub(super) fn element<'a>(writes: impl Iterator<Item = &'a Write>) -> Option<RawDocumentBuf> {
    let (mut query, mut runs, mut derived) = (Document::new(), Vec::new(), None);
    for write in writes {
        let UpdateModifications::Pipeline(stages) = &*write.update else { return None };
        let stages = match stages.split_last() {
            Some((last, own)) if write.derives => {
                derived = Some(last);
                own
            }
            _ => stages,
        };
        let Conjuncts { id, fields, conditions } =
            Conjuncts::of(write.id.as_deref(), &write.filter)?;
        query.insert("_id", id);
        restrict(&mut query, fields);
        append(&mut runs, Run { newest: write.newest, conditions, stages, merged: None });
    }
    encoded(query, runs, derived)
}

/// The statement of one write that is made of each of these documents; see
/// [`Guarded::of_each`](super::guarded::Guarded::of_each). It fails at the first document that refuses it.
pub(super) fn element_of_each<'a>(
    write: &Write,
    ids: impl Iterator<Item = &'a str>,
) -> Option<RawDocumentBuf> {
    let UpdateModifications::Pipeline(stages) = &*write.update else { return None };
    let Conjuncts { fields, conditions, .. } = Conjuncts::of(write.id.as_deref(), &write.filter)?;
    let mut query = doc! { "_id": { "$in": ids.collect::<Vec<_>>() } };
    restrict(&mut query, fields);
    several(query, Run { newest: write.newest, conditions, stages, merged: None }.into_stages())
}

/// Adds fields to the filter of a statement.
fn restrict(query: &mut Document, fields: Vec<(&str, &Bson)>) {
    if !fields.is_empty() {
        let fields = fields.into_iter().map(|(key, value)| doc! { key: value.clone() });
        query.insert("$and", fields.collect::<Vec<_>>());
    }
}

/// The statement of writes that are alike, each with the `_id` of its document and its key.
pub(super) fn element_of_alike<'a>(
    alike: &Alike,
    newest: i32,
    derived: Option<&Document>,
    writes: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<RawDocumentBuf> {
    let each = writes.map(|(id, key)| (Bson::from(id), Bson::from(key)));
    let (ids, mut keys): (Vec<_>, Vec<_>) = each.unzip();
    // Writes of one flow often have one key, and follow each other.
    keys.dedup();
    let (guard, set) = (alike.of)(&keys);
    let (mut query, set) = (doc! { "_id": { "$in": ids } }, [doc! { "$set": set }]);
    if alike.is_certain {
        let guard = Bson::Document(guard);
        let run = Run { newest, conditions: vec![&guard], stages: &set, merged: None };
        let pipeline = run.into_stages().into_iter().chain(derived.map(Stage::Own)).collect();
        return several(query, pipeline);
    }
    query.extend(guard);
    several(known(query, newest), set.iter().map(Stage::Own).collect())
}

/// The last stage of a write, if it computes the derived field.
pub(super) fn derived(write: &Write) -> Option<&Document> {
    let UpdateModifications::Pipeline(stages) = &*write.update else { return None };
    stages.last().filter(|_| write.derives)
}

/// The statement of a change of several documents.
fn several(query: Document, pipeline: Vec<Stage<'_>>) -> Option<RawDocumentBuf> {
    encode(&Statement { query, pipeline, upsert: None, multi: Some(true), hint: Some("_id_") }).ok()
}

/// The statement of these runs.
fn encoded(
    query: Document,
    runs: Vec<Run<'_>>,
    derived: Option<&Document>,
) -> Option<RawDocumentBuf> {
    let mut pipeline: Vec<Stage<'_>> = runs.into_iter().flat_map(Run::into_stages).collect();
    pipeline.extend(derived.map(Stage::Own));
    encode(&Statement { query, pipeline, upsert: Some(true), multi: None, hint: None }).ok()
}

/// Writes that follow each other in a statement and are checked by one stage.
struct Run<'a> {
    /// The newest version of documents that they may change.
    newest: i32,
    /// The conditions and the stages of the first one.
    conditions: Vec<&'a Bson>,
    stages: &'a [Document],
    /// All of them, if there are several.
    merged: Option<Merged<'a>>,
}

/// Adds a write to the last of the runs if it can be merged with it, and otherwise as a run of its own.
fn append<'a>(runs: &mut Vec<Run<'a>>, next: Run<'a>) {
    if let Some(last) = runs.last_mut().filter(|last| last.newest == next.newest)
        && let Some(more) = Merged::of(&next.conditions, next.stages)
        && let Some(mut merged) =
            last.merged.take().or_else(|| Merged::of(&last.conditions, last.stages))
    {
        let is_added = merged.add(more);
        last.merged = merged.is_several().then_some(merged);
        if is_added {
            return;
        }
    }
    runs.push(next);
}

impl<'a> Run<'a> {
    /// The stages. The first one checks the conditions. If the first change is a `$set`, that stage makes it too, because
    /// MongoDB has less work with one stage than with two. MongoDB evaluates the fields of a stage in their order, on the
    /// document before the stage. So nothing of the change is evaluated unless the conditions hold.
    fn into_stages(self) -> Vec<Stage<'a>> {
        let own =
            self.stages.split_first().and_then(|(first, rest)| Some((checkable(first)?, rest)));
        let (conditions, changes, rest) = match (self.merged, own) {
            (Some(merged), _) => {
                let (conditions, set) = merged.into_parts();
                (conditions, Cow::Owned(set), &self.stages[..0])
            }
            (None, Some((set, rest))) => (self.conditions, Cow::Borrowed(set), rest),
            (None, None) => (self.conditions, Cow::Owned(Document::new()), self.stages),
        };
        // A document that an upsert would insert has no version.
        let is_known = doc! { "$in": ["$v", (1..=self.newest).collect::<Vec<_>>()] };
        let conditions = conditions.into_iter().map(Cow::Borrowed);
        let all = conditions.chain([Cow::Owned(is_known.into())]).collect();
        let fails = doc! { "$toInt": { "$concat": [REFUSED, { "$type": "$_id" }] } };
        let id = Choice { operands: (All { all }, "$_id", fails) };
        let check = Stage::Check(Box::new(Check { set: Checked { id, changes } }));
        [check].into_iter().chain(rest.iter().map(Stage::Own)).collect()
    }
}

/// The fields that a stage sets, if the stage that checks the conditions can set them.
fn checkable(stage: &Document) -> Option<&Document> {
    set_of(stage).filter(|set| !set.keys().any(|field| field.as_str().starts_with("_id")))
}

/// A statement. It borrows what the writes have: copies of their expressions would cost more than to encode them.
#[derive(Serialize)]
struct Statement<'a> {
    #[serde(rename = "q")]
    query: Document,
    #[serde(rename = "u")]
    pipeline: Vec<Stage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upsert: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multi: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

/// A stage of a statement.
#[derive(Serialize)]
#[serde(untagged)]
enum Stage<'a> {
    /// Fails unless the conditions hold, and otherwise makes the first change.
    Check(Box<Check<'a>>),
    /// A stage of a write.
    Own(&'a Document),
}

/// `{$set: {_id: {$cond: [{$and: conditions}, "$_id", fail]}, changes}}`
#[derive(Serialize)]
struct Check<'a> {
    #[serde(rename = "$set")]
    set: Checked<'a>,
}

#[derive(Serialize)]
struct Checked<'a> {
    #[serde(rename = "_id")]
    id: Choice<'a>,
    #[serde(flatten)]
    changes: Cow<'a, Document>,
}

#[derive(Serialize)]
struct Choice<'a> {
    #[serde(rename = "$cond")]
    operands: (All<'a>, &'static str, Document),
}

#[derive(Serialize)]
struct All<'a> {
    #[serde(rename = "$and")]
    all: Vec<Cow<'a, Bson>>,
}

/// The conjuncts of the filter of a write that can be part of a batch.
pub(super) struct Conjuncts<'a> {
    /// The `_id`.
    pub(super) id: &'a str,
    /// The conditions of `$expr`.
    pub(super) conditions: Vec<&'a Bson>,
    /// The others, which stay in the filter.
    pub(super) fields: Vec<(&'a str, &'a Bson)>,
}

impl<'a> Conjuncts<'a> {
    /// Those of a filter, and of the `_id` that it may not have.
    pub(super) fn of(id: Option<&'a str>, filter: &'a Document) -> Option<Self> {
        let mut ids: Vec<&str> = id.into_iter().collect();
        let (mut conditions, mut fields) = (Vec::new(), Vec::new());
        let mut filters = vec![filter];
        while let Some(filter) = filters.pop() {
            for (key, value) in filter {
                let key = key.as_str();
                match (key, value) {
                    ("$and", Bson::Array(all)) => {
                        let all: Option<Vec<_>> = all.iter().map(Bson::as_document).collect();
                        filters.extend(all?);
                    }
                    ("$expr", condition) => conditions.extend(operands(condition)),
                    ("_id", id) => ids.push(id.as_str()?),
                    // An upsert would write this value of `v` to its new document.
                    ("v", _) => return None,
                    (_, value) if contains_expr(value) => return None,
                    ("$or" | "$nor", value) => fields.push((key, value)),
                    (operator, _) if operator.starts_with('$') => return None,
                    (field, value) => fields.push((field, value)),
                }
            }
        }
        let id = *ids.first()?;
        ids.iter().all(|other| *other == id).then_some(Self { id, conditions, fields })
    }
}

/// The conditions that a condition demands together.
fn operands(condition: &Bson) -> &[Bson] {
    match condition.as_document() {
        Some(operator) if operator.len() == 1 => {
            operator.get_array("$and").map_or(slice::from_ref(condition), Vec::as_slice)
        }
        _ => slice::from_ref(condition),
    }
}

/// Whether the value contains `$expr` at any depth.
fn contains_expr(value: &Bson) -> bool {
    match value {
        Bson::Array(all) => all.iter().any(contains_expr),
        Bson::Document(fields) => {
            fields.iter().any(|(key, value)| key == "$expr" || contains_expr(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::DateTime;

    use super::*;

    /// A stage that checks these conditions and sets these fields, as a statement has it.
    fn check(conditions: Vec<Bson>, changes: Document) -> Document {
        let fails = doc! { "$toInt": { "$concat": [REFUSED, { "$type": "$_id" }] } };
        let mut set = doc! { "_id": { "$cond": [{ "$and": conditions }, "$_id", fails] } };
        set.extend(changes);
        doc! { "$set": set }
    }

    #[test]
    fn writes_are_encoded_as_a_statement() {
        let at = DateTime::from_millis(5);
        let conditions =
            ["a", "b", "c"].map(|of| Bson::from(doc! { "$lt": [at, format!("${of}")] }));
        let sets = [
            doc! { "one": 1_i64, "sum": { "$add": ["$sum", 1_i64] } },
            doc! { "two": { "$literal": [at, true, Bson::Null] }, "sum": { "$add": ["$sum", 2] } },
            doc! { "three": "$sum" },
        ];
        let stages = sets.map(|set| [doc! { "$set": set }]);
        let mut runs = Vec::new();
        for (condition, stages) in conditions.iter().zip(&stages) {
            let conditions = vec![condition];
            append(&mut runs, Run { newest: 2, conditions, stages, merged: None });
        }
        let derived = doc! { "$set": { "derived": "$sum" } };
        let found = encoded(doc! { "_id": "id" }, runs, Some(&derived)).expect("it is encoded");
        let [a, b, c] = conditions;
        let is_known = Bson::from(doc! { "$in": ["$v", [1, 2]] });
        let merged = doc! {
            "one": 1_i64, "sum": { "$add": ["$sum", 1_i64, 2] },
            "two": { "$literal": [at, true, Bson::Null] },
        };
        let pipeline = [
            check(vec![a, b, is_known.clone()], merged),
            check(vec![c, is_known], doc! { "three": "$sum" }),
            derived,
        ];
        let expected = doc! { "q": { "_id": "id" }, "u": pipeline.to_vec(), "upsert": true };
        assert_eq!(found, encode(&expected).expect("it is encoded"));
    }

    #[test]
    fn only_fields_that_are_set_are_set_by_the_check() {
        let set = doc! { "one": 1 };
        for (stage, own) in [
            (doc! { "$set": &set }, None),
            (doc! { "$unset": "one" }, Some(doc! { "$unset": "one" })),
            (doc! { "$set": { "_id": "id" } }, Some(doc! { "$set": { "_id": "id" } })),
        ] {
            let (is_checked, stages) = (own.is_none(), [stage, doc! { "$set": { "two": 2 } }]);
            let run = Run { newest: 1, conditions: Vec::new(), stages: &stages, merged: None };
            let found = encoded(doc! { "_id": "id" }, vec![run], None).expect("it is encoded");
            let is_known = Bson::from(doc! { "$in": ["$v", [1]] });
            let changes = if is_checked { set.clone() } else { Document::new() };
            let [_, last] = stages.clone();
            let pipeline: Vec<_> =
                [check(vec![is_known], changes)].into_iter().chain(own).chain([last]).collect();
            let expected = doc! { "q": { "_id": "id" }, "u": pipeline, "upsert": true };
            assert_eq!(found, encode(&expected).expect("it is encoded"));
        }
    }

    #[test]
    fn conditions_that_are_demanded_together_are_conjuncts() {
        let (one, two) = (doc! { "$eq": ["$a", 1] }, doc! { "$or": ["$b", "$c"] });
        let filter = doc! { "$and": [
            { "_id": "id" },
            { "$expr": { "$and": [&one, &two] } },
        ] };
        let found = Conjuncts::of(None, &filter).expect("it can be part of a batch");
        assert_eq!(found.conditions, [&Bson::from(one), &Bson::from(&two)]);
        let filter = doc! { "_id": "id", "$expr": &two };
        let found = Conjuncts::of(None, &filter).expect("it can be part of a batch");
        assert_eq!(found.conditions, [&Bson::from(two)]);
    }

    #[test]
    fn a_filter_without_the_id_can_be_part_of_a_batch_with_it() {
        let filter = doc! { "$expr": { "$eq": ["$a", 1] } };
        assert!(Conjuncts::of(None, &filter).is_none());
        let found = Conjuncts::of(Some("id"), &filter).expect("it can be part of a batch");
        assert_eq!(found.id, "id");
        let other = doc! { "_id": "other" };
        assert!(Conjuncts::of(Some("id"), &other).is_none(), "it selects nothing");
    }

    #[test]
    fn writes_that_are_alike_are_one_statement() {
        let of = |keys: &[Bson]| {
            let set = doc! { "keys": { "$literal": keys.to_vec() } };
            (doc! { "marks.key": { "$in": keys.to_vec() } }, set)
        };
        let alike = Alike { name: "alike", is_certain: false, of };
        let writes = [("one", "a"), ("two", "a"), ("one", "b")].into_iter();
        let found = element_of_alike(&alike, 3, None, writes).expect("it is encoded");
        let expected = doc! {
            "q": {
                "_id": { "$in": ["one", "two", "one"] },
                "marks.key": { "$in": ["a", "b"] },
                "v": { "$not": { "$gt": 3 } },
            },
            "u": [{ "$set": { "keys": { "$literal": ["a", "b"] } } }],
            "multi": true,
            "hint": "_id_",
        };
        assert_eq!(found, encode(&expected).expect("it is encoded"));
    }
}
