// Files of named tensors in the safetensors layout, read strictly: nothing is
// believed that the file does not bear out.
//
//   file   = length header buffer
//   length = u64, little endian: bytes of the header, at most kMostHeader
//   header = JSON object, '{' first, spaces may follow it:
//            {"__metadata__": {string: string}, NAME: entry, ...}
//   entry  = {"dtype": D, "shape": [...], "data_offsets": [begin, end]}
//
// The entries' ranges fill the buffer without hole or overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/open_files.h"
#include "quire/core/dtype.h"

namespace quire::checkpoint {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;                // as written: "BF16"
  std::optional<DType> type;        // none: not one that Quire computes with
  std::vector<std::int64_t> shape;  // of any rank
  std::int64_t numel;
  std::int64_t begin, end;  // bytes of the buffer
};

// How the file says a type: "F32", "BF16", "F16", "I32", "I64", "U8".
std::string_view safetensors_dtype(DType dtype);

// For reading; const calls from any number of threads.
class SafetensorsFile {
 public:
  static constexpr std::int64_t kMostHeader = 100'000'000;

  // Checks everything before anything is read. UsageError naming the file and
  // the tensor.
  explicit SafetensorsFile(const std::string& path,
                           File::Links links = File::Links::kFollow)
      : SafetensorsFile(path, links, std::make_shared<OpenFiles>()) {}
  // One of many: what `others` has let go of is opened again when it is read,
  // with the same check of its links; SystemError unless size and header are
  // still the same.
  SafetensorsFile(const std::string& path, File::Links links,
                  std::shared_ptr<OpenFiles> others);

  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }
  // XXH3-64 of length and header.
  std::uint64_t header_checksum() const { return checksum_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }
  // In the order of the buffer.
  std::span<const SafetensorsEntry> entries() const { return entries_; }
  // nullptr if there is none; at: UsageError.
  const SafetensorsEntry* find(std::string_view name) const;
  const SafetensorsEntry& at(std::string_view name) const;

  // Elements [first, first + count) of an entry of this file, as they are
  // written. `out` holds exactly their bytes. REQUIRES: an element is whole
  // bytes and the range lies in the entry; else UsageError.
  void read(const SafetensorsEntry& entry, std::int64_t first,
            std::int64_t count, std::span<std::byte> out) const;
  // All of the entry will be read soon: the disk may begin.
  void will_read(const SafetensorsEntry& entry) const;

 private:
  void read_header(std::string_view header);
  void check_ranges() const;
  std::shared_ptr<const File> file() const;

  std::string path_;
  File::Links links_;
  std::shared_ptr<OpenFiles> open_;
  std::int64_t bytes_ = 0;
  std::int64_t buffer_ = 0;  // where it starts in the file
  std::uint64_t checksum_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// Takes a tensor's bytes, in order, in as many pieces as suits the giver.
using ByteSink = std::function<void(std::span<const std::byte>)>;

struct SafetensorsTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::function<void(const ByteSink&)> give;  // called once
  // The tensor right behind which it is asked, of whose bytes its own come; its
  // place is that of any. One at most behind another, which itself is behind
  // none. Empty: it is asked in its turn.
  std::string behind = {};
};

struct SafetensorsWritten {
  std::int64_t bytes;
  std::uint64_t header_checksum;
};

// Makes the file `path`, which must not exist, and syncs it. Tensors are
// written by falling width of their type, then by name; each is asked for its
// bytes when its turn comes, so nothing is held. `metadata` gets {"format":
// "pt"} besides. UsageError for a name twice, a type that is not known, a name
// that is no UTF-8, or a tensor that gives other than its shape's bytes. A file
// that failed is left for the caller to remove.
SafetensorsWritten write_safetensors(
    const std::string& path, std::vector<SafetensorsTensor> tensors,
    std::map<std::string, std::string> metadata,
    const FileObserver& observer = {});

}  // namespace quire::checkpoint
