# Who may include whom. Changing this table means editing ARCHITECTURE.md too.
#
# Modules from the bottom up: each may include only modules above it in this list, so that the
# graph stays free of cycles. Every module may include leeway/ headers.
set(LAYER_MODULES
  base plan device sched telemetry traffic exec compile retune report text import api capi cli)

set(LAYER_base)
set(LAYER_plan base)
set(LAYER_device base plan)
set(LAYER_sched base plan device)
set(LAYER_telemetry base plan)
set(LAYER_traffic base plan)
set(LAYER_exec base plan device sched telemetry)
set(LAYER_compile base plan device)
set(LAYER_retune base plan device telemetry compile traffic)
set(LAYER_report base plan device telemetry retune)
set(LAYER_text base)
set(LAYER_import base plan telemetry)
set(LAYER_api base plan device sched telemetry traffic exec compile retune report)
# Over the public API only: what a user cannot write, they cannot either.
set(LAYER_capi)
set(LAYER_cli)

# In each of these one file, x_proto.cc, alone sees the generated code of the schemas and google/.
# Where it grows too long it is cut into x_proto_*.cc; an x_proto_*.h is for those alone.
set(LAYER_CONVERTING_MODULES plan device telemetry traffic exec compile retune report import api)

# Third-party code, by the first part of the include's path, and the modules that may see it.
set(LAYER_LIBRARIES absl google tbb oneapi zlib.h onnx CLI nlohmann)
set(LAYER_USERS_absl
  base plan device sched telemetry traffic exec compile retune report text import api)
set(LAYER_USERS_google text)
set(LAYER_USERS_tbb exec retune api)
set(LAYER_USERS_oneapi exec retune api)
set(LAYER_USERS_zlib.h traffic)
set(LAYER_USERS_onnx import)
set(LAYER_USERS_CLI cli)
set(LAYER_USERS_nlohmann traffic report cli)

# Modules that take time, threads and I/O from a seam.
set(LAYER_WORLDLESS_MODULES sched)
set(LAYER_WORLD_HEADERS
  thread stop_token mutex shared_mutex condition_variable future semaphore latch barrier pthread.h
  ctime time.h sys/time.h absl/time/clock.h
  cstdio stdio.h iostream istream ostream fstream syncstream filesystem unistd.h fcntl.h
  base/file.h)
set(LAYER_WORLD_NAMES "(steady|system|high_resolution|utc|tai|gps|file)_clock|clock_gettime")
