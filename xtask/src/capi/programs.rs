//! Programs in C and C++ that use the library: tests and examples, under sanitizers, and the README's code.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Library, SYSTEM_LIBRARIES, create_dir, folder, write};
use crate::{Result, output_of, run_command, steps::Steps};

/// Warnings are errors, in both languages.
const WARNINGS: [&str; 7] =
    ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow", "-Wvla"];

/// What the sanitizers are told. Handles rest in the library until the process ends, and threads of its pools
/// are still there then, so leaks are looked for at the end of `main` alone.
const SANITIZED: [&str; 4] =
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g"];

/// A language, its compiler and its standard.
#[derive(Clone, Copy)]
enum Language {
    C,
    Cpp,
}

impl Language {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("cpp") => Language::Cpp,
            _ => Language::C,
        }
    }

    fn compiler(self) -> Command {
        match self {
            Language::C => {
                let mut command = Command::new("gcc");
                command.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L"]);
                command
            }
            Language::Cpp => {
                let mut command = Command::new("g++");
                command.arg("-std=c++17");
                command
            }
        }
    }
}

/// Sources of a folder of the library's, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "c" || kind == "cpp"));
    paths.sort();
    if paths.is_empty() { Err(format!("{}: no sources", folder.display())) } else { Ok(paths) }
}

/// Which of the two the program is linked with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Archive,
    Shared,
}

/// Compiles one program; says where it is.
fn compile(library: &Library, source: &Path, link: Link, flags: &[&str]) -> Result<PathBuf> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let kind = match link {
        Link::Archive => "static",
        Link::Shared => "shared",
    };
    let programs = library.folder.join("programs");
    create_dir(&programs)?;
    let program = programs.join(format!("{stem}-{kind}"));
    let mut command = Language::of(source).compiler();
    command
        .args(WARNINGS)
        .args(flags)
        .arg("-I")
        .arg(folder().join("include"))
        .arg("-I")
        .arg(folder().join("tests"))
        .arg("-I")
        .arg(&library.folder)
        .arg(source)
        .arg("-o")
        .arg(&program);
    match link {
        Link::Archive => command.arg(library.archive()).args(SYSTEM_LIBRARIES),
        Link::Shared => command
            .arg("-L")
            .arg(&library.folder)
            .arg("-lmanylane")
            .arg("-lpthread")
            .arg(format!("-Wl,-rpath,{}", library.folder.display())),
    };
    run_command(&mut command)?;
    Ok(program)
}

fn sanitized(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env(
        "ASAN_OPTIONS",
        "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    );
    command.env("MANYLANE_CACHE", "off");
    command
}

pub(super) fn steps(steps: &mut Steps, library: &Library, vectors: &Path) {
    // What tests are compared with, as a header of theirs.
    let prepared = output_of(&mut Command::new(vectors))
        .and_then(|vectors| write(&library.folder.join("vectors.h"), vectors))
        .and_then(|()| sources(&folder().join("tests")));
    let tests = match prepared {
        Ok(tests) => tests,
        Err(why) => return steps.check("C library: tests", || Err(why)),
    };
    for test in tests {
        let name = test.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match compile(library, &test, Link::Archive, &SANITIZED) {
            Ok(program) => {
                let name = format!("C library: {name}, with sanitizers");
                steps.tests(&name, sanitized(&program).current_dir(&library.folder));
            }
            Err(why) => steps.check(&format!("C library: {name}"), || Err(why)),
        }
    }
    steps.check("C library: examples, with sanitizers", || examples(library));
    steps.check("C library: the README's code", || readme(library));
    steps.check("C library: the sanitizers find a planted overrun", || planted(library));
}

/// Every example does what its head says: it is run by the shell lines after `Try:` there.
fn examples(library: &Library) -> Result {
    let scratch = library.folder.join("scratch");
    let _ = fs::remove_dir_all(&scratch);
    create_dir(&scratch)?;
    for source in sources(&folder().join("examples"))? {
        let program = compile(library, &source, Link::Archive, &SANITIZED)?;
        let text = fs::read_to_string(&source).map_err(|error| error.to_string())?;
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("* $ "));
        // What fails behind `!` as it should not ends no shell, not even with -e.
        let lines: Vec<String> = lines
            .map(|line| match line.strip_prefix("! ") {
                Some(failing) => {
                    format!("if {failing}; then echo 'it did not fail' >&2; exit 1; fi")
                }
                None => line.to_owned(),
            })
            .collect();
        if lines.is_empty() {
            return Err(format!("{}: no lines to try", source.display()));
        }
        let mut shell = sanitized(Path::new("sh"));
        shell
            .args(["-euc", &lines.join("\n")])
            .env("EXAMPLE", &program)
            .env("SOURCE", &source)
            .current_dir(&scratch);
        run_command(&mut shell).map_err(|why| format!("{}: {why}", source.display()))?;
    }
    Ok(())
}

/// The code blocks of the README, each a program or a line of shell.
fn readme(library: &Library) -> Result {
    let path = folder().join("README.md");
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let scratch = library.folder.join("readme");
    let _ = fs::remove_dir_all(&scratch);
    create_dir(&scratch)?;
    let mut programs = 0;
    for (i, block) in blocks(&text).into_iter().enumerate() {
        let (kind, code) = block;
        if !matches!(kind, "c" | "cpp") {
            continue;
        }
        let source = scratch.join(format!("block{i}.{kind}"));
        // A program as it stands, or lines of one.
        let code = if code.contains("int main(") {
            code.to_owned()
        } else {
            let (head, body): (Vec<&str>, Vec<&str>) =
                code.lines().partition(|line| line.starts_with("#include"));
            let (head, body) = (head.join("\n"), body.join("\n"));
            format!("{head}\n#include <manylane.h>\nint main(void) {{\n{body}\nreturn 0;\n}}\n")
        };
        write(&source, code)?;
        let program = compile(library, &source, Link::Shared, &["-g"])?;
        run_command(sanitized(&program).current_dir(&scratch))?;
        programs += 1;
    }
    println!("{programs} programs");
    if programs > 0 { Ok(()) } else { Err("no code in the README".into()) }
}

/// Fenced blocks with their languages.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```") {
        let Some((kind, body)) = after.split_once('\n') else { break };
        let Some((code, after)) = body.split_once("```") else { break };
        blocks.push((kind.trim(), code));
        rest = after;
    }
    blocks
}

/// A digest that is written into too short a place is found by the sanitizer, which sees what is copied there; and a
/// cipher that works past the end of its data in place, of which it sees nothing, by the end of the tests' memory.
fn planted(library: &Library) -> Result {
    let once = "uint8_t *place = malloc(31);\nsize_t len = 32;\n\
                return manylane_hash_once(\"sm3\", \"abc\", 3, place, &len);\n";
    let in_place = "bytes place = make(20);\nmanylane_aead *key;\nuint8_t tag[16];\n\
                    OK(manylane_aead_new(&key, \"sm4-gcm\", \"sixteen bytes of\", 16, 0));\n\
                    return manylane_aead_encrypt(key, \"nonce\", 5, NULL, 0, place.data, 64, place.data, tag, 16);\n";
    for (name, body, found) in
        [("once", once, "heap-buffer-overflow"), ("in_place", in_place, "SEGV")]
    {
        let source = library.folder.join(format!("planted_{name}.c"));
        write(&source, format!("#include \"check.h\"\nint main(void) {{\n{body}}}\n"))?;
        let program = compile(library, &source, Link::Archive, &SANITIZED)?;
        let output = sanitized(&program).output().map_err(|error| error.to_string())?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !errors.contains(found) {
            return Err(format!("{name}: an overrun was not found:\n{errors}"));
        }
    }
    Ok(())
}

/// Runs the bench, of both languages as they are used: optimised.
pub(super) fn bench(file: &Path) -> Result {
    let file = env::current_dir().map_err(|error| error.to_string())?.join(file);
    let library = Library::release()?;
    let source = folder().join("benches/overhead.c");
    let program = compile(&library, &source, Link::Shared, &["-O2"])?;
    let of_c = output_of(&mut Command::new(&program))?;
    let of_rust = output_of(
        crate::cargo()
            .args(["bench", "--quiet", "--locked", "--package", "manylane-capi"])
            .args(["--bench", "overhead"]),
    )?;
    print!("C:    {of_c}\nRust: {of_rust}\n");
    write(&file, format!("{{\"c\": {}, \"rust\": {}}}\n", of_c.trim(), of_rust.trim()))
}
