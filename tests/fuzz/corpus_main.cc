// Runs a fuzz target without libFuzzer: over every file below the folders that are given, as it is,
// cut short and with bytes changed. The changes follow from the file, so that a failure repeats.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/prng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void RunMutants(const std::string& input, std::uint64_t seed) {
  constexpr int kMutants = 8;
  leeway::base::Prng prng(seed);
  for (int i = 0; i < kMutants && !input.empty(); ++i) {
    std::string mutant = input;
    for (std::uint64_t changes = prng.Below(4); changes > 0; --changes) {
      mutant[prng.Below(mutant.size())] = static_cast<char>(prng.Below(256));
    }
    if (prng.Below(2) == 0) mutant.resize(prng.Below(mutant.size()));
    Run(mutant);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string input(std::istreambuf_iterator<char>(file), {});
      Run(input);
      RunMutants(input, ++files);
    }
  }
  // A folder without files is a mistake of who calls.
  return files == 0 ? 1 : 0;
}
