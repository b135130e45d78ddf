package app

import (
	"log/slog"
	"os"
)

// logging writes to standard error when a level was asked for. It is the
// standard library's: hclog spends 0.1 ms at every start, used or not.
type logging struct{ l *slog.Logger }

func logger(level string) *logging {
	if level == "" {
		return nil
	}
	var at slog.Level
	if err := at.UnmarshalText([]byte(level)); err != nil {
		return nil
	}
	return &logging{slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: at}))}
}

func (g *logging) info(text string, args ...any) {
	if g != nil {
		g.l.Info(text, args...)
	}
}

func (g *logging) debug(text string, args ...any) {
	if g != nil {
		g.l.Debug(text, args...)
	}
}
