//! Paths through the documents and lists of a document, and the updates that replace or remove the values at a path.

use mongodb::bson::{Bson, Document, doc};

use super::{Blank, Erasure, Field};

/// The texts at a path.
pub(super) fn texts<'a>(at: &'a Document, path: &str, found: &mut Vec<&'a str>) {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let Some(value) = at.get(step.trim_end_matches("[]")) else { return };
    for value in each(value) {
        match value {
            Bson::Document(inner) if !rest.is_empty() => texts(inner, rest, found),
            Bson::String(text) if rest.is_empty() => found.push(text),
            _ => {}
        }
    }
}

/// The elements of a list, or the value itself.
fn each(value: &Bson) -> &[Bson] {
    match value {
        Bson::Array(elements) => elements,
        other => std::slice::from_ref(other),
    }
}

/// The elements of the last list on the path that have a text of which `is_of` is true.
pub(super) fn elements(
    at: &Document,
    path: &str,
    is_of: &dyn Fn(&str) -> bool,
    found: &mut Vec<Document>,
) {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let Some(value) = at.get(step.trim_end_matches("[]")) else { return };
    for inner in each(value).iter().filter_map(Bson::as_document) {
        if rest.contains("[]") || !step.ends_with("[]") {
            elements(inner, rest, is_of, found);
            continue;
        }
        let mut named = Vec::new();
        texts(inner, rest, &mut named);
        if named.into_iter().any(is_of) {
            found.push(inner.clone());
        }
    }
}

/// Removes what is at a path.
pub fn take_out(from: &mut Document, path: &str) {
    let Some((step, rest)) = path.split_once('.') else {
        from.remove(path);
        return;
    };
    match from.get_mut(step.trim_end_matches("[]")) {
        Some(Bson::Document(inner)) => take_out(inner, rest),
        Some(Bson::Array(elements)) => {
            for inner in elements.iter_mut().filter_map(Bson::as_document_mut) {
                take_out(inner, rest);
            }
        }
        _ => {}
    }
}

/// The path as filters and indexes have it, without the marks of lists.
pub(super) fn plain(path: &str) -> String {
    path.replace("[]", "")
}

/// The path as an update has it, and the keys of the filters of its elements: it goes only through the elements of each
/// list in which the value is. The names of the filters begin with `name`.
fn positional(path: &str, name: &str) -> (String, Vec<String>) {
    let (mut through, mut keys) = (String::new(), Vec::new());
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once("[]") {
        let name = format!("{name}x{}", keys.len());
        through = format!("{through}{before}.$[{name}]");
        keys.push(format!("{name}{}", plain(behind)));
        rest = behind;
    }
    (format!("{through}{rest}"), keys)
}

/// An update of one document, without the filter by its key.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Update {
    /// What has to hold.
    pub(super) filter: Document,
    /// The update by operators.
    pub(super) operators: Document,
    /// The filters of elements.
    pub(super) array_filters: Vec<Document>,
}

impl Update {
    /// The update that replaces the subject in fields with a pseudonym, if there are any.
    pub(super) fn replacing(
        found: &Document,
        fields: &[Field],
        subject: &str,
        pseudonym: &str,
    ) -> Option<Self> {
        let (mut set, mut unset, mut whole) = (Document::new(), Document::new(), Self::default());
        for field in fields {
            let Erasure::Pseudonym(beside) = field.erasure else { continue };
            for value in matching(found, field, subject) {
                let name = format!("e{}", whole.array_filters.len());
                let (path, keys) = positional(field.path, &name);
                if keys.is_empty() {
                    whole.filter.insert(field.path, &value);
                }
                whole.array_filters.extend(keys.into_iter().map(|key| doc! { key: &value }));
                let above = path.rsplit_once('.').map_or("", |(above, _)| above).to_owned();
                for (name, blank) in beside {
                    let at = if above.is_empty() {
                        (*name).to_owned()
                    } else {
                        format!("{above}.{name}")
                    };
                    let Some(at) = through_all(found, &at, &mut whole.filter) else { continue };
                    match blanked(*blank, pseudonym) {
                        Some(value) => set.insert(at, value),
                        None => unset.insert(at, ""),
                    };
                }
                set.insert(path, field.with(&value, subject, pseudonym));
            }
        }
        if set.is_empty() {
            return None;
        }
        whole.operators.insert("$set", set);
        if !unset.is_empty() {
            whole.operators.insert("$unset", unset);
        }
        Some(whole)
    }

    /// The updates that remove elements, one for each field.
    pub(super) fn pulling(found: &Document, fields: &[Field], subject: &str) -> Vec<Self> {
        let mut updates = Vec::new();
        for field in fields.iter().filter(|field| matches!(field.erasure, Erasure::Element)) {
            let values = matching(found, field, subject);
            if values.is_empty() {
                continue;
            }
            let at = field.path.rfind("[]").unwrap_or(field.path.len());
            let list = field.path[..at].replace("[]", ".$[]");
            let below = field.path[at..].trim_start_matches("[]").trim_start_matches('.');
            let selects = doc! { "$in": values };
            let selects = if below.is_empty() {
                selects
            } else {
                doc! { below: selects }
            };
            let update = doc! { "$pull": { list: selects } };
            updates.push(Self { operators: update, ..Self::default() });
        }
        updates
    }
}

/// The path as an update has it that goes through all elements of a list of the document. Without the list there is nothing
/// to change, and an update through it would fail; then the filter demands that there is still none.
fn through_all(found: &Document, path: &str, filter: &mut Document) -> Option<String> {
    let Some((list, below)) = path.split_once("[].") else { return Some(path.to_owned()) };
    if found.get_array(list).is_err() {
        filter.insert(list, doc! { "$exists": false });
        return None;
    }
    Some(format!("{list}.$[].{below}"))
}

fn blanked(blank: Blank, pseudonym: &str) -> Option<Bson> {
    match blank {
        Blank::Nothing => None,
        Blank::Empty => Some("".into()),
        Blank::Pseudonym => Some(pseudonym.into()),
        Blank::EmptyFields(names) => {
            let fields = names.iter().map(|name| ((*name).to_owned(), Bson::from("")));
            Some(Bson::Document(fields.collect()))
        }
    }
}

/// The values of a field that contain the subject, each once.
pub(super) fn matching(found: &Document, field: &Field, subject: &str) -> Vec<String> {
    let mut values = Vec::new();
    texts(found, field.path, &mut values);
    values.retain(|value| field.is_of(value, subject));
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> Document {
        doc! {
            "owner": "ann",
            "posts": [
                { "by": "bob", "text": "x", "latest": [{ "by": "ann", "text": "y" }] },
                { "by": "ann", "text": "z", "latest": [] },
            ],
            "to": ["ann", "eve"],
        }
    }

    #[test]
    fn every_path_finds_its_texts() {
        let (stored, ann) = (stored(), |path| Field::replaces(path));
        for path in ["owner", "posts[].by", "posts[].latest[].by", "to[]"] {
            assert_eq!(matching(&stored, &ann(path), "ann"), ["ann"], "{path}");
        }
        assert!(matching(&stored, &ann("posts[].text"), "ann").is_empty());
        assert!(matching(&stored, &ann("nothing.by"), "ann").is_empty());
        let mut found = Vec::new();
        elements(&stored, "posts[].latest[].by", &|text| text == "ann", &mut found);
        elements(&stored, "posts[].by", &|text| text == "ann", &mut found);
        let texts: Vec<_> = found.iter().map(|one| one.get_str("text").expect("text")).collect();
        assert_eq!(texts, ["y", "z"]);
    }

    #[test]
    fn what_is_taken_out_is_gone() {
        let mut document = doc! {
            "a": { "b": [1], "c": 2 }, "d": 3, "list": [{ "by": "ann", "text": "x" }, "y"],
        };
        for path in ["a.b", "a.none", "d.b", "none.b", "d", "list[].by", "none[].by"] {
            take_out(&mut document, path);
        }
        assert_eq!(document, doc! { "a": { "c": 2 }, "list": [{ "text": "x" }, "y"] });
    }

    #[test]
    fn one_update_replaces_all_fields() {
        let fields = [
            Field::blanks("owner", &[("shipping", Blank::EmptyFields(&["name"]))]),
            Field::blanks("posts[].latest[].by", &[("text", Blank::Empty), ("n", Blank::Nothing)]),
            Field::replaces("to[]"),
        ];
        let update = Update::replacing(&stored(), &fields, "ann", "p").expect("an update");
        assert_eq!(update.filter, doc! { "owner": "ann" });
        let set = doc! {
            "shipping": { "name": "" }, "owner": "p",
            "posts.$[e0x0].latest.$[e0x1].text": "", "posts.$[e0x0].latest.$[e0x1].by": "p",
            "to.$[e2x0]": "p",
        };
        let unset = doc! { "posts.$[e0x0].latest.$[e0x1].n": "" };
        assert_eq!(update.operators, doc! { "$set": set, "$unset": unset });
        let filters =
            [doc! { "e0x0.latest.by": "ann" }, doc! { "e0x1.by": "ann" }, doc! { "e2x0": "ann" }];
        assert_eq!(update.array_filters, filters);
        assert_eq!(Update::replacing(&stored(), &fields, "eva", "p"), None);
    }

    #[test]
    fn fields_of_all_elements_of_a_list_go() {
        let beside = &[("posts[].text", Blank::Nothing), ("none[].text", Blank::Nothing)];
        let fields = [Field::blanks("owner", beside)];
        let update = Update::replacing(&stored(), &fields, "ann", "p").expect("an update");
        let none = doc! { "$exists": false };
        assert_eq!(update.filter, doc! { "owner": "ann", "none": none });
        let unset = doc! { "posts.$[].text": "" };
        assert_eq!(update.operators, doc! { "$set": { "owner": "p" }, "$unset": unset });
        assert!(update.array_filters.is_empty());
    }

    #[test]
    fn elements_are_pulled_by_what_they_hold() {
        let fields = [Field::pulls("posts[].by"), Field::pulls("to[]"), Field::pulls("none[]")];
        let pulls: Vec<_> = Update::pulling(&stored(), &fields, "ann")
            .into_iter()
            .map(|update| update.operators)
            .collect();
        let by = doc! { "$pull": { "posts": { "by": { "$in": ["ann"] } } } };
        assert_eq!(pulls, [by, doc! { "$pull": { "to": { "$in": ["ann"] } } }]);
    }
}
