// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// plainCall is the form most clients use.
func plainCall(_ Choice, _ Place, command string) Call {
	return Call{Args: []string{"-c", command}}
}

// claudeCall: the command between a snapshot of the shell's state, which it
// reads, and a file with the directory it ended in, which the client reads.
func claudeCall(c Choice, p Place, command string) Call {
	line := "{ shopt -u extglob || setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL; } >/dev/null 2>&1 || true" +
		" && eval " + text.SingleQuoted(command) + " < /dev/null && pwd -P >| " +
		text.SingleQuoted(p.Tmp+"/claude-probe-cwd")
	if len(c.Prefix) == 0 {
		return Call{Args: []string{"-c", "-l", line}}
	}
	return Call{Args: []string{"-c", prefixLine(c.Prefix, line)}}
}

// prefixLine is the line that Claude Code makes of CLAUDE_CODE_SHELL_PREFIX and
// a line.
func prefixLine(prefix []string, line string) string {
	words := []string{text.SingleQuoted(prefix[0])}
	words = append(words, prefix[1:]...)
	return strings.Join(append(words, text.SingleQuoted(line)), " ")
}

// geminiCall: the client reads the processes in the background from a file.
func geminiCall(_ Choice, p Place, command string) Call {
	file := text.SingleQuoted(p.Tmp + "/bgpids.tmp")
	line := "shopt -u promptvars nullglob extglob nocaseglob dotglob; ( trap 'jobs -p > '" + file + " EXIT; " +
		command + "\n); __code=$?; exit $__code"
	return Call{Args: []string{"-c", line}}
}

// qwenCall: by the bare name. The client has it on a terminal.
func qwenCall(_ Choice, _ Place, command string) Call {
	return Call{Argv0: "bash", Args: []string{"-c", command}}
}

// aiderCall: interactive, on a terminal.
func aiderCall(_ Choice, _ Place, command string) Call {
	return Call{Args: []string{"-i", "-c", command}}
}
