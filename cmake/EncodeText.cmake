# Turns a message in text form into its binary form.
#
#   cmake -DPROTOC=… -DSCHEMA=<root> -DPROTO=<file below it> -DTYPE=<message> -DIN=… -DOUT=…
#         -P EncodeText.cmake
#
# A script, not a shell redirection, so that a text that does not parse leaves no output behind.
execute_process(
  COMMAND ${PROTOC} --proto_path=${SCHEMA} --encode=${TYPE} --deterministic_output ${PROTO}
  INPUT_FILE ${IN}
  OUTPUT_FILE ${OUT}
  ERROR_VARIABLE message
  RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${OUT})
  message(FATAL_ERROR "${IN}: not a ${TYPE}:\n${message}")
endif()
