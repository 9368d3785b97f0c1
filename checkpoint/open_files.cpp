#include "quire/checkpoint/open_files.h"

#include <algorithm>
#include <utility>

namespace quire::checkpoint {

std::shared_ptr<const File> OpenFiles::keep(File file) {
  auto kept = std::make_shared<const File>(std::move(file));
  const std::lock_guard lock(mutex_);
  open_.push_front(kept);
  if (open_.size() > kMost) open_.pop_back();
  return kept;
}

std::shared_ptr<const File> OpenFiles::find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      open_, [&](const auto& file) { return file->path() == path; });
  if (found == open_.end()) return nullptr;
  open_.splice(open_.begin(), open_, found);
  return open_.front();
}

}  // namespace quire::checkpoint
