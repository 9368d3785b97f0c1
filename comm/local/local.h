#pragma once
#include "quire/comm/local.h"
