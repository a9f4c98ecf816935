//! The categories and people that the lines of an import name.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    super::{
        documents::Contributor,
        store::{self, CONTRIBUTORS},
        types::CATEGORIES,
    },
    ImportProduct,
};
use crate::{
    domains::{
        categories::{self, CategoryCopy},
        people::{self, PersonName, operations::WORKS},
    },
    graphql::prelude::*,
};

/// A contributor, named by either id or key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportContributor {
    /// Global id of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_id: Option<ID>,
    /// Key under which the person was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_key: Option<String>,
    /// Role, such as `author`.
    pub role: Slug,
}

impl ImportContributor {
    /// The field that names the person, and the person's `_id`.
    fn person(&self) -> Result<(&'static str, String), InvalidInput> {
        const ID_FIELD: &str = "personId";
        const KEY_FIELD: &str = "personKey";
        match (&self.person_id, &self.person_key) {
            // An id of another kind is treated like one that doesn't exist.
            (Some(id), None) => Ok((ID_FIELD, input::id(NodeKind::PERSON, id).unwrap_or_default())),
            (None, Some(key)) => Ok((KEY_FIELD, people::import::id_of(KEY_FIELD, key)?)),
            _ => Err(InvalidInput::new(
                ID_FIELD,
                "exactly one of `personId` and `personKey` is required",
            )),
        }
    }

    /// Why the line is refused if the person isn't there.
    fn missing(&self) -> String {
        match &self.person_key {
            Some(key) => format!("there is no person with the key {key:?}"),
            None => "there is no such person".to_owned(),
        }
    }
}

/// The paths of categories and the `_id`s of people that lines name, each once.
pub(super) fn named(lines: &[ImportProduct]) -> (Vec<String>, Vec<String>) {
    let paths: BTreeSet<String> = lines.iter().flat_map(|line| line.categories.clone()).collect();
    let contributors = lines.iter().flat_map(|line| line.contributors.iter().flatten());
    let people: BTreeSet<String> =
        contributors.filter_map(|one| Some(one.person().ok()?.1)).collect();
    (Vec::from_iter(paths), Vec::from_iter(people))
}

/// The records that the products of a batch copy.
pub(super) struct Found {
    categories: Vec<CategoryCopy>,
    people: Vec<PersonName>,
    /// The SKUs of products and the `_id`s of their contributors. It is read only if the batch can give a person all works that
    /// one can have.
    credited: BTreeSet<(String, String)>,
    /// The SKUs of the products that lines of the batch give to people as further works, by the `_id` of the person.
    added: BTreeMap<String, BTreeSet<String>>,
}

impl Found {
    /// Reads the categories at these paths and the people with these `_id`s, which `lines` name.
    pub(super) async fn read(
        app: &App,
        lines: &[ImportProduct],
        paths: &[String],
        people: &[String],
    ) -> Result<Self> {
        let categories = async {
            if paths.is_empty() {
                return Ok(Vec::new());
            }
            categories::operations::copies_at(app, paths).await
        };
        let (categories, people) =
            tokio::try_join!(categories, people::operations::names(app, people))?;
        let most = i64::try_from(lines.len()).unwrap_or(i64::MAX);
        let can_be_full = people.iter().any(|person| person.works.saturating_add(most) > WORKS);
        let credited = if can_be_full { credited(app, lines).await? } else { BTreeSet::new() };
        Ok(Self { categories, people, credited, added: BTreeMap::new() })
    }

    /// Whether no copied record has changed.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        fn versions(found: &Found) -> BTreeSet<(&str, i64)> {
            found.people.iter().map(|person| (person.id.as_str(), person.version)).collect()
        }
        self.categories == other.categories && versions(self) == versions(other)
    }

    /// The copies of the categories at these paths, each once.
    pub(super) fn categories(&self, paths: &[String]) -> Result<Vec<CategoryCopy>, InvalidInput> {
        input::at_most("categories", paths, CATEGORIES)?;
        let mut categories: Vec<CategoryCopy> = Vec::new();
        for (position, path) in paths.iter().enumerate() {
            let copy = self.categories.iter().find(|copy| copy.path == *path);
            let copy = copy.ok_or_else(|| {
                let field = format!("categories.{position}");
                InvalidInput::new(&field, format!("there is no category {path:?}"))
            })?;
            if !categories.iter().any(|other| other.id == copy.id) {
                categories.push(copy.clone());
            }
        }
        Ok(categories)
    }

    /// The contributors as the product stores them, each once. A person with all works that one can have is taken if the product is
    /// one of them. Works that earlier lines of the batch add count too.
    pub(super) fn contributors(
        &mut self,
        sku: &str,
        lines: &[ImportContributor],
    ) -> Result<Vec<Contributor>, InvalidInput> {
        input::at_most("contributors", lines, CONTRIBUTORS)?;
        let mut contributors: Vec<Contributor> = Vec::new();
        for (position, line) in lines.iter().enumerate() {
            let above = format!("contributors.{position}");
            let (field, id) = line.person().map_err(|invalid| invalid.below(&above))?;
            let invalid = |reason: String| InvalidInput::new(&format!("{above}.{field}"), reason);
            let person = self.people.iter().find(|person| person.id == id);
            let person = person.ok_or_else(|| invalid(line.missing()))?;
            if self.works(person, sku) >= WORKS && !self.is_credited(sku, &id) {
                return Err(invalid(format!("has {WORKS} works already")));
            }
            let contributor = Contributor::of(person, &line.role);
            if !contributors.contains(&contributor) {
                contributors.push(contributor);
            }
        }
        for Contributor { person_id, .. } in &contributors {
            if !self.is_credited(sku, person_id) {
                self.added.entry(person_id.clone()).or_default().insert(sku.to_owned());
            }
        }
        Ok(contributors)
    }

    /// Number of the works of a person but this product, if that is a further one.
    fn works(&self, person: &PersonName, sku: &str) -> i64 {
        let added = self.added.get(&person.id);
        let others = added.map_or(0, |skus| skus.len() - usize::from(skus.contains(sku)));
        person.works.saturating_add(i64::try_from(others).unwrap_or(i64::MAX))
    }

    /// Whether the person is a contributor of the stored product.
    fn is_credited(&self, sku: &str, person_id: &str) -> bool {
        self.credited.contains(&(sku.to_owned(), person_id.to_owned()))
    }
}

/// The SKUs of the lines' products that are there, each with the `_id`s of its contributors.
async fn credited(app: &App, lines: &[ImportProduct]) -> Result<BTreeSet<(String, String)>> {
    let skus: Vec<&str> = lines.iter().map(|line| line.sku.as_str()).collect();
    let of_product = |product: store::Credits| {
        let store::Credits { sku, contributors } = product;
        contributors.into_iter().map(move |one| (sku.clone(), one.person_id))
    };
    Ok(store::list_credits(app, &skus).await?.into_iter().flat_map(of_product).collect())
}
