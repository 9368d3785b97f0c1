#include "quire/kernels/tree_program.h"

#include <algorithm>

namespace quire::kernels {
namespace {

using Kind = TreePlace::Kind;

class Compiler {
 public:
  explicit Compiler(const TreeAdd& args) : args_(args) {}

  TreeProgram run() {
    sum();
    redirect();
    move();
    return std::move(program_);
  }

 private:
  std::int32_t take_buffer() {
    if (free_.empty()) return program_.buffers++;
    const std::int32_t buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  void release(TreePlace place) {
    if (place.kind == Kind::kBuffer) free_.push_back(place.index);
  }

  // All steps with buffers as results; leaves the stack in stack_.
  void sum() {
    std::int32_t input = 0;
    for (TreeStep step : args_.steps) {
      if (step == TreeStep::kPush) {
        stack_.push_back({.place = {Kind::kInput, input++}, .sum = -1});
        continue;
      }
      const Entry right = stack_.back();
      stack_.pop_back();
      const Entry left = stack_.back();
      release(left.place);
      release(right.place);
      const TreePlace result{Kind::kBuffer, take_buffer()};
      stack_.back() = {.place = result,
                       .sum = static_cast<std::int32_t>(program_.sums.size())};
      program_.sums.push_back({left.place, right.place, result});
    }
  }

  bool aliases(TreePlace place, const Tensor& output) const {
    return place.kind == Kind::kInput &&
           args_.inputs[static_cast<std::size_t>(place.index)].raw() ==
               output.raw();
  }

  // Whether `output` is an input that is read after sum number `sum`.
  bool read_later(std::int32_t sum, const Tensor& output) const {
    for (auto i = static_cast<std::size_t>(sum) + 1; i < program_.sums.size();
         ++i) {
      const TreeSum& later = program_.sums[i];
      if (aliases(later.left, output) || aliases(later.right, output)) {
        return true;
      }
    }
    return std::any_of(stack_.begin(), stack_.end(), [&](const Entry& entry) {
      return aliases(entry.place, output);
    });
  }

  // The last sum of an output is written there at once where that is safe.
  void redirect() {
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      Entry& entry = stack_[i];
      if (entry.sum < 0 || read_later(entry.sum, args_.outputs[i])) continue;
      entry.place = {Kind::kOutput, static_cast<std::int32_t>(i)};
      program_.sums[static_cast<std::size_t>(entry.sum)].result = entry.place;
    }
  }

  // The rest: inputs that pass through by way of buffers, since an output may
  // be another's input.
  void move() {
    program_.first_staged = program_.buffers;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      TreePlace place = stack_[i].place;
      if (place.kind == Kind::kOutput || aliases(place, args_.outputs[i])) {
        continue;
      }
      if (place.kind == Kind::kInput) {
        program_.staged.push_back(place);
        place = {Kind::kBuffer, program_.buffers++};
      }
      program_.moves.push_back({place, static_cast<std::int32_t>(i)});
    }
  }

  struct Entry {
    TreePlace place;
    std::int32_t sum;  // the number of the sum that makes it, or -1
  };

  const TreeAdd& args_;
  TreeProgram program_;
  std::vector<Entry> stack_;
  std::vector<std::int32_t> free_;
};

}  // namespace

TreeProgram compile(const TreeAdd& args) { return Compiler(args).run(); }

}  // namespace quire::kernels
