//! Invariants of people, for `docgate check`.

use super::{documents::PersonDocument, store};
use crate::{graphql::prelude::*, invariants::Report};

/// Checks that copies of names equal the record, and that `nameKey` equals the name in lower case.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let rule = "people: every product's copy of a name equals the person's name";
    report.add(rule, store::list_wrong_names(app).await?);
    report.rule("people: the key by which a name is found is the name in lower case");
    let each = |person: PersonDocument| {
        if person.name_key != input::folded(&person.name) {
            report.broken(format!("{}: {:?} for {:?}", person.id, person.name_key, person.name));
        }
        // Earlier versions don't store terms.
        if person.search.as_ref().is_some_and(|terms| *terms != PersonDocument::terms(&person.name))
        {
            let mends = "`docgate indexes apply` mends it";
            report.broken(format!("{}: its terms aren't those of its name ({mends})", person.id));
        }
    };
    store::people(app).for_each(each).await
}
