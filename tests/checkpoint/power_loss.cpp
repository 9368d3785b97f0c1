#include "tests/checkpoint/power_loss.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>

namespace quire::test {
namespace {

namespace fs = std::filesystem;
using Names = PowerLoss::Names;
using Bytes = PowerLoss::Bytes;
using Kind = DiskCall::Kind;

constexpr int kNone = -1, kRoot = 0;

// A file or a folder, whatever its name.
struct Node {
  bool folder = false;
  std::string before = {};                // path of a file of before
  std::string data = {}, synced = {};     // of a file that the calls made
  std::map<std::string, int> names = {};  // of a folder: in it
};

// One change of names that is made whole or not at all.
struct Edit {
  struct Name {
    int folder;
    std::string name;
    int node;
  };
  std::vector<Name> names;
};

class Disk {
 public:
  explicit Disk(const std::string& before) {
    nodes_.push_back({.folder = true});
    read(before, kRoot);
    sure_ = nodes_;
  }

  void make(const DiskCall& call) {
    switch (call.kind) {
      case Kind::kMakeFolder:
      case Kind::kCreate:
        nodes_.push_back({.folder = call.kind == Kind::kMakeFolder});
        return edit({entry(call.path, static_cast<int>(nodes_.size()) - 1)});
      case Kind::kWrite:
        return write(nodes_[at(call.path)], call);
      case Kind::kSync:
        nodes_[at(call.path)].synced = nodes_[at(call.path)].data;
        return;
      case Kind::kSyncFolder:
        synced_[static_cast<int>(at(call.path))] = edits_.size();
        return;
      case Kind::kRename:
        return edit({entry(call.path, kNone),
                     entry(call.to, static_cast<int>(at(call.path)))});
      case Kind::kExchange:
        return edit({entry(call.path, static_cast<int>(at(call.to))),
                     entry(call.to, static_cast<int>(at(call.path)))});
      case Kind::kRemove:
        return edit({entry(call.path, kNone)});
    }
  }

  // Names as the power loss leaves them; then write() has the folder.
  void lose(Names names, std::mt19937_64& random) {
    const auto kept = cuts(names, random);
    std::vector<Node> left = sure_;
    left.resize(nodes_.size());
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i].folder = nodes_[i].folder;
    for (std::size_t i = 0; i < edits_.size(); ++i) {
      const int folder = edits_[i].names[0].folder;
      if (i < kept.at(folder)) apply(edits_[i], left);
    }
    for (std::size_t i = 0; i < left.size(); ++i)
      nodes_[i].names = std::move(left[i].names);
  }

  void write(const std::string& path, Bytes bytes, std::mt19937_64& random) {
    write(kRoot, path, bytes, random);
  }

  // `name`: in the topmost folder.
  bool is_sure(const std::string& name) const {
    std::size_t given = 0;
    for (std::size_t i = 0; i < edits_.size(); ++i)
      for (const auto& change : edits_[i].names)
        if (change.folder == kRoot && change.name == name) given = i + 1;
    return given != 0 && given <= synced_of(kRoot);
  }

 private:
  static std::string parent_of(const std::string& path) {
    return fs::path(path).parent_path().string();
  }

  void read(const std::string& path, std::size_t folder) {
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::size_t node = nodes_.size();
      nodes_[folder].names[entry.path().filename()] = static_cast<int>(node);
      nodes_.push_back({.folder = entry.is_directory()});
      if (entry.is_directory())
        read(entry.path(), node);
      else
        nodes_[node].before = entry.path();
    }
  }

  std::size_t at(const std::string& path) const {
    int node = kRoot;
    for (const auto& name : fs::path(path)) {
      const auto& names = nodes_[static_cast<std::size_t>(node)].names;
      const auto found = names.find(name.string());
      if (found == names.end()) throw std::runtime_error("no " + path);
      node = found->second;
    }
    return static_cast<std::size_t>(node);
  }

  Edit::Name entry(const std::string& path, int node) const {
    return {.folder = static_cast<int>(at(parent_of(path))),
            .name = fs::path(path).filename(),
            .node = node};
  }

  void edit(std::vector<Edit::Name> names) {
    edits_.push_back({std::move(names)});
    apply(edits_.back(), nodes_);
  }

  static void apply(const Edit& edit, std::vector<Node>& nodes) {
    for (const auto& [folder, name, node] : edit.names) {
      auto& names = nodes[static_cast<std::size_t>(folder)].names;
      if (node == kNone)
        names.erase(name);
      else
        names[name] = node;
    }
  }

  static void write(Node& node, const DiskCall& call) {
    const auto offset = static_cast<std::size_t>(call.offset);
    node.data.resize(std::max(node.data.size(), offset + call.data.size()));
    node.data.replace(offset, call.data.size(), call.data);
  }

  // Edits before this one are sure in the folder.
  std::size_t synced_of(int folder) const {
    const auto found = synced_.find(folder);
    return found == synced_.end() ? 0 : found->second;
  }

  // For every folder, how many of all edits are kept if they are in it. A
  // journal keeps what comes before a sure one, too.
  std::map<int, std::size_t> cuts(Names names, std::mt19937_64& random) const {
    std::map<int, std::size_t> sure;
    std::size_t journal = 0;
    for (std::size_t i = 0; i < edits_.size(); ++i) {
      const int folder = edits_[i].names[0].folder;
      sure[folder] = synced_of(folder);
      if (i < synced_of(folder)) journal = i + 1;
    }
    const auto between = [&](std::size_t least) {
      return std::uniform_int_distribution(least, edits_.size())(random);
    };
    const std::size_t one = between(journal);
    for (auto& [folder, cut] : sure) {
      if (names == Names::kKept) cut = edits_.size();
      if (names == Names::kUpToOne) cut = std::max(cut, one);
      if (names == Names::kUpToOneOfAFolder) cut = between(cut);
    }
    return sure;
  }

  void write(std::size_t folder, const std::string& path, Bytes bytes,
             std::mt19937_64& random) const {
    fs::create_directory(path);
    for (const auto& [name, index] : nodes_[folder].names) {
      const auto node = static_cast<std::size_t>(index);
      const std::string target = path + "/" + name;
      if (nodes_[node].folder)
        write(node, target, bytes, random);
      else if (!nodes_[node].before.empty())
        fs::create_hard_link(nodes_[node].before, target);
      else
        std::ofstream(target, std::ios::binary)
            << left_of(nodes_[node], bytes, random);
    }
  }

  static std::string left_of(const Node& node, Bytes bytes,
                             std::mt19937_64& random) {
    const std::size_t all = node.data.size(), sure = node.synced.size();
    std::uniform_int_distribution between(sure, all);
    std::string left = node.synced;
    if (bytes == Bytes::kKept) left = node.data;
    if (bytes == Bytes::kZeros) left.resize(all);
    if (bytes == Bytes::kTorn)
      left += node.data.substr(sure, between(random) - sure);
    return left;
  }

  std::vector<Node> nodes_;  // as processes see them
  std::vector<Node> sure_;   // as they were before
  std::vector<Edit> edits_;
  std::map<int, std::size_t> synced_;
};

}  // namespace

std::string to_string(const PowerLoss::Case& c) {
  constexpr std::array kNames = {"lost", "kept", "kept up to one",
                                 "kept up to one of each folder"};
  constexpr std::array kBytes = {"lost", "kept", "zeros", "torn"};
  return "call " + std::to_string(c.call) + ", names " +
         kNames[static_cast<std::size_t>(c.names)] + ", bytes " +
         kBytes[static_cast<std::size_t>(c.bytes)];
}

PowerLoss::PowerLoss(std::string before, std::vector<DiskCall> calls)
    : before_(std::move(before)), calls_(std::move(calls)) {}

void PowerLoss::leave(const Case& c, const std::string& folder) const {
  std::mt19937_64 random(c.seed);
  Disk disk(before_);
  for (std::size_t i = 0; i < c.call; ++i) disk.make(calls_[i]);
  disk.lose(c.names, random);
  disk.write(folder, c.bytes, random);
}

bool PowerLoss::is_sure(const std::string& name, std::size_t call) const {
  Disk disk(before_);
  for (std::size_t i = 0; i < call; ++i) disk.make(calls_[i]);
  return disk.is_sure(name);
}

}  // namespace quire::test
