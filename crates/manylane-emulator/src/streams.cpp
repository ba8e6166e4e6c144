// Streams, events, copies and launches.
//
// A stream is a queue with a thread, which starts when something is first enqueued. The threads
// and what they use are never destroyed: the process may end while they run.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core.hpp"

namespace emulator {
namespace {

// A place in a stream: passed or not yet.
struct Mark {
    std::mutex mutex;
    std::condition_variable changed;
    bool passed = false;
    std::chrono::steady_clock::time_point at;

    void pass() {
        const std::lock_guard<std::mutex> lock(mutex);
        passed = true;
        at = std::chrono::steady_clock::now();
        changed.notify_all();
    }

    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return passed; });
    }

    bool is_passed() {
        const std::lock_guard<std::mutex> lock(mutex);
        return passed;
    }
};

struct Work {
    std::function<void()> run;
    Uses uses;
    // Done even if the device has failed: marks, which others wait for.
    bool always = false;
};

}  // namespace

struct Stream {
    Device *device;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> queue;
    bool has_thread = false, ended = false;

    void work() {
        for (;;) {
            Work next;
            {
                std::unique_lock<std::mutex> lock(mutex);
                changed.wait(lock, [this] { return !queue.empty() || ended; });
                if (queue.empty()) {
                    break;
                }
                next = std::move(queue.front());
                queue.pop_front();
            }
            if (next.always || device->failed.load() == SUCCESS) {
                next.run();
            }
            for (const auto &allocation : next.uses) {
                --allocation->in_use;
            }
        }
        delete this;
    }

    void push(Work item) {
        for (const auto &allocation : item.uses) {
            ++allocation->in_use;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(std::move(item));
        if (!has_thread) {
            has_thread = true;
            std::thread([this] { work(); }).detach();
        }
        changed.notify_all();
    }
};

struct Event {
    Device *device;
    bool timed;
    std::mutex mutex;
    std::shared_ptr<Mark> mark;

    std::shared_ptr<Mark> latest() {
        const std::lock_guard<std::mutex> lock(mutex);
        return mark;
    }
};

namespace {

struct Handles {
    std::mutex mutex;
    std::set<Stream *> streams;
    std::set<Event *> events;
};

Handles &handles() {
    static Handles *const handles = new Handles;
    return *handles;
}

bool is_alive(Stream *stream) {
    const std::lock_guard<std::mutex> lock(handles().mutex);
    return handles().streams.count(stream) != 0;
}

bool is_alive(Event *event) {
    const std::lock_guard<std::mutex> lock(handles().mutex);
    return handles().events.count(event) != 0;
}

Stream *add_stream(Device &device) {
    Stream *const stream = new Stream;
    stream->device = &device;
    const std::lock_guard<std::mutex> lock(handles().mutex);
    handles().streams.insert(stream);
    return stream;
}

// The streams of a thread that end with it.
struct OfThread {
    std::map<Device *, Stream *> streams;
    ~OfThread() {
        for (const auto &[device, stream] : streams) {
            destroy_stream(stream);
        }
    }
};

// The stream to work with, or null if the handle is none of the device's.
Stream *find(Device &device, Stream *stream) {
    // The handle that means another stream on each thread.
    constexpr std::uintptr_t PER_THREAD = 2;
    if (reinterpret_cast<std::uintptr_t>(stream) == PER_THREAD) {
        thread_local OfThread of_thread;
        Stream *&own = of_thread.streams[&device];
        return own != nullptr ? own : (own = add_stream(device));
    }
    if (stream != nullptr) {
        return is_alive(stream) && stream->device == &device ? stream : nullptr;
    }
    Stream *found = device.null_stream.load();
    if (found == nullptr) {
        Stream *const made = add_stream(device);
        if (!device.null_stream.compare_exchange_strong(found, made)) {
            destroy_stream(made);
            return found;
        }
        return made;
    }
    return found;
}

std::shared_ptr<Mark> push_mark(Stream &stream) {
    auto mark = std::make_shared<Mark>();
    stream.push({[mark] { mark->pass(); }, {}, true});
    return mark;
}

// Enqueues work on a stream of the device.
int push(Device &device, Stream *handle, Work work) {
    if (device.failed.load() != SUCCESS) {
        return device.failed.load();
    }
    Stream *const stream = find(device, handle);
    if (stream == nullptr) {
        return INVALID_HANDLE;
    }
    stream->push(std::move(work));
    return SUCCESS;
}

void set_failed(Device &device, int code) {
    int none = SUCCESS;
    device.failed.compare_exchange_strong(none, code);
}

// Whether this copy is the one to fail.
bool fails(Device &device) {
    ++device.counts.copies;
    return is_due(device.settings.fail_copy);
}

// A copy as work: `move` with the time it takes, or the failure that is due.
Work copying(Device &device, Engine &engine, std::size_t bytes, std::function<void()> move,
             Uses uses) {
    const bool failing = fails(device);
    auto run = [&device, &engine, bytes, failing, move = std::move(move)] {
        if (failing) {
            set_failed(device, static_cast<int>(device.settings.fail_code.load()));
            return;
        }
        engine.pass(bytes, device.settings.copy_rate.load());
        move();
    };
    return {std::move(run), std::move(uses), false};
}

// The host's side of a copy: adds page-locked memory to `uses`, and says whether it is that.
bool use_host(Device &device, const void *pointer, std::size_t bytes, Uses &uses) {
    std::uint64_t address = 0;
    return host_as_device(pointer, &address) == SUCCESS
           && resolve(device, address, bytes, uses) != nullptr;
}

}  // namespace

int create_stream(Device &device, Stream **stream) {
    if (device.failed.load() != SUCCESS) {
        return device.failed.load();
    }
    *stream = add_stream(device);
    return SUCCESS;
}

int destroy_stream(Stream *stream) {
    {
        const std::lock_guard<std::mutex> lock(handles().mutex);
        if (handles().streams.erase(stream) == 0) {
            return INVALID_HANDLE;
        }
    }
    bool has_thread = false;
    {
        const std::lock_guard<std::mutex> lock(stream->mutex);
        stream->ended = true;
        has_thread = stream->has_thread;
        stream->changed.notify_all();
    }
    // A thread runs what is enqueued to its end, and deletes the stream itself.
    if (!has_thread) {
        delete stream;
    }
    return SUCCESS;
}

int synchronize(Device &device, Stream *handle) {
    Stream *const stream = find(device, handle);
    if (stream == nullptr) {
        return INVALID_HANDLE;
    }
    push_mark(*stream)->wait();
    return device.failed.load();
}

int synchronize_all(Device &device) {
    std::vector<std::shared_ptr<Mark>> marks;
    {
        const std::lock_guard<std::mutex> lock(handles().mutex);
        for (Stream *const stream : handles().streams) {
            if (stream->device == &device) {
                marks.push_back(push_mark(*stream));
            }
        }
    }
    for (const auto &mark : marks) {
        mark->wait();
    }
    return device.failed.load();
}

int create_event(Device &device, bool timed, Event **event) {
    if (device.failed.load() != SUCCESS) {
        return device.failed.load();
    }
    *event = new Event;
    (*event)->device = &device;
    (*event)->timed = timed;
    const std::lock_guard<std::mutex> lock(handles().mutex);
    handles().events.insert(*event);
    return SUCCESS;
}

int destroy_event(Event *event) {
    {
        const std::lock_guard<std::mutex> lock(handles().mutex);
        if (handles().events.erase(event) == 0) {
            return INVALID_HANDLE;
        }
    }
    delete event;
    return SUCCESS;
}

int record(Event *event, Stream *handle) {
    if (!is_alive(event)) {
        return INVALID_HANDLE;
    }
    Device &device = *event->device;
    if (device.failed.load() != SUCCESS) {
        return device.failed.load();
    }
    Stream *const stream = find(device, handle);
    if (stream == nullptr) {
        return INVALID_HANDLE;
    }
    const std::lock_guard<std::mutex> lock(event->mutex);
    event->mark = push_mark(*stream);
    return SUCCESS;
}

int query(Event *event) {
    if (!is_alive(event)) {
        return INVALID_HANDLE;
    }
    const auto mark = event->latest();
    if (mark != nullptr && !mark->is_passed()) {
        return NOT_READY;
    }
    return event->device->failed.load();
}

int elapsed(float *milliseconds, Event *start, Event *end) {
    if (!is_alive(start) || !is_alive(end) || !start->timed || !end->timed) {
        return INVALID_HANDLE;
    }
    const auto from = start->latest(), to = end->latest();
    if (from == nullptr || to == nullptr) {
        return INVALID_HANDLE;
    }
    if (!from->is_passed() || !to->is_passed()) {
        return NOT_READY;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return start->device->failed.load();
}

int wait(Device &device, Stream *handle, Event *event) {
    if (!is_alive(event)) {
        return INVALID_HANDLE;
    }
    const auto mark = event->latest();
    if (mark == nullptr) {
        return SUCCESS;
    }
    return push(device, handle, {[mark] { mark->wait(); }, {}, false});
}

namespace {

int copy_in_any_rows(Device &device, std::uint64_t to, std::size_t to_pitch, const void *from,
                     std::size_t from_pitch, std::size_t width, std::size_t rows,
                     Stream *stream) {
    if (width == 0 || rows == 0) {
        return SUCCESS;
    }
    Uses uses;
    auto *const target = static_cast<std::uint8_t *>(
        resolve(device, to, to_pitch * (rows - 1) + width, uses));
    if (target == nullptr || to_pitch < width || from_pitch < width) {
        return INVALID_VALUE;
    }
    const auto *source = static_cast<const std::uint8_t *>(from);
    const std::size_t span = from_pitch * (rows - 1) + width;
    std::shared_ptr<std::vector<std::uint8_t>> read;
    if (!use_host(device, from, span, uses)) {
        // Page-locked in part, or by several calls.
        if (is_pinned(source) || is_pinned(source + span - 1)) {
            return INVALID_VALUE;
        }
        read = std::make_shared<std::vector<std::uint8_t>>(source, source + span);
        source = read->data();
    }
    auto move = [read, target, to_pitch, source, from_pitch, width, rows] {
        for (std::size_t row = 0; row < rows; ++row) {
            std::memcpy(target + row * to_pitch, source + row * from_pitch, width);
        }
    };
    return push(device, stream,
                copying(device, device.copies_in, width * rows, move, std::move(uses)));
}

}  // namespace

int copy_in(Device &device, std::uint64_t to, const void *from, std::size_t bytes,
            Stream *stream) {
    return copy_in_any_rows(device, to, bytes, from, bytes, bytes, 1, stream);
}

int copy_in_rows(Device &device, std::uint64_t to, std::size_t to_pitch, const void *from,
                 std::size_t from_pitch, std::size_t width, std::size_t rows, Stream *stream) {
    if (std::max(to_pitch, from_pitch) > device.settings.max_pitch.load()) {
        return INVALID_VALUE;
    }
    return copy_in_any_rows(device, to, to_pitch, from, from_pitch, width, rows, stream);
}

int copy_out(Device &device, void *to, std::uint64_t from, std::size_t bytes, Stream *stream) {
    if (bytes == 0) {
        return SUCCESS;
    }
    Uses uses;
    const void *const source = resolve(device, from, bytes, uses);
    if (source == nullptr) {
        return INVALID_VALUE;
    }
    const bool asynchronous = use_host(device, to, bytes, uses);
    auto move = [to, source, bytes] { std::memcpy(to, source, bytes); };
    const int code =
        push(device, stream, copying(device, device.copies_out, bytes, move, std::move(uses)));
    return code == SUCCESS && !asynchronous ? synchronize(device, stream) : code;
}

int copy(Device &device, std::uint64_t to, std::uint64_t from, std::size_t bytes,
         Stream *stream) {
    if (bytes == 0) {
        return SUCCESS;
    }
    Uses uses;
    void *const target = resolve(device, to, bytes, uses);
    const void *const source = resolve(device, from, bytes, uses);
    if (target == nullptr || source == nullptr) {
        return INVALID_VALUE;
    }
    auto move = [target, source, bytes] { std::memmove(target, source, bytes); };
    return push(device, stream, copying(device, device.compute, 0, move, std::move(uses)));
}

int fill(Device &device, std::uint64_t to, std::uint8_t byte, std::size_t bytes,
         Stream *stream) {
    if (bytes == 0) {
        return SUCCESS;
    }
    Uses uses;
    void *const target = resolve(device, to, bytes, uses);
    if (target == nullptr) {
        return INVALID_VALUE;
    }
    auto run = [target, byte, bytes] { std::memset(target, byte, bytes); };
    return push(device, stream, {run, std::move(uses), false});
}

namespace {

// A broken unit: one bit of every digest.
void flip(const Launch &launch) {
    for (std::uint64_t i = 0; i < launch.digest_count; ++i) {
        launch.digests[32 * i + 17] ^= 4;
    }
}

[[noreturn]] void hang() {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

}  // namespace

Function *find_function(Module &module, const std::string &name) {
    // What a launch may have without asking for more.
    constexpr unsigned SHARED_UNASKED = 48 << 10;
    const Kernel *const kernel = find_kernel(name);
    if (kernel == nullptr) {
        return nullptr;
    }
    const std::lock_guard<std::mutex> lock(module.mutex);
    std::unique_ptr<Function> &function = module.functions[name];
    if (function == nullptr) {
        function.reset(new Function{kernel, module.launches, {SHARED_UNASKED}});
    }
    return function.get();
}

void unload(Module *module) {
    if (module->launches->load() != 0) {
        fail("a module is unloaded while a launch of its kernels is under way");
    }
    delete module;
}

int launch(Device &device, const Function &function, unsigned blocks, unsigned threads,
           unsigned shared, Stream *stream, void **arguments) {
    const Kernel &kernel = *function.kernel;
    if (blocks == 0 || threads == 0 || threads > kernel.max_threads) {
        return INVALID_VALUE;
    }
    if (device.failed.load() != SUCCESS) {
        return device.failed.load();
    }
    Settings &settings = device.settings;
    ++device.counts.launches;
    const bool failing = is_due(settings.fail_launch), hanging = is_due(settings.hang_launch);
    if (failing && settings.fail_at_call.load() != 0) {
        return static_cast<int>(settings.fail_code.load());
    }
    auto launch = std::make_shared<Launch>(kernel.prepare(device, arguments));
    const bool flipping = launch->digest_count != 0 && is_due(settings.flip_launch);
    ++*function.launches;
    // Gone with the work, whether that ran or not.
    const std::shared_ptr<void> counted(
        nullptr, [launches = function.launches](void *) { --*launches; });
    auto run = [&device, &kernel, launch, counted, blocks, threads, shared, failing, hanging, flipping] {
        const Settings &settings = device.settings;
        if (hanging) {
            hang();
        }
        if (failing) {
            set_failed(device, static_cast<int>(settings.fail_code.load()));
            return;
        }
        if (!launch->addresses_are_valid) {
            set_failed(device, ILLEGAL_ADDRESS);
            return;
        }
        device.compute.pass(launch->bytes, settings.kernel_rate.load(), settings.launch_ns.load());
        run_blocks(kernel, *launch, blocks, threads, shared);
        if (flipping) {
            flip(*launch);
        }
    };
    return push(device, stream, {std::move(run), launch->uses, false});
}

}  // namespace emulator
