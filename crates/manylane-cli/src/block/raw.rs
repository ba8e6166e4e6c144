//! Ciphertexts as other programs write and read them.

use std::io::{Read, Write};

use manylane::{
    Error,
    block::{Block, Ctr128, Ofb, Xts, any::AnyCipher, cbc, cfb, ecb, pkcs7, xts::MAX_UNIT_LEN},
};
use manylane_engine::{Piece, PipeError};

use super::{Direction, Job, Plan, Raw, Screen, authenticated};
use crate::{
    filter::{Stop, unreadable_for_people},
    output::Output,
    source::Reader,
};

/// Bytes that are read and computed at a time.
pub(super) const PIECE: usize = 1 << 20;

/// Encrypts or decrypts by the plan, which is none of chunks.
pub(super) fn run(
    job: &Job,
    plan: &Plan,
    key: &[u8],
    aad: &[u8],
    reader: &mut Reader,
    output: &mut Output,
) -> Result<(), Stop> {
    match plan {
        Plan::Frame => unreachable!("chunks are the engine's"),
        Plan::Gcm(iv) => authenticated::gcm(job, new(job, key)?, (iv, aad), reader, output),
        Plan::Ccm(nonce) => authenticated::ccm(job, new(job, key)?, (nonce, aad), reader, output),
        Plan::Raw(raw) if job.direction == Direction::Decrypt && output.is_interactive() => {
            let mut screen = Screen::new();
            let pipes = Pipes { job, reader, writer: &mut screen };
            match pipes.run(raw, key) {
                Err(Stop::Write(_)) => Err(unreadable_for_people()),
                done => done.and_then(|()| screen.show(output)),
            }
        }
        Plan::Raw(raw) => Pipes { job, reader, writer: output }.run(raw, key),
    }
}

fn new(job: &Job, key: &[u8]) -> Result<AnyCipher, Stop> {
    let cipher = job.family.cipher(key.len()).and_then(|cipher| AnyCipher::new(cipher, key));
    cipher.map_err(Stop::usage)
}

/// What ended a stream early, of an input that is read as it comes.
pub(super) fn stop(job: &Job, error: PipeError<Error>) -> Stop {
    let input = &job.options.streams.input;
    match error {
        PipeError::Read(error) => input.unreadable(&error),
        PipeError::Compute(error) => input.failed(error),
        PipeError::Write(error) => Stop::Write(error),
    }
}

/// Where the bytes come from and go to.
struct Pipes<'a, R, W> {
    job: &'a Job<'a>,
    reader: &'a mut R,
    writer: &'a mut W,
}

impl<R: Read + Send, W: Write + Send> Pipes<'_, R, W> {
    fn run(self, raw: &Raw, key: &[u8]) -> Result<(), Stop> {
        if let Raw::Xts { first, order, sector } = *raw {
            let cipher = self.job.family.cipher(key.len() / 2);
            let xts = cipher.and_then(|cipher| AnyCipher::xts(cipher, key, order));
            let xts = xts.map_err(Stop::usage)?;
            return self.xts(&xts, first, sector);
        }
        let cipher = new(self.job, key)?;
        match (raw, self.job.direction) {
            (Raw::Ctr(iv), _) => self.ctr(cipher, iv),
            (Raw::Ofb(iv), _) => {
                let mut ofb = Ofb::new(cipher, iv);
                self.in_order(|piece| {
                    ofb.update(&mut piece.data);
                    Ok(())
                })
            }
            (Raw::Cfb(iv), Direction::Encrypt) => {
                let mut cfb = cfb::Encryptor::new(cipher, iv);
                self.in_order(|piece| {
                    cfb.update(&mut piece.data);
                    Ok(())
                })
            }
            (Raw::Cfb(iv), Direction::Decrypt) => self.chained(iv, |piece, iv| {
                cfb::Decryptor::new(cipher.clone(), &iv).update(&mut piece.data);
                Ok(())
            }),
            (Raw::Cbc { iv, padding }, Direction::Encrypt) => {
                let mut cbc = cbc::Encryptor::new(cipher, iv);
                self.in_order(|piece| {
                    pad(piece, *padding);
                    cbc.update(&mut piece.data)
                })
            }
            (Raw::Cbc { iv, padding }, Direction::Decrypt) => self.chained(iv, |piece, iv| {
                let mut cbc = cbc::Decryptor::new(cipher.clone(), &iv);
                match piece.is_last && *padding {
                    true => unpad(piece, |data| pkcs7::decrypt_in_place(cbc, data)),
                    false => cbc.update(&mut piece.data),
                }
            }),
            (Raw::Ecb { padding }, Direction::Encrypt) => self.apart(|piece| {
                pad(piece, *padding);
                ecb::Encryptor::new(cipher.clone()).update(&mut piece.data)
            }),
            (Raw::Ecb { padding }, Direction::Decrypt) => self.apart(|piece| {
                let mut ecb = ecb::Decryptor::new(cipher.clone());
                match piece.is_last && *padding {
                    true => unpad(piece, |data| pkcs7::decrypt_in_place(ecb, data)),
                    false => ecb.update(&mut piece.data),
                }
            }),
            (Raw::Xts { .. }, _) => unreachable!("its key is a pair"),
        }
    }

    fn ctr(self, cipher: AnyCipher, first: &Block) -> Result<(), Stop> {
        let ctr = Ctr128::new(cipher, first);
        self.apart(|piece| ctr.xor(piece.index * PIECE as u64, &mut piece.data))
    }

    fn xts(self, xts: &Xts<AnyCipher>, first: u128, sector: Option<usize>) -> Result<(), Stop> {
        let direction = self.job.direction;
        let unit = sector.unwrap_or(MAX_UNIT_LEN);
        // Whole data units, some of them or one.
        let units = (PIECE / unit).max(1);
        let crypt = |piece: &mut Piece, ()| {
            if piece.data.is_empty() {
                // An empty file is no data unit.
                return Ok(());
            }
            if sector.is_none() && !piece.is_last {
                return Err(Error::DataLength(
                    "longer than 2^20 blocks, as much as XTS takes in one data unit: --sector \
                     cuts it into many",
                ));
            }
            let first = first.wrapping_add(u128::from(piece.index) * units as u128);
            // A file is one data unit as a whole, if it is not to be cut into some.
            let unit = if sector.is_none() { piece.data.len() } else { unit };
            match direction {
                Direction::Encrypt => xts.encrypt_units(first, unit, &mut piece.data),
                Direction::Decrypt => xts.decrypt_units(first, unit, &mut piece.data),
            }
        };
        self.pipe(units * unit, |_| Ok(()), crypt)
    }

    /// Pieces that need the last block of ciphertext before them.
    fn chained(
        self,
        iv: &Block,
        apart: impl Fn(&mut Piece, Block) -> Result<(), Error> + Sync,
    ) -> Result<(), Stop> {
        let mut iv = *iv;
        let in_order = |piece: &mut Piece| {
            // Of the last piece, nobody needs it.
            let next = piece.data.last_chunk().copied().unwrap_or_default();
            Ok(std::mem::replace(&mut iv, next))
        };
        self.pipe(PIECE, in_order, apart)
    }

    /// Pieces of which each needs those before it.
    fn in_order(
        self,
        in_order: impl FnMut(&mut Piece) -> Result<(), Error> + Send,
    ) -> Result<(), Stop> {
        self.pipe(PIECE, in_order, |_, ()| Ok(()))
    }

    /// Pieces that stand by themselves.
    fn apart(self, apart: impl Fn(&mut Piece) -> Result<(), Error> + Sync) -> Result<(), Stop> {
        self.pipe(PIECE, |_| Ok(()), |piece, ()| apart(piece))
    }

    fn pipe<X>(
        self,
        piece_len: usize,
        in_order: impl FnMut(&mut Piece) -> Result<X, Error> + Send,
        apart: impl Fn(&mut Piece, X) -> Result<(), Error> + Sync,
    ) -> Result<(), Stop> {
        let Pipes { job, reader, writer } = self;
        let piped = job.engine.pipe(piece_len, &job.progress, reader, writer, in_order, apart);
        piped.map_err(|error| stop(job, error))
    }
}

/// Fills up the end of the message (RFC 5652, clause 6.3).
fn pad(piece: &mut Piece, padding: bool) {
    if piece.is_last && padding {
        let n = 16 - piece.data.len() % 16;
        let len = piece.data.len() + n;
        piece.data.resize(len, n as u8);
    }
}

/// Decrypts the end of the message, and leaves its padding away.
fn unpad(
    piece: &mut Piece,
    decrypt: impl FnOnce(&mut [u8]) -> Result<&mut [u8], Error>,
) -> Result<(), Error> {
    let len = decrypt(&mut piece.data)?.len();
    piece.data.truncate(len);
    Ok(())
}
