#include "quire/comm/launcher/prefixed_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace quire::comm {
namespace {

// A reader that has gone is no error of the ranks'.
void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

PrefixedOutput::PrefixedOutput(std::string prefix, int to)
    : prefix_(std::move(prefix)), to_(to) {
  fcntl(pipe_.reader.number(), F_SETFL, O_NONBLOCK);
}

void PrefixedOutput::connect_in_child() const {
  dup2(pipe_.writer.number(), to_);
}

void PrefixedOutput::pass_on() {
  std::array<char, 4096> part{};
  while (pipe_.reader.is_open()) {
    const ssize_t got = read(pipe_.reader.number(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return pipe_.reader.reset();
    pending_.append(part.data(), static_cast<std::size_t>(got));
    write_lines();
  }
}

void PrefixedOutput::write_lines() {
  constexpr std::size_t kLongest = 64 << 10;  // then it is cut
  for (std::size_t end; (end = pending_.find('\n')) != std::string::npos;) {
    write_all(to_, prefix_ + pending_.substr(0, end + 1));
    pending_.erase(0, end + 1);
  }
  if (pending_.size() < kLongest) return;
  write_all(to_, prefix_ + pending_ + "\n");
  pending_.clear();
}

void PrefixedOutput::finish() {
  pass_on();
  if (!pending_.empty()) write_all(to_, prefix_ + pending_ + "\n");
  pending_.clear();
}

}  // namespace quire::comm
