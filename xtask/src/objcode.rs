//! The check of the object code: constant time where valgrind cannot look, and what makes a hot
//! loop slow without anyone noticing.
//!
//! Reads `ctgrind`, a program that calls every kernel and is built as users build theirs, and
//! follows the secrets through the machine code of each kernel ([`taint`]). A kernel that is not
//! declared in [`kernels`], or declared and not there, is a failure; so is a planted leak that
//! goes unnoticed.

mod kernels;
mod program;
mod state;
mod taint;

use std::path::PathBuf;

use clap::Args;

use self::{
    kernels::{KERNELS, Kernel, LEAKS, MODULES},
    program::Program,
    taint::{Callee, Finding, Function, What},
};
use crate::{Result, constant_time};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Look at this program instead of building one.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result {
    if !cfg!(target_arch = "x86_64") {
        return Err("only the machine code of x86-64 is read, on such a processor".into());
    }
    let path = match &options.program {
        Some(path) => path.clone(),
        None => {
            constant_time::build()?;
            constant_time::program("ctgrind")
        }
    };
    let file = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let program = Program::read(&file).map_err(|why| format!("{}: {why}", path.display()))?;
    let mut errors = undeclared(&program);
    println!("{:>12} {:>6} {:>6}  kernel", "instructions", "loops", "spills");
    for kernel in KERNELS {
        match check(&program, kernel) {
            Ok(more) => errors.extend(more),
            Err(why) => errors.push(why),
        }
    }
    for (name, arguments, expected) in LEAKS {
        let found = findings(&program, name, arguments)?;
        if found.iter().any(|finding| expected(&finding.what)) {
            println!("planted leak seen: {name}: {:?}", found[0].what);
        } else {
            errors.push(format!("the leak planted in {name} went unnoticed: {found:?}"));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(format!("{} findings in the object code:\n{}", errors.len(), errors.join("\n")))
}

/// Functions in the kernels' modules that nobody declared, and that are thus not looked at.
fn undeclared(program: &Program) -> Vec<String> {
    let in_modules = |name: &str| {
        let path = name.trim_start_matches('<');
        MODULES.iter().any(|module| path.starts_with(module))
    };
    let declared = |name: &str| KERNELS.iter().any(|kernel| kernel.name == name);
    let names = program.names().filter(|name| in_modules(name) && !declared(name));
    names.map(|name| format!("{name} is not declared in xtask/src/objcode/kernels.rs")).collect()
}

fn check(program: &Program, kernel: &Kernel) -> Result<Vec<String>> {
    let mut errors = Vec::new();
    let mut missing = !kernel.inlined;
    for function in program.functions(kernel.name) {
        errors.extend(check_one(program, kernel, &function));
        missing = false;
    }
    if missing {
        return Err(format!("{} is declared, but not in the program", kernel.name));
    }
    Ok(errors)
}

fn check_one(program: &Program, kernel: &Kernel, function: &Function<'_>) -> Vec<String> {
    let report = function.follow(kernel.arguments, |target| callee(program, target));
    let Kernel { name, .. } = kernel;
    println!("{:12} {:6} {:6}  {name}", report.instructions, report.loops, report.spills);
    let mut errors: Vec<String> =
        report.findings.iter().map(|finding| describe(program, name, finding)).collect();
    // The ends of ways that never return are all that may be left out.
    if report.reached + report.filling + 8 < report.instructions {
        let (reached, all) = (report.reached, report.instructions);
        errors.push(format!("{name}: only {reached} of {all} instructions were followed"));
    }
    if report.spills > kernel.spills {
        let (found, bound) = (report.spills, kernel.spills);
        errors.push(format!("{name}: {found} stores of vectors to the stack, more than {bound}"));
    }
    for address in report.calls_in_loops {
        let (target, line) = (program.call_at(address), address);
        if !kernel.calls.iter().any(|allowed| target == Some(allowed)) {
            let target = target.unwrap_or("something");
            errors.push(format!("{name}: calls {target} in a loop, at {line:#x}"));
        }
    }
    errors
}

fn findings(program: &Program, name: &str, arguments: &[state::Level]) -> Result<Vec<Finding>> {
    let function = program.functions(name).next().ok_or_else(|| format!("{name} is not there"))?;
    Ok(function.follow(arguments, |target| callee(program, target)).findings)
}

fn callee<'k>(program: &Program, target: u64) -> Callee<'k> {
    match program.name_of(target) {
        Some(name) if name.starts_with("core::panicking::") || name.ends_with("_fail") => {
            Callee::Panic
        }
        Some("memcpy" | "memmove" | "memset") => Callee::Memory,
        Some(name) => match KERNELS.iter().find(|kernel| kernel.name == name) {
            Some(kernel) => Callee::Followed(kernel.arguments),
            None => Callee::Unknown,
        },
        None => Callee::Unknown,
    }
}

fn describe(program: &Program, name: &str, Finding { address, what }: &Finding) -> String {
    let callee = |target: &u64| program.name_of(*target).unwrap_or("something").to_string();
    let what = match what {
        What::Branch => "a branch on a secret".into(),
        What::Address => "an address made of a secret".into(),
        What::Gather => "a gather or scatter".into(),
        What::Latency => "an instruction that takes its time by a secret".into(),
        What::IndirectJump => "a jump to a computed place".into(),
        What::Call(target) => format!("a call of {}, which is not followed", callee(target)),
        What::Argument(target) => format!("a secret passed to {}", callee(target)),
        What::Store => "a secret stored among public data".into(),
        What::Undecodable => "no instruction".into(),
    };
    format!("{name}: {what}, at {address:#x}")
}
