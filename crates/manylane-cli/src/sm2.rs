//! `manylane sm2`: keys, signatures and encryption.

mod cipher;
mod decrypt;
mod encrypt;
mod keys;
mod password;
mod signature;
mod terminal;

use clap::Subcommand;

use crate::filter::{Operand, Stop, Streams, open_output, refuse_terminal};

/// SM2 keys, signatures and encryption
///
/// Keys, signatures and ciphertexts are those of GB/T 32918 and GM/T 0009, as OpenSSL, GmSSL,
/// BouncyCastle and others write them. Secret keys are read in PEM or DER (PKCS #8, encrypted or not,
/// and SEC 1) or as hexadecimal digits; public keys in PEM or DER, from certificates (of which
/// nothing is verified), as the bytes of a point or their digits.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Keygen(keys::KeygenArgs),
    Pub(keys::PubArgs),
    Convert(keys::ConvertArgs),
    Sign(signature::SignArgs),
    Verify(signature::VerifyArgs),
    Encrypt(encrypt::Args),
    Decrypt(decrypt::Args),
}

/// Runs the command.
pub(crate) fn run(args: Args) -> u8 {
    Stop::status(match args.verb {
        Verb::Keygen(args) => keys::generate(&args),
        Verb::Pub(args) => keys::public(&args),
        Verb::Convert(args) => keys::convert(&args),
        Verb::Sign(args) => signature::sign(&args),
        Verb::Verify(args) => signature::verify(&args),
        Verb::Encrypt(args) => encrypt::run(&args),
        Verb::Decrypt(args) => decrypt::run(&args),
    })
}
