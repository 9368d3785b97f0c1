#include "quire/kernels/detail/tree_program.h"

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
  struct Entry {
    TreePlace place;
    std::int32_t sum;  // the number of the sum that makes it, or -1
  };

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
      TreeSum sum = fuse(left, right);
      sum.result = {Kind::kBuffer, take_buffer()};
      stack_.back() = {.place = sum.result,
                       .sum = static_cast<std::int32_t>(program_.sums.size())};
      program_.sums.push_back(sum);
    }
  }

  // Whether a sum reads nothing but inputs of `type`.
  bool reads_inputs(const TreeSum& sum, DType type) const {
    return std::all_of(
        sum.operands.begin(), sum.operands.begin() + sum.count,
        [&](TreePlace place) {
          return place.kind == Kind::kInput &&
                 args_.inputs[static_cast<std::size_t>(place.index)].dtype() ==
                     type;
        });
  }

  // Whether two sums are the last ones and can be one.
  bool fusible(const Entry& left, const Entry& right) const {
    const auto count = static_cast<std::int32_t>(program_.sums.size());
    if (left.sum < 0 || left.sum != count - 2 || right.sum != count - 1) {
      return false;
    }
    const TreeSum& a = program_.sums[static_cast<std::size_t>(left.sum)];
    const TreeSum& b = program_.sums[static_cast<std::size_t>(right.sum)];
    if (a.count != b.count || a.count > 4) return false;
    return (reads_inputs(a, DType::kF32) && reads_inputs(b, DType::kF32)) ||
           (reads_inputs(a, DType::kBF16) && reads_inputs(b, DType::kBF16));
  }

  // left + right, in place of the sums that make them where that can be.
  TreeSum fuse(const Entry& left, const Entry& right) {
    TreeSum sum{
        .operands = {left.place, right.place}, .count = 2, .result = {}};
    if (!fusible(left, right)) return sum;
    const TreeSum second = program_.sums.back();
    program_.sums.pop_back();
    sum = program_.sums.back();
    program_.sums.pop_back();
    std::copy_n(second.operands.begin(), second.count,
                sum.operands.begin() + sum.count);
    sum.count += second.count;
    return sum;
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
      for (int k = 0; k < later.count; ++k) {
        if (aliases(later.operands[static_cast<std::size_t>(k)], output)) {
          return true;
        }
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

  const TreeAdd& args_;
  TreeProgram program_;
  std::vector<Entry> stack_;
  std::vector<std::int32_t> free_;
};

}  // namespace

TreeProgram compile(const TreeAdd& args) { return Compiler(args).run(); }

}  // namespace quire::kernels
