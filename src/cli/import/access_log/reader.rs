//! Reads and parses logs ahead of the import, up to a limit. This has a thread of its own: file reads block, and parsing
//! uses a processor.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    batch::{Batch, Batcher},
    follow::{Change, Followed},
    input::{self, Found, Lines, Log, MAX_LENGTH, Progress},
    position::{Origin, Unknown},
};
use crate::app::App;

/// Maximum number of batches read ahead.
const MAX_AHEAD: usize = 2;
/// Pause between two tries to find out what is imported of a log.
const PAUSE: Duration = Duration::from_secs(1);

/// What the reader tells the import.
pub(super) enum Message {
    /// Lines to import.
    Batch(Box<Batch>),
    /// A log is continued after this line.
    Continued { name: Arc<str>, lines: i64 },
    /// A log can't be read. Nothing follows.
    Failed { name: String, fault: Unknown },
}

/// What is read.
pub(super) struct Reader {
    pub(super) app: App,
    pub(super) origin: Origin,
    pub(super) files: Vec<PathBuf>,
    /// Whether the last file is followed until `stop`.
    pub(super) follows: bool,
    pub(super) stop: CancellationToken,
    pub(super) progress: Arc<Progress>,
}

/// The end of the import, which has taken place already.
struct Ended;

/// Where batches go.
struct Out(mpsc::Sender<Message>);

impl Out {
    fn send(&self, message: Message) -> Result<(), Ended> {
        self.0.blocking_send(message).map_err(|_| Ended)
    }
}

impl Reader {
    /// Starts reading. The channel closes at the end of the last log.
    pub(super) fn start(self) -> mpsc::Receiver<Message> {
        let (send, receive) = mpsc::channel(MAX_AHEAD);
        let runtime = Handle::current();
        std::thread::spawn(move || {
            let out = Out(send);
            let last = self.files.len().saturating_sub(1);
            for (number, file) in self.files.iter().enumerate() {
                let read = if file == Path::new("-") {
                    self.stdin(&out)
                } else if self.follows && number == last {
                    self.follow(&runtime, file, &out)
                } else {
                    self.file(&runtime, file, &out)
                };
                match read {
                    Ok(Ok(())) => self.progress.end_log(),
                    Ok(Err(Ended)) => return,
                    Err(fault) => {
                        let name = file.display().to_string();
                        // Sending fails if the import has ended. The error isn't needed then.
                        let _unsent = out.send(Message::Failed { name, fault });
                        return;
                    }
                }
            }
        });
        receive
    }

    fn stdin(&self, out: &Out) -> Result<Result<(), Ended>, Unknown> {
        let mut lines = input::stdin(&self.progress)?;
        let mut line = Vec::new();
        let Some(found) = lines.next(&mut line)? else { return Ok(Ok(())) };
        let log = self.origin.of_stream(&self.app, &line);
        let mut batcher = Batcher::new(&self.app, &self.origin.site, log);
        if let Some(batch) = batcher.add(found, &line, lines.offset())
            && out.send(Message::Batch(Box::new(batch))).is_err()
        {
            return Ok(Err(Ended));
        }
        self.rest(&mut batcher, &mut lines, (found, line), out)
    }

    fn file(&self, runtime: &Handle, file: &Path, out: &Out) -> Result<Result<(), Ended>, Unknown> {
        let log = Log::of(file, &self.progress)?;
        let Some((mut batcher, mut lines)) = self.begin(runtime, &log, true, out)? else {
            return Ok(Ok(()));
        };
        let nothing = Found { at: 0, is_whole: true, is_too_long: false };
        self.rest(&mut batcher, &mut lines, (nothing, Vec::new()), out)
    }

    /// The lines of a log that aren't imported. `None` if it is empty or, unless `takes_part`, has no whole line.
    fn begin(
        &self,
        runtime: &Handle,
        log: &Log,
        takes_part: bool,
        out: &Out,
    ) -> Result<Option<(Batcher, Lines)>, Unknown> {
        let mut first = Vec::new();
        let found = match log.lines_from(0)? {
            Some(mut lines) => lines.next(&mut first)?,
            None => None,
        };
        if !found.is_some_and(|found| found.is_whole || takes_part) {
            return Ok(None);
        }
        let (known, lines) = loop {
            match runtime.block_on(self.origin.of_log(&self.app, log, &first)) {
                // A log that is followed waits for MongoDB for as long as it takes.
                Err(Unknown::Unavailable(error))
                    if self.follows && error.is_retryable() && !self.stop.is_cancelled() =>
                {
                    std::thread::sleep(PAUSE);
                }
                known => break known?,
            }
        };
        if known.done() > 0 {
            let (name, lines) = (Arc::clone(&known.name), known.lines());
            // If the import has ended, the next batch finds out.
            let _unsent = out.send(Message::Continued { name, lines });
        }
        Ok(Some((Batcher::new(&self.app, &self.origin.site, known), lines)))
    }

    /// Sends the lines up to the end. `last` is the line that was read last.
    fn rest(
        &self,
        batcher: &mut Batcher,
        lines: &mut Lines,
        last: (Found, Vec<u8>),
        out: &Out,
    ) -> Result<Result<(), Ended>, Unknown> {
        let (mut last, mut line) = last;
        let mut next = Vec::new();
        while let Some(found) = lines.next(&mut next)? {
            std::mem::swap(&mut line, &mut next);
            next.clear();
            last = found;
            if let Some(batch) = batcher.add(found, &line, lines.offset())
                && out.send(Message::Batch(Box::new(batch))).is_err()
            {
                return Ok(Err(Ended));
            }
            if self.stop.is_cancelled() {
                return Ok(Err(Ended));
            }
        }
        Ok(batcher
            .finish(last, &line)
            .map_or(Ok(()), |batch| out.send(Message::Batch(Box::new(batch)))))
    }

    /// Sends the lines of a log as they are written, until `stop`.
    fn follow(
        &self,
        runtime: &Handle,
        file: &Path,
        out: &Out,
    ) -> Result<Result<(), Ended>, Unknown> {
        let mut followed = Followed::new(file, self.stop.clone());
        while followed.find()? {
            let log = match Log::of(file, &self.progress) {
                // It was rotated since it was found.
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
                log => log?,
            };
            followed.reads(&log.metadata()?);
            let Some((mut batcher, mut lines)) = self.begin(runtime, &log, false, out)? else {
                followed.wait(0);
                continue;
            };
            if let Err(ended) = Self::follow_log(&followed, &mut batcher, &mut lines, out)? {
                return Ok(Err(ended));
            }
        }
        Ok(Ok(()))
    }

    /// Sends the lines of one log until another one takes its place, or until `stop`.
    fn follow_log(
        followed: &Followed,
        batcher: &mut Batcher,
        lines: &mut Lines,
        out: &Out,
    ) -> Result<Result<(), Ended>, Unknown> {
        let (mut line, mut begin) = (Vec::new(), None);
        let (mut last_line, mut last) = (Vec::new(), None);
        let mut is_last_look = false;
        loop {
            let found = match lines.next(&mut line)? {
                // The end of the line whose beginning was read before was never written.
                None if is_last_look => begin.map(|at| {
                    let is_too_long = line.len() > MAX_LENGTH;
                    Found { at, is_whole: false, is_too_long }
                }),
                found => found,
            };
            // What is read already is still imported if the import is to end.
            let is_end = !found.is_some_and(|found| found.is_whole) || followed.is_stopped();
            if let Some(found) = found {
                let at = *begin.get_or_insert(found.at);
                // What isn't finished is read on with the next look, unless there is none.
                if found.is_whole || is_last_look {
                    let found = Found { at, ..found };
                    let batch = batcher.add(found, &line, lines.offset());
                    begin = None;
                    std::mem::swap(&mut line, &mut last_line);
                    line.clear();
                    last = Some(found);
                    if let Some(batch) = batch
                        && out.send(Message::Batch(Box::new(batch))).is_err()
                    {
                        return Ok(Err(Ended));
                    }
                }
            }
            if !is_end {
                continue;
            }
            if let Some(batch) = last.take().and_then(|last| batcher.finish(last, &last_line))
                && out.send(Message::Batch(Box::new(batch))).is_err()
            {
                return Ok(Err(Ended));
            }
            if is_last_look {
                return Ok(Ok(()));
            }
            match followed.wait(lines.offset()) {
                Change::None => {}
                // What was written to the old file meanwhile is still read.
                Change::Replaced => is_last_look = true,
                Change::Stopped | Change::Truncated => return Ok(Ok(())),
            }
        }
    }
}
