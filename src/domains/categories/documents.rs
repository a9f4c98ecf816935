//! Stored documents of categories.

use std::collections::BTreeMap;

use crate::{
    domains::{
        counted,
        images::ImageRef,
        metadata::{METADATA, MetadataPairs},
        trees::Node,
    },
    flow::tree::{Branch, TreeFields, path_expression},
    graphql::{prelude::*, scalars::nearest},
    mongo::{
        copies::CopyPath,
        lazy_document::{Entries, Later, view},
        prelude::*,
    },
};

/// Names by language; never empty.
pub(super) type Names = BTreeMap<LocaleTag, String>;

document! {
    /// One category.
    pub struct CategoryDocument {
        /// Derived from the idempotency key that created it, otherwise random.
        pub id as "_id": String,
        /// Its step in paths, unique below its parent.
        pub slug: Slug,
        /// Its names by language.
        pub names: Names,
        /// `_id` of its parent; absent for a root.
        pub parent_id: Option<String>,
        /// The slugs from the root to itself, each after a `/`.
        pub path: String,
        /// `path` of its parent, `/` for a root.
        pub parent_path: String,
        /// The categories above it, root first.
        pub ancestors: Vec<Ancestor>,
        /// Version of all fields above, and the changes that haven't reached all descendants and products yet.
        #[serde(flatten)]
        pub tree: TreeFields,
        /// Its metadata.
        pub meta?: Box<MetadataPairs>,
        /// Its pictures, which `setImages` writes. Nothing copies them.
        pub images?: Vec<ImageRef>,
        /// Digest of the input that created it; it distinguishes a repeat from another use of the idempotency key.
        pub input: String,
        pub v: Version<1>,
    } in "categories" by unsharded("it is small, and its unique key, slug and parent, changes with each move") {
        unique("slug", "slug parentId",
            "category by slug and parent; no two below one parent have the same slug"),
        plain("path", "path", "category by path, and the range of a subtree"),
        plain("menu", "parentPath slug path names _id",
            "categories below a path, answered from the index alone"),
        plain("parent", "parentId _id parentCv",
            "the children that follow their parent, or keep it from being deleted"),
        plain("outbox_at", "outbox.at", "the sweep of changes that haven't reached every copy"),
        of_field("copying", "copying", "the sweep of creations that were cut"),
        of_field("deleting_at", "deleting.at", "the sweep of deletions that were cut"),
        + METADATA,
    }

    /// An ancestor as a category shows it.
    #[derive(PartialEq, Eq)]
    pub struct Ancestor {
        pub id as "_id": String,
        pub slug: Slug,
        pub names: Names,
    }

    /// The copy of a category in a product, in `products.categories`.
    #[derive(PartialEq, Eq)]
    pub struct CategoryCopy {
        pub id as "_id": String,
        pub slug: String,
        pub path: String,
        /// Path of its parent, `/` for a root.
        pub parent_path: String,
        pub names: Names,
        /// Paths of all categories that contain it, root first, itself last.
        pub within: Vec<String>,
        /// Version of the category.
        pub cv: i64,
    }
}

impl CategoryDocument {
    /// Whether it can be used by new children, moved ones and products.
    pub(super) fn is_settled(&self) -> bool {
        self.tree.copying.is_none() && self.tree.deleting.is_none()
    }

    /// The category as its descendants show it.
    pub(super) fn as_ancestor(&self) -> Ancestor {
        Ancestor { id: self.id.clone(), slug: self.slug.clone(), names: self.names.clone() }
    }

    /// The ancestors of its children.
    pub(super) fn line(&self) -> Vec<Ancestor> {
        self.ancestors.iter().cloned().chain([self.as_ancestor()]).collect()
    }

    /// Its copy for products.
    pub(super) fn copy(&self) -> CategoryCopy {
        CategoryCopy {
            id: self.id.clone(),
            slug: self.slug.as_str().to_owned(),
            path: self.path.clone(),
            parent_path: self.parent_path.clone(),
            names: self.names.clone(),
            within: paths(&self.line()),
            cv: self.tree.cv,
        }
    }
}

/// The path of each category of a line that begins at a root.
pub(super) fn paths(line: &[Ancestor]) -> Vec<String> {
    let mut path = String::new();
    line.iter()
        .map(|step| {
            path.push('/');
            path.push_str(step.slug.as_str());
            path.clone()
        })
        .collect()
}

view! {
    /// The fields of a [`CategoryCopy`] that are shown.
    #[derive(Debug)]
    pub struct CategoryCopyView<'a> {
        "_id" => pub id: &'a str,
        "slug" => pub slug: &'a str,
        "path" => pub path: &'a str,
        "parentPath" => pub parent_path: &'a str,
        "names" => pub names: Later<'a, Entries<'a>>,
        "within" => pub within: Later<'a, Vec<&'a str>>,
    }
}

/// The name for a reader with `locale`: the exact tag, else its language, else another region's variant of
/// that language, else the site's default, else any. `names` are pairs of tag and name, or of tag and another value.
pub fn name_in<'a, T>(
    names: impl Iterator<Item = (&'a str, T)> + Clone,
    locale: Option<&LocaleTag>,
    site_default: &str,
) -> Option<T> {
    let by_tag = |wanted: &str| nearest(names.clone(), wanted);
    let found = locale.and_then(|locale| by_tag(locale.as_str()));
    let any = || names.clone().next().map(|(_, name)| name);
    found.or_else(|| by_tag(site_default)).or_else(any)
}

document! {
    /// The fields of a category in a menu.
    pub struct MenuEntry {
        pub id as "_id": String,
        pub slug: Slug,
        pub path: String,
        pub names: Names,
    } in CategoryDocument: ["_id", "slug", "path", "names"];
}

impl Branch for CategoryDocument {
    type Handles = App;

    const LOCK: &'static str = "categories.tree";
    const FAN_OUT: &'static str = "copying a category to descendants";
    const PARENT: &'static str = "parentId";
    const SLUG: &'static str = "slug";
    const PATH: &'static str = "path";
    const HAS_CHILDREN: &'static str = "the category has categories below it";
    const OUTBOX: &'static str = "outbox_at";

    fn id(&self) -> &str {
        &self.id
    }

    fn parent_id(&self) -> Option<&str> {
        self.parent_id.as_deref()
    }

    fn slug(&self) -> &str {
        self.slug.as_str()
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn tree(&self) -> &TreeFields {
        &self.tree
    }

    fn copied_stages(parent: Option<&Self>) -> Vec<Document> {
        let line = parent.map(Self::line).unwrap_or_default();
        vec![doc! { "$set": {
            "parentPath": literal(parent.map_or(TOP, Self::path)),
            "path": path_expression(parent),
            "ancestors": literal(stored(&line)),
        } }]
    }

    fn changeable(id: &str) -> Document {
        doc! { "_id": id, "deleting": { "$exists": false } }
    }

    async fn in_use(app: &App, id: &str) -> Result<Option<&'static str>> {
        let products = app.collection::<CategorizedProduct>();
        let has_products = products.count(doc! { "categories._id": id }, 1).await? > 0;
        Ok(has_products.then_some("the category has products"))
    }

    /// Updates the copies in products that have a lower version.
    async fn update_copies(&self, app: &App) -> Result<()> {
        let copy = self.copy();
        let mut fields = stored_fields(&copy);
        fields.remove(COPIES.key);
        fields.remove(COPIES.version);
        // Facets are counted by path: another name changes none.
        let moved = doc! { "$and": [
            element_is(COPIES.key, &*copy.id),
            { "$ne": ["$$this.path", literal(&copy.path)] },
        ] };
        let is_other = doc! { "$anyElementTrue": [map(array("categories"), moved)] };
        let facets = doc! { "facets": counted::changed(false, is_other) };
        let products = app.collection::<CategorizedProduct>();
        COPIES.spread(&products, copy.id, copy.cv, fields, facets).await?;
        Ok(())
    }
}

impl Node for CategoryDocument {
    const KIND: NodeKind = NodeKind::CATEGORY;

    fn input(&self) -> &str {
        &self.input
    }
}

/// The array of the copies in products.
const COPIES: CopyPath = CopyPath { array: "categories", key: "_id", version: "cv" };

document! {
    /// The fields of a product that this room writes: the copies of categories. The catalog owns the collection
    /// and declares the index `categories._id, categories.cv`.
    pub(super) struct CategorizedProduct {
        pub sku as "_id": String,
        /// The copies of its categories.
        #[serde(default)]
        pub categories: Vec<CategoryCopy>,
    } in "products";
}
