//! `cargo xtask install`: library, header, what pkg-config reads, command, manual pages, completions, OpenSSL provider.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use super::{Library, SYSTEM_LIBRARIES, copy, create_dir, folder, links, shared_name, write};
use crate::{Result, cargo, output_of, root, run_command, target_dir};

#[derive(Args)]
pub(crate) struct Options {
    /// Where programs and libraries are to be found
    #[arg(long, value_name = "DIR", default_value = "/usr/local")]
    prefix: PathBuf,
    /// Put everything below this folder, as packages are made; it is no part of any path written
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,
    /// Folder of libraries, from the prefix
    #[arg(long, value_name = "DIR", default_value = "lib")]
    libdir: PathBuf,
}

/// `cargo xtask install`.
pub(crate) fn run(options: &Options) -> Result {
    if !options.prefix.is_absolute() {
        return Err("--prefix needs a path from the root".into());
    }
    let library = Library::release()?;
    let place = Place {
        destdir: options.destdir.clone().unwrap_or_else(|| PathBuf::from("/")),
        prefix: options.prefix.clone(),
        libdir: options.prefix.join(&options.libdir),
    };
    library.install(&place)?;
    programs(&place)?;
    println!("installed in {}", place.below(&place.prefix).display());
    if options.destdir.is_none() {
        println!("the loader finds a new library after `ldconfig`, in folders that it looks in");
    }
    Ok(())
}

/// Where things go.
pub(crate) struct Place {
    pub(crate) destdir: PathBuf,
    pub(crate) prefix: PathBuf,
    pub(crate) libdir: PathBuf,
}

impl Place {
    /// A path of the installed system, below the destination.
    pub(crate) fn below(&self, path: &Path) -> PathBuf {
        self.destdir.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn folder(&self, path: &Path) -> Result<PathBuf> {
        let folder = self.below(path);
        create_dir(&folder)?;
        Ok(folder)
    }
}

fn mode(path: &Path, mode: u32) -> Result {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// A file, readable by everybody.
fn put(from: &Path, to: &Path, permissions: u32) -> Result {
    // A library that is in use is replaced, not written over.
    let _ = fs::remove_file(to);
    copy(from, to)?;
    mode(to, permissions)
}

/// Takes off what running does not need, three quarters of a file.
fn strip(file: &Path, what: &str) -> Result {
    run_command(Command::new("strip").args([what, "--remove-section=.comment"]).arg(file))
}

impl Library {
    /// Library, header and what pkg-config reads.
    pub(crate) fn install(&self, place: &Place) -> Result {
        let libraries = place.folder(&place.libdir)?;
        put(&self.shared(), &libraries.join(shared_name()), 0o644)?;
        links(&libraries)?;
        put(&self.archive(), &libraries.join("libmanylane.a"), 0o644)?;
        strip(&libraries.join(shared_name()), "--strip-unneeded")?;
        strip(&libraries.join("libmanylane.a"), "--strip-debug")?;
        let include = place.folder(&place.prefix.join("include"))?;
        put(&folder().join("include/manylane.h"), &include.join("manylane.h"), 0o644)?;
        let folder = place.folder(&place.libdir.join("pkgconfig"))?;
        for (name, libs, private) in [
            ("manylane", "-lmanylane".to_owned(), SYSTEM_LIBRARIES.join(" ")),
            // By its name, for a linker takes the shared one where there are both.
            ("manylane-static", static_libs(), String::new()),
        ] {
            let pc = folder.join(format!("{name}.pc"));
            write(&pc, pkg_config(place, name, &libs, &private))?;
            mode(&pc, 0o644)?;
        }
        Ok(())
    }
}

fn static_libs() -> String {
    format!("-l:libmanylane.a {}", SYSTEM_LIBRARIES.join(" "))
}

fn pkg_config(place: &Place, name: &str, libs: &str, private: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let libdir = match place.libdir.strip_prefix(&place.prefix) {
        Ok(below) => format!("${{prefix}}/{}", below.display()),
        Err(_) => place.libdir.display().to_string(),
    };
    format!(
        "prefix={prefix}\nincludedir=${{prefix}}/include\nlibdir={libdir}\n\n\
         Name: {name}\n\
         Description: Bulk cryptography in many lanes: SM3, SHA-3, SM2, SM4, AES\n\
         Version: {version}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} {libs}\n\
         Libs.private: {private}\n",
        prefix = place.prefix.display(),
    )
}

/// Command, manual pages, completions, provider.
pub(crate) fn programs(place: &Place) -> Result {
    run_command(cargo().args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "manylane-cli",
    ]))?;
    let built = target_dir().join("release/manylane");
    let bin = place.folder(&place.prefix.join("bin"))?.join("manylane");
    put(&built, &bin, 0o755)?;
    strip(&bin, "--strip-all")?;
    let man = place.folder(&place.prefix.join("share/man/man1"))?;
    run_command(Command::new(&built).arg("man").arg(&man))?;
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/manylane"),
        ("zsh", "share/zsh/site-functions/_manylane"),
        ("fish", "share/fish/vendor_completions.d/manylane.fish"),
    ] {
        let path = place.prefix.join(path);
        place.folder(path.parent().expect("a file in a folder"))?;
        let script = output_of(Command::new(&built).args(["completions", shell]))?;
        write(&place.below(&path), script)?;
    }
    super::notices::install(place)?;
    provider(place)
}

/// OpenSSL looks for `manylane.so`, by the provider's name, among its modules.
fn provider(place: &Place) -> Result {
    if !root().join("crates/manylane-provider").is_dir() {
        return Ok(());
    }
    run_command(
        cargo()
            .args(["build", "--quiet", "--locked", "--release"])
            .args(["--package", "manylane-provider"]),
    )?;
    let modules = place.folder(&place.libdir.join("ossl-modules"))?;
    let module = modules.join("manylane.so");
    put(&target_dir().join("release/libmanylane_provider.so"), &module, 0o644)?;
    strip(&module, "--strip-unneeded")
}

/// A program that finds an installed library by pkg-config alone, and is linked with either form of it.
pub(crate) fn check(library: &Library) -> Result {
    let destination = library.folder.join("installed");
    let _ = fs::remove_dir_all(&destination);
    // Where it is, is where it is to be found.
    let place = Place {
        destdir: PathBuf::from("/"),
        prefix: destination.clone(),
        libdir: destination.join("lib"),
    };
    library.install(&place)?;
    check_at(&destination, None)
}

/// The same of what is below a prefix; with the folder that a package was unpacked in, if it is one.
pub(crate) fn check_at(prefix: &Path, sysroot: Option<&Path>) -> Result {
    let at = |path: &str| -> PathBuf {
        let path = prefix.join(path);
        match sysroot {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(&path)),
            None => path,
        }
    };
    let libraries = super::find_dir(&at("lib"), "libmanylane.so")?;
    let config = |arguments: &[&str]| -> Result<Vec<String>> {
        let mut command = Command::new("pkg-config");
        command.args(arguments).env("PKG_CONFIG_PATH", libraries.join("pkgconfig"));
        command.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1").env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1");
        if let Some(root) = sysroot {
            command.env("PKG_CONFIG_SYSROOT_DIR", root);
        }
        Ok(output_of(&mut command)?.split_whitespace().map(str::to_owned).collect())
    };
    let version = config(&["--modversion", "manylane"])?;
    if version != [env!("CARGO_PKG_VERSION")] {
        return Err(format!("pkg-config says version {version:?}"));
    }
    let scratch = target_dir().join("capi/pkg-config");
    create_dir(&scratch)?;
    let source = scratch.join("program.c");
    write(
        &source,
        "#include <manylane.h>\n#include <string.h>\nint main(void) {\n\
         unsigned char d[32];\nsize_t len = sizeof d;\n\
         if (manylane_hash_once(\"sm3\", \"abc\", 3, d, &len) != MANYLANE_OK) return 1;\n\
         return d[0] != 0x66 || strcmp(manylane_version(), MANYLANE_VERSION) != 0;\n}\n",
    )?;
    for (name, form) in [
        ("shared", ["--cflags", "--libs", "manylane"]),
        ("static", ["--cflags", "--libs", "manylane-static"]),
    ] {
        let program = scratch.join(name);
        let flags = config(&form)?;
        run_command(Command::new("cc").arg("-o").arg(&program).arg(&source).args(flags))?;
        let needed = output_of(Command::new("objdump").arg("-p").arg(&program))?;
        let is_shared = needed.contains("libmanylane.so.0");
        if is_shared != (name == "shared") {
            return Err(format!("{name}: needs libmanylane.so.0: {is_shared}"));
        }
        run_command(Command::new(&program).env("LD_LIBRARY_PATH", &libraries))?;
    }
    Ok(())
}
