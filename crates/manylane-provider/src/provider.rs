//! The provider itself: what OpenSSL finds first.
#![allow(unsafe_code, reason = "OpenSSL looks the function up by its name and calls it by address")]

use std::ffi::{CStr, c_char, c_int, c_void};

use manylane::{
    Messages,
    block::any::{self, AnyCipher},
    sha3::{ExtendableOutput as _, Sha3_256, Shake128},
    sm2::SecretKey,
    sm3::{self, Digest as _, Sm3},
};

use crate::{
    abi::{Algorithm, Callback, Dispatch, Handle, Item, Param, described, operation, provider},
    asym_cipher, cipher,
    core::Core,
    decoder, digest,
    entry::{entries, guarded},
    failure::STRINGS,
    keyexch, keymgmt,
    params::{Asked, Built, text},
    signature,
};

/// What all algorithms are found by.
pub(crate) const PROPERTIES: &CStr = c"provider=manylane";

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version with a zero byte"),
    };

/// What OpenSSL calls when it has loaded the provider, once for each library context.
///
/// # Safety
/// OpenSSL calls it: `handle` and `from_core` are the core's, the others are places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const c_void,
    from_core: *const Dispatch,
    to_core: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    guarded(|| {
        if from_core.is_null() || to_core.is_null() || context.is_null() {
            return 0;
        }
        settle();
        // SAFETY: as the caller says.
        unsafe {
            let core = Core::new(handle.cast::<Handle>(), from_core);
            *to_core = FUNCTIONS.as_ptr();
            *context = core.into_raw();
        }
        1
    })
}

/// Makes the library find out what is best on this processor. A process that forks while another of its threads does
/// that leaves its child waiting for it.
fn settle() {
    let _ = Sm3::digest(b"");
    // In many lanes, as SM2's encryption derives its keys.
    if let Ok(messages) = Messages::strided(&[0; 64], 64, 64, 1) {
        let _ = sm3::hash_many(&messages, &mut [[0; 32]]);
    }
    let _ = (Sha3_256::digest(b""), Shake128::default().finalize_xof());
    // A key of which the public half is known to all.
    let mut one = [0; 32];
    one[31] = 1;
    let _ = SecretKey::from_bytes(&one);
    let _ = AnyCipher::new(any::Algorithm::Sm4, &[0; 16]);
}

/// SM2 signatures in TLS 1.3 (RFC 8998), as libssl wants to know them.
fn sm2sig_sm3() -> Built {
    let mut built = Built::default();
    built.text(c"tls-sigalg-iana-name", c"sm2sig_sm3");
    built.text(c"tls-sigalg-name", c"SM2");
    built.integer(c"tls-sigalg-code-point", 0x0708);
    built.integer(c"tls-sigalg-sec-bits", 128);
    built.integer(c"tls-min-tls", 0x0304);
    built.integer(c"tls-max-tls", 0);
    // None of DTLS.
    built.integer(c"tls-min-dtls", -1);
    built.integer(c"tls-max-dtls", -1);
    built
}

static FUNCTIONS: [Dispatch; 7] = [
    Dispatch::new(provider::TEARDOWN, teardown as *const ()),
    Dispatch::new(provider::GETTABLE_PARAMS, gettable_params as *const ()),
    Dispatch::new(provider::GET_PARAMS, get_params as *const ()),
    Dispatch::new(provider::QUERY_OPERATION, query as *const ()),
    Dispatch::new(provider::GET_REASON_STRINGS, reason_strings as *const ()),
    Dispatch::new(provider::GET_CAPABILITIES, capabilities as *const ()),
    Dispatch::END,
];

entries! {
    fn teardown(context: *mut c_void) {
        // SAFETY: OpenSSL gives back what it got, and uses nothing of the provider again.
        unsafe {
            if let Some(core) = Core::from_raw(context) {
                core.teardown();
            }
        }
    }

    fn gettable_params(_context: *mut c_void) -> *const Param {
        described![c"name": TEXT_PTR, c"version": TEXT_PTR, c"buildinfo": TEXT_PTR, c"status": INTEGER]
    }

    fn get_params(context: *mut c_void, list: *mut Param) -> c_int {
        // SAFETY: OpenSSL gives back what it got, and a list with an end.
        let (core, mut asked) = unsafe { (Core::from_raw(context), Asked::new(list)) };
        let Some(core) = core else { return 0 };
        core.report(
            asked
                .text(c"name", c"manylane: SM2, SM3, SM4, SHA-3 and AES-CTR at the speed of the hardware")
                .and_then(|()| asked.text(c"version", VERSION))
                .and_then(|()| asked.text(c"buildinfo", VERSION))
                .and_then(|()| asked.number(c"status", 1)),
        )
    }

    fn query(_context: *mut c_void, id: c_int, no_cache: *mut c_int) -> *const Algorithm {
        // SAFETY: it is null or a place for a number.
        if let Some(no_cache) = unsafe { no_cache.as_mut() } {
            *no_cache = 0;
        }
        let list: &[Algorithm] = match id {
            operation::DIGEST => &digest::ALGORITHMS,
            operation::CIPHER => &cipher::ALGORITHMS,
            operation::KEYMGMT => &keymgmt::ALGORITHMS,
            operation::KEYEXCH => &keyexch::ALGORITHMS,
            operation::SIGNATURE => &signature::ALGORITHMS,
            operation::ASYM_CIPHER => &asym_cipher::ALGORITHMS,
            operation::DECODER => &decoder::ALGORITHMS,
            _ => return std::ptr::null(),
        };
        list.as_ptr()
    }

    fn capabilities(
        context: *mut c_void,
        name: *const c_char,
        callback: Option<Callback>,
        argument: *mut c_void,
    ) -> c_int {
        // SAFETY: OpenSSL gives back what it got, and a text.
        let (core, name) = unsafe { (Core::from_raw(context), text(name)) };
        let (Some(core), Some(callback)) = (core, callback) else { return 0 };
        // Only OpenSSL 4 has all of RFC 8998, and it takes this from whose the keys are.
        if name != Some("TLS-SIGALG") || core.version() < 4 {
            return 1;
        }
        // SAFETY: the callback is the core's.
        unsafe { sm2sig_sm3().hand_over(callback, argument) }
    }

    fn reason_strings(_context: *mut c_void) -> *const Item {
        STRINGS.as_ptr()
    }
}
