//! Ends a mongod when its owner ends, even after a kill.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// Each line of input is the pid to guard from then on; an empty line means none. At the end of the input,
/// which is the end of this process for whatever reason, it ends that process and then removes the folder, if one
/// was given. It ignores signals, because only the end of the input shows that the owner has ended. Its
/// standard output is the locked file, so the lock is released exactly when mongod has ended.
const WATCH: &str = r#"
trap '' HUP INT TERM
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ] && kill -TERM "$pid"; then
    tries=200
    while [ "$tries" -gt 0 ] && kill -0 "$pid"; do
        sleep 0.05
        tries=$((tries - 1))
    done
    kill -KILL "$pid"
fi
if [ -n "$1" ]; then rm -rf -- "$1"; fi
"#;

/// A shell that outlives this process just long enough to end mongod and to clean up.
#[derive(Debug)]
pub(super) struct Watchdog {
    /// `None` after it was waited for.
    pub(super) shell: Option<Child>,
    /// Only this process holds this end of the pipe, because the standard library opens it close-on-exec.
    pub(super) lifeline: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts the shell. It holds the lock, and removes the folder at the end, if one is given.
    pub(super) fn start(remove: Option<&Path>, lock: File) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", WATCH, "docgate-watchdog"]).arg(remove.unwrap_or(Path::new("")));
        // An inherited standard error would keep a test runner's pipe open.
        command.stdin(Stdio::piped()).stdout(lock).stderr(Stdio::null());
        let mut shell = spawn_apart(&mut command)?;
        let lifeline = shell.stdin.take();
        Ok(Self { shell: Some(shell), lifeline })
    }

    /// Guards this process instead of the previous one.
    pub(super) fn guard(&mut self, pid: Option<u32>) -> io::Result<()> {
        let line = pid.map_or_else(|| "\n".to_owned(), |pid| format!("{pid}\n"));
        self.lifeline.as_mut().map_or(Ok(()), |pipe| pipe.write_all(line.as_bytes()))
    }
}

/// Spawns the command in a process group of its own, so that Ctrl-C in the terminal reaches only this
/// process.
pub(super) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}
