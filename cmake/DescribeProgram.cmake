# Run as a script: writes a program's manual page and its completion for bash, with the options that the program itself
# lists. PROGRAM: the executable; TEMPLATE: the page, with @OPTIONS@ where they belong; MANUAL, COMPLETION: the results.
foreach(wish manual-options bash-completion)
  execute_process(COMMAND ${PROGRAM} --${wish} OUTPUT_VARIABLE ${wish} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(READ ${TEMPLATE} page)
string(REPLACE "@OPTIONS@\n" "${manual-options}" page "${page}")
file(WRITE ${MANUAL} "${page}")
file(WRITE ${COMPLETION} "${bash-completion}")
