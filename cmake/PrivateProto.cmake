# Moves one schema into the private package leeway_internal, for the code inside the library: a
# host that generates its own C++ from our .proto files then never clashes with us.
#
#   cmake -DIN=… -DOUT=… -P PrivateProto.cmake
#
# Package, imports and qualified references change; messages, fields and numbers do not. Strings
# become bytes, the same on the wire: the generated code would refuse a file with a name that is not
# UTF-8 as a whole and print why, where we report the field and print nothing.
file(READ "${IN}" text)
if(text MATCHES "optimize_for")
  message(FATAL_ERROR "${IN}: optimize_for is set by this script alone")
endif()
string(REGEX REPLACE "([^A-Za-z0-9_.]\\.?)leeway([./][a-z])" "\\1leeway_internal\\2" text "${text}")
string(REGEX REPLACE "(\npackage leeway_internal\\.[a-z0-9_.]+;)"
  "\\1\noption optimize_for = LITE_RUNTIME;" text "${text}")
string(REGEX REPLACE "(\n *(repeated |optional )?)string " "\\1bytes " text "${text}")
if(NOT text MATCHES "\noption optimize_for")
  message(FATAL_ERROR "${IN}: no line 'package leeway.<name>;'")
endif()
file(WRITE "${OUT}" "${text}")
