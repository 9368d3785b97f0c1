// A saved step, open for reading by any number of ranks of any world: each
// reads the ranges it asks for, and every byte is checked against its hash
// before it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/core/tensor.h"

namespace quire::checkpoint {

struct ExpectedState {
  std::string kind;
  DType dtype;
};
// A parameter as the reader's model has it.
struct ExpectedParameter {
  std::string name;
  Shape shape;
  std::vector<ExpectedState> states;
};

// Move-only; used by one thread.
class Checkpoint {
 public:
  // `path`: a checkpoint's folder, or a run's, whose newest whole step is taken
  // (skipped() says what was passed over). UsageError for a file that breaks
  // its format or its manifest, and if there is nothing to open.
  static Checkpoint open(const std::string& path);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const std::string& folder() const;
  const Manifest& manifest() const;
  // One line for every newer step of the run's folder that is not whole.
  const std::vector<std::string>& skipped() const;

  // kWhole: the checkpoint holds the given states and no others. kNamed: it
  // holds the given ones; kinds that nobody asks for may be there too.
  // Parameters must be the same either way. One UsageError names all that are
  // missing, unexpected or different, the first 50 of each.
  enum class States { kWhole, kNamed };
  void expect(std::span<const ExpectedParameter> parameters,
              States states) const;

  // The file that holds an element; empty if there is none.
  std::string file_of(std::string_view kind, std::string_view parameter,
                      std::int64_t element) const;

  // dest = elements [first, first + dest.numel()) of the tensor. Reads the
  // tiles that these lie in. UsageError unless it is there, of dest's type, and
  // holds the range; SystemError naming the elements that fail their hash: dest
  // may hold anything then.
  void load(std::string_view kind, std::string_view parameter,
            std::int64_t first, const Tensor& dest) const;
  // Elements [first, first + count) will be loaded: their hashes are read
  // ahead, so that later nothing comes between values that the system reads
  // ahead of. What is not there is left to load to find.
  void will_load(std::string_view kind, std::string_view parameter,
                 std::int64_t first, std::int64_t count) const;

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire::checkpoint
