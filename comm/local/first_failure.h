// The first failure of a world, and how it ends every wait.
#pragma once

#include <optional>

#include "quire/comm/failure.h"
#include "quire/comm/local/control.h"

namespace quire::comm::local {

// kDead: the failing rank is known to be dead, so that a claim that it left
// half written may be taken over.
enum class Witness { kOfTheLiving, kOfTheDead };

std::optional<Failure> first_failure(const Control& control);
// Keeps `failure` if it is the first, and ends the waits of all channels.
// `claimer`: a rank, or size() for a launcher.
void publish(const Control& control, const Failure& failure, int claimer,
             Witness witness) noexcept;
// Ends the waits of all channels: for a failure whose publisher died before it
// could.
void poison(const Control& control) noexcept;
// With the place where the rank was last seen.
Failure failure_of(const Control& control, int rank, std::string message);

}  // namespace quire::comm::local
