// The simulation: clock, reset, the profile by instruction, and the end.
//
//   system +rom=FILE.hex [+input=FILE] [+profile=FILE] [+cycles=N]
//
// The profile has a line "address cycles" for each address; cycles asleep are under address ffffffff.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "Vsystem.h"
#include "verilated.h"

namespace {

std::string argument(VerilatedContext& context, const char* name)
{
    const std::string match = context.commandArgsPlusMatch(name);
    return match.empty() ? match : match.substr(match.find('=') + 1);
}

bool write_profile(const std::string& path, const std::map<uint32_t, uint64_t>& counts)
{
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
        return false;
    }
    for (const auto& [address, cycles] : counts) {
        std::fprintf(file, "%08x %llu\n", address, static_cast<unsigned long long>(cycles));
    }
    return std::fclose(file) == 0;
}

void clock(Vsystem& system)
{
    system.clk = 0;
    system.eval();
    system.clk = 1;
    system.eval();
}

}  // namespace

int main(int argc, char** argv)
{
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vsystem system{&context};
    const std::string profile = argument(context, "profile=");
    const std::string limit = argument(context, "cycles=");
    const uint64_t cycles = limit.empty() ? 1'000'000'000 : std::strtoull(limit.c_str(), nullptr, 10);
    std::map<uint32_t, uint64_t> counts;

    system.rst_n = 1;
    clock(system);
    system.rst_n = 0;
    clock(system);
    clock(system);
    system.rst_n = 1;
    for (uint64_t i = 0; i < cycles && !system.exiting && !context.gotFinish(); i++) {
        clock(system);
        if (system.profiling) {
            counts[system.sleeping ? 0xFFFFFFFF : system.pc]++;
        }
    }
    system.final();
    std::fflush(stdout);
    if (!system.exiting) {
        std::fprintf(stderr, "the firmware did not end\n");
        return 99;
    }
    if (!profile.empty() && !write_profile(profile, counts)) {
        std::perror(profile.c_str());
        return 98;
    }
    return system.exit_code;
}
