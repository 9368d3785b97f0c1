#include <gtest/gtest.h>

#include <filesystem>

#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;

// What a file with this content is refused for.
std::string refusal(const std::string& name, const std::string& content) {
  const TempFolder folder;
  write_file(folder / name, content);
  return usage_error_of([&] { format_of(folder / name); });
}

Format format_of_content(const std::string& content) {
  const TempFolder folder;
  write_file(folder / "any", content);
  return format_of(folder / "any");
}

std::string little_endian(std::uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

TEST(FormatOf, FoldersAreKnownByWhatTheyHold) {
  EXPECT_EQ(format_of(data_path("gpt2_tiny")), Format::kHuggingFace);
  EXPECT_EQ(format_of(data_path("hf_sharded")), Format::kHuggingFace);
  EXPECT_EQ(format_of(data_path("dcp_hf")), Format::kDcp);
  const TempFolder folder;
  std::filesystem::create_directory(folder / "step-00000004");
  EXPECT_EQ(format_of(folder.path()), Format::kQuire);
  EXPECT_EQ(format_of(folder / "step-00000004"), Format::kQuire);
}

TEST(FormatOf, OfSeveralInAFolderACheckpointComesFirstThenHuggingFace) {
  const TempFolder folder;
  for (const std::string name : {"gpt2_tiny", "dcp_hf"})
    std::filesystem::copy(data_path(name), folder.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::skip_existing);
  EXPECT_EQ(format_of(folder.path()), Format::kHuggingFace);
  std::filesystem::create_directory(folder / "step-00000004");
  EXPECT_EQ(format_of(folder.path()), Format::kQuire);
}

TEST(FormatOf, FilesAreKnownByTheirFirstBytes) {
  EXPECT_EQ(format_of_content(little_endian(20240326) + "12345678"),
            Format::kLlmc);
  EXPECT_EQ(format_of_content("GGUF" + little_endian(3)), Format::kGguf);
}

TEST(FormatOf, WhatIsNoModelIsSaid) {
  expect_mentions(refusal("x", ""), {"/x", "no model"});
  expect_mentions(refusal("x", "hello"), {"/x", "no model"});
  expect_mentions(refusal("a.safetensors", std::string(8, '\0') + "{}"),
                  {"a.safetensors", "config.json"});
  expect_mentions(usage_error_of([] { format_of("/no/where"); }),
                  {"/no/where", "does not exist"});
  const TempFolder empty;
  expect_mentions(usage_error_of([&] { format_of(empty.path()); }),
                  {empty.path(), "config.json"});
}

TEST(FormatOf, ATokenFileIsNoPickle) {
  for (const std::uint32_t magic : {20240520u, 20240801u})
    expect_mentions(refusal("train.bin", little_endian(magic) + "1234"),
                    {"train.bin", "token file"});
}

TEST(FormatOf, GgufIsNotRead) {
  const TempFolder folder;
  write_file(folder / "m.gguf", "GGUF");
  expect_mentions(usage_error_of([&] { open_weights(folder / "m.gguf"); }),
                  {"m.gguf", "written and not read"});
}

TEST(FormatOf, APickleIsRefusedUnreadWithTheCommandThatTurnsIt) {
  for (const std::string& content :
       {std::string("PK\x03\x04zip"), std::string("\x80\x02}q\x01"),
        std::string("cos\nsystem\n(S'x'\ntR.")})
    expect_mentions(
        refusal("model.pt", content),
        {"model.pt", "pickle", "runs code", "python -c", "weights_only=True",
         "torch.load('model.pt'", "model.safetensors"});
  expect_mentions(refusal("no_ending", "PK\x03\x04zip"), {"pickle"});
  // Nobody's shell gets a name that means something to it.
  expect_mentions(refusal("x');evil('.pt", "PK\x03\x04"),
                  {"torch.load('FILE'"});
}

TEST(FormatOf, TokensAreNoPickle) {
  const TempFolder folder;
  write_file(folder / "train.bin", little_endian(20240520));
  expect_mentions(usage_error_of([&] { format_of(folder.path()); }),
                  {"is no model's folder"});
}

TEST(FormatOf, OneCommandTurnsAllPartsOfAModel) {
  ModelFolder copy;
  for (const std::string part : {"00001-of-00002", "00002-of-00002"})
    write_file(copy.folder / ("pytorch_model-" + part + ".bin"), "PK\x03\x04");
  expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                  {"import glob, torch",
                   "for f in sorted(glob.glob('pytorch_model-*-of-00002.bin')) "
                   "for k, v in torch.load(f, "});
}

// What a folder that holds one file, and maybe config.json, is refused for.
std::string refusal_beside(const std::string& name, bool config) {
  ModelFolder copy;
  if (!config) std::filesystem::remove(copy.folder / "config.json");
  write_file(copy.folder / name, "PK\x03\x04");
  return usage_error_of([&] { open_weights(copy.folder.path()); });
}

TEST(FormatOf, AFolderThatIsNoModelsIsToldApart) {
  for (const bool config : {false, true}) {
    expect_mentions(refusal_beside("adapter_config.json", config),
                    {"adapter", "merge"});
    expect_mentions(refusal_beside("x.gguf", config), {"x.gguf", "not read"});
    expect_mentions(refusal_beside("model.fp16.safetensors", config),
                    {"model.fp16.safetensors is the whole model", "name it"});
    expect_mentions(
        refusal_beside("model-00002-of-00002.safetensors", config),
        {"model-00002-of-00002.safetensors is a part", "index.json"});
  }
  expect_mentions(refusal_beside("params.json", false), {"maker's own"});
  expect_mentions(refusal_beside("optimizer.pt", true), {"copy the model's"});
}

TEST(FormatOf, AFolderOfModelsNamesTheFirst) {
  const TempFolder run;
  for (const std::string name : {"checkpoint-1000", "checkpoint-500"}) {
    std::filesystem::create_directory(run / name);
    write_file(run / (name + "/config.json"), "{}");
  }
  expect_mentions(usage_error_of([&] { format_of(run.path()); }),
                  {"name " + run.path() + "/checkpoint-1000, which"});
  const TempFolder hub;
  std::filesystem::create_directories(hub / "snapshots/1a2b");
  write_file(hub / "snapshots/1a2b/config.json", "{}");
  expect_mentions(usage_error_of([&] { format_of(hub.path()); }),
                  {"name " + hub.path() + "/snapshots/1a2b, which"});
}

TEST(FormatOf, ANameOfTheHubIsNoPath) {
  expect_mentions(usage_error_of([] { format_of("org/model-1.5B"); }),
                  {"org/model-1.5B does not exist", "downloaded first"});
  for (const std::string path : {"./model", "/no/model", "org/", "a/b/c", "m"})
    EXPECT_EQ(usage_error_of([&] { format_of(path); }).find("downloaded first"),
              std::string::npos);
}

TEST(FormatOf, AFolderOfPicklesIsRefusedWithTheCommand) {
  ModelFolder copy;
  write_file(copy.folder / "pytorch_model.bin", "PK\x03\x04");
  expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                  {"pytorch_model.bin", "pickle", "python -c"});
  std::filesystem::remove(copy.folder / "config.json");
  expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                  {"pytorch_model.bin", "pickle", "python -c"});
  write_file(copy.folder / "optimizer.pt", "PK\x03\x04");
  write_file(copy.folder / "model.pt", "PK\x03\x04");
  expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                  {"torch.load('pytorch_model.bin'"});
  write_file(copy.folder / "__0_0.distcp", "PK\x03\x04");
  expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                  {"dcp_to_torch", "pickle"});
  ModelFolder unnamed;
  std::filesystem::remove(unnamed.folder / "config.json");
  write_file(unnamed.folder / "model.safetensors", "");
  expect_mentions(usage_error_of([&] { open_weights(unnamed.folder.path()); }),
                  {"holds safetensors and no config.json"});
  const ModelFolder bare;
  expect_mentions(usage_error_of([&] { open_weights(bare.folder.path()); }),
                  {"model.safetensors", "neither"});
}

}  // namespace
}  // namespace quire::convert
