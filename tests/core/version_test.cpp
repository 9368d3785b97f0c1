#include "quire/version.h"

#include <gtest/gtest.h>

#include <string>

namespace quire {
namespace {

TEST(Version, OfTheLibraryIsThatOfTheHeaders) {
  EXPECT_EQ(version(), std::to_string(QUIRE_VERSION_MAJOR) + "." +
                           std::to_string(QUIRE_VERSION_MINOR) + "." +
                           std::to_string(QUIRE_VERSION_PATCH));
}

TEST(BuildInfo, SaysEverythingThatDecidesTheBits) {
  const BuildInfo info = build_info();
  EXPECT_EQ(info.version, version());
  const auto names = [&](const char* library) {
    return info.libraries.find(library) != std::string::npos;
  };
  EXPECT_NE(names("oneDNN "), names("Eigen "));  // who computes products
  EXPECT_TRUE(names("fmt ")) << info.libraries;
  EXPECT_TRUE(names("xxHash ")) << info.libraries;
  EXPECT_FALSE(info.commit.empty());
  EXPECT_FALSE(info.compiler.empty());
  EXPECT_FALSE(info.compiled_for.empty());
  EXPECT_FALSE(info.processor.empty());
}

TEST(BuildInfo, IsWrittenOneNameAndValuePerLine) {
  const BuildInfo info{.version = "1.2.3",
                       .commit = "abc",
                       .compiler = "GNU 12",
                       .type = "Release",
                       .libraries = "fmt 9",
                       .compiled_for = "haswell",
                       .processor = "avx2"};
  EXPECT_EQ(to_string(info),
            "version: 1.2.3\ncommit: abc\ncompiler: GNU 12\n"
            "build type: Release\nlibraries: fmt 9\n"
            "compiled for: haswell\nprocessor: avx2\n");
}

}  // namespace
}  // namespace quire
