//! Writes keys, ciphertexts and signatures in the forms that other implementations read.
//!
//! `cargo run -p manylane --example sm2_fixtures FOLDER`; the programs in `vectors/interop` check
//! what is in the folder. sm-crypto gets a folder in it, for it has ciphertexts without 04.

use std::{error::Error, fs, path::Path};

use manylane::sm2::{CiphertextForm, DEFAULT_ID, KeyCipher, KeyEncryption, Prf, SecretKey};

const PASSWORD: &[u8] = b"Tr0ub4dor&3";
const OTHER_ID: &[u8] = b"ALICE123@YAHOO.COM";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("the folder to write to is missing")?;
    let folder = Path::new(&folder);
    let bare = folder.join("sm-crypto");
    fs::create_dir_all(&bare)?;
    let key = SecretKey::generate()?;
    let public = key.public_key();

    fs::write(folder.join("key.pem"), &*key.to_pkcs8_pem())?;
    fs::write(folder.join("key.sec1.pem"), &*key.to_sec1_pem())?;
    fs::write(folder.join("key.der"), &*key.to_pkcs8_der())?;
    fs::write(bare.join("key.hex"), &*key.to_hex())?;
    fs::write(folder.join("pub.pem"), public.to_pem())?;
    fs::write(folder.join("pub.der"), public.to_spki_der())?;
    fs::write(bare.join("pub.hex"), public.to_hex())?;
    for (prf, hash) in [(Prf::HmacSm3, "sm3"), (Prf::HmacSha256, "sha256")] {
        for (cipher, name) in [
            (KeyCipher::Sm4Cbc, "sm4"),
            (KeyCipher::Aes128Cbc, "aes128"),
            (KeyCipher::Aes256Cbc, "aes256"),
        ] {
            let how = KeyEncryption::new(prf, cipher);
            let text = key.to_encrypted_pkcs8_pem(PASSWORD, &how)?;
            fs::write(folder.join(format!("key.{name}.{hash}.pem")), text)?;
        }
    }

    for len in [1, 31, 32, 33, 300] {
        let message: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        for (folder, name, form) in [
            (folder, "sm2cipher.der", CiphertextForm::Asn1),
            (folder, "c1c3c2.bin", CiphertextForm::C1C3C2 { prefix: true }),
            (folder, "c1c2c3.bin", CiphertextForm::C1C2C3 { prefix: true }),
            (&bare, "c1c3c2.bin", CiphertextForm::C1C3C2 { prefix: false }),
            (&bare, "c1c2c3.bin", CiphertextForm::C1C2C3 { prefix: false }),
        ] {
            fs::write(folder.join(format!("m{len}.{name}")), public.encrypt(form, &message)?)?;
        }
        for (id, name) in [(DEFAULT_ID, "sig"), (OTHER_ID, "id.sig")] {
            let signature = key.sign(id, &message)?;
            for folder in [folder, &bare] {
                fs::write(folder.join(format!("m{len}.{name}.der")), signature.to_der())?;
            }
            fs::write(bare.join(format!("m{len}.{name}.bin")), signature.to_bytes())?;
        }
    }
    Ok(())
}
