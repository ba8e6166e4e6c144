//! `manylane sm2 encrypt`.

use std::{
    io::{self, Read, Seek as _, Write},
    path::PathBuf,
};

use clap::ValueHint;
use manylane::sm2::{CiphertextForm, Encryptor, PublicKey};

use super::{
    Stop, Streams,
    cipher::{self, CHUNK, Form, Threads, chunk, each_part, read_full},
    keys, refuse_terminal,
};
use crate::{
    output::{Kind, Output},
    progress::{self, Bytes},
    source::Reader,
};

/// Encrypt a file to a public key
///
/// Messages of up to 128 GiB are encrypted in bounded memory. C3, which stands before the message in
/// most forms, is known only at the end: in a file it is put in its place then; for a pipe the
/// ciphertext is kept meanwhile in a file without a name in TMPDIR (the message itself never is). An
/// empty message cannot be encrypted.
///
/// GmSSL decrypts messages of at most 255 bytes; OpenSSL any that it can keep in memory.
#[derive(Debug, clap::Args)]
#[command(
    name = "encrypt",
    after_long_help = "\
Examples:
  manylane sm2 encrypt -k pub.pem -o secret.sm2 secret
  tar c dir | manylane sm2 encrypt -k cert.pem > dir.tar.sm2
  manylane sm2 encrypt -k pub.hex --form c1c3c2 --no-prefix -o secret.bin secret   for sm-crypto

Exit status:
  0    the ciphertext was written
  1    the file was empty or could not be read, or the ciphertext not written
  2    wrong usage, or a key that cannot be used"
)]
pub(super) struct Args {
    /// The file of the recipient's public key or certificate (of which nothing is verified)
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    key: PathBuf,

    /// The ciphertext's form
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Asn1)]
    form: Form,

    /// Leave out the byte 04 before C1, as sm-crypto for JavaScript does
    #[arg(long)]
    no_prefix: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    streams: Streams,
}

/// `manylane sm2 encrypt`.
pub(super) fn run(args: &Args) -> Result<(), Stop> {
    let form = args.form.with_prefix(!args.no_prefix)?;
    let beside = [("the key", &*args.key)];
    args.streams.input.keep_apart(&beside)?;
    let key = keys::public_key(&args.key)?;
    let (mut reader, mut output) = args.streams.open(Kind::Ordinary, &beside)?;
    refuse_terminal(&output)?;
    let counts = Bytes::default();
    let total = reader.rest().map(|(_, len)| len);
    progress::during(args.streams.input.progress, &counts, total, || {
        let encryption = Encryption { args, form, counts: &counts };
        encryption.run(&key, &mut reader, &mut output)
    })?;
    output.finish().map_err(Stop::Write)
}

struct Encryption<'a> {
    args: &'a Args,
    form: CiphertextForm,
    counts: &'a Bytes,
}

impl Encryption<'_> {
    fn run(&self, key: &PublicKey, reader: &mut Reader, output: &mut Output) -> Result<(), Stop> {
        // Files that the kernel makes up have any length.
        let expected = reader.rest().map(|(_, len)| len).filter(|len| *len >= CHUNK as u64);
        let mut buffer = chunk();
        let len = self.read(reader, &mut buffer)?;
        if len < CHUNK {
            // All of it.
            let ciphertext = key.encrypt(self.form, &buffer[..len]).map_err(Stop::failed)?;
            return output.write_all(&ciphertext).map_err(Stop::Write);
        }
        let encryptor = Encryptor::new(key, &buffer).map_err(Stop::failed)?;
        let c1 = *encryptor.c1();
        // Only the length of C2 in ASN.1 may not be known yet, nor whether it will be right.
        let is_sized = self.form != CiphertextForm::Asn1 || expected.is_some();
        let head = self.form.head(&c1, expected.unwrap_or(1)).map_err(Stop::failed)?;
        let is_behind = head.c3_offset().is_none();
        if is_behind || is_sized && output.can_patch() {
            output.write_all(head.as_bytes()).map_err(Stop::Write)?;
            let (len, c3) = self.stream(encryptor, buffer, reader, output, Stop::Write)?;
            if is_behind {
                return output.write_all(&c3).map_err(Stop::Write);
            }
            let mut now = self.form.head(&c1, len).map_err(Stop::failed)?;
            if now.as_bytes().len() != head.as_bytes().len() {
                let changed = io::Error::other("changed while it was read");
                return Err(self.args.streams.input.unreadable(&changed));
            }
            now.set_c3(&c3);
            return output.patch(now.as_bytes()).map_err(Stop::Write);
        }
        let mut spool = cipher::spool()?;
        let failed = |error: io::Error| cipher::spooling(&error);
        let (len, c3) = self.stream(encryptor, buffer, reader, &mut spool, failed)?;
        let mut head = self.form.head(&c1, len).map_err(Stop::failed)?;
        head.set_c3(&c3);
        output.write_all(head.as_bytes()).map_err(Stop::Write)?;
        spool.rewind().map_err(failed)?;
        copy(&mut spool, output)
    }

    /// Encrypts what is in the buffer, which is full, and what follows it: the length of all, and C3.
    fn stream(
        &self,
        mut encryptor: Encryptor,
        first: zeroize::Zeroizing<Vec<u8>>,
        reader: &mut Reader,
        to: &mut (dyn Write + Send),
        failed: fn(io::Error) -> Stop,
    ) -> Result<(u64, [u8; 32]), Stop> {
        let mut total = 0;
        let make = |buffer: &mut [u8]| {
            let len = if total == 0 { buffer.len() } else { self.read(reader, buffer)? };
            encryptor.update(&mut buffer[..len]).map_err(Stop::failed)?;
            total += len as u64;
            Ok(len)
        };
        each_part(&self.args.threads, first, make, |part| {
            to.write_all(part).map_err(failed)?;
            self.counts.add(part.len());
            Ok(())
        })?;
        Ok((total, encryptor.finalize().map_err(Stop::failed)?))
    }

    fn read(&self, reader: &mut Reader, buffer: &mut [u8]) -> Result<usize, Stop> {
        read_full(reader, buffer).map_err(|error| self.args.streams.input.unreadable(&error))
    }
}

/// Copies a ciphertext to its end.
fn copy(spool: &mut dyn Read, output: &mut Output) -> Result<(), Stop> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = read_full(spool, &mut buffer).map_err(|error| cipher::spooling(&error))?;
        if len == 0 {
            return Ok(());
        }
        output.write_all(&buffer[..len]).map_err(Stop::Write)?;
    }
}
