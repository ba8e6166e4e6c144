//! The inputs that the command line asks for, in their order.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader},
    os::unix::ffi::OsStringExt as _,
    path::PathBuf,
    vec,
};

use super::{
    records::Records,
    walk::{self, Walk},
};
use crate::{output::FileId, source::Input, standard};

/// Iterates over the inputs; directories are walked when their turn comes.
pub(super) struct Operands<'a> {
    names: Names,
    /// How directories are walked, if they are.
    recursive: Option<&'a walk::Options>,
    walk: Option<Walk<'a>>,
    own: &'a [FileId],
}

enum Names {
    Given(vec::IntoIter<PathBuf>),
    /// `--files0-from`.
    Listed {
        list: PathBuf,
        names: Records<Box<dyn BufRead + Send>>,
        is_stdin: bool,
    },
    /// The list could not be opened, or not read on.
    Broken(PathBuf, Option<io::Error>),
}

impl<'a> Operands<'a> {
    /// The files that were named one by one; standard input if none was.
    pub(super) fn given(
        mut files: Vec<PathBuf>,
        recursive: Option<&'a walk::Options>,
        own: &'a [FileId],
    ) -> Self {
        if files.is_empty() {
            files.push("-".into());
        }
        Operands { names: Names::Given(files.into_iter()), recursive, walk: None, own }
    }

    /// The files that a list names, each name ended by NUL.
    pub(super) fn listed(
        list: PathBuf,
        recursive: Option<&'a walk::Options>,
        own: &'a [FileId],
    ) -> Self {
        let is_stdin = list.as_os_str() == "-";
        let reader: io::Result<Box<dyn BufRead + Send>> = match is_stdin {
            true => standard::input().map(|()| Box::new(BufReader::new(io::stdin())) as _),
            false => File::open(&list).map(|file| Box::new(BufReader::new(file)) as _),
        };
        let names = match reader {
            Ok(reader) => Names::Listed { list, names: Records::new(reader, 0), is_stdin },
            Err(error) => Names::Broken(list, Some(error)),
        };
        Operands { names, recursive, walk: None, own }
    }

    fn next_name(&mut self) -> Option<Result<PathBuf, Input<'a>>> {
        let (list, error) = match &mut self.names {
            Names::Given(names) => return names.next().map(Ok),
            Names::Broken(list, error) => {
                return error.take().map(|error| Err(Input::error(list.clone(), error)));
            }
            Names::Listed { list, names, is_stdin } => {
                let wrong = |number: u64, what| {
                    let error = io::Error::other(format!("name {number}: {what}"));
                    Some(Err(Input::error(list.clone(), error)))
                };
                match names.next()? {
                    Ok((number, None)) => return wrong(number, "too long"),
                    Ok((number, Some(b""))) => return wrong(number, "empty"),
                    Ok((number, Some(b"-"))) if *is_stdin => {
                        return wrong(number, "standard input holds the names already");
                    }
                    Ok((_, Some(name))) => {
                        return Some(Ok(OsString::from_vec(name.to_vec()).into()));
                    }
                    Err(error) => (list.clone(), error),
                }
            }
        };
        self.names = Names::Broken(list.clone(), None);
        Some(Err(Input::error(list, error)))
    }
}

impl<'a> Iterator for Operands<'a> {
    type Item = Input<'a>;

    fn next(&mut self) -> Option<Input<'a>> {
        loop {
            if let Some(walk) = &mut self.walk {
                match walk.next() {
                    Some(input) => return Some(input),
                    None => self.walk = None,
                }
            }
            match (self.next_name()?, self.recursive) {
                (Err(input), _) => return Some(input),
                (Ok(name), Some(options)) if name.as_os_str() != "-" => {
                    self.walk = Some(Walk::new(name, options, self.own));
                }
                (Ok(name), _) => return Some(Input::given(name, self.own)),
            }
        }
    }
}
