//! Mechanical rules of the sources: what a reviewer should not have to look for.

mod lexer;
mod rules;

use std::{collections::BTreeMap, process::Command};

use crate::{Result, output_of, root};

/// The repository's text files by path from its root.
type Files = BTreeMap<String, String>;

/// Checks the working tree as git would commit it: all files it tracks, or has not been told to
/// ignore.
pub(crate) fn run() -> Result {
    let list = output_of(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root()),
    )?;
    let mut files = Files::new();
    for path in list.split_terminator('\0') {
        // Files of other kinds than text, and those deleted but not yet committed, have no rules.
        if let Ok(text) = std::fs::read_to_string(root().join(path)) {
            files.insert(path.into(), text);
        }
    }
    let errors = rules::errors(&files);
    if errors.is_empty() {
        println!("{} files tidy", files.len());
        return Ok(());
    }
    Err(format!("{} places are untidy:\n{}", errors.len(), errors.join("\n")))
}
