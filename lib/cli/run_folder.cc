#include "cli/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "cli/file.h"
#include "cli/json.h"

namespace leeway::cli {
namespace {

// "run" of "run/".
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// True for a link to nothing, too.
bool IsTaken(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The object's text under the key, or "".
std::string TextAt(const Json& json, const char* key) {
  if (!json.is_object()) return "";
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The files that a run left in the folder, by its manifest; none if there is no manifest of ours.
std::set<std::string> FilesOfRun(const std::string& folder) {
  const Result<std::string> text = ReadFile(folder + "/" + std::string(kManifest));
  if (!text.ok()) return {};
  const Json manifest = Json::parse(*text, nullptr, false);
  if (TextAt(manifest, "schema") != kManifestSchema) return {};
  std::set<std::string> names = {std::string(kManifest)};
  if (!manifest.contains("files")) return names;
  for (const Json& file : manifest["files"]) names.insert(TextAt(file, "name"));
  return names;
}

Status CheckReplaceable(const std::string& folder, const std::vector<std::string>& names) {
  if (!IsFolder(folder)) {
    return Status(StatusCode::kAlreadyExists, folder + ": exists already, and is no folder");
  }
  const std::set<std::string> of_run = FilesOfRun(folder);
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (!IsTaken(path) || of_run.count(name) > 0) continue;
    return Status(StatusCode::kAlreadyExists, path + ": exists already, and no " +
                                                  std::string(kManifest) +
                                                  " of an earlier run names it");
  }
  // What CheckWritable asks of a file in the folder is what is needed here.
  return CheckWritable(folder + "/" + std::string(kManifest));
}

// A folder of its own for files that are not in place yet.
class PartialFolder {
 public:
  explicit PartialFolder(std::string path) : path_(std::move(path)) {}
  ~PartialFolder() {
    for (const std::string& name : written_) ::unlink((path_ + "/" + name).c_str());
    if (made_) ::rmdir(path_.c_str());
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  Status Fill(const std::vector<RunFile>& files) {
    made_ = ::mkdir(path_.c_str(), 0777) == 0;
    if (!made_) return ErrorAt(path_, errno);
    for (const RunFile& file : files) {
      if (Status written = WriteFile(path_ + "/" + file.name, file.bytes); !written.ok()) {
        return written;
      }
      written_.push_back(file.name);
    }
    return Status();
  }

  // The folder becomes `path`.
  Status Become(const std::string& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return ErrorAt(path, errno);
    written_.clear();
    made_ = false;
    return Status();
  }

  // Its files go into the folder `path`, in the order in which they were written.
  Status MoveInto(const std::string& path) {
    while (!written_.empty()) {
      const std::string to = path + "/" + written_.front();
      if (::rename((path_ + "/" + written_.front()).c_str(), to.c_str()) != 0) {
        return ErrorAt(to, errno);
      }
      written_.erase(written_.begin());
    }
    return Status();
  }

 private:
  std::string path_;
  bool made_ = false;
  std::vector<std::string> written_;
};

std::string PartialName() { return ".part-" + std::to_string(::getpid()); }

}  // namespace

Status CheckRunFolder(const std::string& path, const std::vector<std::string>& names,
                      Existing existing) {
  const std::string folder = WithoutSlash(path);
  if (!IsTaken(folder)) return CheckWritable(folder);
  if (existing == Existing::kKept && IsFolder(folder)) {
    return Status(StatusCode::kAlreadyExists,
                  folder + ": exists already; --force replaces the files of an earlier run in it");
  }
  return CheckReplaceable(folder, names);
}

Status WriteRunFolder(const std::string& path, const std::vector<RunFile>& files,
                      Existing existing) {
  const std::string folder = WithoutSlash(path);
  std::vector<std::string> names;
  for (const RunFile& file : files) names.push_back(file.name);
  if (Status vacant = CheckRunFolder(folder, names, existing); !vacant.ok()) return vacant;
  const bool is_new = !IsTaken(folder);
  // Inside a folder that exists, so that moving stays within one file system.
  PartialFolder partial(is_new ? folder + PartialName() : folder + "/" + PartialName());
  if (Status filled = partial.Fill(files); !filled.ok()) return filled;
  return is_new ? partial.Become(folder) : partial.MoveInto(folder);
}

}  // namespace leeway::cli
