//! Guarded writes as statements of a shared `update`; see `super::writer`.

use std::borrow::Cow;

use mongodb::{
    bson::{Bson, Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};
use serde::Serialize;

use super::{driver::encode, guarded::Write, merging::Merged};

/// The text that a refused statement fails to convert to a number.
pub(super) const REFUSED: &str = "docgate:refused:";

/// The `_id` of the document that a write selects, if the write can be part of a batch.
pub(super) fn id_of(write: &Write) -> Option<&str> {
    Some(Conjuncts::of(&write.filter)?.id)
}

/// Whether a write can be part of a batch; see `super::writer`.
pub(super) fn is_batchable(write: &Write) -> bool {
    matches!(write.update, UpdateModifications::Pipeline(_))
        && Conjuncts::of(&write.filter).is_some()
}

/// The writes of one document as a statement of a batch, or `None` if they can't be part of one; see `super::writer`.
/// If there are several, their filters have no conjuncts beside `_id` and `$expr`. Those that don't depend on each other are
/// merged; see `super::merging`. The derived field is computed once, after all of them.
pub(super) fn element<'a>(writes: impl Iterator<Item = &'a Write>) -> Option<RawDocumentBuf> {
    let (mut query, mut runs, mut derived) = (Document::new(), Vec::new(), None);
    for write in writes {
        let UpdateModifications::Pipeline(stages) = &write.update else { return None };
        let stages = match stages.split_last() {
            Some((last, own)) if write.derives => {
                derived = Some(last);
                own
            }
            _ => stages,
        };
        let Conjuncts { id, fields, conditions } = Conjuncts::of(&write.filter)?;
        query.insert("_id", id);
        if !fields.is_empty() {
            let fields = fields.into_iter().map(|(key, value)| doc! { key: value.clone() });
            query.insert("$and", fields.collect::<Vec<_>>());
        }
        append(&mut runs, Run { newest: write.newest, conditions, stages, merged: None });
    }
    encoded(query, runs, derived)
}

/// The statement of these runs.
fn encoded(
    query: Document,
    runs: Vec<Run<'_>>,
    derived: Option<&Document>,
) -> Option<RawDocumentBuf> {
    let mut pipeline: Vec<Stage<'_>> = runs.into_iter().flat_map(Run::into_stages).collect();
    pipeline.extend(derived.map(Stage::Own));
    encode(&Statement { query, pipeline, upsert: true }).ok()
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
    fn into_stages(self) -> Vec<Stage<'a>> {
        let (conditions, changes) = match self.merged {
            Some(merged) => {
                let (conditions, stage) = merged.into_parts();
                (conditions, vec![Stage::Merged(stage)])
            }
            None => (self.conditions, self.stages.iter().map(Stage::Own).collect()),
        };
        // A document that an upsert would insert has no version.
        let is_known = doc! { "$in": ["$v", (1..=self.newest).collect::<Vec<_>>()] };
        let conditions = conditions.into_iter().map(Cow::Borrowed);
        let all = conditions.chain([Cow::Owned(is_known.into())]).collect();
        let fails = doc! { "$toInt": { "$concat": [REFUSED, { "$type": "$_id" }] } };
        let check = Check { set: Id { id: Choice { operands: (All { all }, "$_id", fails) } } };
        [Stage::Check(check)].into_iter().chain(changes).collect()
    }
}

/// A statement. It borrows what the writes have: copies of their expressions would cost more than to encode them.
#[derive(Serialize)]
struct Statement<'a> {
    #[serde(rename = "q")]
    query: Document,
    #[serde(rename = "u")]
    pipeline: Vec<Stage<'a>>,
    upsert: bool,
}

/// A stage of a statement.
#[derive(Serialize)]
#[serde(untagged)]
enum Stage<'a> {
    /// Fails unless the conditions hold.
    Check(Check<'a>),
    /// A stage of a write.
    Own(&'a Document),
    /// The changes of several writes.
    Merged(Document),
}

/// `{$set: {_id: {$cond: [{$and: conditions}, "$_id", fail]}}}`
#[derive(Serialize)]
struct Check<'a> {
    #[serde(rename = "$set")]
    set: Id<'a>,
}

#[derive(Serialize)]
struct Id<'a> {
    #[serde(rename = "_id")]
    id: Choice<'a>,
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
    pub(super) fn of(filter: &'a Document) -> Option<Self> {
        let (mut ids, mut conditions, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        let mut filters = vec![filter];
        while let Some(filter) = filters.pop() {
            for (key, value) in filter {
                let key = key.as_str();
                match (key, value) {
                    ("$and", Bson::Array(all)) => {
                        let all: Option<Vec<_>> = all.iter().map(Bson::as_document).collect();
                        filters.extend(all?);
                    }
                    ("$expr", condition) => conditions.push(condition),
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

    /// A check of these conditions as a statement has it.
    fn check(conditions: Vec<Bson>) -> Document {
        let fails = doc! { "$toInt": { "$concat": [REFUSED, { "$type": "$_id" }] } };
        doc! { "$set": { "_id": { "$cond": [{ "$and": conditions }, "$_id", fails] } } }
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
        let [.., [own]] = stages;
        let pipeline = [
            check(vec![a, b, is_known.clone()]),
            doc! { "$set": merged },
            check(vec![c, is_known]),
            own,
            derived,
        ];
        let expected = doc! { "q": { "_id": "id" }, "u": pipeline.to_vec(), "upsert": true };
        assert_eq!(found, encode(&expected).expect("it is encoded"));
    }
}
