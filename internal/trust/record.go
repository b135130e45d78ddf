package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
)

// A record is the header with the length of the path, a line feed, the path, a
// line feed, and the content to the end. The length is there because a path
// may hold anything but NUL.
const header = "sbx trust 1 "

// maxRecord is the size of the largest record: PATH_MAX bytes of path.
const maxRecord = len(header) + len("4096\n") + 4096 + len("\n") + config.MaxSize

// nameOf is the name of the record of a path.
func nameOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:])
}

func encode(path string, data []byte) []byte {
	rec := make([]byte, 0, len(header)+8+len(path)+len(data))
	rec = append(rec, header...)
	rec = strconv.AppendInt(rec, int64(len(path)), 10)
	rec = append(rec, '\n')
	rec = append(rec, path...)
	rec = append(rec, '\n')
	return append(rec, data...)
}

// decode reads a record; ok is false when it is none. Only what encode writes
// is one.
func decode(rec string) (path, data string, ok bool) {
	rest, ok := strings.CutPrefix(rec, header)
	length, rest, found := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(length)
	switch {
	case !ok || !found || err != nil || n < 1 || n > 4096 || strconv.Itoa(n) != length:
		return "", "", false
	case len(rest) <= n || rest[0] != '/' || rest[n] != '\n' || strings.IndexByte(rest[:n], 0) >= 0:
		return "", "", false
	}
	return rest[:n], rest[n+1:], true
}
