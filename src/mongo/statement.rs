//! Guarded writes as statements of a shared `update`; see `super::writer`.

use mongodb::{
    bson::{Bson, Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};

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
/// after all of them.
pub(super) fn element<'a>(writes: impl Iterator<Item = &'a Write>) -> Option<RawDocumentBuf> {
    let (mut query, mut pipeline, mut derived) = (Document::new(), Vec::new(), None);
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
        let conditions: Vec<_> = conditions.into_iter().cloned().chain([is_known]).collect();
        let fails = doc! { "$toInt": { "$concat": [REFUSED, { "$type": "$_id" }] } };
        pipeline
            .push(doc! { "$set": { "_id": { "$cond": [{ "$and": conditions }, "$_id", fails] } } });
        pipeline.extend(stages.iter().cloned());
    }
    pipeline.extend(derived.cloned());
    encode(&doc! { "q": query, "u": pipeline, "upsert": true }).ok()
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
