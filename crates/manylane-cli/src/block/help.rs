//! What the help says of the verbs.

pub(super) const ENCRYPT: &str = "Encrypt a file";

pub(super) const ENCRYPT_LONG: &str = "\
Encrypt a file

Without --iv, the file is encrypted with GCM in chunks, under a key of its own that is derived from \
yours and from 256 random bits. So there is no IV to choose, one key does for any number of files (of up \
to 256 TiB, better not more), and whatever is altered, cut off, added or put in another place is found when it is decrypted, and so \
is a wrong key. The documentation of the Rust module manylane_engine::frame has the format byte by byte.

With --iv (or -m ecb), what comes out is raw, for other programs: for gcm and ccm the ciphertext and a tag of \
16 bytes, else the ciphertext alone, as `openssl enc -K … -iv … -nosalt` writes it. Only gcm and ccm find out \
when it is decrypted whether it was altered. They are computed by one thread, as are cbc, cfb and ofb; ctr, ecb and xts with \
--sector by all.

Files are encrypted on the CPU: where there is a GPU, the bus to it (measured: 44 GB/s in both directions at once) is slower \
than the cores beside it (AES with VAES 22 GB/s each, SM4 with GFNI 3.6).";

pub(super) const DECRYPT: &str = "Decrypt a file";

pub(super) const DECRYPT_LONG: &str = "\
Decrypt a file

What `encrypt` has written is decrypted with the same options. A file that is written with -o appears when all of it has \
been verified, or not at all; a new one is its owner's only to read, and one that is replaced leaves its permissions.

To a pipe, a file that was encrypted without --iv goes chunk by chunk (1 MiB), each after it was verified. Should the end be \
missing, its beginning has been written by the time that is known, and the exit status is 1: whoever reads the pipe must \
look at that. Raw gcm and ccm have one tag for all: the file is read twice, verified the first time and written the \
second; if it comes from a pipe itself, it is kept for that, encrypted, in a file without a name in TMPDIR. The other modes \
do not authenticate: what they write may be anything.";

macro_rules! exit_status {
    ($examples:literal, $ok:literal, $failed:literal) => {
        concat!(
            "Examples:\n",
            $examples,
            "\nExit status:\n  0    ",
            $ok,
            "\n  1    ",
            $failed,
            "\n  2    wrong usage, a key or --aad that cannot be used, or an output that cannot be made"
        )
    };
}

macro_rules! encrypted {
    ($examples:literal) => {
        exit_status!(
            $examples,
            "the file was encrypted",
            "the file could not be read, or the result or the line of --json not written"
        )
    };
}

macro_rules! decrypted {
    ($examples:literal) => {
        exit_status!(
            $examples,
            "the file was decrypted",
            "the file could not be read or verified, or the result or the line of --json not written"
        )
    };
}

pub(super) const AES_ENCRYPT: &str = encrypted!(
    "  openssl rand -hex -out key 32                                    a key for AES-256
  manylane aes encrypt --key-file key -o disk.img.mlf disk.img
  tar c dir | manylane aes encrypt --key-file key > dir.tar.mlf
  manylane aes encrypt -m ctr --iv 000102030405060708090a0b0c0d0e0f --key-file key -o raw plain
"
);

pub(super) const AES_DECRYPT: &str = decrypted!(
    "  manylane aes decrypt --key-file key -o disk.img disk.img.mlf
  manylane aes decrypt --key-file key dir.tar.mlf | tar x
  manylane aes decrypt -m cbc --iv 000102030405060708090a0b0c0d0e0f --key-file key -o plain raw
"
);

pub(super) const SM4_ENCRYPT: &str = encrypted!(
    "  openssl rand -hex -out key 16
  manylane sm4 encrypt --key-file key -o disk.img.mlf disk.img
  tar c dir | manylane sm4 encrypt --key-file key > dir.tar.mlf
  manylane sm4 encrypt -m xts --xts gb --sector 4096 --iv 00000000000000000000000000000000 \\
      --key-file keys -o disk.xts disk.img
"
);

pub(super) const SM4_DECRYPT: &str = decrypted!(
    "  manylane sm4 decrypt --key-file key -o disk.img disk.img.mlf
  manylane sm4 decrypt --key-file key dir.tar.mlf | tar x
  manylane sm4 decrypt -m cbc --iv 000102030405060708090a0b0c0d0e0f --key-file key -o plain raw
"
);
