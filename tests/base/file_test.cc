#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch.h"

namespace leeway::base {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "leeway-file-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string AllBytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 + i / 256);
  return bytes;
}

TEST_CASE("a file is read byte for byte", "[base][unit]") {
  const Folder folder;
  for (const std::size_t size : {0u, 1u, 255u, 4096u, 65'536u, 1'000'003u}) {
    CAPTURE(size);
    const std::string bytes = AllBytes(size);
    const std::string path = folder.Write("f", bytes);
    const Result<std::string> read = ReadFile(path, kNoLimit);
    REQUIRE(read.ok());
    CHECK((*read == bytes));
  }
}

TEST_CASE("a file of exactly the limit is read and one byte more is refused", "[base][unit]") {
  const Folder folder;
  const std::string path = folder.Write("f", AllBytes(1000));
  CHECK(ReadFile(path, 1000).ok());
  const Status refused = ReadFile(path, 999).status();
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK(refused.message() == path + ": larger than the limit of 999 bytes");
  CHECK(ReadFile(folder.Write("empty", ""), 0).ok());
}

TEST_CASE("a missing file and a path through a file are not found", "[base][unit]") {
  const Folder folder;
  const std::string file = folder.Write("f", "x");
  for (const std::string& path : {folder.path() + "/missing", file + "/below", std::string()}) {
    CAPTURE(path);
    const Status status = ReadFile(path, kNoLimit).status();
    CHECK(status.code() == StatusCode::kNotFound);
    CHECK(status.message().starts_with(path + ": "));
  }
}

TEST_CASE("a folder is unavailable as a file", "[base][unit]") {
  const Folder folder;
  const Status status = ReadFile(folder.path(), kNoLimit).status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message().starts_with(folder.path() + ": "));
}

TEST_CASE("a path with a zero byte does not read the file named by its beginning", "[base][unit]") {
  const Folder folder;
  const std::string path = folder.Write("f", "x");
  REQUIRE(ReadFile(path, kNoLimit).ok());
  CHECK(ReadFile(path + '\0' + "y", kNoLimit).status().code() == StatusCode::kNotFound);
}

TEST_CASE("a file without the right to read it is denied", "[base][unit]") {
  const Folder folder;
  const std::string path = folder.Write("f", "x");
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  // Root may read everything, so there the same call must succeed.
  const StatusCode want = ::geteuid() == 0 ? StatusCode::kOk : StatusCode::kPermissionDenied;
  CHECK(ReadFile(path, kNoLimit).status().code() == want);
}

TEST_CASE("a source that tells no size is read to its end, and an endless one to the limit",
          "[base][unit]") {
  const Result<std::string> status = ReadFile("/proc/self/status", kNoLimit);
  REQUIRE(status.ok());
  CHECK(status->starts_with("Name:"));
  CHECK(ReadFile("/dev/zero", 1'000'000).status().code() == StatusCode::kResourceExhausted);
}

struct Shelf {
  ShippedKind kind;
  const char* folder;
};

constexpr Shelf kShelves[] = {{ShippedKind::kPlan, "models"},
                              {ShippedKind::kDevice, "devices"},
                              {ShippedKind::kTraffic, "traffic"}};

std::vector<std::string> TextsIn(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".textproto") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("what ships is what lies in plans, sorted by name", "[base][unit]") {
  for (const Shelf& shelf : kShelves) {
    std::vector<std::string> names;
    for (const ShippedFile& file : ListShipped(shelf.kind)) names.emplace_back(file.name);
    CHECK(names == TextsIn(fs::path(LEEWAY_SOURCE_DIR) / "plans" / shelf.folder));
  }
}

TEST_CASE("a shipped file is found by kind and name, with the bytes that protoc wrote",
          "[base][unit]") {
  for (const Shelf& shelf : kShelves) {
    for (const ShippedFile& file : ListShipped(shelf.kind)) {
      const std::string name(file.name);
      CAPTURE(name);
      const std::optional<ShippedFile> found = FindShipped(shelf.kind, name);
      REQUIRE(found.has_value());
      CHECK(found->kind == shelf.kind);
      CHECK(found->bytes.data() == file.bytes.data());
      const std::string binary =
          std::string(LEEWAY_BINARY_DIR "/plans/") + shelf.folder + "/" + name + ".binpb";
      CHECK((ReadFile(binary, kNoLimit).value() == file.bytes));
    }
  }
}

TEST_CASE("a name that does not ship is not found, nor is one of another kind", "[base][unit]") {
  for (const Shelf& shelf : kShelves) {
    CHECK_FALSE(FindShipped(shelf.kind, "").has_value());
    CHECK_FALSE(FindShipped(shelf.kind, "no_such_name").has_value());
    for (const ShippedFile& file : ListShipped(shelf.kind)) {
      for (const Shelf& other : kShelves) {
        const auto names = TextsIn(fs::path(LEEWAY_SOURCE_DIR) / "plans" / other.folder);
        const bool ships = std::binary_search(names.begin(), names.end(), std::string(file.name));
        CHECK(FindShipped(other.kind, file.name).has_value() == ships);
      }
    }
  }
}

}  // namespace
}  // namespace leeway::base
