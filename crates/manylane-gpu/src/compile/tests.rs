use super::*;

#[test]
fn every_part_of_what_is_compiled_is_in_the_key() {
    let unit = |name, source| Unit { name, source, headers: &[("a.h", "header")] };
    let options = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let keys = [
        key("hipRTC 9.0", &unit("a.cu", "source"), &options(&["-O3"])),
        key("hipRTC 9.1", &unit("a.cu", "source"), &options(&["-O3"])),
        key("hipRTC 9.0", &unit("b.cu", "source"), &options(&["-O3"])),
        key("hipRTC 9.0", &unit("a.cu", "sources"), &options(&["-O3"])),
        key("hipRTC 9.0", &unit("a.cu", "source"), &options(&["-O2"])),
        key("hipRTC 9.0", &unit("a.cu", "source"), &options(&["-O3", ""])),
        key("hipRTC 9.0", &unit("a.cu", "source"), &options(&["-O", "3"])),
        key(
            "hipRTC 9.0",
            &Unit { headers: &[("a.h", "headers")], ..unit("a.cu", "source") },
            &options(&["-O3"]),
        ),
        // A part's end is not the next one's beginning.
        key("hipRTC 9.0", &unit("a.cus", "ource"), &options(&["-O3"])),
    ];
    for (i, a) in keys.iter().enumerate() {
        assert!(keys[..i].iter().all(|b| a != b), "{i}");
    }
}

#[test]
fn damaged_ptx_is_an_error_that_names_it() {
    let error = inflate(&SM3, b"\xff\xff\xff").unwrap_err();
    assert!(error.to_string().starts_with("cannot compile sm3.cu: the embedded PTX"), "{error}");
}

#[test]
fn the_architecture_and_the_tuning_reach_the_compiler() {
    assert_eq!(
        options("gfx90a", &["BLOCK=128", "MIX=1"]),
        ["--offload-arch=gfx90a", "-O3", "-std=c++17", "-DBLOCK=128", "-DMIX=1"]
    );
}

/// Compiles with the machine's own hipRTC, without a device, and leaves the code object where
/// `cargo xtask amd` looks at its instructions.
#[test]
#[ignore = "needs hipRTC: `cargo xtask amd` runs it where that is"]
fn the_machines_compiler_takes_the_kernels() {
    let no_cache = || None;
    let object = code_object(&SM3, "gfx906", &[], no_cache).unwrap();
    if let Some(path) = std::env::var_os("MANYLANE_CODE_OBJECT") {
        std::fs::write(path, &object).unwrap();
    }
    assert!(!code_object(&COMPARATORS, "gfx906", &[], no_cache).unwrap().is_empty());
    for unit in [&BLOCK_COMPARATORS, &SHA3, &SHA3_COMPARATORS] {
        assert!(!code_object(unit, "gfx906", &[], no_cache).unwrap().is_empty());
    }
    // Four tables have no room in a compute unit.
    for tables in [Tables::Two, Tables::One] {
        for cipher in [Cipher::Aes, Cipher::Sm4] {
            let (unit, defines) = block_unit(cipher, tables);
            assert!(!code_object(unit, "gfx906", defines, no_cache).unwrap().is_empty());
        }
    }
    let broken = Unit { source: "#include \"sm3.cuh\"\nnonsense", ..SM3 };
    let error = code_object(&broken, "gfx906", &[], no_cache).unwrap_err().to_string();
    assert!(error.contains("nonsense") && error.contains("gfx906"), "{error}");
}

#[test]
fn what_hangs_is_remembered_whenever_it_does() {
    let wrong = || Error::WrongResult { kernel: "k", device: "d".into() };
    let late = || Error::Deadline(std::time::Duration::from_secs(10));
    // Results of the checks in turn, whether there is something to distrust, how many checks there are.
    for (results, kept, checks) in [
        (vec![Ok(1)], true, 1),
        (vec![Err(wrong())], false, 1),
        (vec![Err(wrong()), Ok(2)], true, 2),
        (vec![Err(wrong()), Err(wrong())], true, 2),
        (vec![Err(late())], true, 1),
        (vec![Err(wrong()), Err(late())], true, 2),
    ] {
        let (mut at, mut hangs) = (0, None);
        let checked = || {
            at += 1;
            results[at - 1].clone()
        };
        let result = first_use(checked, || kept, &mut hangs);
        assert_eq!((&result, at), (results.last().unwrap(), checks));
        assert_eq!(hangs, result.err().filter(|error| matches!(error, Error::Deadline(_))));
    }
}
