//! GCM and CCM as other programs write and read them: the ciphertext, and a tag of sixteen bytes.

use std::{
    io::{self, Read, Write},
    sync::atomic::Ordering::Relaxed,
};

use manylane::{
    Error,
    block::{BlockCipher, Ccm, Gcm, any::AnyCipher, ccm, gcm},
};
use manylane_engine::{Piece, PipeError};

use super::{
    Direction, Job, Screen,
    raw::{PIECE, stop},
};
use crate::{
    filter::{Kept, Stop, read_full, read_start, unreadable_for_people},
    output::Output,
    source::Reader,
};

/// Bytes of a tag.
const TAG_LEN: usize = 16;

/// Bytes of a message that CCM finds the length of by reading all of it.
const MOST_KEPT: usize = 16 << 20;

/// IV or nonce, and associated data.
type IvAndAad<'a> = (&'a [u8], &'a [u8]);

/// A message that is decrypted, part after part.
trait Decrypts: Send {
    fn update(&mut self, data: &mut [u8]) -> Result<(), Error>;
    fn finalize(self, tag: &[u8]) -> Result<(), Error>;
}

impl<C: BlockCipher> Decrypts for gcm::Decryptor<'_, C> {
    fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.update(data)
    }

    fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.finalize(tag)
    }
}

impl<C: BlockCipher> Decrypts for ccm::Decryptor<'_, C> {
    fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.update(data)
    }

    fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.finalize(tag)
    }
}

/// The same without decrypting, which GCM needs not for that.
impl<C: BlockCipher> Decrypts for gcm::Verifier<'_, C> {
    fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        gcm::Verifier::update(self, data)
    }

    fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.finalize(tag)
    }
}

pub(super) fn gcm(
    job: &Job,
    cipher: AnyCipher,
    (iv, aad): IvAndAad,
    reader: &mut Reader,
    output: &mut Output,
) -> Result<(), Stop> {
    let gcm = Gcm::new(cipher);
    if job.direction == Direction::Decrypt {
        let ciphertext = Ciphertext::of(job, reader)?;
        if !output.is_hidden() {
            let verifier = gcm.verifier(iv, aad).map_err(Stop::usage)?;
            ciphertext.verify(verifier)?;
        }
        let decryptor = gcm.decryptor(iv, aad).map_err(Stop::usage)?;
        return ciphertext.write(decryptor, output);
    }
    let input = &job.options.streams.input;
    if reader.rest().is_some_and(|(_, len)| len > gcm::MAX_MESSAGE_LEN) {
        return Err(
            input.failed("GCM takes at most 64 GiB under one IV; without --iv there is no limit")
        );
    }
    let mut encryptor = Some(gcm.encryptor(iv, aad).map_err(Stop::usage)?);
    let encrypt = |piece: &mut Piece| {
        if let Some(encryptor) = &mut encryptor {
            encryptor.update(&mut piece.data)?;
        }
        if let Some(encryptor) = encryptor.take_if(|_| piece.is_last) {
            piece.data.extend_from_slice(encryptor.finalize().as_ref());
        }
        Ok(())
    };
    let done = job.engine.pipe(PIECE, &job.progress, reader, output, encrypt, |_, ()| Ok(()));
    done.map_err(|error| stop(job, error))
}

pub(super) fn ccm(
    job: &Job,
    cipher: AnyCipher,
    (nonce, aad): IvAndAad,
    reader: &mut Reader,
    output: &mut Output,
) -> Result<(), Stop> {
    let ccm = Ccm::new(cipher);
    if job.direction == Direction::Decrypt {
        let ciphertext = Ciphertext::of(job, reader)?;
        let decryptor = || {
            let decryptor = ccm.decryptor(nonce, aad, ciphertext.len);
            decryptor.map_err(|error| job.options.streams.input.failed(error))
        };
        if !output.is_hidden() {
            ciphertext.verify(decryptor()?)?;
        }
        return ciphertext.write(decryptor()?, output);
    }
    let input = &job.options.streams.input;
    // Files that the kernel makes up have any length, so one is believed only if there is much of it.
    let rest = reader.rest().map(|(_, len)| len);
    let start = read_start(reader, MOST_KEPT).map_err(|error| input.unreadable(&error))?;
    let len = match rest {
        _ if start.len() < MOST_KEPT => start.len() as u64,
        Some(len) if len >= MOST_KEPT as u64 => len,
        _ => {
            return Err(input.failed(
                "CCM must know the length before it begins: of a pipe, up to 16 MiB are kept for that",
            ));
        }
    };
    let encryptor = ccm.encryptor(nonce, aad, len).map_err(|error| input.failed(error))?;
    let mut encryptor = Some(encryptor);
    let encrypt = |piece: &mut Piece| {
        if let Some(encryptor) = &mut encryptor {
            encryptor.update(&mut piece.data)?;
        }
        if let Some(encryptor) = encryptor.take_if(|_| piece.is_last) {
            piece.data.extend_from_slice(encryptor.finalize()?.as_ref());
        }
        Ok(())
    };
    let mut message = start.chain(reader);
    let done = job.engine.pipe(PIECE, &job.progress, &mut message, output, encrypt, |_, ()| Ok(()));
    done.map_err(|error| stop(job, error))
}

/// A ciphertext that can be read twice.
struct Ciphertext<'a> {
    job: &'a Job<'a>,
    kept: Kept,
    /// Bytes of the message.
    len: u64,
    tag: [u8; TAG_LEN],
}

impl<'a> Ciphertext<'a> {
    fn of(job: &'a Job<'a>, reader: &mut Reader) -> Result<Self, Stop> {
        let input = &job.options.streams.input;
        let rest = reader.rest();
        let mut start = vec![0; PIECE];
        let read = read_full(reader, &mut start).map_err(|error| input.unreadable(&error))?;
        let kept = Kept::new(input, rest, &start[..read], reader)?;
        let mut tag = [0; TAG_LEN];
        let len = kept.len.checked_sub(TAG_LEN as u64);
        let len = len.ok_or_else(|| input.failed(Error::Decryption))?;
        kept.read_at(len, &mut tag).map_err(|error| input.unreadable(&error))?;
        job.progress.add_bytes(TAG_LEN as u64);
        Ok(Ciphertext { job, kept, len, tag })
    }

    /// Reads it a first time.
    fn verify(&self, decrypts: impl Decrypts) -> Result<(), Stop> {
        self.pass(decrypts, &mut io::sink())?;
        self.job.verified.store(self.len, Relaxed);
        Ok(())
    }

    /// Decrypts to the output.
    fn write(&self, decrypts: impl Decrypts, output: &mut Output) -> Result<(), Stop> {
        if !output.is_interactive() {
            return self.pass(decrypts, output);
        }
        let mut screen = Screen::new();
        match self.pass(decrypts, &mut screen) {
            Err(Stop::Write(_)) => Err(unreadable_for_people()),
            done => done.and_then(|()| screen.show(output)),
        }
    }

    /// Does with all of it what is to be done. What is written is worth nothing if that fails.
    fn pass(&self, decrypts: impl Decrypts, writer: &mut (impl Write + Send)) -> Result<(), Stop> {
        let Job { options, engine, progress, .. } = self.job;
        let input = &options.streams.input;
        let mut decrypts = Some(decrypts);
        let mut left = self.len;
        let in_order = |piece: &mut Piece| {
            left -= piece.data.len() as u64;
            if let Some(decrypts) = &mut decrypts {
                decrypts.update(&mut piece.data)?;
            }
            match decrypts.take_if(|_| piece.is_last) {
                // The file became shorter meanwhile.
                Some(_) if left > 0 => Err(Error::Decryption),
                Some(decrypts) => decrypts.finalize(&self.tag),
                None => Ok(()),
            }
        };
        let file = self.kept.at(0).map_err(|error| input.unreadable(&error))?;
        let mut message = file.take(self.len);
        let done = engine.pipe(PIECE, progress, &mut message, writer, in_order, |_, ()| Ok(()));
        done.map_err(|error| match error {
            PipeError::Compute(_) => input.failed(Error::Decryption),
            error => stop(self.job, error),
        })
    }
}
