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
pub(super) const MODULES: [&str; 18] = [
    "manylane::aes::aesni::",
    "manylane::aes::vaes::",
    "manylane::ghash::pclmul::",
    "manylane::ghash::vpclmul::",
    "manylane::sha3::avx2::",
    "manylane::sha3::avx512::",
    "manylane::sha3::bmi2::",
    "manylane::sha3::body::",
    "manylane::sm2::ifma::",
    "manylane::sm3::avx2::",
    "manylane::sm3::avx512::",
    "manylane::sm3::bmi2::",
    "manylane::sm3::body::",
    "manylane::sm3::sse::",
    "manylane::sm4::aesni::",
    "manylane::sm4::avx2::",
    "manylane::sm4::body::",
    "manylane::sm4::gfni::",
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

/// `(states, inputs, rounds, rate, blocks)`: addresses of the lanes' blocks, and how many there are.
const SPONGES: &[Level] = &[ToSecret, ToAddresses, Public, Public, Public];

/// `(state or states, rounds)`.
const PERMUTATION: &[Level] = &[ToSecret, Public];

/// What checks the lengths of the lanes' inputs and calls their kernel: `(kernel, states, rounds, rate,
/// inputs)`, where the kernel's identity is the result.
const fn leading_sponges(name: &'static str) -> Kernel {
    let arguments = &[ToPublic, ToSecret, Public, Public, ToAddresses];
    Kernel { name, arguments, spills: 16, calls: &[], inlined: true }
}

/// The same for one stream: `(kernel, state, rounds, rate, blocks, length)`. What follows the call of a panic, which does
/// not return, looks like a way back to the beginning, and so the one call of the kernel like a loop's.
const fn leading_sponge(name: &'static str, kernels: &'static [&'static str]) -> Kernel {
    let arguments = &[ToPublic, ToSecret, Public, Public, ToSecret, Public];
    Kernel { name, arguments, spills: 16, calls: kernels, inlined: true }
}

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

/// What checks nothing and leads to a kernel with the same arguments.
const fn to_kernel(name: &'static str, arguments: &'static [Level]) -> Kernel {
    Kernel { name, arguments, spills: 0, calls: &[], inlined: true }
}

/// `(keys, blocks, their number)`.
const ECB: &[Level] = &[ToSecret, ToSecret, Public];

/// `(keys, counter or IV, blocks, their number)`.
const CHAINED: &[Level] = &[ToSecret, ToSecret, ToSecret, Public];

/// `(keys, order, tweak, blocks, their number)`.
const XTS: &[Level] = &[ToSecret, Public, ToSecret, ToSecret, Public];

/// `(keys of lanes, their IVs, places)`.
const STREAMS: &[Level] = &[ToSecret, ToSecret, ToAddresses];

/// `(powers of H, hash, blocks, their number)`.
const GHASH: &[Level] = &[ToSecret, ToSecret, ToSecret, Public];

/// `(keys, powers of H, hash, counter, blocks, their number)`.
const GCM: &[Level] = &[ToSecret, ToSecret, ToSecret, ToPublic, ToSecret, Public];

pub(super) const KERNELS: &[Kernel] = &[
    kernel("manylane::aes::aesni::encrypt_blocks::kernel", ECB, 19),
    kernel("manylane::aes::aesni::decrypt_blocks::kernel", ECB, 19),
    kernel("manylane::aes::aesni::xor_counters::kernel", CHAINED, 29),
    kernel("manylane::aes::aesni::cbc_decrypt::kernel", CHAINED, 27),
    kernel("manylane::aes::aesni::cfb_decrypt::kernel", CHAINED, 23),
    // Round keys are kept on the stack, where sixteen registers do not hold them; XTS has eight blocks, and eight
    // tweaks beside them.
    kernel("manylane::aes::aesni::xts_encrypt::kernel", XTS, 130),
    kernel("manylane::aes::aesni::xts_decrypt::kernel", XTS, 130),
    kernel("manylane::aes::aesni::encrypt_block::kernel", &[ToSecret, ToSecret], 2),
    kernel("manylane::aes::aesni::cbc_encrypt::kernel", CHAINED, 4),
    kernel("manylane::aes::aesni::cfb_encrypt::kernel", CHAINED, 4),
    kernel("manylane::aes::aesni::ofb_xor::kernel", CHAINED, 4),
    kernel("manylane::aes::aesni::expand_into", &[ToSecret, Public, ToSecret], 2),
    kernel("manylane::aes::aesni::cbc_mac::kernel", CHAINED, 4),
    kernel("manylane::aes::aesni::cbc_places::kernel", STREAMS, 134),
    kernel("manylane::aes::vaes::encrypt_blocks::kernel", ECB, 4),
    kernel("manylane::aes::vaes::decrypt_blocks::kernel", ECB, 4),
    kernel("manylane::aes::vaes::xor_counters::kernel", CHAINED, 4),
    kernel("manylane::aes::vaes::cbc_decrypt::kernel", CHAINED, 5),
    kernel("manylane::aes::vaes::cfb_decrypt::kernel", CHAINED, 5),
    kernel("manylane::aes::vaes::xts_encrypt::kernel", XTS, 38),
    kernel("manylane::aes::vaes::xts_decrypt::kernel", XTS, 38),
    kernel("manylane::aes::vaes::gcm::encrypt_groups", GCM, 22),
    kernel("manylane::aes::vaes::gcm::decrypt_groups", GCM, 18),
    kernel("manylane::aes::vaes::cbc_places::kernel", STREAMS, 109),
    kernel("manylane::ghash::pclmul::kernel", GHASH, 12),
    kernel("manylane::ghash::pclmul::fill_powers", &[ToSecret, Public], 2),
    kernel("manylane::ghash::vpclmul::kernel", GHASH, 5),
    to_kernel("manylane::aes::aesni::encrypt_blocks", ECB),
    to_kernel("manylane::aes::aesni::decrypt_blocks", ECB),
    to_kernel("manylane::aes::aesni::xor_counters", CHAINED),
    to_kernel("manylane::aes::aesni::cbc_decrypt", CHAINED),
    to_kernel("manylane::aes::aesni::cfb_decrypt", CHAINED),
    to_kernel("manylane::aes::aesni::xts_encrypt", XTS),
    to_kernel("manylane::aes::aesni::xts_decrypt", XTS),
    to_kernel("manylane::aes::aesni::cbc_places", STREAMS),
    to_kernel("manylane::aes::vaes::encrypt_blocks", ECB),
    to_kernel("manylane::aes::vaes::decrypt_blocks", ECB),
    to_kernel("manylane::aes::vaes::xor_counters", CHAINED),
    to_kernel("manylane::aes::vaes::cbc_decrypt", CHAINED),
    to_kernel("manylane::aes::vaes::cfb_decrypt", CHAINED),
    to_kernel("manylane::aes::vaes::xts_encrypt", XTS),
    to_kernel("manylane::aes::vaes::xts_decrypt", XTS),
    to_kernel("manylane::aes::vaes::cbc_places", STREAMS),
    to_kernel("manylane::aes::aesni::cbc_encrypt", CHAINED),
    to_kernel("manylane::aes::aesni::cfb_encrypt", CHAINED),
    to_kernel("manylane::aes::aesni::ofb_xor", CHAINED),
    to_kernel("manylane::aes::aesni::cbc_mac", CHAINED),
    to_kernel("manylane::aes::aesni::encrypt_block", &[ToSecret, ToSecret]),
    to_kernel("manylane::aes::aesni::expand_key", &[ToSecret, ToSecret, Public]),
    to_kernel("manylane::aes::vaes::gcm::encrypt", GCM),
    to_kernel("manylane::aes::vaes::gcm::decrypt", GCM),
    to_kernel("manylane::ghash::pclmul::fill", &[ToSecret, ToSecret, Public]),
    to_kernel("manylane::ghash::pclmul::prepare", &[ToSecret, ToSecret]),
    to_kernel("manylane::ghash::pclmul::update", GHASH),
    to_kernel("manylane::ghash::vpclmul::prepare", &[ToSecret, ToSecret]),
    to_kernel("manylane::ghash::vpclmul::update", GHASH),
    // Sixteen registers hold eight words of state and little else: the sixteen words of the
    // message live on the stack by design.
    kernel("manylane::sm3::sse::compress", LANES, 96),
    kernel("manylane::sm3::sse::constant", CONSTANT, 10),
    // Sixteen registers hold no more than a part of 25 words.
    kernel("manylane::sha3::avx2::absorb_four", SPONGES, 108),
    kernel("manylane::sha3::avx2::permute_four", PERMUTATION, 72),
    kernel("manylane::sha3::avx512::absorb_eight", SPONGES, 42),
    kernel("manylane::sha3::avx512::permute_eight", PERMUTATION, 15),
    // `(state, blocks, rounds, rate, length)`.
    kernel(
        "manylane::sha3::avx512::state::absorb_blocks",
        &[ToSecret, ToSecret, Public, Public, Public],
        0,
    ),
    kernel("manylane::sha3::avx512::state::permute_state", PERMUTATION, 0),
    // `(state, rounds, rate, blocks, length)`.
    kernel("manylane::sha3::bmi2::absorb_blocks", &[ToSecret, Public, Public, ToSecret, Public], 0),
    kernel("manylane::sha3::bmi2::permute_state", PERMUTATION, 0),
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
    // Four groups of vectors side by side, and six tables, in sixteen registers.
    kernel("manylane::sm4::aesni::encrypt_blocks::kernel", ECB, 70),
    kernel("manylane::sm4::aesni::decrypt_blocks::kernel", ECB, 71),
    kernel("manylane::sm4::aesni::xor_counters::kernel", CHAINED, 70),
    kernel("manylane::sm4::aesni::cbc_decrypt::kernel", CHAINED, 85),
    kernel("manylane::sm4::aesni::cfb_decrypt::kernel", CHAINED, 82),
    kernel("manylane::sm4::aesni::xts_encrypt::kernel", XTS, 215),
    kernel("manylane::sm4::aesni::xts_decrypt::kernel", XTS, 218),
    kernel("manylane::sm4::aesni::encrypt_block::kernel", &[ToSecret, ToSecret], 5),
    kernel("manylane::sm4::aesni::cbc_encrypt::kernel", CHAINED, 9),
    kernel("manylane::sm4::aesni::cfb_encrypt::kernel", CHAINED, 11),
    kernel("manylane::sm4::aesni::ofb_xor::kernel", CHAINED, 11),
    kernel("manylane::sm4::aesni::cbc_mac::kernel", CHAINED, 9),
    kernel("manylane::sm4::aesni::cbc_places::kernel", STREAMS, 20),
    kernel("manylane::sm4::avx2::encrypt_blocks::kernel", ECB, 79),
    kernel("manylane::sm4::avx2::decrypt_blocks::kernel", ECB, 80),
    kernel("manylane::sm4::avx2::xor_counters::kernel", CHAINED, 84),
    kernel("manylane::sm4::avx2::cbc_decrypt::kernel", CHAINED, 85),
    kernel("manylane::sm4::avx2::cfb_decrypt::kernel", CHAINED, 92),
    kernel("manylane::sm4::avx2::xts_encrypt::kernel", XTS, 240),
    kernel("manylane::sm4::avx2::xts_decrypt::kernel", XTS, 242),
    kernel("manylane::sm4::avx2::encrypt_block::kernel", &[ToSecret, ToSecret], 2),
    kernel("manylane::sm4::avx2::cbc_encrypt::kernel", CHAINED, 7),
    kernel("manylane::sm4::avx2::cfb_encrypt::kernel", CHAINED, 8),
    kernel("manylane::sm4::avx2::ofb_xor::kernel", CHAINED, 8),
    kernel("manylane::sm4::avx2::cbc_mac::kernel", CHAINED, 7),
    kernel("manylane::sm4::avx2::cbc_places::kernel", STREAMS, 123),
    kernel("manylane::sm4::aesni::expand", &[ToSecret, ToSecret], 21),
    kernel("manylane::sm4::gfni::by_words::encrypt_blocks::kernel", ECB, 19),
    kernel("manylane::sm4::gfni::by_words::decrypt_blocks::kernel", ECB, 19),
    kernel("manylane::sm4::gfni::by_words::xor_counters::kernel", CHAINED, 19),
    kernel("manylane::sm4::gfni::by_words::cbc_decrypt::kernel", CHAINED, 22),
    kernel("manylane::sm4::gfni::by_words::cfb_decrypt::kernel", CHAINED, 21),
    kernel("manylane::sm4::gfni::by_words::xts_encrypt::kernel", XTS, 86),
    kernel("manylane::sm4::gfni::by_words::xts_decrypt::kernel", XTS, 86),
    // Forty vectors of state in 32 registers.
    kernel("manylane::sm4::gfni::planar::encrypt_blocks::kernel", ECB, 132),
    kernel("manylane::sm4::gfni::planar::decrypt_blocks::kernel", ECB, 132),
    kernel("manylane::sm4::gfni::planar::xor_counters::kernel", CHAINED, 116),
    kernel("manylane::sm4::gfni::planar::cbc_decrypt::kernel", CHAINED, 139),
    kernel("manylane::sm4::gfni::planar::cfb_decrypt::kernel", CHAINED, 137),
    kernel("manylane::sm4::gfni::planar::xts_encrypt::kernel", XTS, 412),
    kernel("manylane::sm4::gfni::planar::xts_decrypt::kernel", XTS, 412),
    to_kernel("manylane::sm4::gfni::encrypt_blocks", ECB),
    to_kernel("manylane::sm4::gfni::decrypt_blocks", ECB),
    to_kernel("manylane::sm4::gfni::xor_counters", CHAINED),
    to_kernel("manylane::sm4::gfni::cbc_decrypt", CHAINED),
    to_kernel("manylane::sm4::gfni::cfb_decrypt", CHAINED),
    to_kernel("manylane::sm4::gfni::xts_encrypt", XTS),
    to_kernel("manylane::sm4::gfni::xts_decrypt", XTS),
    kernel("manylane::sm4::gfni::encrypt_block::kernel", &[ToSecret, ToSecret], 2),
    kernel("manylane::sm4::gfni::cbc_encrypt::kernel", CHAINED, 2),
    kernel("manylane::sm4::gfni::cfb_encrypt::kernel", CHAINED, 2),
    kernel("manylane::sm4::gfni::ofb_xor::kernel", CHAINED, 2),
    kernel("manylane::sm4::gfni::cbc_mac::kernel", CHAINED, 2),
    kernel("manylane::sm4::gfni::cbc_places::kernel", STREAMS, 18),
    leading_sponges("manylane::sha3::avx2::absorb_lanes"),
    leading_sponges("manylane::sha3::avx512::absorb_lanes"),
    leading_sponge(
        "manylane::sha3::avx512::state::absorb",
        &["manylane::sha3::avx512::state::absorb_blocks"],
    ),
    leading_sponge("manylane::sha3::bmi2::absorb", &["manylane::sha3::bmi2::absorb_blocks"]),
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
