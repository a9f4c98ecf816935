//! Invariants of assets, for `docgate check`.

use std::{
    collections::{BTreeSet, HashMap},
    iter,
};

use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};

use super::{
    documents::{AssetDocument, Attribute, FILE, FileFacts, ParentDocument, listed, path_in},
    operations, store, sweep,
};
use crate::{graphql::prelude::*, invariants::Report, mongo::gridfs::CHUNK};

/// Checks that each file is complete, that every blob has an asset, and that paths and lists are correct.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut parents = HashMap::new();
    let collect = |parent: ParentDocument| {
        parents.insert(parent.id, parent.metadata.path);
    };
    app.collection().for_each(collect).await?;
    let mut files = Vec::new();
    report.rule("assets: paths and lists are what parent, slug, tags and access imply");
    app.collection()
        .for_each(|asset: AssetDocument| {
            if let Some(fault) = fault_of(&asset, &parents) {
                report.broken(format!("asset {:?} {fault}", asset.id));
            }
            if let Some(file) = asset.file {
                let made = file.renditions().iter().map(|made| file.rendered(made));
                let made: Vec<_> = made.collect();
                files.extend(iter::once(file).chain(made).map(|file| (asset.id.clone(), file)));
            }
        })
        .await?;

    report.rule(
        "assets: each file and rendition has its blob with all chunks, of that length and digest",
    );
    for (id, file) in &files {
        if let Some(fault) = fault_of_file(app, file).await? {
            report.broken(format!("asset {id:?}: {fault}"));
        }
    }

    report.rule("assets: every blob is named by an asset or retired");
    for blob in sweep::unnamed_chunks(app, sweep::ALL).await? {
        let known = store::find_blob(app, blob).await?;
        if known.is_none_or(|known| known.metadata.remove_after.is_none()) {
            report.broken(format!("blob {blob} has chunks and no asset"));
        }
    }
    for blob in sweep::unnamed_files(app, sweep::ALL).await? {
        report.broken(format!("blob {blob} has no asset"));
    }
    Ok(())
}

/// Adds the attributes by which files are found to assets of earlier versions, whose lists follow. Removes renditions whose
/// blob is damaged, which are made again when somebody asks for them, and blobs of renditions that no asset names. Returns
/// what it changed.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub async fn repair(app: &App) -> Result<Vec<String>> {
    let (mut earlier, mut made) = (Vec::new(), Vec::new());
    let is_of_file = |attribute: &Attribute| attribute.key.starts_with(FILE);
    let collect = |asset: AssetDocument| {
        if asset.visible_file().is_some() && !asset.attributes.iter().any(is_of_file) {
            earlier.push(asset.id.clone());
        }
        if let Some(file) = &asset.file {
            let renditions = file.renditions().iter();
            made.extend(renditions.map(|made| (asset.id.clone(), file.rendered(made))));
        }
    };
    app.collection().for_each(collect).await?;
    let mut repaired = Vec::new();
    for id in earlier {
        if store::add_attributes(app, &id).held().await? {
            repaired.push(format!("asset {id:?} is found by its file"));
        }
    }
    for (id, file) in made {
        if fault_of_file(app, &file).await?.is_some()
            && operations::drop_rendition(app, &id, file.blob).await?
        {
            repaired.push(format!("the renditions of asset {id}"));
        }
    }
    for blob in sweep::unnamed_files(app, sweep::settled(app).await?).await? {
        let found = store::find_blob(app, blob).await?;
        if found.is_some_and(|found| found.metadata.original.is_some())
            && store::retire(app, blob).await?
        {
            repaired.push(format!("blob {blob} of a rendition without an asset"));
        }
    }
    Ok(repaired)
}

fn fault_of(asset: &AssetDocument, parents: &HashMap<String, String>) -> Option<String> {
    if asset.deleted_at.is_some() {
        let is_left = asset.file.is_some() || asset.upload.is_some() || !asset.listed.is_empty();
        return is_left.then(|| "was deleted, and something of it is left".to_owned());
    }
    let above = match &asset.metadata.parent_id {
        None => Some(""),
        Some(parent) => parents.get(parent).map(String::as_str),
    };
    let Some(above) = above else { return Some("lies in content that isn't there".to_owned()) };
    let path = path_in(above, &asset.metadata.slug);
    if asset.metadata.path != path {
        return Some(format!("has path {:?}, implied is {path:?}", asset.metadata.path));
    }
    let of = |file: &FileFacts| listed(&asset.metadata, file.is_video());
    let implied = asset.file.as_ref().map(of).unwrap_or_default();
    let (implied, found) = (implied.iter().collect::<BTreeSet<_>>(), asset.listed.iter().collect());
    // Videos of earlier versions aren't in lists of photos until they are changed.
    let earlier = listed(&asset.metadata, false);
    let is_earlier = asset.file.as_ref().is_some_and(FileFacts::is_video)
        && earlier.iter().collect::<BTreeSet<_>>() == found;
    if implied != found && !is_earlier {
        return Some(format!("stands in {found:?}, implied is {implied:?}"));
    }
    if asset.file.is_none() && asset.upload.is_none() && asset.deleting.is_none() {
        return Some("has neither a file nor an upload".to_owned());
    }
    None
}

async fn fault_of_file(app: &App, file: &FileFacts) -> Result<Option<String>> {
    let FileFacts { blob: id, length, digest: expected, .. } = file;
    let Some(blob) = store::find_blob(app, *id).await? else {
        return Ok(Some(format!("blob {id} isn't there")));
    };
    if blob.metadata.remove_after.is_some() {
        return Ok(Some(format!("blob {id} was let go")));
    }
    if blob.length != *length || usize::try_from(blob.chunk_size) != Ok(CHUNK) {
        return Ok(Some(format!("blob {id} is of {} bytes, not {length}", blob.length)));
    }
    let length = u64::try_from(*length).unwrap_or(0);
    let (chunks, implied) = (store::chunks(app), length.div_ceil(CHUNK as u64));
    let found = chunks.count(*id).await?;
    if found != implied {
        return Ok(Some(format!("blob {id} has {found} chunks, not {implied}")));
    }
    let mut digest = Sha256::new();
    let mut bytes = std::pin::pin!(chunks.read(*id, length, 0..length));
    loop {
        match bytes.try_next().await {
            Ok(Some(piece)) => digest.update(&piece),
            Ok(None) => break,
            Err(Error::Internal(fault)) => return Ok(Some(fault.to_string())),
            Err(error) => return Err(error),
        }
    }
    let found = hex::encode(digest.finalize());
    Ok((found != *expected).then(|| format!("blob {id} has digest {found}, not {expected}")))
}
