//! OpenSSL's structures and numbers, as `openssl/core.h`, `core_dispatch.h` and `core_object.h` have them. They are fixed for
//! all of OpenSSL 3 and 4; `tests/headers.rs` compiles a C file that compares them with the headers.

#![allow(
    unsafe_code,
    reason = "OpenSSL's structures are shared as statics, which have addresses in them"
)]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
};

/// A function of a dispatch table: `OSSL_DISPATCH`.
#[repr(C)]
pub struct Dispatch {
    pub(crate) id: c_int,
    pub(crate) function: *const c_void,
}

// SAFETY: the pointer is a function's, which never changes.
unsafe impl Sync for Dispatch {}

impl Dispatch {
    /// The last of a table.
    pub(crate) const END: Dispatch = Dispatch { id: 0, function: ptr::null() };

    pub(crate) const fn new(id: c_int, function: *const ()) -> Self {
        Dispatch { id, function: function.cast() }
    }
}

/// An algorithm that a provider offers: `OSSL_ALGORITHM`.
#[repr(C)]
pub(crate) struct Algorithm {
    names: *const c_char,
    properties: *const c_char,
    implementation: *const Dispatch,
    description: *const c_char,
}

// SAFETY: all of it is static and never changes.
unsafe impl Sync for Algorithm {}

impl Algorithm {
    pub(crate) const END: Algorithm = Algorithm {
        names: ptr::null(),
        properties: ptr::null(),
        implementation: ptr::null(),
        description: ptr::null(),
    };

    pub(crate) const fn new(
        names: &'static CStr,
        properties: &'static CStr,
        implementation: &'static [Dispatch],
        description: &'static CStr,
    ) -> Self {
        Algorithm {
            names: names.as_ptr(),
            properties: properties.as_ptr(),
            implementation: implementation.as_ptr(),
            description: description.as_ptr(),
        }
    }
}

/// A number with a text: `OSSL_ITEM`.
#[repr(C)]
pub(crate) struct Item {
    pub(crate) id: c_uint,
    pub(crate) text: *const c_char,
}

// SAFETY: the text is static and never changes.
unsafe impl Sync for Item {}

/// A parameter: `OSSL_PARAM`.
#[repr(C)]
pub(crate) struct Param {
    pub(crate) key: *const c_char,
    pub(crate) data_type: c_uint,
    pub(crate) data: *mut c_void,
    pub(crate) data_size: usize,
    pub(crate) return_size: usize,
}

// SAFETY: statics of this type only describe parameters: their data are null.
unsafe impl Sync for Param {}

impl Param {
    /// The last of a list.
    pub(crate) const END: Param = Param {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    };

    /// One of a list that says which there are.
    pub(crate) const fn described(key: &'static CStr, data_type: c_uint) -> Self {
        Param { key: key.as_ptr(), data_type, ..Param::END }
    }
}

/// `OSSL_PARAM_INTEGER` and so on.
pub(crate) const INTEGER: c_uint = 1;
pub(crate) const UNSIGNED: c_uint = 2;
pub(crate) const TEXT: c_uint = 4;
pub(crate) const OCTETS: c_uint = 5;
pub(crate) const TEXT_PTR: c_uint = 6;
pub(crate) const OCTETS_PTR: c_uint = 7;

/// A list of parameters that a function knows.
macro_rules! described {
    ($($key:literal: $kind:ident),* $(,)?) => {{
        static LIST: &[$crate::abi::Param] =
            &[$($crate::abi::Param::described($key, $crate::abi::$kind),)* $crate::abi::Param::END];
        LIST.as_ptr()
    }};
}
pub(crate) use described;

/// `OSSL_CORE_HANDLE` and `OSSL_CORE_BIO`, of which only addresses are known.
pub(crate) type Handle = c_void;
pub(crate) type Bio = c_void;

/// `OSSL_CALLBACK`.
pub(crate) type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

/// `OSSL_PASSPHRASE_CALLBACK`.
pub(crate) type PasswordCallback =
    unsafe extern "C" fn(*mut c_char, usize, *mut usize, *const Param, *mut c_void) -> c_int;

/// `OSSL_OP_…`: kinds of operations.
pub(crate) mod operation {
    use std::ffi::c_int;

    pub(crate) const DIGEST: c_int = 1;
    pub(crate) const CIPHER: c_int = 2;
    pub(crate) const KEYMGMT: c_int = 10;
    pub(crate) const KEYEXCH: c_int = 11;
    pub(crate) const SIGNATURE: c_int = 12;
    pub(crate) const ASYM_CIPHER: c_int = 13;
    pub(crate) const DECODER: c_int = 21;
}

/// `OSSL_FUNC_CORE_…` and `OSSL_FUNC_BIO_…`: what the core offers.
pub(crate) mod core {
    use std::ffi::c_int;

    pub(crate) const GET_PARAMS: c_int = 2;
    pub(crate) const NEW_ERROR: c_int = 5;
    pub(crate) const VSET_ERROR: c_int = 7;
    pub(crate) const BIO_READ_EX: c_int = 42;
}

/// `OSSL_FUNC_PROVIDER_…`.
pub(crate) mod provider {
    use std::ffi::c_int;

    pub(crate) const TEARDOWN: c_int = 1024;
    pub(crate) const GETTABLE_PARAMS: c_int = 1025;
    pub(crate) const GET_PARAMS: c_int = 1026;
    pub(crate) const QUERY_OPERATION: c_int = 1027;
    pub(crate) const GET_REASON_STRINGS: c_int = 1029;
    pub(crate) const GET_CAPABILITIES: c_int = 1030;
}

/// `OSSL_FUNC_DIGEST_…`.
pub(crate) mod digest {
    use std::ffi::c_int;

    pub(crate) const NEWCTX: c_int = 1;
    pub(crate) const INIT: c_int = 2;
    pub(crate) const UPDATE: c_int = 3;
    pub(crate) const FINAL: c_int = 4;
    pub(crate) const DIGEST: c_int = 5;
    pub(crate) const FREECTX: c_int = 6;
    pub(crate) const DUPCTX: c_int = 7;
    pub(crate) const GET_PARAMS: c_int = 8;
    pub(crate) const SET_CTX_PARAMS: c_int = 9;
    pub(crate) const GET_CTX_PARAMS: c_int = 10;
    pub(crate) const GETTABLE_PARAMS: c_int = 11;
    pub(crate) const SETTABLE_CTX_PARAMS: c_int = 12;
    pub(crate) const GETTABLE_CTX_PARAMS: c_int = 13;
    /// Since OpenSSL 3.3; older ones do not look at it.
    pub(crate) const SQUEEZE: c_int = 14;
}

/// `OSSL_FUNC_CIPHER_…`.
pub(crate) mod cipher {
    use std::ffi::c_int;

    pub(crate) const NEWCTX: c_int = 1;
    pub(crate) const ENCRYPT_INIT: c_int = 2;
    pub(crate) const DECRYPT_INIT: c_int = 3;
    pub(crate) const UPDATE: c_int = 4;
    pub(crate) const FINAL: c_int = 5;
    pub(crate) const CIPHER: c_int = 6;
    pub(crate) const FREECTX: c_int = 7;
    pub(crate) const DUPCTX: c_int = 8;
    pub(crate) const GET_PARAMS: c_int = 9;
    pub(crate) const GET_CTX_PARAMS: c_int = 10;
    pub(crate) const SET_CTX_PARAMS: c_int = 11;
    pub(crate) const GETTABLE_PARAMS: c_int = 12;
    pub(crate) const GETTABLE_CTX_PARAMS: c_int = 13;
    pub(crate) const SETTABLE_CTX_PARAMS: c_int = 14;
}

/// `OSSL_FUNC_KEYMGMT_…`, and `OSSL_KEYMGMT_SELECT_…`.
pub(crate) mod keymgmt {
    use std::ffi::c_int;

    pub(crate) const NEW: c_int = 1;
    pub(crate) const GEN_INIT: c_int = 2;
    pub(crate) const GEN_SET_TEMPLATE: c_int = 3;
    pub(crate) const GEN_SET_PARAMS: c_int = 4;
    pub(crate) const GEN_SETTABLE_PARAMS: c_int = 5;
    pub(crate) const GEN: c_int = 6;
    pub(crate) const GEN_CLEANUP: c_int = 7;
    pub(crate) const LOAD: c_int = 8;
    pub(crate) const FREE: c_int = 10;
    pub(crate) const GET_PARAMS: c_int = 11;
    pub(crate) const GETTABLE_PARAMS: c_int = 12;
    pub(crate) const SET_PARAMS: c_int = 13;
    pub(crate) const SETTABLE_PARAMS: c_int = 14;
    pub(crate) const QUERY_OPERATION_NAME: c_int = 20;
    pub(crate) const HAS: c_int = 21;
    pub(crate) const VALIDATE: c_int = 22;
    pub(crate) const MATCH: c_int = 23;
    pub(crate) const IMPORT: c_int = 40;
    pub(crate) const IMPORT_TYPES: c_int = 41;
    pub(crate) const EXPORT: c_int = 42;
    pub(crate) const EXPORT_TYPES: c_int = 43;
    pub(crate) const DUP: c_int = 44;

    pub(crate) const PRIVATE_KEY: c_int = 0x01;
    pub(crate) const PUBLIC_KEY: c_int = 0x02;
    pub(crate) const KEYPAIR: c_int = PRIVATE_KEY | PUBLIC_KEY;
    pub(crate) const PARAMETERS: c_int = 0x84;
}

/// `OSSL_FUNC_KEYEXCH_…`.
pub(crate) mod keyexch {
    use std::ffi::c_int;

    pub(crate) const NEWCTX: c_int = 1;
    pub(crate) const INIT: c_int = 2;
    pub(crate) const DERIVE: c_int = 3;
    pub(crate) const SET_PEER: c_int = 4;
    pub(crate) const FREECTX: c_int = 5;
    pub(crate) const DUPCTX: c_int = 6;
    pub(crate) const SET_CTX_PARAMS: c_int = 7;
    pub(crate) const SETTABLE_CTX_PARAMS: c_int = 8;
}

/// `OSSL_FUNC_SIGNATURE_…`.
pub(crate) mod signature {
    use std::ffi::c_int;

    pub(crate) const NEWCTX: c_int = 1;
    pub(crate) const SIGN_INIT: c_int = 2;
    pub(crate) const SIGN: c_int = 3;
    pub(crate) const VERIFY_INIT: c_int = 4;
    pub(crate) const VERIFY: c_int = 5;
    pub(crate) const DIGEST_SIGN_INIT: c_int = 8;
    pub(crate) const DIGEST_SIGN_UPDATE: c_int = 9;
    pub(crate) const DIGEST_SIGN_FINAL: c_int = 10;
    pub(crate) const DIGEST_SIGN: c_int = 11;
    pub(crate) const DIGEST_VERIFY_INIT: c_int = 12;
    pub(crate) const DIGEST_VERIFY_UPDATE: c_int = 13;
    pub(crate) const DIGEST_VERIFY_FINAL: c_int = 14;
    pub(crate) const DIGEST_VERIFY: c_int = 15;
    pub(crate) const FREECTX: c_int = 16;
    pub(crate) const DUPCTX: c_int = 17;
    pub(crate) const GET_CTX_PARAMS: c_int = 18;
    pub(crate) const GETTABLE_CTX_PARAMS: c_int = 19;
    pub(crate) const SET_CTX_PARAMS: c_int = 20;
    pub(crate) const SETTABLE_CTX_PARAMS: c_int = 21;
}

/// `OSSL_FUNC_ASYM_CIPHER_…`.
pub(crate) mod asym_cipher {
    use std::ffi::c_int;

    pub(crate) const NEWCTX: c_int = 1;
    pub(crate) const ENCRYPT_INIT: c_int = 2;
    pub(crate) const ENCRYPT: c_int = 3;
    pub(crate) const DECRYPT_INIT: c_int = 4;
    pub(crate) const DECRYPT: c_int = 5;
    pub(crate) const FREECTX: c_int = 6;
    pub(crate) const DUPCTX: c_int = 7;
    pub(crate) const GET_CTX_PARAMS: c_int = 8;
    pub(crate) const GETTABLE_CTX_PARAMS: c_int = 9;
    pub(crate) const SET_CTX_PARAMS: c_int = 10;
    pub(crate) const SETTABLE_CTX_PARAMS: c_int = 11;
}

/// `OSSL_FUNC_DECODER_…`, and `OSSL_OBJECT_PKEY`.
pub(crate) mod decoder {
    use std::ffi::c_int;

    pub(crate) const NEWCTX: c_int = 1;
    pub(crate) const FREECTX: c_int = 2;
    pub(crate) const DOES_SELECTION: c_int = 10;
    pub(crate) const DECODE: c_int = 11;
    pub(crate) const EXPORT_OBJECT: c_int = 20;

    pub(crate) const OBJECT_PKEY: c_int = 2;
}
