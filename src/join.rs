//! Awaits many futures at once, as the functions of futures-util with these names do. Here each future is boxed: what
//! awaits them is compiled once for each type of result, and not for each future.

use std::future::Future;

use futures_util::{
    FutureExt,
    future::{self, BoxFuture},
};

/// Awaits all futures. The results have their order.
pub(crate) fn join_all<'a, F>(futures: impl IntoIterator<Item = F>) -> BoxFuture<'a, Vec<F::Output>>
where
    F: Future<Output: Send> + Send + 'a,
{
    all(boxed(futures)).boxed()
}

/// Awaits all futures up to the first failure. The results have the order of the futures.
///
/// # Errors
/// That of the future that fails first; the others are dropped. Of more than 30 futures, a failure is only noticed once all futures
/// before it have ended.
pub(crate) fn try_join_all<'a, F, T, E>(
    futures: impl IntoIterator<Item = F>,
) -> BoxFuture<'a, Result<Vec<T>, E>>
where
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Send + 'a,
    E: Send + 'a,
{
    all_or_failure(boxed(futures)).boxed()
}

fn boxed<'a, F: Future + Send + 'a>(
    futures: impl IntoIterator<Item = F>,
) -> Vec<BoxFuture<'a, F::Output>> {
    // A loop, because what collects an iterator would be compiled for each of them.
    let mut all: Vec<BoxFuture<'a, F::Output>> = Vec::new();
    for future in futures {
        all.push(Box::pin(future));
    }
    all
}

async fn all<T: Send>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    // Each object of a list often waits for one future only.
    if futures.len() == 1
        && let Some(only) = futures.pop()
    {
        return vec![only.await];
    }
    let mut outputs: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    let each = outputs.iter_mut().zip(futures);
    let each = each.map(|(output, future)| future.map(|value| *output = Some(value)).boxed());
    future::join_all(each.collect::<Vec<BoxFuture<'_, ()>>>()).await;
    outputs.into_iter().flatten().collect()
}

async fn all_or_failure<T: Send, E: Send>(
    mut futures: Vec<BoxFuture<'_, Result<T, E>>>,
) -> Result<Vec<T>, E> {
    if futures.len() == 1
        && let Some(only) = futures.pop()
    {
        return Ok(vec![only.await?]);
    }
    let mut outputs: Vec<Option<Result<T, E>>> = futures.iter().map(|_| None).collect();
    let each = outputs.iter_mut().zip(futures).map(|(output, future)| {
        let settle = |result: Result<T, E>| {
            let is_failure = result.is_err();
            *output = Some(result);
            if is_failure { Err(()) } else { Ok(()) }
        };
        future.map(settle).boxed()
    });
    let each: Vec<BoxFuture<'_, Result<(), ()>>> = each.collect();
    // The failure is among the outputs.
    let _: Result<_, ()> = future::try_join_all(each).await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::yield_now;

    use super::*;

    /// Is ready after fewer polls for a higher number.
    async fn later(number: u64) -> u64 {
        for _ in number..20 {
            yield_now().await;
        }
        number
    }

    #[tokio::test]
    async fn results_have_the_order_of_the_futures() {
        assert_eq!(join_all((0..20).map(later)).await, (0..20).collect::<Vec<_>>());
        let found = try_join_all((0..20).map(async |n| Ok::<_, ()>(later(n).await))).await;
        assert_eq!(found, Ok((0..20).collect()));
        assert_eq!(join_all(Vec::<std::future::Ready<u8>>::new()).await, Vec::<u8>::new());
    }

    #[tokio::test]
    async fn one_future_is_awaited_as_several_are() {
        assert_eq!(join_all([later(7)]).await, [7]);
        let one = async |result: Result<u8, u8>| result;
        assert_eq!(try_join_all([one(Ok(1))]).await, Ok(vec![1]));
        assert_eq!(try_join_all([one(Err(2))]).await, Err(2));
    }

    #[tokio::test]
    async fn the_first_failure_is_returned_and_the_others_are_dropped() {
        let ended = AtomicUsize::new(0);
        let one = |number: u64| {
            let ended = &ended;
            async move {
                later(number).await;
                ended.fetch_add(1, Ordering::Relaxed);
                if number.is_multiple_of(10) { Err(number) } else { Ok(number) }
            }
        };
        // The last ones end first.
        assert_eq!(try_join_all((1..20).map(one)).await, Err(10));
        assert_eq!(ended.load(Ordering::Relaxed), 10);
    }
}
