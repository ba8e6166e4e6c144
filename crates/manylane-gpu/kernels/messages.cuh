// Many messages in the layouts the library takes.
#pragma once

#include "device.h"

enum Layout : u32 { STRIDED = 0, OFFSETS32 = 1, OFFSETS64 = 2 };

// Message i: `len` bytes at `data + i * stride`, or the bytes from offset i to offset i + 1, with
// `data` standing for offset `base`. Any alignment.
struct Messages {
    const u8 *data;
    const void *offsets;
    u64 len, stride, base;
    u32 kind, reserved;
};

struct Message {
    const u8 *at;
    u64 len;
};

DEVICE Message message(const Messages &messages, u32 index) {
    if (messages.kind == STRIDED) {
        return {messages.data + index * messages.stride, messages.len};
    }
    u64 from, to;
    if (messages.kind == OFFSETS32) {
        const u32 *offsets = static_cast<const u32 *>(messages.offsets) + index;
        from = offsets[0];
        to = offsets[1];
    } else {
        const u64 *offsets = static_cast<const u64 *>(messages.offsets) + index;
        from = offsets[0];
        to = offsets[1];
    }
    return {messages.data + (from - messages.base), to - from};
}
