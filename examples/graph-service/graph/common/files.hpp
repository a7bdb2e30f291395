#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "common/errors.hpp"

namespace graph {

inline void make_directory(const std::filesystem::path &directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw Error("can't make the directory " + directory.string() + ": " + error.message());
  }
}

/// "" if there is no such file.
inline std::string read_file(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The old content or the new one, never half of it.
inline void replace_file(const std::filesystem::path &path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary += ".new";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  std::error_code error;
  if (out) {
    std::filesystem::rename(temporary, path, error);
  }
  if (!out || error) {
    throw Error("can't write " + path.string());
  }
}

}  // namespace graph
