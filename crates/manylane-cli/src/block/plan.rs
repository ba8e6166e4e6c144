//! What the options ask for, checked.

use manylane::{
    Error,
    block::{Block, TweakOrder, any::Algorithm, xts::MAX_UNIT_LEN},
};

use super::{Direction, Family, Mode, Options, Xts, key::Iv};
use crate::filter::Stop;

/// What is to be written or read.
#[derive(Debug)]
pub(super) enum Plan {
    /// Chunks under a key of their own.
    Frame,
    /// Ciphertext and tag.
    Gcm(Vec<u8>),
    /// Ciphertext and tag.
    Ccm(Vec<u8>),
    /// What nothing authenticates.
    Raw(Raw),
}

/// Modes that do not authenticate.
#[derive(Debug)]
pub(super) enum Raw {
    Ctr(Block),
    Cbc { iv: Block, padding: bool },
    Ecb { padding: bool },
    Cfb(Block),
    Ofb(Block),
    Xts { first: u128, order: TweakOrder, sector: Option<usize> },
}

impl Family {
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::Aes => "AES",
            Family::Sm4 => "SM4",
        }
    }

    /// The cipher with keys of that many bytes.
    pub(super) fn cipher(self, key_len: usize) -> Result<Algorithm, Error> {
        match self {
            Family::Aes => Algorithm::aes(key_len),
            Family::Sm4 => Ok(Algorithm::Sm4),
        }
    }
}

impl Plan {
    pub(super) fn of(family: Family, options: &Options) -> Result<Self, Stop> {
        let Options { mode, iv, .. } = options;
        let padding = !options.no_padding;
        refuse(options.xts.is_some() && *mode != Mode::Xts, "--xts is for -m xts")?;
        refuse(options.sector.is_some() && *mode != Mode::Xts, "--sector is for -m xts")?;
        refuse(
            !padding && !matches!(mode, Mode::Cbc | Mode::Ecb),
            "--no-padding is for -m cbc and -m ecb",
        )?;
        refuse(
            options.aad.is_some() && !matches!(mode, Mode::Gcm | Mode::Ccm),
            "--aad is for -m gcm and -m ccm: the other modes do not authenticate",
        )?;
        let iv = match (mode, iv) {
            (Mode::Gcm, None) => return Ok(Plan::Frame),
            (Mode::Ecb, None) => return Ok(Plan::Raw(Raw::Ecb { padding })),
            (Mode::Ecb, Some(_)) => return Err(Stop::usage("ECB has no IV")),
            (_, None) => return Err(Stop::usage("this mode needs --iv")),
            (Mode::Gcm, Some(Iv(iv))) => return Ok(Plan::Gcm(iv.clone())),
            (Mode::Ccm, Some(Iv(iv))) if (7..=13).contains(&iv.len()) => {
                return Ok(Plan::Ccm(iv.clone()));
            }
            (Mode::Ccm, Some(_)) => return Err(Stop::usage("--iv: CCM has 7 to 13 bytes")),
            (_, Some(Iv(iv))) => Block::try_from(&iv[..]),
        };
        let iv = iv.map_err(|_| Stop::usage("--iv: this mode has 16 bytes, 32 digits"))?;
        Ok(Plan::Raw(match mode {
            Mode::Ctr => Raw::Ctr(iv),
            Mode::Cbc => Raw::Cbc { iv, padding },
            Mode::Cfb => Raw::Cfb(iv),
            Mode::Ofb => Raw::Ofb(iv),
            Mode::Xts => xts(family, options, iv)?,
            Mode::Gcm | Mode::Ccm | Mode::Ecb => unreachable!("they are plans already"),
        }))
    }

    /// Bytes that a key may have.
    pub(super) fn key_lens(&self, family: Family) -> &'static [usize] {
        match (family, self) {
            // The standards have no XTS with AES-192.
            (Family::Aes, Plan::Raw(Raw::Xts { .. })) => &[32, 64],
            (Family::Aes, _) => &[16, 24, 32],
            (Family::Sm4, Plan::Raw(Raw::Xts { .. })) => &[32],
            (Family::Sm4, _) => &[16],
        }
    }

    /// Whether one tag authenticates all.
    pub(super) fn has_one_tag(&self) -> bool {
        matches!(self, Plan::Gcm(_) | Plan::Ccm(_))
    }

    /// Whether one thread at a time computes: each part needs the one before, or there is one only.
    pub(super) fn is_serial(&self, direction: Direction) -> bool {
        match self {
            Plan::Frame | Plan::Raw(Raw::Ctr(_) | Raw::Ecb { .. }) => false,
            Plan::Gcm(_) | Plan::Ccm(_) | Plan::Raw(Raw::Ofb(_)) => true,
            Plan::Raw(Raw::Cbc { .. } | Raw::Cfb(_)) => direction == Direction::Encrypt,
            Plan::Raw(Raw::Xts { sector, .. }) => sector.is_none(),
        }
    }

    /// What its user should know.
    pub(super) fn warning(&self) -> Option<&'static str> {
        match self {
            Plan::Frame | Plan::Gcm(_) | Plan::Ccm(_) => None,
            Plan::Raw(Raw::Ecb { .. }) => Some(
                "unauthenticated, and ECB shows which blocks of a file are equal: \
                 without -m and --iv the file would be authenticated",
            ),
            Plan::Raw(_) => Some(
                "unauthenticated: nobody can tell whether the encrypted file was altered; \
                 without -m and --iv the file would be authenticated",
            ),
        }
    }
}

fn xts(family: Family, options: &Options, iv: Block) -> Result<Raw, Stop> {
    let order = match (family, options.xts) {
        (_, Some(Xts::Ieee)) | (Family::Aes, None) => TweakOrder::Ieee,
        (Family::Sm4, Some(Xts::Gb)) => TweakOrder::Gb,
        (Family::Sm4, None) => {
            return Err(Stop::usage(
                "SM4 has two kinds of XTS: --xts gb (GB/T 17964-2021) or --xts ieee",
            ));
        }
        (Family::Aes, Some(Xts::Gb)) => {
            return Err(Stop::usage("AES has the XTS of IEEE 1619: --xts gb is for SM4"));
        }
    };
    let sector = options.sector;
    refuse(
        sector.is_some_and(|sector| !(16..=MAX_UNIT_LEN).contains(&sector)),
        "--sector: a data unit has 16 to 16777216 bytes",
    )?;
    Ok(Raw::Xts { first: u128::from_le_bytes(iv), order, sector })
}

fn refuse(is_wrong: bool, why: &str) -> Result<(), Stop> {
    if is_wrong { Err(Stop::usage(why)) } else { Ok(()) }
}
