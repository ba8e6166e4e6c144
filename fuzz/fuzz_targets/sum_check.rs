//! Lines of lists of digests: none is read wrongly, and what is written is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manylane::hash::{Algorithm, Digest};
use manylane_cli::lines::{self, End, Entry, Kind, Style};

fuzz_target!(|line: &[u8]| {
    if let Ok(Some(Entry { kind, name, digest })) = lines::parse(line) {
        assert!(!name.is_empty() && !name.contains(&0));
        let style = kind.map_or(Style::Untagged, Style::Tagged);
        round_trip(style, kind, &name, &digest);
    }
    // The same bytes as a name.
    let name: Vec<u8> = line.iter().copied().filter(|byte| *byte != 0).collect();
    if !name.is_empty() {
        let digest = Digest::new(&[0x5a; 32]).unwrap();
        round_trip(Style::Untagged, None, &name, &digest);
        let kind = Kind::of(Algorithm::Sha3_256);
        round_trip(Style::Tagged(kind), Some(kind), &name, &digest);
    }
});

fn round_trip(style: Style, kind: Option<Kind>, name: &[u8], digest: &Digest) {
    let mut written = Vec::new();
    lines::write(&mut written, style, End::Newline, name, digest);
    assert_eq!(written.iter().position(|byte| *byte == b'\n'), Some(written.len() - 1));
    let entry = Entry { kind, name: name.into(), digest: *digest };
    assert_eq!(lines::parse(&written), Ok(Some(entry)));
}
