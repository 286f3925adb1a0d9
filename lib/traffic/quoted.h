// Names in messages.

#ifndef LEEWAY_TRAFFIC_QUOTED_H_
#define LEEWAY_TRAFFIC_QUOTED_H_

#include <string>
#include <string_view>
#include <vector>

namespace leeway::traffic {

// "text" in double quotes, cut short where it is long: it comes from a file.
std::string Quoted(std::string_view text);
// "a", "b", …; "none" for an empty list.
std::string QuotedList(const std::vector<std::string>& texts);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_QUOTED_H_
