// Ctrl-C asks a long command to stop at the next convenient point.

#ifndef LEEWAY_CLI_INTERRUPT_H_
#define LEEWAY_CLI_INTERRUPT_H_

namespace leeway::cli {

// From here on the first interrupt sets a flag; a second one ends the process at once.
void CatchInterrupts();
bool Interrupted();

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_INTERRUPT_H_
