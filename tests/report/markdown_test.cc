#include "report/markdown.h"

#include "tests/catch.h"

namespace leeway::report {
namespace {

TEST_CASE("plain names stay as they are", "[report][markdown]") {
  for (const char* name : {"llama2_7b_prefill", "onnxim_tpuv4_c4", "noise, seed 0", "a/b.csv:17: x",
                           "Größe 100 %", "日本語"}) {
    CHECK(Escaped(name) == name);
  }
}

TEST_CASE("what Markdown or HTML would read as markup becomes a reference", "[report][markdown]") {
  CHECK(Escaped("a|b") == "a&#124;b");
  CHECK(Escaped("`x`") == "&#96;x&#96;");
  CHECK(Escaped("<b>&amp;") == "&#60;b&#62;&#38;amp;");
  CHECK(Escaped("*a* _a_ ~a~") == "&#42;a&#42; &#95;a&#95; &#126;a&#126;");
  CHECK(Escaped("[a](b)") == "&#91;a&#93;(b)");
  CHECK(Escaped("a\\|b") == "a&#92;&#124;b");
  CHECK(Escaped("http://x") == "http&#58;//x");
}

TEST_CASE("control characters and marks of direction are not passed on", "[report][markdown]") {
  const std::string replaced =
      "a\xEF\xBF\xBD"
      "b";
  for (const char* text : {"a\nb", "a\rb", "a\tb",
                           "a\x01"
                           "b",
                           "a\x7F"
                           "b",
                           "a\xC2\x85"
                           "b",
                           "a\xE2\x80\xAE"
                           "b",
                           "a\xE2\x80\xA8"
                           "b",
                           "a\xEF\xBB\xBF"
                           "b"}) {
    CHECK(Escaped(text) == replaced);
  }
  CHECK(Escaped(std::string_view("a\0b", 3)) == replaced);
}

TEST_CASE("bytes that are no UTF-8 are replaced one by one", "[report][markdown]") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(Escaped("\xFF\xFE") == mark + mark);
  CHECK(Escaped("\xC0\xAF") == mark + mark);                        // overlong
  CHECK(Escaped("\xED\xA0\x80") == mark + mark + mark);             // a surrogate
  CHECK(Escaped("\xE2\x82") == mark + mark);                        // cut short
  CHECK(Escaped("\xF4\x90\x80\x80") == mark + mark + mark + mark);  // above the last code point
}

TEST_CASE("a name of a megabyte is cut", "[report][markdown]") {
  CHECK(Escaped(std::string(1 << 20, 'x')).size() < 1000);
  CHECK(Escaped(std::string(300, 'x')) == std::string(300, 'x'));
}

TEST_CASE("a table has a rule below its heading and an empty line behind it",
          "[report][markdown]") {
  MarkdownTable table({"a", "b"});
  CHECK(table.empty());
  table.Add({"1", "2"});
  table.Add({"3"});
  CHECK(!table.empty());
  CHECK(table.text() == "| a | b |\n|---|---:|\n| 1 | 2 |\n| 3 |  |\n\n");
}

}  // namespace
}  // namespace leeway::report
