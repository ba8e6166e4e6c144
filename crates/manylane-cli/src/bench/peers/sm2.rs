//! OpenSSL's SM2, by the functions that its users call.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr::{null, null_mut},
    sync::OnceLock,
};

use manylane::sm2::{PublicKey, SecretKey};
use zeroize::Zeroizing;

use super::{LIBCRYPTO, OsslParam, open};

functions!(Functions {
    EVP_PKEY_CTX_new_from_name(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_pkey(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free(*mut c_void);
    EVP_PKEY_free(*mut c_void);
    EVP_PKEY_fromdata_init(*mut c_void) -> c_int;
    EVP_PKEY_fromdata(*mut c_void, *mut *mut c_void, c_int, *const OsslParam) -> c_int;
    EVP_PKEY_keygen_init(*mut c_void) -> c_int;
    EVP_PKEY_keygen(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_sign_init(*mut c_void) -> c_int;
    EVP_PKEY_sign(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_verify_init(*mut c_void) -> c_int;
    EVP_PKEY_verify(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
    EVP_PKEY_encrypt_init(*mut c_void) -> c_int;
    EVP_PKEY_encrypt(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_decrypt_init(*mut c_void) -> c_int;
    EVP_PKEY_decrypt(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EC_GROUP_new_by_curve_name(c_int) -> *mut c_void;
    EC_GROUP_free(*mut c_void);
    EC_POINT_new(*const c_void) -> *mut c_void;
    EC_POINT_free(*mut c_void);
    EC_POINT_oct2point(*const c_void, *mut c_void, *const u8, usize, *mut c_void) -> c_int;
    EC_POINT_mul(
        *const c_void, *mut c_void, *const c_void, *const c_void, *const c_void, *mut c_void
    ) -> c_int;
    EC_POINT_get_affine_coordinates(
        *const c_void, *const c_void, *mut c_void, *mut c_void, *mut c_void
    ) -> c_int;
    BN_CTX_new() -> *mut c_void;
    BN_CTX_free(*mut c_void);
    BN_bin2bn(*const u8, c_int, *mut c_void) -> *mut c_void;
    BN_bn2binpad(*const c_void, *mut u8, c_int) -> c_int;
    BN_clear_free(*mut c_void);
});

/// `NID_sm2` of openssl/obj_mac.h.
const NID_SM2: c_int = 1172;

/// OpenSSL's SM2.
#[derive(Debug)]
pub(in crate::bench) struct OpenSslSm2 {
    f: Functions,
}

/// What a [`Context`] is for.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) enum Operation {
    Sign,
    Verify,
    Encrypt,
    Decrypt,
}

impl OpenSslSm2 {
    /// The library, loaded when first asked for, or why there is none.
    pub(in crate::bench) fn get() -> Result<&'static OpenSslSm2, &'static str> {
        static OPENSSL: OnceLock<Result<OpenSslSm2, String>> = OnceLock::new();
        OPENSSL.get_or_init(OpenSslSm2::load).as_ref().map_err(String::as_str)
    }

    fn load() -> Result<Self, String> {
        let library = open(&LIBCRYPTO)?;
        // SAFETY: the signatures are those of the headers of OpenSSL 3.
        let openssl = OpenSslSm2 { f: unsafe { Functions::load(library) }? };
        // SAFETY: a default context, a name that ends in zero, and no properties; freed at once.
        let has_sm2 = unsafe {
            let context = (openssl.f.EVP_PKEY_CTX_new_from_name)(null_mut(), SM2.as_ptr(), null());
            (openssl.f.EVP_PKEY_CTX_free)(context);
            !context.is_null()
        };
        has_sm2.then_some(openssl).ok_or_else(|| "this libcrypto was built without SM2".into())
    }

    /// A context for one operation under a key, used again and again.
    pub(in crate::bench) fn context(
        &'static self,
        operation: Operation,
        key: &SecretKey,
    ) -> Context {
        let pkey = self.key(key);
        let init = match operation {
            Operation::Sign => self.f.EVP_PKEY_sign_init,
            Operation::Verify => self.f.EVP_PKEY_verify_init,
            Operation::Encrypt => self.f.EVP_PKEY_encrypt_init,
            Operation::Decrypt => self.f.EVP_PKEY_decrypt_init,
        };
        // SAFETY: a default library context, a live key, no properties. The context keeps a count of
        // the key, so that ours can be given up. A null context is refused by `init`.
        let (context, ok) = unsafe {
            let context = (self.f.EVP_PKEY_CTX_new_from_pkey)(null_mut(), pkey, null());
            (self.f.EVP_PKEY_free)(pkey);
            (context, init(context))
        };
        assert_eq!(ok, 1, "OpenSSL refused to {operation:?}");
        Context { openssl: self, context }
    }

    /// An `EVP_PKEY`, for the caller to free.
    fn key(&self, key: &SecretKey) -> *mut c_void {
        const UNSIGNED_INTEGER: c_uint = 2;
        const UTF8_STRING: c_uint = 4;
        const OCTET_STRING: c_uint = 5;
        /// `EVP_PKEY_KEYPAIR` of openssl/evp.h.
        const KEYPAIR: c_int = 0x87;
        let mut d = key.to_bytes();
        if cfg!(target_endian = "little") {
            d.reverse();
        }
        let point = key.public_key().to_sec1_bytes();
        let param = |name: &'static CStr, data_type, data: &[u8]| OsslParam {
            key: name.as_ptr(),
            data_type,
            data: data.as_ptr().cast_mut().cast(),
            data_size: data.len(),
            return_size: usize::MAX,
        };
        let params = [
            param(c"group", UTF8_STRING, SM2.to_bytes()),
            param(c"pub", OCTET_STRING, &point),
            param(c"priv", UNSIGNED_INTEGER, &*d),
            OsslParam::END,
        ];
        let mut pkey = null_mut();
        // SAFETY: the context is live until it is freed; the parameters end with an empty one, are
        // only read, and outlive the call.
        let ok = unsafe {
            let context = (self.f.EVP_PKEY_CTX_new_from_name)(null_mut(), SM2.as_ptr(), null());
            let ok = (self.f.EVP_PKEY_fromdata_init)(context);
            let ok = ok & (self.f.EVP_PKEY_fromdata)(context, &mut pkey, KEYPAIR, params.as_ptr());
            (self.f.EVP_PKEY_CTX_free)(context);
            ok
        };
        assert_eq!(ok, 1, "OpenSSL refused a key");
        pkey
    }

    /// A context that makes keys.
    pub(in crate::bench) fn generator(&'static self) -> Generator {
        // SAFETY: as in `context`.
        let (context, ok) = unsafe {
            let context = (self.f.EVP_PKEY_CTX_new_from_name)(null_mut(), SM2.as_ptr(), null());
            (context, (self.f.EVP_PKEY_keygen_init)(context))
        };
        assert_eq!(ok, 1, "OpenSSL refused to make keys");
        Generator(Context { openssl: self, context })
    }

    /// Multiplication of a point by a key, as ECDH has it.
    pub(in crate::bench) fn multiplication(
        &'static self,
        key: &SecretKey,
        peer: &PublicKey,
    ) -> Multiplication {
        let d: Zeroizing<[u8; 32]> = key.to_bytes();
        let point = peer.to_sec1_bytes();
        let f = &self.f;
        // SAFETY: each pointer goes with its own length, and each object is checked before it is used
        // where its use would not allow null.
        unsafe {
            let group = (f.EC_GROUP_new_by_curve_name)(NID_SM2);
            assert!(!group.is_null(), "OpenSSL has no curve SM2");
            let new = || (f.EC_POINT_new)(group);
            let (peer, product) = (new(), new());
            let context = (f.BN_CTX_new)();
            let number =
                |bytes: &[u8]| (f.BN_bin2bn)(bytes.as_ptr(), bytes.len() as c_int, null_mut());
            let (d, x) = (number(&*d), number(&[]));
            let all = [peer, product, context, d, x];
            assert!(all.iter().all(|object| !object.is_null()), "OpenSSL has no memory");
            let ok = (f.EC_POINT_oct2point)(group, peer, point.as_ptr(), point.len(), context);
            assert_eq!(ok, 1, "OpenSSL refused a point");
            Multiplication { openssl: self, group, peer, product, context, d, x }
        }
    }
}

const SM2: &CStr = c"SM2";

/// An `EVP_PKEY_CTX`.
pub(in crate::bench) struct Context {
    openssl: &'static OpenSslSm2,
    context: *mut c_void,
}

impl Context {
    /// The signature of a digest, in DER.
    pub(in crate::bench) fn sign<'o>(&mut self, e: &[u8; 32], out: &'o mut [u8]) -> &'o [u8] {
        self.transform(self.openssl.f.EVP_PKEY_sign, e, out)
    }

    /// Whether the signature of a digest, in DER, holds.
    pub(in crate::bench) fn verify(&mut self, e: &[u8; 32], signature: &[u8]) -> bool {
        // SAFETY: the context is live and ours alone; each pointer goes with its own length.
        let ok = unsafe {
            (self.openssl.f.EVP_PKEY_verify)(
                self.context,
                signature.as_ptr(),
                signature.len(),
                e.as_ptr(),
                e.len(),
            )
        };
        ok == 1
    }

    /// The ciphertext of a message, in ASN.1.
    pub(in crate::bench) fn encrypt<'o>(&mut self, message: &[u8], out: &'o mut [u8]) -> &'o [u8] {
        self.transform(self.openssl.f.EVP_PKEY_encrypt, message, out)
    }

    /// The message of a ciphertext in ASN.1.
    pub(in crate::bench) fn decrypt<'o>(
        &mut self,
        ciphertext: &[u8],
        out: &'o mut [u8],
    ) -> &'o [u8] {
        self.transform(self.openssl.f.EVP_PKEY_decrypt, ciphertext, out)
    }

    fn transform<'o>(
        &mut self,
        function: unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, *const u8, usize) -> c_int,
        input: &[u8],
        out: &'o mut [u8],
    ) -> &'o [u8] {
        let mut len = out.len();
        // SAFETY: the context is live and ours alone; each pointer goes with its own length.
        let ok = unsafe {
            function(self.context, out.as_mut_ptr(), &mut len, input.as_ptr(), input.len())
        };
        assert_eq!(ok, 1, "OpenSSL failed at SM2");
        &out[..len]
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is live, and not used again.
        unsafe { (self.openssl.f.EVP_PKEY_CTX_free)(self.context) };
    }
}

/// An `EVP_PKEY_CTX` that makes keys.
pub(in crate::bench) struct Generator(Context);

impl Generator {
    /// Makes a key and forgets it.
    pub(in crate::bench) fn generate(&mut self) {
        let f = &self.0.openssl.f;
        let mut pkey = null_mut();
        // SAFETY: the context is live and ours alone; the key is freed once.
        let ok = unsafe {
            let ok = (f.EVP_PKEY_keygen)(self.0.context, &mut pkey);
            (f.EVP_PKEY_free)(pkey);
            ok
        };
        assert_eq!(ok, 1, "OpenSSL failed to make a key");
    }
}

/// d and P, and room for d·P.
pub(in crate::bench) struct Multiplication {
    openssl: &'static OpenSslSm2,
    group: *mut c_void,
    peer: *mut c_void,
    product: *mut c_void,
    context: *mut c_void,
    d: *mut c_void,
    x: *mut c_void,
}

impl Multiplication {
    /// The x-coordinate of d·P.
    pub(in crate::bench) fn x(&mut self, out: &mut [u8; 32]) {
        let f = &self.openssl.f;
        let (group, product, context) = (self.group, self.product, self.context);
        // SAFETY: all objects are live, ours alone, and of this group; `out` has room for the 32
        // bytes that are asked for.
        let ok = unsafe {
            let ok = (f.EC_POINT_mul)(group, product, null(), self.peer, self.d, context);
            let ok = ok
                & (f.EC_POINT_get_affine_coordinates)(group, product, self.x, null_mut(), context);
            ok == 1 && (f.BN_bn2binpad)(self.x, out.as_mut_ptr(), 32) == 32
        };
        assert!(ok, "OpenSSL failed to multiply a point");
    }
}

impl Drop for Multiplication {
    fn drop(&mut self) {
        let f = &self.openssl.f;
        // SAFETY: all are live, and not used again; the group goes last.
        unsafe {
            (f.BN_clear_free)(self.d);
            (f.BN_clear_free)(self.x);
            (f.BN_CTX_free)(self.context);
            (f.EC_POINT_free)(self.peer);
            (f.EC_POINT_free)(self.product);
            (f.EC_GROUP_free)(self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manylane::sm2::{CiphertextForm, Signature};

    /// What the library makes, ours accepts, and the other way round.
    #[test]
    fn openssl_and_we_understand_each_other() {
        let Ok(openssl) = OpenSslSm2::get() else { return };
        let (key, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let (e, mut out) = ([0x5a; 32], [0; 1000]);
        let signature = openssl.context(Operation::Sign, &key).sign(&e, &mut out);
        let signature = Signature::from_der(signature).unwrap();
        key.public_key().verify_digest(&e, &signature).unwrap();
        let mut verify = openssl.context(Operation::Verify, &key);
        let ours = key.sign_digest(&e).unwrap().to_der();
        assert!(verify.verify(&e, &ours) && !verify.verify(&[0; 32], &ours));
        let message = [0xa5; 300];
        let c = openssl.context(Operation::Encrypt, &key).encrypt(&message, &mut out).to_vec();
        assert_eq!(key.decrypt(CiphertextForm::Asn1, &c).unwrap()[..], message);
        let c = key.public_key().encrypt(CiphertextForm::Asn1, &message).unwrap();
        assert_eq!(openssl.context(Operation::Decrypt, &key).decrypt(&c, &mut out), message);
        let mut x = [0; 32];
        openssl.multiplication(&key, other.public_key()).x(&mut x);
        assert_eq!(x, *other.diffie_hellman(key.public_key()));
        openssl.generator().generate();
    }
}
