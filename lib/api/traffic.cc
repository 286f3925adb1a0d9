#include "leeway/traffic.h"

#include "traffic/generated_body.h"
#include "traffic/open.h"
#include "traffic/selection.h"

namespace leeway {
inline namespace v0 {

Result<Traffic> Traffic::Open(const std::string& path_or_name, const TrafficOptions& options) {
  auto body = traffic::Open(path_or_name, options);
  if (!body.ok()) return body.status();
  return Traffic(*std::move(body));
}

Result<Traffic> Traffic::Parse(std::string_view bytes, std::string_view name) {
  auto body = traffic::ParseBody(bytes, std::string(name), 0);
  if (!body.ok()) return body.status();
  return Traffic(*std::move(body));
}

Result<Traffic> Traffic::Poisson(double requests_per_second, Nanos span, std::string_view dim,
                                 std::vector<std::int64_t> lengths) {
  auto body = traffic::MakePoisson(requests_per_second, span, dim, std::move(lengths));
  if (!body.ok()) return body.status();
  return Traffic(*std::move(body));
}

Traffic Traffic::First(Nanos span) const { return Traffic(traffic::First(body_, span)); }
Traffic Traffic::Last(Nanos span) const { return Traffic(traffic::Last(body_, span)); }
Traffic Traffic::Limit(std::uint64_t requests) const {
  return Traffic(traffic::Limit(body_, requests));
}

std::string_view Traffic::name() const { return body_->name(); }
const std::string& Traffic::digest() const { return body_->digest_hex(); }
const std::vector<std::string>& Traffic::dims() const { return body_->dim_names(); }

std::vector<std::string> Traffic::streams() const {
  std::vector<std::string> names;
  for (const traffic::StreamInfo& stream : body_->streams()) names.push_back(stream.name);
  return names;
}

}  // namespace v0
}  // namespace leeway
