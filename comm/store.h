// How ranks meet before they can communicate: a small map of keys to values,
// apart from what they do later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace quire::comm {

// Thread-safe. Keys are [A-Za-z0-9._-]+, values any bytes up to 64 KiB; else
// UsageError.
class Store {
 public:
  virtual ~Store() = default;
  // Readers see the old value or the new one, never a part.
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until the key exists; SystemError naming key and store after
  // timeout_s.
  virtual std::string get(const std::string& key, double timeout_s) = 0;
  // Adds to a counter that starts at 0 and returns the new value, atomically
  // over all users.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;
  virtual void erase(const std::string& key) = 0;
};

// For the threads of a process.
std::unique_ptr<Store> in_process_store();
// A folder of the host, made if absent with access for this user only, refused
// if it is another user's: one file a key, written under a temporary name and
// renamed.
std::unique_ptr<Store> file_store(const std::filesystem::path& folder);

}  // namespace quire::comm
