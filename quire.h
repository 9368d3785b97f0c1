// What a first program includes.
#pragma once

#include "quire/core/error.h"
#include "quire/core/tensor.h"
#include "quire/version.h"
