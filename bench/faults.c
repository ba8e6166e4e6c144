// Makes a real GPU fail midway, for bench/device.sh: loaded before the command, it stands between it
// and NVIDIA's driver and lets one kernel launch go wrong.
//
//   cc -shared -fPIC -O2 -o faults.so bench/faults.c
//   LD_PRELOAD=./faults.so FAULT=address:30 manylane sum -r --device cuda:0 DIRECTORY
//
// FAULT       what happens at the n-th launch
// address:n   the kernel is given an address that is none: the device stops, and all its work is lost
// refuse:n    the driver refuses the launch, as when the device has fallen off the bus
// skip:n      nothing is launched, and the digests stay what the memory held before
// hang:n      the kernel waits behind work that takes a minute
// memory:n    from the n-th allocation on the device on, there is no memory left
// count       nothing; at the end, how many launches and allocations there were
//
// The command finds the driver's functions by name, so what is given other names here is `dlsym`. Needs glibc.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_OF_MEMORY = 2, LAUNCH_FAILED = 719 };

typedef int launch_function(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            void *, void **, void **);
typedef int alloc_function(unsigned long long *, size_t);
typedef int host_function(void *, void (*)(void *), void *);

static launch_function *real_launch;
static alloc_function *real_alloc;
static host_function *real_host_function;
static atomic_int launches, allocations;

// Whether FAULT says `what`, and where.
static int fault_at(const char *what) {
    const char *fault = getenv("FAULT");
    const size_t length = strlen(what);
    if (fault == NULL || strncmp(fault, what, length) != 0 || fault[length] != ':') {
        return 0;
    }
    return atoi(fault + length + 1);
}

static void wait_a_minute(void *unused) {
    (void)unused;
    sleep(60);
}

static int launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
    const int n = atomic_fetch_add(&launches, 1) + 1;
    if (n == fault_at("refuse")) {
        fprintf(stderr, "fault: launch %d is refused\n", n);
        return LAUNCH_FAILED;
    }
    if (n == fault_at("skip")) {
        fprintf(stderr, "fault: launch %d is left out\n", n);
        return 0;
    }
    if (n == fault_at("hang")) {
        fprintf(stderr, "fault: launch %d waits\n", n);
        real_host_function(stream, wait_a_minute, NULL);
    }
    if (n == fault_at("address")) {
        fprintf(stderr, "fault: launch %d has no address\n", n);
        // Every kernel's first parameter begins with the address of its data; what follows is the rest
        // of a `Messages`, or of the caller's stack, which no kernel looks at.
        static unsigned long long none[6];
        memcpy(none, parameters[0], sizeof none);
        none[0] = 0x10;
        void *changed[64];
        memcpy(changed, parameters, sizeof changed);
        changed[0] = none;
        return real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, changed, extra);
    }
    return real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

static int alloc(unsigned long long *pointer, size_t bytes) {
    const int n = atomic_fetch_add(&allocations, 1) + 1, at = fault_at("memory");
    if (at > 0 && n >= at) {
        if (n == at) {
            fprintf(stderr, "fault: no memory from allocation %d on\n", n);
        }
        return OUT_OF_MEMORY;
    }
    return real_alloc(pointer, bytes);
}

__attribute__((destructor)) static void tell(void) {
    const char *fault = getenv("FAULT");
    if (fault != NULL && strcmp(fault, "count") == 0) {
        fprintf(stderr, "fault: %d launches, %d allocations\n", launches, allocations);
    }
}

void *dlsym(void *library, const char *name) {
    static void *(*real)(void *, const char *);
    if (real == NULL) {
        // Its version is that of glibc's first on this machine, or of 2.34, which moved it.
        const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
        for (size_t i = 0; i < sizeof versions / sizeof versions[0] && real == NULL; i++) {
            real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        }
        if (real == NULL) {
            abort();
        }
    }
    void *const found = real(library, name);
    if (found == NULL) {
        return NULL;
    }
    if (strcmp(name, "cuLaunchKernel") == 0) {
        real_launch = (launch_function *)found;
        real_host_function = (host_function *)real(library, "cuLaunchHostFunc");
        return (void *)launch;
    }
    if (strcmp(name, "cuMemAlloc_v2") == 0) {
        real_alloc = (alloc_function *)found;
        return (void *)alloc;
    }
    return found;
}
