// HIP's and hipRTC's functions that manylane calls, on the emulated device.
//
// Types and numbers are those of HIP 7's interface, written out: no toolkit is needed to build
// this. The compiler compiles nothing: it takes the sources that this library was built from, and
// no others, and gives a text that names the architecture.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core.hpp"

using namespace emulator;

#define EXPORT extern "C" __attribute__((visibility("default"))) int

namespace {

constexpr std::uint64_t RUNTIME_VERSION = 70051831;
constexpr char ARCHITECTURE[] = "gfx90a:sramecc+:xnack-";
constexpr char OBJECT[] = "manylane emulated code object for ";
constexpr int NO_BINARY_FOR_GPU = 209;

// The files of the kernels, by name.
const std::map<std::string, std::string> &kernel_sources() {
    static const auto *const files = new std::map<std::string, std::string>{
#include "kernel_sources.inc"
    };
    return *files;
}

thread_local int last_error = SUCCESS;

// What a function gives; other code of the thread can ask for the last failure.
int done(int code) {
    if (code != SUCCESS) {
        last_error = code;
    }
    return code;
}

int with_device(int ordinal, Device **found) {
    if (usable() != SUCCESS) {
        return usable();
    }
    *found = device(ordinal);
    return *found != nullptr ? SUCCESS : INVALID_DEVICE;
}

template <class Function>
int on_device(int ordinal, const Function &function) {
    Device *device = nullptr;
    const int code = with_device(ordinal, &device);
    return done(code != SUCCESS ? code : function(*device));
}

// Calls a function of the core with the current device, which is the first one at first.
template <class Function>
int on_current(const Function &function) {
    Device *const set = current();
    return on_device(set != nullptr ? set->ordinal : 0, function);
}

int put_text(char *text, int len, const std::string &value) {
    if (len <= 0) {
        return INVALID_VALUE;
    }
    const std::size_t taken = value.copy(text, static_cast<std::size_t>(len) - 1);
    text[taken] = '\0';
    return SUCCESS;
}

std::string architecture() {
    // The setting may be meant for the other stand-in.
    const std::string given = text_setting("architecture");
    return given.compare(0, 3, "gfx") == 0 ? given : ARCHITECTURE;
}

// Without the settings of the device.
std::string instruction_set() {
    const std::string name = architecture();
    return name.substr(0, name.find(':'));
}

std::uint64_t address_of(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

EXPORT hipInit(unsigned) { return done(initialise()); }

EXPORT hipRuntimeGetVersion(int *version) {
    const std::uint64_t given = setting("driver_version");
    // The setting may be meant for the other stand-in, whose versions have five digits.
    *version = static_cast<int>(given > 99999 ? given : RUNTIME_VERSION);
    return SUCCESS;
}

EXPORT hipGetLastError() { return std::exchange(last_error, SUCCESS); }

extern "C" __attribute__((visibility("default"))) const char *hipGetErrorName(int code) {
    switch (code) {
        case SUCCESS: return "hipSuccess";
        case INVALID_VALUE: return "hipErrorInvalidValue";
        case OUT_OF_MEMORY: return "hipErrorOutOfMemory";
        case NOT_INITIALIZED: return "hipErrorNotInitialized";
        case NO_DEVICE: return "hipErrorNoDevice";
        case INVALID_DEVICE: return "hipErrorInvalidDevice";
        case INVALID_IMAGE: return "hipErrorInvalidImage";
        case INVALID_CONTEXT: return "hipErrorInvalidContext";
        case NO_BINARY_FOR_GPU: return "hipErrorNoBinaryForGpu";
        case INVALID_HANDLE: return "hipErrorInvalidHandle";
        case NOT_FOUND: return "hipErrorNotFound";
        case NOT_READY: return "hipErrorNotReady";
        case ILLEGAL_ADDRESS: return "hipErrorIllegalAddress";
        case NOT_REGISTERED: return "hipErrorHostMemoryNotRegistered";
        case LAUNCH_FAILED: return "hipErrorLaunchFailure";
        default: return "hipErrorUnknown";
    }
}

extern "C" __attribute__((visibility("default"))) const char *hipGetErrorString(int) {
    return "of an emulated GPU";
}

EXPORT hipGetDeviceCount(int *count) {
    *count = device_count();
    return done(*count == 0 ? static_cast<int>(NO_DEVICE) : usable());
}

EXPORT hipGetDevice(int *ordinal) {
    return on_current([=](Device &device) -> int {
        *ordinal = device.ordinal;
        return SUCCESS;
    });
}

EXPORT hipSetDevice(int ordinal) {
    return on_device(ordinal, [](Device &device) -> int {
        set_current(&device);
        return SUCCESS;
    });
}

EXPORT hipDeviceSynchronize() {
    return on_current([](Device &device) { return synchronize_all(device); });
}

EXPORT hipDeviceGetName(char *text, int len, int ordinal) {
    return on_device(ordinal, [=](Device &) { return put_text(text, len, "manylane emulated GPU"); });
}

EXPORT hipDeviceGetPCIBusId(char *text, int len, int ordinal) {
    return on_device(ordinal, [=](Device &) {
        const char digit = static_cast<char>('A' + ordinal % 6);
        return put_text(text, len, std::string("0000:2") + digit + ":00.0");
    });
}

EXPORT hipDeviceGetAttribute(int *value, int attribute, int ordinal) {
    return on_device(ordinal, [=](Device &device) -> int {
        if (device.settings.fail_info.load() != 0) {
            return static_cast<int>(device.settings.fail_code.load());
        }
        // Those of the eleventh generation and later have waves of 32.
        const bool narrow = instruction_set().compare(0, 5, "gfx11") == 0;
        switch (attribute) {
            case 5: *value = 1000000; return SUCCESS;               // ClockRate, kHz
            case 16: *value = device.settings.integrated != 0; return SUCCESS;  // Integrated
            case 63: *value = 1; return SUCCESS;                    // MultiprocessorCount
            case 87: *value = narrow ? 32 : 64; return SUCCESS;     // WarpSize
            default: return INVALID_VALUE;
        }
    });
}

EXPORT hipDeviceTotalMem(std::size_t *bytes, int ordinal) {
    return on_device(ordinal, [=](Device &device) -> int {
        *bytes = device.settings.memory.load();
        return SUCCESS;
    });
}

EXPORT hipGetDevicePropertiesR0600(char *properties, int ordinal) {
    constexpr std::size_t SIZE = 1472, ARCHITECTURE_AT = 1160, ARCHITECTURE_SIZE = 256;
    return on_device(ordinal, [=](Device &) {
        std::memset(properties, 0, SIZE);
        put_text(properties, 256, "manylane emulated GPU");
        return put_text(properties + ARCHITECTURE_AT, ARCHITECTURE_SIZE, architecture());
    });
}

EXPORT hipMemGetInfo(std::size_t *free, std::size_t *total) {
    return on_current([=](Device &device) {
        memory_info(device, free, total);
        return device.failed.load();
    });
}

EXPORT hipMalloc(void **pointer, std::size_t bytes) {
    return on_current([=](Device &device) {
        std::uint64_t address = 0;
        const int code = allocate(device, bytes, &address);
        *pointer = reinterpret_cast<void *>(address);
        return code;
    });
}

EXPORT hipFree(void *pointer) {
    return on_current([=](Device &) { return release(address_of(pointer)); });
}

EXPORT hipHostMalloc(void **pointer, std::size_t bytes, unsigned) {
    return on_current([=](Device &device) { return allocate_host(device, bytes, pointer); });
}

EXPORT hipHostFree(void *pointer) {
    return on_current([=](Device &) { return release_host(pointer); });
}

EXPORT hipHostRegister(void *pointer, std::size_t bytes, unsigned) {
    return on_current([=](Device &device) { return register_host(device, pointer, bytes); });
}

EXPORT hipHostUnregister(void *pointer) {
    return on_current([=](Device &) { return unregister_host(pointer); });
}

EXPORT hipHostGetDevicePointer(void **seen, void *pointer, unsigned) {
    return on_current([=](Device &) {
        std::uint64_t address = 0;
        const int code = host_as_device(pointer, &address);
        *seen = reinterpret_cast<void *>(address);
        return code;
    });
}

// hipPointerAttribute_t.
struct PointerAttributes {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
};

EXPORT hipPointerGetAttributes(PointerAttributes *attributes, const void *pointer) {
    constexpr int UNREGISTERED = 0, HOST = 1, DEVICE_MEMORY = 2;
    return on_current([=](Device &) -> int {
        *attributes = {};
        attributes->type = is_on_device(address_of(pointer)) ? DEVICE_MEMORY
                           : is_pinned(pointer)              ? HOST
                                                             : UNREGISTERED;
        attributes->device = device_of(address_of(pointer));
        return SUCCESS;
    });
}

EXPORT hipStreamCreateWithFlags(Stream **stream, unsigned flags) {
    constexpr unsigned NON_BLOCKING = 1;
    return on_current([=](Device &device) -> int {
        // Others wait for the default stream, which is not done here.
        return flags == NON_BLOCKING ? create_stream(device, stream) : INVALID_VALUE;
    });
}

EXPORT hipStreamDestroy(Stream *stream) {
    return on_current([=](Device &) { return destroy_stream(stream); });
}

EXPORT hipStreamSynchronize(Stream *stream) {
    return on_current([=](Device &device) { return synchronize(device, stream); });
}

EXPORT hipStreamWaitEvent(Stream *stream, Event *event, unsigned) {
    return on_current([=](Device &device) { return wait(device, stream, event); });
}

EXPORT hipEventCreateWithFlags(Event **event, unsigned flags) {
    constexpr unsigned DISABLE_TIMING = 2, RELEASE_TO_SYSTEM = 0x80000000;
    return on_current([=](Device &device) -> int {
        if ((flags & ~(DISABLE_TIMING | RELEASE_TO_SYSTEM)) != 0) {
            return INVALID_VALUE;
        }
        return create_event(device, (flags & DISABLE_TIMING) == 0, event);
    });
}

EXPORT hipEventDestroy(Event *event) {
    return on_current([=](Device &) { return destroy_event(event); });
}

EXPORT hipEventRecord(Event *event, Stream *stream) {
    return on_current([=](Device &) { return record(event, stream); });
}

EXPORT hipEventQuery(Event *event) {
    return on_current([=](Device &) { return query(event); });
}

EXPORT hipEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    return on_current([=](Device &) { return elapsed(milliseconds, start, end); });
}

EXPORT hipMemcpyAsync(void *to, const void *from, std::size_t bytes, int kind, Stream *stream) {
    constexpr int HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3;
    return on_current([=](Device &device) -> int {
        switch (kind) {
            case HOST_TO_DEVICE: return copy_in(device, address_of(to), from, bytes, stream);
            case DEVICE_TO_HOST: return copy_out(device, to, address_of(from), bytes, stream);
            case DEVICE_TO_DEVICE:
                return copy(device, address_of(to), address_of(from), bytes, stream);
            default: return INVALID_VALUE;
        }
    });
}

EXPORT hipMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch,
                        std::size_t width, std::size_t rows, int kind, Stream *stream) {
    constexpr int HOST_TO_DEVICE = 1;
    return on_current([=](Device &device) -> int {
        // The only direction in use.
        if (kind != HOST_TO_DEVICE) {
            return INVALID_VALUE;
        }
        return copy_in_rows(device, address_of(to), to_pitch, from, from_pitch, width, rows, stream);
    });
}

EXPORT hipMemsetAsync(void *to, int byte, std::size_t bytes, Stream *stream) {
    return on_current([=](Device &device) {
        return fill(device, address_of(to), static_cast<std::uint8_t>(byte), bytes, stream);
    });
}

EXPORT hipModuleLoadData(Module **module, const char *image) {
    return on_current([=](Device &device) -> int {
        if (std::strncmp(image, OBJECT, sizeof OBJECT - 1) != 0) {
            return INVALID_IMAGE;
        }
        if (image + sizeof OBJECT - 1 != instruction_set()) {
            return NO_BINARY_FOR_GPU;
        }
        *module = new Module;
        (*module)->image = image;
        return device.failed.load();
    });
}

EXPORT hipModuleUnload(Module *module) {
    return on_current([=](Device &) -> int {
        unload(module);
        return SUCCESS;
    });
}

EXPORT hipModuleGetFunction(Function **function, Module *module, const char *name) {
    return on_current([=](Device &) -> int {
        *function = find_function(*module, name);
        return *function != nullptr ? SUCCESS : NOT_FOUND;
    });
}

EXPORT hipFuncGetAttribute(int *value, int attribute, const Function *function) {
    switch (attribute) {
        case 0: *value = static_cast<int>(function->kernel->max_threads); return SUCCESS;
        case 3: *value = 0; return SUCCESS;   // LOCAL_SIZE_BYTES
        case 4: *value = 64; return SUCCESS;  // NUM_REGS
        default: return done(INVALID_VALUE);
    }
}

EXPORT hipModuleLaunchKernel(const Function *function, unsigned blocks, unsigned, unsigned,
                             unsigned threads, unsigned, unsigned, unsigned shared, Stream *stream,
                             void **arguments, void **) {
    // A compute unit's.
    constexpr unsigned SHARED_OF_BLOCK = 64 << 10;
    if (shared > SHARED_OF_BLOCK) {
        return done(INVALID_VALUE);
    }
    return on_current([=](Device &device) {
        return launch(device, *function, blocks, threads, shared, stream, arguments);
    });
}

// --- hipRTC ---------------------------------------------------------------------------------

namespace {

enum CompilerCode { COMPILER_SUCCESS = 0, INVALID_INPUT = 3, COMPILATION = 6 };

struct Program {
    std::map<std::string, std::string> files;
    std::string log, code;
};

// What a compiler would say of the sources and the options; nothing if all is well.
std::string complaint(const Program &program, const std::set<std::string> &options) {
    if (setting("fail_compile") != 0) {
        return "error: a fault that was asked for";
    }
    for (const auto &[name, text] : program.files) {
        const auto known = kernel_sources().find(name);
        if (known == kernel_sources().end() || known->second != text) {
            return name + ": error: not what the emulator was built from: " + text.substr(0, 80);
        }
        const std::string include = "#include \"";
        for (std::size_t at = text.find(include); at != std::string::npos;) {
            at += include.size();
            const std::string wanted = text.substr(at, text.find('"', at) - at);
            if (program.files.count(wanted) == 0) {
                return name + ": fatal error: '" + wanted + "' file not found";
            }
            at = text.find(include, at);
        }
    }
    // Kernels need it, and it is the default of no hipRTC before 6.
    return options.count("-std=c++17") == 0 ? "error: not C++17" : "";
}

}  // namespace

EXPORT hiprtcVersion(int *major, int *minor) {
    // Of no real compiler: what is kept of this one is never taken for that one's.
    *major = 0;
    *minor = 1;
    return COMPILER_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) const char *hiprtcGetErrorString(int code) {
    return code == COMPILATION ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_INVALID_INPUT";
}

EXPORT hiprtcCreateProgram(Program **program, const char *source, const char *name, int headers,
                           const char *const *texts, const char *const *names) {
    *program = new Program;
    (*program)->files[name] = source;
    for (int i = 0; i < headers; ++i) {
        (*program)->files[names[i]] = texts[i];
    }
    return COMPILER_SUCCESS;
}

EXPORT hiprtcCompileProgram(Program *program, int count, const char *const *options) {
    const std::set<std::string> given(options, options + count);
    const std::string prefix = "--offload-arch=";
    const auto target = given.lower_bound(prefix);
    if (target == given.end() || target->compare(0, prefix.size(), prefix) != 0) {
        return INVALID_INPUT;
    }
    program->log = complaint(*program, given);
    if (!program->log.empty()) {
        return COMPILATION;
    }
    program->code = OBJECT + target->substr(prefix.size());
    if (Device *const first = device(0)) {
        ++first->counts.compilations;
    }
    return COMPILER_SUCCESS;
}

EXPORT hiprtcGetProgramLogSize(Program *program, std::size_t *size) {
    *size = program->log.size() + 1;
    return COMPILER_SUCCESS;
}

EXPORT hiprtcGetProgramLog(Program *program, char *log) {
    std::memcpy(log, program->log.c_str(), program->log.size() + 1);
    return COMPILER_SUCCESS;
}

EXPORT hiprtcGetCodeSize(Program *program, std::size_t *size) {
    *size = program->code.size() + 1;
    return COMPILER_SUCCESS;
}

EXPORT hiprtcGetCode(Program *program, char *code) {
    std::memcpy(code, program->code.c_str(), program->code.size() + 1);
    return COMPILER_SUCCESS;
}

EXPORT hiprtcDestroyProgram(Program **program) {
    delete *program;
    *program = nullptr;
    return COMPILER_SUCCESS;
}
