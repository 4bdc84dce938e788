//! A log of changes to the host, from which a later process can undo them.
//!
//! A change is written down, and is on the disk, before it is made. An entry that is not marked as complete was perhaps made and
//! perhaps not; whoever undoes it has to look. The file has one JSON document a line: a head, then the entries, oldest first.
//! A line that cannot be read costs that entry and no other.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::folder::{Folder, draft_of};

const SCHEMA: u32 = 2;

/// The first line of the file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    schema: u32,
    program: String,
    /// Whether the log has created its folder, which goes with it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    owns_folder: bool,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoEntry<T> {
    /// Whether the change was made completely.
    pub complete: bool,
    /// What is needed to undo it.
    pub change: T,
}

/// The log of one program.
#[derive(Debug)]
pub struct UndoLog<T> {
    folder: Option<Folder>,
    path: Box<Path>,
    name: String,
    program: &'static str,
    /// Oldest first.
    entries: Vec<UndoEntry<T>>,
    /// Lines that could not be read.
    damaged: Vec<Vec<u8>>,
    /// Whether the log has created its folder.
    owns_folder: bool,
    /// Whether the file was removed here, and the log's folder is to be removed at the end.
    removed: bool,
}

impl<T: Serialize + DeserializeOwned> UndoLog<T> {
    /// Reads the log at `path`, which is empty if there is no file. Returns with it a line about each part that cannot be read and was left
    /// out.
    ///
    /// # Errors
    /// If `path` is not in a folder that only its owner can write to.
    pub fn read(path: &Path, program: &'static str) -> Result<(Self, Vec<String>), Error> {
        let what = path.display().to_string();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
        else {
            return Err(Error::other(what, "expected the path of a file"));
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let folder = Folder::open(parent)?;
        let mut log = Self {
            folder,
            path: path.into(),
            name: name.to_owned(),
            program,
            entries: Vec::new(),
            damaged: Vec::new(),
            owns_folder: false,
            removed: false,
        };
        let mut damage = Vec::new();
        match log.folder.as_ref().map(|folder| folder.read(name)) {
            Some(Ok(Some(bytes))) => log.parse(&bytes, &mut damage),
            Some(Err(error)) => damage.push(error.to_string()),
            None | Some(Ok(None)) => {}
        }
        Ok((log, damage))
    }

    fn parse(&mut self, bytes: &[u8], damage: &mut Vec<String>) {
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let mut left_out = |number: usize, error: &dyn std::fmt::Display| {
            damage.push(format!("{}: line {}: {error}", self.path.display(), number + 1));
        };
        match lines.next().map(|(_, line)| serde_json::from_slice::<Head>(line)) {
            Some(Ok(head)) if head.schema == SCHEMA => self.owns_folder = head.owns_folder,
            Some(Ok(head)) => left_out(0, &format!("schema: expected {SCHEMA}, got {}", head.schema)),
            Some(Err(error)) => left_out(0, &error),
            None => left_out(0, &"expected the head of a log, got an empty file"),
        }
        for (number, line) in lines {
            match serde_json::from_slice(line) {
                Ok(entry) => self.entries.push(entry),
                Err(error) => {
                    left_out(number, &error);
                    self.damaged.push(line.to_vec());
                }
            }
        }
    }

    /// Leaves lines that could not be read out of what is written next: the caller finds by itself what they may be about.
    pub fn forget_damaged(&mut self) {
        self.damaged.clear();
    }

    /// Whether a process that wrote the log has been killed before the new one took its place.
    pub fn has_draft(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.has(&draft_of(&self.name)))
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[UndoEntry<T>] {
        &self.entries
    }

    /// Writes down that a change is about to be made. An entry that is about the same thing, as `is_same` says, stays instead, as it knows
    /// what was there first.
    ///
    /// # Errors
    /// If the log cannot be written. The change must not be made then.
    pub fn begin(&mut self, change: T, is_same: impl Fn(&T) -> bool) -> Result<usize, Error> {
        let known = self.entries.iter().position(|entry| is_same(&entry.change));
        let index = known.unwrap_or(self.entries.len());
        let was_complete = match known {
            Some(index) => std::mem::replace(&mut self.entries[index].complete, false),
            None => {
                self.entries.push(UndoEntry { complete: false, change });
                false
            }
        };
        self.write().inspect_err(|_| {
            // The change is not made, so that there is nothing to undo.
            self.entries.truncate(if known.is_some() { self.entries.len() } else { index });
            if let Some(index) = known {
                self.entries[index].complete = was_complete;
            }
        })?;
        Ok(index)
    }

    /// Takes entries of an earlier time in place of the present ones: what was begun since then was not made.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn restore(&mut self, entries: Vec<UndoEntry<T>>) -> Result<(), Error> {
        self.entries = entries;
        self.write()
    }

    /// Writes down that the change of the entry with this index was made completely.
    ///
    /// # Errors
    /// If the log cannot be written.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn complete(&mut self, index: usize) -> Result<(), Error> {
        self.entries[index].complete = true;
        self.write()
    }

    /// Keeps the entries for which `keep` is true.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn retain(&mut self, keep: impl FnMut(&UndoEntry<T>) -> bool) -> Result<(), Error> {
        let before = self.entries.len();
        self.entries.retain(keep);
        if self.entries.len() == before { Ok(()) } else { self.write() }
    }

    /// Writes the log, or removes its file if it has no entries. Lines that could not be read stay in it: they may be about changes that nobody
    /// has undone. A folder that it has created goes, if it is empty, when the log is dropped, as a lock may be on it.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&mut self) -> Result<(), Error> {
        if self.entries.is_empty() && self.damaged.is_empty() {
            let Some(folder) = &self.folder else { return Ok(()) };
            folder.remove(&draft_of(&self.name))?;
            folder.remove(&self.name)?;
            self.removed = true;
            return Ok(());
        }
        if self.folder.is_none() {
            self.folder = Some(Folder::create(self.path.parent().unwrap_or(Path::new(".")))?);
            self.owns_folder = true;
        }
        let head = Head { schema: SCHEMA, program: self.program.to_owned(), owns_folder: self.owns_folder };
        let mut text = serde_json::to_string(&head).map_err(|error| Error::new("the undo log", error))?;
        for entry in &self.entries {
            text.push('\n');
            text += &serde_json::to_string(entry).map_err(|error| Error::new("the undo log", error))?;
        }
        let mut bytes = text.into_bytes();
        for line in &self.damaged {
            bytes.push(b'\n');
            bytes.extend(line);
        }
        bytes.push(b'\n');
        let folder = self.folder.as_ref().expect("opened above");
        folder.write(&self.name, &bytes)
    }
}

impl<T> Drop for UndoLog<T> {
    fn drop(&mut self) {
        if let Some(folder) =
            self.folder.as_ref().filter(|_| self.removed && self.owns_folder && self.entries.is_empty())
        {
            folder.remove_if_empty();
        }
    }
}

#[cfg(test)]
mod tests;
