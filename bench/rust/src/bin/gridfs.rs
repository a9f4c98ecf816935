//! One file through the driver's own GridFS streams, with nothing in between: `gridfs up BYTES NAME`,
//! `gridfs down NAME`, and `gridfs clear BUCKET…`, which empties buckets between rounds. Says how many
//! bytes went, and how long that took.

use std::{env, io, time::Instant};

use futures_util::{AsyncReadExt as _, AsyncWriteExt as _};
use mongodb::{
    Database,
    bson::{Document, doc},
    gridfs::GridFsBucket,
    options::GridFsBucketOptions,
};

/// The bucket of the bare driver.
const BUCKET: &str = "bare";
/// Bytes of one write: the stream inserts what is whole of it with one command.
const WRITTEN: usize = 4 << 20;
/// Bytes of one read: as much as the server sends at once. With less the stream moves what is left of that
/// for each read.
const READ: usize = 16 << 20;

fn bucket(database: &Database) -> GridFsBucket {
    let options = GridFsBucketOptions::builder().bucket_name(BUCKET.to_owned()).build();
    database.gridfs_bucket(options)
}

/// Bytes that no compression makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

async fn up(database: &Database, length: usize, name: &str) -> io::Result<usize> {
    let block = noise(WRITTEN);
    let mut stream = bucket(database).open_upload_stream(name).await.map_err(io::Error::other)?;
    let mut left = length;
    while left > 0 {
        let piece = &block[..left.min(WRITTEN)];
        stream.write_all(piece).await?;
        left -= piece.len();
    }
    stream.close().await?;
    Ok(length)
}

async fn down(database: &Database, name: &str) -> io::Result<usize> {
    let bucket = bucket(database);
    let stream = bucket.open_download_stream_by_name(name).await;
    let mut stream = stream.map_err(io::Error::other)?;
    let mut buffer = vec![0; READ];
    let mut read = 0;
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(read),
            count => read += count,
        }
    }
}

async fn clear(database: &Database, buckets: &[String]) -> io::Result<usize> {
    for name in buckets {
        for part in ["files", "chunks"] {
            let collection = database.collection::<Document>(&format!("{name}.{part}"));
            collection.delete_many(doc! {}).await.map_err(io::Error::other)?;
        }
    }
    Ok(0)
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let database = docgate_bench::database().await?;
    // The connection is there before it is timed.
    database.run_command(doc! { "ping": 1 }).await.map_err(io::Error::other)?;
    let since = Instant::now();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let bytes = match words.as_slice() {
        ["up", length, name] => {
            up(&database, length.parse().map_err(io::Error::other)?, name).await?
        }
        ["down", name] => down(&database, name).await?,
        ["clear", ..] => clear(&database, &arguments[1..]).await?,
        _ => return Err(io::Error::other("up BYTES NAME, down NAME, or clear BUCKET…")),
    };
    println!("{{\"bytes\": {bytes}, \"seconds\": {}}}", since.elapsed().as_secs_f64());
    Ok(())
}
