// The examples of docs/plan_commands.md do what it says.
#include <sstream>
#include <string>
#include <vector>

#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

std::string ReplaceAll(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// The blocks of this language, in order.
std::vector<std::string> Blocks(const std::string& page, const std::string& language) {
  const std::string open = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    const std::size_t end = page.find("\n```", at);
    REQUIRE(end != std::string::npos);
    blocks.push_back(page.substr(at, end + 1 - at));
  }
  return blocks;
}

// As the page says, `ffn` holds mm alone and takes 9600 ns, `tail` the other two.
std::string After(std::string text) {
  text = ReplaceAll(std::move(text), "ops: [\"mm\", \"gelu\"]", "ops: \"mm\"");
  text = ReplaceAll(std::move(text), "12000", "9600");
  return ReplaceAll(std::move(text), "ops: \"add\"", "ops: [\"gelu\", \"add\"]");
}

TEST_CASE("the examples of the page on plan commands are what the program prints",
          "[cli][plan][docs]") {
  const std::string page = ReadAll(LEEWAY_SOURCE_DIR "/docs/plan_commands.md");
  const std::vector<std::string> plans = Blocks(page, "textproto");
  REQUIRE(plans.size() == 1);
  const Scratch scratch;
  scratch.Write("before.textproto", plans[0]);
  scratch.Write("after.textproto", After(plans[0]));
  const std::vector<std::string> examples = Blocks(page, "console");
  REQUIRE(examples.size() >= 4);
  for (const std::string& example : examples) {
    const std::size_t end = example.find('\n');
    REQUIRE(example.rfind("$ leeway ", 0) == 0);
    std::vector<std::string> words;
    std::istringstream line(example.substr(9, end - 9));
    for (std::string word; line >> word;) {
      const bool file = word.find(".textproto") != std::string::npos;
      words.push_back(file ? scratch.Path(word) : word);
    }
    const Said said = RunLeeway(words);
    CAPTURE(example, said.err);
    std::string out = ReplaceAll(said.out, scratch.Path(""), "");
    if (const std::size_t digest = out.find("digest "); digest != std::string::npos) {
      out.replace(digest, out.find('\n', digest) - digest, "digest …");
    }
    CHECK(out == example.substr(end + 1));
  }
}

}  // namespace
}  // namespace leeway::testing
