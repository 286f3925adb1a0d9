// A digest computed when it is first asked for: hashing a long trace takes time.
//
// Threading: any thread may call Get; one of them computes.

#ifndef LEEWAY_TRAFFIC_LAZY_DIGEST_H_
#define LEEWAY_TRAFFIC_LAZY_DIGEST_H_

#include <mutex>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "leeway/status.h"

namespace leeway::traffic {

class LazyDigest {
 public:
  template <typename Compute>
  const base::Digest& Get(const Compute& compute) const {
    std::call_once(once_, [&] { digest_ = compute(); });
    return digest_;
  }

 private:
  mutable std::once_flag once_;
  mutable base::Digest digest_;
};

// The digest of what a source holds (`content`) read as `kind` with `selection`; all zeros where
// the source could not be read.
inline base::Digest SelectionDigest(std::string_view kind, const Result<base::Digest>& content,
                                    std::string_view selection) {
  if (!content.ok()) return {};
  base::Sha256 sha;
  sha.UpdateField("leeway.traffic");
  sha.UpdateField(kind);
  sha.UpdateField({reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size()});
  sha.UpdateField(selection);
  return sha.Finish();
}

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_LAZY_DIGEST_H_
