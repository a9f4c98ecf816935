//! The peer of `bench/seats.py`: one guarded update per hold, by the driver, of one screening with `SEATS` seats. `CALLERS`
//! tasks hold one seat after the other until none is left. Each update is that of docgate for a hold: the guard demands
//! that the seat is free, and the update sets the seat, the counter and the entry of the hold.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use docgate_bench::{database, variable};
use futures_util::future::try_join_all;
use mongodb::{
    Collection,
    bson::{DateTime, Document, doc},
};

/// As docgate has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCREENING: &str = "bench";

#[tokio::main]
async fn main() -> io::Result<()> {
    let (seats, callers) = (number("SEATS")?, number("CALLERS")?);
    let screenings: Collection<Document> = database().await?.collection("benchScreenings");
    screenings.delete_many(doc! {}).await.map_err(io::Error::other)?;
    let screening = doc! {
        "_id": SCREENING, "seatsAvailable": i64::try_from(seats).map_err(io::Error::other)?,
        "taken": {}, "holds": [],
    };
    screenings.insert_one(screening).await.map_err(io::Error::other)?;
    let next = Arc::new(AtomicUsize::new(0));
    let since = Instant::now();
    let held = (0..callers).map(|_| {
        let (screenings, next) = (screenings.clone(), Arc::clone(&next));
        async move {
            let mut held = 0;
            loop {
                let seat = next.fetch_add(1, Ordering::Relaxed);
                if seat >= seats {
                    return Ok::<_, io::Error>(held);
                }
                held += hold(&screenings, seat).await?;
            }
        }
    });
    let tasks = held.map(tokio::spawn);
    let held = try_join_all(tasks).await.map_err(io::Error::other)?;
    let held = held.into_iter().sum::<io::Result<u64>>()?;
    let seconds = since.elapsed().as_secs_f64();
    println!("{{\"held\": {held}, \"seconds\": {seconds:.3}}}");
    Ok(())
}

fn number(name: &str) -> io::Result<usize> {
    variable(name)?.parse().map_err(io::Error::other)
}

/// Holds a seat. Returns the number of updates that were made.
async fn hold(screenings: &Collection<Document>, seat: usize) -> io::Result<u64> {
    let field = format!("taken.{seat}");
    let guard = doc! { "_id": SCREENING, &field: { "$exists": false } };
    let hold = doc! {
        "tag": format!("a-tag-of-a-hold-as-long-as-that-of-docgate/{seat}"),
        "bookingId": format!("a-booking-{seat:012}"),
        "seats": [i32::try_from(seat).map_err(io::Error::other)?], "at": DateTime::now(),
    };
    let change = doc! {
        "$set": { &field: 1 }, "$inc": { "seatsAvailable": -1_i64 }, "$push": { "holds": hold },
    };
    let done = screenings.update_one(guard, change).await.map_err(io::Error::other)?;
    Ok(done.matched_count)
}
