//! Encrypted files: whatever is read as one, or made of one, is what was encrypted or is refused.
#![no_main]

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane_engine::{
    Engine, Progress,
    frame::{ChunkLen, Error, HEADER_LEN, Header, Key, Suite},
};

const AAD: &[u8] = b"associated data";

/// Two chunks of 4 KiB and a half.
static MESSAGE: LazyLock<Vec<u8>> = LazyLock::new(|| (0..10_240_u32).map(|i| i as u8).collect());

static KEY: LazyLock<Key> = LazyLock::new(|| Key::new(Suite::Aes128Gcm, &[1; 16]).unwrap());

/// The frame to be altered: no fuzzer finds a commitment by itself.
static FRAME: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (smallest, mut frame) = (ChunkLen::from_log2(12).unwrap(), Vec::new());
    let progress = Progress::new();
    Engine::global()
        .encrypt_frame(&KEY, AAD, smallest, &progress, &mut &MESSAGE[..], &mut frame)
        .unwrap();
    frame
});

#[derive(Debug, Arbitrary)]
enum Input {
    Bytes(Vec<u8>),
    Edited(Vec<Edit>),
}

#[derive(Debug, Arbitrary)]
enum Edit {
    Set { at: u16, byte: u8 },
    Remove { from: u16, len: u16 },
    Repeat { from: u16, len: u16, to: u16 },
    Insert { at: u16, bytes: Vec<u8> },
}

impl Edit {
    fn apply(&self, frame: &mut Vec<u8>) {
        let place = |at: u16| usize::from(at).min(frame.len());
        let range = |from: u16, len: u16| place(from)..place(from.saturating_add(len));
        match self {
            Edit::Set { at, byte } => {
                if let Some(old) = frame.get_mut(usize::from(*at)) {
                    *old = *byte;
                }
            }
            Edit::Remove { from, len } => drop(frame.drain(range(*from, *len))),
            Edit::Repeat { from, len, to } => {
                let (part, to) = (frame[range(*from, *len)].to_vec(), place(*to));
                drop(frame.splice(to..to, part));
            }
            Edit::Insert { at, bytes } => {
                let at = place(*at);
                drop(frame.splice(at..at, bytes.iter().copied()));
            }
        }
    }
}

fuzz_target!(|input: Input| {
    let frame = match &input {
        Input::Bytes(bytes) => bytes.clone(),
        Input::Edited(edits) => {
            let mut frame = FRAME.clone();
            edits.iter().for_each(|edit| edit.apply(&mut frame));
            frame
        }
    };
    if let Some(head) = frame.first_chunk::<HEADER_LEN>()
        && let Ok(header) = Header::from_bytes(head)
    {
        assert_eq!(header.as_bytes(), head);
    }
    let mut written = Vec::new();
    let done =
        Engine::global().decrypt_frame(&KEY, AAD, &Progress::new(), &mut &frame[..], &mut written);
    assert!(MESSAGE.starts_with(&written));
    assert_eq!(done.is_ok(), frame == *FRAME);
    assert!(!matches!(done, Err(Error::Read(_) | Error::Write(_) | Error::Random)));
});
