// Bytes of a file, plain or compressed with gzip, read in order.
//
// Threading: one thread at a time.
// Errors:    every message begins with the path.

#ifndef LEEWAY_TRAFFIC_BYTE_SOURCE_H_
#define LEEWAY_TRAFFIC_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/digest.h"
#include "leeway/status.h"

struct gzFile_s;

namespace leeway::traffic {

class ByteSource {
 public:
  // Returns kNotFound, kPermissionDenied or, for other errors of the system, kUnavailable;
  // kInvalidArgument for what is not a regular file: traffic is read more than once.
  static Result<ByteSource> Open(const std::string& path);

  // Reads up to `size` bytes, decompressed if the file begins as a gzip file does; returns 0 at the
  // end alone. kDataLoss if the compressed data is damaged, ends early, or is missing from a file
  // whose name ends in ".gz": the bytes before the damage have been returned by then.
  Result<std::size_t> Read(char* into, std::size_t size);

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  ByteSource(std::string path, gzFile_s* file) : path_(std::move(path)), file_(file) {}

  Status Damage() const;

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  bool started_ = false;
};

// Returns everything, decompressed; kResourceExhausted above `limit` bytes, and ByteSource's
// errors.
Result<std::string> ReadWhole(const std::string& path, std::size_t limit);

// Returns the SHA-256 of the file's bytes as they are stored.
Result<base::Digest> DigestOfFile(const std::string& path);

// "chat.csv.gz" ends in ".gz".
bool EndsInGz(const std::string& path);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_BYTE_SOURCE_H_
