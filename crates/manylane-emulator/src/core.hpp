// An emulated GPU: devices, their memory, streams and kernels, on the host's processor.
//
// cuda.cpp and hip.cpp make of it what looks like a vendor's driver to the loader. It does what
// manylane relies on, no more, and is stricter than a driver: an address of the wrong memory, a
// missing wait or memory that is freed in use is an error here each time, not sometimes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emulator {

// Both vendors number these alike.
enum Code : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    NOT_REGISTERED = 713,
    LAUNCH_FAILED = 719,
};

// Says why on standard error and ends the process: what is wrong here is wrong in manylane.
[[noreturn]] void fail(const char *why);

// The vendor's name of a code, less its beginning: "OUT_OF_MEMORY"; null if there is none.
const char *code_name(int code);

// --- Settings: README.md has the list. ------------------------------------------------------

// Of the driver as a whole.
std::uint64_t setting(const char *name);
std::string text_setting(const char *name);

// What a device can be told to do; set as `name=value@device`, without a device for all.
struct Settings {
    std::atomic<std::uint64_t> integrated, memory, copy_rate, kernel_rate, launch_ns;
    // Counted down; what brings them from 1 to 0 fails, hangs, or computes a wrong digest.
    std::atomic<std::uint64_t> fail_alloc, fail_copy, fail_launch, hang_launch, flip_launch;
    // The code that a failing copy or launch gives, and whether a launch does so at the call.
    std::atomic<std::uint64_t> fail_code, fail_at_call;
    // Whether it cannot be described; the largest pitch of a copy.
    std::atomic<std::uint64_t> fail_info, max_pitch;
};

// Counts down to 0; whether that was the step from 1.
bool is_due(std::atomic<std::uint64_t> &countdown);

// What happened so far.
struct Counts {
    std::atomic<std::uint64_t> launches, copies, allocations, live_bytes, contexts;
    // Launches that asked for dynamic shared memory.
    std::atomic<std::uint64_t> sharing;
    // Memory that was given back with something other than zeros in it.
    std::atomic<std::uint64_t> unwiped;
    // By hipRTC, whatever the device: counted for the first.
    std::atomic<std::uint64_t> compilations;
};

// --- Devices --------------------------------------------------------------------------------

// Work of one kind, one after the other, at a given rate.
class Engine {
  public:
    Engine();
    ~Engine();
    // Sleeps until `bytes` more are through at `rate` bytes a second, 0 for no limit, and
    // `extra_ns` have passed.
    void pass(std::uint64_t bytes, std::uint64_t rate, std::uint64_t extra_ns = 0);

  private:
    struct State;
    std::unique_ptr<State> state;
};

struct Stream;
struct Event;

struct Device {
    int ordinal = 0;
    Settings settings{};
    Counts counts{};
    Engine copies_in, copies_out, compute;
    // What every call concerning the device gives from its first failure on.
    std::atomic<int> failed{SUCCESS};
    // The default stream.
    std::atomic<Stream *> null_stream{nullptr};
};

// SUCCESS, or what a call gives that comes before initialising or in a forked child.
int usable();
int initialise();
int device_count();
// Null if there is none.
Device *device(int ordinal);
// The thread's current device, null at first.
Device *current();
void set_current(Device *device);

// --- Memory ---------------------------------------------------------------------------------

// Memory that devices know. An address on a device is that of the host plus a bit that no host
// address has: neither works in place of the other.
struct Allocation {
    enum Kind { ON_DEVICE, PINNED, REGISTERED };
    std::uint8_t *base;
    std::size_t size;
    Kind kind;
    Device *device;
    // Work under way that uses it.
    std::atomic<int> in_use{0};
};
using Uses = std::vector<std::shared_ptr<Allocation>>;

int allocate(Device &device, std::size_t bytes, std::uint64_t *address);
int release(std::uint64_t address);
int allocate_host(Device &device, std::size_t bytes, void **pointer);
int release_host(void *pointer);
int register_host(Device &device, void *pointer, std::size_t bytes);
int unregister_host(void *pointer);
int host_as_device(const void *pointer, std::uint64_t *address);
bool is_pinned(const void *pointer);
bool is_on_device(std::uint64_t address);
// Whose memory an address is, or -1 if no device has it.
int device_of(std::uint64_t address);
void memory_info(Device &device, std::size_t *free, std::size_t *total);

// Where `bytes` at a device's address are on the host, for work on that device; null if they are
// not all in one allocation that the device may use. Adds the allocation to `uses`.
void *resolve(Device &device, std::uint64_t address, std::size_t bytes, Uses &uses);

// --- Streams and events; a null stream is the default one ------------------------------------

int create_stream(Device &device, Stream **stream);
int destroy_stream(Stream *stream);
int synchronize(Device &device, Stream *stream);
// Everything on all streams of the device.
int synchronize_all(Device &device);
int create_event(Device &device, bool timed, Event **event);
int destroy_event(Event *event);
int record(Event *event, Stream *stream);
int query(Event *event);
int elapsed(float *milliseconds, Event *start, Event *end);
int wait(Device &device, Stream *stream, Event *event);

// Copies are asynchronous from and to memory that is pinned; other memory is read before the call
// returns, and written before it returns, as drivers do.
int copy_in(Device &device, std::uint64_t to, const void *from, std::size_t bytes, Stream *stream);
// Rows with a pitch, which has its limit.
int copy_in_rows(Device &device, std::uint64_t to, std::size_t to_pitch, const void *from,
                 std::size_t from_pitch, std::size_t width, std::size_t rows, Stream *stream);
int copy_out(Device &device, void *to, std::uint64_t from, std::size_t bytes, Stream *stream);
int copy(Device &device, std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream *stream);
int fill(Device &device, std::uint64_t to, std::uint8_t byte, std::size_t bytes, Stream *stream);

// --- Kernels --------------------------------------------------------------------------------

// A launch with its arguments: taken by value at the call, run later.
struct Launch {
    // Runs one thread block.
    std::function<void()> block;
    Uses uses;
    bool addresses_are_valid = true;
    // Bytes of messages, for the simulated rate.
    std::uint64_t bytes = 0;
    // Where the digests go, for the simulated fault; null if the kernel writes none.
    std::uint8_t *digests = nullptr;
    std::uint64_t digest_count = 0;
};

struct Kernel {
    std::string name;
    // Sizes of the parameters.
    std::vector<std::size_t> parameters;
    unsigned max_threads;
    std::function<Launch(Device &, void **arguments)> prepare;
};

const Kernel *find_kernel(const std::string &name);
void add_kernel(Kernel kernel);
// Aborts if a thread block leaves keys in shared memory, or what comes of them.
void run_blocks(const Kernel &kernel, const Launch &launch, unsigned blocks, unsigned threads,
                unsigned shared);

// What was loaded as one, and the kernels of it that were asked for.
struct Function {
    const Kernel *kernel;
    // Those of the module that are not done.
    std::shared_ptr<std::atomic<int>> launches;
    // Bytes of dynamic shared memory that a launch may ask for.
    std::atomic<unsigned> most_shared;
};
struct Module {
    std::string image;
    std::shared_ptr<std::atomic<int>> launches = std::make_shared<std::atomic<int>>(0);
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<Function>> functions;
};

// Null if there is no such kernel.
Function *find_function(Module &module, const std::string &name);
// Aborts if a launch of it is not done.
void unload(Module *module);
int launch(Device &device, const Function &function, unsigned blocks, unsigned threads,
           unsigned shared, Stream *stream, void **arguments);

}  // namespace emulator
