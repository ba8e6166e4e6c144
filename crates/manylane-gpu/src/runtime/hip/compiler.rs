//! hipRTC, AMD's run-time compiler.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    fmt, ptr,
    sync::OnceLock,
};

use super::library::{self, functions};
use crate::runtime::library::open;

/// Where hipRTC is if the HIP library does not have it: up to HIP 6 it does, from 7 on it does not.
const NAMES: [&str; 6] = [
    "libhiprtc.so.7",
    "libhiprtc.so.6",
    "libhiprtc.so.5",
    "libhiprtc.so",
    "/opt/rocm/lib/libhiprtc.so",
    "/opt/dtk/hip/lib/libhiprtc.so",
];

const SUCCESS: c_int = 0;

type Program = *mut c_void;

functions! {
    /// Functions of the compiler.
    Functions {
        hiprtcVersion(*mut c_int, *mut c_int) -> c_int;
        hiprtcGetErrorString(c_int) -> *const c_char;
        hiprtcCreateProgram(
            *mut Program, *const c_char, *const c_char,
            c_int, *const *const c_char, *const *const c_char
        ) -> c_int;
        hiprtcCompileProgram(Program, c_int, *const *const c_char) -> c_int;
        hiprtcGetProgramLogSize(Program, *mut usize) -> c_int;
        hiprtcGetProgramLog(Program, *mut c_char) -> c_int;
        hiprtcGetCodeSize(Program, *mut usize) -> c_int;
        hiprtcGetCode(Program, *mut c_char) -> c_int;
        hiprtcDestroyProgram(*mut Program) -> c_int;
    }
}

/// The loaded compiler.
pub(crate) struct Compiler {
    functions: Functions,
    version: (c_int, c_int),
    /// Which HIP it came with, as far as that can be told.
    origin: String,
}

/// What is compiled: a source, and the files that it includes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// The source's name, for messages.
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    /// Name and text of each.
    pub(crate) headers: &'a [(&'a str, &'a str)],
}

/// Why something of the compiler did not work: its own words.
type Failure = String;

impl Compiler {
    /// The compiler of this machine, loaded on first use.
    ///
    /// # Errors
    /// What was looked for.
    pub(crate) fn get() -> Result<&'static Self, Failure> {
        static COMPILER: OnceLock<Result<Compiler, Failure>> = OnceLock::new();
        COMPILER.get_or_init(Compiler::load).as_ref().map_err(Clone::clone)
    }

    /// Prefers the compiler inside the HIP library, which is of the same release as that.
    fn load() -> Result<Self, Failure> {
        let (hip_name, hip) = open(&library::NAMES)?;
        let hip_version = library::runtime_version(&hip);
        // SAFETY: a library of that name is AMD's or Hygon's, and it is never closed.
        let (name, functions) = match unsafe { Functions::find(&hip) } {
            Ok(functions) => (hip_name, functions),
            Err(_) => {
                let (name, library) = open(&newest_not_above(hip_version))?;
                // SAFETY: as above.
                let functions = unsafe { Functions::find(&library) };
                std::mem::forget(library);
                (name, functions.map_err(|missing| format!("{name} has no {missing}"))?)
            }
        };
        std::mem::forget(hip);
        let mut compiler = Compiler { functions, version: (0, 0), origin: String::new() };
        let (major, minor) = (&mut compiler.version.0, &mut compiler.version.1);
        // SAFETY: writes two integers.
        let code = unsafe { (compiler.functions.hiprtcVersion)(major, minor) };
        compiler.check("hiprtcVersion", code)?;
        compiler.origin = format!("{name} of HIP {}", library::version_text(hip_version));
        Ok(compiler)
    }

    /// Which compiler it is, for messages and for telling its output from another's. hipRTC's own
    /// version says little: it has been 9.0 through several releases of HIP.
    pub(crate) fn identity(&self) -> String {
        format!("hipRTC {}.{}, {}", self.version.0, self.version.1, self.origin)
    }

    /// Compiles for the architecture that the options name, and gives the code object.
    ///
    /// # Errors
    /// The compiler's log.
    pub(crate) fn compile(
        &self,
        from: Sources<'_>,
        options: &[String],
    ) -> Result<Vec<u8>, Failure> {
        let options =
            options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let program = self.program(from)?;
        let count = c_int::try_from(options.len()).unwrap_or(c_int::MAX);
        // SAFETY: the program lives, and the options are so many strings.
        let code = unsafe {
            (self.functions.hiprtcCompileProgram)(program.handle, count, options.as_ptr())
        };
        if let Err(failure) = self.check("hiprtcCompileProgram", code) {
            let log = program.log();
            let log = log.trim();
            return Err(if log.is_empty() { failure } else { format!("{failure}\n{log}") });
        }
        program.code()
    }

    fn program(&self, from: Sources<'_>) -> Result<Owned<'_>, Failure> {
        let (name, source) = (c_string(from.name)?, c_string(from.source)?);
        let headers =
            from.headers.iter().map(|(name, text)| Ok((c_string(name)?, c_string(text)?)));
        let headers = headers.collect::<Result<Vec<_>, Failure>>()?;
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<_> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let count = c_int::try_from(headers.len()).unwrap_or(c_int::MAX);
        let mut handle = ptr::null_mut();
        // SAFETY: all strings live until the call returns, which copies them.
        let code = unsafe {
            (self.functions.hiprtcCreateProgram)(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        self.check("hiprtcCreateProgram", code)?;
        Ok(Owned { compiler: self, handle })
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), Failure> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: gives static text, or null, for any code.
        let text = unsafe { library::text((self.functions.hiprtcGetErrorString)(code)) };
        Err(format!("{call} failed: {text} ({code})"))
    }
}

/// A program of the compiler, destroyed when dropped.
struct Owned<'a> {
    compiler: &'a Compiler,
    handle: Program,
}

impl Owned<'_> {
    fn log(&self) -> String {
        let functions = &self.compiler.functions;
        let mut len = 0;
        // SAFETY: the program lives.
        if unsafe { (functions.hiprtcGetProgramLogSize)(self.handle, &mut len) } != SUCCESS {
            return String::new();
        }
        // One more: some versions do not count the final zero.
        let mut log = vec![0u8; len + 1];
        // SAFETY: there is room for so many bytes.
        let code = unsafe { (functions.hiprtcGetProgramLog)(self.handle, log.as_mut_ptr().cast()) };
        if code != SUCCESS {
            return String::new();
        }
        log.truncate(log.iter().position(|&byte| byte == 0).unwrap_or(len));
        String::from_utf8_lossy(&log).into_owned()
    }

    fn code(&self) -> Result<Vec<u8>, Failure> {
        let functions = &self.compiler.functions;
        let mut len = 0;
        // SAFETY: the program lives.
        let code = unsafe { (functions.hiprtcGetCodeSize)(self.handle, &mut len) };
        self.compiler.check("hiprtcGetCodeSize", code)?;
        let mut object = vec![0u8; len];
        // SAFETY: there is room for so many bytes.
        let code = unsafe { (functions.hiprtcGetCode)(self.handle, object.as_mut_ptr().cast()) };
        self.compiler.check("hiprtcGetCode", code)?;
        if object.is_empty() { Err("hiprtcGetCode gave no code".into()) } else { Ok(object) }
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `program`, destroyed once.
        unsafe { (self.compiler.functions.hiprtcDestroyProgram)(&mut self.handle) };
    }
}

/// The names without those of releases newer than the HIP library, which would bring a runtime of
/// their own.
fn newest_not_above(hip_version: c_int) -> Vec<&'static str> {
    let major = hip_version / 10_000_000;
    let newer = |name: &str| {
        let number = name.rsplit("so.").next().and_then(|number| number.parse::<c_int>().ok());
        number.is_some_and(|number| number > major)
    };
    NAMES.into_iter().filter(|name| !newer(name)).collect()
}

fn c_string(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| "a zero byte in what is to be compiled".into())
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiler({})", self.identity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_newer_than_the_runtime_is_not_taken() {
        assert_eq!(newest_not_above(70_000_000), NAMES);
        assert_eq!(newest_not_above(60_443_483), NAMES[1..]);
        assert_eq!(newest_not_above(50_221_153), NAMES[2..]);
    }
}
