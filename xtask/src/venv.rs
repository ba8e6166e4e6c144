//! Python environments below the target directory, with exactly what a file of requirements lists.

use std::{fs, path::PathBuf, process::Command};

use crate::{Result, output_of, root, run_command, target_dir};

/// An environment.
pub(crate) struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// The environment `name` with the packages of `requirements`, a path below the root; made or made anew if that is
    /// allowed and it is not there, or of another list. `setup` is the command that makes it.
    pub(crate) fn provide(
        name: &str,
        requirements: &str,
        setup: &str,
        install: bool,
    ) -> Result<Self> {
        let venv = Venv { folder: target_dir().join(name) };
        let path = root().join(requirements);
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // What was installed last, written when that was complete.
        let stamp = venv.folder.join("requirements.txt");
        if fs::read_to_string(&stamp).ok().as_deref() == Some(&text) {
            return Ok(venv);
        }
        if !install {
            return Err(format!("no Python environment as in {requirements}; `{setup}` makes it"));
        }
        let mut create = Command::new("python3");
        run_command(create.args(["-m", "venv", "--clear"]).arg(&venv.folder))?;
        run_command(
            venv.python()
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(["--no-deps", "--requirement"])
                .arg(&path),
        )?;
        // Every package is listed, so nothing may be missing.
        output_of(venv.python().args(["-m", "pip", "check"]))?;
        fs::write(&stamp, text).map_err(|error| format!("{}: {error}", stamp.display()))?;
        Ok(venv)
    }

    /// Its folder of programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// Its interpreter, run where the repository begins, and leaving nothing there.
    pub(crate) fn python(&self) -> Command {
        let mut command = Command::new(self.programs().join("python3"));
        command
            .current_dir(root())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONHOME");
        command
    }
}
