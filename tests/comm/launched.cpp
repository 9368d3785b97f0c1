// A program for a launcher to start: the ranks meet, and each prints who was
// there, as "rank 1 of 2 met 0 1".
#include <cstdio>
#include <exception>

#include "quire/comm/launch.h"
#include "quire/core/allocator.h"
#include "quire/core/stream.h"

int main() {
  using namespace quire;
  try {
    const comm::Launch launch =
        comm::detect_launch(comm::process_environment());
    const auto communicator = comm::join(launch, {.timeout_s = 20});
    ThreadPool pool(1);
    Allocator allocator(
        {.device = Device::kCpu, .budget_bytes = {}, .owner = "launched"});
    Stream stream(Stream::Kind::kInline, "compute", pool, allocator);
    const auto ranks =
        comm::gather_text(*communicator, std::to_string(communicator->rank()),
                          {.stream = &stream});
    std::string line = "rank " + std::to_string(communicator->rank()) + " of " +
                       std::to_string(communicator->size()) + " met";
    for (const std::string& rank : ranks) line += " " + rank;
    std::puts(line.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
