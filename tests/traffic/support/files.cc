#include "tests/traffic/support/files.h"

#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace leeway::traffic::testing {

TempFolder::TempFolder() {
  folder_ = (std::filesystem::temp_directory_path() / "leeway_traffic_XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp " + folder_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TempFolder::Write(const std::string& name, std::string_view bytes) const {
  std::ofstream file(path(name), std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("write " + path(name));
  return path(name);
}

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  // 16 asks for gzip's header instead of zlib's.
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}

Reading ReadAll(const Traffic& traffic, std::uint64_t seed) {
  Reading reading;
  auto reader = traffic.body()->NewReader(seed);
  if (!reader.ok()) return {{}, reader.status()};
  for (;;) {
    const auto next = (*reader)->Next();
    if (!next.ok()) {
      reading.status = next.status();
      return reading;
    }
    if (!*next) return reading;
    reading.arrivals.push_back(**next);
  }
}

std::string ErrorOf(const TempFolder& folder, const std::string& path,
                    const TrafficOptions& options) {
  const auto traffic = Traffic::Open(path, options);
  std::string text =
      traffic.ok() ? ReadAll(*traffic).status.ToString() : traffic.status().ToString();
  const std::string prefix = folder.path("");
  for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) {
    text.erase(at, prefix.size());
  }
  return text;
}

std::string ToText(const std::vector<Arrival>& arrivals) {
  std::string text;
  for (const Arrival& arrival : arrivals) {
    text += std::to_string(arrival.at.count()) + " " + std::to_string(arrival.stream);
    for (const std::int64_t dim : arrival.dims) text += " " + std::to_string(dim);
    text += " " + std::to_string(arrival.deadline.count()) + "\n";
  }
  return text;
}

std::vector<std::int64_t> Times(const std::vector<Arrival>& arrivals) {
  std::vector<std::int64_t> times;
  for (const Arrival& arrival : arrivals) times.push_back(arrival.at.count());
  return times;
}

std::vector<std::int64_t> Lengths(const std::vector<Arrival>& arrivals) {
  std::vector<std::int64_t> lengths;
  for (const Arrival& arrival : arrivals) lengths.push_back(arrival.dims[0]);
  return lengths;
}

WindowsReading ReadWindows(const Traffic& traffic, Nanos window, std::uint64_t seed,
                           std::size_t dim) {
  WindowsReading reading;
  auto windows = traffic.body()->NewWindows(window, dim, seed);
  if (!windows.ok()) return {{}, windows.status()};
  for (;;) {
    auto next = (*windows)->Next();
    if (!next.ok()) {
      reading.status = next.status();
      return reading;
    }
    if (!*next) return reading;
    reading.windows.push_back(**std::move(next));
  }
}

}  // namespace leeway::traffic::testing
