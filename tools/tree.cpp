#include "tools/tree.h"

#include <algorithm>

namespace quire::tools {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "9" before "10".
bool comes_before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

Tree::Node& Tree::child_of(Node& node, std::string_view part) {
  const auto found = node.children.find(part);
  if (found != node.children.end()) return found->second;
  Node& fresh = node.children[std::string(part)];
  fresh.order = std::ssize(node.children);
  return fresh;
}

// A name of many parts would nest too deep: what is behind stays one part.
void Tree::add(std::string_view name, std::int64_t elements,
               std::int64_t bytes) {
  constexpr int kMostParts = 32;
  Node* node = &root_;
  for (int parts = 1;; ++parts) {
    const auto dot =
        parts < kMostParts ? name.find('.') : std::string_view::npos;
    const std::string_view part = name.substr(0, dot);
    node = &child_of(*node, part);
    ++node->tensors;
    node->elements += elements;
    node->bytes += bytes;
    if (dot == std::string_view::npos || is_number(part)) return;
    name = name.substr(dot + 1);
  }
}

std::vector<const Tree::Entry*> Tree::ordered(const Node& node) {
  std::vector<const Entry*> children;
  for (const Entry& child : node.children) children.push_back(&child);
  const bool numbered = std::ranges::all_of(
      children, [](auto* child) { return is_number(child->first); });
  std::ranges::sort(children, [&](auto* a, auto* b) {
    return numbered ? comes_before(a->first, b->first)
                    : a->second.order < b->second.order;
  });
  return children;
}

std::vector<Tree::Row> Tree::rows() const {
  std::vector<Row> rows;
  append(root_, "", 0, rows);
  return rows;
}

// The root has every child as a row, others those that are branches.
void Tree::append(const Node& node, const std::string& path, int depth,
                  std::vector<Row>& rows) {
  for (const Entry* entry : ordered(node)) {
    const auto& [part, child] = *entry;
    if (depth > 0 && child.children.empty() && !is_number(part)) continue;
    const std::string name = path.empty() ? part : path + "." + part;
    rows.push_back({name, depth, child.tensors, child.elements, child.bytes});
    append(child, name, depth + 1, rows);
  }
}

}  // namespace quire::tools
