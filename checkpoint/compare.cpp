#include <fmt/format.h>

#include <set>
#include <utility>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/verify.h"
#include "quire/core/hash.h"

namespace quire::checkpoint {
namespace {

class Differences {
 public:
  Differences(const Checkpoint& a, const Checkpoint& b) : a_(a), b_(b) {}

  std::vector<std::string> run(Scope scope) {
    if (scope == Scope::kState) compare_progress();
    for (const auto& parameter : a_.manifest().parameters) {
      const auto* other = b_.manifest().find(parameter.name);
      if (other == nullptr)
        tell("{} is only in {}", parameter.name, a_.folder());
      else if (other->shape != parameter.shape)
        tell("{}: shape {} and {}", parameter.name, parameter.shape.to_string(),
             other->shape.to_string());
      else
        compare(parameter, *other, scope);
    }
    for (const auto& parameter : b_.manifest().parameters)
      if (a_.manifest().find(parameter.name) == nullptr)
        tell("{} is only in {}", parameter.name, b_.folder());
    return std::move(lines_);
  }

 private:
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void compare_progress() {
    const Progress& a = a_.manifest().progress;
    const Progress& b = b_.manifest().progress;
    if (a.step != b.step) tell("step: {} and {}", a.step, b.step);
    if (a.updates != b.updates)
      tell("updates: {} and {}", a.updates, b.updates);
    if (a.position != b.position)
      tell("position: {} and {}", a.position, b.position);
    if (a.seed != b.seed) tell("seed: {} and {}", a.seed, b.seed);
  }

  void compare(const ManifestParameter& a, const ManifestParameter& b,
               Scope scope) {
    if (scope == Scope::kValues) {
      compare(a.name, a.value(), b.value());
      return;
    }
    std::set<std::string> kinds;
    for (const auto& state : a.states) kinds.insert(state.kind);
    for (const auto& state : b.states) kinds.insert(state.kind);
    for (const auto& kind : kinds)
      compare(tensor_name(kind, a.name), a.find(kind), b.find(kind));
  }

  void compare(const std::string& name, const ManifestState* a,
               const ManifestState* b) {
    if (a == nullptr && b == nullptr) return;
    if (a == nullptr || b == nullptr)
      tell("{} is only in {}", name, (b == nullptr ? a_ : b_).folder());
    else if (a->dtype != b->dtype)
      tell("{}: {} and {}", name, name_of(a->dtype), name_of(b->dtype));
    else if (a->hash != b->hash)
      tell("{}: the values differ: {} and {}", name, to_hex(a->hash),
           to_hex(b->hash));
  }

  const Checkpoint& a_;
  const Checkpoint& b_;
  std::vector<std::string> lines_;
};

}  // namespace

std::uint64_t fingerprint(const std::string& path) {
  return Checkpoint::open(path).manifest().fingerprint();
}

std::vector<std::string> compare(const std::string& a, const std::string& b,
                                 Scope scope) {
  const Checkpoint first = Checkpoint::open(a);
  const Checkpoint second = Checkpoint::open(b);
  return Differences(first, second).run(scope);
}

}  // namespace quire::checkpoint
