// The folder that a run leaves: all of its files, or nothing.

#ifndef LEEWAY_CLI_RUN_FOLDER_H_
#define LEEWAY_CLI_RUN_FOLDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"

namespace leeway::cli {

// The file that names the others, and its schema.
inline constexpr std::string_view kManifest = "manifest.json";
inline constexpr std::string_view kManifestSchema = "leeway.run.v1";

struct RunFile {
  std::string name;
  std::string bytes;
};

// What may take the place of files that are there.
enum class Existing { kKept, kRunReplaced };

// Says before a long command what WriteRunFolder would say after it, as far as one can tell.
// kAlreadyExists if there is something at `path`, or, where a run may be replaced, a file of one of
// the names that no manifest there names; else codes as WriteFile.
Status CheckRunFolder(const std::string& path, const std::vector<std::string>& names,
                      Existing existing);

// Writes the files, the manifest among them last, into a folder beside `path` that is then renamed.
// Into a folder that exists the files are moved one by one, the manifest last: a manifest whose
// digests fit was written after all else. No file but those of the same names is touched.
Status WriteRunFolder(const std::string& path, const std::vector<RunFile>& files,
                      Existing existing);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_RUN_FOLDER_H_
