//! Merges writes of one document, so that one stage of an update makes all of their changes.
//!
//! Each stage of an update copies the arrays and documents that it changes. If writes of one document are combined, stage
//! after stage, a long array is copied once for each of them, and that is most of MongoDB's work. So writes that don't
//! depend on each other are merged: one stage checks all of their conditions, and one makes all of their changes.
//!
//! A write can be merged if its update is one `$set` whose values don't depend on the document. Two changes that do
//! depend on it are permitted as well: adding to a number, and appending elements to an array. The write is merged with
//! the writes before it under two conditions:
//!
//! - None of these writes changes a field that its conditions read.
//! - It changes no field that they change. Only several additions to one number, and several elements appended to one
//!   array, are permitted.
//!
//! So its conditions hold after these writes if and only if they hold before them. The order of the writes matters only
//! for the order of the appended elements.

use mongodb::bson::{Bson, Document, doc};

/// Writes whose changes are one stage.
pub(super) struct Merged<'a> {
    conditions: Vec<&'a Bson>,
    changes: Vec<(&'a str, Change<'a>)>,
    /// Number of writes.
    count: usize,
}

/// A change of a field.
enum Change<'a> {
    /// It is set to a value.
    Set(&'a Bson),
    /// Numbers are added to it.
    Add(Vec<&'a Bson>),
    /// Elements are appended to it.
    Append(Vec<&'a Bson>),
}

impl<'a> Merged<'a> {
    /// A write by itself, if it can be merged with others.
    pub(super) fn of(conditions: &[&'a Bson], stages: &'a [Document]) -> Option<Self> {
        let [stage] = stages else { return None };
        let set = set_of(stage)?;
        let mut changes = Vec::with_capacity(set.len());
        for (field, value) in set {
            changes.push((field.as_str(), Change::of(field.as_str(), value)?));
        }
        let mut read = Vec::new();
        let is_known = conditions.iter().all(|condition| reads(condition, &mut read));
        is_known.then(|| Self { conditions: conditions.to_vec(), changes, count: 1 })
    }

    /// Adds the write that follows, and returns true, unless it depends on these.
    pub(super) fn add(&mut self, next: Self) -> bool {
        let mut read = Vec::new();
        let is_known = next.conditions.iter().all(|condition| reads(condition, &mut read));
        let is_changed = |path: &str| self.changes.iter().any(|(field, _)| overlap(field, path));
        let is_apart = |(field, change): &(&str, Change<'_>)| {
            let mut others = self.changes.iter().filter(|(other, _)| overlap(other, field));
            others.all(|(other, before)| other == field && before.takes(change))
        };
        if !is_known || read.into_iter().any(is_changed) || !next.changes.iter().all(is_apart) {
            return false;
        }
        self.conditions.extend(next.conditions);
        for (field, change) in next.changes {
            let same = self.changes.iter_mut().find(|(other, _)| *other == field);
            match (same, change) {
                (Some((_, Change::Add(all))), Change::Add(more))
                | (Some((_, Change::Append(all))), Change::Append(more)) => all.extend(more),
                (_, change) => self.changes.push((field, change)),
            }
        }
        self.count += 1;
        true
    }

    /// Whether there is more than one write.
    pub(super) fn is_several(&self) -> bool {
        self.count > 1
    }

    /// The conditions, and the fields that are set.
    pub(super) fn into_parts(self) -> (Vec<&'a Bson>, Document) {
        let changes = self.changes.into_iter();
        let set = changes.map(|(field, change)| (field.to_owned(), change.value(field))).collect();
        (self.conditions, set)
    }
}

/// The fields that a stage sets, if it does nothing else.
pub(super) fn set_of(stage: &Document) -> Option<&Document> {
    let mut operators = stage.iter();
    let (Some((name, Bson::Document(set))), None) = (operators.next(), operators.next()) else {
        return None;
    };
    (name.as_str() == "$set").then_some(set)
}

impl<'a> Change<'a> {
    /// The change of a field by its new value; `None` if the value depends on the document in another way.
    fn of(field: &str, value: &'a Bson) -> Option<Self> {
        let is_own =
            |value: &Bson| value.as_str().and_then(|text| text.strip_prefix('$')) == Some(field);
        if let Bson::Document(operator) = value
            && let Some((name, Bson::Array(operands))) = operator.iter().next()
            && let [own, more] = operands.as_slice()
            && is_own(own)
        {
            return match (name.as_str(), more) {
                ("$add", Bson::Int32(_) | Bson::Int64(_)) => Some(Self::Add(vec![more])),
                ("$concatArrays", Bson::Array(elements)) if elements.iter().all(is_constant) => {
                    Some(Self::Append(elements.iter().collect()))
                }
                _ => None,
            };
        }
        is_constant(value).then_some(Self::Set(value))
    }

    /// Whether a later change of the same field can be merged with this one.
    fn takes(&self, later: &Self) -> bool {
        matches!((self, later), (Self::Add(_), Self::Add(_)) | (Self::Append(_), Self::Append(_)))
    }

    /// The new value of the field, as an expression.
    fn value(self, field: &str) -> Bson {
        let own = Bson::String(format!("${field}"));
        match self {
            Self::Set(value) => value.clone(),
            Self::Add(numbers) => {
                let numbers = numbers.into_iter().cloned();
                let operands: Vec<Bson> = [own].into_iter().chain(numbers).collect();
                Bson::Document(doc! { "$add": operands })
            }
            Self::Append(elements) => {
                let elements: Vec<Bson> = elements.into_iter().cloned().collect();
                Bson::Document(doc! { "$concatArrays": [own, elements] })
            }
        }
    }
}

/// Whether the value of an expression is the same for every document.
fn is_constant(expression: &Bson) -> bool {
    let mut read = Vec::new();
    reads(expression, &mut read) && read.is_empty()
}

/// Adds the fields that an expression reads to `fields`. Returns false if it may read others.
fn reads<'a>(expression: &'a Bson, fields: &mut Vec<&'a str>) -> bool {
    match expression {
        Bson::String(text) => match text.strip_prefix('$') {
            None => true,
            // An element of an array, whose field is read beside it.
            Some(variable) if variable.starts_with('$') => {
                variable == "$NOW"
                    || variable == "$REMOVE"
                    || variable == "$this"
                    || variable.starts_with("$this.")
            }
            Some(path) => {
                fields.push(path);
                true
            }
        },
        Bson::Array(all) => all.iter().all(|one| reads(one, fields)),
        Bson::Document(operator) => operator.iter().all(|(name, value)| match name.as_str() {
            "$literal" => true,
            // Their operands name fields without a dollar sign, or code.
            "$getField" | "$setField" | "$unsetField" | "$function" | "$rand" => false,
            _ => reads(value, fields),
        }),
        _ => true,
    }
}

/// Whether one of the paths is the other one, or leads to it.
fn overlap(one: &str, other: &str) -> bool {
    let leads_to = |short: &str, long: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    leads_to(one, other) || leads_to(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A condition and a stage, as a hold of a seat has them.
    fn hold(seat: i32) -> (Bson, Vec<Document>) {
        let condition = doc! { "$and": [
            { "$eq": [{ "$type": format!("$taken.{seat}") }, "missing"] },
            { "$lt": ["$$NOW", "$startsAt"] },
        ] };
        let fields = doc! {
            format!("taken.{seat}"): 1,
            "free": { "$add": ["$free", -1_i64] },
            "holds": { "$concatArrays": ["$holds", [{ "$literal": { "seat": seat } }]] },
        };
        (condition.into(), vec![doc! { "$set": fields }])
    }

    fn merged((condition, stages): &(Bson, Vec<Document>)) -> Option<Merged<'_>> {
        Merged::of(&[condition], stages)
    }

    fn write(condition: Document, set: Document) -> (Bson, Vec<Document>) {
        (condition.into(), vec![doc! { "$set": set }])
    }

    #[test]
    fn writes_that_dont_depend_on_each_other_are_merged() {
        let (one, other) = (hold(3), hold(30));
        let mut all = merged(&one).expect("it can be merged");
        assert!(all.add(merged(&other).expect("it can be merged")));
        assert!(all.is_several());
        let (conditions, set) = all.into_parts();
        assert_eq!(conditions, [&one.0, &other.0]);
        let holds = [3, 30].map(|seat| doc! { "$literal": { "seat": seat } });
        let expected = doc! {
            "taken.3": 1,
            "free": { "$add": ["$free", -1_i64, -1_i64] },
            "holds": { "$concatArrays": ["$holds", holds.to_vec()] },
            "taken.30": 1,
        };
        assert_eq!(set, expected);
    }

    #[test]
    fn writes_that_depend_on_each_other_arent_merged() {
        let set_3 = || doc! { "taken.3": 1 };
        let later = [
            // The same field is set, or a part of it, or what it is a part of.
            hold(3),
            write(doc! {}, doc! { "taken": { "$literal": {} } }),
            write(doc! {}, doc! { "taken.3.by": 1 }),
            // The condition reads what the first one changes.
            write(doc! { "$eq": ["$taken", 1] }, set_3()),
            write(doc! { "$gt": ["$free", 1] }, doc! { "other": 1 }),
            write(doc! { "$in": ["a", "$holds.tag"] }, doc! { "other": 1 }),
            write(doc! {}, doc! { "free": 7 }),
        ];
        let first = hold(3);
        for next in &later {
            let mut all = merged(&first).expect("it can be merged");
            assert!(!all.add(merged(next).expect("it can be merged")), "{next:?}");
        }
    }

    #[test]
    fn what_reads_the_document_in_another_way_isnt_merged() {
        for set in [
            doc! { "one": "$other" },
            doc! { "one": { "$add": ["$other", 1] } },
            doc! { "one": { "$add": ["$one", "$other"] } },
            doc! { "one": { "$concatArrays": ["$one", ["$other"]] } },
            doc! { "one": { "$concatArrays": ["$one", "$other"] } },
            doc! { "one": "$$ROOT" },
            doc! { "one": { "$getField": "other" } },
        ] {
            let write = write(doc! {}, set);
            assert!(merged(&write).is_none(), "{write:?}");
        }
        for condition in [doc! { "$eq": ["$$ROOT", 1] }, doc! { "$eq": [{ "$getField": "a" }, 1] }]
        {
            let write = write(condition, doc! { "one": 1 });
            assert!(merged(&write).is_none(), "{write:?}");
        }
        let mut stages = hold(3);
        stages.1.push(doc! { "$set": { "one": 1 } });
        assert!(merged(&stages).is_none());
    }
}
