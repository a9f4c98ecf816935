//! What clients see of categories.

use async_graphql::{Context, ID, InputObject, Object, OneofObject, SimpleObject, Union};

use super::documents::{Ancestor, CategoryDocument, MenuEntry, Names, name_in, paths};
use crate::graphql::{
    app,
    node_id::NodeKind,
    refusals::{AlreadyExists, Conflict, ErrorCode, InUse, InvalidInput, NotFound, Refusal},
    scalars::{LocaleTag, Slug},
};

/// One category of the tree.
#[derive(Debug)]
pub struct Category(pub CategoryDocument);

/// One category of the tree. What it says of the categories above it may lag behind a change there
/// for the moment that it takes to arrive.
#[Object]
impl Category {
    /// Its global id.
    pub async fn id(&self) -> ID {
        NodeKind::Category.id(&self.0.id)
    }

    /// Its step in paths; no other category below the same parent has it.
    async fn slug(&self) -> Slug {
        self.0.slug.clone()
    }

    /// The slugs from its root down to itself, such as `/music/jazz`.
    async fn path(&self) -> &str {
        &self.0.path
    }

    /// Path of the category above it; `/` for a root.
    async fn parent_path(&self) -> &str {
        &self.0.parent_path
    }

    /// Global id of the category above it; null for a root.
    async fn parent_id(&self) -> Option<ID> {
        self.0.parent_id.as_ref().map(|id| NodeKind::Category.id(id))
    }

    /// Its name for readers of a language: in exactly that locale, else in its language, else in
    /// the site's default, else in any.
    async fn name(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Whose language; the site's default when left out.")] locale: Option<
            LocaleTag,
        >,
    ) -> String {
        name(context, &self.0.names, locale.as_ref())
    }

    /// Its names in every language that it has one in.
    async fn names(&self) -> Vec<Translation> {
        translations(&self.0.names)
    }

    /// The categories above it, root first; part of the same document.
    async fn breadcrumbs(&self) -> Vec<CategoryLink> {
        let line = &self.0.ancestors;
        line.iter().zip(paths(line)).map(CategoryLink::from).collect()
    }
}

/// What a menu or breadcrumbs show of a category.
#[derive(Debug)]
pub struct CategoryLink(MenuEntry);

/// What a menu or breadcrumbs show of a category.
#[Object]
impl CategoryLink {
    /// Global id of the category.
    pub async fn id(&self) -> ID {
        NodeKind::Category.id(&self.0.id)
    }

    /// Its step in paths.
    async fn slug(&self) -> &Slug {
        &self.0.slug
    }

    /// Its path.
    async fn path(&self) -> &str {
        &self.0.path
    }

    /// Its name for readers of a language: in exactly that locale, else in its language, else in
    /// the site's default, else in any.
    async fn name(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Whose language; the site's default when left out.")] locale: Option<
            LocaleTag,
        >,
    ) -> String {
        name(context, &self.0.names, locale.as_ref())
    }

    /// Its names in every language that it has one in.
    async fn names(&self) -> Vec<Translation> {
        translations(&self.0.names)
    }
}

impl From<MenuEntry> for CategoryLink {
    fn from(entry: MenuEntry) -> Self {
        Self(entry)
    }
}

impl From<(&Ancestor, String)> for CategoryLink {
    fn from((ancestor, path): (&Ancestor, String)) -> Self {
        let Ancestor { id, slug, names } = ancestor.clone();
        Self(MenuEntry { id, slug, path, names })
    }
}

fn name(context: &Context<'_>, names: &Names, locale: Option<&LocaleTag>) -> String {
    let names = names.iter().map(|(tag, name)| (tag.as_str(), name.as_str()));
    name_in(names, locale, &app(context).config().site_locale).unwrap_or_default().to_owned()
}

fn translations(names: &Names) -> Vec<Translation> {
    let one = |(locale, name): (&LocaleTag, &String)| Translation {
        locale: locale.clone(),
        name: name.clone(),
    };
    names.iter().map(one).collect()
}

/// A name in one language.
#[derive(Debug, Clone, SimpleObject)]
pub(super) struct Translation {
    /// The language, with its region where that matters.
    pub locale: LocaleTag,
    /// The name.
    pub name: String,
}

/// The ways in which a category can be looked up.
#[derive(Debug, OneofObject)]
pub enum CategoryBy {
    /// By its slug, where only one category has it; an error where several do.
    #[graphql(
        deprecation = "Categories below different parents may have the same slug: use `path`."
    )]
    Slug(Slug),
    /// By its path, such as `/music/jazz`.
    Path(String),
    /// By its global id.
    Id(ID),
}

/// A name in one language.
#[derive(Debug, InputObject)]
pub(super) struct TranslationInput {
    /// The language.
    pub locale: LocaleTag,
    /// The name, 1 to 200 characters.
    pub name: String,
}

/// A category to be created.
#[derive(Debug, InputObject)]
pub(super) struct CreateCategoryInput {
    /// Its step in paths; no other category below the same parent may have it.
    pub slug: Slug,
    /// What it is called, in 1 to 100 languages.
    pub names: Vec<TranslationInput>,
    /// Global id of the category above it; without one it becomes a root. The tree is at most 16
    /// categories deep.
    pub parent: Option<ID>,
    /// Your idempotency key: the same category sent again under it is created once. It is
    /// remembered as long as the category exists.
    pub op_id: Option<ID>,
}

/// A category's new name in one of its languages.
#[derive(Debug, InputObject)]
pub(super) struct RenameCategoryInput {
    /// Global id of the category.
    pub category: ID,
    /// A language that it has a name in.
    pub locale: LocaleTag,
    /// The new name, 1 to 200 characters.
    pub name: String,
}

/// A category's new slug.
#[derive(Debug, InputObject)]
pub(super) struct ChangeCategorySlugInput {
    /// Global id of the category.
    pub category: ID,
    /// The new slug; no other category below the same parent may have it.
    pub slug: Slug,
}

/// A category's new place.
#[derive(Debug, InputObject)]
pub(super) struct MoveCategoryInput {
    /// Global id of the category.
    pub category: ID,
    /// Global id of the category that it goes below; without one it becomes a root.
    pub parent: Option<ID>,
}

/// A category to be deleted.
#[derive(Debug, InputObject)]
pub(super) struct DeleteCategoryInput {
    /// Global id of the category.
    pub category: ID,
}

/// A category's name in another language.
#[derive(Debug, InputObject)]
pub(super) struct AddTranslationInput {
    /// Global id of the category.
    pub category: ID,
    /// A language that it has no name in yet.
    pub locale: LocaleTag,
    /// The name, 1 to 200 characters.
    pub name: String,
}

/// A language that a category is no longer named in.
#[derive(Debug, InputObject)]
pub(super) struct RemoveTranslationInput {
    /// Global id of the category.
    pub category: ID,
    /// The language.
    pub locale: LocaleTag,
}

/// What became of a creation.
#[derive(Union)]
pub enum CreateCategoryResult {
    Category(Category),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of a new name.
#[derive(Union)]
pub enum RenameCategoryResult {
    Category(Category),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// What became of a new slug.
#[derive(Union)]
pub enum ChangeCategorySlugResult {
    Category(Category),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    InvalidInput(InvalidInput),
}

/// What became of a move.
#[derive(Union)]
pub enum MoveCategoryResult {
    Category(Category),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    WouldMakeCircle(WouldMakeCircle),
    InvalidInput(InvalidInput),
}

/// What became of a deletion.
#[derive(Union)]
pub enum DeleteCategoryResult {
    DeletedCategory(DeletedCategory),
    NotFound(NotFound),
    InUse(InUse),
    InvalidInput(InvalidInput),
}

/// What became of a new translation.
#[derive(Union)]
pub enum AddTranslationResult {
    Category(Category),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    InvalidInput(InvalidInput),
}

/// What became of a removed translation.
#[derive(Union)]
pub enum RemoveTranslationResult {
    Category(Category),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// A category that is gone.
#[derive(Debug, SimpleObject)]
pub struct DeletedCategory {
    /// Its global id.
    pub id: ID,
}

macro_rules! answers_with_category {
    ($($result:ident),+) => {$(
        impl From<CategoryDocument> for $result {
            fn from(category: CategoryDocument) -> Self {
                Self::Category(Category(category))
            }
        }
    )+};
}

answers_with_category!(
    CreateCategoryResult,
    RenameCategoryResult,
    ChangeCategorySlugResult,
    MoveCategoryResult,
    AddTranslationResult,
    RemoveTranslationResult
);

impl From<String> for DeleteCategoryResult {
    fn from(id: String) -> Self {
        Self::DeletedCategory(DeletedCategory { id: NodeKind::Category.id(&id) })
    }
}

/// The move would make a category its own ancestor.
#[derive(Debug, Clone, SimpleObject)]
pub struct WouldMakeCircle {
    /// `WOULD_MAKE_CIRCLE`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Global id of the category that was to be moved.
    pub category: ID,
    /// Global id of the category that it was to go below, and which lies below it.
    pub parent: ID,
}

impl WouldMakeCircle {
    /// `parent` is the category itself, or lies below it.
    pub fn new(category: &str, parent: &str) -> Self {
        Self {
            code: ErrorCode::WouldMakeCircle,
            message: "a category can't go below itself or what lies below it".into(),
            category: NodeKind::Category.id(category),
            parent: NodeKind::Category.id(parent),
        }
    }
}

impl Refusal for WouldMakeCircle {}
