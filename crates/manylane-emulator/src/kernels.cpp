// manylane's kernels, compiled for the host, by name.

#include "core.hpp"

#include <algorithm>
#include <cstring>

#include "aes.cu"
#include "block_comparators.cu"
#include "comparators.cu"
#include "sha3.cu"
#include "sha3_comparators.cu"
#include "sm3.cu"
#include "sm4.cu"

thread_local ManylaneBlock manylane_block{};
thread_local u8 *manylane_shared = nullptr;

namespace emulator {
namespace {

// Names of shared memory that holds keys, or what comes of them.
const char *const SECRETS[] = {"round_keys", "masks"};
struct Secret {
    const u8 *bytes;
    u64 count;
};
// What the thread block that runs has of such.
thread_local std::vector<Secret> secrets;

bool is_zero(const u8 *bytes, u64 count) {
    return std::all_of(bytes, bytes + count, [](u8 byte) { return byte == 0; });
}

// Replaces a device's addresses in an argument by the host's.
struct Translation {
    Device &device;
    Launch &launch;

    template <class T>
    void pointer(T *&address) const {
        const auto there = reinterpret_cast<std::uintptr_t>(address);
        if (there == 0) {
            return;
        }
        address = static_cast<T *>(resolve(device, there, 0, launch.uses));
        launch.addresses_are_valid &= address != nullptr;
    }
    template <class T>
    void operator()(T *&address) const {
        pointer(address);
    }
    void operator()(Messages &messages) const {
        pointer(messages.data);
        pointer(messages.offsets);
    }
    // Numbers, and structures of numbers.
    template <class T>
    void operator()(T &) const {}
};

// What a launch is about, for rates and faults: worked out before it runs, from arguments that
// have been translated.
std::uint64_t message_bytes(const Messages &messages, u32 count) {
    // Offsets may be on their way still.
    return messages.kind == STRIDED ? messages.len * count : 0;
}

template <class... Arguments>
void describe(Launch &, const Arguments &...) {}

void describe(Launch &launch, const u8 *, u64, u32 blocks, const Start &, const PaddingBlock &,
              u32 count, u32, u8 *out) {
    launch.bytes = std::uint64_t{64} * blocks * count;
    launch.digests = out;
    launch.digest_count = count;
}
void describe(Launch &launch, const u8 *, u64, u32 count, u32, u8 *out) {
    launch.bytes = std::uint64_t{32} * count;
    launch.digests = out;
    launch.digest_count = count;
}
void describe(Launch &launch, const Messages &messages, const Start &, u32 count, u32, u8 *out) {
    launch.bytes = message_bytes(messages, count);
    launch.digests = out;
    launch.digest_count = count;
}
void describe(Launch &launch, const Messages &messages, const Start &, const u32 *, u32 count, u32,
              u8 *out) {
    launch.bytes = message_bytes(messages, count);
    launch.digests = out;
    launch.digest_count = count;
}
void describe(Launch &launch, const Messages &, const Messages &messages, const u32 *, u32 count,
              u32, u8 *out) {
    launch.bytes = message_bytes(messages, count);
    launch.digests = out;
    launch.digest_count = count;
}
// Of SHA-3: outputs of any length, in units of the others' digests.
void describe_outputs(Launch &launch, u32 count, u32 output_len, u8 *out) {
    launch.digests = out;
    launch.digest_count = std::uint64_t{count} * output_len / 32;
}
void describe(Launch &launch, const Messages &messages, const sha3::Sponge &sponge, const u32 *,
              u32 count, u8 *out) {
    launch.bytes = message_bytes(messages, count);
    describe_outputs(launch, count, sponge.output_len, out);
}
void describe(Launch &launch, const u8 *, u64, u32, u32, const sha3::Sponge &sponge, u32 count,
              u8 *out) {
    describe_outputs(launch, count, sponge.output_len, out);
}
void describe(Launch &launch, const u8 *, u64, u32 len, u32, u32, u32 output_len, u32 count,
              u8 *out) {
    launch.bytes = std::uint64_t{len} * count;
    describe_outputs(launch, count, output_len, out);
}
// Of block ciphers: what is written is taken for digests, as far as it goes.
void describe_blocks(Launch &launch, u64 bytes, u8 *out) {
    launch.bytes = bytes;
    launch.digests = out;
    launch.digest_count = bytes / 32;
}
template <class Keys>
void describe(Launch &launch, const u8 *, u8 *out, u64 blocks, const Keys &) {
    describe_blocks(launch, 16 * blocks, out);
}
template <class Keys>
void describe(Launch &launch, const u8 *, u8 *out, u64 len, const Counter &, const Keys &) {
    describe_blocks(launch, len, out);
}
// Of comparators.
void describe(Launch &launch, const u8 *, u64 len, u32 count, u8 *out) {
    launch.bytes = len * count;
    launch.digests = out;
    launch.digest_count = count;
}
void describe(Launch &launch, const u8 *, const u64 *, u64, u32 count, u8 *out) {
    launch.digests = out;
    launch.digest_count = count;
}
void describe(Launch &launch, const u8 *, u64, u64 len, u32 count, u8 *out) {
    launch.bytes = len * count;
    launch.digests = out;
    launch.digest_count = count;
}

template <class... Parameters, std::size_t... Index>
Launch prepare(void (*function)(Parameters...), std::index_sequence<Index...>, Device &device,
               void **arguments) {
    Launch launch;
    auto values = std::make_shared<std::tuple<Parameters...>>();
    (std::memcpy(&std::get<Index>(*values), arguments[Index], sizeof(Parameters)), ...);
    const Translation translate{device, launch};
    (translate(std::get<Index>(*values)), ...);
    if (launch.addresses_are_valid) {
        describe(launch, std::get<Index>(*values)...);
    }
    launch.block = [function, values] { std::apply(function, *values); };
    return launch;
}

template <class... Parameters>
void add(const char *name, unsigned max_threads, void (*function)(Parameters...)) {
    add_kernel({name,
                {sizeof(Parameters)...},
                max_threads,
                [function](Device &device, void **arguments) {
                    return prepare(function, std::index_sequence_for<Parameters...>(), device,
                                   arguments);
                }});
}

struct Registration {
    Registration() {
        add("sm3_hash_many", BLOCK, sm3_hash_many);
        add("sm3_hash_rows", BLOCK, sm3_hash_rows);
        add("sm3_hash_short", BLOCK, sm3_hash_short);
        add("sm3_hash_32", BLOCK, sm3_hash_32);
        add("sm3_hmac_many", BLOCK, sm3_hmac_many);
#define ADD_SHA3(rate)                                                                             \
    add("sha3_hash_many_" #rate, sha3::BLOCK, sha3_hash_many_##rate);                              \
    add("sha3_hash_rows_" #rate, sha3::BLOCK, sha3_hash_rows_##rate);                              \
    add("sha3_hash_short_" #rate, sha3::BLOCK, sha3_hash_short_##rate);
        ADD_SHA3(168)
        ADD_SHA3(144)
        ADD_SHA3(136)
        ADD_SHA3(104)
        ADD_SHA3(72)
#undef ADD_SHA3
        add("sha3_hash_32", sha3::BLOCK, sha3_hash_32);
        add("bin_count", 1024, bin_count);
        add("bin_offsets", 1024, bin_offsets);
        add("bin_scatter", 1024, bin_scatter);
#define ADD(kernel) add(#kernel, BLOCK_THREADS, kernel);
#define ADD_AES(bits, tables)                                                                      \
    ADD(aes##bits##_encrypt_##tables)                                                              \
    ADD(aes##bits##_decrypt_##tables)                                                              \
    ADD(aes##bits##_ctr_##tables)
#define ADD_ALL(tables)                                                                            \
    ADD_AES(128, tables)                                                                           \
    ADD_AES(192, tables)                                                                           \
    ADD_AES(256, tables)                                                                           \
    ADD(sm4_ecb_##tables)                                                                          \
    ADD(sm4_ctr_##tables)
        ADD_ALL(4)
        ADD_ALL(2)
        ADD_ALL(1)
#define ADD_COMPARATORS(bits)                                                                      \
    ADD(comparator_aes##bits##_steps)                                                              \
    ADD(comparator_aes##bits##_one_table)                                                          \
    add("comparator_aes" #bits "_bits", SLICED_THREADS, comparator_aes##bits##_bits);
        ADD_COMPARATORS(128)
        ADD_COMPARATORS(192)
        ADD_COMPARATORS(256)
#undef ADD_COMPARATORS
#undef ADD_ALL
#undef ADD_AES
#undef ADD
        add("comparator_interleaved_4", LARGEST_BLOCK, comparator_interleaved_4);
        add("comparator_interleaved_8", LARGEST_BLOCK, comparator_interleaved_8);
        add("comparator_interleaved_16", LARGEST_BLOCK, comparator_interleaved_16);
        add("comparator_padded", LARGEST_BLOCK, comparator_padded);
        add("comparator_plain", LARGEST_BLOCK, comparator_plain);
        add("comparator_sha3_block", sha3::MESSAGE_BLOCK, comparator_sha3_block);
        add("comparator_sha3_serial", sha3::MESSAGE_BLOCK, comparator_sha3_serial);
    }
} registration;

// AES's counter mode with four tables keeps 256 rows of key and nonce behind these.
constexpr unsigned ROWS_AT = 128 << 10, ROWS_BYTES = 256 * 16;

bool has_rows(const std::string &name) {
    return name.compare(0, 3, "aes") == 0 && name.find("_ctr_4") != std::string::npos;
}

std::vector<Kernel> &kernels() {
    static std::vector<Kernel> *const kernels = new std::vector<Kernel>;
    return *kernels;
}

}  // namespace

void note_shared(const char *name, const void *bytes, u64 count) {
    for (const char *const secret : SECRETS) {
        if (std::strcmp(secret, name) == 0) {
            secrets.push_back({static_cast<const u8 *>(bytes), count});
        }
    }
}

void add_kernel(Kernel kernel) { kernels().push_back(std::move(kernel)); }

const Kernel *find_kernel(const std::string &name) {
    for (const Kernel &kernel : kernels()) {
        if (kernel.name == name) {
            return &kernel;
        }
    }
    return nullptr;
}

void run_blocks(const Kernel &kernel, const Launch &launch, unsigned blocks, unsigned threads,
                unsigned shared) {
    // As much as was asked for, so that the sanitizers see what is beyond. Aligned as on a device.
    constexpr u32 GARBAGE = 0xa5a5a5a5;
    const Vector garbage = {{GARBAGE, GARBAGE, GARBAGE, GARBAGE}};
    std::vector<Vector> memory((shared + sizeof(Vector) - 1) / sizeof(Vector));
    manylane_shared = reinterpret_cast<u8 *>(memory.data());
    for (unsigned index = 0; index < blocks; ++index) {
        std::fill(memory.begin(), memory.end(), garbage);
        manylane_block = {index, blocks, threads};
        secrets.clear();
        launch.block();
        // The next kernel can read what this one leaves.
        if (has_rows(kernel.name) && !is_zero(manylane_shared + ROWS_AT, ROWS_BYTES)) {
            fail("a kernel leaves rows of key and nonce in shared memory");
        }
        for (const Secret &secret : secrets) {
            if (!is_zero(secret.bytes, secret.count)) {
                fail("a kernel leaves keys in shared memory");
            }
        }
    }
    manylane_shared = nullptr;
}

}  // namespace emulator

extern "C" void manylane_leaves(const char *name, const void *bytes, u64 count) {
    emulator::note_shared(name, bytes, count);
}
