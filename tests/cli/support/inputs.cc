#include "inputs.h"

#include <zlib.h>

#include "tests/catch.h"

namespace leeway::testing {

std::string DeviceText(std::string_view core_class) {
  return "name: \"pair\"\ncore_classes {\n  name: \"" + std::string(core_class) + R"("
  count: 2
  clock_hz: 1000000000
  array { rows: 128 cols: 128 count: 1 first_load_cycles: 255 weight_load_cycles: 128
          pipeline_cycles: 254 }
  vector { lanes: 1024 issue: 1 latency_cycles: 1 }
  sram_bytes: 16777216
  accumulator_bytes: 2097152
  dma { bytes_per_second: 200000000000 latency_ns: 400 granule_bytes: 32 }
  compute_mode: OVERLAPPED
  dataflow: WEIGHT_STATIONARY
}
dram { capacity_bytes: 8589934592 bytes_per_second: 300000000000 arbitration: FAIR }
launch { run_launch_ns: 5000 step_launch_ns: 1000 queue_depth: 8 }
power { static_watts: 10 matrix_watts: 10 vector_watts: 2 dram_watts_per_gbps: 0.01 sram_watts: 1
        thermal_design_watts: 100 }
)";
}

std::string TrafficCsv(int requests, int longest) {
  std::string text = "t,seq\n";
  for (int i = 0; i < requests; ++i) {
    text += std::to_string(i * 100) + "," + std::to_string(1 + i * 37 % longest) + "\n";
  }
  return text;
}

std::string Gzip(std::string_view bytes, std::size_t dropped) {
  constexpr int kGzipFormat = 15 + 16;
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipFormat, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  std::string source(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(source.data());
  stream.avail_in = static_cast<uInt>(source.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out - dropped);
  deflateEnd(&stream);
  return packed;
}

}  // namespace leeway::testing
