// Files and folders as a checkpoint needs them: whole reads and writes, nothing
// opened that is not a regular file, every write to the disk announced.
// Failures of the disk are SystemErrors that name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quire/core/descriptor.h"

namespace quire::checkpoint {

// Told before every operation that changes the disk: "make folder", "create",
// "write", "sync", "rename", "exchange", "remove". What it throws is that
// operation's failure. May be empty.
using FileObserver =
    std::function<void(std::string_view operation, const std::string& path)>;

// True for a name that stays in its folder: not empty, no '/', no NUL, and
// neither "." nor "..".
bool is_plain_name(std::string_view name);
std::string joined(std::string_view folder, std::string_view name);

// An open file. Move-only.
class File {
 public:
  enum class Links { kFollow, kRefuse };
  // For reading. UsageError unless it is there, is a regular file, and is no
  // symbolic link if those are refused; never waits for a FIFO.
  static File open(const std::string& path, Links links);
  // For writing. A file of that name must not exist.
  static File create(const std::string& path, FileObserver observer);
  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }  // when opened; written so far

  // All of `out`. SystemError if the file has become shorter since.
  void read(std::int64_t offset, std::span<std::byte> out) const;
  // These bytes will be read soon: the disk may begin.
  void will_read(std::int64_t offset, std::int64_t bytes) const;
  // Syncs now and then, so that no sync takes long.
  void append(std::span<const std::byte> bytes);
  // Leaves room behind what there is, to be filled by write_at.
  void skip(std::int64_t bytes);
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // What was appended is on the disk.
  void sync();

 private:
  File(Descriptor descriptor, std::string path, FileObserver observer)
      : descriptor_(std::move(descriptor)),
        path_(std::move(path)),
        observer_(std::move(observer)) {}
  void start_writing();

  Descriptor descriptor_;
  std::string path_;
  std::int64_t bytes_ = 0;
  std::int64_t unsynced_ = 0, unstarted_ = 0;  // of the last bytes
  FileObserver observer_;
};

// A file's text, refused above `most` bytes.
std::string read_text(const std::string& path, std::int64_t most);
void write_text(const std::string& path, std::string_view text,
                const FileObserver& observer);

// Exists and is a folder, links followed.
bool is_folder(const std::string& path);
// With the folders above it; an existing one is left.
void make_folders(const std::string& path, const FileObserver& observer);
// Makes ".NAME.tmp-XXXXXXXX" in `folder` and returns its path.
std::string make_temporary_folder(const std::string& folder,
                                  std::string_view name,
                                  const FileObserver& observer);
// Renames the folder `from` to `to`. If `to` exists, the two change places in
// one step. Returns true if so.
bool publish_folder(const std::string& from, const std::string& to,
                    const FileObserver& observer);
void rename_path(const std::string& from, const std::string& to,
                 const FileObserver& observer);
// With all that is in it; links are removed, not followed.
void remove_folder(const std::string& path, const FileObserver& observer);
// Renames and removals in it are on the disk.
void sync_folder(const std::string& path, const FileObserver& observer);

// How many bytes may still be written below a folder; no value where the file
// system does not say.
using FreeSpace =
    std::function<std::optional<std::int64_t>(const std::string& folder)>;
std::optional<std::int64_t> free_bytes(const std::string& folder);
// SystemError unless `bytes` may be written below `folder`: what is free, what
// is needed, what to do. `free`: empty for free_bytes.
void require_space(const std::string& folder, std::int64_t bytes,
                   const FreeSpace& free = {});

}  // namespace quire::checkpoint
