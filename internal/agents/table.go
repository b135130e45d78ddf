// SPDX-License-Identifier: Apache-2.0

package agents

const (
	fileTools = "its tools that read and write files: the client itself does that"
	mcp       = "MCP servers that it starts"
	hooks     = "its hooks"
	byPath    = "whatever else it starts as bash, sh or zsh by PATH"
)

// table is in the order of sbx agent --list.
var table = []Client{
	{
		Name: "claude", Title: "Claude Code", Programs: []string{"claude"}, Aliases: []string{"claude-code"},
		choose: claudeShell, Makes: claudeMakes, Vars: claudeVars, Line: claudeLine, Reads: claudeReads,
		Call: claudeCall,
		Inside: []string{
			"commands (Bash tool, !commands, background tasks)",
			"hooks and the status line that are written as a command line", "MCP servers over stdio",
		},
		Outside: []string{
			fileTools, "hooks with args (started without a shell), apiKeyHelper and other credential helpers",
			"MCP servers over HTTP: they run elsewhere",
		},
		Module: "claude-sh", Whole: "claude",
		Seen:    "run, 2.1.197",
		Install: "npm install -g @anthropic-ai/claude-code",
	},
	{
		Name: "codex", Title: "Codex", Programs: []string{"codex"},
		Refused: "it lets the model name the shell of a command (/usr/bin/zsh, for one), and takes a bash, zsh or sh " +
			"of the password database as it is: no variable and no PATH changes that",
		Outside: []string{"its commands, when they run in a shell that the model named", fileTools, mcp},
		Whole:   "codex",
		Seen:    "run, 0.169",
		Install: "npm install -g @openai/codex",
	},
	{
		Name: "gemini", Title: "Gemini CLI", Programs: []string{"gemini"}, Aliases: []string{"gemini-cli"},
		choose: func(l *look) Choice { return l.geminiShell(".gemini", false) }, Path: true, Call: geminiCall,
		Inside:  []string{"commands (run_shell_command, !commands)", byPath},
		Outside: []string{fileTools, mcp, hooks, "tools.discoveryCommand and tools.callCommand of its settings"},
		Whole:   "gemini",
		Seen:    "run, 0.61.0",
		Install: "npm install -g @google/gemini-cli",
	},
	{
		Name: "qwen", Title: "Qwen Code", Programs: []string{"qwen"}, Aliases: []string{"qwen-code"},
		choose: func(l *look) Choice { return l.geminiShell(".qwen", true) }, Path: true, Call: qwenCall,
		Inside:  []string{"commands (run_shell_command, !commands)", byPath},
		Outside: []string{fileTools, mcp, hooks},
		Whole:   "qwen",
		Seen:    "run, 0.15.10",
		Install: "npm install -g @qwen-code/qwen-code",
	},
	{
		Name: "opencode", Title: "opencode", Programs: []string{"opencode"},
		choose: opencodeShell, Path: true, Vars: opencodeVars, Call: plainCall,
		Inside:  []string{"commands (bash tool, !commands)"},
		Outside: []string{fileTools, mcp, "plugins, formatters and language servers"},
		Whole:   "opencode",
		Seen:    "run, 1.18.33",
		Install: "npm install -g opencode-ai",
	},
	{
		Name: "pi", Title: "pi", Programs: []string{"pi"},
		choose: piShell, Call: plainCall,
		Inside:  []string{"commands (bash tool, !commands)"},
		Outside: []string{fileTools, "extensions"},
		Whole:   "pi",
		Seen:    "run, 0.73.1",
		Install: "npm install -g @mariozechner/pi-coding-agent",
	},
	{
		Name: "goose", Title: "goose", Programs: []string{"goose"},
		choose: gooseShell, Path: true, Vars: gooseVars, Call: plainCall,
		Inside:  []string{"commands (developer extension)"},
		Outside: []string{fileTools, "extensions that are MCP servers"},
		Whole:   "goose",
		Seen:    "read in its source",
		Install: "brew install block-goose-cli",
	},
	{
		Name: "aider", Title: "aider", Programs: []string{"aider"},
		choose: aiderShell, Vars: shellVar, Call: aiderCall,
		Inside: []string{"commands (/run, /test and what the model suggests) on a terminal"},
		Outside: []string{
			"its edits and its git commits, with git's hooks",
			"lint commands (--lint-cmd) and /git: /bin/sh runs those, always",
		},
		Whole:   "aider",
		Seen:    "read in its source",
		Install: "pipx install aider-chat",
	},
	{
		Name: "cursor", Title: "Cursor agent", Programs: []string{"cursor-agent", "agent"},
		Aliases: []string{"cursor-agent"},
		Refused: "how it starts a shell is known only from reports, and was not tried here",
		Outside: []string{"its commands, as far as is known", fileTools, mcp, hooks},
		Whole:   "cursor",
		Seen:    "reported by others",
		Install: "see https://cursor.com/cli",
	},
	{
		Name: "cline", Title: "Cline CLI", Programs: []string{"cline"},
		Refused: "it starts /bin/bash by its path",
		Outside: []string{"its commands", fileTools, mcp},
		Whole:   "cline",
		Seen:    "read in its source",
		Install: "npm install -g cline",
	},
	{
		Name: "amp", Title: "Amp", Programs: []string{"amp"},
		Refused: "how it chooses a shell is not known",
		Outside: []string{"its commands, as far as is known", fileTools, mcp},
		Whole:   "amp",
		Seen:    "not looked at",
		Install: "npm install -g @sourcegraph/amp",
	},
	{
		Name: "crush", Title: "Crush", Programs: []string{"crush"},
		Refused: "it interprets commands itself and starts no shell",
		Outside: []string{"its commands", fileTools, mcp},
		Whole:   "crush",
		Seen:    "by its documentation",
		Install: "npm install -g @charmland/crush",
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI", Programs: []string{"copilot"},
		Refused: "how it chooses a shell is not known",
		Outside: []string{"its commands, as far as is known", fileTools, mcp},
		Whole:   "copilot",
		Seen:    "not looked at",
		Install: "npm install -g @github/copilot",
	},
}
