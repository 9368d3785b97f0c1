#include "quire/comm/detail/meeting_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "quire/core/hash.h"

namespace quire::comm {

std::filesystem::path meeting_folder(std::string_view run_id) {
  std::error_code error;
  std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error) temporary = "/tmp";
  return temporary /
         fmt::format("quire-{}-{}", geteuid(), to_hex(hash64(run_id)));
}

}  // namespace quire::comm
