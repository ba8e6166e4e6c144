//! `--check`: a case for every rule of CHECK.md. What agrees with `cksum` is compared with it in
//! `interop.rs`.

use crate::support::{Dir, line, sm3_hex};

fn dir() -> Dir {
    let dir = Dir::new();
    dir.write("a", "1").write("b", "2").write("stdin", "3").write("key", "k");
    dir
}

#[test]
fn forms_may_be_mixed() {
    let list = format!(
        "# a list\n\n{}  \t{}SM3(a)= {}\r\n{}  a\n{} *a\n\\{}  a",
        line("a", "1"),
        line("b", "2"),
        sm3_hex("1"),
        sm3_hex("1").to_uppercase(),
        sm3_hex("1"),
        sm3_hex("1"),
    );
    let ran = dir().manylane_reading(list, ["sum", "-c", "--strict"]);
    ran.is_fine().prints("a: OK\nb: OK\na: OK\na: OK\na: OK\na: OK\n");
}

#[test]
fn standard_input_can_be_checked_unless_it_is_the_list() {
    let dir = dir();
    dir.write("list", line("-", "abc"));
    dir.manylane_reading("abc", ["sum", "-c", "list"]).is_fine().prints("-: OK\n");
    let ran = dir.manylane_reading(line("-", "abc"), ["sum", "-cw"]);
    ran.exits(1).prints("");
    ran.says("standard input: no properly formatted checksum lines found");
    let list = format!("SM3(stdin)= {}\n", sm3_hex("3"));
    dir.manylane_reading(list, ["sum", "-c"]).is_fine().prints("stdin: OK\n");
}

#[test]
fn malformed_lines_are_pointed_out_with_their_reasons() {
    let dir = dir();
    let digest = sm3_hex("1");
    let list = [
        format!("{digest} a"),
        format!("\\{digest}  a\\t"),
        format!("SHA256 (a) = {digest}"),
        format!("SM3 (a) = {}", &digest[1..]),
        format!("{digest}  "),
        format!("SM3 (a\0b) = {digest}"),
        format!("{digest}  {}", "x".repeat(1 << 20)),
        line("a", "1"),
    ]
    .join("\n");
    let ran = dir.manylane_reading(&list, ["sum", "-c"]);
    ran.exits(0).prints("a: OK\n").says("WARNING: 7 lines are improperly formatted");
    assert_eq!(ran.err.lines().count(), 1);
    dir.manylane_reading(&list, ["sum", "-c", "--strict"]).exits(1).prints("a: OK\n");
    let ran = dir.manylane_reading(&list, ["sum", "-c", "--warn"]);
    ran.exits(0);
    for (number, reason) in [
        (1, "not a line of digest and name"),
        (2, "no such escape in a name"),
        (3, "no such algorithm here: SHA256"),
        (4, "the digest is not 64 hexadecimal digits"),
        (5, "the name is empty or contains NUL"),
        (6, "the name is empty or contains NUL"),
        (7, "too long"),
    ] {
        let place = format!("standard input: {number}: improperly formatted checksum line");
        ran.says(&format!("{place}: {reason}"));
    }
}

#[test]
fn a_digest_never_passes_for_an_hmac() {
    let dir = dir();
    let keyed = dir.manylane(["sum", "--hmac-key-file", "key", "a"]);
    assert!(keyed.is_fine().text().starts_with("HMAC-SM3 (a) = "));
    let key = ["--hmac-key-file", "key"];
    let check = [&["sum", "-c"], &key[..]].concat();
    dir.manylane_reading(&keyed.out, &check).is_fine().prints("a: OK\n");
    let ran = dir.manylane_reading(line("a", "1"), &check);
    ran.exits(1).prints("").says("WARNING: 1 line is without an HMAC in spite of --hmac-key-file");
    let ran = dir.manylane_reading(&keyed.out, ["sum", "-c"]);
    ran.exits(1).prints("").says("WARNING: 1 line is an HMAC without --hmac-key-file");
    let both = keyed.text() + &line("a", "1");
    dir.manylane_reading(&both, &check).exits(1).prints("a: OK\n");
    dir.manylane_reading(&both, ["sum", "-c"]).exits(1).prints("a: OK\n");
    let untagged = dir.manylane([&["sum", "--untagged", "a"], &key[..]].concat());
    dir.manylane_reading(&untagged.out, &check).is_fine().prints("a: OK\n");
    dir.manylane_reading(&untagged.out, ["sum", "-c"]).exits(1).prints("a: FAILED\n");
    dir.write("key", "another");
    dir.manylane_reading(&keyed.out, &check).exits(1).prints("a: FAILED\n");
}

#[test]
fn several_lists_are_each_judged() {
    let dir = dir();
    dir.write("good", line("a", "1")).write("bad", line("b", "x"));
    let ran = dir.manylane(["sum", "-c", "good", "bad", "gone", "key", "good"]);
    ran.exits(1).prints("a: OK\nb: FAILED\na: OK\n");
    ran.says("WARNING: 1 computed checksum did NOT match").says("gone: No such file or directory");
    ran.says("key: no properly formatted checksum lines found");
    dir.manylane(["sum", "-c", "good", "good"]).is_fine().prints("a: OK\na: OK\n");
    dir.manylane(["sum", "-c", "."]).exits(1).prints("").says(".: Is a directory");
}

#[test]
fn status_says_nothing_and_quiet_only_what_differs() {
    let dir = dir();
    let list = line("a", "1") + &line("b", "x");
    dir.manylane_reading(&list, ["sum", "-c", "--status"]).exits(1).prints("");
    dir.manylane_reading(&list, ["sum", "-c", "--quiet"]).exits(1).prints("b: FAILED\n");
    let ran = dir.manylane_reading(line("a", "1"), ["sum", "-c", "--quiet"]);
    ran.is_fine().prints("");
}

#[test]
fn json_has_an_object_for_each_file() {
    let list = line("a", "1") + &line("b", "x") + &line("gone", "");
    let ran = dir().manylane_reading(list, ["sum", "-c", "--json"]);
    ran.exits(1);
    let object = |name: &str, status: &str| serde_json::json!({"name": name, "algorithm": "sm3", "status": status});
    let mut unreadable = object("gone", "unreadable");
    unreadable["error"] = "No such file or directory".into();
    assert_eq!(ran.json(), [object("a", "ok"), object("b", "failed"), unreadable]);
}

#[test]
fn long_lists_keep_their_order() {
    let dir = Dir::new();
    let mut list = String::new();
    let mut verdicts = String::new();
    for i in 0..500 {
        let content = "x".repeat(i * 97 % 3000);
        dir.write(format!("{i}"), &content);
        list += &line(&i.to_string(), if i % 100 == 50 { "" } else { &content });
        verdicts += &format!("{i}: {}\n", if i % 100 == 50 { "FAILED" } else { "OK" });
    }
    dir.manylane_reading(&list, ["sum", "-c"])
        .exits(1)
        .prints(&verdicts)
        .says("WARNING: 5 computed checksums did NOT match");
}
