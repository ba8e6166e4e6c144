//! `manylane sm2 sign` and `verify`.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{Read as _, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use clap::{
    ValueEnum, ValueHint,
    builder::{OsStringValueParser, TypedValueParser},
};
use manylane::{
    Error,
    sm2::{DEFAULT_ID, Signature, Signer, Verifier},
    sm3::{Digest as _, Sm3},
};
use manylane_cli::lines::hex_value;

use super::{Operand, Stop, Streams, cipher::read_full, keys, refuse_terminal};
use crate::{
    output::Kind,
    progress::{self, Bytes},
    show::{Name, Reason},
    source::Reader,
};

/// Sign a file
///
/// The file is read once and never kept in memory. Every signature is verified before it is written.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  manylane sm2 sign -k key.pem -o file.sig file
  manylane sm2 sign -k key.pem --id alice@example.com -o file.sig file
  manylane sm2 sign -k key.pem --id '' -o file.sig file   as OpenSSL 3.0 does unless told the ID

Exit status:
  0    the signature was written
  1    the file could not be read, or the signature not written
  2    wrong usage, or a key or password that cannot be used")]
pub(super) struct SignArgs {
    #[command(flatten)]
    key: keys::KeyArgs,

    #[command(flatten)]
    what: What,

    #[command(flatten)]
    streams: Streams,
}

/// Verify the signature of a file
///
/// Nothing is written if the signature is valid: the exit status says so.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  manylane sm2 verify -k pub.pem -s file.sig file
  manylane sm2 verify -k cert.pem --id alice@example.com -s file.sig file

Exit status:
  0    the signature is valid
  1    it is not, or it or the file could not be read
  2    wrong usage, or a key that cannot be used")]
pub(super) struct VerifyArgs {
    /// The file of the signer's public key or certificate (of which nothing is verified)
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    key: PathBuf,

    /// The signature's file
    #[arg(short, long, value_name = "SIG", value_hint = ValueHint::FilePath)]
    signature: PathBuf,

    #[command(flatten)]
    what: What,

    #[command(flatten)]
    input: Operand,
}

/// What is signed, by whom, and how that is written.
#[derive(Debug, clap::Args)]
struct What {
    /// The signer's ID [default: 1234567812345678]
    ///
    /// Both sides have to use the same. OpenSSL 3.0 uses the empty one unless it is told another; its
    /// option is -pkeyopt distid:ID.
    #[arg(long, value_name = "STR", conflicts_with_all = ["id_hex", "digest"])]
    id: Option<OsString>,

    /// The same as hexadecimal digits
    #[arg(long, value_name = "H", value_parser = hex(), conflicts_with = "digest")]
    id_hex: Option<Hex>,

    /// FILE is not the message but its digest e: 32 bytes, or 64 hexadecimal digits
    ///
    /// e is SM3 of Z_A and the message, where Z_A stands for the signer's ID and public key.
    #[arg(long)]
    digest: bool,

    /// The signature's form
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Der)]
    form: Form,
}

/// Forms of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// SM2Signature of GM/T 0009 in DER, as OpenSSL and GmSSL have it
    Der,
    /// r and s, 32 bytes each
    Raw,
}

/// Bytes that were given as digits.
#[derive(Clone, Debug)]
struct Hex(Vec<u8>);

fn hex() -> impl TypedValueParser<Value = Hex> {
    OsStringValueParser::new()
        .try_map(|text| parse_hex(&text).map(Hex).ok_or("not an even number of hexadecimal digits"))
}

fn parse_hex(text: &OsStr) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(hex_value(*high)? << 4 | hex_value(*low)?)).collect()
}

impl What {
    fn id(&self) -> &[u8] {
        match (&self.id, &self.id_hex) {
            (Some(id), _) => id.as_bytes(),
            (None, Some(Hex(id))) => id,
            (None, None) => DEFAULT_ID,
        }
    }

    /// e: of the message that is read, hashed after Z_A, or what is read itself.
    fn digest(&self, hasher: Sm3, input: &Operand, reader: Reader) -> Result<[u8; 32], Stop> {
        match self.digest {
            true => digest_itself(input, reader),
            false => hash(hasher, input, reader),
        }
    }
}

impl Form {
    fn write(self, signature: &Signature) -> Vec<u8> {
        match self {
            Form::Der => signature.to_der(),
            Form::Raw => signature.to_bytes().to_vec(),
        }
    }

    /// A malformed signature is as bad as one that does not hold.
    fn read(self, bytes: &[u8]) -> Result<Signature, Error> {
        match self {
            Form::Der => Signature::from_der(bytes).map_err(|_| Error::Signature),
            Form::Raw => Signature::from_bytes(bytes.try_into().map_err(|_| Error::Signature)?),
        }
    }
}

/// Bytes that are read at once: as many as stay in the second cache.
const CHUNK: usize = 256 << 10;

fn hash(mut hasher: Sm3, input: &Operand, mut reader: Reader) -> Result<[u8; 32], Stop> {
    let counts = Bytes::default();
    let total = reader.rest().map(|(_, len)| len);
    let mut buffer = vec![0; CHUNK];
    progress::during(input.progress, &counts, total, || {
        loop {
            let len = read_full(&mut reader, &mut buffer).map_err(|e| input.unreadable(&e))?;
            if len == 0 {
                return Ok(hasher.finalize().into());
            }
            hasher.update(&buffer[..len]);
            counts.add(len);
        }
    })
}

fn digest_itself(input: &Operand, reader: Reader) -> Result<[u8; 32], Stop> {
    let mut bytes = Vec::new();
    // 64 digits, with room for white space around them.
    reader.take(128).read_to_end(&mut bytes).map_err(|error| input.unreadable(&error))?;
    let digits = || parse_hex(OsStr::from_bytes(bytes.trim_ascii()))?.try_into().ok();
    let digest = bytes[..].try_into().ok().or_else(digits);
    digest.ok_or_else(|| {
        let name = Name(&input.file);
        Stop::Failed(format!("{name}: not a digest of 32 bytes or 64 hexadecimal digits"))
    })
}

/// `manylane sm2 sign`.
pub(super) fn sign(args: &SignArgs) -> Result<(), Stop> {
    args.streams.input.keep_apart(&args.key.file())?;
    let key = args.key.secret()?;
    let signer = Signer::new(&key, args.what.id()).map_err(Stop::usage)?.verifying(true);
    let (reader, mut output) = args.streams.open(Kind::Ordinary, &args.key.files())?;
    refuse_terminal(&output)?;
    let digest = args.what.digest(signer.hasher(), &args.streams.input, reader)?;
    let signature = signer.sign_digest(&digest).map_err(Stop::failed)?;
    let bytes = args.what.form.write(&signature);
    output.write_all(&bytes).and_then(|()| output.finish()).map_err(Stop::Write)
}

/// `manylane sm2 verify`.
pub(super) fn verify(args: &VerifyArgs) -> Result<(), Stop> {
    args.input.keep_apart(&[("the key", &args.key), ("the signature", &args.signature)])?;
    let key = keys::public_key(&args.key)?;
    let verifier = Verifier::new(&key, args.what.id()).map_err(Stop::usage)?;
    let signature = args.what.form.read(&read_signature(&args.signature)?);
    let reader = args.input.open(&[])?;
    let digest = args.what.digest(verifier.hasher(), &args.input, reader)?;
    let verified = signature.and_then(|signature| verifier.verify_digest(&digest, &signature));
    verified.map_err(|error| Stop::Failed(format!("{}: {error}", Name(&args.input.file))))
}

fn read_signature(path: &Path) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    // No signature is that long.
    File::open(path)
        .and_then(|file| file.take(1024).read_to_end(&mut bytes))
        .map_err(|error| Stop::Failed(format!("{}: {}", Name(path), Reason(&error))))?;
    Ok(bytes)
}
