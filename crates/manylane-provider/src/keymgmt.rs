//! Management of SM2 keys: making, checking, and handing over in parts.
#![allow(unsafe_code, reason = "keys come as addresses")]

use std::ffi::{c_char, c_int, c_void};

use manylane::sm2::SecretKey;

use crate::{
    abi::{Algorithm, Callback, Dispatch, Param, described, keymgmt as id, operation},
    core::Core,
    entry::{self, Context, entries, with, with_shared},
    failure::{Failure, Reason},
    key::{self, Key, Style, check_group},
    params::{Asked, Params},
};

/// A key that is to be made.
struct Generation {
    core: Core,
    selection: c_int,
    style: Style,
}

impl Generation {
    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        check_group(params)?;
        self.style.set(params)
    }
}

impl Context for Generation {
    fn core(&self) -> Core {
        self.core
    }
}

/// The curve's numbers (GB/T 32918.5-2017, clause 3): p, a, b and n; and its generator's coordinates.
const P: [u8; 32] = hex(b"FFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000FFFFFFFFFFFFFFFF");
const A: [u8; 32] = hex(b"FFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000FFFFFFFFFFFFFFFC");
const B: [u8; 32] = hex(b"28E9FA9E9D9F5E344D5A9E4BCF6509A7F39789F515AB8F92DDBCBD414D940E93");
const N: [u8; 32] = hex(b"FFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFF7203DF6B21C6052B53BBF40939D54123");
const G: [[u8; 32]; 2] = [
    hex(b"32C4AE2C1F1981195F9904466A39C9948FE30BBFF2660BE1715A4589334C74C7"),
    hex(b"BC3736A2F4F6779C59BDCEE36B692153D0A9877CC62A474002DF32E52139F0A0"),
];

const fn hex(digits: &[u8; 64]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 64 {
        let digit = match digits[i] {
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'A'..=b'F' => digit - b'A' + 10,
            _ => panic!("no digit"),
        };
        bytes[i / 2] = bytes[i / 2] << 4 | digit;
        i += 1;
    }
    bytes
}

/// Tells what is asked of a key.
fn tell(key: &Key, mut asked: Asked<'_>) -> Result<(), Failure> {
    asked.number(c"bits", 256)?;
    asked.number(c"security-bits", 128)?;
    // A signature in DER at most.
    asked.number(c"max-size", 72)?;
    asked.text(c"default-digest", c"SM3")?;
    asked.text(c"group", key::NAME)?;
    asked.text(c"encoding", key.style.encoding_name())?;
    asked.text(c"point-format", key.style.form_name())?;
    asked.text(c"field-type", c"prime-field")?;
    for (name, number) in [(c"p", &P), (c"a", &A), (c"b", &B), (c"order", &N)] {
        asked.big_number(name, number)?;
    }
    asked.big_number(c"cofactor", &[1])?;
    if asked.has(c"generator") {
        let generator = key::point(&[&[0x04][..], &G[0], &G[1]].concat())?;
        asked.octets(c"generator", &key.style.point(&generator))?;
    }
    asked.number(c"decoded-from-explicit", 0)?;
    if let Ok(public) = key.public() {
        let point = public.to_sec1_bytes();
        asked.octets(c"pub", &key.style.point(public))?;
        asked.octets(c"encoded-pub-key", &point)?;
        asked.big_number(c"qx", &point[1..33])?;
        asked.big_number(c"qy", &point[33..])?;
    }
    if let Ok(secret) = key.secret()
        && asked.has(c"priv")
    {
        asked.big_number(c"priv", &secret.to_bytes()[..])?;
    }
    Ok(())
}

entries! {
    fn new(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Key::empty(core)),
            None => std::ptr::null_mut(),
        }
    }

    fn free(key: *mut c_void) {
        // SAFETY: OpenSSL frees each key once.
        unsafe { entry::free::<Key>(key) }
    }

    fn dup(key: *const c_void, selection: c_int) -> *mut c_void {
        // SAFETY: it is null or a key.
        match unsafe { key.cast::<Key>().as_ref() } {
            Some(key) => entry::give(key.part(selection)),
            None => std::ptr::null_mut(),
        }
    }

    fn gen_init(context: *mut c_void, selection: c_int, params: *const Param) -> *mut c_void {
        // SAFETY: it is the provider's context; the list has an end.
        let (core, params) = unsafe { (Core::from_raw(context), Params::new(params)) };
        let Some(core) = core else { return std::ptr::null_mut() };
        let mut generation = Generation { core, selection, style: Style::default() };
        match core.report(generation.set(params)) {
            1 => entry::give(generation),
            _ => std::ptr::null_mut(),
        }
    }

    fn gen_set_template(_generation: *mut c_void, template: *mut c_void) -> c_int {
        // Whatever key it is, its curve is the one there is.
        c_int::from(!template.is_null())
    }

    fn gen_set_params(generation: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: it is from `gen_init`; the list has an end.
        unsafe { with(generation, |generation: &mut Generation| generation.set(Params::new(params))) }
    }

    fn gen_settable_params(_generation: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"group": TEXT, c"encoding": TEXT, c"point-format": TEXT]
    }

    fn generate(generation: *mut c_void, _callback: Option<Callback>, _argument: *mut c_void) -> *mut c_void {
        let mut key = std::ptr::null_mut();
        // SAFETY: it is from `gen_init`.
        unsafe {
            with(generation, |generation: &mut Generation| {
                let mut made = match generation.selection & id::KEYPAIR {
                    0 => Key::empty(generation.core),
                    _ => Key::of_secret(generation.core, SecretKey::generate()?),
                };
                made.style = generation.style;
                key = entry::give(made);
                Ok(())
            });
        }
        key
    }

    fn gen_cleanup(generation: *mut c_void) {
        // SAFETY: it is from `gen_init`, and not used again.
        unsafe { entry::free::<Generation>(generation) }
    }

    fn load(reference: *const c_void, len: usize) -> *mut c_void {
        if reference.is_null() || len != size_of::<*mut c_void>() {
            return std::ptr::null_mut();
        }
        // SAFETY: it is the place that our decoder put a key's address in; whoever takes the key leaves null there.
        unsafe { reference.cast_mut().cast::<*mut c_void>().replace(std::ptr::null_mut()) }
    }

    fn get_params(key: *mut c_void, list: *mut Param) -> c_int {
        // SAFETY: it is a key; the list has an end.
        unsafe { with_shared(key, |key: &Key| tell(key, Asked::new(list))) }
    }

    fn gettable_params(_context: *mut c_void) -> *const Param {
        described![
            c"bits": INTEGER, c"security-bits": INTEGER, c"max-size": INTEGER, c"default-digest": TEXT,
            c"group": TEXT, c"encoding": TEXT, c"point-format": TEXT, c"field-type": TEXT,
            c"decoded-from-explicit": INTEGER, c"pub": OCTETS, c"encoded-pub-key": OCTETS,
            c"qx": UNSIGNED, c"qy": UNSIGNED, c"priv": UNSIGNED,
            c"p": UNSIGNED, c"a": UNSIGNED, c"b": UNSIGNED, c"generator": OCTETS, c"order": UNSIGNED,
            c"cofactor": UNSIGNED,
        ]
    }

    fn set_params(key: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: it is a key; the list has an end.
        unsafe {
            with(key, |key: &mut Key| {
                let params = Params::new(params);
                key.style.set(params)?;
                match params.octets(c"encoded-pub-key")? {
                    Some(point) => key.set_public(point),
                    None => Ok(()),
                }
            })
        }
    }

    fn settable_params(_context: *mut c_void) -> *const Param {
        described![
            c"encoded-pub-key": OCTETS, c"point-format": TEXT, c"encoding": TEXT, c"include-public": INTEGER,
        ]
    }

    fn query_operation_name(id: c_int) -> *const c_char {
        match id {
            operation::SIGNATURE | operation::ASYM_CIPHER | operation::KEYEXCH => key::NAME.as_ptr(),
            _ => std::ptr::null(),
        }
    }

    fn has(key: *const c_void, selection: c_int) -> c_int {
        // SAFETY: it is null or a key.
        c_int::from(unsafe { key.cast::<Key>().as_ref() }.is_some_and(|key| key.has(selection)))
    }

    fn validate(key: *const c_void, selection: c_int, _kind: c_int) -> c_int {
        // Numbers out of range, points beside the curve and halves that do not belong together were refused when they came.
        // SAFETY: it is a key.
        unsafe {
            with_shared(key, |key: &Key| match key.has(selection) {
                true => Ok(()),
                false if selection & id::PRIVATE_KEY != 0 => Err(Reason::SecretMissing.into()),
                false => Err(Reason::PublicMissing.into()),
            })
        }
    }

    fn matches(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
        // SAFETY: they are null or keys.
        match unsafe { (one.cast::<Key>().as_ref(), other.cast::<Key>().as_ref()) } {
            (Some(one), Some(other)) => c_int::from(one.matches(other, selection)),
            _ => 0,
        }
    }

    fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
        // SAFETY: it is a key; the list has an end.
        unsafe { with(key, |key: &mut Key| key.import(selection, Params::new(params))) }
    }

    fn export(key: *mut c_void, selection: c_int, callback: Option<Callback>, argument: *mut c_void) -> c_int {
        let mut taken = 0;
        // SAFETY: it is a key; the callback is the core's.
        unsafe {
            with_shared(key, |key: &Key| {
                if let Some(callback) = callback {
                    taken = key.export(selection).hand_over(callback, argument);
                }
                Ok(())
            });
        }
        taken
    }

    fn types(selection: c_int) -> *const Param {
        let (group, keys) = (selection & id::PARAMETERS != 0, selection & id::KEYPAIR != 0);
        match (group, keys, selection & id::PRIVATE_KEY != 0) {
            (true, true, true) => described![
                c"group": TEXT, c"encoding": TEXT, c"point-format": TEXT, c"include-public": INTEGER,
                c"pub": OCTETS, c"priv": UNSIGNED,
            ],
            (true, true, false) => described![
                c"group": TEXT, c"encoding": TEXT, c"point-format": TEXT, c"pub": OCTETS,
            ],
            (true, false, _) => described![c"group": TEXT, c"encoding": TEXT, c"point-format": TEXT],
            (false, true, true) => described![c"pub": OCTETS, c"priv": UNSIGNED],
            (false, true, false) => described![c"pub": OCTETS],
            (false, false, _) => std::ptr::null(),
        }
    }
}

static FUNCTIONS: [Dispatch; 23] = [
    Dispatch::new(id::NEW, new as *const ()),
    Dispatch::new(id::FREE, free as *const ()),
    Dispatch::new(id::DUP, dup as *const ()),
    Dispatch::new(id::GEN_INIT, gen_init as *const ()),
    Dispatch::new(id::GEN_SET_TEMPLATE, gen_set_template as *const ()),
    Dispatch::new(id::GEN_SET_PARAMS, gen_set_params as *const ()),
    Dispatch::new(id::GEN_SETTABLE_PARAMS, gen_settable_params as *const ()),
    Dispatch::new(id::GEN, generate as *const ()),
    Dispatch::new(id::GEN_CLEANUP, gen_cleanup as *const ()),
    Dispatch::new(id::LOAD, load as *const ()),
    Dispatch::new(id::GET_PARAMS, get_params as *const ()),
    Dispatch::new(id::GETTABLE_PARAMS, gettable_params as *const ()),
    Dispatch::new(id::SET_PARAMS, set_params as *const ()),
    Dispatch::new(id::SETTABLE_PARAMS, settable_params as *const ()),
    Dispatch::new(id::QUERY_OPERATION_NAME, query_operation_name as *const ()),
    Dispatch::new(id::HAS, has as *const ()),
    Dispatch::new(id::VALIDATE, validate as *const ()),
    Dispatch::new(id::MATCH, matches as *const ()),
    Dispatch::new(id::IMPORT, import as *const ()),
    Dispatch::new(id::IMPORT_TYPES, types as *const ()),
    Dispatch::new(id::EXPORT, export as *const ()),
    Dispatch::new(id::EXPORT_TYPES, types as *const ()),
    Dispatch::END,
];

pub(crate) static ALGORITHMS: [Algorithm; 2] = [
    Algorithm::new(
        c"SM2:1.2.156.10197.1.301",
        crate::provider::PROPERTIES,
        &FUNCTIONS,
        c"manylane's SM2 keys",
    ),
    Algorithm::END,
];
