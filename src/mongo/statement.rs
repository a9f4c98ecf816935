//! Guarded writes as statements of a shared `update`; see `super::writer`.

use mongodb::{
    bson::{Bson, Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};
use serde::Serialize;

use super::{driver::encode, guarded::Write};

/// The text that a refused statement fails to convert to a number.
pub(super) const REFUSED: &str = "docgate:refused:";

/// The `_id` of the document that a write selects, if the write can be part of a batch.
pub(super) fn id_of(write: &Write) -> Option<&str> {
    Some(Conjuncts::of(&write.filter)?.id)
}

/// Whether a write can be part of a batch; see `super::writer`.
pub(super) fn is_batchable(write: &Write) -> bool {
    !write.is_numbered
        && matches!(write.update, UpdateModifications::Pipeline(_))
        && Conjuncts::of(&write.filter).is_some()
}

/// The writes of one document as a statement of a batch, or `None` if they can't be part of one; see `super::writer`.
/// If there are several, their filters have no conjuncts beside `_id` and `$expr`. The derived field is computed once,
/// after all of them. The conditions and the stages are encoded where they are: copies of them would take as long as all
/// the rest.
pub(super) fn element<'a>(writes: impl Iterator<Item = &'a Write>) -> Option<RawDocumentBuf> {
    let (mut query, mut pipeline, mut derived) = (Document::new(), Vec::new(), None);
    let fails: Bson = doc! { "$toInt": { "$concat": [REFUSED, { "$type": "$_id" }] } }.into();
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
        // A document that an upsert would insert has no version.
        let is_known = doc! { "$in": ["$v", (1..=write.newest).collect::<Vec<_>>()] }.into();
        pipeline.push(Stage::Guard(conditions, is_known));
        pipeline.extend(stages.iter().map(Stage::Given));
    }
    pipeline.extend(derived.map(Stage::Given));
    let pipeline = pipeline.iter().map(|stage| stage.encoded(&fails)).collect();
    encode(&Statement { query, pipeline, upsert: true }).ok()
}

/// An element of the command.
#[derive(Serialize)]
struct Statement<'a> {
    #[serde(rename = "q")]
    query: Document,
    #[serde(rename = "u")]
    pipeline: Vec<Encoded<'a>>,
    upsert: bool,
}

/// A stage of a statement.
enum Stage<'a> {
    /// It fails unless these conditions hold, and the last one.
    Guard(Vec<&'a Bson>, Bson),
    /// A stage of the update.
    Given(&'a Document),
}

/// A stage in the form in which it is encoded.
#[derive(Serialize)]
#[serde(untagged)]
enum Encoded<'a> {
    Guard {
        #[serde(rename = "$set")]
        set: Id<'a>,
    },
    Given(&'a Document),
}

/// The `_id`, which the guard sets to itself.
#[derive(Serialize)]
struct Id<'a> {
    #[serde(rename = "_id")]
    value: Choice<'a>,
}

/// An expression: a condition, the value if it holds, and the value if it doesn't.
#[derive(Serialize)]
struct Choice<'a> {
    #[serde(rename = "$cond")]
    parts: (Conjunction<'a>, &'static str, &'a Bson),
}

/// An expression: all of these hold.
#[derive(Serialize)]
struct Conjunction<'a> {
    #[serde(rename = "$and")]
    all: Vec<&'a Bson>,
}

impl<'a> Stage<'a> {
    /// The stage as it is encoded. `fails` is the expression that fails.
    fn encoded(&'a self, fails: &'a Bson) -> Encoded<'a> {
        match self {
            Self::Guard(conditions, last) => {
                let all = conditions.iter().copied().chain([last]).collect();
                let parts = (Conjunction { all }, "$_id", fails);
                Encoded::Guard { set: Id { value: Choice { parts } } }
            }
            Self::Given(stage) => Encoded::Given(stage),
        }
    }
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
    use super::*;

    #[test]
    fn a_statement_is_its_guards_and_stages() {
        let is_cheap: Bson = doc! { "$lt": ["$price", 3_i64] }.into();
        let is_there: Bson = doc! { "$eq": ["$state", { "$literal": "OPEN" }] }.into();
        let known: Bson = doc! { "$in": ["$v", [1, 2]] }.into();
        let at = mongodb::bson::DateTime::from_millis(7);
        let stages = [
            doc! { "$set": { "at": at, "n": { "$add": ["$n", 1_i64] } } },
            doc! { "$unset": "old" },
        ];
        let fails: Bson = doc! { "$toInt": "no" }.into();
        let guard = Stage::Guard(vec![&is_cheap, &is_there], known.clone());
        let pipeline =
            vec![guard.encoded(&fails), Encoded::Given(&stages[0]), Encoded::Given(&stages[1])];
        let statement = Statement { query: doc! { "_id": "a" }, pipeline, upsert: true };
        let expected = doc! {
            "q": { "_id": "a" },
            "u": [
                { "$set": { "_id": { "$cond": [{ "$and": [is_cheap.clone(), is_there.clone(), known.clone()] }, "$_id", fails.clone()] } } },
                stages[0].clone(),
                stages[1].clone(),
            ],
            "upsert": true,
        };
        assert_eq!(encode(&statement).expect("bytes"), encode(&expected).expect("bytes"));
    }
}
