//! Files and folders for personal data: nobody but their owner can read them.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// Opens a file for writing, and empties it if it exists. Pipes and devices stay as they are.
///
/// # Errors
/// It can't be created, or it belongs to somebody else.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(false).open(path)?;
    if file.metadata()?.is_file() {
        // Before anything is written: the file may be one that others could read.
        restrict(&file)?;
        file.set_len(0)?;
    }
    Ok(file)
}

/// Opens a file for writing. One that exists is appended to or emptied, and whoever could read it still can.
///
/// # Errors
/// It can't be created or opened.
pub(super) fn open(path: &Path, appends: bool) -> io::Result<File> {
    options().create(true).append(appends).truncate(!appends).open(path)
}

/// Creates a file. Pipes and devices stay as they are.
///
/// # Errors
/// `AlreadyExists`, or it can't be created.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    let created = options().create_new(true).open(path);
    match created {
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
            // The file that is opened, whatever has the path by then.
            let there = options().open(path)?;
            if there.metadata()?.is_file() { Err(fault) } else { Ok(there) }
        }
        created => created,
    }
}

/// Replaces a file atomically, so that an interruption leaves the old or the new content. The new one is on disk before it gets
/// the name, and the name afterwards, so this holds for a crash of the machine too. It is written beside the file, under a name
/// that ends with `.new`.
///
/// # Errors
/// It can't be written; the old content stays. If only its name can't be written to disk, a crash of the machine can bring the old
/// content back.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let next = beside(path);
    let mut file = create(&next)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    sync_name(path)
}

/// The path at which the new content of a file is written.
fn beside(path: &Path) -> PathBuf {
    let mut next = path.as_os_str().to_owned();
    next.push(".new");
    next.into()
}

/// The new content of a file that exists, until it is complete. It is removed if it isn't finished.
pub(super) struct Replacement {
    path: PathBuf,
    next: PathBuf,
}

impl Replacement {
    /// Replaces the file by the new content, as [`replace`] does. A file that is a mount by itself can't be replaced, so the
    /// content is copied into it.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) fn finish(self) -> io::Result<()> {
        options().open(&self.next)?.sync_all()?;
        if fs::rename(&self.next, &self.path).is_err() {
            io::copy(&mut File::open(&self.next)?, &mut create(&self.path)?)?;
        }
        sync_name(&self.path)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.next);
    }
}

/// Opens a file for writing as [`create`] does. The content of a file that exists stays until [`Replacement::finish`]. Links, pipes
/// and devices, and files in a folder that takes no others, are written at once.
///
/// # Errors
/// It can't be created, or it belongs to somebody else.
pub(super) fn create_or_replace(path: &Path) -> io::Result<(File, Option<Replacement>)> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        let next = beside(path);
        if let Ok(file) = create(&next) {
            return Ok((file, Some(Replacement { path: path.to_owned(), next })));
        }
    }
    Ok((create(path)?, None))
}

/// Writes the name of a file to disk, as far as its folder can be opened and the file system offers it.
fn sync_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(folder) = File::open(folder.unwrap_or_else(|| Path::new("."))) else { return Ok(()) };
    let unavailable = [
        io::ErrorKind::InvalidInput,
        io::ErrorKind::Unsupported,
        io::ErrorKind::ReadOnlyFilesystem,
    ];
    folder.sync_all().or_else(
        |fault| {
            if unavailable.contains(&fault.kind()) { Ok(()) } else { Err(fault) }
        },
    )
}

/// Creates a folder and the missing ones above it, and writes its name to disk. An existing folder stays as it is.
///
/// # Errors
/// It can't be created.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)?;
    sync_name(path)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn restrict(file: &File) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it exists").permissions().mode() & 0o777
    }

    #[test]
    fn files_and_folders_are_their_owners() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("a/b");
        create_folder(&below).expect("created");
        create_folder(&below).expect("it may exist");
        assert_eq!(mode(&below), 0o700);
        let file = below.join("file");
        fs::write(&file, "more than before").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("set");
        create(&file).expect("opened").write_all(b"new").expect("written");
        assert_eq!((mode(&file), fs::read_to_string(&file).expect("read")), (0o600, "new".into()));
        replace(&file, b"newer").expect("replaced");
        assert_eq!(
            (mode(&file), fs::read_to_string(&file).expect("read")),
            (0o600, "newer".into())
        );
        assert!(create_new(&file).is_err(), "it exists");
        let (mut next, replacement) = create_or_replace(&file).expect("opened");
        next.write_all(b"newest").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("read"), "newer");
        replacement.expect("one").finish().expect("replaced");
        assert_eq!(
            (mode(&file), fs::read_to_string(&file).expect("read")),
            (0o600, "newest".into())
        );
        drop(create_or_replace(&file).expect("opened"));
        assert_eq!(fs::read_to_string(&file).expect("read"), "newest", "it wasn't finished");
        assert!(!beside(&file).exists());
        let other = below.join("other");
        create_new(&other).expect("created");
        assert_eq!(mode(&other), 0o600);
        for create in [create, create_new] {
            create(Path::new("/dev/null")).expect("a device stays as it is");
        }
    }
}
