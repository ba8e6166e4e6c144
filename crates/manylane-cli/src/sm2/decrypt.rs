//! `manylane sm2 decrypt`.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom, Write as _},
};

use clap::ValueEnum;
use manylane::{
    Error,
    sm2::{CiphertextForm, Decryptor, MAX_HEAD_LEN, ReadHead, SecretKey},
};

use super::{
    Stop, Streams,
    cipher::{self, CHUNK, Threads, chunk, each_part, read_full},
    keys,
};
use crate::{
    filter::{Kept, is_text, unreadable_for_people},
    output::{Kind, Output},
    progress::{self, Bytes},
    show::Name,
    source::Reader,
};

/// Decrypt a file
///
/// No byte of the message is released before all of it has been verified: if anything is wrong, be it
/// the key, the form, or one bit of the ciphertext, there is one message and no output. Memory is
/// bounded. A file that is written appears when it is verified; until then it has no name. For a pipe
/// the ciphertext is decrypted twice, to verify it first; it is kept for that in a file without a name
/// in TMPDIR if it comes from a pipe itself (the message never is).
///
/// A new file is its owner's only to read; one that is replaced leaves its permissions.
#[derive(Debug, clap::Args)]
#[command(
    name = "decrypt",
    after_long_help = "\
Examples:
  manylane sm2 decrypt -k key.pem -o secret secret.sm2
  manylane sm2 decrypt -k key.pem --pass prompt dir.tar.sm2 | tar x
  manylane sm2 decrypt -k key.hex --form auto -o secret secret.bin

Exit status:
  0    the message was written
  1    the file could not be read or does not decrypt, or the message was not written
  2    wrong usage, or a key or password that cannot be used"
)]
pub(super) struct Args {
    #[command(flatten)]
    key: keys::KeyArgs,

    /// The ciphertext's form
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Asn1)]
    form: Form,

    /// The byte 04 before C1 is left out, as sm-crypto for JavaScript does
    #[arg(long)]
    no_prefix: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    streams: Streams,
}

/// Forms of ciphertexts, but for the byte 04.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// SM2Cipher of GM/T 0009 in DER, as OpenSSL and GmSSL have it
    Asn1,
    /// C1, C3, C2: the order of GB/T 32918.4-2016
    C1c3c2,
    /// C1, C2, C3: the order of old programs
    C1c2c3,
    /// Whichever decrypts, with or without the byte 04
    Auto,
}

impl Form {
    /// `None` if it is to be found out.
    fn with_prefix(self, prefix: bool) -> Result<Option<CiphertextForm>, Stop> {
        let form = match self {
            Form::Asn1 => cipher::Form::Asn1,
            Form::C1c3c2 => cipher::Form::C1c3c2,
            Form::C1c2c3 => cipher::Form::C1c2c3,
            Form::Auto if !prefix => {
                return Err(Stop::usage("--no-prefix is for --form c1c3c2 and --form c1c2c3"));
            }
            Form::Auto => return Ok(None),
        };
        form.with_prefix(prefix).map(Some)
    }
}

/// `manylane sm2 decrypt`.
pub(super) fn run(args: &Args) -> Result<(), Stop> {
    let form = args.form.with_prefix(!args.no_prefix)?;
    args.streams.input.keep_apart(&args.key.file())?;
    let key = args.key.secret()?;
    let (mut reader, mut output) = args.streams.open(Kind::Private, &args.key.files())?;
    let counts = Bytes::default();
    // Where it has to be read twice, the whole way is not known before the form is.
    let is_one_pass = form.is_some() && output.is_hidden();
    let total = reader.rest().map(|(_, len)| len).filter(|_| is_one_pass);
    progress::during(args.streams.input.progress, &counts, total, || {
        Decryption { args, key: &key, counts: &counts }.run(form, &mut reader, &mut output)
    })?;
    output.finish().map_err(Stop::Write)
}

struct Decryption<'a> {
    args: &'a Args,
    key: &'a SecretKey,
    counts: &'a Bytes,
}

impl Decryption<'_> {
    fn run(
        &self,
        form: Option<CiphertextForm>,
        reader: &mut Reader,
        output: &mut Output,
    ) -> Result<(), Stop> {
        let rest = reader.rest();
        let mut start = vec![0; CHUNK];
        let len = self.read(reader, &mut start)?;
        let forms: Vec<_> = match form {
            Some(form) => vec![form],
            None => CiphertextForm::candidates(&start[..len]).collect(),
        };
        if len < CHUNK {
            let message = forms.iter().find_map(|form| self.key.decrypt(*form, &start[..len]).ok());
            return self.show(&message.ok_or_else(|| self.bad())?, output);
        }
        if output.is_interactive() {
            return Err(unreadable_for_people());
        }
        let ciphertext = Kept::new(&self.args.streams.input, rest, &start, reader)?;
        if let ([form], true) = (&forms[..], output.is_hidden()) {
            return self.pass(&ciphertext, *form, Some(output))?.map_err(|_| self.bad());
        }
        for form in forms {
            if self.pass(&ciphertext, form, None)?.is_ok() {
                return self.pass(&ciphertext, form, Some(output))?.map_err(|_| self.bad());
            }
        }
        Err(self.bad())
    }

    /// Writes a message that is all there.
    fn show(&self, message: &[u8], output: &mut Output) -> Result<(), Stop> {
        if output.is_interactive() && !is_text(message) {
            return Err(unreadable_for_people());
        }
        output.write_all(message).map_err(Stop::Write)
    }

    /// Decrypts all of a ciphertext, whatever it is. What is written to `output` is worth nothing if
    /// that fails.
    fn pass(
        &self,
        ciphertext: &Kept,
        form: CiphertextForm,
        mut output: Option<&mut Output>,
    ) -> Result<Result<(), Error>, Stop> {
        let Some(mut parts) = self.begin(ciphertext, form)? else {
            return Ok(Err(Error::Decryption));
        };
        let Ok(mut decryptor) = Decryptor::new(self.key, &parts.head.c1) else {
            return Ok(Err(Error::Decryption));
        };
        let mut left = parts.c2_len;
        // `None` where there is more of it than there can be, or less than there was.
        let make = |buffer: &mut [u8]| {
            let part = &mut buffer[..left.min(CHUNK as u64) as usize];
            left -= part.len() as u64;
            let read = self.read(&mut parts.file, part).map_err(Some)?;
            match read == part.len() && decryptor.update(part).is_ok() {
                true => Ok(read),
                false => Err(None),
            }
        };
        let threads = if output.is_some() { &self.args.threads } else { &Threads::ONE };
        let done = each_part(threads, chunk(), make, |part| {
            if let Some(output) = &mut output {
                output.write_all(part).map_err(|error| Some(Stop::Write(error)))?;
            }
            self.counts.add(part.len());
            Ok(())
        });
        match done {
            Ok(()) => {}
            Err(None) => return Ok(Err(Error::Decryption)),
            Err(Some(stop)) => return Err(stop),
        }
        let mut c3 = parts.head.c3.unwrap_or_default();
        if parts.head.c3.is_none() && self.read(&mut parts.file, &mut c3)? < c3.len() {
            return Ok(Err(Error::Decryption));
        }
        Ok(decryptor.finalize(&c3))
    }

    /// Finds C2; `None` if there is none.
    fn begin<'a>(
        &self,
        ciphertext: &'a Kept,
        form: CiphertextForm,
    ) -> Result<Option<Parts<'a>>, Stop> {
        let mut file = &ciphertext.file;
        let mut start = [0; MAX_HEAD_LEN];
        self.seek(file, ciphertext.start)?;
        let len = self.read(&mut file, &mut start)?;
        let Ok(head) = form.read_head(&start[..len]) else { return Ok(None) };
        let behind = if head.c3.is_none() { 32 } else { 0 };
        let Some(c2_len) = ciphertext.len.checked_sub(head.len as u64 + behind) else {
            return Ok(None);
        };
        if head.c2_len.is_some_and(|len| len != c2_len) {
            return Ok(None);
        }
        self.seek(file, ciphertext.start + head.len as u64)?;
        Ok(Some(Parts { head, c2_len, file }))
    }

    fn seek(&self, mut file: &File, to: u64) -> Result<(), Stop> {
        file.seek(SeekFrom::Start(to)).map(drop).map_err(|error| self.unreadable(&error))
    }

    fn read(&self, reader: &mut dyn io::Read, buffer: &mut [u8]) -> Result<usize, Stop> {
        read_full(reader, buffer).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &io::Error) -> Stop {
        self.args.streams.input.unreadable(error)
    }

    /// The one thing that is said of a ciphertext that does not decrypt.
    fn bad(&self) -> Stop {
        Stop::Failed(format!("{}: {}", Name(&self.args.streams.input.file), Error::Decryption))
    }
}

/// A ciphertext whose C2 is to be read next.
struct Parts<'a> {
    head: ReadHead,
    c2_len: u64,
    file: &'a File,
}
