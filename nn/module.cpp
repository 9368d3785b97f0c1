#include "quire/nn/module.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::nn {

void Module::for_each_parameter(
    const std::function<void(const std::string& path, Parameter& parameter)>&
        fn) {
  for (const Entry& entry : entries_) {
    if (entry.parameter != nullptr) {
      fn(entry.name, *entry.parameter);
      continue;
    }
    entry.child->for_each_parameter(
        [&](const std::string& path, Parameter& parameter) {
          fn(entry.name + "." + path, parameter);
        });
  }
}

void Module::add_parameter(Parameter& parameter) {
  check_name(parameter.name());
  entries_.push_back({.name = parameter.name(), .parameter = &parameter});
}

void Module::add_child(std::string name, Module& child) {
  check_name(name);
  entries_.push_back({.name = std::move(name), .child = &child});
}

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos)
    throw UsageError(fmt::format(
        "a parameter or child was named \"{}\"; expected a name without dots, "
        "not empty",
        name));
  for (const Entry& entry : entries_)
    if (entry.name == name)
      throw UsageError(fmt::format(
          "a module has two parameters or children named \"{}\"; give every "
          "one a name of its own",
          name));
}

}  // namespace quire::nn
