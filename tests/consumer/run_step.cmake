# run_step(command…): ends the test with the command's output if it fails.
function(run_step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\n${text}")
  endif()
  set(step_output "${text}" PARENT_SCOPE)
endfunction()
