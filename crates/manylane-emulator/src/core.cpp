// Settings, devices and memory.
#include "core.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(base, size) ((void)(base), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(base, size) ((void)(base), (void)(size))
#endif

namespace emulator {
namespace {

constexpr int MAX_DEVICES = 64;
// Poison for memory that nobody has written.
constexpr std::uint8_t UNWRITTEN = 0xa5;
// What tells a device's address from the host's: processors leave this bit of an address unused.
constexpr std::uint64_t DEVICE_BIT = std::uint64_t{1} << 48;
// The granule up to which memory may be read past its end.
constexpr std::size_t GRANULE = 16;

struct Named {
    const char *name;
    std::atomic<std::uint64_t> Settings::*field;
    std::uint64_t initial;
};

const Named DEVICE_SETTINGS[] = {
    {"integrated", &Settings::integrated, 0},
    {"memory", &Settings::memory, std::uint64_t{1} << 30},
    {"copy_rate", &Settings::copy_rate, 0},
    {"kernel_rate", &Settings::kernel_rate, 0},
    {"launch_ns", &Settings::launch_ns, 0},
    {"fail_alloc", &Settings::fail_alloc, 0},
    {"fail_copy", &Settings::fail_copy, 0},
    {"fail_launch", &Settings::fail_launch, 0},
    {"hang_launch", &Settings::hang_launch, 0},
    {"flip_launch", &Settings::flip_launch, 0},
    {"fail_code", &Settings::fail_code, LAUNCH_FAILED},
    {"fail_at_call", &Settings::fail_at_call, 0},
    {"fail_info", &Settings::fail_info, 0},
    {"max_pitch", &Settings::max_pitch, 0x7fffffff},
};

struct NamedCount {
    const char *name;
    std::atomic<std::uint64_t> Counts::*field;
};

const NamedCount COUNTS[] = {
    {"launches", &Counts::launches},       {"copies", &Counts::copies},
    {"allocations", &Counts::allocations}, {"live_bytes", &Counts::live_bytes},
    {"contexts", &Counts::contexts},       {"unwiped", &Counts::unwiped},
    {"compilations", &Counts::compilations}, {"sharing", &Counts::sharing},
};

// Never destroyed: threads of streams may outlive `main`.
struct Core {
    std::mutex mutex;
    std::map<std::string, std::string> driver{
        {"devices", "1"},  {"driver_version", "0"}, {"architecture", ""},
        {"init_code", "0"}, {"fail_compile", "0"},
    };
    Device devices[MAX_DEVICES];
    // By the host's address of their first byte.
    std::map<std::uintptr_t, std::shared_ptr<Allocation>> memory;
    std::atomic<pid_t> owner{0};

    Core() {
        for (int i = 0; i < MAX_DEVICES; ++i) {
            devices[i].ordinal = i;
            for (const Named &named : DEVICE_SETTINGS) {
                (devices[i].settings.*named.field).store(named.initial);
            }
        }
        const char *const given = std::getenv("MANYLANE_EMULATOR");
        if (given != nullptr && !configure_all(given)) {
            fail("MANYLANE_EMULATOR is not a list of name=value[@device]");
        }
    }

    bool configure_all(std::string list) {
        while (!list.empty()) {
            const std::size_t comma = list.find(',');
            if (!configure(list.substr(0, comma))) {
                return false;
            }
            list = comma == std::string::npos ? "" : list.substr(comma + 1);
        }
        return true;
    }

    // One `name=value[@device]`.
    bool configure(const std::string &text) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
            return false;
        }
        const std::size_t at = std::min(text.find('@', equals), text.size());
        const std::string name = text.substr(0, equals);
        const std::string value = text.substr(equals + 1, at - equals - 1);
        const std::lock_guard<std::mutex> lock(mutex);
        if (at == text.size()) {
            const auto found = driver.find(name);
            if (found != driver.end()) {
                found->second = value;
                return true;
            }
        }
        char *end = nullptr;
        const std::uint64_t number = std::strtoull(value.c_str(), &end, 10);
        if (value.empty() || *end != '\0') {
            return false;
        }
        for (const Named &named : DEVICE_SETTINGS) {
            if (name == named.name) {
                return set(named, number, text, at);
            }
        }
        return false;
    }

    bool set(const Named &named, std::uint64_t number, const std::string &text, std::size_t at) {
        if (at == text.size()) {
            for (Device &device : devices) {
                (device.settings.*named.field).store(number);
            }
            return true;
        }
        char *end = nullptr;
        const unsigned long ordinal = std::strtoul(text.c_str() + at + 1, &end, 10);
        if (at + 1 == text.size() || *end != '\0' || ordinal >= MAX_DEVICES) {
            return false;
        }
        (devices[ordinal].settings.*named.field).store(number);
        return true;
    }

    // The allocation that the host's address is in or just behind; `mutex` is held.
    std::shared_ptr<Allocation> find(std::uintptr_t address) {
        auto next = memory.upper_bound(address);
        if (next == memory.begin()) {
            return nullptr;
        }
        const std::shared_ptr<Allocation> &found = std::prev(next)->second;
        const std::uintptr_t base = reinterpret_cast<std::uintptr_t>(found->base);
        return address - base <= found->size ? found : nullptr;
    }
};

Core &core() {
    static Core *const core = new Core;
    return *core;
}

thread_local Device *current_device = nullptr;

std::size_t rounded(std::size_t bytes, std::size_t to = GRANULE) {
    return (bytes + to - 1) / to * to;
}

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::shared_ptr<Allocation> add(Device &device, Allocation::Kind kind, void *base,
                                std::size_t size) {
    auto allocation = std::make_shared<Allocation>();
    allocation->base = static_cast<std::uint8_t *>(base);
    allocation->size = size;
    allocation->kind = kind;
    allocation->device = &device;
    const std::lock_guard<std::mutex> lock(core().mutex);
    core().memory[reinterpret_cast<std::uintptr_t>(base)] = allocation;
    return allocation;
}

// Takes an allocation of that kind that begins there off the table; null if there is none.
std::shared_ptr<Allocation> take(std::uintptr_t base, Allocation::Kind kind) {
    const std::lock_guard<std::mutex> lock(core().mutex);
    const auto found = core().memory.find(base);
    if (found == core().memory.end() || found->second->kind != kind) {
        return nullptr;
    }
    const std::shared_ptr<Allocation> allocation = found->second;
    if (allocation->in_use.load() != 0) {
        fail("memory is freed while work that uses it is under way");
    }
    core().memory.erase(found);
    return allocation;
}

void check_freed(Allocation &allocation) {
    const std::uint8_t *const bytes = allocation.base;
    const std::size_t size = allocation.size;
    if (std::any_of(bytes, bytes + size, [](std::uint8_t byte) { return byte != 0; })) {
        ++allocation.device->counts.unwiped;
    }
    if (std::any_of(bytes + size, bytes + rounded(size),
                    [](std::uint8_t byte) { return byte != UNWRITTEN; })) {
        fail("bytes behind the end of an allocation were written");
    }
    if (allocation.kind == Allocation::PINNED) {
        ASAN_UNPOISON_MEMORY_REGION(allocation.base, rounded(size, page()));
        munmap(allocation.base, rounded(size, page()));
    } else {
        std::free(allocation.base);
    }
}

// Memory whose bytes behind the end may be read up to the granule, but not written.
void *allocate_bytes(Device &device, std::size_t bytes) {
    void *base = nullptr;
    // No more than may be read, so that the address sanitizer sees what lies beyond.
    if (is_due(device.settings.fail_alloc) || posix_memalign(&base, 256, rounded(bytes)) != 0) {
        return nullptr;
    }
    std::memset(base, UNWRITTEN, rounded(bytes));
    return base;
}

// The same, page-locked: a forked child does not have it, as with drivers that share pages with a
// device.
void *map_bytes(Device &device, std::size_t bytes) {
    const std::size_t size = rounded(bytes, page());
    void *const base = is_due(device.settings.fail_alloc)
                           ? MAP_FAILED
                           : mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return nullptr;
    }
    if (madvise(base, size, MADV_DONTFORK) != 0) {
        fail("memory that a forked child does not have cannot be had");
    }
    std::memset(base, UNWRITTEN, size);
    const std::size_t readable = rounded(bytes);
    ASAN_POISON_MEMORY_REGION(static_cast<std::uint8_t *>(base) + readable, size - readable);
    return base;
}

}  // namespace

void fail(const char *why) {
    std::fprintf(stderr, "emulated GPU: %s\n", why);
    std::abort();
}

const char *code_name(int code) {
    switch (code) {
        case SUCCESS: return "SUCCESS";
        case INVALID_VALUE: return "INVALID_VALUE";
        case OUT_OF_MEMORY: return "OUT_OF_MEMORY";
        case NOT_INITIALIZED: return "NOT_INITIALIZED";
        case NO_DEVICE: return "NO_DEVICE";
        case INVALID_DEVICE: return "INVALID_DEVICE";
        case INVALID_IMAGE: return "INVALID_IMAGE";
        case INVALID_CONTEXT: return "INVALID_CONTEXT";
        case INVALID_PTX: return "INVALID_PTX";
        case INVALID_HANDLE: return "INVALID_HANDLE";
        case NOT_FOUND: return "NOT_FOUND";
        case NOT_READY: return "NOT_READY";
        case ILLEGAL_ADDRESS: return "ILLEGAL_ADDRESS";
        case NOT_REGISTERED: return "HOST_MEMORY_NOT_REGISTERED";
        case LAUNCH_FAILED: return "LAUNCH_FAILED";
        default: return nullptr;
    }
}

std::string text_setting(const char *name) {
    const std::lock_guard<std::mutex> lock(core().mutex);
    const auto found = core().driver.find(name);
    if (found == core().driver.end()) {
        fail("no such setting");
    }
    return found->second;
}

std::uint64_t setting(const char *name) {
    return std::strtoull(text_setting(name).c_str(), nullptr, 10);
}

bool is_due(std::atomic<std::uint64_t> &countdown) {
    std::uint64_t left = countdown.load();
    while (left != 0 && !countdown.compare_exchange_weak(left, left - 1)) {
    }
    return left == 1;
}

struct Engine::State {
    std::mutex mutex;
    std::chrono::steady_clock::time_point free_at;
};

Engine::Engine() : state(std::make_unique<State>()) {}
Engine::~Engine() = default;

void Engine::pass(std::uint64_t bytes, std::uint64_t rate, std::uint64_t extra_ns) {
    const double ns = (rate == 0 ? 0 : 1e9 * static_cast<double>(bytes) / static_cast<double>(rate))
                      + static_cast<double>(extra_ns);
    if (ns == 0) {
        return;
    }
    std::chrono::steady_clock::time_point done;
    {
        const std::lock_guard<std::mutex> lock(state->mutex);
        const auto from = std::max(state->free_at, std::chrono::steady_clock::now());
        done = from + std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
        state->free_at = done;
    }
    std::this_thread::sleep_until(done);
}

int usable() {
    return core().owner.load() == getpid() ? SUCCESS : NOT_INITIALIZED;
}

int initialise() {
    const int code = static_cast<int>(setting("init_code"));
    if (code != SUCCESS || setting("devices") == 0) {
        return code != SUCCESS ? code : NO_DEVICE;
    }
    pid_t nobody = 0;
    core().owner.compare_exchange_strong(nobody, getpid());
    return usable();
}

int device_count() {
    return static_cast<int>(std::min<std::uint64_t>(setting("devices"), MAX_DEVICES));
}

Device *device(int ordinal) {
    return ordinal >= 0 && ordinal < device_count() ? &core().devices[ordinal] : nullptr;
}

Device *current() { return current_device; }
void set_current(Device *device) { current_device = device; }

int allocate(Device &device, std::size_t bytes, std::uint64_t *address) {
    if (device.failed.load() != SUCCESS) {
        return device.failed.load();
    }
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    if (device.counts.live_bytes.fetch_add(bytes) + bytes > device.settings.memory.load()) {
        device.counts.live_bytes.fetch_sub(bytes);
        return OUT_OF_MEMORY;
    }
    void *const base = allocate_bytes(device, bytes);
    if (base == nullptr) {
        device.counts.live_bytes.fetch_sub(bytes);
        return OUT_OF_MEMORY;
    }
    ++device.counts.allocations;
    add(device, Allocation::ON_DEVICE, base, bytes);
    *address = reinterpret_cast<std::uintptr_t>(base) | DEVICE_BIT;
    return SUCCESS;
}

int release(std::uint64_t address) {
    if (!is_on_device(address)) {
        return INVALID_VALUE;
    }
    const auto allocation = take(address & ~DEVICE_BIT, Allocation::ON_DEVICE);
    if (allocation == nullptr) {
        return INVALID_VALUE;
    }
    allocation->device->counts.live_bytes.fetch_sub(allocation->size);
    check_freed(*allocation);
    return SUCCESS;
}

int allocate_host(Device &device, std::size_t bytes, void **pointer) {
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    *pointer = map_bytes(device, bytes);
    if (*pointer == nullptr) {
        return OUT_OF_MEMORY;
    }
    add(device, Allocation::PINNED, *pointer, bytes);
    return SUCCESS;
}

int release_host(void *pointer) {
    const auto allocation =
        take(reinterpret_cast<std::uintptr_t>(pointer), Allocation::PINNED);
    if (allocation == nullptr) {
        return INVALID_VALUE;
    }
    check_freed(*allocation);
    return SUCCESS;
}

int register_host(Device &device, void *pointer, std::size_t bytes) {
    if (bytes == 0 || is_pinned(pointer)) {
        return INVALID_VALUE;
    }
    add(device, Allocation::REGISTERED, pointer, bytes);
    return SUCCESS;
}

int unregister_host(void *pointer) {
    const auto base = reinterpret_cast<std::uintptr_t>(pointer);
    return take(base, Allocation::REGISTERED) != nullptr ? SUCCESS : NOT_REGISTERED;
}

int host_as_device(const void *pointer, std::uint64_t *address) {
    if (!is_pinned(pointer)) {
        return INVALID_VALUE;
    }
    *address = reinterpret_cast<std::uintptr_t>(pointer) | DEVICE_BIT;
    return SUCCESS;
}

bool is_pinned(const void *pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::lock_guard<std::mutex> lock(core().mutex);
    const auto found = core().find(address);
    return found != nullptr && found->kind != Allocation::ON_DEVICE
           && address - reinterpret_cast<std::uintptr_t>(found->base) < found->size;
}

bool is_on_device(std::uint64_t address) { return (address & DEVICE_BIT) != 0; }

int device_of(std::uint64_t address) {
    if (!is_on_device(address)) {
        return -1;
    }
    const std::uintptr_t at = address & ~DEVICE_BIT;
    const std::lock_guard<std::mutex> lock(core().mutex);
    const auto found = core().find(at);
    const bool is_within =
        found != nullptr && at - reinterpret_cast<std::uintptr_t>(found->base) < found->size;
    return is_within && found->kind == Allocation::ON_DEVICE ? found->device->ordinal : -1;
}

void memory_info(Device &device, std::size_t *free, std::size_t *total) {
    const std::uint64_t all = device.settings.memory.load();
    *total = all;
    *free = all - std::min(all, device.counts.live_bytes.load());
}

void *resolve(Device &device, std::uint64_t address, std::size_t bytes, Uses &uses) {
    if (!is_on_device(address)) {
        return nullptr;
    }
    const std::uintptr_t at = address & ~DEVICE_BIT;
    const std::lock_guard<std::mutex> lock(core().mutex);
    const auto found = core().find(at);
    if (found == nullptr || (found->kind == Allocation::ON_DEVICE && found->device != &device)) {
        return nullptr;
    }
    const std::size_t from = at - reinterpret_cast<std::uintptr_t>(found->base);
    if (bytes > found->size - from) {
        return nullptr;
    }
    uses.push_back(found);
    return reinterpret_cast<void *>(at);
}

}  // namespace emulator

// For tests: one or more settings, `name=value[@device]`, separated by commas. 0, or -1 if there is
// no such.
extern "C" int manylane_emulator_configure(const char *settings) {
    return emulator::core().configure_all(settings) ? 0 : -1;
}

// For tests: as the drivers' functions for a caller's own memory.
extern "C" int manylane_emulator_register(int ordinal, void *pointer, std::size_t bytes) {
    emulator::Device *const device = emulator::device(ordinal);
    return device == nullptr ? emulator::INVALID_DEVICE
                             : emulator::register_host(*device, pointer, bytes);
}

extern "C" int manylane_emulator_unregister(void *pointer) {
    return emulator::unregister_host(pointer);
}

namespace emulator {
namespace {

// Page-locked buffers of a device that are there now and hold something other than zeros.
std::uint64_t dirty_host(const Device &device) {
    const std::lock_guard<std::mutex> lock(core().mutex);
    return static_cast<std::uint64_t>(
        std::count_if(core().memory.begin(), core().memory.end(), [&device](const auto &entry) {
            const Allocation &of = *entry.second;
            return of.kind == Allocation::PINNED && of.device == &device
                   && std::any_of(of.base, of.base + of.size,
                                  [](std::uint8_t byte) { return byte != 0; });
        }));
}

}  // namespace
}  // namespace emulator

// For tests: a count of a device, or the largest number if there is no such.
extern "C" std::uint64_t manylane_emulator_count(int ordinal, const char *name) {
    if (ordinal >= 0 && ordinal < emulator::MAX_DEVICES && std::strcmp(name, "dirty_host") == 0) {
        return emulator::dirty_host(emulator::core().devices[ordinal]);
    }
    for (const auto &named : emulator::COUNTS) {
        if (ordinal >= 0 && ordinal < emulator::MAX_DEVICES && std::strcmp(name, named.name) == 0) {
            return (emulator::core().devices[ordinal].counts.*named.field).load();
        }
    }
    return ~std::uint64_t{0};
}
