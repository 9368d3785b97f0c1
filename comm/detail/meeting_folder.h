// Where the ranks of a launcher's world find one another: a folder that rank 0
// makes and removes.
#pragma once

#include <filesystem>
#include <string_view>

namespace quire::comm {

// In the folder of temporary files; the user's own, and this run's.
std::filesystem::path meeting_folder(std::string_view run_id);

}  // namespace quire::comm
