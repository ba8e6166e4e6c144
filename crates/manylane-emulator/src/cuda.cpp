// The CUDA driver's functions that manylane calls, on the emulated device.
//
// Types and numbers are those of the driver's interface, written out: no toolkit is needed to
// build this.
#include <mutex>
#include <set>

#include "core.hpp"

using namespace emulator;

#define EXPORT extern "C" __attribute__((visibility("default"))) int

namespace {

constexpr std::uint64_t DRIVER_VERSION = 12020, ARCHITECTURE = 90;

std::uint64_t or_else(std::uint64_t value, std::uint64_t other) {
    return value != 0 ? value : other;
}

int with_device(int ordinal, Device **found) {
    if (usable() != SUCCESS) {
        return usable();
    }
    *found = device(ordinal);
    return *found != nullptr ? SUCCESS : INVALID_DEVICE;
}

// The current device, for calls that concern it.
int with_current(Device **found) {
    if (usable() != SUCCESS) {
        return usable();
    }
    *found = current();
    return *found != nullptr ? SUCCESS : INVALID_CONTEXT;
}

// Calls a function of the core with the current device.
template <class Function>
int on_current(const Function &function) {
    Device *device = nullptr;
    const int code = with_current(&device);
    return code != SUCCESS ? code : function(*device);
}

int put_text(char *text, int len, const std::string &value) {
    if (len <= 0) {
        return INVALID_VALUE;
    }
    const std::size_t taken = value.copy(text, static_cast<std::size_t>(len) - 1);
    text[taken] = '\0';
    return SUCCESS;
}

// Sizes of the parameters that PTX declares for a kernel; none if it has no such kernel.
bool declared(const std::string &ptx, const std::string &name, std::vector<std::size_t> &sizes) {
    const std::string head = ".visible .entry " + name + "(";
    std::size_t at = ptx.find(head);
    if (at == std::string::npos) {
        return false;
    }
    const std::size_t end = ptx.find(')', at);
    for (at = ptx.find(".param", at); at < end; at = ptx.find(".param", at + 1)) {
        const std::size_t stop = ptx.find_first_of(",)", at);
        const std::string one = ptx.substr(at, stop - at);
        const std::size_t array = one.find('[');
        if (array != std::string::npos) {
            sizes.push_back(std::stoul(one.substr(array + 1)));
        } else {
            sizes.push_back(one.find("64 ") != std::string::npos ? 8 : 4);
        }
    }
    return true;
}

}  // namespace

EXPORT cuInit(unsigned) { return initialise(); }

EXPORT cuDriverGetVersion(int *version) {
    *version = static_cast<int>(or_else(setting("driver_version"), DRIVER_VERSION));
    return SUCCESS;
}

EXPORT cuGetErrorName(int code, const char **text) {
    // One of each, so that a pointer to it lives on.
    static std::set<std::string> *const names = new std::set<std::string>;
    static std::mutex mutex;
    const char *const name = code_name(code);
    if (name == nullptr) {
        *text = nullptr;
        return INVALID_VALUE;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    const std::string prefix = code == SUCCESS ? "CUDA_" : "CUDA_ERROR_";
    *text = names->insert(prefix + name).first->c_str();
    return SUCCESS;
}

EXPORT cuGetErrorString(int code, const char **text) {
    *text = code_name(code) == nullptr ? nullptr : "of an emulated GPU";
    return *text != nullptr ? SUCCESS : INVALID_VALUE;
}

EXPORT cuDeviceGetCount(int *count) {
    *count = device_count();
    return usable();
}

EXPORT cuDeviceGet(int *handle, int ordinal) {
    Device *found = nullptr;
    *handle = ordinal;
    return with_device(ordinal, &found);
}

EXPORT cuDeviceGetName(char *text, int len, int ordinal) {
    Device *found = nullptr;
    const int code = with_device(ordinal, &found);
    return code != SUCCESS ? code : put_text(text, len, "manylane emulated GPU");
}

EXPORT cuDeviceGetPCIBusId(char *text, int len, int ordinal) {
    Device *found = nullptr;
    const int code = with_device(ordinal, &found);
    const char digit = static_cast<char>('A' + ordinal % 6);
    return code != SUCCESS ? code : put_text(text, len, std::string("0000:1") + digit + ":00.0");
}

// Bytes of shared memory, as Hopper has.
constexpr int SHARED_OF_ALL = 228 << 10, SHARED_OF_BLOCK = 227 << 10;

EXPORT cuDeviceGetAttribute(int *value, int attribute, int ordinal) {
    Device *found = nullptr;
    const int code = with_device(ordinal, &found);
    if (code != SUCCESS) {
        return code;
    }
    if (found->settings.fail_info.load() != 0) {
        return static_cast<int>(found->settings.fail_code.load());
    }
    const std::string given = text_setting("architecture");
    const int architecture =
        given.empty() ? static_cast<int>(ARCHITECTURE) : std::stoi(given);
    switch (attribute) {
        case 10: *value = 32; return SUCCESS;                   // WARP_SIZE
        case 13: *value = 1000000; return SUCCESS;              // CLOCK_RATE, kHz
        case 16: *value = 1; return SUCCESS;                    // MULTIPROCESSOR_COUNT
        case 18: *value = found->settings.integrated != 0; return SUCCESS;  // INTEGRATED
        case 75: *value = architecture / 10; return SUCCESS;    // COMPUTE_CAPABILITY_MAJOR
        case 76: *value = architecture % 10; return SUCCESS;    // COMPUTE_CAPABILITY_MINOR
        case 81: *value = SHARED_OF_ALL; return SUCCESS;        // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        case 97: *value = SHARED_OF_BLOCK; return SUCCESS;      // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        case 111: *value = 1 << 10; return SUCCESS;             // RESERVED_SHARED_MEMORY_PER_BLOCK
        default: return INVALID_VALUE;
    }
}

EXPORT cuDeviceTotalMem_v2(std::size_t *bytes, int ordinal) {
    Device *found = nullptr;
    const int code = with_device(ordinal, &found);
    if (code == SUCCESS) {
        *bytes = found->settings.memory.load();
    }
    return code;
}

EXPORT cuDevicePrimaryCtxRetain(Device **context, int ordinal) {
    const int code = with_device(ordinal, context);
    if (code == SUCCESS) {
        ++(*context)->counts.contexts;
    }
    return code;
}

EXPORT cuDevicePrimaryCtxRelease_v2(int ordinal) {
    Device *found = nullptr;
    const int code = with_device(ordinal, &found);
    if (code == SUCCESS && found->counts.contexts.fetch_sub(1) == 0) {
        fail("a primary context is released more often than it was retained");
    }
    return code;
}

EXPORT cuCtxGetCurrent(Device **context) {
    *context = current();
    return usable();
}

EXPORT cuCtxSetCurrent(Device *context) {
    set_current(context);
    return usable();
}

EXPORT cuCtxSynchronize() {
    return on_current([](Device &device) { return synchronize_all(device); });
}

EXPORT cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
    return on_current([=](Device &device) {
        memory_info(device, free, total);
        return device.failed.load();
    });
}

EXPORT cuMemAlloc_v2(std::uint64_t *address, std::size_t bytes) {
    return on_current([=](Device &device) { return allocate(device, bytes, address); });
}

EXPORT cuMemFree_v2(std::uint64_t address) {
    return on_current([=](Device &) { return release(address); });
}

EXPORT cuMemHostAlloc(void **pointer, std::size_t bytes, unsigned) {
    return on_current([=](Device &device) { return allocate_host(device, bytes, pointer); });
}

EXPORT cuMemFreeHost(void *pointer) {
    return on_current([=](Device &) { return release_host(pointer); });
}

EXPORT cuMemHostRegister_v2(void *pointer, std::size_t bytes, unsigned) {
    return on_current([=](Device &device) { return register_host(device, pointer, bytes); });
}

EXPORT cuMemHostUnregister(void *pointer) {
    return on_current([=](Device &) { return unregister_host(pointer); });
}

EXPORT cuMemHostGetDevicePointer_v2(std::uint64_t *address, void *pointer, unsigned) {
    return on_current([=](Device &) { return host_as_device(pointer, address); });
}

EXPORT cuPointerGetAttribute(void *value, int attribute, std::uint64_t address) {
    constexpr int MEMORY_TYPE = 2, DEVICE_ORDINAL = 9;
    constexpr unsigned HOST = 1, DEVICE_MEMORY = 2;
    return on_current([=](Device &) -> int {
        if (attribute == DEVICE_ORDINAL) {
            const int ordinal = device_of(address);
            std::memcpy(value, &ordinal, sizeof ordinal);
            return ordinal < 0 ? INVALID_VALUE : SUCCESS;
        }
        if (attribute != MEMORY_TYPE) {
            return INVALID_VALUE;
        }
        unsigned type = DEVICE_MEMORY;
        if (!is_on_device(address)) {
            if (!is_pinned(reinterpret_cast<const void *>(address))) {
                return INVALID_VALUE;
            }
            type = HOST;
        }
        std::memcpy(value, &type, sizeof type);
        return SUCCESS;
    });
}

EXPORT cuStreamCreate(Stream **stream, unsigned flags) {
    constexpr unsigned NON_BLOCKING = 1;
    return on_current([=](Device &device) -> int {
        // Others wait for the default stream, which is not done here.
        return flags == NON_BLOCKING ? create_stream(device, stream) : INVALID_VALUE;
    });
}

EXPORT cuStreamDestroy_v2(Stream *stream) {
    return on_current([=](Device &) { return destroy_stream(stream); });
}

EXPORT cuStreamSynchronize(Stream *stream) {
    return on_current([=](Device &device) { return synchronize(device, stream); });
}

EXPORT cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
    return on_current([=](Device &device) { return wait(device, stream, event); });
}

EXPORT cuEventCreate(Event **event, unsigned flags) {
    constexpr unsigned DISABLE_TIMING = 2;
    return on_current([=](Device &device) {
        return create_event(device, (flags & DISABLE_TIMING) == 0, event);
    });
}

EXPORT cuEventDestroy_v2(Event *event) {
    return on_current([=](Device &) { return destroy_event(event); });
}

EXPORT cuEventRecord(Event *event, Stream *stream) {
    return on_current([=](Device &) { return record(event, stream); });
}

EXPORT cuEventQuery(Event *event) {
    return on_current([=](Device &) { return query(event); });
}

EXPORT cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    return on_current([=](Device &) { return elapsed(milliseconds, start, end); });
}

EXPORT cuMemcpyHtoDAsync_v2(std::uint64_t to, const void *from, std::size_t bytes, Stream *stream) {
    return on_current([=](Device &device) { return copy_in(device, to, from, bytes, stream); });
}

EXPORT cuMemcpyDtoHAsync_v2(void *to, std::uint64_t from, std::size_t bytes, Stream *stream) {
    return on_current([=](Device &device) { return copy_out(device, to, from, bytes, stream); });
}

EXPORT cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                            Stream *stream) {
    return on_current([=](Device &device) { return copy(device, to, from, bytes, stream); });
}

// CUDA_MEMCPY2D of version 2.
struct Copy2D {
    std::size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    std::uint64_t from_device;
    void *from_array;
    std::size_t from_pitch, to_x, to_y;
    unsigned to_type;
    void *to_host;
    std::uint64_t to_device;
    void *to_array;
    std::size_t to_pitch, width, height;
};

EXPORT cuMemcpy2DAsync_v2(const Copy2D *copy, Stream *stream) {
    constexpr unsigned HOST = 1, DEVICE_MEMORY = 2;
    return on_current([=](Device &device) -> int {
        // The only direction in use.
        if (copy->from_type != HOST || copy->to_type != DEVICE_MEMORY) {
            return INVALID_VALUE;
        }
        return copy_in_rows(device, copy->to_device, copy->to_pitch, copy->from_host,
                            copy->from_pitch, copy->width, copy->height, stream);
    });
}

EXPORT cuMemsetD8Async(std::uint64_t to, unsigned char byte, std::size_t bytes, Stream *stream) {
    return on_current([=](Device &device) { return fill(device, to, byte, bytes, stream); });
}

EXPORT cuModuleLoadDataEx(Module **module, const char *image, unsigned options, const int *option,
                          void **value) {
    constexpr int ERROR_LOG_BUFFER = 5, ERROR_LOG_BUFFER_SIZE_BYTES = 6;
    return on_current([=](Device &device) -> int {
        char *log = nullptr;
        std::size_t size = 0;
        for (unsigned i = 0; i < options; ++i) {
            if (option[i] == ERROR_LOG_BUFFER) {
                log = static_cast<char *>(value[i]);
            } else if (option[i] == ERROR_LOG_BUFFER_SIZE_BYTES) {
                size = reinterpret_cast<std::uintptr_t>(value[i]);
            }
        }
        const std::string ptx = image;
        if (setting("fail_compile") != 0) {
            if (log != nullptr) {
                put_text(log, static_cast<int>(size), "ptxas fatal: a fault that was asked for");
            }
            return INVALID_PTX;
        }
        if (ptx.find(".version ") == std::string::npos) {
            return INVALID_IMAGE;
        }
        *module = new Module;
        (*module)->image = ptx;
        return device.failed.load();
    });
}

EXPORT cuModuleUnload(Module *module) {
    return on_current([=](Device &) -> int {
        unload(module);
        return SUCCESS;
    });
}

EXPORT cuModuleGetFunction(Function **function, Module *module, const char *name) {
    return on_current([=](Device &) -> int {
        std::vector<std::size_t> sizes;
        if (!declared(module->image, name, sizes)) {
            return NOT_FOUND;
        }
        *function = find_function(*module, name);
        if (*function == nullptr || (*function)->kernel->parameters != sizes) {
            fail((std::string("PTX was made from other sources: parameters of ") + name).c_str());
        }
        return SUCCESS;
    });
}

EXPORT cuFuncGetAttribute(int *value, int attribute, const Function *function) {
    switch (attribute) {
        case 0: *value = static_cast<int>(function->kernel->max_threads); return SUCCESS;
        case 1: *value = 0; return SUCCESS;   // SHARED_SIZE_BYTES
        case 3: *value = 0; return SUCCESS;   // LOCAL_SIZE_BYTES
        case 4: *value = 48; return SUCCESS;  // NUM_REGS
        default: return INVALID_VALUE;
    }
}

EXPORT cuFuncSetAttribute(Function *function, int attribute, int value) {
    constexpr int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
    if (attribute != MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > SHARED_OF_BLOCK) {
        return INVALID_VALUE;
    }
    function->most_shared = static_cast<unsigned>(value);
    return SUCCESS;
}

EXPORT cuLaunchKernel(const Function *function, unsigned blocks, unsigned, unsigned,
                      unsigned threads, unsigned, unsigned, unsigned shared, Stream *stream,
                      void **arguments, void **) {
    if (shared > function->most_shared.load()) {
        return INVALID_VALUE;
    }
    return on_current([=](Device &device) {
        device.counts.sharing += shared != 0;
        return launch(device, *function, blocks, threads, shared, stream, arguments);
    });
}
