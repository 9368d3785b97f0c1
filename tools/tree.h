// Names with dots as the tree that they make.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quire::tools {

class Tree {
 public:
  struct Row {
    std::string name;  // from the root on: "model.layers.3"
    int depth;
    std::int64_t tensors, elements, bytes;  // at it and below
  };

  // Bytes and elements at a name, which may come several times.
  void add(std::string_view name, std::int64_t elements, std::int64_t bytes);

  // Branches in the order in which they came, numbers in their own. Where a
  // name has a number ("layers.3"), the branch ends there; a last part
  // ("weight") is no branch.
  std::vector<Row> rows() const;

 private:
  struct Node {
    std::int64_t order = 0;  // among its siblings
    std::int64_t tensors = 0, elements = 0, bytes = 0;
    std::map<std::string, Node, std::less<>> children;  // by their part
  };
  using Entry = std::map<std::string, Node, std::less<>>::value_type;
  static Node& child_of(Node& node, std::string_view part);
  static std::vector<const Entry*> ordered(const Node& node);
  static void append(const Node& node, const std::string& path, int depth,
                     std::vector<Row>& rows);

  Node root_;
};

}  // namespace quire::tools
