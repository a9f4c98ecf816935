//! `copy TO` copies the collections of `DATABASE` into the database `TO` on the same server, without their indexes:
//! an earlier docgate gets the same documents, and builds its own indexes.

use std::{env, io};

use mongodb::bson::{Document, doc};

#[tokio::main]
async fn main() -> io::Result<()> {
    let to = env::args().nth(1).ok_or_else(|| io::Error::other("copy TO"))?;
    let from = docgate_bench::database().await?;
    let target = from.client().database(&to);
    target.drop().await.map_err(io::Error::other)?;
    let names = from.list_collection_names().filter(doc! { "type": "collection" }).await;
    for name in names.map_err(io::Error::other)? {
        if name.starts_with("system.") {
            continue;
        }
        let stages = [doc! { "$out": { "db": &to, "coll": &name } }];
        let copied = from.collection::<Document>(&name).aggregate(stages).await;
        copied.map_err(|fault| io::Error::other(format!("{name}: {fault}")))?;
    }
    Ok(())
}
