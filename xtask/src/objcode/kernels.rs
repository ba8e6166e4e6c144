//! The kernels, what is secret of their arguments, and what their loops may do.

use super::{
    state::Level::{self, Public, Secret, ToAddresses, ToAnything, ToPublic, ToSecret},
    taint::What,
};

/// A function with a kernel in it.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    /// Arguments as they are passed in registers.
    pub(super) arguments: &'static [Level],
    /// At most that many stores of vectors to the stack: as counted when the kernel was last
    /// tuned, and a tenth more. A compiler that begins to spill more makes the kernel slower: look at it, then
    /// change the number.
    pub(super) spills: usize,
    /// Functions that it may call in a loop.
    pub(super) calls: &'static [&'static str],
    /// Whether the compiler may make it part of its caller: so for what only leads to a kernel.
    pub(super) inlined: bool,
}

/// The modules whose every function must be declared here.
pub(super) const MODULES: [&str; 6] = [
    "manylane::sm2::ifma::",
    "manylane::sm3::avx2::",
    "manylane::sm3::avx512::",
    "manylane::sm3::bmi2::",
    "manylane::sm3::body::",
    "manylane::sm3::sse::",
];

/// `(state, inputs, blocks)`: chaining values, addresses of the lanes' blocks, and their number.
const LANES: &[Level] = &[ToSecret, ToAddresses, Public];

/// `(state, block)`: chaining values and an expanded block that depends on a length alone.
const CONSTANT: &[Level] = &[ToSecret, ToPublic];

const fn kernel(name: &'static str, arguments: &'static [Level], spills: usize) -> Kernel {
    Kernel { name, arguments, spills, calls: &[], inlined: false }
}

/// What checks the lengths of the lanes' inputs and calls their kernel: `(kernel, state, inputs)`,
/// where the kernel's identity is the result.
const fn leading(name: &'static str) -> Kernel {
    let arguments = &[ToPublic, ToSecret, ToAddresses];
    Kernel { name, arguments, spills: 16, calls: &[], inlined: true }
}

/// `(state, counter, data, number of digests)`: counter blocks, whose words are public.
const COUNTERS: &[Level] = &[ToSecret, Public, ToSecret, Public];

/// `(state of the stream, state that the key stream starts from, counter, blocks, their number,
/// direction)`.
const BESIDE: &[Level] = &[ToSecret, ToSecret, Public, ToSecret, Public, Public];

/// `(entry, table, index)`.
const LOOKUP: &[Level] = &[ToAnything, ToPublic, Secret];

/// `(state, blocks, their number)`, and whether this processor has the quick `lea`.
const STREAM: &[Level] = &[ToSecret, ToSecret, Public, Public];

/// The few blocks of a short input are compressed by a call each.
const fn stream(name: &'static str) -> Kernel {
    let calls = &["manylane::sm3::bmi2::single_avx", "manylane::sm3::bmi2::single_avx512vl"];
    Kernel { name, arguments: STREAM, spills: 17, calls, inlined: false }
}

/// `(state, block)`: one block of a stream by itself.
const fn single(name: &'static str) -> Kernel {
    Kernel { name, arguments: &[ToSecret, ToSecret], spills: 8, calls: &[], inlined: true }
}

/// A step of eight multiples: points and elements, all secret, and the functions that it calls in a
/// loop.
const fn of_points(
    name: &'static str,
    arguments: &'static [Level],
    spills: usize,
    calls: &'static [&'static str],
) -> Kernel {
    Kernel { name, arguments, spills, calls, inlined: false }
}

const STEPS: &[&str] = &[
    "manylane::sm2::ifma::Point::double",
    "manylane::sm2::ifma::Point::plus",
    "manylane::sm2::ifma::Point::plus_affine",
    "manylane::sm2::ifma::Point::set_sum",
    "manylane::sm2::ifma::lookup",
    "manylane::sm2::ifma::lookup_base",
    "manylane::sm2::ifma::generator::entries",
];

pub(super) const KERNELS: &[Kernel] = &[
    // Sixteen registers hold eight words of state and little else: the sixteen words of the
    // message live on the stack by design.
    kernel("manylane::sm3::sse::compress", LANES, 96),
    kernel("manylane::sm3::sse::constant", CONSTANT, 10),
    kernel("manylane::sm3::avx2::compress", LANES, 172),
    kernel("manylane::sm3::avx2::constant", CONSTANT, 24),
    kernel("manylane::sm3::avx512::lanes", LANES, 7),
    kernel("manylane::sm3::avx512::constant", CONSTANT, 4),
    kernel("manylane::sm3::sse::counters", COUNTERS, 190),
    kernel("manylane::sm3::avx2::counters", COUNTERS, 105),
    kernel("manylane::sm3::avx512::counters", COUNTERS, 33),
    kernel("manylane::sm3::bmi2::beside::avx2::crypt_ymm", BESIDE, 308),
    kernel("manylane::sm3::bmi2::beside::avx512::crypt_zmm", BESIDE, 160),
    kernel("manylane::sm3::bmi2::beside::avx512::crypt_zmm_two_adds", BESIDE, 160),
    stream("manylane::sm3::bmi2::compress_avx2"),
    stream("manylane::sm3::bmi2::compress_zmm"),
    single("manylane::sm3::bmi2::single_avx"),
    single("manylane::sm3::bmi2::single_avx512vl"),
    kernel("manylane::sm2::field::bmi2::lookup_avx512", LOOKUP, 0),
    of_points("manylane::sm2::ifma::Point::double", &[ToSecret], 9, &[]),
    of_points("manylane::sm2::ifma::Point::plus", &[ToSecret; 4], 60, &[]),
    of_points("manylane::sm2::ifma::Point::plus_affine", &[ToSecret; 3], 11, &[]),
    of_points(
        "manylane::sm2::ifma::Point::set_sum",
        &[ToSecret, ToSecret, ToSecret, Secret, Secret],
        0,
        &[],
    ),
    of_points("manylane::sm2::ifma::Point::store", &[ToSecret; 2], 0, &[]),
    of_points("manylane::sm2::ifma::chord", &[ToSecret; 6], 17, &[]),
    of_points("manylane::sm2::ifma::lookup", &[ToSecret, Secret, ToSecret], 0, &[]),
    of_points("manylane::sm2::ifma::lookup_base", &[ToPublic, Secret, ToSecret], 0, &[]),
    of_points("manylane::sm2::ifma::tabulate", &[ToPublic, ToSecret], 0, STEPS),
    of_points(
        "manylane::sm2::ifma::multiples",
        &[ToSecret, ToPublic, ToSecret, ToSecret],
        22,
        STEPS,
    ),
    of_points("manylane::sm2::ifma::multiples_of_base", &[ToSecret; 2], 28, STEPS),
    of_points("manylane::sm2::ifma::generator::multiple", &[ToSecret; 3], 89, STEPS),
    // `(k, round, windows, their number, work)`.
    of_points(
        "manylane::sm2::ifma::generator::entries",
        &[ToSecret, Public, ToPublic, Public, ToSecret],
        0,
        &[],
    ),
    of_points(
        "manylane::sm2::ifma::generator::<impl manylane::sm2::ifma::Point>::affine_plus_affine",
        &[ToSecret; 3],
        23,
        &[],
    ),
    leading("manylane::sm3::sse::compress_lanes"),
    leading("manylane::sm3::avx2::compress_lanes"),
    leading("manylane::sm3::avx512::compress_lanes"),
];

/// A function of `crates/manylane-ct`, its arguments, and what must be found in it.
type Leak = (&'static str, &'static [Level], fn(&What) -> bool);

pub(super) const LEAKS: [Leak; 4] = [
    ("manylane_ct::leaks::branch", &[ToSecret, Public], |what| *what == What::Branch),
    ("manylane_ct::leaks::index", &[ToSecret, Public], |what| *what == What::Address),
    ("manylane_ct::leaks::division", &[ToSecret, Public], |what| *what == What::Latency),
    ("manylane_ct::valgrind::gather::gather_avx2", &[ToSecret, ToSecret, ToPublic], |what| {
        *what == What::Gather
    }),
];
