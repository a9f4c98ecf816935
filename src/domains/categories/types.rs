//! GraphQL types of categories.

use async_graphql::{Context, MaybeUndefined, OneofObject, SimpleObject};

use super::{
    LONGEST_NAME, MAX_NAMES,
    documents::{Ancestor, CategoryDocument, MenuEntry, Names, name_in, paths},
    facets::{self, CategoryFacets},
    operations,
};
use crate::{
    domains::{
        images::{self, Image},
        metadata::Metadata,
    },
    engine::caching::cache_control,
    graphql::{
        declared::{each, nested, unique},
        prelude::*,
    },
};

object! {
    /// A category of the tree. Paths and breadcrumbs are copies of data of the categories above: a change there
    /// reaches them with a short delay.
    pub type Category = CategoryDocument as category {
        /// Global id of the category.
        pub id: ID = NodeKind::CATEGORY.id(&category.id),
        /// Slug, the last step of the path. It is unique among the children of one parent.
        slug: &Slug = &category.slug,
        /// Path of slugs from the root to the category, such as `/music/jazz`.
        path: &str = &category.path,
        /// Path of the parent category; `/` for a root.
        parent_path: &str = &category.parent_path,
        /// Global id of the parent category; null for a root.
        parent_id: Option<ID> = category.parent_id.as_ref().map(|id| NodeKind::CATEGORY.id(id)),
        /// The parent category; null for a root.
        parent(context)?: Option<Category> = {
            let Some(id) = &category.parent_id else { return Ok(None) };
            let by = CategoryBy::Id(NodeKind::CATEGORY.id(id));
            operations::category(app(context), by).await?.map(Category::from)
        },
        /// Direct children of the category, sorted by slug, as for a menu.
        children(context)?: Connection<CategoryLink> =
            operations::menu(app(context), &category.path, paging(context)?).await?,
        /// All descendants of the category, sorted by path.
        subtree(
            context,
            #[graphql(
                desc = "Whether the category itself is listed too; it then comes first.",
                default = false
            )]
            include_self: bool,
        )?: Connection<Category> =
            operations::subtree(app(context), &category.path, include_self, paging(context)?).await?,
        /// Numbers of products of the category and of everything below it, by type, price, contributor and property. They
        /// are one stored document.
        #[graphql(directive = cache_control::apply(10))]
        facets(context)?: CategoryFacets =
            facets::facets(app(context), &category.path).await?.into(),
        /// Name of the category in a language: the name for exactly this tag, else for the language without
        /// region, else for another region of the language, else for the site's default language, else any.
        name(
            context,
            #[graphql(desc = "Language of the name. Default: the site's language.")]
            locale: Option<LocaleTag>,
        ): String = name(context, &category.names, locale.as_ref()),
        /// Names of the category in all its languages.
        names: Vec<Translation<'_>> = translations(&category.names),
        /// Metadata of the category: pairs that the site adds to it.
        #[graphql(directive = cache_control::apply(0))]
        metadata(context): Metadata = Metadata::of(cx(context), category.meta.as_deref()),
        /// Pictures of the category in order, without those that the caller can't see; at most 20.
        #[graphql(directive = cache_control::apply(0))]
        images(
            context,
            #[graphql(desc = "Maximum number of images, 1 to 20. Default: all.")] first: Option<i32>,
        )?: Vec<Image<'_>> =
            images::first_stored(cx(context), category.images.as_deref(), first).await?,
        /// Categories above this one, root first.
        breadcrumbs: Vec<CategoryLink> = {
            let ancestors = &category.ancestors;
            let link = |(above, path): (&Ancestor, String)| {
                let Ancestor { id, slug, names } = above.clone();
                CategoryLink::from(MenuEntry { id, slug, path, names })
            };
            ancestors.iter().zip(paths(ancestors)).map(link).collect()
        },
    }
}

object! {
    /// A category as it is shown in a menu or in breadcrumbs.
    pub type CategoryLink = MenuEntry as category {
        /// Global id of the category.
        id: ID = NodeKind::CATEGORY.id(&category.id),
        /// Slug, the last step of the path.
        slug: &Slug = &category.slug,
        /// Path of slugs from the root, such as `/music/jazz`.
        path: &str = &category.path,
        /// Name of the category in a language: the name for exactly this tag, else for the language without
        /// region, else for another region of the language, else for the site's default language, else any.
        name(
            context,
            #[graphql(desc = "Language of the name. Default: the site's language.")]
            locale: Option<LocaleTag>,
        ): String = name(context, &category.names, locale.as_ref()),
        /// Names of the category in all its languages.
        names: Vec<Translation<'_>> = translations(&category.names),
    }
}

fn name(context: &Context<'_>, names: &Names, locale: Option<&LocaleTag>) -> String {
    let names = names.iter().map(|(tag, name)| (tag.as_str(), name.as_str()));
    name_in(names, locale, &app(context).config().site_locale).unwrap_or_default().to_owned()
}

fn translations(names: &Names) -> Vec<Translation<'_>> {
    names.iter().map(|(locale, name)| Translation { locale, name }).collect()
}

/// Name in one language.
#[derive(Debug, SimpleObject)]
pub(super) struct Translation<'a> {
    /// Language, with a region if the name is for that region only.
    locale: &'a LocaleTag,
    /// Name in this language.
    name: &'a str,
}

/// Key of a category. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum CategoryBy {
    /// Slug, if only one category has it. If several categories have it, the field fails with an error.
    #[graphql(
        deprecation = "Categories below different parents may have the same slug: use `path`."
    )]
    Slug(Slug),
    /// Path, such as `/music/jazz`.
    Path(String),
    /// Global id of the category, as in `Category.id`.
    Id(ID),
}

input! {
    /// Name in one language.
    pub struct TranslationInput {
        /// Language of the name.
        pub locale: LocaleTag,
        /// Name, 1 to 200 characters.
        pub name: String where text(1..=LONGEST_NAME),
    }

    /// Input of `createCategory`: the parent, the slug and the names of the new category.
    pub struct CreateCategoryInput {
        /// Slug, the last step of the path. It must be unique among the children of the parent.
        pub slug: Slug,
        /// Names in 1 to 100 languages, each language once.
        pub names: Vec<TranslationInput> where one_per_language,
        /// Global id of the parent category. Default: the category becomes a root. The tree is at most 16 levels
        /// deep.
        pub parent_id: Option<ID> where optional(id(NodeKind::CATEGORY)),
        /// Idempotency key. A repeat with the same key returns the category that the first call created. The key
        /// is remembered as long as the category exists.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `renameCategory`: the category, the language and the new name in it.
    pub struct RenameCategoryInput {
        /// Global id of the category.
        pub category_id: ID where id(NodeKind::CATEGORY),
        /// Language in which the category has a name.
        pub locale: LocaleTag,
        /// New name, 1 to 200 characters.
        pub name: String where text(1..=LONGEST_NAME),
    }

    /// Input of `changeCategorySlug`: the category and the slug that replaces its own.
    pub struct ChangeCategorySlugInput {
        /// Global id of the category.
        pub category_id: ID where id(NodeKind::CATEGORY),
        /// New slug. It must be unique among the children of the parent.
        pub slug: Slug,
    }

    /// Input of `moveCategory`: the category and its new parent.
    pub struct MoveCategoryInput {
        /// Global id of the category.
        pub category_id: ID where id(NodeKind::CATEGORY),
        /// Global id of the new parent category. Null: the category becomes a root. Omitted: nothing changes. A
        /// variable without a value counts as null.
        pub parent_id: MaybeUndefined<ID> where given(id(NodeKind::CATEGORY)),
    }

    /// Input of `deleteCategory`: the empty category to delete.
    pub struct DeleteCategoryInput {
        /// Global id of the category.
        pub category_id: ID where id(NodeKind::CATEGORY),
    }

    /// Input of `addTranslation`: the category and its name in a further language.
    pub struct AddTranslationInput {
        /// Global id of the category.
        pub category_id: ID where id(NodeKind::CATEGORY),
        /// Language in which the category has no name yet.
        pub locale: LocaleTag,
        /// Name, 1 to 200 characters.
        pub name: String where text(1..=LONGEST_NAME),
    }

    /// Input of `removeTranslation`: the category and the language whose name is removed.
    pub struct RemoveTranslationInput {
        /// Global id of the category.
        pub category_id: ID where id(NodeKind::CATEGORY),
        /// Language of the name to remove.
        pub locale: LocaleTag,
    }
}

/// Checks the names of a category: at least one, and one per language.
fn one_per_language(field: &str, names: &mut Vec<TranslationInput>) -> Result<(), Unusable> {
    each(MAX_NAMES, nested())(field, names)?;
    if names.is_empty() {
        return Err(InvalidInput::new(field, "takes at least one name").into());
    }
    Ok(unique(field, names, "locale", |name| &name.locale)?)
}

/// The names as they are stored.
pub(super) fn names_of(names: &[TranslationInput]) -> Names {
    names.iter().map(|name| (name.locale.clone(), name.name.clone())).collect()
}

result! {
    /// Result of `createCategory`: the category, or a refusal. `NotFound`: there is no such parent.
    /// `AlreadyExists`: the parent has a child with this slug. `Conflict`: this `idempotencyKey` was used with another
    /// input. `InvalidInput`: among others, the tree would become deeper than 16 levels.
    pub enum CreateCategoryResult:
        CategoryDocument => Category | NotFound | AlreadyExists | Conflict | InvalidInput;

    /// Result of `renameCategory`: the category with its new name, or a refusal. `NotFound`: there is no such
    /// category, or it has no name in this language.
    pub enum RenameCategoryResult:
        CategoryDocument => Category | NotFound | InvalidInput;

    /// Result of `changeCategorySlug`: the category with its new path, or a refusal. `AlreadyExists`: the parent
    /// has another child with this slug.
    pub enum ChangeCategorySlugResult:
        CategoryDocument => Category | NotFound | AlreadyExists | InvalidInput;

    /// Result of `moveCategory`: the category with its new path, or a refusal. `NotFound`: there is no such
    /// category or parent. `AlreadyExists`: the new parent has a child with this slug. `InvalidInput`: among
    /// others, the tree would become deeper than 16 levels.
    pub enum MoveCategoryResult:
        CategoryDocument => Category | NotFound | AlreadyExists | WouldCreateCycle | InvalidInput;

    /// Result of `deleteCategory`: the id of the deleted category, or a refusal. `InUse`: there are categories
    /// below it, or products in it.
    pub enum DeleteCategoryResult:
        DeletedCategory | NotFound | InUse | InvalidInput;

    /// Result of `addTranslation`: the category with the new name, or a refusal. `AlreadyExists`: the category
    /// has a name in this language. `InvalidInput`: among others, it has 100 names already.
    pub enum AddTranslationResult:
        CategoryDocument => Category | NotFound | AlreadyExists | InvalidInput;

    /// Result of `removeTranslation`: the category without the name, or a refusal. `InvalidInput`: it is the only
    /// name of the category.
    pub enum RemoveTranslationResult:
        CategoryDocument => Category | NotFound | InvalidInput;
}

/// Result of a successful `deleteCategory`.
#[derive(Debug, SimpleObject)]
pub struct DeletedCategory {
    /// Global id of the deleted category.
    pub id: ID,
}

refusal! {
    /// The move would make a category its own ancestor.
    struct WouldCreateCycle as "WOULD_CREATE_CYCLE" {
        /// Global id of the category that was to be moved.
        pub category_id: ID,
        /// Global id of the new parent. It is the category itself or one of its descendants.
        pub new_parent_id: ID,
    }
}
