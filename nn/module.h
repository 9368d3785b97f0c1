// Modules name parameters and children. A module knows nothing of its parent,
// so one constructor serves everywhere.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "quire/nn/parameter.h"

namespace quire::nn {

// Neither copyable nor movable: children and parameters register themselves by
// address. Const when run; holds no values.
class Module {
 public:
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Calls fn("norm.weight", parameter) for every parameter below, in the order
  // of declaration.
  void for_each_parameter(const std::function<void(const std::string& path,
                                                   Parameter& parameter)>& fn);

 protected:
  Module() = default;

 private:
  friend class Parameter;
  template <class M>
  friend class Child;
  void add_parameter(Parameter& parameter);
  void add_child(std::string name, Module& child);

  struct Entry {
    std::string name;
    Parameter* parameter = nullptr;  // exactly one of the two
    Module* child = nullptr;
  };
  void check_name(const std::string& name) const;
  std::vector<Entry> entries_;
};

// A child module as a member: built in place and registered, so that it cannot
// be forgotten.
template <class M>
class Child {
 public:
  // Throws UsageError if the name is empty, holds a '.', or is taken in the
  // parent.
  Child(Module& parent, std::string name, typename M::Options options)
      : module_(std::move(options)) {
    parent.add_child(std::move(name), module_);
  }
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    return std::as_const(module_)(std::forward<Args>(args)...);
  }
  const M& operator*() const { return module_; }
  const M* operator->() const { return &module_; }

 private:
  M module_;
};

}  // namespace quire::nn
