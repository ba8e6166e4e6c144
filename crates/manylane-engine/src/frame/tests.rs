//! Frames against those of `ref/frame.py`, and against whatever may have happened to them.

use manylane::sm3;
use manylane_vectors::{Frame, frames, painted};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    header::{Occasion, hedged},
    *,
};
use crate::{Config, Device, Engine, Progress};

/// Bytes of a chunk of 4 KiB as it is written.
const WRITTEN: usize = 4096 + TAG_LEN;

fn engine() -> Engine {
    let threads = std::num::NonZeroUsize::new(3);
    Engine::new(Config { device: Device::Cpu, threads, ..Config::default() }).unwrap()
}

fn key(suite: Suite) -> Key {
    Key::new(suite, &painted(suite.key_len(), 100)).unwrap()
}

fn smallest() -> ChunkLen {
    ChunkLen::from_log2(12).unwrap()
}

fn encrypt(key: &Key, aad: &[u8], message: &[u8]) -> Vec<u8> {
    let (mut message, mut frame) = (message, Vec::new());
    let done =
        engine().encrypt_frame(key, aad, smallest(), &Progress::new(), &mut message, &mut frame);
    done.unwrap();
    frame
}

/// What was written, and whether that is all.
fn decrypt(key: &Key, aad: &[u8], frame: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    let (mut frame, mut message) = (frame, Vec::new());
    let done = engine().decrypt_frame(key, aad, &Progress::new(), &mut frame, &mut message);
    (message, done)
}

/// The frame, made from single chunks with the salt of the vectors.
fn from_chunks(frame: &Frame, key: &Key, aad: &[u8]) -> Vec<u8> {
    let chunk_len = ChunkLen::from_log2(frame.chunk_log2).unwrap();
    let salt = painted(32, 200).try_into().unwrap();
    let (header, chunks) = Header::with_salt(key, aad, chunk_len, &salt);
    assert_eq!(chunks.chunk_len(), chunk_len);
    let mut bytes = header.as_bytes().to_vec();
    let message = painted(frame.length, 0);
    let count = frame.length.div_ceil(chunk_len.bytes()).max(1);
    for i in 0..count {
        let (from, to) = (i * chunk_len.bytes(), (i + 1) * chunk_len.bytes());
        let mut chunk = message[from..to.min(frame.length)].to_vec();
        let tag = chunks.encrypt(i as u64, i + 1 == count, &mut chunk);
        bytes.extend([&chunk[..], &tag].concat());
    }
    bytes
}

#[test]
fn frames_are_as_the_reference_writes_them() {
    let mut suites = Vec::new();
    for frame in frames() {
        let suite = Suite::ALL.into_iter().find(|s| s.to_string() == frame.suite).unwrap();
        suites.push(suite);
        let (key, aad) = (key(suite), painted(frame.aad_length, 50));
        let bytes = from_chunks(&frame, &key, &aad);
        assert_eq!(bytes[..HEADER_LEN], frame.header, "{frame:?}");
        assert_eq!(sm3::hash(&bytes), frame.frame_sm3, "{frame:?}");
        let (message, done) = decrypt(&key, &aad, &bytes);
        assert!(done.is_ok() && message == painted(frame.length, 0), "{frame:?}");
    }
    assert!(Suite::ALL.iter().all(|suite| suites.contains(suite)));
}

#[test]
fn lengths_around_chunks_come_back() {
    let key = key(Suite::Sm4Gcm);
    for len in [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 3 * 4096 + 2048, 100_000] {
        let message = painted(len, 7);
        let frame = encrypt(&key, b"aad", &message);
        assert_eq!(frame.len(), 76 + len + 16 * len.div_ceil(4096).max(1));
        let (decrypted, done) = decrypt(&key, b"aad", &frame);
        assert!(done.is_ok() && decrypted == message, "{len}");
    }
    // No two frames are alike.
    assert_ne!(encrypt(&key, b"", b"m")[12..], encrypt(&key, b"", b"m")[12..]);
}

#[test]
fn a_generator_that_repeats_itself_repeats_no_salt() {
    let first = Occasion { time: 1, process: 2, count: 3 };
    let mut salts = Vec::new();
    for suite in [Suite::Aes128Gcm, Suite::Sm4Gcm] {
        for occasion in [
            first,
            Occasion { time: 2, ..first },
            Occasion { process: 3, ..first },
            Occasion { count: 4, ..first },
        ] {
            salts.push(hedged(suite, &[7; 32], occasion));
        }
        salts.push(hedged(suite, &[8; 32], first));
        assert_eq!(hedged(suite, &[7; 32], first), salts[salts.len() - 5]);
    }
    salts.sort_unstable();
    salts.dedup();
    assert_eq!(salts.len(), 10);
}

/// Asserts that it does not decrypt, and that nothing but the beginning of the message was written.
#[track_caller]
fn is_refused(frame: &[u8], message: &[u8]) -> Error {
    let (written, done) = decrypt(&key(Suite::Aes128Gcm), b"aad", frame);
    assert!(message.starts_with(&written) && written.len() % 4096 == 0);
    done.unwrap_err()
}

#[test]
fn every_altered_bit_is_found() {
    let message = painted(4096 + 100, 0);
    let frame = encrypt(&key(Suite::Aes128Gcm), b"aad", &message);
    let ends = [HEADER_LEN, HEADER_LEN + WRITTEN, frame.len()];
    for at in 0..frame.len() {
        // Every bit of the header, of the tags and of what is beside them, and one of every other byte.
        let is_near = ends.iter().any(|end| (end - 17..end + 2).contains(&at));
        let bits = if at < HEADER_LEN || is_near { 0..8 } else { at % 8..at % 8 + 1 };
        for bit in bits {
            let mut bad = frame.clone();
            bad[at] ^= 1 << bit;
            let error = is_refused(&bad, &message);
            let is_right = match at {
                0..7 => matches!(error, Error::NotAFrame),
                7 | 10..12 => matches!(error, Error::Unknown(_)),
                8 => matches!(error, Error::Unknown(_) | Error::Suite(_)),
                9 => matches!(error, Error::Unknown(_) | Error::Key),
                12..76 => matches!(error, Error::Key),
                _ => matches!(error, Error::Altered),
            };
            assert!(is_right, "bit {bit} of byte {at}: {error:?}");
        }
    }
}

#[test]
fn another_suite_in_the_header_is_another_key() {
    // Of a key of each suite's length that begins as the right one does.
    let all = painted(32, 100);
    let key = |suite: Suite| Key::new(suite, &all[..suite.key_len()]).unwrap();
    for from in Suite::ALL {
        let frame = encrypt(&key(from), b"aad", b"message");
        for to in Suite::ALL.into_iter().filter(|to| *to != from) {
            let mut bad = frame.clone();
            bad[8] = to.number();
            let (written, done) = decrypt(&key(to), b"aad", &bad);
            assert!(written.is_empty() && matches!(done, Err(Error::Key)), "{from} as {to}");
        }
    }
}

#[test]
fn what_is_cut_off_or_added_is_found() {
    let message = painted(2 * 4096 + 100, 0);
    let frame = encrypt(&key(Suite::Aes128Gcm), b"aad", &message);
    for len in (0..frame.len()).filter(|len| len % 61 == 0 || (len - 1) % WRITTEN < 160) {
        let error = is_refused(&frame[..len], &message);
        let expected = if len < 7 { Error::NotAFrame } else { Error::Altered };
        assert_eq!(error.to_string(), expected.to_string(), "{len}");
    }
    for more in [1, 15, 16, 17, WRITTEN] {
        let added = [&frame[..], &vec![0; more]].concat();
        assert!(matches!(is_refused(&added, &message), Error::Altered), "{more}");
    }
    // A whole chunk at the end, too: an empty last one is none of a longer message's.
    let chunks = Header::from_bytes(frame[..76].try_into().unwrap()).unwrap();
    let chunks = chunks.open(&key(Suite::Aes128Gcm), b"aad").unwrap();
    assert!(matches!(chunks.decrypt(2, true, &mut [], &[0; 16]), Err(Error::Altered)));
}

#[test]
fn chunks_in_other_places_are_found() {
    let message = painted(4 * 4096, 0);
    let frames = [(); 2].map(|()| encrypt(&key(Suite::Aes128Gcm), b"aad", &message));
    let parts =
        |frame: usize| -> Vec<&[u8]> { frames[frame][HEADER_LEN..].chunks(WRITTEN).collect() };
    let (own, other) = (parts(0), parts(1));
    let orders = [
        vec![own[1], own[0], own[2], own[3]],
        vec![own[0], own[2], own[3]],
        vec![own[0], own[0], own[1], own[2], own[3]],
        vec![own[0], own[1], own[3], own[2]],
        vec![own[3]],
        vec![own[0], own[1], own[2]],
        vec![own[0], own[1], own[2], own[3], own[3]],
        vec![own[0], other[1], own[2], own[3]],
        other,
        vec![],
    ];
    for order in orders {
        let bad = [&frames[0][..HEADER_LEN], &order.concat()].concat();
        assert!(matches!(is_refused(&bad, &message), Error::Altered));
    }
}

#[test]
fn another_key_or_aad_is_known_at_once() {
    let right = key(Suite::Aes256Gcm);
    let frame = encrypt(&right, b"aad", b"message");
    let (message, done) = decrypt(&right, b"aad", &frame);
    assert!(done.is_ok() && message == b"message");
    let wrong = Key::new(Suite::Aes256Gcm, &painted(32, 101)).unwrap();
    for (key, aad) in [(&wrong, &b"aad"[..]), (&right, b""), (&right, b"aa"), (&right, b"aadd")] {
        let (message, done) = decrypt(key, aad, &frame);
        assert!(message.is_empty() && matches!(done, Err(Error::Key)), "{done:?}");
    }
    for suite in Suite::ALL.into_iter().filter(|suite| *suite != Suite::Aes256Gcm) {
        let (_, done) = decrypt(&key(suite), b"aad", &frame);
        assert!(matches!(done, Err(Error::Suite(Suite::Aes256Gcm))));
        assert!(matches!(Key::new(suite, &[0; 32]), Err(Error::KeyLength)));
    }
}

#[test]
fn chunks_decrypt_by_themselves() {
    let key = key(Suite::Aes192Gcm);
    let message = painted(3 * 4096 + 5, 0);
    let frame = encrypt(&key, b"", &message);
    let header = Header::read(&mut &frame[..]).unwrap();
    assert_eq!((header.suite(), header.chunk_len().bytes()), (Suite::Aes192Gcm, 4096));
    let chunks = header.open(&key, b"").unwrap();
    for i in [3, 1, 0, 2] {
        let from = HEADER_LEN + i * WRITTEN;
        let mut chunk = frame[from..frame.len().min(from + WRITTEN)].to_vec();
        let (data, tag) = chunk.split_last_chunk_mut().unwrap();
        let last = i == 3;
        assert!(chunks.decrypt(i as u64, !last, &mut data.to_vec(), tag).is_err());
        chunks.decrypt(i as u64, last, data, tag).unwrap();
        assert_eq!(data, &message[i * 4096..message.len().min((i + 1) * 4096)]);
    }
    // What is no chunk of a frame is not left there, either.
    let mut short = [1; 100];
    assert!(chunks.decrypt(0, false, &mut short, &[0; 16]).is_err());
    assert_eq!(short, [0; 100]);
}

#[test]
#[should_panic(expected = "no chunk of a frame is like that")]
fn a_short_chunk_is_the_last() {
    let (_, chunks) = Header::new(&key(Suite::Aes128Gcm), b"", smallest()).unwrap();
    chunks.encrypt(0, false, &mut [0; 100]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_header_is_read_and_written_the_same_or_refused(
        mut bytes in vec(any::<u8>(), HEADER_LEN),
        magic: bool,
        suite in 0..6u8,
        log2 in 10..27u8,
    ) {
        if magic {
            bytes[..12].copy_from_slice(&[b"mlframe\x01", &[suite, log2, 0, 0][..]].concat());
        }
        let bytes: [u8; HEADER_LEN] = bytes.try_into().unwrap();
        let is_known = magic && (1..=4).contains(&suite) && (12..=24).contains(&log2);
        match Header::from_bytes(&bytes) {
            Ok(header) => {
                prop_assert!(is_known);
                prop_assert_eq!(header.as_bytes(), &bytes);
                prop_assert_eq!(header.suite().number(), suite);
                prop_assert!(header.open(&key(header.suite()), b"").is_err());
            }
            Err(_) => prop_assert!(!is_known),
        }
    }

    #[test]
    fn whatever_is_done_to_a_frame_is_found(
        len in 0..10_000usize,
        edits in vec((any::<Index>(), any::<Index>(), any::<Index>(), any::<u8>(), 0..4), 1..4),
    ) {
        let message = painted(len, 0);
        let key = key(Suite::Aes128Gcm);
        let frame = encrypt(&key, b"aad", &message);
        let mut bad = frame.clone();
        for (a, b, c, byte, kind) in edits {
            let [a, b, c] = [a, b, c].map(|index| index.index(bad.len().max(1)));
            match kind {
                0 if !bad.is_empty() => bad[a] = byte,
                1 => bad.truncate(a),
                2 => bad = [&bad[..a], &bad[a.max(b)..]].concat(),
                _ => bad = [&bad[..a], &bad[b.min(c)..b.max(c)], &bad[a..]].concat(),
            }
        }
        let (written, done) = decrypt(&key, b"aad", &bad);
        prop_assert_eq!(done.is_ok(), bad == frame);
        prop_assert!(message.starts_with(&written));
    }
}
