// Files of the program: read whole, and written whole or not at all.

#ifndef LEEWAY_CLI_FILE_H_
#define LEEWAY_CLI_FILE_H_

#include <string>
#include <string_view>

#include "leeway/status.h"

namespace leeway::cli {

inline constexpr int kStandardOutput = 1;

bool FileExists(const std::string& path);

// What a system call's error number says of a path: kNotFound, kPermissionDenied, or kUnavailable.
Status ErrorAt(const std::string& path, int error);

// Codes as ErrorAt; each names the path.
Result<std::string> ReadFile(const std::string& path);

// Writes a file beside `path` and renames it, so that a reader sees the old content or the new,
// never a part. Pipes and devices are written directly. Codes as ReadFile.
Status WriteFile(const std::string& path, std::string_view bytes);

// Says before a long command what WriteFile would say after it, as far as one can tell: the folder
// is there and may be written.
Status CheckWritable(const std::string& path);

// Whether WriteFile to both would write one file: equal once folders and links are followed.
bool IsSamePlace(const std::string& a, const std::string& b);

// Writes everything to an open descriptor; `name` stands for it in messages.
Status WriteAll(int descriptor, std::string_view bytes, const std::string& name);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_FILE_H_
