//! The table of the personal data in all rooms, for `docs/PERSONAL_DATA.md` and `docgate person what`.

use std::fmt::Write as _;

use super::declarations;
use crate::mongo::personal::{Blank, Erasure, Field, Find, Holds};

/// The table in Markdown.
pub fn as_markdown() -> String {
    let mut text = "| collection | room | field with the subject | found by | erasure |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for (room, personal) in declarations() {
        let name = personal.collection;
        // Writing to a string doesn't fail.
        match personal.holds {
            Holds::Nothing(why) => {
                let _written = writeln!(text, "| `{name}` | {room} | none | | {why} |");
            }
            Holds::Subjects(subjects) => {
                let by = match subjects.find {
                    Find::Id => "`_id`".to_owned(),
                    Find::Index(_, index) => format!("index `{index}`"),
                    Find::Walk => "walk".to_owned(),
                };
                for field in subjects.fields {
                    let path = field.path;
                    let what = erasure(field);
                    let _written =
                        writeln!(text, "| `{name}` | {room} | `{path}` | {by} | {what} |");
                }
                if let Some(owned) = subjects.owned {
                    let (field, of) = (owned.field, owned.collection);
                    let _written = writeln!(
                        text,
                        "| `{name}` | {room} | none; `{field}` names the person's `{of}` | {by}, in an export | stays |"
                    );
                }
            }
        }
    }
    text
}

/// What an erasure does with a field.
fn erasure(field: &Field) -> String {
    match field.erasure {
        Erasure::Document => "the document is removed".to_owned(),
        Erasure::Element => "the element is removed".to_owned(),
        Erasure::Operation(what) => what.to_owned(),
        Erasure::Pseudonym([]) => "pseudonym".to_owned(),
        Erasure::Pseudonym(beside) => {
            let each = beside.iter().map(|(name, blank)| match blank {
                Blank::Nothing => format!("`{name}` goes"),
                Blank::Empty | Blank::EmptyFields(_) => format!("`{name}` is emptied"),
                Blank::Pseudonym => format!("`{name}` too"),
            });
            format!("pseudonym; {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_collection() {
        let table = as_markdown();
        for (_, personal) in declarations() {
            assert!(table.contains(&format!("| `{}` |", personal.collection)));
        }
    }
}
