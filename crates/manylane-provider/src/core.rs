//! What OpenSSL's core offers a provider: its list of errors, and reading from BIOs.
#![allow(unsafe_code, reason = "the core's functions are called by their addresses")]

use std::{
    ffi::{CString, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
};

use zeroize::Zeroizing;

use crate::{
    abi::{self, Bio, Dispatch, Handle, Param, PasswordCallback},
    failure::Failure,
};

type GetParams = unsafe extern "C" fn(*const Handle, *mut Param) -> c_int;
type NewError = unsafe extern "C" fn(*const Handle);
type VsetError = unsafe extern "C" fn(*const Handle, u32, *const c_char, *mut c_void);
type ReadEx = unsafe extern "C" fn(*mut Bio, *mut c_void, usize, *mut usize) -> c_int;

/// The core's functions that are used, for one library context.
pub(crate) struct Upcalls {
    handle: *const Handle,
    /// The number before the first point of OpenSSL's version.
    version: u32,
    new_error: Option<NewError>,
    vset_error: Option<VsetError>,
    read_ex: Option<ReadEx>,
}

/// The provider in one library context. OpenSSL tears it down only when no method of it, and so no context or key, is left.
#[derive(Clone, Copy)]
pub(crate) struct Core(NonNull<Upcalls>);

// SAFETY: nothing changes the table once it is made, and the core's functions may be called by any thread. Keys have this in
// them, which threads share.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

/// Room for the longest password that is asked for.
const MAX_PASSWORD_LEN: usize = 1024;

impl Core {
    /// Takes the functions from the core's table.
    ///
    /// # Safety
    /// `table` ends with a zero.
    pub(crate) unsafe fn new(handle: *const Handle, mut table: *const Dispatch) -> Self {
        let mut upcalls =
            Upcalls { handle, version: 3, new_error: None, vset_error: None, read_ex: None };
        // SAFETY: up to the zero there are entries, and each number says which type its function has.
        unsafe {
            while (*table).id != 0 {
                let function = (*table).function;
                match (*table).id {
                    abi::core::GET_PARAMS => {
                        let get = mem::transmute::<*const c_void, Option<GetParams>>(function);
                        if let Some(version) = get.and_then(|get| major_version(handle, get)) {
                            upcalls.version = version;
                        }
                    }
                    abi::core::NEW_ERROR => {
                        upcalls.new_error =
                            mem::transmute::<*const c_void, Option<NewError>>(function);
                    }
                    abi::core::VSET_ERROR => {
                        upcalls.vset_error =
                            mem::transmute::<*const c_void, Option<VsetError>>(function);
                    }
                    abi::core::BIO_READ_EX => {
                        upcalls.read_ex = mem::transmute::<*const c_void, Option<ReadEx>>(function);
                    }
                    _ => {}
                }
                table = table.add(1);
            }
        }
        Core(NonNull::from(Box::leak(Box::new(upcalls))))
    }

    /// The address that OpenSSL keeps.
    pub(crate) fn into_raw(self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// From that address.
    ///
    /// # Safety
    /// It is from [`into_raw`](Self::into_raw), and the provider has not been torn down.
    pub(crate) unsafe fn from_raw(context: *mut c_void) -> Option<Self> {
        NonNull::new(context.cast()).map(Core)
    }

    /// The end of the provider.
    ///
    /// # Safety
    /// Nothing of it is used again.
    pub(crate) unsafe fn teardown(self) {
        // SAFETY: it was leaked by `new`.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }

    fn upcalls(&self) -> &Upcalls {
        // SAFETY: see the type's comment.
        unsafe { self.0.as_ref() }
    }

    /// The number before the first point of OpenSSL's version.
    pub(crate) fn version(self) -> u32 {
        self.upcalls().version
    }

    /// 1, or 0 with the failure on the list of errors.
    pub(crate) fn report(self, done: Result<(), Failure>) -> c_int {
        match done {
            Ok(()) => 1,
            Err(failure) => {
                self.raise(&failure);
                0
            }
        }
    }

    /// Puts a failure on the list of errors.
    pub(crate) fn raise(self, failure: &Failure) {
        let upcalls = self.upcalls();
        let (Some(new_error), Some(vset_error)) = (upcalls.new_error, upcalls.vset_error) else {
            return;
        };
        // As the text is a format, percent signs are doubled. It takes no arguments, so none are ever read, and any
        // `va_list` will do: on x86-64 and AArch64 it comes as an address of at most 32 bytes.
        let detail = failure.detail().and_then(|text| CString::new(text.replace('%', "%%")).ok());
        let format = detail.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let mut arguments = [0u64; 4];
        // SAFETY: the functions are the core's, the text lives on to the end of the call.
        unsafe {
            new_error(upcalls.handle);
            vset_error(upcalls.handle, failure.number(), format, arguments.as_mut_ptr().cast());
        }
    }

    /// Reads until `data` are full or nothing more comes; says how many bytes came.
    ///
    /// # Safety
    /// `bio` is the core's.
    pub(crate) unsafe fn read(self, bio: *mut Bio, data: &mut [u8]) -> usize {
        let mut count = 0;
        let Some(read_ex) = self.upcalls().read_ex else { return 0 };
        while count < data.len() {
            let rest = &mut data[count..];
            let mut read = 0;
            // SAFETY: the function is the core's, and there is as much room as it is told.
            let done = unsafe { read_ex(bio, rest.as_mut_ptr().cast(), rest.len(), &mut read) };
            if done != 1 || read == 0 || read > rest.len() {
                break;
            }
            count += read;
        }
        count
    }
}

/// # Safety
/// Both are the core's.
unsafe fn major_version(handle: *const Handle, get: GetParams) -> Option<u32> {
    let mut version: *const c_char = ptr::null();
    let data = ptr::from_mut(&mut version).cast();
    let asked = Param { data, ..Param::described(c"openssl-version", abi::TEXT_PTR) };
    let mut list = [asked, Param::END];
    // SAFETY: as the caller says; there is room for an address, and what is there then is a text.
    let text = unsafe {
        if get(handle, list.as_mut_ptr()) != 1 {
            return None;
        }
        crate::params::text(version)?
    };
    text.split('.').next()?.parse().ok()
}

/// How to ask for a password.
#[derive(Clone, Copy)]
pub(crate) struct Passwords {
    pub(crate) callback: Option<PasswordCallback>,
    pub(crate) argument: *mut c_void,
}

impl Passwords {
    /// The password; none if there is nobody to ask, or no answer.
    ///
    /// # Safety
    /// The callback is the core's, with its argument.
    pub(crate) unsafe fn ask(self) -> Option<Zeroizing<Vec<u8>>> {
        let callback = self.callback?;
        let mut password = Zeroizing::new(vec![0; MAX_PASSWORD_LEN]);
        let mut len = 0;
        let nothing = Param::END;
        // SAFETY: there is as much room as the function is told; the list of parameters is empty.
        let done = unsafe {
            callback(
                password.as_mut_ptr().cast(),
                MAX_PASSWORD_LEN,
                &mut len,
                &nothing,
                self.argument,
            )
        };
        if done != 1 || len > MAX_PASSWORD_LEN {
            return None;
        }
        password.truncate(len);
        Some(password)
    }
}
