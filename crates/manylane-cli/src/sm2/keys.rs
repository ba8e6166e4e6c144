//! `manylane sm2 keygen`, `pub` and `convert`; keys as the other verbs read them.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{
    ValueEnum, ValueHint,
    builder::{OsStringValueParser, TypedValueParser},
};
use manylane::{
    Error,
    sm2::{KeyCipher, KeyEncryption, Prf, PublicKey, SecretKey},
};
use zeroize::Zeroizing;

use super::{
    Stop, open_output,
    password::{SOURCES, Source},
    refuse_terminal,
};
use crate::{
    filter::{Beside, read_secret},
    output::{Kind, Output},
    show::Name,
};

/// Bytes of the longest key file.
const LONGEST: usize = 1 << 20;

/// Make a new key pair
///
/// The secret key is written in PEM (PKCS #8), under a password if --pass is given, to a file that
/// only its owner may read.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  manylane sm2 keygen -o key.pem --pub-out pub.pem
  manylane sm2 keygen -o key.pem --pass prompt
  manylane sm2 keygen -o key.pem --pass env:PASSWORD --kdf sha256   for OpenSSL 3.0

Exit status: 0 done, 1 not written, 2 wrong usage")]
pub(super) struct KeygenArgs {
    /// Write the secret key to KEY
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// Write the public key to FILE, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub_out: Option<PathBuf>,

    /// Encrypt the secret key under a password: the first line of the file F, the variable V, the first
    /// line from descriptor N, or what is typed at the terminal
    #[arg(long, value_name = SOURCES, value_parser = source())]
    pass: Option<Source>,

    /// How the password becomes a key
    #[arg(long, value_enum, value_name = "KDF", default_value_t = Kdf::Sm3, requires = "pass")]
    kdf: Kdf,

    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// Write the public key of a secret key or a certificate
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  manylane sm2 pub -k key.pem -o pub.pem
  manylane sm2 pub -k key.pem --form hex
  manylane sm2 pub -k cert.pem

Exit status: 0 done, 1 not written, 2 wrong usage, or a key or password that cannot be used")]
pub(super) struct PubArgs {
    #[command(flatten)]
    key: KeyArgs,

    /// The form to write
    #[arg(long, value_enum, value_name = "FORM", default_value_t = PublicForm::Spki)]
    form: PublicForm,

    #[command(flatten)]
    to: Destination,
}

/// Write a key in another form, or under another password
///
/// A secret key that is read under a password is written without one unless --out-pass is given.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  manylane sm2 convert -k key.pem --form sec1 -o ec.pem
  manylane sm2 convert -k key.pem --form hex
  manylane sm2 convert -k old.pem --pass prompt --out-pass prompt -o new.pem
  manylane sm2 convert -k pub.hex --der -o pub.der

Exit status: 0 done, 1 not written, 2 wrong usage, or a key or password that cannot be used")]
pub(super) struct ConvertArgs {
    #[command(flatten)]
    key: KeyArgs,

    /// The form to write [default: pkcs8 for a secret key, spki for a public one]
    #[arg(long, value_enum, value_name = "FORM")]
    form: Option<Form>,

    /// Encrypt the secret key under a password; sources as for --pass
    #[arg(long, value_name = SOURCES, value_parser = source())]
    out_pass: Option<Source>,

    /// How the password becomes a key
    #[arg(long, value_enum, value_name = "KDF", default_value_t = Kdf::Sm3, requires = "out_pass")]
    kdf: Kdf,

    #[command(flatten)]
    to: Destination,
}

/// A key that is read.
#[derive(Debug, clap::Args)]
pub(super) struct KeyArgs {
    /// The key's file; - is standard input
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(super) key: PathBuf,

    /// The password of an encrypted key: the first line of the file F, the variable V, the first line
    /// from descriptor N, or what is typed at the terminal
    #[arg(long, value_name = SOURCES, value_parser = source())]
    pass: Option<Source>,
}

/// Where a key is written.
#[derive(Debug, clap::Args)]
struct Destination {
    /// Write DER instead of PEM
    #[arg(long)]
    der: bool,

    /// Write to FILE instead of standard output; only its owner may read a secret key
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// Forms of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A secret key with its algorithm (RFC 5208)
    Pkcs8,
    /// A secret key as ECPrivateKey (RFC 5915)
    Sec1,
    /// The public key with its algorithm (RFC 5280)
    Spki,
    /// Hexadecimal digits: 64 of a secret key, 130 of a public one
    Hex,
}

/// Forms of public keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PublicForm {
    /// The key with its algorithm (RFC 5280)
    Spki,
    /// 130 hexadecimal digits
    Hex,
}

/// Ways from a password to a key, each with the cipher that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kdf {
    /// PBKDF2 with HMAC-SM3, and SM4: for GmSSL, Tongsuo and others
    Sm3,
    /// PBKDF2 with HMAC-SHA-256, and AES-256: for OpenSSL 3.0, which lacks the other
    Sha256,
}

impl Kdf {
    fn encryption(self) -> KeyEncryption {
        match self {
            Kdf::Sm3 => KeyEncryption::new(Prf::HmacSm3, KeyCipher::Sm4Cbc),
            Kdf::Sha256 => KeyEncryption::new(Prf::HmacSha256, KeyCipher::Aes256Cbc),
        }
    }
}

fn source() -> impl TypedValueParser<Value = Source> {
    OsStringValueParser::new().try_map(|argument| Source::parse(&argument))
}

impl KeyArgs {
    /// The secret key.
    pub(super) fn secret(&self) -> Result<SecretKey, Stop> {
        self.decode_secret(&read(&self.key)?)
    }

    /// The key's file, which is read as a whole.
    pub(super) fn file(&self) -> [Beside<'_>; 1] {
        [("the key", &self.key)]
    }

    /// Every file that is read for it.
    pub(super) fn files(&self) -> Vec<Beside<'_>> {
        let password = self.pass.as_ref().and_then(Source::file);
        self.file().into_iter().chain(password.map(|path| ("the password", path))).collect()
    }

    /// Whichever key there is.
    fn any(&self) -> Result<Key, Stop> {
        let bytes = read(&self.key)?;
        let no_secret = match SecretKey::decode(&bytes, None) {
            Ok(_) | Err(Error::PasswordNeeded) => {
                return self.decode_secret(&bytes).map(|key| Key::Secret(key.into()));
            }
            Err(why) => why,
        };
        PublicKey::decode(&bytes)
            .map(Key::Public)
            .map_err(|no_public| unusable(&self.key, &format_args!("{no_secret}; {no_public}")))
    }

    fn decode_secret(&self, bytes: &[u8]) -> Result<SecretKey, Stop> {
        let key = match SecretKey::decode(bytes, None) {
            Err(Error::PasswordNeeded) => match &self.pass {
                Some(source) => SecretKey::decode(bytes, Some(&source.read()?)),
                None => Err(Error::PasswordNeeded),
            },
            key => key,
        };
        key.map_err(|error| match error {
            Error::PasswordNeeded => Stop::Usage(format!(
                "{}: the key is encrypted: give --pass {SOURCES}",
                Name(&self.key)
            )),
            error => unusable(&self.key, &error),
        })
    }
}

/// A key of either kind.
enum Key {
    Secret(Box<SecretKey>),
    Public(PublicKey),
}

impl Key {
    fn public(&self) -> &PublicKey {
        match self {
            Key::Secret(key) => key.public_key(),
            Key::Public(key) => key,
        }
    }
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> Stop {
    Stop::Usage(format!("{}: {why}", Name(path)))
}

/// The public key in a file, or that of a certificate.
pub(super) fn public_key(path: &Path) -> Result<PublicKey, Stop> {
    let bytes = read(path)?;
    PublicKey::decode(&bytes).map_err(|error| {
        match matches!(SecretKey::decode(&bytes, None), Ok(_) | Err(Error::PasswordNeeded)) {
            true => unusable(path, &"a secret key; `manylane sm2 pub` makes its public key"),
            false => unusable(path, &error),
        }
    })
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Stop> {
    read_secret(path, LONGEST)
}

/// A key as it is written.
struct Text {
    bytes: Zeroizing<Vec<u8>>,
    is_binary: bool,
    is_secret: bool,
}

impl Text {
    fn of_secret(bytes: &[u8], is_binary: bool) -> Self {
        Text { bytes: Zeroizing::new(bytes.to_vec()), is_binary, is_secret: true }
    }

    fn of_public(bytes: Vec<u8>, is_binary: bool) -> Self {
        Text { bytes: Zeroizing::new(bytes), is_binary, is_secret: false }
    }

    fn public(key: &PublicKey, form: PublicForm, der: bool) -> Result<Self, Stop> {
        match form {
            PublicForm::Spki if der => Ok(Text::of_public(key.to_spki_der(), true)),
            PublicForm::Spki => Ok(Text::of_public(key.to_pem().into_bytes(), false)),
            PublicForm::Hex => {
                refuse_der(der)?;
                Ok(Text::of_public((key.to_hex() + "\n").into_bytes(), false))
            }
        }
    }

    fn secret(key: &SecretKey, form: Form, der: bool) -> Result<Self, Stop> {
        Ok(match (form, der) {
            (Form::Pkcs8, true) => Text::of_secret(&key.to_pkcs8_der(), true),
            (Form::Pkcs8, false) => Text::of_secret(key.to_pkcs8_pem().as_bytes(), false),
            (Form::Sec1, true) => Text::of_secret(&key.to_sec1_der(), true),
            (Form::Sec1, false) => Text::of_secret(key.to_sec1_pem().as_bytes(), false),
            (Form::Hex, _) => {
                refuse_der(der)?;
                let line = Zeroizing::new([key.to_hex().as_bytes(), b"\n"].concat());
                Text::of_secret(&line, false)
            }
            (Form::Spki, _) => return Text::public(key.public_key(), PublicForm::Spki, der),
        })
    }

    fn encrypted(key: &SecretKey, pass: &Source, kdf: Kdf, der: bool) -> Result<Self, Stop> {
        let password = pass.choose()?;
        let encryption = kdf.encryption();
        let bytes = match der {
            true => key.to_encrypted_pkcs8_der(&password, &encryption),
            false => key.to_encrypted_pkcs8_pem(&password, &encryption).map(String::into_bytes),
        };
        Ok(Text::of_secret(&bytes.map_err(Stop::failed)?, der))
    }

    /// Opens the place for it, which takes none of it yet.
    fn open(&self, path: Option<&Path>, replaces: bool) -> Result<Output, Stop> {
        let output = open_output(Kind::Key { secret: self.is_secret, replaces }, path)?;
        if self.is_binary {
            refuse_terminal(&output)?;
        }
        Ok(output)
    }

    fn write(&self, mut output: Output) -> Result<(), Stop> {
        output.write_all(&self.bytes).and_then(|()| output.finish()).map_err(Stop::Write)
    }
}

fn refuse_der(der: bool) -> Result<(), Stop> {
    if der { Err(Stop::usage("--der: digits have no DER")) } else { Ok(()) }
}

/// `manylane sm2 keygen`.
pub(super) fn generate(args: &KeygenArgs) -> Result<(), Stop> {
    // Whether the files can be made is known before anybody is asked for a password.
    let secret_to =
        open_output(Kind::Key { secret: true, replaces: args.force }, Some(&args.output))?;
    let public_to = args.pub_out.as_deref().map(|path| {
        if path == args.output {
            return Err(Stop::usage("--pub-out is the secret key's file"));
        }
        open_output(Kind::Key { secret: false, replaces: args.force }, Some(path))
    });
    let public_to = public_to.transpose()?;
    let key = SecretKey::generate().map_err(Stop::failed)?;
    let secret = match &args.pass {
        Some(pass) => Text::encrypted(&key, pass, args.kdf, false)?,
        None => Text::secret(&key, Form::Pkcs8, false)?,
    };
    secret.write(secret_to)?;
    match public_to {
        Some(to) => Text::public(key.public_key(), PublicForm::Spki, false)?.write(to),
        None => Ok(()),
    }
}

/// `manylane sm2 pub`.
pub(super) fn public(args: &PubArgs) -> Result<(), Stop> {
    let key = args.key.any()?;
    let text = Text::public(key.public(), args.form, args.to.der)?;
    text.write(text.open(args.to.output.as_deref(), args.to.force)?)
}

/// `manylane sm2 convert`.
pub(super) fn convert(args: &ConvertArgs) -> Result<(), Stop> {
    let (key, to) = (args.key.any()?, &args.to);
    let text = match (&key, args.form, &args.out_pass) {
        (Key::Secret(key), None | Some(Form::Pkcs8), Some(pass)) => {
            Text::encrypted(key, pass, args.kdf, to.der)?
        }
        (_, _, Some(_)) => return Err(Stop::usage("--out-pass is for secret keys as pkcs8")),
        (Key::Secret(key), form, None) => Text::secret(key, form.unwrap_or(Form::Pkcs8), to.der)?,
        (Key::Public(key), None | Some(Form::Spki), None) => {
            Text::public(key, PublicForm::Spki, to.der)?
        }
        (Key::Public(key), Some(Form::Hex), None) => Text::public(key, PublicForm::Hex, to.der)?,
        (Key::Public(_), Some(Form::Pkcs8 | Form::Sec1), None) => {
            return Err(unusable(&args.key.key, &"a public key, which has no such form"));
        }
    };
    text.write(text.open(to.output.as_deref(), to.force)?)
}
